"""Bayes attacker on two equally likely words, given one output.

Guessing the likelier word after the output y is right with probability

    S = ½ Σ_y max(P(y|w), P(y|w′)) = ½ (1 + TV),

TV the total variation between the two laws, and no attacker does better (Bayes' rule). A guarantee
bounds it: P(T|w) ≤ e^L P(T|w′) + δ for every set T, in both directions, gives
S ≤ (e^L + δ)/(1 + e^L), the corner of the region of errors in Kairouz, Oh, Viswanath 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee
from dpcore.measure.deniability import Deniability, finite
from dpcore.measure.directions import Outputs, mean_of, outputs_of
from dpcore.measure.pair import Pair, deniability, output_distance, stay_tally
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Success:
    """Success of the best attacker; arrays of shape (E,).

    Exact laws give S itself: `low` and `high` are equal and the errors 0. From estimated laws S
    lies between the *expectations* of `low` and `high`:

    * `low`: attackers that learned the laws from one half of the directions are tried on the other
      half. Each is an attacker, so it is right with probability S at most, and its trial is
      unbiased because the halves are independent.
    * `high`: the estimated laws are used in the formula. The maximum is convex, so its expectation
      is at least S (Jensen).

    Attributes:
        low: lower end.
        low_error: standard error of `low`, an upper one; 0 if exact.
        high: upper end.
        high_error: standard error of `high`; 0 if exact.
        exact: True if both are S.
    """

    low: FloatArray
    low_error: FloatArray
    high: FloatArray
    high_error: FloatArray
    exact: bool

    @classmethod
    def joined(cls, parts: list[Success]) -> Success:
        """Join results for the same pair of words: the ε of all parts, one part after the other."""
        columns = zip(*((p.low, p.low_error, p.high, p.high_error) for p in parts), strict=True)
        low, low_error, high, high_error = map(np.concatenate, columns)
        return cls(low, low_error, high, high_error, all(part.exact for part in parts))


def success(first: Outputs, second: Outputs, nearer: BoolArray) -> Success:
    """Compute the success of the best attacker between two words under equal prior.

    Args:
        first: outputs of w at E values of ε.
        second: of w′ at the same ε; estimated ones along the same rays.
        nearer: for every word of the vocabulary True if it is nearer to w than to w′, shape (n,):
            the attacker's guess where the directions that it learned from decide nothing.
    """
    outputs = np.union1d(first.output, second.output)
    if first.exact and second.exact:
        p, q = _table(first, outputs, None), _table(second, outputs, None)
        value = 0.5 * np.maximum(p, q).sum(axis=1)
        none = np.zeros_like(value)
        return Success(value, none, value, none, True)
    default = nearer[outputs]
    # On the directions that it was learned from, a rule looks better than it is: the high end.
    high, high_error = mean_of(_trial(first, second, _rule(first, second, outputs, None, default)))
    even = np.arange(first.rays) % 2 == 0
    lows, errors = [], []
    for learnt in (even, ~even):
        rule = _rule(first, second, outputs, learnt, default)
        value, error = mean_of(_trial(first, second, rule)[:, ~learnt])
        lows.append(value)
        errors.append(error)
    # The two trials may depend on each other: errors at most add up.
    return Success((lows[0] + lows[1]) / 2, (errors[0] + errors[1]) / 2, high, high_error, False)


def _table(law: Outputs, outputs: IntArray, rays: BoolArray | None) -> FloatArray:
    """Return the mass of each of some outputs, summed over some rays: shape (E, outputs)."""
    column, mass = law.columns(outputs), law.mass
    if law.exact:  # every output is in one entry
        table = np.zeros((mass.shape[0], outputs.size))
        table[:, column] = mass
        return table
    if rays is not None:
        chosen = rays[law.ray]
        column, mass = column[chosen], mass[:, chosen]
    # One weighted count for all ε: each has its own range of slots.
    size = outputs.size
    slot = column + np.arange(mass.shape[0])[:, None] * size
    total: FloatArray = np.bincount(
        slot.reshape(-1), mass.reshape(-1), minlength=mass.shape[0] * size
    ).astype(np.float64)
    return total.reshape(mass.shape[0], size)


def _rule(
    first: Outputs, second: Outputs, outputs: IntArray, rays: BoolArray | None, default: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Return True where an attacker that learned from some rays says w: entries of both, (E, P)."""
    p, q = _table(first, outputs, rays), _table(second, outputs, rays)
    # Equal masses, mostly 0 and 0, decide nothing: then the distance decides.
    says = (p > q) | ((p == q) & default)
    return says[:, first.columns(outputs)], says[:, second.columns(outputs)]


def _trial(first: Outputs, second: Outputs, rule: tuple[BoolArray, BoolArray]) -> FloatArray:
    """Return the share of right answers of the rule along each ray, shape (E, N)."""
    return np.asarray(0.5 * (first.each(rule[0]) + second.each(~rule[1])))


def success_bound(guarantee: Guarantee, distance: float) -> float:
    """Return the largest success that a guarantee allows at this Euclidean distance."""
    loss = guarantee.euclidean_loss(distance)
    delta = 0.0
    if isinstance(guarantee, ApproximateLocalPrivacy):
        delta = math.exp(guarantee.log_delta)
    return (1.0 + delta * math.exp(-loss)) / (1.0 + math.exp(-loss))


# Two words under one mechanism over all ε: deniability, output distance, success of attackers.


