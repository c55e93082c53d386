"""The distances of all pairs of words, tile by tile, from float64 products that are put right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import Metric, distances, paired_distances

TILE = 512
RELATIVE_ERROR = 1e-11
"""Bound on the relative error of a distance (angular: 1e-11 absolute)."""
_MOST_REFINED = 0.1  # share of a tile from which on all of it is computed directly


@dataclass(frozen=True, eq=False)
class Tile:
    """Distances between two ranges of places.

    Attributes:
        rows: places of the rows.
        columns: places of the columns; at or after the rows.
        compute: what the distances come from.
    """

    rows: slice
    columns: slice
    compute: Callable[[], FloatArray]

    @cached_property
    def distances(self) -> FloatArray:
        """Shape (rows, columns), float64, exactly 0 for a word and itself; computed when asked for.

        The array may be changed by whoever has the tile.
        """
        return self.compute()

    @property
    def diagonal(self) -> bool:
        """Whether rows and columns are the same words: then each pair stands in it twice."""
        return self.rows == self.columns


class AllPairs:
    """Every pair of rows in one tile at least: n(n + TILE)/2 distances in place of n².

    Euclidean distances come from a matrix product, whose rounding error has a proved bound; where
    that bound exceeds 1e-11 of the distance (near duplicates), and on the diagonal, the sum of
    squared differences takes its place. The other metrics are computed directly.

    Args:
        vectors: shape (n, d), float32.
        metric: of the distances.
        order: the word in each place, shape (n,); as they stand if not given.
    """

    def __init__(
        self, vectors: NDArray[np.float32], metric: Metric, order: IntArray | None = None
    ) -> None:
        """Put the rows in order."""
        self._metric = metric
        self._rows = np.asarray(vectors if order is None else vectors[order])
        self._euclidean = metric is Metric.EUCLIDEAN

    @property
    def count(self) -> int:
        """How many tiles there are."""
        blocks = -(-len(self._rows) // TILE)
        return blocks * (blocks + 1) // 2

    def __iter__(self) -> Iterator[Tile]:
        """All tiles."""
        n = len(self._rows)
        for i in range(0, n, TILE):
            left = self._rows[i : i + TILE].astype(np.float64)
            left_squares = np.einsum("ij,ij->i", left, left)
            for j in range(i, n, TILE):
                columns = slice(j, min(j + TILE, n))
                compute = partial(self._distances, left, left_squares, columns, i == j)
                yield Tile(slice(i, min(i + TILE, n)), columns, compute)

    def _distances(
        self, left: FloatArray, left_squares: FloatArray, columns: slice, diagonal: bool
    ) -> FloatArray:
        if self._euclidean:
            apart = self._by_product(left, left_squares, columns)
        else:
            apart = distances(self._rows[columns], left, self._metric)
        if diagonal:
            np.fill_diagonal(apart, 0.0)
        return apart

    def _by_product(self, left: FloatArray, left_squares: FloatArray, columns: slice) -> FloatArray:
        right = self._rows[columns].astype(np.float64)
        right_squares = np.einsum("ij,ij->i", right, right)
        # A factor of 2 rounds nothing, and is cheaper in front of the product than behind it.
        apart = (-2.0 * left) @ right.T
        apart += left_squares[:, None]
        apart += right_squares
        # Higham, Accuracy and Stability, (3.5), for the product and both sums of squares, and
        # three more roundings.
        largest = float(left_squares.max() + right_squares.max())
        error = 2.0 * (left.shape[1] + 4) * 2.0**-53 * largest
        # The root halves a relative error, but for its square and a rounding of its own.
        doubtful = apart < error / (1.99 * RELATIVE_ERROR) + error
        share = np.count_nonzero(doubtful) / doubtful.size
        if share > _MOST_REFINED:
            return distances(self._rows[columns], left)
        if not share:
            return np.asarray(np.sqrt(apart, out=apart))
        np.sqrt(apart, out=apart, where=~doubtful)
        p, q = np.nonzero(doubtful)
        step = max(1, 2**21 // left.shape[1])
        for start in range(0, p.size, step):
            a, b = p[start : start + step], q[start : start + step]
            apart[a, b] = paired_distances(left[a], right[b])
        return apart
