"""The words in order of distance from a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.lexicon.metric import Metric, distances

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Ranking:
    """All words sorted by distance from one point; both arrays are read-only.

    Attributes:
        order: word indices, shape (n,), int64, nearest first; of equal distances the lowest index.
        distances: their distances, shape (n,), float64, ascending.
    """

    order: IntArray
    distances: FloatArray

    def __post_init__(self) -> None:
        self.order.setflags(write=False)
        self.distances.setflags(write=False)

    def __len__(self) -> int:
        return len(self.order)


def rank(
    vectors: Float32Array, origins: ArrayLike, metric: Metric = Metric.EUCLIDEAN
) -> tuple[Ranking, ...]:
    """Sort all words by their distance from each origin.

    Args:
        vectors: the words, shape (n, d).
        origins: points, shape (k, d).
        metric: the metric.

    Returns:
        One `Ranking` for each origin.

    Raises:
        ParameterError: as `dpcore.lexicon.metric.distances`.
    """
    points = np.asarray(origins, dtype=np.float64)
    step = max(1, _BLOCK_BYTES // (8 * max(len(vectors), 1)))  # origins of one block of distances
    rankings: list[Ranking] = []
    for start in range(0, len(points), step):
        rankings += map(_sorted, distances(vectors, points[start : start + step], metric))
    return tuple(rankings)


def _sorted(row: FloatArray) -> Ranking:
    # A stable sort takes five times as long, and is needed where distances are equal.
    order = np.argsort(row)
    ascending = row[order]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.argsort(row, kind="stable")
    return Ranking(order.astype(np.int64, copy=False), ascending)
