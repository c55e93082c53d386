"""Attacker page, one output: the odds card, every prior, nonsense."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.output.posterior import RareOutputError
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_most
from dpcore.plots.attack.words import chance_text
from pages.attacker import output_view, weighing
from pages.attacker.believing import AROUND, LIST
from pages.attacker.scene import defined_steps
from pages.shared.dial import GROUPS
from tests.pages.app import component, figures, shown_text, table, turn, type_word
from tests.pages.attacker.reading import FEW, believed, small


@pytest.mark.slow
def test_it_opens_with_the_odds_card(opened: Callable[..., AppTest]) -> None:
    test = opened()
    card = believed(test)
    assert card["title"].startswith("“garage” came out of tem at ε = 2.5. Each square is one of")
    assert card["before"] == "4 in 100"
    # The dial's panel reads the guarantee under another prior, so both name theirs.
    assert card["lines"][0].startswith(
        "With all words equally likely, the guarantee alone allows up to "
    )
    assert card["lines"][0].endswith(" for one output.")
    assert [sum(panel) for panel in card["panels"]] == [100, 100]
    rows = table(test, "now", "before")
    assert rows["probability"].is_monotonic_decreasing
    assert len(test.get("plotly_chart")) == 1


def test_a_step_of_the_slider_moves_the_posterior(opened: Callable[..., AppTest]) -> None:
    test = opened()
    weak: list[float] = []
    strong: list[float] = []
    for epsilon, chances in ((0.1, weak), (20.0, strong)):
        turn(test, GROUPS[0], epsilon)
        chances += table(test, "now", "before")["probability"].tolist()
    assert weak[0] < 0.1
    assert strong[0] > 0.99


def test_every_step_of_the_dial_is_sent_and_is_what_the_engine_says(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain twin: Bayes' rule over the whole law of every word."""
    monkeypatch.setattr(output_view, "_PATIENCE_SECONDS", 60.0)
    data = component(opened(), "believed")
    mechanism = create("tem", small())
    words, seen = mechanism.lexicon, mechanism.lexicon.index("garage")
    steps = defined_steps(mechanism)
    assert len(data["steps"]) == len(steps)
    for epsilon, shown in zip(steps, data["steps"], strict=True):
        laws = [mechanism.law(word, [epsilon]).dense(len(words))[0] for word in range(len(words))]
        column = np.array([law[seen] for law in laws])
        chances = column / column.sum()
        best = int(chances.argmax())
        assert shown["best"] == words.words[best]
        assert shown["now"] == chance_text(float(chances[best]))
        named = [words.index(word) for word in shown["words"]]
        for word, cases in zip(named, shown["panels"][1], strict=False):
            assert abs(cases - 100 * chances[word]) < 1


