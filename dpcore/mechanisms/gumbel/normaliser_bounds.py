"""Bounds on ln Σ_y exp(−s·D(w, y)) of every word, at the speed of float32 products.

Half of all distances come from float32 matrix products (D(w, y) = D(y, w)). With unit roundoff
u = 2⁻²⁴ the computed square of a distance is off by at most

    e = ½·product_error(d + 4)·(‖a‖ + ‖b‖)²:

the inner product enters twice, and 2‖a‖‖b‖ ≤ ½(‖a‖ + ‖b‖)²; two squared lengths and two additions
add at most 4u(‖a‖ + ‖b‖)². A root divides that by D or more, so no exponent is off by more than
s·e/D, and D is at least the distance of the nearest other word. The weight of a word for itself is
1, exactly, and is left out of the sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.nearest_word import SAFE_LENGTHS, product_error
from dpcore.lexicon.progress import Progress, silent

FloatArray = NDArray[np.float64]

_TILE = 512
_UNIT = 2.0**-24
_DEEPEST = 104.0  # exponents beyond give 0 in float32
_TINY = 2.0**-126  # a weight below it may lose all its digits
_EXP_UNITS = 8.0  # units in the last place that an exponential may be off: NumPy keeps to 3


def _lengths(vectors: NDArray[np.float32]) -> FloatArray:
    """Euclidean length of every row, shape (n,)."""
    parts = np.array_split(vectors, max(1, len(vectors) // _TILE))
    squares = [np.einsum("ij,ij->i", p, p) for p in (part.astype(np.float64) for part in parts)]
    return np.asarray(np.sqrt(np.concatenate(squares)))


def normaliser_bounds(
    vectors: NDArray[np.float32],
    gaps: FloatArray,
    strengths: FloatArray,
    progress: Progress = silent,
) -> tuple[FloatArray, FloatArray] | None:
    """Lower and upper bounds on ln Σ_y exp(−s·D(w, y)), Euclidean.

    Args:
        vectors: shape (n, d), float32.
        gaps: distance of the nearest other word of each, or a lower bound > 0, shape (n,).
        strengths: s > 0, shape (K,).
        progress: called with (stage, tiles done, all tiles).

    Returns:
        Two arrays of shape (K, n); None if float32 squares could over- or underflow.
    """
    n, d = vectors.shape
    long = _lengths(vectors)
    if not SAFE_LENGTHS[0] < long.max() < SAFE_LENGTHS[1]:
        return None
    squares = (long**2).astype(np.float32)
    sums = np.zeros((strengths.size, n))
    edges = range(0, n, _TILE)
    count, done = len(edges) * (len(edges) + 1) // 2, 0
    for i in edges:
        rows = slice(i, min(i + _TILE, n))
        for j in range(i, n, _TILE):
            columns = slice(j, min(j + _TILE, n))
            apart = vectors[rows] @ vectors[columns].T
            apart *= np.float32(-2.0)
            apart += squares[rows, None]
            apart += squares[columns]
            np.sqrt(np.maximum(apart, 0.0, out=apart), out=apart)
            if i == j:
                np.fill_diagonal(apart, np.inf)  # the weight of a word for itself
            weights = np.empty_like(apart)
            for total, s in zip(sums, strengths.tolist(), strict=True):
                np.exp(np.multiply(apart, np.float32(-s), out=weights), out=weights)
                total[rows] += weights.sum(axis=1)
                if i != j:
                    total[columns] += weights.sum(axis=0)
            done += 1
            progress("normalising", done, count)
    # No word is longer than the longest: ‖b‖ of the bound need not be that of each neighbour.
    error = 0.5 * product_error(d + 4) * (long + long.max()) ** 2 / gaps
    # Root, s in float32 and the product, each of an exponent that leaves a weight; then the
    # exponential itself and the sum over a tile.
    rounding = _DEEPEST * 4.0 * _UNIT + _EXP_UNITS * _UNIT + product_error(_TILE)
    factor = np.exp(np.minimum(np.multiply.outer(strengths, error) + rounding, 600.0))
    high = np.minimum((sums + n * _TINY) * factor, n - 1.0)  # no weight is above 1
    return np.log1p(sums / factor), np.log1p(high)
