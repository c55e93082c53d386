"""Bounds on one probability of the truncated Gumbel mechanism that no quadrature error can touch.

P(u_i) = ∫ f(t − d_i)·Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j) dt. On a panel [a, b] every
S(t − d_j) lies between its values at the ends, since S falls; f is unimodal with its peak at 0,
so that on the panel it is at least its smaller end value, and at most its larger one or f(0) if
the peak lies inside. Summing panels gives a lower and an upper bound whatever the panels are; fine
panels where the integrand lives bring them together. Up to rounding, a claim that the two bounds
of a pair of words contradict is refuted, without trust in any other code of the lab.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.lexicon.metric import distances
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.bulk.gumbel import TruncatedGumbelBulk
from dpcore.mechanisms.gumbel.law import ABSOLUTE_ERROR
from dpcore.mechanisms.hooks import NoisyNearestForm
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.gumbel import log_survival_and_density
from dpcore.noise.poisson import poisson_weights

if TYPE_CHECKING:
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.law import FloatArray, IntArray

GUMBEL_DEVIATION = 3e-3
"""The largest relative deviation of `TruncatedGumbel.log_law` from a plain quadrature that was
found: an estimate and no bound, which words in tight clusters may exceed. Where a claim is refuted,
the bounds here say so."""
_BOUNDED = 8  # entries of a law that are bounded one by one
_RARE = 1e-5  # probabilities below it are taken from the logarithmic law
_GAP, _PANELS = 1.0, 500  # coarse bounds do: a pair is beyond ε·d by hundreds of nats
_ROUNDS = 14
_DEPTH = 36.0  # panels whose share is below e^−36 of the largest are not refined
_BLOCK_ENTRIES = 2_000_000


def log_probability_bounds(
    near: FloatArray,
    position: int,
    weights: FloatArray,
    b: float,
    bound: float,
    *,
    gap: float = 0.1,
    panels: int = 4000,
) -> tuple[float, float]:
    """Lower and upper bound on ln P(u_i).

    Args:
        near: d_1 ≤ … ≤ d_n of the private word, d_1 = 0, shape (n,).
        position: i, counted from 0.
        weights: P(K = k) for k = 1..n, shape (n,).
        b: noise scale.
        bound: Δ, at least d_n.
        gap: stop when the bounds are this near in logarithm.
        panels: and stop at about this many panels.

    Returns:
        (low, high), −∞ allowed for low.
    """
    low, high = float(near[position]) - bound, min(float(near[position]) + bound, bound)
    edges = np.linspace(low, high, 65)
    lower, upper = -math.inf, math.inf
    for _ in range(_ROUNDS):
        product = _log_products(edges, near, position, weights, b, bound)
        smallest, largest = _density_range(edges - near[position], b, bound)
        width = np.log(np.diff(edges))
        below = smallest + product[1:] + width
        above = largest + product[:-1] + width
        lower, upper = float(np.logaddexp.reduce(below)), float(np.logaddexp.reduce(above))
        if upper - lower <= gap or edges.size > panels:
            break
        # Halve the panels whose own uncertainty matters.
        doubt = above + np.log(-np.expm1(np.minimum(below - above, -1e-16)))
        wide = doubt > max(upper - _DEPTH, float(np.sort(doubt)[-min(doubt.size, panels // 2)]))
        wide &= doubt > upper + math.log(gap / (4.0 * edges.size))
        middles = 0.5 * (edges[:-1] + edges[1:])[wide]
        edges = np.sort(np.concatenate((edges, middles)))
    return lower, upper


def _density_range(edges: FloatArray, b: float, bound: float) -> tuple[FloatArray, FloatArray]:
    """ln of the smallest and largest density on each panel of noise values."""
    at = log_survival_and_density(np.clip(edges, -bound, bound), b, bound)[1]
    peak = float(log_survival_and_density(np.zeros(1), b, bound)[1][0])
    smallest, largest = np.minimum(at[:-1], at[1:]), np.maximum(at[:-1], at[1:])
    holds_peak = (edges[:-1] <= 0) & (edges[1:] >= 0)
    return smallest, np.where(holds_peak, peak, largest)


def _log_products(
    t: FloatArray,
    near: FloatArray,
    position: int,
    weights: FloatArray,
    b: float,
    bound: float,
) -> FloatArray:
    """ln Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j), shape (T,); it falls with t."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights[position:])
    found = np.empty(t.size)
    step = max(1, _BLOCK_ENTRIES // near.size)
    for start in range(0, t.size, step):
        part = slice(start, start + step)
        logs = log_survival_and_density(t[part, None] - near, b, bound)[0]
        logs[:, position] = 0.0
        logs = np.cumsum(logs, axis=1)[:, position:]
        found[part] = np.logaddexp.reduce(logs + log_weights, axis=1)
    return found


@dataclass(frozen=True)
class Certified:
    """A pair and an output, with bounds on both logarithms of its probability.

    Attributes:
        distance: d(w, w′).
        low: lower bound on ln P(y|w).
        other_high: upper bound on ln P(y|w′).
        epsilon: (low − other_high)/d, a lower bound on every ε that is true.
    """

    distance: float
    low: float
    other_high: float

    @property
    def epsilon(self) -> float:
        """The smallest ε that these bounds leave."""
        return (self.low - self.other_high) / self.distance


def certify(
    first: FloatArray, second: FloatArray, output: int, distance: float, b: float, bound: float
) -> Certified:
    """Bounds on ln P(y|w) from below and on ln P(y|w′) from above.

    Args:
        first: D(w, ·) of every word of the vocabulary, in its order, shape (n,).
        second: D(w′, ·).
        output: y.
        distance: d(w, w′).
        b: noise scale.
        bound: Δ.
    """
    weights = poisson_weights(first.size)
    ends = []
    for row in (first, second):
        order = np.argsort(row, kind="stable")
        position = int(np.flatnonzero(order == output)[0])
        ends.append(
            log_probability_bounds(
                row[order], position, weights, b, bound, gap=_GAP, panels=_PANELS
            )
        )
    return Certified(distance, ends[0][0], ends[1][1])


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedGumbel(Mechanism):
    """What audits and attackers ask of truncated Gumbel noise, whose law is a quadrature."""

    exact_law: ClassVar[bool] = True
    law_method: ClassVar[str] = "quadrature"
    log_estimate: ClassVar[float] = GUMBEL_DEVIATION
    grouped_error: ClassVar[float] = ABSOLUTE_ERROR

    @property
    @abstractmethod
    def bound(self) -> float:
        """Δ, at which the noise is cut off."""

    @abstractmethod
    def noise_scale(self, epsilon: float) -> float:
        """b at ε, in the units of the distances."""

    @abstractmethod
    def among_all(self, rng: np.random.Generator, entries: IntArray, b: float) -> IntArray:
        """Draws in which every word is a candidate, shape (k,)."""

    @abstractmethod
    def neighbours(self, words: IntArray, count: int) -> tuple[IntArray, FloatArray]:
        """Exact nearest words and their distances, shape (m, count)."""

    def bulk(self, epsilon: float) -> TruncatedGumbelBulk:
        """Neighbours are found once for each word."""
        return TruncatedGumbelBulk(self, epsilon)

    @property
    def column_form(self) -> NoisyNearestForm:
        """Noise on the distances of the nearest words, as many as a Poisson variable says."""
        return NoisyNearestForm(self.noise_scale)

    def certified(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> Certified:
        """Bounds on the two probabilities of an output that tells two words apart."""
        vectors = self.lexicon.vectors
        rows = distances(vectors, vectors[[word, other]])
        return certify(rows[0], rows[1], output, distance, self.noise_scale(epsilon), self.bound)

    def least_epsilon(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> float:
        """See `Mechanism.least_epsilon`."""
        return self.certified(epsilon, word, other, output, distance).epsilon

    def floored_log_law(self, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
        """See `Mechanism.floored_log_law`.

        In `log_law` −∞ means "not computed", so a few such entries are bounded one by one instead.
        With more of them, the nearest is bounded from above: a farther word is never likelier, so
        all of them lie below that.
        """
        vectors = self.lexicon.vectors
        ranking = rank(vectors, vectors[[word]])[0]
        logs = np.array(self.log_law(word, epsilon, ranking=ranking))
        missing = np.flatnonzero(np.isneginf(logs[ranking.order]))
        if not missing.size:
            return logs, None
        weights, b = poisson_weights(len(self.lexicon)), self.noise_scale(epsilon)
        bounds = [
            log_probability_bounds(ranking.distances, int(place), weights, b, self.bound, gap=0.05)
            for place in missing[: _BOUNDED if missing.size <= _BOUNDED else 1]
        ]
        if missing.size > _BOUNDED:
            return logs, bounds[0][1]
        for place, (low, high) in zip(missing, bounds, strict=True):
            logs[ranking.order[place]] = 0.5 * (low + high)
        unknown = np.isneginf(logs).any()
        return logs, max(high for _, high in bounds) if unknown else None

    def doubted_log_law(
        self, word: int, epsilon: float, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, str]:
        """See `Mechanism.doubted_log_law`: what is rare is taken from `log_law`."""
        logs, errors, method = super().doubted_log_law(word, epsilon, ranking)
        rare = np.flatnonzero(np.exp(logs) < _RARE)
        deep = self.log_law(word, epsilon, ranking=ranking)[rare]
        logs[rare] = deep
        errors[rare] = np.where(np.isfinite(deep), GUMBEL_DEVIATION * np.abs(deep), 0.0)
        return logs, errors, method
