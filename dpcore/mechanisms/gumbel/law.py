"""The output law of the truncated Gumbel mechanism, by quadrature.

With d_1 ≤ … ≤ d_n the sorted distances, g_j i.i.d. with density f and survival function S, and
π_k = P(K = k), the output is u_i, the minimiser of d_j + g_j over j ≤ K, with probability

    P(u_i) = ∫ f(t − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j) dt.

Probabilities take a fast route (`truncated_gumbel_fast`). Logarithms of probabilities that may
underflow are integrated here, in log space. The sum over k < n is a backward recursion over the
candidates that can be seen. The term of the whole vocabulary needs Σ_j ln S(t − d_j) over n words
and then n integrals: far words are replaced by a few weighted points that keep their moments
(`far_words`), and their integrals, a smooth function of the distance, are interpolated. The
integrand has a kink at t = d_j − C for every point; quadrature panels end there as long as it can
be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpcore.mechanisms.gumbel.far_words import points_for
from dpcore.mechanisms.gumbel.fast import fast_laws
from dpcore.mechanisms.gumbel.panels import (
    LOG_DEPTH,
    SEEN_DEPTH,
    TruncatedNoise,
    divided,
    log_sum,
    panel_nodes,
)
from dpcore.noise.gumbel import check_truncated

FloatArray = NDArray[np.float64]

ABSOLUTE_ERROR = 1e-9
"""Bound on the error of a probability of `law_from_distances`, verified by the tests."""

_NEAR = 48  # words that keep their own point, at least
_NEAR_TIMES_WORDS = 100_000  # and more in a small vocabulary, where K = n is likelier
_DEEPEST = 40_000.0  # log-probabilities below minus this come out as −∞
_BLOCK = 50_000  # entries of a block of nodes and points
_COARSE = 48  # panels of the coarse grid
_FALL = 6.0  # nats by which the product of the survival functions may fall in a panel


def _few(noise: TruncatedNoise, d: FloatArray, weights: FloatArray) -> FloatArray:
    """ln of the part of K = 1..m, shape (m,): candidates d and their weights π."""
    low, high = noise.window(float(d[-1]))
    edges = noise.panels(low, high, d)
    t, w = panel_nodes(edges, np.diff(edges) / noise.widest)
    survival, density = noise.log_parts(t, d)
    single = np.exp(survival).T.copy()
    # H_i / Π_{j≤i} S_j = π_i + S_{i+1}·(π_{i+1} + S_{i+2}·(…)): it never underflows.
    rest = np.empty_like(single)
    rest[-1] = weights[-1]
    for i in range(d.size - 2, -1, -1):
        np.multiply(single[i + 1], rest[i + 1], out=rest[i])
        rest[i] += weights[i]
    np.log(rest, out=rest)
    density += rest.T
    density[:, 1:] += np.cumsum(survival[:, :-1], axis=1)
    return log_sum(density, w)


def _all(noise: TruncatedNoise, d: FloatArray, near: int) -> FloatArray:
    """ln P(u_i | K = n), shape (n,)."""
    points, counts = points_for(d, near, 0.5 * noise.scale, noise.bins)
    low, high = noise.window(float(d[-1]))
    # ln Π S_j on a coarse grid tells where it has fallen too far and where it falls steeply.
    edges = noise.panels(low, high, points)
    step = max(1, edges.size // _COARSE)
    # Without skipping any beyond the last kink: the farthest word lives there.
    tail = edges[np.searchsorted(edges, points[-1] - noise.bound) if noise.kinked else -1 :]
    coarse = np.union1d(edges[::step], tail)
    survival, density = noise.log_parts(coarse[:-1], points)
    total = np.append(survival @ counts, -math.inf)
    wanted = total > -SEEN_DEPTH
    wanted[0] = True
    farthest = total[:-1] + density[:, -1] - survival[:, -1]
    wanted[:-1] |= farthest > farthest.max() - SEEN_DEPTH
    wanted &= total > -_DEEPEST
    keep = max(2, int(np.flatnonzero(wanted)[-1]) + 2)
    coarse, total = coarse[:keep], np.maximum(total[:keep], 2.0 * total[keep - 2] - 50.0)
    edges = noise.panels(low, float(coarse[-1]), points)
    fall = -np.diff(np.interp(edges, coarse, total)) / _FALL
    pieces = np.maximum(np.ceil(fall), 1.0)
    edges = divided(edges, pieces.astype(np.int64))
    fall = np.repeat(fall / pieces, pieces.astype(np.int64))
    t, w = panel_nodes(edges, np.maximum(np.diff(edges) / noise.widest, fall))
    live = points < edges[-1] + noise.bound
    points, counts = points[live], counts[live]
    logs = np.full(points.size, -math.inf)
    for block in _blocks(t.size, points.size):
        survival, density = noise.log_parts(t[block], points)
        density -= survival
        density += (survival @ counts)[:, None]
        logs = np.logaddexp(logs, log_sum(density, w[block]))
    return _spread(d, near, points, logs)


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Rows in blocks that fit the processor's cache."""
    step = max(1, _BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _spread(d: FloatArray, near: int, points: FloatArray, logs: FloatArray) -> FloatArray:
    """From the points to the words: near words are points themselves."""
    from scipy.interpolate import CubicSpline

    found = np.full(d.size, -math.inf)
    exact = min(near, points.size)
    found[:exact] = logs[:exact]
    if points.size <= near:
        return found
    known = logs > -_DEEPEST
    x, first = np.unique(points[known], return_index=True)
    if not x.size:
        return found
    last = max(near, int(np.searchsorted(d, x[-1], side="right")))
    values = logs[known][first]
    found[near:last] = values if x.size == 1 else CubicSpline(x, values)(d[near:last])
    return found


def log_few_candidates(d: FloatArray, weights: FloatArray, b: float, bound: float) -> FloatArray:
    """ln P(u_i and K ≤ m) of the m nearest words, shape (m,); they alone decide it.

    Args:
        d: their sorted distances, d[0] = 0, shape (m,).
        weights: P(K = k) for k = 1..m, shape (m,).
        b: noise scale, > 0.
        bound: C, > 0.
    """
    check_truncated(b, bound)
    return _few(TruncatedNoise(b, bound), d, weights)


def log_law_from_distances(
    d: FloatArray,
    weights: FloatArray,
    b: float,
    C: float,  # noqa: N803
) -> FloatArray:
    """ln P(u_i), shape (n,), in the order of the distances.

    Args:
        d: sorted distances, d[0] = 0, shape (n,).
        weights: P(K = k) for k = 1..n, shape (n,).
        b: noise scale.
        C: truncation bound, at least d[-1]; ∞ allowed.

    Raises:
        ParameterError: b or C is not positive.
    """
    check_truncated(b, C)
    noise = TruncatedNoise(b, C)
    found = np.full(d.size, -math.inf)
    smallest = 0.0
    if weights[-1] > 0:
        near = min(d.size, max(_NEAR, _NEAR_TIMES_WORDS // d.size))
        found = math.log(weights[-1]) + _all(noise, d, near)
        smallest = math.exp(max(found[: 8 * _NEAR].min() - 25.0, -LOG_DEPTH))
    head = weights[: d.size - 1]
    tails = np.cumsum(head[::-1])[::-1]
    used = int((tails > smallest).sum())
    if used:
        found[:used] = np.logaddexp(found[:used], _few(noise, d[:used], head[:used]))
    return found


def law_from_distances(
    d: FloatArray,
    weights: FloatArray,
    b: float,
    C: float,  # noqa: N803
) -> FloatArray:
    """P(u_i), shape (n,), in the order of the distances; error below `ABSOLUTE_ERROR`.

    Where the fast route does not vouch for that error (for weights that are not those of the
    mechanism, say) this is the exponential of `log_law_from_distances`.

    Args:
        d: sorted distances, d[0] = 0, shape (n,).
        weights: P(K = k) for k = 1..n, shape (n,).
        b: noise scale.
        C: truncation bound, at least d[-1]; ∞ allowed.

    Raises:
        ParameterError: b or C is not positive.
    """
    return next(laws_from_distances(d, weights, [b], C))


def laws_from_distances(
    d: FloatArray,
    weights: FloatArray,
    scales: Sequence[float],
    C: float,  # noqa: N803
) -> Iterator[FloatArray]:
    """`law_from_distances` at each noise scale, faster than one by one."""
    for b in scales:
        check_truncated(b, C)
    for b, law in zip(scales, fast_laws(d, weights, scales, C), strict=True):
        if law is None:
            yield np.exp(log_law_from_distances(d, weights, b, C))
        else:
            yield law.dense(d.size)
