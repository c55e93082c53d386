"""Which words have an output among their nearest, and at which place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric, paired_distances

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class NearWords:
    """The nearest words of every word, from the table of neighbours of the lexicon.

    Args:
        lexicon: words and vectors.
        count: how many nearest words, each word itself included.
        progress: of the table, where it is not in the cache folder yet.
    """

    def __init__(self, lexicon: Lexicon, count: int, progress: Progress) -> None:
        """Read or build the table."""
        self._vectors = lexicon.vectors
        table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(count, progress)
        self._indices = table.indices
        self.distances = table.distances.astype(np.float64)
        """Of the nearest words of every word, itself first, shape (n, count); right to 1e-7."""

    def of(self, output: int) -> tuple[IntArray, IntArray, FloatArray]:
        """The words that have `output` among their nearest.

        Returns:
            Words w, shape (m,); the place of the output in the order of distance from w (of equal
            distances the lowest index first), shape (m,); the distances of the nearest words of
            w in that order, shape (m, count).
        """
        words = np.flatnonzero((self._indices == output).any(axis=1))
        near = self._indices[words].astype(np.int64)
        # The table has float32 distances; a law needs more.
        left = np.repeat(words, near.shape[1])
        far = paired_distances(self._vectors[left], self._vectors[near.reshape(-1)])
        far = far.reshape(near.shape)
        order = np.lexsort((near, far), axis=-1)
        near = np.take_along_axis(near, order, axis=1)
        places = (near == output).argmax(axis=1)
        return words, places, np.take_along_axis(far, order, axis=1)
