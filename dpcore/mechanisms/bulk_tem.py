"""TEM for many documents at once: inversion in two steps.

Of a word's cumulated law only every 64th step or so is kept, so that the laws of a whole vocabulary
fit into a bounded memory. A draw falls between two of them; the steps between are computed again,
by the same operations in the same order, so that outputs are those of `sample` to the bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.bulk_kept import Kept, by_word, uniforms
from dpcore.mechanisms.tem_law import capped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.mechanisms.law import FloatArray, IntArray
    from dpcore.mechanisms.tem import TruncatedExponential

_ROWS_BYTES = 16 * 2**20  # of distances held at a time


class TemBulk:
    """First the block of words in which a draw falls, then the word in it."""

    def __init__(self, mechanism: TruncatedExponential, epsilon: float) -> None:
        """Fix the law at this ε."""
        self._mechanism = mechanism
        self._epsilon = np.array([mechanism.nominal(epsilon)])
        self._metric = Metric.parse(mechanism.metric)
        n = len(mechanism.lexicon)
        # About √n/2: what is kept of a word and what is computed again for a draw are both small.
        self._block = min(n, max(64, math.isqrt(n) // 2))
        self._kept: Kept[FloatArray] = Kept(self.row_bytes)
        self._known: tuple[Sequence[FloatArray], int] = ((), 1)

    @property
    def row_bytes(self) -> int:
        """Memory for what is kept of a word."""
        return 8 * (len(self._mechanism.lexicon) // self._block + 1)

    def ends_of(self, words: Sequence[int]) -> FloatArray:
        """What is kept of words, to be computed once and used by many: see `use`."""
        return np.stack(list(self._ends(list(words))))

    def use(self, known: Sequence[FloatArray], step: int) -> None:
        """Take what `ends_of` gave for the words 0 to step − 1, step to 2·step − 1, and so on."""
        self._known = known, step

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        uniform = uniforms(rngs, np.diff(offsets))
        if not words.size:
            return np.empty(0, dtype=np.int64)
        entries = self._mechanism.check_words(words)
        target, before = np.empty(words.size), np.empty(words.size)
        block = np.empty(words.size, dtype=np.int64)
        distinct, places = by_word(entries)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        for steps, members in zip(self._kept.each(distinct, self._ends, step), places, strict=True):
            aim = uniform[members] * steps[-1]
            # A product that rounds up to the last step must not leave the vocabulary.
            found = np.minimum(np.searchsorted(steps, aim, side="right"), steps.size - 1)
            target[members], block[members] = aim, found
            before[members] = np.where(found > 0, steps[found - 1], 0.0)
        return self._inside(entries, block, target, before)

    def _weights(self, begin: int, stop: int, words: list[int] | IntArray) -> FloatArray:
        """Unnormalised probabilities of some outputs in a row for some words, shape (k, m)."""
        vectors = self._mechanism.lexicon.vectors
        rows = distances(vectors[begin:stop], vectors[words], self._metric)
        return np.asarray(np.exp(capped(rows, self._epsilon, self._mechanism.cap)[0]))

    def _ends(self, words: list[int]) -> Iterator[FloatArray]:
        """The cumulated weight at the end of every block, for each word."""
        known, step = self._known
        if known:
            yield from (known[word // step][word % step] for word in words)
            return
        n = len(self._mechanism.lexicon)
        ends = np.append(np.arange(self._block - 1, n - 1, self._block), n - 1)
        for row in self._weights(0, n, words):
            yield np.cumsum(row)[ends]

    def _inside(
        self, entries: IntArray, block: IntArray, target: FloatArray, before: FloatArray
    ) -> IntArray:
        """The word of a block: the steps are cumulated on from the end of the block before.

        Draws of one word in one block share them.

        Args:
            entries: input word of each draw, shape (k,).
            block: number of its block.
            target: cumulated weight that it reaches.
            before: cumulated weight at the end of the block before.
        """
        n = len(self._mechanism.lexicon)
        pairs, first, which = np.unique(
            block * np.int64(n) + entries, return_index=True, return_inverse=True
        )
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(pairs.size + 1))
        blocks, words = np.divmod(pairs, n)
        outputs = np.empty(entries.size, dtype=np.int64)
        for number in np.unique(blocks).tolist():
            low, high = np.searchsorted(blocks, (number, number + 1)).tolist()
            begin = number * self._block
            weights = self._weights(begin, min(begin + self._block, n), words[low:high])
            start = before[first[low:high], None]
            steps = np.cumsum(np.concatenate((start, weights), axis=1), axis=1)[:, 1:]
            members = order[ends[low] : ends[high]]
            passed = (steps[which[members] - low] <= target[members, None]).sum(axis=1)
            outputs[members] = np.minimum(begin + passed, n - 1)
        return outputs
