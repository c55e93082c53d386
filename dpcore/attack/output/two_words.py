"""The Bayes attacker: two equally likely words, one output; which word was it?

Whoever sees the output y and guesses the likelier word is right with probability

    S = ½ Σ_y max(P(y|w), P(y|w′)) = ½ (1 + TV),

TV the total variation between the two laws, and no attacker does better (Bayes' rule). A guarantee
bounds it: P(T|w) ≤ e^L P(T|w′) + δ for every set T, in both directions, gives
S ≤ (e^L + δ)/(1 + e^L), the corner of the region of errors in Kairouz, Oh, Viswanath 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.guarantee import ApproximateLocalPrivacy
from dpcore.measure.outputs import mean_of

if TYPE_CHECKING:
    from dpcore.guarantee import Guarantee
    from dpcore.measure.outputs import Outputs


@dataclass(frozen=True, eq=False)
class Success:
    """How often the best attacker is right; arrays of shape (E,).

    Exact laws give S itself: `low` and `high` are equal and the errors 0. From estimated laws S
    lies between the *expectations* of `low` and `high`:

    * `low`: attackers that learnt the laws from one half of the directions are tried on the other
      half. Each is an attacker, so that it is right with probability S at the most, and its trial
      is unbiased because the halves are independent.
    * `high`: the estimated laws put into the formula. The maximum is convex, so that its
      expectation is at least S (Jensen).

    Attributes:
        low: lower end.
        low_error: standard error of `low`, an upper one; 0 if exact.
        high: upper end.
        high_error: standard error of `high`; 0 if exact.
        exact: whether both are S.
    """

    low: FloatArray
    low_error: FloatArray
    high: FloatArray
    high_error: FloatArray
    exact: bool

    @classmethod
    def joined(cls, parts: list[Success]) -> Success:
        """The same pair of words at the ε of all parts, one part after the other."""
        columns = zip(*((p.low, p.low_error, p.high, p.high_error) for p in parts), strict=True)
        low, low_error, high, high_error = map(np.concatenate, columns)
        return cls(low, low_error, high, high_error, all(part.exact for part in parts))


def success(first: Outputs, second: Outputs, nearer: BoolArray) -> Success:
    """Success of the best attacker between two words under equal prior.

    Args:
        first: outputs of w at E values of ε.
        second: of w′ at the same; of estimated ones along the same rays.
        nearer: for every word of the vocabulary whether it is nearer to w than to w′, shape (n,):
            what an attacker goes by where the directions that it learnt from say nothing.
    """
    outputs = np.union1d(first.output, second.output)
    if first.exact and second.exact:
        p, q = _table(first, outputs, None), _table(second, outputs, None)
        value = 0.5 * np.maximum(p, q).sum(axis=1)
        none = np.zeros_like(value)
        return Success(value, none, value, none, True)
    default = nearer[outputs]
    # Tried on the directions that it was learnt from, a rule looks better than it is: the high end.
    high, high_error = mean_of(_trial(first, second, _rule(first, second, outputs, None, default)))
    even = np.arange(first.rays) % 2 == 0
    lows, errors = [], []
    for learnt in (even, ~even):
        rule = _rule(first, second, outputs, learnt, default)
        value, error = mean_of(_trial(first, second, rule)[:, ~learnt])
        lows.append(value)
        errors.append(error)
    # The two trials may depend on each other: errors add up at the most.
    return Success((lows[0] + lows[1]) / 2, (errors[0] + errors[1]) / 2, high, high_error, False)


def _table(law: Outputs, outputs: IntArray, rays: BoolArray | None) -> FloatArray:
    """Mass of each of some outputs, summed over some rays: shape (E, number of outputs)."""
    column, mass = law.columns(outputs), law.mass
    if law.exact:  # every output stands in one entry
        table = np.zeros((mass.shape[0], outputs.size))
        table[:, column] = mass
        return table
    if rays is not None:
        chosen = rays[law.ray]
        column, mass = column[chosen], mass[:, chosen]
    # One count with weights for all ε: each has its own stretch of slots.
    size = outputs.size
    slot = column + np.arange(mass.shape[0])[:, None] * size
    total: FloatArray = np.bincount(
        slot.reshape(-1), mass.reshape(-1), minlength=mass.shape[0] * size
    ).astype(np.float64)
    return total.reshape(mass.shape[0], size)


def _rule(
    first: Outputs, second: Outputs, outputs: IntArray, rays: BoolArray | None, default: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Whether an attacker that learnt from some rays says w: for each entry of both, (E, P)."""
    p, q = _table(first, outputs, rays), _table(second, outputs, rays)
    # Equal masses, mostly 0 and 0, say nothing: then by distance.
    says = (p > q) | ((p == q) & default)
    return says[:, first.columns(outputs)], says[:, second.columns(outputs)]


def _trial(first: Outputs, second: Outputs, rule: tuple[BoolArray, BoolArray]) -> FloatArray:
    """How often the rule is right along each ray, shape (E, N)."""
    return np.asarray(0.5 * (first.each(rule[0]) + second.each(~rule[1])))


def bound(guarantee: Guarantee, distance: float) -> float:
    """The largest success that a promise allows between two words at a Euclidean distance."""
    loss = guarantee.euclidean_loss(distance)
    delta = 0.0
    if isinstance(guarantee, ApproximateLocalPrivacy):
        delta = math.exp(guarantee.log_delta)
    return (1.0 + delta * math.exp(-loss)) / (1.0 + math.exp(-loss))
