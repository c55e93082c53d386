"""Logarithms of the truncated Gumbel law, and certified bounds, also where P underflows.

The integrals of `law` in log space, over t. The sum over k < n is a backward recursion over the
candidates that are not negligible. The term of the whole vocabulary needs Σ_j ln S(t − d_j) over n
words and then n integrals: far words are replaced by a few weighted points that keep their moments,
and their integrals, a smooth function of the distance, are interpolated. The integrand has a kink
at t = d_j − C for every point; quadrature panels end there as long as it is visible.

A uniform grid as in `law` would not suffice: at a far word the product of all survival functions
falls by thousands of nats within a cell, down to e^−40000, and panels must become narrower just
there. With such panels nothing is a convolution, so the points may lie where they keep the most
moments: at Chebyshev points in bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms.gumbel.noise import divided, gauss
from dpcore.noise.samplers import (
    check_truncated,
    log1mexp,
    log_survival_and_density,
    poisson_weights,
)

_SEEN_DEPTH = 45.0  # e^−45 is below 1e-19: a negligible integrand
_LOG_DEPTH = 700.0  # e^−700 nearly underflows
_DEEPEST = 40_000.0  # log-probabilities below minus this are returned as −∞
_FULL_TAIL = 60.0  # where e^{−t/b} passes this, no survival function differs from 1
_MERGED = 1e-12  # kinks closer than this part of the widest panel are one kink
_STABLE = 30.0  # beyond this C/b, e^{−C/b} is negligible next to e^{−t/b}

_NEAR = 48  # words that keep their own point, at least
_NEAR_TIMES_WORDS = 100_000  # and more in a small vocabulary, where K = n is likelier

# Points of a bin: many where ln S is analytic. Where it has a kink, which moves through the bins as
# t does, a high degree oscillates about it: few points in many narrow bins.
_SMOOTH, _KINKED = 12, 5

_BLOCK = 50_000  # entries of a block of nodes and points, for the processor's cache
_COARSE = 48  # panels of the coarse grid
_FALL = 6.0  # nats by which the product of the survival functions may fall in a panel
# Gauss–Legendre rules by the hardness of a panel: its width as a part of the widest, or its fall as
# a part of `_FALL`. Fewer nodes than for probabilities: an error of 1e-6 of a probability is 1e-6
# in its logarithm.
_RULES = tuple(
    (limit, *np.polynomial.legendre.leggauss(m)) for limit, m in ((0.05, 3), (0.3, 5), (9.9, 8))
)


@dataclass(frozen=True)
class _LogNoise:
    """Gumbel(0, b) on [−C, C]."""

    scale: float
    bound: float

    @property
    def ratio(self) -> float:
        """C/b."""
        return self.bound / self.scale

    @property
    def kinked(self) -> bool:
        """True if the jump of the density at −C, of size e^{−e^{C/b}}, is visible."""
        return self.ratio < math.log(_LOG_DEPTH)

    @property
    def bins(self) -> int:
        """Least number of bins of far words: fewer where the kink is faint, 0 without one."""
        if not self.kinked:
            return 0
        return 96 if self.ratio < math.log(8.0) else 24

    @property
    def widest(self) -> float:
        """Width of the widest panel."""
        return min(0.5 * self.scale, 0.25 * self.bound)

    def log_parts(self, t: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln S(t − d) and ln f(t − d), shape (T, m); see `noise` for the formulas."""
        b, c = self.scale, self.bound
        away = np.minimum(d / b, _LOG_DEPTH)
        if self.ratio < _STABLE:
            # z = e^{(d−t)/b} − e^{−C/b} as a sum of positive terms: accurate also for b ≫ C.
            p, q = np.expm1(away), np.expm1((c - t) / b)
            z = np.multiply.outer(q, p + 1.0)
            z += p
            z *= math.exp(-self.ratio)
            mass = float(log1mexp(np.asarray(2.0 * math.sinh(self.ratio))))
        else:
            z = np.multiply.outer(np.exp(-t / b), np.exp(away))
            mass = 0.0
        survival = np.log(-np.expm1(-z))
        survival -= mass
        density = np.subtract.outer(-t / b, -d / b)
        density -= z
        density -= math.log(b) + mass
        if self.kinked:
            before = t[:, None] < d - c
            survival[before] = 0.0
            density[before] = -math.inf
        return survival, density

    def panels(self, low: float, high: float, points: FloatArray) -> FloatArray:
        """Return ascending panel ends from low to high, at every visible kink."""
        kinks = points - self.bound if self.kinked else points[:0]
        gap = _MERGED * self.widest
        inside = np.unique(kinks[(kinks > low + gap) & (kinks < high - gap)])
        if inside.size:
            inside = inside[np.diff(inside, prepend=-math.inf) > gap]
        edges = np.concatenate(([low], inside, [high]))
        return _ends(edges, np.ceil(np.diff(edges) / self.widest).astype(np.int64))

    def window(self, farthest: float) -> tuple[float, float]:
        """Return the range where an integrand of words up to this distance is not negligible."""
        low = -self.scale * math.log(_FULL_TAIL)
        high = farthest + _SEEN_DEPTH * self.scale
        return max(-self.bound, low), min(self.bound, high)


