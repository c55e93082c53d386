"""Controls of the lesson: they agree with the answers, and with plain definitions."""

import math

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers import lesson
from dpcore.papers.lesson_turns import DRAWN, DRAWN_SEED, TURNS, Frame, turn


def frame(key: str, name: str) -> Frame:
    return next(each for each in turn(key, load()).frames if each.name == name)


def test_there_is_one_for_each_exercise() -> None:
    assert list(TURNS) == list(lesson.EXERCISES)
    with pytest.raises(ParameterError, match="unknown step"):
        turn("fun", load())


@pytest.mark.slow
@pytest.mark.parametrize("key", TURNS)
def test_bars_are_shares_and_findings_are_short(key: str) -> None:
    shown = turn(key, load())
    counts = {len(each.bars) for each in shown.frames}
    assert len(counts) == 1  # the page has one row of bars for all
    assert 0 <= shown.start < len(shown.frames)
    for each in shown.frames:
        assert all(0 <= bar.share <= 1 for bar in each.bars)
        assert len(each.finding.split()) <= 25


@pytest.mark.slow
def test_the_draws_are_those_of_the_mechanism_with_true_distances() -> None:
    words = load()
    doctor = words.index(lesson.DRAW_WORD)
    mechanism = create("madlib", words)
    same = np.full(DRAWN, doctor)
    outputs = mechanism.sample(generator(DRAWN_SEED, "lesson draw"), same, lesson.DRAW_EPSILON)
    frames = turn("draw", words).frames[1:]
    landings = [each.landing for each in frames if each.landing is not None]
    assert [landing.output for landing in landings] == [words.words[w] for w in outputs]
    vectors = words.vectors.astype(float)
    for landing, output in zip(landings, outputs, strict=True):
        apart = np.linalg.norm(vectors[output] - vectors[doctor])
        assert math.hypot(landing.output_x, landing.output_y) == pytest.approx(apart, abs=1e-9)
    assert frames[-1].bars[0].share == np.mean(outputs == doctor)


def test_odds_follow_from_the_definition() -> None:
    words = load()
    one, two = (words.vectors[words.index(word)].astype(float) for word in lesson.ODDS_WORDS)
    odds = math.exp(2.0 * np.linalg.norm(one - two))
    after = frame("odds", "ε = 2").bars[1].share
    assert after == pytest.approx(odds / (1 + odds), rel=1e-6)
    assert f"{odds:.3g}-fold" in frame("odds", "ε = 2").finding


@pytest.mark.slow
def test_the_true_epsilon_of_a_claim_is_the_square_root() -> None:
    for numbers in (4, 64, 256):
        bar = frame("claim", f"{numbers} numbers").bars[1]
        assert float(bar.text) == pytest.approx(math.sqrt(numbers), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "name", "bar"),
    [
        ("names", "2 ordinary words", 0),
        ("price", "ε = 2.4", 1),
        ("proof", "changes up to 0.15", 0),
    ],
)
def test_where_the_question_asks_the_bar_is_the_answer(key: str, name: str, bar: int) -> None:
    asked = frame(key, name)
    assert asked.asked
    assert 100 * asked.bars[bar].share == pytest.approx(lesson.exercise(key, load()).answer)


def test_what_a_goal_needs_is_near_what_the_step_solves_for() -> None:
    goal = frame("choose", "10 of 100 words")
    assert goal.asked
    assert f"ε = {lesson.exercise('choose', load()).answer:.3g}," in goal.finding


@pytest.mark.slow
def test_the_crowd_is_that_of_the_answer() -> None:
    stays = [bar.share for bar in frame("crowd", f"ε = {lesson.CROWD_EPSILON:g}").bars]
    assert int(np.argmax(stays)) == lesson.exercise("crowd", load()).answer
