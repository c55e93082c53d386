"""Offers for a goal: the ε with which a mechanism meets it, and leakage and utility there.

A goal limits either the share of content words that someone guesses who knows how common words are
(the very word, or a near one), or the accuracy that a classifier loses. Every ε offered is the ε
used: three digits, rounded to the safe side, and where a certificate covers only some ε, one of
those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.guarantee import Status
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_most
from dpcore.study.labelled_trial import STRONGER
from dpcore.study.plan import CLEAN
from dpcore.study.recorded import MeanInterval
from dpcore.study.utility import Solved, solve_each
from dpcore.study.utility_summary import baseline, curves
from dpcore.written import Filled

if TYPE_CHECKING:
    import pandas as pd

COIN = 0.5
"""AUC of a random guess."""
_DIGITS = 3
NOT_MEASURED = "not measured with these words and settings"
UNLEARNED = Filled("accuracy was not measured")
"""Reasons why an offer has no ε."""


@dataclass(frozen=True)
class Offer:
    """A mechanism at the ε that meets a goal.

    Attributes:
        epsilon: ε; None where none is known.
        why: reason why there is none, or how certain it is; empty if there is nothing to say.
        status: of the guarantee at ε.
        guessed: share of content words that someone guesses who knows how common words are, with
            its interval.
        near: the same where one of the nine nearest words counts as well.
        at_least: True if a better attacker may guess more.
        accuracy: of a classifier on private texts, with its interval.
        auc: of the attacker on the membership of training texts, with its interval.
    """

    epsilon: float | None
    why: str = ""
    status: Status | None = None
    guessed: MeanInterval | None = None
    near: MeanInterval | None = None
    at_least: bool = False
    accuracy: MeanInterval | None = None
    auc: MeanInterval | None = None


@dataclass(frozen=True)
class Clean:
    """Accuracy of a classifier on the original texts, and that of no classifier at all.

    Attributes:
        accuracy: of a classifier that learns from and reads original texts, with its interval.
        majority: of always guessing the largest class.
    """

    accuracy: MeanInterval
    majority: float

    @property
    def learnable(self) -> bool:
        """True if the whole interval is above always guessing the largest class.

        Of a single trial, which has no interval, the value itself is compared.
        """
        mean, low, _ = self.accuracy
        return (mean if math.isnan(low) else low) > self.majority


def clean_accuracy(table: pd.DataFrame, learner: str, data: str = "") -> Clean:
    """Return the accuracy on the original texts.

    Args:
        table: rows of an experiment or of a run.
        learner: name of the classifier.
        data: labelling or corpus; "" takes all rows.

    Raises:
        StudyError: there is no baseline.
    """
    where = {"data": data} if data else {}
    learned = baseline(table, "accuracy", learner=learner, tested_on=CLEAN, **where)
    return Clean(
        MeanInterval(learned.mean, learned.low, learned.high),
        baseline(table, "majority", **where).mean,
    )


def guess_offer(
    mechanism: Mechanism,
    curve: TradeCurve | None,
    taught: TradeCurve | None,
    share: float,
    quantity: str = GUESSED,
) -> Offer:
    """Return the largest ε at which at most this share is guessed, interval included.

    Args:
        mechanism: the mechanism.
        curve: measurements of it on its lexicon.
        taught: results of learning from its texts, quantities accuracy and auc.
        share: 0 to 1.
        quantity: `GUESSED`, or `NEARLY` where a near word counts as well.
    """
    if curve is None or quantity not in curve:
        return Offer(None, NOT_MEASURED)
    most = curve.keeps_below(quantity, share)
    if most is None:
        return Offer(None, Filled("may exceed the goal at every ε that was measured"))
    why = Filled("the largest ε that was measured") if most == curve.epsilons[-1] else ""
    return _offer(mechanism, curve, taught, _down(mechanism, most), why)


def accuracy_offer(
    mechanism: Mechanism, curve: TradeCurve | None, taught: TradeCurve | None, solved: Solved | None
) -> Offer:
    """Return the smallest ε from which on the loss of accuracy is within the goal for sure.

    Args:
        mechanism: the mechanism.
        curve: as for `guess_offer`.
        taught: as for `guess_offer`.
        solved: result of `dpcore.study.utility.solve_margin` for it.
    """
    if solved is None:
        return Offer(None, UNLEARNED)
    if solved.high is None:
        return Offer(None, Filled("may miss the goal at every ε that was measured"))
    why = (
        Filled("or less: the smallest ε that was measured")
        if solved.high <= solved.smallest
        else ""
    )
    return _offer(mechanism, curve, taught, _up(mechanism, solved.high), why)


def solved_for(
    table: pd.DataFrame, points: Sequence[float], learner: str, data: str = ""
) -> list[dict[str, Solved]]:
    """Find where each curve comes within given points of the accuracy without privacy, by label.

    Args:
        table: rows of an experiment or of a run.
        points: of a percent, one for each answer.
        learner: name of the classifier.
        data: labelling or corpus; "" takes all rows.

    Raises:
        StudyError: there is no baseline, or only one trial.
    """
    where = {"learner": learner, "tested_on": "private"} | ({"data": data} if data else {})
    answers = solve_each(table, [each / 100 for each in points], **where)
    return [{answer.curve: answer for answer in each} for each in answers]


def run_curves(table: pd.DataFrame, learner: str) -> Mapping[str, TradeCurve]:
    """Return the curves of a run by the label of the arm: quantities accuracy and auc.

    Args:
        table: rows of a run of `dpcore.study.live`.
        learner: name of the classifier.
    """
    wanted = {
        "accuracy": {"learner": learner, "tested_on": "private"},
        "auc": {"learner": learner, "variant": STRONGER},
    }
    amounts: dict[str, dict[str, np.ndarray]] = {}
    epsilons: dict[str, np.ndarray] = {}
    for quantity, where in wanted.items():
        for label, points in curves(table, quantity, **where).groupby("curve", sort=False):
            name, values = str(label), points[["mean", "low", "high"]].to_numpy(dtype=np.float64)
            amounts.setdefault(name, {})[quantity] = values
            epsilons[name] = points["epsilon"].to_numpy(dtype=np.float64)
    return {
        name: TradeCurve(name, name, epsilons[name], values) for name, values in amounts.items()
    }


def _offer(
    mechanism: Mechanism,
    curve: TradeCurve | None,
    taught: TradeCurve | None,
    epsilon: float,
    why: str,
) -> Offer:
    # Read where the law was measured: between two certified ε it is that of the smaller one.
    at = mechanism.same_law_from(epsilon)
    return Offer(
        epsilon,
        why,
        mechanism.guarantee(epsilon).status,
        _reading(curve, GUESSED, at),
        _reading(curve, NEARLY, at),
        curve is not None and GUESSED in curve.at_least,
        _reading(taught, "accuracy", at),
        _reading(taught, "auc", at),
    )


def _reading(curve: TradeCurve | None, quantity: str, epsilon: float) -> MeanInterval | None:
    if curve is None or quantity not in curve:
        return None
    found = curve.interval_at_epsilon(quantity, epsilon)
    if found is None:
        return None
    if (
        quantity not in {GUESSED, NEARLY} and np.isnan(curve.amounts[quantity]).any()
    ):  # only one trial
        return MeanInterval(found[0], math.nan, math.nan)
    return MeanInterval(*found)


def _down(mechanism: Mechanism, epsilon: float) -> float:
    """Round ε down to a few digits, and to the least ε with the same law."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - _DIGITS + 1)
    # The quotient is off in its last digits: 2.09 must not become 2.08.
    rounded = float(f"{math.floor(round(epsilon / unit, 6)) * unit:.{_DIGITS}g}")
    return mechanism.same_law_from(rounded if rounded in mechanism.admissible else epsilon)


def _up(mechanism: Mechanism, epsilon: float) -> float:
    """Round ε up to a few digits (and to a certified ε), then to the least ε with the same law."""
    calibrated = mechanism.calibrated
    certificate = None if calibrated is None else calibrated.certificate
    if certificate is not None:
        known = certificate.epsilons
        # An ε that was interpolated may be off in its last digits.
        above = known[known >= epsilon * (1.0 - 1e-6)]
        if above.size:
            epsilon = float(above[0])
    rounded = float(at_most(epsilon, _DIGITS))
    return mechanism.same_law_from(rounded if rounded in mechanism.admissible else epsilon)
