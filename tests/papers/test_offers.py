"""Offers for a goal: each meets it, on the safe side, and both numbers are those recorded."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.equal_leakage import task_curves
from dpcore.papers.ours.offers import (
    NOT_MEASURED,
    accuracy_offer,
    guess_offer,
    run_curves,
    solved_for,
)
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.study.recorded import Figures, read_recorded
from dpcore.study.utility import Solved, solve_margin

WORDS = load("default")
RECORD = read_recorded("equal-leakage")
KINDS = ("madlib", "tem", "tem-calibrated", "optimal", "k-ary", "neighbour-response", "gaussian")


@cache
def taught() -> dict[str, TradeCurve]:
    """Curves of the task, by mechanism; not computed while tests are collected."""
    return task_curves(Figures(RECORD), "sentiment")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("share", [0.03, 0.1, 0.25])
def test_a_share_of_guesses_is_kept_with_all_of_its_interval(name: str, share: float) -> None:
    kind = create(name, WORDS)
    curve = recorded_curve(kind)
    assert curve is not None
    offer = guess_offer(kind, curve, taught().get(curve.label), share)
    assert offer.epsilon is not None
    assert offer.guessed is not None
    assert offer.guessed.mean <= offer.guessed.high <= share * (1 + 1e-12)
    assert offer.status == kind.guarantee(offer.epsilon).status
    assert float(f"{offer.epsilon:.3g}") == offer.epsilon  # it is shown as it is used
    assert kind.same_law_from(offer.epsilon) == offer.epsilon
    assert offer.at_least == (name in {"madlib", "gaussian"})


def test_it_is_the_most_useful_one() -> None:
    kind = create("tem", WORDS)
    curve = recorded_curve(kind)
    assert curve is not None
    offer = guess_offer(kind, curve, taught()["tem"], 0.1)
    assert offer.epsilon is not None
    further = curve.interval_at_epsilon(GUESSED, offer.epsilon + 0.01)
    assert further is not None
    assert further[2] > 0.1
    assert offer.accuracy is not None
    assert offer.accuracy == taught()["tem"].interval_at_epsilon("accuracy", offer.epsilon)
    assert offer.auc == taught()["tem"].interval_at_epsilon("auc", offer.epsilon)
    assert guess_offer(create("optimal", WORDS), None, None, 0.1).why == NOT_MEASURED
    near = guess_offer(kind, curve, None, 0.1, NEARLY)
    assert near.epsilon is not None
    assert near.epsilon < offer.epsilon
    assert near.near is not None
    assert near.near.high <= 0.1


def test_what_gives_more_away_everywhere_is_not_offered() -> None:
    kind = create("truncated-gumbel", WORDS)
    offer = guess_offer(kind, recorded_curve(kind), None, 0.05)
    assert (offer.epsilon, offer.status) == (None, None)
    assert offer.why.startswith("may exceed the goal")
    half = guess_offer(
        create("custext", WORDS), recorded_curve(create("custext", WORDS)), None, 0.6
    )
    assert half.status is Status.CONDITIONAL


def test_a_loss_of_accuracy_is_kept_and_a_certificate_rounds_up() -> None:
    kind = create("optimal", WORDS)
    curve, learned = recorded_curve(kind), taught()["optimal"]
    solved = Solved("optimal", "optimal", 1.16, 1.1, 1.17, 0.85, 1.35)
    offer = accuracy_offer(kind, curve, learned, solved)
    assert offer.epsilon == 1.2  # at 1.17 the law is that of 1.15
    tem = create("tem", WORDS)
    exact = Solved("tem", "tem", 2.3, 2.2, 2.34567, 1.7, 2.7)
    assert accuracy_offer(tem, recorded_curve(tem), taught()["tem"], exact).epsilon == 2.35
    assert accuracy_offer(tem, None, None, None).epsilon is None
    never = Solved("tem", "tem", 2.3, 2.2, None, 1.7, 2.7)
    assert "every ε" in accuracy_offer(tem, None, None, never).why


def test_many_margins_are_solved_as_one_by_one() -> None:
    points = (5.0, 10.0, 25.0)
    answers = solved_for(RECORD.table, points, "tf-idf", "sentiment")
    for each, some in zip(points, answers, strict=True):
        where = {"data": "sentiment", "learner": "tf-idf", "tested_on": "private"}
        alone = {one.curve: one for one in solve_margin(RECORD.table, each / 100, **where)}
        assert alone == some
    assert answers[2]["neighbour-response, k = 10"].epsilon is not None


def test_the_curves_of_a_run_are_its_means() -> None:
    rows = [
        {
            "label": "tem", "mechanism": "tem", "epsilon": epsilon, "seed": seed, "value": value,
            "learner": "averaged", "tested_on": "private", "quantity": "accuracy", "variant": "",
        }
        for epsilon, values in ((2.0, (0.5, 0.6, 0.7)), (4.0, (0.8, 0.8, 0.8)))
        for seed, value in enumerate(values)
    ]  # fmt: skip
    curve = run_curves(pd.DataFrame(rows), "averaged")["tem"]
    half = 0.1 / math.sqrt(3) * 4.302652729911275  # Student's quantile of two degrees
    assert curve.amounts["accuracy"][0] == pytest.approx([0.6, 0.6 - half, 0.6 + half])
    assert "auc" not in curve
    once = run_curves(pd.DataFrame([row for row in rows if row["seed"] == 0]), "averaged")
    offer = guess_offer(create("tem", WORDS), flat(), once["tem"], 0.5)
    assert offer.accuracy is not None
    assert math.isnan(offer.accuracy.low)  # one trial has no interval


def flat() -> TradeCurve:
    ends = np.array([[0.1, 0.1, 0.1], [0.5, 0.5, 0.5]])
    return TradeCurve("tem", "tem", np.array([2.0, 4.0]), {GUESSED: ends, NEARLY: ends})
