"""Many distances replaced by a few weighted points that keep their moments.

For a smooth φ, Σ_j φ(d_j) = Σ_m ω_m φ(δ_m) up to the error of polynomial interpolation of φ at
the points δ of a bin: ω_m = Σ_j ℓ_m(d_j) with ℓ_m the Lagrange polynomials of the Chebyshev–
Lobatto points. The weights of a bin sum to the number of its words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SMOOTH = 12  # points a bin for an analytic φ
_KINKED = 5  # points a bin where φ has a kink that wanders through the bins


def _starts(d: FloatArray, width: float, bins: int) -> IntArray:
    """First word of each bin: none wider than `width`, and at least so many by count."""
    grid = np.arange(d[0], d[-1], width) if width > 0 else d[:1]
    starts = np.searchsorted(d, grid)
    by_count = np.arange(bins) * d.size // bins
    return np.unique(np.concatenate((starts, by_count)))


def points_for(
    d: FloatArray, near: int, width: float, kinked_bins: int
) -> tuple[FloatArray, FloatArray]:
    """Points δ, ascending, and their weights ω.

    The `near` first words, and all words of a bin with no more words than points, keep their
    own point.

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
    starts = _starts(far, width, bins)
    count = np.diff(np.append(starts, far.size))
    full = count > order
    alone = far[np.repeat(~full, count)]
    inside = far[np.repeat(full, count)]
    if not full.any():
        return d, np.ones(d.size)
    low, high = far[starts[full]], far[(starts + count - 1)[full]]
    places, weights = _chebyshev(inside, count[full], low, high, order)
    points = np.concatenate((d[:near], alone, places))
    weights = np.concatenate((np.ones(near + alone.size), weights))
    ascending = np.argsort(points, kind="stable")
    return points[ascending], weights[ascending]


def _chebyshev(
    d: FloatArray, count: IntArray, low: FloatArray, high: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Chebyshev–Lobatto points of consecutive bins [low, high] and their weights."""
    half = 0.5 * (high - low)
    middle = low + half
    inverse = 1.0 / np.where(half > 0, half, 1.0)
    u = (d - np.repeat(middle, count)) * np.repeat(inverse, count)
    # Sums of the Chebyshev polynomials T_0..T_N over each bin.
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
