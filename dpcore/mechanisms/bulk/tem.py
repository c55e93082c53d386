"""Weights of distances, such as those of TEM, for many documents at once: inversion in two steps.

Of a word's cumulated units (`dpcore.noise.discrete`) only every 64th or so is kept, so that the
laws of a whole vocabulary fit into a bounded memory. A draw falls between two of them; the units
between are computed again, by the same operations, and whole numbers add up alike in any order: so
outputs are those of `sample` to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.bulk.kept import Kept, first_words, settle
from dpcore.mechanisms.distance_blocks import by_word
from dpcore.noise.discrete import decided, scaled, shift, units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.noise.discrete import Rows, Words

_ROWS_BYTES = 16 * 2**20  # of distances held at a time

Weigher = Callable[["FloatArray", slice], "FloatArray"]
"""From distances of some words to outputs in a row, shape (k, m), to their weights, each <= 1."""


class Weighed(Protocol):
    """A mechanism whose weights are functions of a distance and of the output."""

    @property
    def lexicon(self) -> Lexicon:
        """Words and vectors."""

    @property
    def metric(self) -> str:
        """Of the distances."""

    def weigher(self, epsilon: float) -> Weigher:
        """The weights at ε."""

    def rows(self, epsilon: float) -> Rows:
        """The same weights, of all outputs, for each distinct entry."""

    def check_words(self, words: IntArray) -> IntArray:
        """Indices inside the vocabulary."""


class TemBulk:
    """First the block of words in which a draw falls, then the word in it."""

    def __init__(self, mechanism: Weighed, epsilon: float) -> None:
        """Fix the law at this ε."""
        self._mechanism = mechanism
        self._epsilon, self._weigh = epsilon, mechanism.weigher(epsilon)
        self._metric = Metric.parse(mechanism.metric)
        n = len(mechanism.lexicon)
        self._shift = shift(n)
        # About √n/2: what is kept of a word and what is computed again for a draw are both small.
        self._block = min(n, max(64, math.isqrt(n) // 2))
        self._kept: Kept[Words] = Kept(self.row_bytes)
        self._known: tuple[Sequence[Words], int] = ((), 1)

    @property
    def shared_laws(self) -> TemBulk:
        """Itself: what is kept of a word is the same for every process."""
        return self

    @property
    def row_bytes(self) -> int:
        """Memory for what is kept of a word."""
        return 8 * (len(self._mechanism.lexicon) // self._block + 1)

    def ends_of(self, words: Sequence[int]) -> Words:
        """What is kept of words, to be computed once and used by many: see `use`."""
        return np.stack(list(self._ends(list(words))))

    def use(self, known: Sequence[Words], step: int) -> None:
        """Take what `ends_of` gave for the words 0 to step − 1, step to 2·step − 1, and so on."""
        self._known = known, step

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.documents.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        if not words.size:
            return np.empty(0, dtype=np.int64)
        entries = self._mechanism.check_words(words)
        # Step one: by the kept ends, the block in which the unit lies that a first word leads to.
        target, before = np.empty_like(first), np.empty_like(first)
        block = np.empty(words.size, dtype=np.int64)
        distinct, places = by_word(entries)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        for ends, members in zip(self._kept.each(distinct, self._ends, step), places, strict=True):
            where = scaled(first[members], ends[-1])
            numbers = np.searchsorted(ends, where, side="right")
            target[members], block[members] = where, numbers
            before[members] = np.where(numbers > 0, ends[numbers - 1], 0)
        outputs, sure = self._inside(entries, block, target, before)
        rows = self._mechanism.rows(self._epsilon)
        return settle(outputs, sure, rngs, first, entries, offsets, rows)

    def _units(self, begin: int, stop: int, words: list[int] | IntArray) -> Words:
        """Units of some outputs in a row for some words, shape (k, m)."""
        vectors = self._mechanism.lexicon.vectors
        row = distances(vectors[begin:stop], vectors[words], self._metric)
        return units(self._weigh(row, slice(begin, stop)), self._shift)

    def _ends(self, words: list[int]) -> Iterator[Words]:
        """The cumulated units at the end of every block, for each word."""
        known, step = self._known
        if known:
            yield from (known[word // step][word % step] for word in words)
            return
        n = len(self._mechanism.lexicon)
        ends = np.append(np.arange(self._block - 1, n - 1, self._block), n - 1)
        for row in self._units(0, n, words):
            yield np.cumsum(row, dtype=np.uint64)[ends]

    def _inside(
        self, entries: IntArray, block: IntArray, target: Words, before: Words
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """The word of a block: units are cumulated on from the end of the block before.

        Draws of one word in one block share them.

        Args:
            entries: input word of each draw, shape (k,).
            block: number of its block.
            target: unit that it falls into.
            before: cumulated units at the end of the block before.

        Returns:
            Output words, and whether the digits that were drawn decide for them, shape (k,) each.
        """
        n = len(self._mechanism.lexicon)
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
            steps = self._units(begin, min(begin + self._block, n), words[low:high])
            steps[:, 0] += before[first[low:high]]
            np.cumsum(steps, axis=1, out=steps)
            members = order[ends[low] : ends[high]]
            of_draw = steps[which[members] - low]
            passed = (of_draw <= target[members, None]).sum(axis=1)
            outputs[members] = begin + passed
            last = np.take_along_axis(of_draw, passed[:, None], axis=1)[:, 0]
            sure[members] = decided(target[members], last)
        return outputs, sure
