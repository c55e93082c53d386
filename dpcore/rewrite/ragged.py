"""Whole numbers in columns that grow, and parts of unequal length one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Columns:
    """Columns by name, to which rows are added."""

    def __init__(self, *names: str) -> None:
        self._names, self._rows = names, np.empty((len(names), 0), dtype=np.int64)

    def __len__(self) -> int:
        return self._rows.shape[1]

    def __getitem__(self, name: str) -> IntArray:
        return np.asarray(self._rows[self._names.index(name)])

    def add(self, rows: Sequence[Sequence[int]]) -> None:
        """Put rows behind the others."""
        if rows:
            new = np.array(rows, dtype=np.int64).T
            self._rows = np.concatenate((self._rows, new), axis=1)


def offsets_of(counts: ArrayLike) -> IntArray:
    """Where each of some parts begins, and where the last one ends."""
    return np.append(0, np.cumsum(counts, dtype=np.int64))


def spread(starts: IntArray, counts: IntArray) -> IntArray:
    """All of starts[i] to starts[i] + counts[i] − 1, one i after the other."""
    offsets = offsets_of(counts)
    return np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
