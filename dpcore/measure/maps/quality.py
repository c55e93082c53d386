"""How much of the original space a map keeps, by exact neighbours on both sides."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import ExactIndex, refine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray


COMPARED = 10
"""Neighbours of each word that are compared, fewer only if there are fewer words."""

_SPARE = 16
_SLACK = 1e-9  # relative; far above the rounding of float64 distances in the plane
_ROWS = 256


def without_itself(
    indices: NDArray[np.integer], lengths: FloatArray, k: int
) -> tuple[IntArray, FloatArray]:
    """The k nearest other rows, from the k + 1 nearest of each row (with itself, as a rule).

    A row need not be among its own k + 1 nearest: more than k others may lie at its place.
    """
    rows = np.arange(len(indices))[:, None]
    # False sorts before True: the row itself goes last and is cut off, the others keep their order.
    order = np.argsort(indices[:, : k + 1] == rows, axis=1, kind="stable")[:, :k]
    return (
        np.take_along_axis(indices, order, axis=1).astype(np.int64),
        np.take_along_axis(lengths, order, axis=1),
    )


def true_neighbours(vectors: NDArray[np.float32], k: int) -> tuple[IntArray, FloatArray]:
    """The k nearest other rows of each row and their distances, both of shape (m, k)."""
    indices, lengths = ExactIndex(vectors).search(vectors, k + 1)
    return without_itself(indices, lengths, k)


def plane_neighbours(points: NDArray[np.float32], k: int) -> tuple[IntArray, FloatArray]:
    """As `true_neighbours`, for points of the plane; of equally near ones the lowest index first.

    A tree proposes a few more than asked for. Where the last proposed one is no farther than the
    last one wanted, so that an equally near one may be missing, all points are compared.
    """
    from scipy.spatial import cKDTree

    exact = points.astype(np.float64)
    wanted = min(k + 1 + _SPARE, len(points))
    tree = cKDTree(exact).query(exact, wanted)
    reach, proposed = np.asarray(tree[0]), np.asarray(tree[1], dtype=np.int64)
    indices, lengths = refine(points, exact, proposed, k + 1)
    if wanted < len(points):
        unsure = np.flatnonzero(reach[:, -1] <= lengths[:, -1] * (1 + _SLACK))
        for start in range(0, len(unsure), _ROWS):
            rows = unsure[start : start + _ROWS]
            block = distances(points, exact[rows])
            order = np.argsort(block, axis=1, kind="stable")[:, : k + 1]
            indices[rows] = order
            lengths[rows] = np.take_along_axis(block, order, axis=1)
    return without_itself(indices, lengths, k)


def neighbours_kept(true: IntArray, shown: IntArray) -> NDArray[np.uint8]:
    """How many of each row's true neighbours are among those shown, shape (m,).

    Args:
        true: shape (m, k), k at most 255.
        shown: shape (m, k).
    """
    m = len(true)
    # Row i is moved to numbers of its own, i·m to i·m + m − 1, so that one search over all rows
    # finds only neighbours of the same row.
    offset = np.arange(m)[:, None] * m
    both = np.isin((true + offset).reshape(-1), (shown + offset).reshape(-1))
    return np.asarray(both.reshape(true.shape).sum(axis=1), dtype=np.uint8)


def density_kept(true: FloatArray, shown: FloatArray) -> float:
    """Rank correlation (Spearman) of the mean distance to k neighbours, in truth and on the map.

    Args:
        true: distances to the neighbours in the original space, shape (m, k).
        shown: distances to the neighbours on the map, shape (m, k).

    Returns:
        −1 to 1; NaN if all means of a side are equal.
    """
    from scipy.stats import spearmanr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal means: the correlation is not defined
        correlation = spearmanr(true.mean(axis=1, dtype=np.float64), shown.mean(axis=1))
    return float(correlation.statistic)
