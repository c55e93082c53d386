"""Exact nearest words to points and to words, with the speed of a float32 product."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distance_error, distances, gamma

_BLOCK_BYTES = 64 * 2**20
_PAIR_BYTES = 16 * 2**20
# Points and words whose scores are looked at together: 8 MB, of which much stays in the cache for
# the passes after the product; fewer points would pack the words for the product more often.
_POINTS, _WORDS = 1024, 2048
_FLOAT32_UNIT = 2.0**-24
_MORE_KNOWN = 8  # known neighbours compared beyond those asked for: a near tie is rarely longer
_FEW = 0.1  # share of the pairs from which on it is faster to compare all
# A longest vector outside this range may over- or underflow as a float32 square: everything is
# done in float64 then.
SAFE_LENGTHS = (1e-15, 1e15)
# In lengths of the longest word: from here on ‖x‖² - 2 x·q is the more accurate comparison.
FAR = 4.0


def product_error(dimension: int) -> float:
    """Return a relative bound on the rounding error of a float32 inner product.

    |fl(x·y) - x·y| <= product_error(d) ‖x‖ ‖y‖ for any order of summation, with or without fused
    multiply-add (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5)); four
    more roundings are allowed for, so that y may itself be rounded to float32 and the product
    may be added to another term.
    """
    return gamma(dimension + 4, _FLOAT32_UNIT)


def nearest(
    vectors: Float32Array, queries: ArrayLike, metric: Metric = Metric.EUCLIDEAN
) -> IntArray:
    """Return the word nearest to each query.

    For the Euclidean metric a float32 matrix product gives ‖x‖²/2 - x·q with a proved error
    bound; every word within the bound of the best one is compared again in float64. The result is
    therefore that of float64 brute force, and does not depend on the batch, the BLAS or the
    number of threads. Near the words, float64 compares squared differences ‖x - q‖²; for a query
    more than four times as far from the origin as any word it compares ‖x‖² - 2 x·q, which differs
    by a constant and still tells the words apart where ‖q‖² has swallowed them (strong noise).

    Args:
        vectors: the words, shape (n, d), finite.
        queries: points, shape (k, d), float32 or float64 (not rounded before the comparison).
        metric: the metric.

    Returns:
        Indices of shape (k,), int64; of equally near words the lowest index.

    Raises:
        ParameterError: the shapes do not fit or a query is not finite.
    """
    return NearestSearch(vectors)(queries, metric)


class NearestSearch:
    """`nearest` for one table of vectors, with the computations about the table stored.

    Args:
        vectors: the words, shape (n, d), float32, finite; not copied.

    Attributes:
        largest: the largest length of a word.
    """

    def __init__(self, vectors: Float32Array) -> None:
        if vectors.ndim != 2 or len(vectors) == 0:
            raise ParameterError(f"nearest needs vectors (n, d) with n >= 1, got {vectors.shape}")
        self._vectors = vectors
        lengths = _squared_lengths(vectors)
        self.largest = float(np.sqrt(lengths.max()))
        self._fits = SAFE_LENGTHS[0] < self.largest < SAFE_LENGTHS[1]
        self._half = (lengths / 2).astype(np.float32) if self._fits else np.empty(0, np.float32)

    def __call__(self, queries: ArrayLike, metric: Metric = Metric.EUCLIDEAN) -> IntArray:
        """Return the nearest words, as `nearest` does."""
        vectors = self._vectors
        points = np.asarray(queries, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != vectors.shape[1]:
            raise ParameterError(
                f"nearest needs queries (k, {vectors.shape[1]}), got {points.shape}"
            )
        if not np.isfinite(points).all():
            raise ParameterError("nearest needs finite queries, got NaN or infinity")
        euclidean = Metric.parse(metric) is Metric.EUCLIDEAN
        result = np.empty(len(points), dtype=np.int64)
        step = _POINTS if euclidean else self._step
        for start in range(0, len(points), step):
            block = points[start : start + step]
            with np.errstate(over="ignore"):
                reach = np.sqrt(_squared_lengths(block))
            if not euclidean:
                result[start : start + step] = distances(vectors, block, metric).argmin(axis=1)
            elif self._fits and reach.max() < SAFE_LENGTHS[1]:
                result[start : start + step] = self._screened(block, reach)
            else:
                every = np.arange(len(vectors))
                for i, point in enumerate(block):
                    squares = self._compare(np.broadcast_to(point, (len(every), point.size)), every)
                    result[start + i] = squares.argmin()
        return result

    def several(self, points: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
        """Return the nearest words of each point, of equally near ones the lowest index first.

        The product leaves out ‖q‖², which swallows the differences between words in a float32
        distance where q is far. Words that it cannot tell apart from the `count` nearest are
        compared by their distances in float64, so the result is that of comparing all.

        Args:
            points: shape (k, d), finite; neither their squares nor those of words over- or
                underflow in float32 (`SAFE_LENGTHS`).
            count: number of words, 1 to n.

        Returns:
            Indices and Euclidean distances, both of shape (k, count).
        """
        vectors, largest = self._vectors, self.largest
        d = vectors.shape[1]
        indices, gaps = np.empty((len(points), count), np.int64), np.empty((len(points), count))
        step = self._step
        for start in range(0, len(points), step):
            block = points[start : start + step]
            reach = np.sqrt(_squared_lengths(block)) + largest
            score = block.astype(np.float32) @ vectors.T
            np.subtract(self._half, score, out=score)
            # As in `of_words`: of two scores, and of two squares that float64 has rounded.
            slack = 2.0 * product_error(d) * largest * reach + 4.0 * distance_error(d) * reach**2
            which, candidate = np.nonzero(score <= _limits(score, count, slack)[:, None])
            true = np.sqrt(self._compare(block[which], candidate, whole=True))
            order = np.lexsort((candidate, true, which))
            firsts = np.searchsorted(which, np.arange(len(block)))[:, None] + np.arange(count)
            part = slice(start, start + len(block))
            indices[part], gaps[part] = candidate[order][firsts], true[order][firsts]
        return indices, gaps

    def of_words(
        self, words: IntArray, count: int, table: NDArray[np.int32] | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the words nearest to each of some words, itself among them, and their distances.

        Only words that the product cannot tell apart from the `count` nearest are compared as
        `dpcore.lexicon.metric.distances` does it, so the result is that of comparing all.

        Args:
            words: indices, shape (m,).
            count: number of nearest words, 1 to n.
            table: nearest words of every word, shape (n, w), if they are known: they are compared,
                and a word is searched for only where that leaves a doubt.

        Returns:
            Indices, nearest first, equally near ones by index, and Euclidean distances, both of
            shape (m, count).
        """
        vectors, n = self._vectors, len(self._vectors)
        distinct, which = np.unique(words, return_inverse=True)
        order, near = (
            np.empty((distinct.size, count), dtype=np.int64),
            np.empty((distinct.size, count)),
        )
        if table is not None and table.shape[1] > count:
            sure = self._of_table(table[distinct, : count + _MORE_KNOWN], distinct, order, near)
            doubtful = np.flatnonzero(~sure)
            if doubtful.size:
                order[doubtful], near[doubtful] = self.of_words(distinct[doubtful], count)
            return order[which], near[which]
        step = self._step
        for start in range(0, distinct.size, step):
            block = distinct[start : start + step]
            if self._fits:
                score = vectors[block] @ vectors.T
                np.subtract(self._half, score, out=score)
                limits = _limits(score, count, self._slack)
            for i, word in enumerate(block.tolist()):
                inside = np.flatnonzero(score[i] <= limits[i]) if self._fits else np.arange(n)
                row = distances(vectors[inside], vectors[[word]])[0]
                first = np.argsort(row, kind="stable")[:count]
                order[start + i], near[start + i] = inside[first], row[first]
        return order[which], near[which]

    def _of_table(
        self, known: NDArray[np.int32], words: IntArray, order: IntArray, near: FloatArray
    ) -> NDArray[np.bool_]:
        """Write the nearest words among known ones; return False where others may be as near.

        Args:
            known: nearest words of each word, nearest first, shape (m, w).
            words: indices, shape (m,).
            order: receives the nearest, shape (m, count), count < w.
            near: receives their distances, of the same shape.
        """
        inside = np.sort(known, axis=1).astype(np.int64)
        rows = np.empty(inside.shape)
        for row, others, word in zip(rows, inside, words.tolist(), strict=True):
            row[:] = distances(self._vectors[others], self._vectors[[word]])[0]
        first = np.argsort(rows, axis=1, kind="stable")
        rows = np.take_along_axis(rows, first, axis=1)
        count = order.shape[1]
        order[:], near[:] = np.take_along_axis(inside, first[:, :count], axis=1), rows[:, :count]
        # All others are at least as far away as the last known one, but for rounding.
        doubt = 4.0 * distance_error(self._vectors.shape[1])
        return np.asarray(rows[:, count - 1] * (1.0 + doubt) < rows[:, -1])

    def within(self, words: IntArray, reach: float) -> list[tuple[IntArray, FloatArray]] | None:
        """Return, for each word, the words within a distance of it, and their distances.

        Only words that the product does not place beyond `reach` are compared as
        `dpcore.lexicon.metric.distances` does it, so some returned words are a little beyond it,
        and every word nearer by that comparison is among them.

        Args:
            words: indices, shape (m,); m·n numbers are held.
            reach: Euclidean distance.

        Returns:
            Indices, ascending, and distances of each word; None if so many pairs may be within
            reach that it is faster to compare all.
        """
        if not (self._fits and reach < 2.0 * self.largest):
            return None
        vectors = self._vectors
        score = vectors[words] @ vectors.T
        np.subtract(self._half, score, out=score)
        # D² < reach² is ‖x‖²/2 − x·q < (reach² − ‖q‖²)/2.
        limits = 0.5 * reach**2 - self._half[words].astype(np.float64) + self._slack
        near = score <= _rounded_up(limits)[:, None]
        if np.count_nonzero(near) > _FEW * near.size:
            return None
        inside = [np.flatnonzero(row) for row in near]
        own = vectors[words][:, None]
        return [
            (others, distances(vectors[others], point)[0])
            for others, point in zip(inside, own, strict=True)
        ]

    @property
    def _step(self) -> int:
        """Number of points whose scores of all words are stored at a time."""
        return max(1, _BLOCK_BYTES // (4 * len(self._vectors)))

    @property
    def _slack(self) -> float:
        """Twice the error of one score, plus the confusion of rounded distances of words."""
        # As in `_screened`, with squares up to (2·largest)².
        d, largest = self._vectors.shape[1], self.largest
        return 4.0 * (product_error(d) + 5.0 * distance_error(d)) * largest**2

    def _compare(self, points: FloatArray, words: IntArray, *, whole: bool = False) -> FloatArray:
        """Return squared distances of pairs (point, word).

        Where q is far, they are less by ‖q‖² unless the whole is wanted.
        """
        squares = np.empty(len(words))
        step = max(1, _PAIR_BYTES // (8 * points.shape[1]))
        for start in range(0, len(words), step):
            part = slice(start, start + step)
            q = points[part]
            x = self._vectors[words[part]].astype(np.float64)
            far = (np.abs(q).max(axis=1) > FAR * self.largest) & (not whole)
            left = np.where(far[:, None], x, x - q)
            right = np.where(far[:, None], x - 2.0 * q, left)
            squares[part] = np.einsum("ij,ij->i", left, right)
        return squares

    def _screened(self, points: FloatArray, reach: FloatArray) -> IntArray:
        vectors, largest = self._vectors, self.largest
        rows, everyone = points.astype(np.float32), np.arange(len(points))
        best = np.zeros(len(points), dtype=np.int64)
        least = np.full(len(points), np.inf, dtype=np.float32)
        second = least.copy()
        # A few words at a time, whose scores are read again while they are in the cache.
        scores = np.empty((len(points), min(_WORDS, len(vectors))), dtype=np.float32)
        for start in range(0, len(vectors), _WORDS):
            part = vectors[start : start + _WORDS]
            score = np.matmul(rows, part.T, out=scores[:, : len(part)])
            np.subtract(self._half[start : start + _WORDS], score, out=score)
            here = score.argmin(axis=1)
            low = score[everyone, here]
            score[everyone, here] = np.inf
            np.minimum(second, score.min(axis=1), out=second)
            np.minimum(second, np.maximum(least, low), out=second)
            best = np.where(low < least, start + here, best)
            np.minimum(least, low, out=least)
        # Twice the error of one score: of the best, and of the one that is compared with it.
        slack = 2.0 * product_error(vectors.shape[1]) * largest * (reach + largest)
        limits = _rounded_up(least.astype(np.float64) + slack)
        # Nearly always one word alone is within the error: then nothing has to be compared.
        every = np.flatnonzero(second <= limits)
        for start in range(0, every.size, self._step):
            doubtful = every[start : start + self._step]
            score = rows[doubtful] @ vectors.T
            np.subtract(self._half, score, out=score)
            # Another product may round another way: its error is within the same bound.
            which, candidate = np.nonzero(score <= limits[doubtful, None])
            squares = self._compare(points[doubtful[which]], candidate)
            # By query, then distance, then index: the first of each query is its result.
            order = np.lexsort((candidate, squares, which))
            firsts = np.searchsorted(which, np.arange(doubtful.size))
            best[doubtful] = candidate[order][firsts]
        return best


def _limits(score: Float32Array, count: int, slack: FloatArray | float) -> Float32Array:
    """Return bounds of the scores that may be among the `count` least of each row, shape (k,)."""
    if count == 1:  # several times as fast as a partition
        least = score.min(axis=1)
    else:
        least = np.partition(score, count - 1, axis=1)[:, count - 1]
    return _rounded_up(least.astype(np.float64) + slack)


def _rounded_up(limits: FloatArray) -> Float32Array:
    """Return the next float32, so that the cast loses no word that is within a limit."""
    return np.asarray(np.nextafter(limits.astype(np.float32), np.float32(np.inf)))


def _squared_lengths(rows: FloatArray | Float32Array) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
