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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.noise.gumbel import log_survival_and_density
from dpcore.noise.poisson import poisson_weights

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray

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
    # f(t − d_i) lives on ±Δ around d_i, and S(t − d_1) = S(t) is 0 from Δ on.
    for _ in range(_ROUNDS):
        product = _log_products(edges, near, position, weights, b, bound)
        smallest, largest = _density_range(edges - near[position], b, bound)
        # The density by its range on a panel, the product by its ends: it falls with t, so its
        # least value is at the right end and its largest at the left.
        width = np.log(np.diff(edges))
        below = smallest + product[1:] + width
        above = largest + product[:-1] + width
        lower, upper = float(np.logaddexp.reduce(below)), float(np.logaddexp.reduce(above))
        if upper - lower <= gap or edges.size > panels:
            break
        # Halve the panels whose own uncertainty, ln(above − below), matters: the worst ones,
        # panels/2 at most, and none of those that all together could not fill the gap.
        doubt = above + np.log(-np.expm1(np.minimum(below - above, -1e-16)))
        wide = doubt > max(upper - _DEPTH, float(np.sort(doubt)[-min(doubt.size, panels // 2)]))
        wide &= doubt > upper + math.log(gap / (4.0 * edges.size))
        middles = 0.5 * (edges[:-1] + edges[1:])[wide]
        edges = np.sort(np.concatenate((edges, middles)))
    return lower, upper


def _density_range(edges: FloatArray, b: float, bound: float) -> tuple[FloatArray, FloatArray]:
    """ln of the smallest and largest density on each panel of noise values."""
    density = log_survival_and_density(np.clip(edges, -bound, bound), b, bound)[1]
    peak = float(log_survival_and_density(np.zeros(1), b, bound)[1][0])
    smallest, largest = np.minimum(density[:-1], density[1:]), np.maximum(density[:-1], density[1:])
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
    sums = np.empty(t.size)
    step = max(1, _BLOCK_ENTRIES // near.size)
    for start in range(0, t.size, step):
        part = slice(start, start + step)
        logs = log_survival_and_density(t[part, None] - near, b, bound)[0]
        logs[:, position] = 0.0  # j ≠ i
        logs = np.cumsum(logs, axis=1)[:, position:]
        sums[part] = np.logaddexp.reduce(logs + log_weights, axis=1)
    return sums


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
