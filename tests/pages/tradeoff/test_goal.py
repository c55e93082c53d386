"""Choose ε on the Trade-off page: the answers are the engine's, and what a button sets."""

import math

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.trade.ground import GUESSED
from dpcore.lexicon.catalogue import load
from dpcore.measure.targets import Target, solve
from dpcore.measure.words import select_words
from dpcore.mechanisms.registry import create, resolve
from dpcore.papers.ours.offers import guess_offer
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.study.recorded import read_recorded
from dpcore.study.utility import solve_margin as solve_accuracy
from pages.release import board as release
from pages.shared.dial import GROUPS
from pages.tradeoff.goal import GOALS, Goal
from tests.pages.app import open_link, shown_text, table, unopened


def answers(test: AppTest) -> dict[str, float | None]:
    """ε of each mechanism; None where the goal is not met."""
    shown = table(test, "mechanism", "ε")
    values = (None if math.isnan(value) else float(value) for value in shown["ε"])
    return dict(zip(shown["mechanism"].astype(str), values, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("goal", [goal for goal in GOALS if not goal.measured])
def test_answers_of_the_lexicon_are_those_of_what_was_recorded(goal: Goal) -> None:
    test = open_link("tradeoff", goal=goal.key, curves="tem,madlib,neighbour-response-3")
    shown = answers(test)
    curves = recorded_curves()
    assert list(shown) == ["tem", "madlib", "neighbour-response, k = 3"]
    if goal.quantity == "accuracy":
        name, data = {
            "sst2": ("equal-leakage-sst2", "SST-2"),
            "agnews": ("equal-leakage-agnews", "AG News"),
            "imdb": ("equal-leakage-imdb", "IMDb"),
            "yelp": ("equal-leakage-yelp", "Yelp"),
        }.get(goal.key, ("equal-leakage", goal.key))
        where = {"data": data, "learner": "tf-idf", "tested_on": "private", "lexicon": "bundled"}
        for solved in solve_accuracy(read_recorded(name).table, goal.start / 100, **where):
            if solved.curve in shown:
                assert shown[solved.curve] == solved.high
        return
    for label, epsilon in shown.items():
        curve, bound = curves[label], goal.start / 100
        expected = (
            curve.keeps_below(goal.quantity, bound)
            if goal.most
            else curve.reaches(goal.quantity, bound)
        )
        assert epsilon == expected
        if expected is None:
            continue
        at_goal = curve.at_epsilon(goal.quantity, expected)
        assert at_goal is not None
        # The whole interval is on the right side, so the value is.
        assert at_goal <= bound + 1e-9 if goal.most else at_goal >= bound - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "quantity", "bound"), [("nw", "nw", 0.3), ("sw", "sw", 20.0)])
def test_answers_of_a_word_are_those_of_the_engine(goal: str, quantity: str, bound: float) -> None:
    test = open_link(
        "tradeoff", goal=goal, curves="tem,optimal", word="doctor", of_words="word",
        **{f"goal_{goal}": f"{bound:g}"},
    )  # fmt: skip
    shown, lexicon = answers(test), load(None)
    for short in ("tem", "optimal"):
        kind = create(resolve(short).key, lexicon, {})
        solution = solve(kind, select_words(lexicon, ["doctor"]), Target(quantity, bound))
        expected = solution.certain[-1][1] if solution.certain else solution.largest
        assert shown[short] == expected


@pytest.mark.slow
def test_what_has_no_closed_form_is_measured_when_asked_for() -> None:
    test = open_link("tradeoff", goal="nw", curves="tem,madlib", of_words="word", word="doctor")
    assert list(answers(test)) == ["tem"]
    test.button(key="goal_measure").click().run()
    shown = answers(test)
    assert list(shown) == ["tem", "madlib"]
    assert shown["madlib"] is not None
    assert 5 < shown["madlib"] < 30


def test_a_step_that_meets_the_goal_is_set_everywhere() -> None:
    test = open_link("tradeoff", goal="word", goal_word="5", curves="tem")
    answer = answers(test)["tem"]
    assert answer is not None
    test.button(key="goal_take").click().run()
    step = test.session_state["eps_metric"]
    assert step == max(epsilon for epsilon in GROUPS[0].grid if epsilon <= answer)
    assert f"tem: ε = {step:g}" in shown_text(test)
    assert test.session_state["attacked"] == "tem"
    test.switch_page("pages/attacker/page.py").run()
    assert not test.exception
    assert test.session_state["eps_metric"] == step


def test_words_that_are_unknown_or_absent_are_refused_kindly() -> None:
    test = open_link("tradeoff", goal="nw", curves="tem", of_words="word", word="doctor")
    test.text_input(key="goal_word").set_value("xyzzy <b>").run()
    assert not test.exception
    assert "no answer" in shown_text(test)
    assert not test.get("dataframe")
    test = open_link("tradeoff", goal="nw", curves="tem", of_words="text")
    assert "Paste a text" in shown_text(test)
    test.text_area(key="goal_text").set_value("The doctor, the doctor! And xyzzy.").run()
    assert list(answers(test)) == ["tem"]


def test_the_goal_is_that_of_the_dial_and_a_release_sets_both() -> None:
    test = open_link("tradeoff", level="12", curves="tem,madlib")
    assert test.number_input(key=f"goal_{GUESSED}").value == 12.0
    test = unopened("tradeoff")
    # As Release keeps a limit, and the mechanism that was chosen.
    test.session_state[release.GOALS["guess"].field] = "10"
    test.session_state[release.CHOSEN] = "k-ary"
    test.run()
    assert test.number_input(key=f"goal_{GUESSED}").value == 10.0
    assert "k-ary" in answers(test)
    # A goal of something else than the dial counts is left alone.
    test = open_link("tradeoff", level="12", curves="tem", goal="meaning")
    assert test.number_input(key="goal_meaning").value == 30.0


def test_an_answer_between_two_steps_says_which_is_set() -> None:
    test = open_link("tradeoff", level="10", curves="madlib")
    answer = answers(test)["madlib"]
    assert answer is not None
    step = max(epsilon for epsilon in GROUPS[0].grid if epsilon <= answer)
    guessed = recorded_curves()["madlib"].at_epsilon(GUESSED, step)
    assert guessed is not None
    assert (
        f"The dials have no step at ε = {answer:.3g}: ε = {step:g} is the nearest that meets the "
        f"goal. Content words guessed there: {100 * guessed:.2g} of 100."
    ) in shown_text(test)
    assert "as on Release" in shown_text(test)
    # Release reads the same number, to three digits towards the goal.
    mechanism = create(resolve("madlib").key, load(None), {})
    offer = guess_offer(mechanism, recorded_curves()["madlib"], None, 0.1)
    assert offer.epsilon == pytest.approx(answer, rel=2e-3)
