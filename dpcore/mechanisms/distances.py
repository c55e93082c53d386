"""Distances between many words, by block or by tile, and the nearest words of one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import Metric, distances, paired_distances

RELATIVE_ERROR = 1e-11
"""Bound on the relative error of a distance of `near_distances` (angular: absolute)."""
_MOST_REFINED = 0.1  # share of the pairs from which on all are computed directly
_BLOCK_ENTRIES = 2_000_000  # float64 entries of one block of distances: 16 MB


def near_distances(
    left: FloatArray,
    right: NDArray[np.float32] | FloatArray,
    metric: Metric,
    tolerance: float = RELATIVE_ERROR,
) -> FloatArray:
    """Return the distances of all pairs of rows, shape (k, m): faster, not exact to the last bit.

    Euclidean distances come from a matrix product, whose rounding error has a proved bound; where
    that bound exceeds the tolerance (near duplicates, a word and itself), the sum of squared
    differences is used instead. The other metrics are computed directly, as in `distances`.

    Args:
        left: shape (k, d), float64.
        right: shape (m, d).
        metric: of the distances.
        tolerance: bound on the relative error of a Euclidean distance, well above d·2^−52.
    """
    if metric is not Metric.EUCLIDEAN:
        return distances(right, left, metric)
    right = right.astype(np.float64)
    left_squares, right_squares = (np.einsum("ij,ij->i", rows, rows) for rows in (left, right))
    # A factor of 2 is exact, and cheaper before the product than after it.
    apart = (-2.0 * left) @ right.T
    apart += left_squares[:, None]
    apart += right_squares
    # Higham, Accuracy and Stability, (3.5), for the product and both sums of squares, and three
    # more roundings.
    largest = float(left_squares.max() + right_squares.max())
    error = 2.0 * (left.shape[1] + 4) * 2.0**-53 * largest
    # The root halves a relative error, apart from its square and a rounding.
    doubtful = apart < error / (1.99 * tolerance) + error
    if np.count_nonzero(doubtful) > _MOST_REFINED * doubtful.size:
        return distances(right, left)
    p, q = np.divmod(np.flatnonzero(doubtful), doubtful.shape[1])
    apart[p, q] = 0.0  # may be negative
    np.sqrt(apart, out=apart)
    step = max(1, 2**21 // left.shape[1])
    for start in range(0, p.size, step):
        a, b = p[start : start + step], q[start : start + step]
        apart[a, b] = paired_distances(left[a], right[b])
    return np.asarray(apart)


def distances_by_word(
    vectors: NDArray[np.float32], words: IntArray, metric: Metric = Metric.EUCLIDEAN
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield, for each distinct word, its positions in `words` and its distances to all, (n,)."""
    distinct, positions = by_word(words)
    step = max(1, _BLOCK_ENTRIES // len(vectors))
    for start in range(0, len(distinct), step):
        rows = distances(vectors, vectors[distinct[start : start + step]], metric)
        yield from zip(positions[start : start + step], rows, strict=True)


def by_word(words: IntArray) -> tuple[list[int], list[IntArray]]:
    """Return the distinct words, and the positions of each."""
    distinct, inverse, counts = np.unique(words, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    return distinct.tolist(), np.split(order, np.cumsum(counts)[:-1])


def nearest_of(row: FloatArray, count: int) -> IntArray:
    """Return the words at the `count` least distances, nearest first; ties by lowest index."""
    # More words may be at the limit than there is room for: the stable sort keeps the first.
    limit = np.partition(row, count - 1)[count - 1]
    inside = np.flatnonzero(row <= limit)
    return inside[np.argsort(row[inside], kind="stable")[:count]]


# Distances of all pairs of words, tile by tile.


TILE = 512


@dataclass(frozen=True, eq=False)
class Tile:
    """Distances between two ranges of places.

    Attributes:
        rows: places of the rows.
        columns: places of the columns; at or after the rows.
        compute: source of the distances.
    """

    rows: slice
    columns: slice
    compute: Callable[[], FloatArray]

    @cached_property
    def distances(self) -> FloatArray:
        """Distances, shape (rows, columns), float64, exactly 0 for a word and itself.

        Computed on first access; the owner of the tile may change the array.
        """
        return self.compute()

    @property
    def diagonal(self) -> bool:
        """True if rows and columns are the same words: then the tile has each pair twice."""
        return self.rows == self.columns


class AllPairs:
    """All pairs of rows in at least one tile each: n(n + TILE)/2 distances in place of n².

    The distances are those of `near_distances`, and exactly 0 on the diagonal.

    Args:
        vectors: shape (n, d), float32.
        metric: of the distances.
        order: the word at each place, shape (n,); the order of the rows if not given.
    """

    def __init__(
        self, vectors: NDArray[np.float32], metric: Metric, order: IntArray | None = None
    ) -> None:
        """Sort the rows."""
        self._metric = metric
        self._rows = np.asarray(vectors if order is None else vectors[order])

    @property
    def count(self) -> int:
        """Number of tiles."""
        blocks = -(-len(self._rows) // TILE)
        return blocks * (blocks + 1) // 2

    def __iter__(self) -> Iterator[Tile]:
        """Yield all tiles."""
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


# Normalisers without a closed form.


COLUMN_ERROR = 1e-9
"""Relative error of the logarithms of a column: that of `near_distances`, times exponents up to
100."""
_KEPT = 32  # ε at least


class Normalisers:
    """ln Z of every word, kept for the last few ε; several at once take one pass over all pairs."""

    def __init__(self, compute: Callable[[list[float]], FloatArray]) -> None:
        """Keep `compute`, which returns a row an ε, shape (E, …, n)."""
        self._compute = compute
        self._known: dict[float, FloatArray] = {}

    def at(self, epsilon: float) -> FloatArray:
        """Return the row of one ε."""
        return self.all_at([epsilon])[epsilon]

    def all_at(self, epsilons: Iterable[float]) -> dict[float, FloatArray]:
        """Return the rows of several ε at least."""
        known, asked = self._known, list(dict.fromkeys(epsilons))
        absent = [epsilon for epsilon in asked if epsilon not in known]
        if absent:
            # Copies, so that one row can be freed without the others.
            rows = [row.copy() for row in self._compute(absent)]
            known = known | dict(zip(absent, rows, strict=True))
            # One assignment, because sessions share it.
            self._known = dict(list(known.items())[-max(_KEPT, len(asked)) :])
        return known
