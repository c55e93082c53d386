"""Distances from many words to the whole vocabulary, some rows at a time, and the nearest words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import Metric, distances

_BLOCK_ENTRIES = 2_000_000  # float64 entries of one block of distances: 16 MB


def distances_by_word(
    vectors: NDArray[np.float32], words: IntArray, metric: Metric = Metric.EUCLIDEAN
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each distinct word: its positions in `words`, and its distances to all, shape (n,)."""
    distinct, positions = by_word(words)
    step = max(1, _BLOCK_ENTRIES // len(vectors))
    for start in range(0, len(distinct), step):
        rows = distances(vectors, vectors[distinct[start : start + step]], metric)
        yield from zip(positions[start : start + step], rows, strict=True)


def by_word(words: IntArray) -> tuple[list[int], list[IntArray]]:
    """The distinct words, and the places of each."""
    distinct, inverse, counts = np.unique(words, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    return distinct.tolist(), np.split(order, np.cumsum(counts)[:-1])


def nearest_of(row: FloatArray, count: int) -> IntArray:
    """The words at the `count` least distances of a row, nearest first; ties by lowest index."""
    # Words at the limit itself may be more than there is room for: the stable sort keeps the first.
    limit = np.partition(row, count - 1)[count - 1]
    inside = np.flatnonzero(row <= limit)
    return inside[np.argsort(row[inside], kind="stable")[:count]]


def nearest_words(
    vectors: NDArray[np.float32], words: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Exact nearest words and their distances, shape (m, count); ties by lowest index."""
    order = np.empty((words.size, count), dtype=np.int64)
    distance = np.empty((words.size, count))
    for members, row in distances_by_word(vectors, words):
        nearest = nearest_of(row, count)
        order[members], distance[members] = nearest, row[nearest]
    return order, distance
