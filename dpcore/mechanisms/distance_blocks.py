"""Distances from many words to the whole vocabulary, some rows at a time, and the nearest words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric, distances

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK_ENTRIES = 2_000_000  # float64 entries of one block of distances: 16 MB


def distance_blocks(
    vectors: NDArray[np.float32], words: IntArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Which of `words` a block holds, and their Euclidean distances to all words, shape (k, n).

    A word that stands several times in a block is computed once.

    Args:
        vectors: shape (n, d).
        words: word indices, shape (m,).
    """
    step = max(1, _BLOCK_ENTRIES // len(vectors))
    for start in range(0, words.size, step):
        part = slice(start, min(start + step, words.size))
        distinct, inverse = np.unique(words[part], return_inverse=True)
        yield part, distances(vectors, vectors[distinct])[inverse]


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


def nearest_words(
    vectors: NDArray[np.float32], words: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Exact nearest words and their distances, shape (m, count); ties by lowest index."""
    order = np.empty((words.size, count), dtype=np.int64)
    distance = np.empty((words.size, count))
    for part, rows in distance_blocks(vectors, words):
        limits = np.partition(rows, count - 1, axis=1)[:, count - 1]
        for i, (row, limit) in enumerate(zip(rows, limits, strict=True), start=part.start):
            inside = np.flatnonzero(row <= limit)
            inside = inside[np.argsort(row[inside], kind="stable")[:count]]
            order[i], distance[i] = inside, row[inside]
    return order, distance
