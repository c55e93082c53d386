"""Sampler for many documents by weights of distances, such as TEM's, in two inversion steps.

Of a word's cumulated units (`dpcore.noise.discrete`) only every 64th or so is kept, so that the
laws of a whole vocabulary fit into a bounded memory. A draw falls between two of them, and the
units between are computed for it.

All these units come from distances of `near_distances`, which are fast and not exact to the last
bit, in float64. The difference between a sum of them and the whole number in `sample` is bounded; a
draw that is not that far inside its outcome, about one in a hundred thousand, is drawn as in
`sample`, from the same digits. So outputs are those of `sample` to the bit.

The bound. Let a computed exponent x be off by ρx. A weight e^−x·a, a ≤ 1, with x > K·ln 2 + 1 has
one unit, computed in either way; any other is off by a factor e^±τ at most, with τ = ρ·(K·ln 2 + 1)
and a few roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import ELEMENTARY, Metric, distance_error, gamma
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk import WordCache, first_words, settle
from dpcore.mechanisms.distances import by_word, near_distances
from dpcore.noise.discrete import WORD_BITS, Rows, shift

if TYPE_CHECKING:
    from dpcore.mechanisms.exponential.tem import TruncatedExponential


_TOLERANCE = 1e-12  # relative error of a distance; a lower one needs more sums of squares
_TOGETHER = 256  # words whose distances are one product
_KEPT_TOGETHER = 4096  # words whose missing data are computed in one batch
_TILE = 512  # outputs of such a product, about: it stays in the cache of the processor

Weigher = Callable[["FloatArray", "slice | IntArray"], "FloatArray"]
"""Map from distances of words to some outputs, shape (k, m), to weights, each <= 1.

