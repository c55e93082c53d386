"""The distances of all pairs of words, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.distance_blocks import near_distances

TILE = 512


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

    They are those of `near_distances`, and exactly 0 on the diagonal.

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
            for j in range(i, n, TILE):
                columns = slice(j, min(j + TILE, n))
                compute = partial(self._distances, left, columns, i == j)
                yield Tile(slice(i, min(i + TILE, n)), columns, compute)

    def _distances(self, left: FloatArray, columns: slice, diagonal: bool) -> FloatArray:
        apart = near_distances(left, self._rows[columns], self._metric)
        if diagonal:
            np.fill_diagonal(apart, 0.0)
        return apart
