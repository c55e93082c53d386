"""True ε of the repaired truncated Gumbel mechanism over all pairs of a vocabulary.

The worst output of a pair is one of few. With τ(w′) = π_n/Z_n(w′), the least possible T, no output
has a loss above s·d + ln T_1(w) − ln τ(w′). Where w is not among the first few words around w′,
that is attained at y = w; those few are the m ≈ 50 that the counts K < n can distinguish. So with a
table of exact neighbours wider than m

* pairs within the table have their loss at y = w in closed form, which gives a large ε at once;
* the few of them whose bound exceeds that ε are evaluated at every output;
* Z of a large vocabulary is first known between two bounds (`normaliser_bounds`), which decide
  about nearly all pairs; it is computed in float64 for the words of the remaining pairs;
* a pair outside the table is as far apart as the last column at least, and its bound there is below
  that ε (if not, its row is computed).

All is rounded towards a larger loss. Distances are off by a factor 1 ± ρ (`distance_error`); the
rank of an output that is as far from a word as another one, up to that, is taken for the larger
loss on either side; logarithms are off by `_log_error`. So the result is certified: an upper bound,
and exact but for rounding unless there are such ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray, largest
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import (
    ELEMENTARY,
    UNIT,
    Metric,
    distance_error,
    distances,
    gamma,
    paired_distances,
)
from dpcore.lexicon.nearest_word import SAFE_LENGTHS, product_error
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.certificate import EPSILONS, Certificate, search
from dpcore.mechanisms.distances import RELATIVE_ERROR
from dpcore.mechanisms.exponential.tem_loss import log_normalisers
from dpcore.noise.samplers import candidate_weights, whole_vocabulary_weight

_LEFT_OUT = 1e-18  # mass of the counts behind the heads, as in `candidate_weights`
_DEEPEST = 750.0  # no logarithm of a normalised weight lies below −750
_PAIRS = 500  # evaluated at a time: 500 pairs, 50 outputs and 300 coordinates are 60 MB
_BOUNDED = 2_048  # words from which on Z is bounded before it is computed
_SETTLED = 16  # pairs whose Z are computed first, twice as many each time
_ROUNDS = 8  # rounds of that
_UNDERFLOW = 1e-17  # possible loss of a float32 distance, if squares of coordinates underflow
_GATHERED = 2**22  # numbers gathered at a time
_START = 24  # initial strengths of the search
_LOSS = "a privacy loss"

_TILE = 512
_UNIT = 2.0**-24
_VANISHED = 104.0  # exponents beyond give 0 in float32
_TINY = 2.0**-126  # a weight below it may lose all its digits
_EXP_UNITS = 8.0  # error of an exponential in units in the last place: NumPy stays within 3


@dataclass(frozen=True)
class RepairedLoss:
    """Largest loss per distance.

    Attributes:
        epsilon: certified: no pair and no output exceed it.
        word: word of the worst pair that its output favours.
        other: the other word.
        output: the output.
        evaluated: pairs that were evaluated at every output.
    """

    epsilon: float
    word: int
    other: int
    output: int
    evaluated: int


def repaired_certificate(lexicon: Lexicon, progress: Progress = silent) -> Certificate:
    """Find strengths s = 1/b whose true ε lies just below each ε of the table.

    Args:
        lexicon: words and vectors; distances are Euclidean.
        progress: called with (stage, done, all); several rounds.
    """

    def evaluate(strengths: FloatArray) -> FloatArray:
        return np.array([loss.epsilon for loss in repaired_losses(lexicon, strengths, progress)])

    # At the least strength the nearest pair hardly differs: K alone causes the remaining loss.
    first = min(0.01 / lexicon.with_metric(Metric.EUCLIDEAN).extent.separation, 0.1)
    return search(evaluate, np.geomspace(first, EPSILONS[-1], _START))


def repaired_losses(
    lexicon: Lexicon, strengths: FloatArray, progress: Progress = silent
) -> list[RepairedLoss]:
    """Return the true ε at each s = 1/b, over all pairs of words and all outputs.

    Args:
        lexicon: words and vectors.
        strengths: s > 0, shape (E,).
        progress: called with (stage, done, all).
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    table = euclidean.neighbours(progress=progress)
    order = np.asarray(table.indices, dtype=np.int64)
    near = _float64_distances(lexicon.vectors, order)
    low, high = _normalisers(euclidean, near, strengths, progress)
    losses = []
    for log_sums in zip(strengths.tolist(), low, high, strict=True):
        losses.append(_Evaluation(lexicon, order, near, *log_sums).run())
        progress("certifying", len(losses), strengths.size)
    return losses