The result is a new array.
"""


class WeightedMechanism(Protocol):
    """Mechanism whose weights are functions of a distance and of the output."""

    @property
    def lexicon(self) -> Lexicon:
        """Words and vectors."""

    @property
    def metric(self) -> str:
        """Metric of the distances."""

    def weigher(self, epsilon: float) -> Weigher:
        """Return the weights at ε."""

    def rows(self, epsilon: float) -> Rows:
        """Return the same weights, of all outputs, for each distinct entry."""

    def check_words(self, words: IntArray) -> IntArray:
        """Check that indices are inside the vocabulary, and return them."""


class TemBulk:
    """Sampler that finds the block of words of a draw, then the word in it."""

    def __init__(
        self, mechanism: WeightedMechanism, epsilon: float, reach: float = math.inf
    ) -> None:
        """Set up the law at this ε.

        Args:
            mechanism: mechanism to sample from.
            epsilon: ε.
            reach: Euclidean distance from which on all outputs have one weight, which is the
                least; inf if there is none.
        """
        self._mechanism, self._reach = mechanism, reach
        self._epsilon, self._weigh = epsilon, mechanism.weigher(epsilon)
        self._metric = Metric.parse(mechanism.metric)
        n, d = len(mechanism.lexicon), mechanism.lexicon.dimension
        k = shift(n)
        # About √n/2: both the cached data of a word and the recomputed part of a draw are small.
        self._block = min(n, max(64, math.isqrt(n) // 2))
        self._whole = 2.0**k
        deepest = k * math.log(2.0) + 1.0
        apart = _TOLERANCE + distance_error(d) if self._metric is Metric.EUCLIDEAN else 0.0
        self._tau = (apart + gamma(8.0)) * deepest + 2.0 * (ELEMENTARY + gamma(4.0))
        self._kept: WordCache[FloatArray] = WordCache(self.row_bytes)
        self._known: tuple[Sequence[FloatArray], int] = ((), 1)

    @property
    def shared_laws(self) -> TemBulk:
        """This sampler: the cached data of a word are the same for every process."""
        return self

    @property
    def row_bytes(self) -> int:
        """Memory for the cached data of a word."""
        return 8 * (-(-len(self._mechanism.lexicon) // self._block) + 1)

    def ends_of(self, words: Sequence[int]) -> FloatArray:
        """Return the data of words, computed once for many samplers: see `use`."""
        return np.stack(list(self._ends(list(words))))

    def use(self, known: Sequence[FloatArray], step: int) -> None:
        """Store what `ends_of` returned for words 0 to step − 1, step to 2·step − 1, and so on."""
        self._known = known, step

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        if not words.size:
            return np.empty(0, dtype=np.int64)
        entries = self._mechanism.check_words(words)
        # Step one: by the cached ends, the block with the unit of a first digit word.
        share = np.ldexp(first.astype(np.float64), -WORD_BITS)
        target, before, slack = (np.empty(words.size) for _ in range(3))
        block = np.empty(words.size, dtype=np.int64)
        distinct, which, counts = np.unique(entries, return_inverse=True, return_counts=True)
        order = np.argsort(which, kind="stable")
        stops = np.cumsum(counts)
        rows_of = self._kept.each(distinct.tolist(), self._ends, _KEPT_TOGETHER)
        for start in range(0, distinct.size, _TOGETHER):
            known = np.stack(list(islice(rows_of, _TOGETHER)))
            ends, total, error = known[:, :-1], known[:, -2], known[:, -1]
            members = order[stops[start] - counts[start] : stops[start + len(known) - 1]]
            row = which[members] - start
            # One search for all: the share of a word's units up to each end, one word after the
            # other. The lost precision is handled in step two.
            ladder = ends / total[:, None] + np.arange(len(known))[:, None]
            place = np.searchsorted(ladder.reshape(-1), share[members] + row, side="right")
            number = np.minimum(place - row * ends.shape[1], ends.shape[1] - 1)
            target[members], block[members] = share[members] * total[row], number
            before[members] = np.where(number > 0, ends[row, number - 1], 0.0)
            # Target and end of the block before, then the sum in the block; 4 is for the two units
            # that digits leave open, and for whole numbers.
            inside = (math.expm1(self._tau) + gamma(self._block + 8.0)) * total + self._block + 4.0
            slack[members] = (2.0 * error + 1.001 * inside)[row]
        outputs, sure = self._inside(entries, block, target, before, slack)
        rows = self._mechanism.rows(self._epsilon)
        near = np.flatnonzero(~sure)
        for members, weights in rows(entries[near]) if near.size else ():
            outputs[near[members]], sure[near[members]] = weights.look_up(first[near[members]])
        return settle(outputs, sure, rngs, first, entries, offsets, rows)

    def _weights(self, words: FloatArray, begin: int, stop: int) -> FloatArray:
        """Return 2^K·w of consecutive outputs for words with these vectors, shape (k, m).

        Not exact to the last bit; at least ½, so that it rounds up to a unit.
        """
        right = self._mechanism.lexicon.vectors[begin:stop]
        apart = near_distances(words, right, self._metric, _TOLERANCE)
        return self._scaled(self._weigh(apart, slice(begin, stop)))

    def _scaled(self, weights: FloatArray) -> FloatArray:
        weights *= self._whole
        return np.maximum(weights, 0.5, out=weights)

    def _ends(self, words: list[int]) -> Iterator[FloatArray]:
        """Yield the cumulated units at the end of every block, and how far they may be off.

        Yields:
            For each word, shape (blocks + 1,).
        """
        known, step = self._known
        if known:
            yield from (known[word // step][word % step] for word in words)
            return
        for start in range(0, len(words), _TOGETHER):
            yield from self._computed(words[start : start + _TOGETHER])

    def _computed(self, words: list[int]) -> FloatArray:
        """Return the values of `_ends`, shape (k, blocks + 1)."""
        blocks = -(-len(self._mechanism.lexicon) // self._block)
        low, high = np.empty((2, len(words), blocks))
        near = None
        if self._reach < math.inf:
            near = self._mechanism.lexicon.words_within(np.array(words), self._reach)
        if near is None:
            self._count(words, low, high)
        else:
            self._count_near(near, low, high)
        low, high = np.cumsum(low, axis=1), np.cumsum(high, axis=1)
        # The sums themselves are rounded (Higham 2002, 4.4).
        error = 0.5 * (high - low)[:, -1:] + gamma(self._block + blocks + 4.0) * high[:, -1:]
        return np.concatenate((0.5 * (low + high), error), axis=1)

    def _count_near(
        self, near: list[tuple[IntArray, FloatArray]], low: FloatArray, high: FloatArray
    ) -> None:
        """Write bounds of the units of each block, where all but a few outputs weigh the same."""
        starts = np.arange(0, len(self._mechanism.lexicon), self._block)
        sizes = np.diff(starts, append=len(self._mechanism.lexicon)).astype(np.float64)
        beyond = self._scaled(self._weigh(np.array([[math.inf]]), slice(1)))[0, 0]
        for i, (inside, apart) in enumerate(near):
            weights = self._scaled(self._weigh(apart[None], inside))[0]
            for sums, factor in ((low, math.exp(-self._tau)), (high, math.exp(self._tau))):
                least = math.ceil(beyond * factor)
                more = np.ceil(weights * factor) - least
                sums[i] = least * sizes + np.bincount(
                    inside // self._block, weights=more, minlength=sizes.size
                )

    def _count(self, words: list[int], low: FloatArray, high: FloatArray) -> None:
        """Write bounds of the units of each block, from the weights of all outputs."""
        n = len(self._mechanism.lexicon)
        vectors = self._mechanism.lexicon.vectors[words].astype(np.float64)
        tile = self._block * max(1, _TILE // self._block)
        for begin in range(0, n, tile):
            stop = min(begin + tile, n)
            weights = self._weights(vectors, begin, stop)
            whole = np.empty_like(weights)
            starts = np.arange(0, stop - begin, self._block)
            first = begin // self._block
            for sums, tau in ((low, -self._tau), (high, self._tau)):
                np.multiply(weights, math.exp(tau), out=whole)
                np.ceil(whole, out=whole)
                sums[:, first : first + starts.size] = np.add.reduceat(whole, starts, axis=1)

    def _inside(
        self,
        entries: IntArray,
        block: IntArray,
        target: FloatArray,
        before: FloatArray,
        slack: FloatArray,
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the word of a block, cumulating units from the end of the block before.

        Draws of one word in one block share them.

        Args:
            entries: input word of each draw, shape (k,).
            block: number of its block.
            target: unit that it falls into.
            before: cumulated units at the end of the block before.
            slack: bound on the error of the difference of two such sums.

        Returns:
            Output words, and True where the word is proved, shape (k,) each.
        """
        n, vectors = len(self._mechanism.lexicon), self._mechanism.lexicon.vectors
        # Block after block, since the words of a block are a slice of the vectors.
        pairs, first, which = np.unique(
            block * np.int64(n) + entries, return_index=True, return_inverse=True
        )
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(pairs.size + 1))
        blocks, words = np.divmod(pairs, n)
        outputs = np.empty(entries.size, dtype=np.int64)
        sure = np.empty(entries.size, dtype=bool)
        for number in np.unique(blocks).tolist():
            low, high = np.searchsorted(blocks, (number, number + 1)).tolist()
            begin = number * self._block
            steps = np.empty((high - low, min(self._block, n - begin) + 1))
            steps[:, 0] = before[first[low:high]]
            weights = self._weights(
                vectors[words[low:high]].astype(np.float64), begin, begin + steps.shape[1] - 1
            )
            np.ceil(weights, out=steps[:, 1:])
            np.cumsum(steps, axis=1, out=steps)
            members = order[ends[low] : ends[high]]
            row, aim = which[members] - low, target[members]
            passed = (steps[row, 1:-1] <= aim[:, None]).sum(axis=1)
            outputs[members] = begin + passed
            gap = np.minimum(aim - steps[row, passed], steps[row, passed + 1] - aim)
            sure[members] = gap > slack[members]
        return outputs, sure


