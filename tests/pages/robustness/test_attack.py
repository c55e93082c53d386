"""The view of the attack: one text step by step, a sample with its interval, bad input."""

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.genetic import Genetic, adversarial_accuracy, from_substitutions
from dpcore.errors import ParameterError
from dpcore.learn.substitutions import nearest_words
from pages.robustness import attack_work
from pages.robustness.words_work import NORMAL, Rules, model, read_corpus
from pages.shared.dial import GROUPS
from tests.pages.app import figures, shown_text, table, turn
from tests.pages.robustness.conftest import small

Opened = Callable[..., AppTest]
ATTACK = {"robust_view": "Attack"}
SAMPLE = {**ATTACK, "attack_part": "A sample of texts", "sample_size": "10"}


@pytest.mark.slow
def test_one_text_is_attacked_word_by_word(opened: Opened) -> None:
    test = opened(**ATTACK)
    shown = shown_text(test)
    assert "computed now" in shown
    steps = table(test, "change", "becomes", "probability")
    (figure,) = figures(test)
    assert len(figure["data"][0]["x"]) == len(steps) + 1
    # The probabilities are the classifier's own, of the text with the changes so far.
    corpus, victim = read_corpus(small(), "sentiment"), model(small(), Rules(), certified=False)
    text = corpus.test.part([9])
    words = text.words.copy()
    label = int(corpus.test_labels[9])
    for step in steps.itertuples():
        place = step.place - 1
        assert small().words[words[place]] == step.word
        words[place] = small().index(step.becomes)
        after = victim.probabilities(text.with_words(words))[0, label]
        assert step.probability == pytest.approx(after, abs=1e-9)
    if "read otherwise" in shown:
        assert victim.predict(text.with_words(words))[0] != label


@pytest.mark.slow
@pytest.mark.parametrize(
    "link",
    [
        {},
        {
            "attack_words": "the nearest words",
            "attack_neighbours": "4",
            "attack_victim": "certified training",
        },
    ],
)
def test_the_python_cell_makes_the_same_attack(
    opened: Opened, capsys: pytest.CaptureFixture[str], link: dict[str, str]
) -> None:
    test = opened(**ATTACK, **link)
    test.session_state["taking"] = True
    test.run()
    assert ("robust attack --text" in shown_text(test)) == (not link)
    assert "xu2021gumbel" in shown_text(test)
    cell = next(code.value for code in test.code if "attack(model" in code.value)
    capsys.readouterr()
    exec(cell, {})
    first, *changes = capsys.readouterr().out.strip().split("\n")
    before = float(first.split()[1])
    assert f"with probability {before:.3f}" in shown_text(test)
    steps = table(test, "change", "becomes", "probability")
    assert [line.split()[:2] for line in changes] == steps[["word", "becomes"]].values.tolist()
    assert [float(line.split()[2]) for line in changes] == pytest.approx(
        steps["probability"].tolist()
    )


def test_a_typed_text_is_attacked_and_stays_out_of_the_link(opened: Opened) -> None:
    test = opened(**ATTACK, attack_text_source="my own")
    typed = "I hate this terrible rude waiter"
    test.text_area(key="text").set_value(typed).run()
    assert re.search(r"Read as negative with probability", shown_text(test))
    assert all("waiter" not in value for value in test.query_params.values())
    test.session_state["taking"] = True
    assert "Your text is not in the link" in shown_text(test.run())
    test.text_area(key="text").set_value("").run()
    assert "This text cannot be used." in shown_text(test)


def test_no_budget_changes_nothing(opened: Opened) -> None:
    shown = shown_text(opened(**ATTACK, attack_share="0"))
    assert "after 0 changed words" in shown
    assert "Nothing was changed" in shown


def test_a_sample_has_an_interval_and_stays_above_its_certificate(opened: Opened) -> None:
    test = opened(**SAMPLE, attack_words="the nearest words", attack_neighbours="2")
    assert "Nothing has been attacked yet." in shown_text(test)
    test.button(key="sample_start").click().run()
    row = table(test, "before", "after", "certified").iloc[-1]
    assert row["texts"] == 10
    assert row["certified"] <= row["after"] <= row["before"]
    assert row["from"] < row["after"] + 1e-12
    assert row["after"] < row["to"] + 1e-12
    assert "no attack with these words gets below" in shown_text(test)


def test_runs_at_two_epsilons_are_drawn_as_a_curve(opened: Opened) -> None:
    test = opened(**SAMPLE)
    test.button(key="sample_start").click().run()
    assert "Attack the sample at another ε" in shown_text(test)
    turn(test, GROUPS[0], 20.0)
    test.button(key="sample_start").click().run()
    (figure,) = figures(test)
    named = {trace["name"]: trace for trace in figure["data"] if trace.get("name")}
    assert named["after the attack"]["x"] == named["before"]["x"] == [6.0, 20.0]
    assert len(table(test, "before", "after")) == 2


@pytest.mark.slow
def test_a_stop_ends_the_attack_and_keeps_earlier_runs(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened(**SAMPLE)
    test.button(key="sample_start").click().run()
    asked = []

    def refused(*given: object) -> None:
        asked.append(given)
        raise ParameterError("a setting is outside its range: change it")

    monkeypatch.setattr(attack_work, "adversarial_accuracy", refused)
    turn(test, GROUPS[0], 20.0)
    assert not asked  # nothing is attacked before the button is pressed
    test.button(key="sample_start").click().run()
    assert len(asked) == 1
    assert "change it" in shown_text(test)
    assert len(table(test, "before", "after")) == 1
    test.run()
    assert len(asked) == 1  # nor again by itself


def test_the_trial_is_that_of_the_engine() -> None:
    settings, rules = Genetic(10, 5, 0.2), Rules()
    hunt = attack_work.Hunt(None, 1.0, rules, NORMAL, 2, settings, 3)
    accuracy = attack_work.trial(small(), hunt, 12, lambda *_: None).accuracy
    corpus, victim = read_corpus(small(), "sentiment"), model(small(), rules, certified=False)
    rows = [round(i * (len(corpus.test) - 1) / 11) for i in range(12)]
    near = nearest_words(small(), corpus.test.words, 2)
    again = adversarial_accuracy(
        victim, corpus.test.part(rows), corpus.test_labels[rows],
        lambda text, _: from_substitutions(text, near), settings, 3,
    )  # fmt: skip
    assert accuracy == again


def test_a_link_of_nonsense_shows_the_usual_view(opened: Opened) -> None:
    link = {"attack_share": "7", "attack_population": "-3", "attack_generations": "abc"}
    link |= {"attack_tries": "0", "seed": "-1", "attacked": "<b>", "eps_metric": "much"}
    link |= {"attack_text_number": "x", "attack_victim": "mine", "attack_words": "all"}
    assert "computed now" in shown_text(opened(**ATTACK, **link))
    sample = opened(**ATTACK, attack_part="A sample of texts", sample_size="1000000")
    assert "Nothing has been attacked yet." in shown_text(sample)
