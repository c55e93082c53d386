"""The largest and the smallest non-zero distance between words, over all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import Float32Array, FloatArray
from dpcore.errors import LexiconError
from dpcore.lexicon.metric import Metric, distances, paired_distances, unit_rows
from dpcore.lexicon.nearest_word import SAFE_LENGTHS, product_error

if TYPE_CHECKING:
    from dpcore.lexicon.progress import Progress

_BLOCK = 2048
_PAIRS = 16_384
# Two rows whose angle is below this count as parallel, at distance 0: float64 cannot tell.
PARALLEL_ANGLE = 1e-12


def exact_extent(vectors: Float32Array, metric: Metric, progress: Progress) -> tuple[float, float]:
    """Diameter and separation over all pairs.

    For the Euclidean metric (and the angular one, on rows scaled to length 1) a float32 matrix
    product gives half the squared distance of all pairs of two blocks with a proved error bound;
    only pairs that the bound cannot exclude are computed in float64. For the others every pair
    is.

    Args:
        vectors: shape (n, d), rows distinct.
        metric: the metric.
        progress: called with (stage, pairs of blocks done, all of them).

    Returns:
        (Δ, Δ₀).

    Raises:
        LexiconError: no two words have a distance above 0 (parallel rows under the angular
            metric).
    """
    search = _Search(vectors, metric)
    starts = range(0, len(vectors), _BLOCK)
    total = len(starts) * (len(starts) + 1) // 2
    done = 0
    for i in starts:
        for j in range(i, len(vectors), _BLOCK):
            search.visit(i, j)
            done += 1
            progress("distances", done, total)
    if not search.largest > 0:
        raise LexiconError("all words are parallel: the angular metric has no separation")
    return search.largest, search.smallest


class _Search:
    """The best pairs so far."""

    def __init__(self, vectors: Float32Array, metric: Metric) -> None:
        self.vectors = vectors
        self.metric = metric
        self.largest = 0.0
        self.smallest = np.inf
        self.floor = PARALLEL_ANGLE if metric is Metric.ANGULAR else 0.0
        self.screened = metric in (Metric.EUCLIDEAN, Metric.ANGULAR)
        if not self.screened:
            return
        self.rows = vectors if metric is Metric.EUCLIDEAN else _single_unit_rows(vectors)
        self.half = np.empty(len(vectors))
        for start in range(0, len(vectors), _BLOCK):
            part = self.rows[start : start + _BLOCK].astype(np.float64)
            self.half[start : start + _BLOCK] = np.einsum("ij,ij->i", part, part) / 2
        longest = float(np.sqrt(2 * self.half.max()))
        self.screened = SAFE_LENGTHS[0] < longest < SAFE_LENGTHS[1]

    def visit(self, i: int, j: int) -> None:
        """Take in all pairs of block i with block j >= i."""
        if not self.screened:
            block = distances(
                self.vectors[j : j + _BLOCK], self.vectors[i : i + _BLOCK], self.metric
            )
            self._take(block)
            return
        left, right = self.rows[i : i + _BLOCK], self.rows[j : j + _BLOCK]
        a, b = self.half[i : i + _BLOCK], self.half[j : j + _BLOCK]
        score = left @ right.T
        np.subtract(b.astype(np.float32), score, out=score)
        score += a.astype(np.float32)[:, None]
        # |error| <= γ(‖x‖‖y‖ + ‖x‖²/2 + ‖y‖²/2), where the scores are half squared distances.
        reach = float(np.sqrt(2 * a.max()) + np.sqrt(2 * b.max()))
        error = product_error(self.rows.shape[1]) * reach**2
        if i == j:
            # The diagonal and the lower triangle say nothing new: put them between the extremes.
            above = np.triu_indices(len(left), 1)
            if len(above[0]) == 0:
                return
            middle = score[above].mean(dtype=np.float64)
            score[np.tril_indices(len(left))] = middle
        top, bottom = float(score.max()), float(score.min())
        high, low = self._score(self.largest), self._score(self.smallest)
        if top < high - error and bottom > low + error:
            return
        # This block's own extremes bound the answer as well. Parallel rows are no candidates
        # for the smallest angle, so only scores that are certainly not theirs may bound it.
        if self.metric is Metric.ANGULAR:
            bottom = float(score.min(initial=np.inf, where=score > 2 * error))
        high = max(high, top - error)
        low = min(low, max(bottom, 0.0) + error)
        which = np.nonzero((score >= high - error) | (score <= low + error))
        for start in range(0, len(which[0]), _PAIRS):
            p = which[0][start : start + _PAIRS] + i
            q = which[1][start : start + _PAIRS] + j
            self._take(paired_distances(self.vectors[p], self.vectors[q], self.metric)[p < q])

    def _score(self, distance: float) -> float:
        """Half the squared Euclidean distance (of unit rows) that belongs to a distance."""
        if self.metric is Metric.ANGULAR and np.isfinite(distance):
            return float(2 * np.sin(distance / 2) ** 2)
        return distance**2 / 2

    def _take(self, gaps: FloatArray) -> None:
        self.largest = max(self.largest, float(gaps.max(initial=0.0)))
        positive = gaps[gaps > self.floor]
        self.smallest = min(self.smallest, float(positive.min(initial=np.inf)))


def _single_unit_rows(vectors: Float32Array) -> Float32Array:
    result = np.empty_like(vectors)
    for start in range(0, len(vectors), _BLOCK):
        part = vectors[start : start + _BLOCK].astype(np.float64)
        result[start : start + _BLOCK] = unit_rows(part)
    return result