# TEM at several ε from one uniform number a word: float32 distances, one product for many words.
#
# For experiments; called by `dpcore.mechanisms.bulk`. A distance is accurate to about 1e-5, so a
# draw at the very edge of two words may fall on the other one. Releases come from
# `Mechanism.sample`.


_TOGETHER_SWEEP_TEM = 64  # distinct words whose distances are one product
_BLOCK = 128  # words whose weights are added up before a draw is placed among them


def outputs_by_distance(
    mechanism: TruncatedExponential,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress = silent,
) -> IntArray:
    """Invert exp(−min(ε·D/2, c)), first to a block of words and then to a word of it.

    Args:
        mechanism: with the Euclidean metric.
        rng: one uniform number an entry.
        entries: word indices, shape (k,).
        epsilons: shape (E,).
        progress: called with (stage, done, total) in distinct words.

    Returns:
        Word indices, shape (k, E).
    """
    uniform = rng.random(entries.size)
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    distinct, places = by_word(entries)
    rates = [np.float32(-0.5 * mechanism.nominal(float(value))) for value in epsilons]
    lowest, n = np.float32(-mechanism.cap), len(mechanism.lexicon)
    vectors = mechanism.lexicon.vectors
    squares = np.einsum("ij,ij->i", vectors, vectors)
    weights = np.zeros((-(-n // _BLOCK), _BLOCK), dtype=np.float32)
    flat = weights.reshape(-1)[:n]
    for start in range(0, len(distinct), _TOGETHER_SWEEP_TEM):
        rows = euclidean(vectors, squares, np.array(distinct[start : start + _TOGETHER_SWEEP_TEM]))
        for members, row in zip(places[start : start + _TOGETHER_SWEEP_TEM], rows, strict=True):
            for e, rate in enumerate(rates):
                np.multiply(row, rate, out=flat)
                np.maximum(flat, lowest, out=flat)
                np.exp(flat, out=flat)
                outputs[members, e] = _placed(weights, uniform[members], n)
        progress(mechanism.short, min(start + _TOGETHER_SWEEP_TEM, len(distinct)), len(distinct))
    return outputs


def euclidean(vectors: Float32Array, squares: Float32Array, words: IntArray) -> Float32Array:
    """Return distances of words to all, shape (k, n), float32; to the word itself exactly 0.

    Args:
        vectors: of all words, shape (n, d).
        squares: their squared norms, shape (n,).
        words: indices, shape (k,).
    """
    rows = vectors[words] @ vectors.T
    rows *= -2.0
    rows += squares
    rows += squares[words][:, None]
    np.maximum(rows, 0.0, out=rows)
    np.sqrt(rows, out=rows)
    rows[np.arange(words.size), words] = 0.0
    return np.asarray(rows)


def _placed(weights: Float32Array, uniform: FloatArray, n: int) -> IntArray:
    """Return the words at these shares of the total weight; `weights` in blocks, zero beyond n."""
    ends = np.cumsum(weights.sum(axis=1), dtype=np.float64)
    aim = uniform * ends[-1]
    # A product that rounds up to the last step must not leave the vocabulary.
    block = np.minimum(np.searchsorted(ends, aim, side="right"), ends.size - 1)
    before = np.where(block > 0, ends[block - 1], 0.0)
    inner = np.cumsum(weights[block], axis=1, dtype=np.float64)
    passed = (inner <= (aim - before)[:, None]).sum(axis=1)
    return np.asarray(np.minimum(block * _BLOCK + np.minimum(passed, _BLOCK - 1), n - 1))