def _ends(edges: FloatArray, pieces: IntArray) -> FloatArray:
    """Return panel ends with panel i cut into pieces[i] equal parts."""
    return np.append(divided(edges, pieces)[0], edges[-1])


def _nodes(edges: FloatArray, hardness: FloatArray) -> tuple[FloatArray, FloatArray]:
    return gauss(edges[:-1], np.diff(edges), hardness, _RULES)


def _log_sum(exponents: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ln Σ_t w_t e^{exponents[t, i]} for each column."""
    top = exponents.max(axis=0)
    top[~np.isfinite(top)] = 0.0
    exponents -= top
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights @ np.exp(exponents, out=exponents)) + top)


# -- the law ------------------------------------------------------------------------------------


def log_law_from_distances(
    d: FloatArray, weights: FloatArray, b: float, bound: float
) -> FloatArray:
    """Return ln P(u_i), shape (n,), in the order of the distances; arguments as in `law`.

    Raises:
        ParameterError: b or C is not positive.
    """
    check_truncated(b, bound)
    noise = _LogNoise(b, bound)
    logs = np.full(d.size, -math.inf)
    smallest = 0.0
    if weights[-1] > 0:
        near = min(d.size, max(_NEAR, _NEAR_TIMES_WORDS // d.size))
        logs = math.log(weights[-1]) + _whole(noise, d, near)
        # Counts k < n that add less than e^−25 of the whole vocabulary's term for the nearest words
        # are skipped.
        smallest = math.exp(max(logs[: 8 * _NEAR].min() - 25.0, -_LOG_DEPTH))
    head = weights[: d.size - 1]
    tails = np.cumsum(head[::-1])[::-1]
    candidates = int((tails > smallest).sum())
    if candidates:
        few = _few(noise, d[:candidates], head[:candidates])
        logs[:candidates] = np.logaddexp(logs[:candidates], few)
    return logs


def log_few_candidates(d: FloatArray, weights: FloatArray, b: float, bound: float) -> FloatArray:
    """Return ln P(u_i and K ≤ m) of the m nearest words, shape (m,), from these alone.

    Args:
        d: their sorted distances, d[0] = 0, shape (m,).
        weights: P(K = k) for k = 1..m, shape (m,).
        b: noise scale, > 0.
        bound: C, > 0.
    """
    check_truncated(b, bound)
    return _few(_LogNoise(b, bound), d, weights)


def _few(noise: _LogNoise, d: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ln of the part of K = 1..m, shape (m,): candidates d and their weights π."""
    edges = noise.panels(*noise.window(float(d[-1])), d)
    t, w = _nodes(edges, np.diff(edges) / noise.widest)
    survival, density = noise.log_parts(t, d)
    single = np.exp(survival).T.copy()
    # With H_i = Σ_{k ≥ i} π_k Π_{j ≤ k} S_j,
    # H_i / Π_{j≤i} S_j = π_i + S_{i+1}·(π_{i+1} + S_{i+2}·(…)): it never underflows.
    rest = np.empty_like(single)
    rest[-1] = weights[-1]
    for i in range(d.size - 2, -1, -1):
        np.multiply(single[i + 1], rest[i + 1], out=rest[i])
        rest[i] += weights[i]
    np.log(rest, out=rest)
    density += rest.T
    density[:, 1:] += np.cumsum(survival[:, :-1], axis=1)
    return _log_sum(density, w)


def _whole(noise: _LogNoise, d: FloatArray, near: int) -> FloatArray:
    """Return ln P(u_i | K = n), shape (n,)."""
    points, counts = points_for(d, near, 0.5 * noise.scale, noise.bins)
    edges, falls = _whole_panels(noise, points, counts)
    t, w = _nodes(edges, np.maximum(np.diff(edges) / noise.widest, falls))
    live = points < edges[-1] + noise.bound  # the density of the others has not begun
    points, counts = points[live], counts[live]
    logs = np.full(points.size, -math.inf)
    step = max(1, _BLOCK // points.size)
    for start in range(0, t.size, step):
        part = slice(start, start + step)
        survival, density = noise.log_parts(t[part], points)
        # ln g = ln f − ln S, and ln Π S over all n words: each point stands for `counts` of them.
        density -= survival
        density += (survival @ counts)[:, None]
        logs = np.logaddexp(logs, _log_sum(density, w[part]))
    return _to_words(d, near, points, logs)


def _whole_panels(
    noise: _LogNoise, points: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return panel ends up to where Π S has fallen too far, and each panel's fall over `_FALL`."""
    low, high = noise.window(float(points[-1]))
    edges = noise.panels(low, high, points)
    # A coarse evaluation of ln Π S; no panel is skipped beyond the last kink, where the farthest
    # word's integrand lies.
    tail = edges[np.searchsorted(edges, points[-1] - noise.bound) if noise.kinked else -1 :]
    coarse = np.union1d(edges[:: max(1, edges.size // _COARSE)], tail)
    survival, density = noise.log_parts(coarse[:-1], points)
    total = np.append(survival @ counts, -math.inf)
    # As far as the nearest word, or the farthest, has an integrand that is not negligible and a
    # logarithm that is needed.
    wanted = total > -_SEEN_DEPTH
    wanted[0] = True
    farthest = total[:-1] + density[:, -1] - survival[:, -1]
    wanted[:-1] |= farthest > farthest.max() - _SEEN_DEPTH
    wanted &= total > -_DEEPEST
    keep = max(2, int(np.flatnonzero(wanted)[-1]) + 2)
    # At C the product is 0, and its logarithm has no value to interpolate from: the value used is
    # twice as deep as the one before, so that the last panels are narrow.
    coarse, total = coarse[:keep], np.maximum(total[:keep], 2.0 * total[keep - 2] - 50.0)
    edges = noise.panels(low, float(coarse[-1]), points)
    falls = -np.diff(np.interp(edges, coarse, total)) / _FALL
    pieces = np.maximum(np.ceil(falls), 1.0)
    cut = pieces.astype(np.int64)
    return _ends(edges, cut), np.repeat(falls / pieces, cut)


def _to_words(d: FloatArray, near: int, points: FloatArray, logs: FloatArray) -> FloatArray:
    """Map from the points to the words: near words are points themselves."""
    from scipy.interpolate import CubicSpline  # slow to import, and few need logarithms

    words = np.full(d.size, -math.inf)
    words[: min(near, logs.size)] = logs[:near]
    if points.size <= near:
        return words
    known = logs > -_DEEPEST
    x, first = np.unique(points[known], return_index=True)
    if not x.size:
        return words
    last = max(near, int(np.searchsorted(d, x[-1], side="right")))
    values = logs[known][first]
    words[near:last] = values if x.size == 1 else CubicSpline(x, values)(d[near:last])
    return words


# -- far words -----------------------------------------------------------------------------------


def points_for(
    d: FloatArray, near: int, width: float, kinked_bins: int
) -> tuple[FloatArray, FloatArray]:
    """Replace many distances by a few points δ, ascending, and their weights ω.

    For a smooth φ, Σ_j φ(d_j) = Σ_m ω_m φ(δ_m) up to the error of polynomial interpolation of φ at
    the points of a bin: ω_m = Σ_j ℓ_m(d_j) with ℓ_m the Lagrange polynomials of the
    Chebyshev–Lobatto points. The weights of a bin sum to the number of its words. The `near` first
    words, and all words of a bin with no more words than points, keep their own point.

    Args:
        d: sorted distances, shape (n,).
        near: words that keep their own point.
        width: widest bin.
        kinked_bins: if φ has a kink, so that bins must be narrow, their least number; else 0.
    """
    far = d[near:]
    bins, order = (kinked_bins, _KINKED) if kinked_bins else (1, _SMOOTH)
    if far.size <= 2 * bins * order:
        return d, np.ones(d.size)
    if kinked_bins:
        width = min(width, float(far[-1] - far[0]) / bins)
    # No bin is wider than that, and there is a least number by count: one for dense clusters.
    by_width = np.arange(far[0], far[-1], width) if width > 0 else far[:1]
    by_count = np.arange(bins) * far.size // bins
    starts = np.unique(np.concatenate((np.searchsorted(far, by_width), by_count)))
    count = np.diff(np.append(starts, far.size))
    full = count > order
    if not full.any():
        return d, np.ones(d.size)
    alone, inside = far[np.repeat(~full, count)], far[np.repeat(full, count)]
    low, high = far[starts[full]], far[(starts + count - 1)[full]]
    places, weights = _chebyshev(inside, count[full], low, high, order)
    points = np.concatenate((d[:near], alone, places))
    weights = np.concatenate((np.ones(near + alone.size), weights))
    ascending = np.argsort(points, kind="stable")
    return points[ascending], weights[ascending]


def _chebyshev(
    d: FloatArray, count: IntArray, low: FloatArray, high: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Return Chebyshev–Lobatto points of consecutive bins [low, high], and their weights."""
    half = 0.5 * (high - low)
    middle = low + half
    inverse = 1.0 / np.where(half > 0, half, 1.0)  # a bin of equal distances has no width
    u = (d - np.repeat(middle, count)) * np.repeat(inverse, count)
    # Sums of the Chebyshev polynomials T_0..T_N over each bin, T_{k+1} = 2u·T_k − T_{k−1}.
    starts = np.cumsum(count) - count
    last = order - 1
    sums = np.empty((order, count.size))
    sums[0] = count
    previous, current = np.ones_like(u), u
    for k in range(1, order):
        sums[k] = np.add.reduceat(current, starts)
        previous, current = current, 2.0 * u * current - previous
    angle = np.pi * np.arange(order) / last
    basis = np.cos(np.multiply.outer(np.arange(order), angle))
    ends = np.ones(order)
    ends[[0, -1]] = 0.5
    # ℓ_m(u) = (2/N)·e_m·Σ_k e_k T_k(x_m) T_k(u), e = 1/2 at both ends.
    weights = (2.0 / last) * ends[:, None] * (basis.T @ (ends[:, None] * sums))
    places = middle + half * np.cos(angle)[:, None]
    places[0], places[-1] = high, low  # not an ulp inside: the last word must not lie outside
    return places.T.ravel(), weights.T.ravel()


# Bounds on one probability of the truncated Gumbel mechanism, independent of quadrature error.
#
# P(u_i) = ∫ f(t − d_i)·Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j) dt. On a panel [a, b] every S(t −
# d_j) lies between its values at the ends, since S falls; f is unimodal with its peak at 0, so that
# on the panel it is at least its smaller end value, and at most its larger one or f(0) if the peak
# lies inside. Summing panels gives a lower and an upper bound for any panels; fine panels where the
# integrand is large bring them together. Up to rounding, a claim that the two bounds of a pair of
# words contradict is refuted, without trust in any other code of the lab.


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
    """Return a lower and an upper bound on ln P(u_i).

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
    # f(t − d_i) has support ±Δ around d_i, and S(t − d_1) = S(t) is 0 from Δ on.
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
    """Return ln of the smallest and largest density on each panel of noise values."""
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
    """Return ln Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j), shape (T,); it falls with t."""
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
class PairBounds:
    """Pair of words and output, with bounds on both logarithms of its probability.

    Attributes:
        distance: d(w, w′).
        low: lower bound on ln P(y|w).
        other_high: upper bound on ln P(y|w′).
        epsilon: (low − other_high)/d, a lower bound on every true ε.
    """

    distance: float
    low: float
    other_high: float

    @property
    def epsilon(self) -> float:
        """Smallest ε compatible with these bounds."""
        return (self.low - self.other_high) / self.distance


def certify(
    first: FloatArray, second: FloatArray, output: int, distance: float, b: float, bound: float
) -> PairBounds:
    """Bound ln P(y|w) from below and ln P(y|w′) from above.

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
    return PairBounds(distance, ends[0][0], ends[1][1])