def test_an_output_that_is_too_rare_is_an_interval_and_no_refusal(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rare(*_: object) -> None:
        raise RareOutputError("too rare")

    monkeypatch.setattr(weighing, "posterior", rare)
    test = opened()
    assert believed(test)["now"] == "0 to 100 in 100"
    assert "too rare here" in believed(test)["lines"][0]
    assert not test.error
    assert "choose another one, or a smaller ε" in shown_text(test)


def test_another_output_is_chosen_by_typing(opened: Callable[..., AppTest]) -> None:
    test = opened()
    type_word(test, "find_seen", "DOCTOR")
    assert believed(test)["title"].startswith("“doctor” came out of tem")
    assert test.query_params["seen"] in ("doctor", ["doctor"])


def test_an_unknown_word_is_refused_and_changes_nothing(opened: Callable[..., AppTest]) -> None:
    test = opened()
    marked = [m.value for m in test.markdown]
    for key, nonsense in (
        ("find_seen", "zzqq!!"), ("find_word", "<b>x</b>"), ("find_other_word", "$x$")
    ):  # fmt: skip
        type_word(test, key, nonsense)
        shown = shown_text(test)
        assert "This word could not be chosen" in shown
        assert f"{nonsense!r} is not among the {len(FEW)} words" in shown
        assert believed(test)["title"].startswith("“garage” came out")
        assert [m.value for m in test.markdown] == marked
        assert "could not be chosen" not in shown_text(test.run())


def test_a_typed_list_is_the_prior(opened: Callable[..., AppTest]) -> None:
    test = opened()
    test.segmented_control(key="prior").set_value(LIST).run()
    assert set(table(test, "now", "before")["word"]) == {"garage", "kitchen", "monday"}
    assert "summed over all" in shown_text(test)
    test.text_area(key="prior_list").set_value("doctor=0.75, nurse=0.25").run()
    rows = table(test, "now", "before")
    assert set(rows["before"]) == {"75 in 100", "25 in 100"}
    assert "nurse" not in str(test.query_params)
    test.text_area(key="prior_list").set_value("doctor nurse").run()
    assert "is not of the form" in shown_text(test)


def test_a_list_that_is_no_prior_is_refused(opened: Callable[..., AppTest]) -> None:
    test = opened(prior=LIST)
    for text, message in (
        ("garage=0.5, monday=0.4", "must sum to 1, got 0.9"),
        ("garage=0.5, zzqq=0.5", "zzqq"),
        ("garage=1.5, monday=-0.5", "from 0 to 1"),
        ("garage=nan", "not of the form"),
        ("<b>x</b>", "not of the form"),
        ("", "holds 1 to"),
    ):
        test.text_area(key="prior_list").set_value(text).run()
        shown = shown_text(test)
        assert "The attacker cannot work with this." in shown
        assert message in shown
        assert not test.get("plotly_chart")


def test_success_over_all_outputs_is_computed_when_asked_for(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    assert "The best guess is right in" not in shown_text(test)
    test.button(key="attack_overall").click().run()
    shown = shown_text(test)
    assert f"summed over all {len(FEW)} outputs" in shown
    assert "is right in 4 in 100" in shown  # blind: one of 26 words
    turn(test, GROUPS[0], 3.0)
    assert "The best guess is right in" not in shown_text(test)


@pytest.mark.slow
def test_the_words_around_are_a_prior(opened: Callable[..., AppTest]) -> None:
    test = opened(prior=AROUND)
    before = table(test, "now", "before")
    test.text_input(key="prior_before").set_value("zzqq!!").run()
    test.text_input(key="prior_after").set_value("").run()
    assert list(table(test, "now", "before")["before"]) != list(before["before"])


def test_the_slider_mixes_in_how_common_words_are(opened: Callable[..., AppTest]) -> None:
    test = opened(eps_metric="0.1")
    test.slider(key="prior_common").set_value(100).run()
    assert table(test, "now", "before")["word"].iloc[0] == "the"
    test.slider(key="prior_common").set_value(50).run()
    assert "50%" in shown_text(test)


def test_the_same_word_twice_has_no_odds(opened: Callable[..., AppTest]) -> None:
    test = opened(word="garage", other="monday")
    assert "multiplies the odds of" in shown_text(test)
    test.selectbox(key="find_other_word").set_value("garage").run()
    assert "multiplies the odds of" not in shown_text(test)


def test_the_best_test_between_two_words_is_that_of_their_laws(
    opened: Callable[..., AppTest],
) -> None:
    """Plain twin: outputs in the order of their likelihood ratio."""
    names = small().words[0], small().words[3]
    test = opened(apart="any output", word=names[0], other=names[1], eps_metric="2")
    mechanism = create("tem", small())
    laws = [mechanism.law(word, 2.0).dense(len(small()))[0] for word in names]
    order = np.argsort(-(laws[0] / laws[1]), kind="stable")
    rates, powers = ([0.0, *np.cumsum(law[order])] for law in (laws[1], laws[0]))
    test.select_slider(key="alarms").set_value(10.0).run()
    (figure,) = figures(test)
    best, allowed, threshold = figure["data"][-3:]
    assert (best["name"], allowed["name"]) == ("tem, ε = 2", "the guarantee allows")
    assert threshold["x"] == [0.1, 0.1]
    for rate, power in zip(best["x"], best["customdata"], strict=True):
        assert power == pytest.approx(np.interp(rate, rates, powers), abs=2e-4)
        assert power >= np.interp(rate, rates, powers) * (1 - 1e-12)
    power_at_rate = next(
        power for rate, power in zip(best["x"], best["customdata"], strict=True) if rate == 0.1
    )
    page_text = shown_text(test)
    assert f"A test that is wrong in 10 of 100 texts with “{names[1]}” finds " in page_text
    assert f"finds {at_most(power_at_rate, 3, times=100)} of 100 with “{names[0]}”" in page_text
    assert (np.array(allowed["customdata"]) >= np.array(best["customdata"])).all()


def test_without_a_bound_on_the_error_of_a_law_no_best_test_is_drawn(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(attacked="truncated-gumbel", apart="any output", eps_log="4")
    assert "No best test is known here." in " ".join(e.value for e in test.error)
    assert not figures(test)
