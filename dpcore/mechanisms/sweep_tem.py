"""TEM at several ε from one uniform number an entry: the fast way of `dpcore.mechanisms.sweep`.

What costs is one law of the whole vocabulary for each distinct word and ε. Distances come from one
matrix product in float64; beyond the threshold of an ε all weights are the same number, so no
exponential is evaluated there; and of the cumulated law only the ends of blocks are summed, and
then the one block in which a draw falls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import Metric, distances

if TYPE_CHECKING:
    from dpcore.mechanisms.law import FloatArray, IntArray
    from dpcore.mechanisms.tem import TruncatedExponential

_BLOCK = 128  # outputs whose weights are summed before they are cumulated
_FEW = 0.5  # share of the vocabulary up to which picking the near words pays


class TemSweep:
    """The outputs of words at each ε, for given uniform numbers."""

    def __init__(self, mechanism: TruncatedExponential, epsilons: FloatArray) -> None:
        """Fix the laws; ε are those of the mechanism, shape (E,)."""
        self._lexicon = mechanism.lexicon
        self._metric = Metric.parse(mechanism.metric)
        self._cap = mechanism.cap
        self._halves = [0.5 * mechanism.nominal(float(value)) for value in epsilons]
        self._wide = self._lexicon.vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._wide, self._wide)

    def distances(self, words: IntArray) -> FloatArray:
        """Distances of some words from all, shape (k, n).

        Euclidean ones are right to about 1e-7 of the largest norm where words are near each other,
        which changes no probability by more than that times ε.
        """
        if self._metric != Metric.EUCLIDEAN:
            vectors = self._lexicon.vectors
            return distances(vectors, vectors[words], self._metric)
        squared = self._wide[words] @ self._wide.T
        squared *= -2.0
        squared += self._squares
        squared += self._squares[words, None]
        squared[np.arange(words.size), words] = 0.0
        return np.asarray(np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared))

    def outputs(self, distance: FloatArray, uniform: FloatArray) -> IntArray:
        """Outputs of one word by inversion of its laws.

        Args:
            distance: of the word from all, shape (n,).
            uniform: one number of [0, 1) for each draw, shape (m,).

        Returns:
            Word indices, shape (m, E).
        """
        found = np.empty((uniform.size, len(self._halves)), dtype=np.int64)
        for e, half in enumerate(self._halves):
            found[:, e] = self._inverted(self._weights(distance, half), uniform)
        return found

    def _weights(self, distance: FloatArray, half: float) -> FloatArray:
        """exp(−min(ε·D/2, c)), followed by zeros up to a whole number of blocks."""
        n = distance.size
        weights = np.zeros(-(-n // _BLOCK) * _BLOCK)
        weights[:n] = math.exp(-self._cap)
        near = distance < self._cap / half
        if np.count_nonzero(near) < _FEW * n:
            places = near.nonzero()[0]
            weights[places] = np.exp(-half * distance[places])
        else:
            np.exp(-np.minimum(half * distance, self._cap), out=weights[:n])
        return weights

    @staticmethod
    def _inverted(weights: FloatArray, uniform: FloatArray) -> IntArray:
        """The first output at which the cumulated weight passes its share of the whole."""
        blocks = weights.reshape(-1, _BLOCK)
        ends = np.cumsum(blocks.sum(axis=1))
        target = uniform * ends[-1]
        # A product that rounds up to the last step must not leave the vocabulary.
        block = np.minimum(np.searchsorted(ends, target, side="right"), ends.size - 1)
        before = np.where(block > 0, ends[block - 1], 0.0)
        steps = np.cumsum(blocks[block], axis=1) + before[:, None]
        inside = (steps <= target[:, None]).sum(axis=1)
        found = block * _BLOCK + np.minimum(inside, _BLOCK - 1)
        last = int(np.flatnonzero(weights)[-1])
        return np.minimum(found, last)
