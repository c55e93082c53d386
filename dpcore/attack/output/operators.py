"""Laws as linear maps: P h of a function of outputs, Pᵀ v of weights of words.

P h is the mean of h(y) given each word; Pᵀ v are the outputs expected of v words. No matrix of a
whole lexicon is kept: a law that is one number a word and a few exceptions is a sparse matrix and a
vector, a kernel of one distance is computed tile by tile, and any other exact law column by column.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpcore.arrays import BoolArray, FloatArray
from dpcore.attack.leak import all_columns
from dpcore.attack.output.channel import open_channel
from dpcore.errors import ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS
from dpcore.mechanisms.distances import AllPairs, near_distances
from dpcore.mechanisms.mechanism import KernelLaw, Mechanism, SparseLaw

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LAW_ERROR = 2e-9
"""Bound on the relative error of a probability in double precision: distances are off by 1e-11,
exponents of up to 100 count, and a weight and its normaliser are off by so much each."""
_LOCAL, _BATCH = 32, 1_000  # nearest words of a word, itself included; words at a time
_TILE = 2_048  # words of a side of a tile
_SMALL = 1e-2  # part of the largest number of a column up to which single precision is enough
_SINGLE = 3e-7  # part of the largest number that a product in single precision is off by
_LAWS_ENTRIES = 10_000_000
"""Numbers of the laws of a whole lexicon up to which they are kept, where there is no other way."""


class Operator(ABC):
    """The law of a mechanism at one ε.

    Attributes:
        n: number of words.
        weights: a with K·diag(a) = diag(z)·P and K symmetric, shape (n,); None where there is none.
        scale: z, shape (n,), with `weights`.
        slow: True if a product takes a pass over all pairs of words.
        rough: type of the numbers that `kernel` returns.
    """

    n: int
    weights: FloatArray | None = None
    scale: FloatArray | None = None
    slow: bool = True
    rough: DTypeLike = np.float64

    @abstractmethod
    def times(self, values: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return P h, shape (n, m), for h of the same shape."""

    @abstractmethod
    def transposed(self, weights: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return Pᵀ v, shape (n, m), for v of the same shape."""

    @abstractmethod
    def stays(self) -> FloatArray:
        """Return P(w | w) of every word, shape (n,)."""

    def kernel(self, values: NDArray[np.floating], progress: Progress = silent) -> FloatArray:
        """Return K x, in about six digits where that is faster: for the steps of a solution."""
        weights, scale = self.weights[:, None], self.scale[:, None]  # type: ignore[index]
        return np.asarray(self.times(values / weights, progress) * scale)

    def nearly_times(
        self, values: FloatArray, progress: Progress = silent
    ) -> tuple[FloatArray, FloatArray]:
        """Return P h and what a column may be off by, shape (m,), not proved: between steps."""
        return self.times(values, progress), np.zeros(values.shape[1])

    def undone(self, targets: FloatArray, used: BoolArray) -> FloatArray | None:
        """Return h with P h = g for words in use, 0 elsewhere; None without a closed form."""
        return None

    def near_inverse(
        self, used: BoolArray, progress: Progress = silent
    ) -> Callable[[FloatArray], FloatArray]:
        """Return a symmetric positive definite map near the inverse of K over the words in use."""
        return np.copy

    def enclosed(
        self, values: FloatArray, progress: Progress = silent
    ) -> tuple[FloatArray, FloatArray]:
        """Return P h and a bound on what each number is off by, shape (n, m) each."""
        means = self.times(values, progress)
        return means, np.broadcast_to(LAW_ERROR * np.abs(values).max(axis=0), means.shape)


class SparseOperator(Operator):
    """Law of one number a word and a few exceptions."""

    slow = False

    def __init__(self, law: SparseLaw, *, symmetric: bool) -> None:
        from scipy.sparse import csr_matrix

        self.n = law.base.size
        self._base = law.base
        self._response = _response(law)
        # Two exceptions of one pair add up, as they do in a law.
        self._excess: csr_matrix = csr_matrix(
            (law.excess, (law.words, law.outputs)), shape=(self.n, self.n)
        )
        if symmetric:
            self.weights, self.scale = np.ones(self.n), 1.0 / self.stays()

    def times(self, values: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return P h."""
        return np.asarray(self._excess @ values + np.outer(self._base, values.sum(axis=0)))

    def transposed(self, weights: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return Pᵀ v."""
        return np.asarray(self._excess.T @ weights + self._base @ weights)

    def undone(self, targets: FloatArray, used: BoolArray) -> FloatArray | None:
        """Return h = (g − q·Σh)/(p − q) of k-ary response, with Σh from the sum over the words."""
        if self._response is None:
            return None
        excess, q = self._response
        mask = used[:, None]
        # Summed over the words in use, P h = g is (p − q + q·|used|)·Σh = Σg.
        sums = (targets * mask).sum(axis=0) / (excess + q * used.sum())
        return np.asarray((targets - q * sums) / excess * mask)

    def stays(self) -> FloatArray:
        """Return P(w | w)."""
        return np.asarray(self._excess.diagonal() + self._base)


class KernelOperator(Operator):
    """Law a_y·exp(−min(s·D(w, y), c))/Z_w, tile by tile of the distances."""

    def __init__(self, mechanism: Mechanism, law: KernelLaw, progress: Progress) -> None:
        self._lexicon, self._law = mechanism.lexicon, law
        self._vectors = mechanism.lexicon.vectors
        self.n = len(self._vectors)
        self._euclidean = law.metric is Metric.EUCLIDEAN
        if self._euclidean:
            self.rough = np.float32
        self.weights = np.ones(self.n) if law.weights is None else law.weights
        # Queries that are solved one after the other share it.
        self._near: tuple[BoolArray, Callable[[FloatArray], FloatArray]] | None = None
        self.scale = self._product(self.weights[:, None], progress)[:, 0]

    def times(self, values: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return P h."""
        weighed = self.weights[:, None] * values  # type: ignore[index]
        return np.asarray(self._product(weighed, progress) / self.scale[:, None])  # type: ignore[index]

    def nearly_times(
        self, values: FloatArray, progress: Progress = silent
    ) -> tuple[FloatArray, FloatArray]:
        """Return P h: in double precision for large numbers, in single for the others."""
        weighed = self.weights[:, None] * values  # type: ignore[index]
        largest = np.abs(weighed).max(axis=0)
        large = np.abs(weighed) > _SMALL * largest
        words = np.flatnonzero(large.any(axis=1))
        if not self._euclidean or words.size > self.n / 4:
            return super().nearly_times(values, progress)
        total = self._single(np.where(large, 0.0, weighed), progress).astype(np.float64)
        some = np.where(large, weighed, 0.0)[words]
        for start in range(0, self.n, _BATCH):
            rows = slice(start, start + _BATCH)
            vectors = self._vectors[rows].astype(np.float64)
            apart = near_distances(vectors, self._vectors[words], self._law.metric)
            total[rows] += self._weighed(apart) @ some
        return total / self.scale[:, None], _SINGLE * _SMALL * largest  # type: ignore[index]

    def transposed(self, weights: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return Pᵀ v."""
        scaled = weights / self.scale[:, None]  # type: ignore[index]
        return np.asarray(self._product(scaled, progress) * self.weights[:, None])  # type: ignore[index]

    def stays(self) -> FloatArray:
        """Return P(w | w) = a_w/Z_w."""
        return np.asarray(self.weights / self.scale)  # type: ignore[operator]

    def kernel(self, values: NDArray[np.floating], progress: Progress = silent) -> FloatArray:
        """Return K x, from distances in single precision where these are Euclidean."""
        return (self._single if self._euclidean else self._product)(values, progress)

    def near_inverse(
        self, used: BoolArray, progress: Progress = silent
    ) -> Callable[[FloatArray], FloatArray]:
        """Return FᵀF corrected for what many words have in common.

        Row w of F solves K over w and those of its nearest words that stand before it (a factorised
        sparse approximate inverse: Kolotilina and Yeremin 1993). The correction makes the map exact
        for functions that are linear in the vectors and their squared lengths (balancing: Mandel
        1993): seen from afar, a kernel of a distance is smooth.
        """
        if not self._euclidean:
            return np.copy
        if self._near is not None and np.array_equal(self._near[0], used):
            return self._near[1]
        smooth, image = self._smooth_part(used, progress)
        factor = self._local_factor(used, progress)
        back = factor.T.tocsr()

        def apply(values: FloatArray) -> FloatArray:
            share = smooth.T @ values
            local = back @ (factor @ (values - image @ share))
            local += smooth @ (share - image.T @ local)
            return np.asarray(local)

        self._near = used, apply
        return apply

    def _smooth_part(
        self, used: BoolArray, progress: Progress
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return C, a basis of the smooth functions with CᵀKC = 1, and K C."""
        vectors = self._vectors.astype(np.float64)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        parts = np.column_stack((squares, vectors))
        parts = np.column_stack((np.ones(self.n), parts - parts.mean(axis=0)))
        weighed = parts * (self.weights * used)[:, None]  # type: ignore[operator]
        basis = np.linalg.qr(weighed)[0] * used[:, None]
        image = self._single(basis, progress) * used[:, None]
        powers, turn = np.linalg.eigh(basis.T @ image)
        # A cap may leave directions whose square is not positive.
        kept = powers > 1e-3 * powers[-1]
        turn = turn[:, kept] / np.sqrt(powers[kept])
        return (basis @ turn).astype(np.float32), (image @ turn).astype(np.float32)

    def _local_factor(self, used: BoolArray, progress: Progress) -> csr_matrix:
        from scipy.sparse import csr_matrix

        nearest = self._lexicon.neighbours(_LOCAL, progress).indices.astype(np.int64)
        parts = []
        for start in range(0, self.n, _BATCH):
            words = np.arange(start, min(start + _BATCH, self.n))
            among = np.column_stack((nearest[words], words))
            valid = (among < words[:, None]) & used[among]
            valid[:, -1] = True
            points = self._vectors[among].astype(np.float64)
            squares = np.einsum("ijk,ijk->ij", points, points)
            apart = squares[:, :, None] + squares[:, None] - 2.0 * points @ points.mT
            apart = np.sqrt(np.maximum(apart, 0.0))
            # What does not count stands for itself alone.
            kernel = np.exp(-np.minimum(self._law.strength * apart, self._law.cap))
            kernel *= valid[:, :, None] & valid[:, None]
            # A little more than 1: two words with nearly one vector would have no inverse.
            kernel[:, range(among.shape[1]), range(among.shape[1])] = 1.0 + 1e-6
            alone = np.zeros(among.shape)
            alone[:, -1] = 1.0
            row = np.linalg.solve(kernel, alone[:, :, None])[:, :, 0]
            # Where a cap leaves no positive pivot, the word stands alone.
            row = np.where(row[:, -1:] > 0, row, alone)
            row /= np.sqrt(row[:, -1:])
            at = np.broadcast_to(words[:, None], among.shape)
            parts.append((row[valid].astype(np.float32), at[valid], among[valid]))
        entries, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
        return csr_matrix((entries, (rows, columns)), shape=(self.n, self.n))

    def _product(self, values: NDArray[np.floating], progress: Progress) -> FloatArray:
        """Return K x, shape (n, m): each tile of distances serves both of its sides."""
        total = np.zeros_like(values, dtype=np.float64)
        pairs = AllPairs(self._vectors, self._law.metric)
        for done, tile in enumerate(pairs, start=1):
            entries = self._weighed(tile.distances)
            total[tile.rows] += entries @ values[tile.columns]
            if not tile.diagonal:
                total[tile.columns] += entries.T @ values[tile.rows]
            progress("weighing pairs of words", done, pairs.count)
        return total

    def _weighed(self, apart: FloatArray) -> FloatArray:
        """Return exp(−min(s·D, c)) in the place of the distances."""
        np.multiply(apart, -self._law.strength, out=apart)
        if self._law.cap < math.inf:
            np.maximum(apart, -self._law.cap, out=apart)
        return np.asarray(np.exp(apart, out=apart))

    def _single(self, values: NDArray[np.floating], progress: Progress) -> FloatArray:
        """Return K x as `_product` does, in single precision."""
        # A product of a left and a right row is the square of an exponent.
        rows = np.float32(self._law.strength) * np.asarray(self._vectors, dtype=np.float32)
        squares, ones = np.einsum("ij,ij->i", rows, rows), np.ones(self.n, np.float32)
        lefts = np.column_stack((-2.0 * rows, squares, ones)).astype(np.float32)
        rights = np.column_stack((rows, ones, squares)).T.copy()
        total = np.zeros(values.shape, dtype=np.float32)
        single = values.astype(np.float32)
        least = np.float32(-self._law.cap)
        step, starts = _TILE, range(0, self.n, _TILE)
        for i in starts:
            left = slice(i, min(i + step, self.n))
            for j in range(i, self.n, step):
                right = slice(j, min(j + step, self.n))
                entries = lefts[left] @ rights[:, right]
                np.maximum(entries, 0.0, out=entries)
                np.sqrt(entries, out=entries)
                np.negative(entries, out=entries)
                if self._law.cap < math.inf:
                    np.maximum(entries, least, out=entries)
                np.exp(entries, out=entries)
                if i == j:
                    np.fill_diagonal(entries, 1.0)
                total[left] += entries @ single[right]
                if i != j:
                    total[right] += entries.T @ single[left]
            progress("weighing pairs of words", left.stop, self.n)
        return np.asarray(total)


class ColumnOperator(Operator):
    """Any exact law whose columns can be computed over the whole lexicon."""

    def __init__(self, mechanism: Mechanism, epsilon: float, progress: Progress) -> None:
        self._channel = open_channel(mechanism, progress=progress)
        self._epsilons = np.array([epsilon])
        self.n = len(mechanism.lexicon)
        if mechanism.symmetric_law:
            self.weights, self.scale = np.ones(self.n), 1.0 / self.stays()

    def times(self, values: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return P h."""
        total = np.zeros(values.shape)
        for _, outputs, logs, _ in all_columns(self._channel, self._epsilons, progress):
            total += np.exp(logs, out=logs).T @ values[outputs]
        return total

    def enclosed(
        self, values: FloatArray, progress: Progress = silent
    ) -> tuple[FloatArray, FloatArray]:
        """Return P h, and what the stated errors of the columns may add up to."""
        total, off = np.zeros(values.shape), np.zeros(values.shape)
        for _, outputs, logs, errors in all_columns(self._channel, self._epsilons, progress):
            column = np.exp(logs)
            total += column.T @ values[outputs]
            wrong = (
                column * np.expm1(errors)
                if np.ndim(errors) == 0
                else np.exp(logs + errors) - column
            )
            off += wrong.T @ np.abs(values[outputs])
        return total, off

    def transposed(self, weights: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return Pᵀ v."""
        total = np.empty(weights.shape)
        for _, outputs, logs, _ in all_columns(self._channel, self._epsilons, progress):
            total[outputs] = np.exp(logs, out=logs) @ weights
        return total

    def stays(self) -> FloatArray:
        """Return P(w | w)."""
        stays = np.empty(self.n)
        for _, outputs, logs, _ in all_columns(self._channel, self._epsilons, silent):
            stays[outputs] = np.exp(logs[np.arange(outputs.size), outputs])
        return stays


class DenseOperator(Operator):
    """Law of a small lexicon, as a matrix."""

    slow = False

    def __init__(self, mechanism: Mechanism, epsilon: float) -> None:
        self.n = len(mechanism.lexicon)
        rows = [mechanism.law(word, [epsilon]).dense(self.n)[0] for word in range(self.n)]
        self._matrix = np.array(rows)
        if mechanism.symmetric_law:
            self.weights, self.scale = np.ones(self.n), 1.0 / self.stays()

    def times(self, values: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return P h."""
        return np.asarray(self._matrix @ values)

    def transposed(self, weights: FloatArray, progress: Progress = silent) -> FloatArray:
        """Return Pᵀ v."""
        return np.asarray(self._matrix.T @ weights)

    def stays(self) -> FloatArray:
        """Return P(w | w)."""
        return np.asarray(self._matrix.diagonal().copy())


def operator_of(mechanism: Mechanism, epsilon: float, progress: Progress = silent) -> Operator:
    """Return the law at ε as a linear map, in the form that computes it fastest.

    Raises:
        ParameterError: the law is not known exactly, the promise is refuted, or the lexicon is too
            large for laws that are computed word by word; the message says which.
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    check_countable(mechanism, value)
    sparse = mechanism.sparse_law(value)
    if sparse is not None:
        return SparseOperator(sparse, symmetric=mechanism.symmetric_law)
    kernel = mechanism.kernel_law(value)
    if kernel is not None:
        return KernelOperator(mechanism, kernel, progress)
    n = len(mechanism.lexicon)
    if n > MAX_ATTACK_PRIOR_WORDS and mechanism.column_form is not None:
        return ColumnOperator(mechanism, value, progress)
    if n * n <= _LAWS_ENTRIES:
        return DenseOperator(mechanism, value)
    raise ParameterError(
        f"{mechanism.short} needs a law of its own for each of the {n:,} words, which is done up "
        f"to {math.isqrt(_LAWS_ENTRIES):,}: take a smaller lexicon, or another mechanism such as "
        "tem or k-ary"
    )


def response_of(mechanism: Mechanism, epsilon: float) -> tuple[float, float] | None:
    """Return p − q and q, where any word is kept with p and each other comes out with q.

    None for another law than that of k-ary randomised response.
    """
    law = mechanism.sparse_law(epsilon)
    return None if law is None else _response(law)


def _response(law: SparseLaw) -> tuple[float, float] | None:
    if law.words.size != law.base.size or not np.array_equal(law.words, law.outputs):
        return None
    if np.ptp(law.base) > 0 or np.ptp(law.excess) > 0 or not law.excess[0] > 0:
        return None
    return float(law.excess[0]), float(law.base[0])


def check_countable(mechanism: Mechanism, epsilon: float) -> None:
    """Refuse a mechanism whose noise cannot be undone, or must not be trusted.

    Raises:
        ParameterError: with the reason.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"nothing can be counted in texts of {mechanism.short}: its noise has no exact law "
            "that could be undone, and a sampled one has an error of unknown size; take a "
            "mechanism with a law, such as tem or k-ary"
        )
    guarantee = mechanism.guarantee(epsilon)
    if guarantee.status is Status.REFUTED:
        raise ParameterError(
            f"nothing is counted in texts of {mechanism.short}: its guarantee is refuted "
            f"({guarantee.reason})"
        )