_ENTRIES = 2_000_000  # probabilities of a word held at a time: 16 MB


@dataclass(frozen=True, eq=False)
class Comparison:
    """Effect of one mechanism on a pair of words at E values of ε.

    Attributes:
        mechanism: registry key.
        pair: the words.
        epsilons: shape (E,).
        deniability: Nw, Sw and effective number of both words.
        distance: expected Euclidean distance of the output from the word, shape (2, E).
        distance_error: its standard error; 0 if exact.
        between: success of the best attacker between the two words.
        beside: for each word, success of the best attacker between it and its nearest neighbour.
        bound: the largest `between` that the guarantee allows, shape (E,).
        beside_bound: the largest `beside`, shape (2, E).
        status: of the guarantee at each ε: proved, certified on this lexicon, conditional, refuted.
        detail: how distance and attack were found.
    """

    mechanism: str
    pair: Pair
    epsilons: FloatArray
    deniability: Deniability
    distance: FloatArray
    distance_error: FloatArray
    between: Success
    beside: tuple[Success, Success]
    bound: FloatArray
    beside_bound: FloatArray
    status: tuple[str, ...]
    detail: str

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain row for each word and ε; errors are standard errors, 0 where exact."""
        rows = []
        names = self.pair.names
        for i, measured in enumerate(self.deniability.rows()):
            w, e = divmod(i, self.epsilons.size)
            row = {name: measured[name] for name in _DENIABILITY}
            row |= {
                "other": names[1 - w],
                "output_distance": float(self.distance[w, e]),
                "output_distance_error": float(self.distance_error[w, e]),
                "nearest_distance": self.pair.gaps[w],
                "output_distance_relative": float(self.distance[w, e] / self.pair.gaps[w]),
                "nearest": self.pair.lexicon.words[self.pair.nearest[w]],
                "law": self.detail,
                "exact": self.between.exact,
                "status": self.status[e],
            }
            for label, each, limit in (
                ("attack", self.between, self.bound[e]),
                ("attack_nearest", self.beside[w], self.beside_bound[w, e]),
            ):
                row |= {
                    f"{label}_low": float(each.low[e]),
                    f"{label}_low_error": float(each.low_error[e]),
                    f"{label}_high": float(each.high[e]),
                    f"{label}_high_error": float(each.high_error[e]),
                    f"{label}_bound": finite(limit),
                }
            rows.append(row)
        return rows


_DENIABILITY = (
    "mechanism epsilon word nw nw_low nw_high standard_error sw sw_standard_error effective "
    "effective_standard_error method runs"
).split()


def compare(
    mechanism: Mechanism,
    pair: Pair,
    epsilons: FloatArray,
    shared: SharedDirections,
    *,
    runs: int,
    seed: int,
) -> Comparison:
    """Measure one mechanism.

    Args:
        mechanism: over the lexicon of the pair.
        pair: the words.
        epsilons: admissible, shape (E,), E ≥ 1.
        shared: public directions behind distances and attacks where a law is not exact.
        runs: R of Sw, and directions or runs behind Nw where it is not exact.
        seed: of those.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    size = len(pair.lexicon)
    # An exact law has n entries at every ε; estimated ones keep the few outputs that occurred.
    step = max(1, _ENTRIES // size) if mechanism.exact_law else values.size
    (a, b), (near_a, near_b) = pair.words, pair.nearest
    far: list[tuple[FloatArray, FloatArray]] = []
    attacks: list[list[Success]] = [[], [], []]
    detail = ""
    for start in range(0, values.size, step):
        part = values[start : start + step]
        outputs: dict[int, Outputs] = {
            word: outputs_of(mechanism, word, part, ranking, shared)
            for word, ranking in pair.rankings.items()
        }
        each = [output_distance(pair, outputs[word]) for word in pair.words]
        far.append((np.stack([e[0] for e in each]), np.stack([e[1] for e in each])))
        for place, (first, second) in enumerate(((a, b), (a, near_a), (b, near_b))):
            nearer = pair.distances(first) < pair.distances(second)
            attacks[place].append(success(outputs[first], outputs[second], nearer))
        detail = outputs[a].detail
    between, *beside = (Success.joined(parts) for parts in attacks)
    promises = [mechanism.guarantee(float(epsilon)) for epsilon in values]
    figures = deniability(mechanism, pair, values, runs, seed)
    if mechanism.rays is not None:
        # Wherever the two words are shown, Nw is that of `dpcore.measure.pair.chances`.
        stays = Tally.stacked(
            [stay_tally(mechanism, w, values, pair.rankings[w], shared) for w in pair.words]
        )
        low, high = stays.interval()
        measured = replace(
            figures.figures, nw=stays.value, nw_error=stays.error, nw_low=low, nw_high=high
        )
        figures = replace(figures, figures=measured)
    return Comparison(
        mechanism=mechanism.key,
        pair=pair,
        epsilons=values,
        deniability=figures,
        distance=np.concatenate([f[0] for f in far], axis=1),
        distance_error=np.concatenate([f[1] for f in far], axis=1),
        between=between,
        beside=(beside[0], beside[1]),
        bound=np.array([success_bound(promise, pair.distance) for promise in promises]),
        beside_bound=np.array([[success_bound(p, gap) for p in promises] for gap in pair.gaps]),
        status=tuple(str(promise.status) for promise in promises),
        detail=detail,
    )
