"""The metrics of a lexicon, and distances in them to the last few bits of float64."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arguments import a_name
from dpcore.arrays import Float32Array, FloatArray
from dpcore.errors import ParameterError

# Bounds on the rounding errors of float64, after Higham (2002).
#
# Accuracy and Stability of Numerical Algorithms, 2nd ed.: fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u
# (2.4); a product of k factors (1 + δ)^±1 is 1 + θ, |θ| ≤ γ_k = ku/(1 − ku) (Lemma 3.1); so a sum
# of k numbers is off by at most γ_{k−1} times the sum of their absolute values, in any order (4.4).


UNIT = 2.0**-53
"""u: the largest relative error of one rounded operation."""
ELEMENTARY = 8.0 * UNIT
"""Relative error of a result, assumed of exp, log, expm1 and log1p of NumPy and the C library.

Four units in the last place; NumPy tests its functions to be within four, the common libraries
stay within one.
"""


def gamma(operations: float, unit: float = UNIT) -> float:
    """Return γ_k = k·u/(1 − k·u), rounded up.

    Args:
        operations: k ≥ 0, with k·u < ½.
        unit: u; 2^−24 for float32.
    """
    terms = operations * unit
    return terms / (1.0 - terms) * (1.0 + 8.0 * UNIT)


_BLOCK_BYTES = 32 * 2**20


class Metric(StrEnum):
    """A metric on the embedding space.

    Euclidean, Manhattan and Chebyshev are the L2, L1 and L∞ norms of the difference. Angular is
    the angle between the two vectors in radians, in [0, π]; on vectors that are not of one
    length it is a pseudo-metric (two parallel rows have distance 0) and it is undefined for a
    zero row.
    """

    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    CHEBYSHEV = "chebyshev"
    ANGULAR = "angular"

    @classmethod
    def parse(cls, name: str) -> Metric:
        """Return the metric of this name.

        Raises:
            ParameterError: the name is unknown, or is "cosine", which breaks the triangle
                inequality and so carries no metric privacy.
        """
        text = a_name(name, "a metric").strip().lower()
        if text == "cosine":
            raise ParameterError(
                "cosine distance is not a metric (it breaks the triangle inequality), so no "
                "metric privacy guarantee can be stated in it: use 'angular', the angle itself"
            )
        try:
            return cls(text)
        except ValueError:
            allowed = ", ".join(metric.value for metric in cls)
            raise ParameterError(f"unknown metric {text[:40]!r}: use one of {allowed}") from None


def distance_error(dimension: int) -> float:
    """Bound the relative error of a float64 distance (angular: absolute), for any order of sums.

    A difference of two coordinates is off by u, its square by 3u, the sum by γ_{d−1}, and a root
    halves that and adds u; Manhattan sums are not halved. For the angle, two unit vectors have
    coordinates off by 2u and lengths off by γ_d/2 + 3u, which moves a chord by their sum at most,
    and an angle by twice that, before the sums of the chord itself.
    """
    return gamma(4.0 * dimension + 40.0)


_SCIPY_NAMES: dict[Metric, Literal["euclidean", "cityblock", "chebyshev"]] = {
    Metric.EUCLIDEAN: "euclidean",
    Metric.MANHATTAN: "cityblock",
    Metric.CHEBYSHEV: "chebyshev",
}


def distances(
    vectors: Float32Array | FloatArray, origins: ArrayLike, metric: Metric = Metric.EUCLIDEAN
) -> FloatArray:
    """Compute distances from every origin to every vector.

    Each entry is the sum over coordinates of a function of the float64 difference, so nothing
    cancels: near duplicates are right, D(w, w) is exactly 0, D(w, y) = D(y, w) to the bit, and an
    entry does not depend on the rest of the batch.

    Args:
        vectors: the words, shape (n, d); float32 or float64.
        origins: points of the same space, shape (k, d); float32 or float64.
        metric: the metric.

    Returns:
        Array of shape (k, n), float64; its error is bounded by `distance_error`.

    Raises:
        ParameterError: the shapes do not fit, a value is not finite, or the metric is angular and
            a row is zero.
    """
    metric = Metric.parse(metric)
    points = _checked(vectors, origins)
    if metric is Metric.ANGULAR:
        points = unit_rows(points)
    n, d = vectors.shape
    result = np.empty((len(points), n))
    step = max(1, _BLOCK_BYTES // (8 * max(d, len(points), 1)))
    for start in range(0, n, step):
        rows = np.asarray(vectors[start : start + step], dtype=np.float64)
        result[:, start : start + step] = _block(rows, points, metric).T
    return result


def paired_distances(
    left: ArrayLike, right: ArrayLike, metric: Metric = Metric.EUCLIDEAN
) -> FloatArray:
    """Compute distances between corresponding rows of two arrays (m, d), as in `distances`.

    Returns:
        Array of shape (m,), float64.
    """
    metric = Metric.parse(metric)
    a = np.asarray(left, dtype=np.float64)
    b = np.asarray(right, dtype=np.float64)
    if metric is Metric.ANGULAR:
        a, b = unit_rows(a), unit_rows(b)
        difference, total = np.abs(a - b), a + b
        return _angle(
            np.sqrt(np.einsum("ij,ij->i", difference, difference)),
            np.sqrt(np.einsum("ij,ij->i", total, total)),
        )
    difference = np.abs(a - b)
    if metric is Metric.EUCLIDEAN:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", difference, difference)))
    if metric is Metric.MANHATTAN:
        return np.asarray(difference.sum(axis=1))
    return np.asarray(difference.max(axis=1, initial=0.0), dtype=np.float64)


def _checked(vectors: Float32Array | FloatArray, origins: ArrayLike) -> FloatArray:
    points = np.asarray(origins, dtype=np.float64)
    if points.ndim != 2 or vectors.ndim != 2 or points.shape[1] != vectors.shape[1]:
        raise ParameterError(
            f"distances need vectors (n, d) and origins (k, d), got {vectors.shape} and "
            f"{points.shape}"
        )
    if not np.isfinite(points).all():
        raise ParameterError("distances need finite origins, got NaN or infinity")
    return points


def _block(rows: FloatArray, points: FloatArray, metric: Metric) -> FloatArray:
    """Return distances of shape (rows, points)."""
    from scipy.spatial.distance import cdist

    # The longer side goes first: SciPy works on several of its rows at once.
    if metric is Metric.ANGULAR:
        unit = unit_rows(rows)
        return _angle(cdist(unit, points), cdist(unit, -points))
    return np.asarray(cdist(rows, points, _SCIPY_NAMES[metric]))


def unit_rows(rows: FloatArray) -> FloatArray:
    """Scale rows to Euclidean length 1, shape (k, d).

    Raises:
        ParameterError: a row is zero.
    """
    # Scaling by the largest coordinate first keeps the norm from over- or underflowing.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not (largest > 0).all():
        raise ParameterError("the angular metric is undefined for a zero vector")
    scaled = rows / largest
    return np.asarray(scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None])


def _angle(chord: FloatArray, sum_length: FloatArray) -> FloatArray:
    """Return the angle of unit vectors from |u - v| and |u + v|; accurate near 0 and near π."""
    return np.asarray(2.0 * np.arctan2(chord, sum_length))
