"""The true ε of the repaired truncated Gumbel mechanism over all pairs of a vocabulary.

Which outputs can be worst? With τ(w′) = π_n/Z_n(w′), the least that T can be, no output has a loss
above s·d + ln T_1(w) − ln τ(w′). Where w is not among the first few words around w′, that is
attained at y = w; those few are the m ≈ 50 that the counts K < n can tell apart. So with a table of
exact neighbours wider than m

* pairs within the table have their loss at y = w in closed form, which gives a large ε at once;
* the few of them whose bound exceeds that ε are evaluated at every output;
* a pair outside the table is as far apart as the last column at least, and its bound there is
  below that ε (if not, its row is computed).

Every logarithm is rounded towards a larger loss, and so is the rank of an output that is as far
from w′ as another word: the result is certified, and exact but for rounding unless there are such
ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.certificate import EPSILONS, Certificate, search
from dpcore.mechanisms.tem_loss import log_normalisers
from dpcore.noise.poisson import candidate_weights, whole_vocabulary_weight

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.all_pairs import FloatArray, IntArray

_SLACK = 1e-8  # on each logarithm: rounding of Z
_LEFT_OUT = 1e-18  # of the counts behind the heads, as `candidate_weights` has it
_ROUNDED = 2.0**-22  # relative error of a distance of the table (float32), and more
_PAIRS = 2_000  # evaluated at a time
_START = 24


@dataclass(frozen=True)
class RepairedLoss:
    """The largest loss per distance.

    Attributes:
        epsilon: certified: no pair and no output exceed it.
        word: of the worst pair, towards which its output points.
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
    """Strengths s = 1/b whose true ε lies just below each ε of the table.

    Args:
        lexicon: words and vectors; distances are Euclidean.
        progress: called with (stage, done, all); several rounds.
    """

    def evaluate(strengths: FloatArray) -> FloatArray:
        found = repaired_losses(lexicon, strengths, progress)
        return np.array([loss.epsilon for loss in found])

    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    first = min(0.01 / euclidean.extent.separation, 0.1)
    return search(evaluate, np.geomspace(first, EPSILONS[-1], _START))


def repaired_losses(
    lexicon: Lexicon, strengths: FloatArray, progress: Progress = silent
) -> list[RepairedLoss]:
    """The true ε at each s = 1/b, over all pairs of words and all outputs.

    Args:
        lexicon: words and vectors.
        strengths: s > 0, shape (E,).
        progress: called with (stage, done, all).
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    table = euclidean.neighbours(progress=progress)
    order = np.asarray(table.indices, dtype=np.int64)
    near = np.asarray(table.distances, dtype=np.float64)
    whole = np.full(strengths.size, np.inf)
    sums = log_normalisers(euclidean, Metric.EUCLIDEAN, strengths, whole, progress)
    found = []
    for done, (strength, logs) in enumerate(zip(strengths, sums.logs, strict=True), start=1):
        found.append(_Evaluation(lexicon, order, near, float(strength), logs).run())
        progress("certifying", done, strengths.size)
    return found


class _Evaluation:
    """One strength: ln T of the words around every word, and the search for the worst pair."""

    def __init__(
        self,
        lexicon: Lexicon,
        order: IntArray,
        near: FloatArray,
        strength: float,
        log_sums: FloatArray,
    ) -> None:
        n, width = near.shape
        weights = candidate_weights(n)[:width]
        self.vectors, self.order, self.near, self.s = lexicon.vectors, order, near, strength
        self.heads = weights.size
        whole = whole_vocabulary_weight(n) * np.exp(-log_sums)
        partial = np.cumsum(np.exp(-strength * near[:, : self.heads]), axis=1)
        tails = np.cumsum((weights / partial)[:, ::-1], axis=1)[:, ::-1] + whole[:, None]
        self.floor = np.log(whole)
        # One column more: the words behind the heads, which all have the floor.
        self.logs = np.concatenate((np.log(tails), self.floor[:, None]), axis=1)
        self.best, self.pair = 0.0, (0, 0, 0)

    def run(self) -> RepairedLoss:
        """Own outputs, then all outputs of the pairs that could be worse, then far pairs."""
        width = self.near.shape[1]
        columns = np.minimum(np.arange(1, width), self.heads)
        gap = self.near[:, 1:] * (1.0 - _ROUNDED)
        first = self.logs[:, 0]
        own = self.s + (first[self.order[:, 1:]] - self.logs[:, columns]) / gap
        other, column = np.unravel_index(int(own.argmax()), own.shape)
        self._offer(float(own[other, column]), int(self.order[other, column + 1]), int(other), -1)
        bound = self.s + (first[self.order[:, 1:]] - self.floor[:, None]) / gap
        others, places = np.nonzero(bound > self.best)
        words = self.order[others, places + 1]
        for start in range(0, words.size, _PAIRS):
            part = slice(start, start + _PAIRS)
            self._evaluate(words[part], others[part])
        self._far(first)
        nearest = float(self.near[:, 1].min())
        slack = 2.0 * _SLACK + _LEFT_OUT * float(np.exp(-self.floor.min()))
        certified = self.best + slack / nearest + 4.0 * _ROUNDED * self.best
        word, far, output = self.pair
        return RepairedLoss(certified, word, far, output, int(words.size))

    def _offer(self, value: float, word: int, other: int, output: int) -> None:
        if value > self.best:
            self.best, self.pair = value, (word, other, word if output < 0 else output)

    def _evaluate(self, words: IntArray, others: IntArray) -> None:
        """Pairs (w, w′) at every output around w; beyond, the loss is below that of `bound`.

        Behind the heads of w the numerator is the floor of w: there the loss is at most
        s·d + ln τ(w) − ln τ(w′), which belongs to plain softmax and is looked at as well.
        """
        outputs = self.order[words, : self.heads]
        rows = self.vectors[words].astype(np.float64) - self.vectors[others]
        apart = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        targets = self.vectors[outputs.ravel()].astype(np.float64).reshape(*outputs.shape, -1)
        difference = targets - self.vectors[others].astype(np.float64)[:, None]
        away = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
        # The rank of an output around w′: how many are nearer; equals count, for a larger loss.
        reach = self.near[others, : self.heads] * (1.0 - _ROUNDED)
        ranks = (reach[:, None, :] <= away[:, :, None]).sum(axis=2) - 1
        ranks = np.where(outputs == others[:, None], 0, ranks + (ranks == self.heads - 1))
        below = np.take_along_axis(self.logs[others], ranks, axis=1)
        loss = self.s * (away - self.near[words, : self.heads])
        loss += self.logs[words, : self.heads] - below
        values = loss / apart[:, None]
        at = np.unravel_index(int(values.argmax()), values.shape)
        pair = int(at[0])
        self._offer(float(values[at]), int(words[pair]), int(others[pair]), int(outputs[at]))
        plain = self.s + (self.floor[words] - self.floor[others]) / apart
        pair = int(plain.argmax())
        self._offer(float(plain[pair]), int(words[pair]), int(others[pair]), -1)

    def _far(self, first: FloatArray) -> None:
        """Pairs outside the table: their bound at the last column, else row by row."""
        n, width = self.near.shape
        if width == n:
            return
        last = self.near[:, -1] * (1.0 - _ROUNDED)
        doubtful = np.flatnonzero(self.s + (first.max() - self.floor) / last > self.best)
        for other in doubtful.tolist():
            row = distances(self.vectors, self.vectors[[other]])[0]
            row[self.order[other]] = np.inf
            values = self.s + (first - self.floor[other]) / row
            word = int(values.argmax())
            self._offer(float(values[word]), word, other, -1)
