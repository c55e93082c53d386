"""How well membership was inferred: AUC, the ROC curve, and true positives at few false ones.

A false-positive rate of 1 % or 0.1 % is what an accusation can afford (Carlini et al. 2022,
"Membership inference attacks from first principles"); the AUC averages over rates that nobody
would use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.membership.membership import Scores
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEW = (0.001, 0.01)
"""False-positive rates at which the true-positive rate is reported."""


def auc(scores: Scores) -> float:
    """Probability that a text that was in gets a higher score than one that was not.

    A tie counts one half (Mann–Whitney).
    """
    from scipy.stats import rankdata

    a, b = scores.inside.size, scores.outside.size
    ranks = rankdata(np.concatenate((scores.inside, scores.outside)))
    return float((ranks[:a].sum() - a * (a + 1) / 2) / (a * b))


@dataclass(frozen=True)
class Rate:
    """True positives at a bound on false positives.

    Attributes:
        false_positives: the bound f.
        true_positives: share of the texts that were in and are called in.
        low: of the two-sided Clopper–Pearson interval of `true_positives`.
        high: of it.
        threshold: a score above it is called in.
        inside: texts that were in.
        outside: texts that were not; fewer than 1/f of them cannot show a rate of f.
    """

    false_positives: float
    true_positives: float
    low: float
    high: float
    threshold: float
    inside: int
    outside: int


def rate_at(scores: Scores, false_positives: float, error: float = 0.05) -> Rate:
    """True positives with the threshold at which at most a share f of the outsiders is called in.

    The interval is that of the true-positive count at this threshold. The threshold is chosen on
    the same outsiders, so the false-positive rate is that of the sample.

    Args:
        scores: of the attacker.
        false_positives: f, above 0 and below 1.
        error: the interval misses the truth with at most this probability, both sides together.
    """
    if not 0 < false_positives < 1:
        raise ParameterError(
            f"a false-positive rate must be above 0 and below 1, got {false_positives}"
        )
    outside = np.sort(scores.outside)[::-1]
    allowed = int(np.floor(false_positives * outside.size * (1 + 1e-12)))
    threshold = float(outside[allowed])  # those strictly above it are at most `allowed`
    hits = int((scores.inside > threshold).sum())
    total = scores.inside.size
    low, high = clopper_pearson(hits, total, 0.5 * error)
    return Rate(
        false_positives=false_positives,
        true_positives=hits / total,
        low=low,
        high=high,
        threshold=threshold,
        inside=total,
        outside=outside.size,
    )


def roc(scores: Scores, rates: ArrayLike) -> FloatArray:
    """True-positive rate at each false-positive rate, joined by straight lines, shape (r,).

    A straight line between two thresholds is what an attacker reaches who tosses a coin between
    them; ties are such a line.
    """
    values = np.concatenate((scores.inside, scores.outside))
    was_in = np.repeat([True, False], [scores.inside.size, scores.outside.size])
    order = np.argsort(-values, kind="stable")
    # No threshold falls between equal scores: only the last of them is a point of the curve.
    last = np.append(np.flatnonzero(np.diff(values[order])), values.size - 1)
    true = np.cumsum(was_in[order])[last] / scores.inside.size
    false = np.cumsum(~was_in[order])[last] / scores.outside.size
    return np.interp(
        np.asarray(rates, dtype=np.float64),
        np.concatenate(([0.0], false)),
        np.concatenate(([0.0], true)),
    )