def _float64_distances(vectors: NDArray[np.float32], order: IntArray) -> FloatArray:
    """Return float64 distances of every word to the words of its row of the table.

    Those of the table have lost digits.
    """
    near = np.empty(order.shape)
    step = max(1, _GATHERED // (order.shape[1] * vectors.shape[1]))
    for start in range(0, len(order), step):
        rows = order[start : start + step]
        words = np.repeat(np.arange(start, start + len(rows)), rows.shape[1])
        distance = paired_distances(vectors[words], vectors[rows.ravel()])
        near[start : start + step] = distance.reshape(rows.shape)
    # The table is sorted by the same distances; another order of summation may swap equal ones.
    return np.maximum.accumulate(near, axis=1)


def _log_error(n: int, heads: int) -> float:
    """Bound the error of ln T, whose Z and partial sums were computed from distances.

    With weights w = e^−x the sum has a relative error of Σwδ/Σw where the exponents are off by δ ≤
    κx, and Σxw/Σw = H − ln Σw ≤ ln n, H the entropy of the weights, as Σw ≥ 1. Further there are
    the exponentials, n additions (fewer for the heads), and two logarithms and an exponential on
    the way from ln Z to ln T.
    """
    exponents = (RELATIVE_ERROR + 3.0 * UNIT) * math.log(n)
    sums = gamma(n + heads + 8.0) + 3.0 * ELEMENTARY
    return 1.01 * (exponents + sums) + 2.0 * ELEMENTARY * _DEEPEST


def _normalisers(
    lexicon: Lexicon, near: FloatArray, strengths: FloatArray, progress: Progress
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on ln Z, equal ones for a small vocabulary; shape (E, n) each."""
    if len(lexicon) >= _BOUNDED:
        gaps = near[:, 1] * (1.0 - distance_error(lexicon.dimension))
        bounds = normaliser_bounds(lexicon.vectors, gaps, strengths, progress)
        if bounds is not None:
            return bounds
    whole = np.full(strengths.size, np.inf)
    sums = log_normalisers(lexicon, Metric.EUCLIDEAN, strengths, whole, progress)
    return sums.logs, sums.logs


class _Evaluation:
    """Evaluation of one strength: bounds on ln T of the words around every word, worst pair."""

    def __init__(
        self,
        lexicon: Lexicon,
        order: IntArray,
        near: FloatArray,
        strength: float,
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        n, width = near.shape
        weights = candidate_weights(n)[:width]
        self.vectors, self.order, self.near, self.s = lexicon.vectors, order, near, strength
        self.heads = weights.size
        # More than the distances themselves: a product, a quotient, and the additions.
        self.rounded = distance_error(lexicon.dimension) + 8.0 * UNIT
        partial = np.cumsum(np.exp(-strength * near[:, : self.heads]), axis=1)
        self.few = np.cumsum((weights / partial)[:, ::-1], axis=1)[:, ::-1]
        self.settled = low == high
        # One more column: the words behind the heads, which all have the floor.
        self.low, self.high = (np.empty((n, self.heads + 1)) for _ in range(2))
        self._enter(np.arange(n), low, high)
        self.best, self.pair = 0.0, (0, 0, 0)

    def _enter(self, words: IntArray, low: FloatArray, high: FloatArray) -> None:
        """Store ln T from bounds on ln Z: the larger Z, the smaller T."""
        for table, logs in ((self.high, low), (self.low, high)):
            whole = whole_vocabulary_weight(len(self.near)) * np.exp(-logs)
            table[words, :-1] = np.log(self.few[words] + whole[:, None])
            table[words, -1] = np.log(whole)
            # Every loss uses these, and a comparison with NaN would skip its pair.
            largest(table[words, -1], "a normaliser")

    def _settle(self, words: IntArray) -> None:
        """Compute Z of these words in float64."""
        todo = np.unique(words[~self.settled[words]])
        for part in np.array_split(todo, max(1, -(-todo.size // _SETTLED))):
            if part.size:
                rows = distances(self.vectors, self.vectors[part])
                logs = np.log(np.exp(-self.s * rows).sum(axis=1))
                self._enter(part, logs, logs)
        self.settled[todo] = True

    def run(self) -> RepairedLoss:
        """Evaluate own outputs, then all outputs of pairs that could be worse, then far pairs.

        A pair is (w′, place of w in the row of w′), so that T around w′ is looked up by place.
        """
        width = self.near.shape[1]
        ranks = np.minimum(np.arange(1, width), self.heads)
        gap = self.near[:, 1:] * (1.0 - self.rounded)
        first = self.high[:, 0][self.order[:, 1:]]
        # At y = w the loss is s·d + ln T_1(w) − ln T_rank(w′): the largest of these gives a large ε
        # at once, below which most other pairs need no evaluation.
        losses = self.s + (first - self.low[:, ranks]) / gap
        worst = np.argpartition(-losses, min(_SETTLED, losses.size) - 1, axis=None)[:_SETTLED]
        others, places = np.divmod(worst, width - 1)
        self._compute(self.order[others, places + 1], others)
        # No output is worse than s·d + ln T_1(w) − ln τ(w′).
        bound = self.s + (first - self.low[:, -1:]) / gap
        others, places = np.nonzero(bound > self.best)
        words = self.order[others, places + 1]
        self._narrow(words, others)
        self._far()
        # The possible error of two logarithms of T weighs most between the nearest words.
        nearest = float(self.near[:, 1].min()) * (1.0 - self.rounded)
        slack = 2.0 * _log_error(len(self.near), self.heads)
        slack += _LEFT_OUT * float(np.exp(-self.low[:, -1].min()))
        certified = (self.best + slack / nearest) * (1.0 + 4.0 * self.rounded)
        word, far, output = self.pair
        return RepairedLoss(certified, word, far, output, int(words.size))

    def _narrow(self, words: IntArray, others: IntArray) -> None:
        """Bound these pairs at every output; compute those that could be worse, worst first."""
        # Where bounds were not needed, or lengths forbid them, float32 is not used at all.
        kind = np.float64 if self.settled.all() else np.float32
        values = self._losses(words, others, kind)[0]
        for turn in range(_ROUNDS):
            undecided = np.flatnonzero(values > self.best)
            if not undecided.size:
                return
            worst_first = undecided[np.argsort(-values[undecided], kind="stable")]
            chosen = worst_first[: _SETTLED << turn]
            self._compute(words[chosen], others[chosen])
            values[chosen] = 0.0
        worst, value = largest(values, _LOSS)  # so many are alike: its bound is nearly its loss
        self._offer(value, int(words[worst]), int(others[worst]), int(words[worst]))

    def _compute(self, words: IntArray, others: IntArray) -> None:
        """Compute the exact losses of a few pairs at every output."""
        self._settle(np.concatenate((words, others)))
        values, outputs = self._losses(words, others, np.float64)
        pair, value = largest(values, _LOSS)
        self._offer(value, int(words[pair]), int(others[pair]), int(outputs[pair]))

    def _offer(self, value: float, word: int, other: int, output: int) -> None:
        if value > self.best:
            self.best, self.pair = value, (word, other, output)

    def _losses(
        self, words: IntArray, others: IntArray, kind: type[np.floating[Any]]
    ) -> tuple[FloatArray, IntArray]:
        """Return the largest loss of each pair (w, w′) per distance, rounded up, and its output."""
        values, outputs = np.empty(words.size), np.empty(words.size, dtype=np.int64)
        for start in range(0, words.size, _PAIRS):
            part = slice(start, start + _PAIRS)
            values[part], outputs[part] = self._losses_of(words[part], others[part], kind)
        return values, outputs

    def _losses_of(
        self, words: IntArray, others: IntArray, kind: type[np.floating[Any]]
    ) -> tuple[FloatArray, IntArray]:
        """Return `_losses`, at every output around w; beyond, the loss is below that of `bound`.

        Behind the heads of w the numerator is the floor of w: there the loss is at most s·d + ln
        τ(w) − ln τ(w′), which belongs to plain softmax and is evaluated as well.
        """
        outputs = self.order[words, : self.heads]
        rows = self.vectors[words].astype(np.float64) - self.vectors[others]
        apart = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        steps = self.vectors[outputs.ravel()].astype(kind, copy=False).reshape(*outputs.shape, -1)
        steps -= self.vectors[others][:, None]
        away = np.sqrt(np.einsum("ijk,ijk->ij", steps, steps)).astype(np.float64)
        if kind is np.float32:  # rounded up, for a larger loss
            away = away * (1.0 + product_error(rows.shape[1])) + _UNDERFLOW
        away *= 1.0 + self.rounded
        # loss(y) = s·(D(w′, y) − D(w, y)) + ln T_i(w) − ln T_i′(w′), i and i′ the ranks of y. The
        # rank of an output around w′: the number of nearer ones; equals count, for a larger loss.
        # One that is no nearer than the last head may lie behind the heads, and gets the floor.
        reach = self.near[others, : self.heads] * (1.0 - self.rounded)
        ranks = (reach[:, None, :] <= away[:, :, None]).sum(axis=2) - 1
        ranks = np.where(outputs == others[:, None], 0, ranks + (ranks == self.heads - 1))
        # And around w, where equals do not count.
        close = self.near[words, : self.heads] * (1.0 - self.rounded)
        highest = self.high[words, : self.heads]
        upper = self.near[words, : self.heads] * (1.0 + self.rounded)
        first = (upper[:, None, :] < close[:, :, None]).sum(axis=2)
        loss = self.s * (away - close)
        loss += np.take_along_axis(highest, first, axis=1)
        loss -= np.take_along_axis(self.low[others], ranks, axis=1)
        plain = self.s * apart + self.high[words, -1] - self.low[others, -1]
        pair, worst = np.arange(words.size), loss.argmax(axis=1)
        most = loss[pair, worst]
        chosen = np.where(plain > most, words, outputs[pair, worst])
        return np.maximum(most, plain) / apart, chosen

    def _far(self) -> None:
        """Check pairs outside the table: by their bound at the last column, else row by row."""
        n, width = self.near.shape
        if width == n:
            return
        # Outside the table w is behind the heads of w′: there T is the floor of w′, and the loss at
        # y = w is s·d + ln T_1(w) − ln τ(w′), whose part per distance falls with d.
        last = self.near[:, -1] * (1.0 - self.rounded)
        bound = self.s + (self.high[:, 0].max() - self.low[:, -1]) / last
        for other in np.flatnonzero(bound > self.best).tolist():
            row = distances(self.vectors, self.vectors[[other]])[0]
            row[self.order[other]] = np.inf
            word, value = -1, 0.0
            for _ in range(_SETTLED):  # until the worst word of this row is known exactly
                values = self.s + (self.high[:, 0] - self.low[other, -1]) / row
                word, value = largest(values, _LOSS)
                if not value > self.best or self.settled[[word, other]].all():
                    break
                self._settle(np.array([word, other]))
            self._offer(value, word, other, word)


# -- normalisers of a large vocabulary -----------------------------------------------------------


def normaliser_bounds(
    vectors: NDArray[np.float32],
    gaps: FloatArray,
    strengths: FloatArray,
    progress: Progress = silent,
) -> tuple[FloatArray, FloatArray] | None:
    """Return bounds on ln Σ_y exp(−s·D(w, y)), Euclidean, at the speed of float32.

    Half of all distances come from float32 matrix products (D(w, y) = D(y, w)). With unit roundoff
    u = 2⁻²⁴ the computed square of a distance is off by at most

        e = ½·product_error(d + 4)·(‖a‖ + ‖b‖)²:

    the inner product enters twice, and 2‖a‖‖b‖ ≤ ½(‖a‖ + ‖b‖)²; two squared lengths and two
    additions add at most 4u(‖a‖ + ‖b‖)². A root divides that by D or more, so no exponent is off by
    more than s·e/D, and D is at least the distance of the nearest other word. The weight of a word
    for itself is 1, exactly, and is left out of the sums.

    Args:
        vectors: shape (n, d), float32.
        gaps: distance of the nearest other word of each, or a lower bound > 0, shape (n,).
        strengths: s > 0, shape (K,).
        progress: called with (stage, tiles done, all tiles).

    Returns:
        Lower and upper bounds, two arrays of shape (K, n); None if float32 squares could over- or
        underflow.
    """
    n, d = vectors.shape
    blocks = (rows.astype(np.float64) for rows in np.array_split(vectors, max(1, n // _TILE)))
    long = np.sqrt(np.concatenate([np.einsum("ij,ij->i", rows, rows) for rows in blocks]))
    if not SAFE_LENGTHS[0] < long.max() < SAFE_LENGTHS[1]:
        return None
    squares = (long**2).astype(np.float32)
    sums = np.zeros((strengths.size, n))
    edges = range(0, n, _TILE)
    count, done = len(edges) * (len(edges) + 1) // 2, 0
    for i in edges:
        rows = slice(i, min(i + _TILE, n))
        for j in range(i, n, _TILE):
            columns = slice(j, min(j + _TILE, n))
            apart = vectors[rows] @ vectors[columns].T
            apart *= np.float32(-2.0)
            apart += squares[rows, None]
            apart += squares[columns]
            np.sqrt(np.maximum(apart, 0.0, out=apart), out=apart)
            # Each pair once: a tile counts for its rows and, off the diagonal, for its columns.
            if i == j:
                np.fill_diagonal(apart, np.inf)  # the weight of a word for itself
            weights = np.empty_like(apart)
            for total, s in zip(sums, strengths.tolist(), strict=True):
                np.exp(np.multiply(apart, np.float32(-s), out=weights), out=weights)
                total[rows] += weights.sum(axis=1)
                if i != j:
                    total[columns] += weights.sum(axis=0)
            done += 1
            progress("normalising", done, count)
    # ‖b‖ is at most the largest length: the bound need not use that of each neighbour.
    error = 0.5 * product_error(d + 4) * (long + long.max()) ** 2 / gaps
    # Root, s in float32 and the product, each of an exponent that leaves a weight; then the
    # exponential itself and the sum over a tile.
    rounding = _VANISHED * 4.0 * _UNIT + _EXP_UNITS * _UNIT + product_error(_TILE)
    factor = np.exp(np.minimum(np.multiply.outer(strengths, error) + rounding, 600.0))
    high = np.minimum((sums + n * _TINY) * factor, n - 1.0)  # no weight is above 1
    return np.log1p(sums / factor), np.log1p(high)
