"""Samplers of the truncated Gumbel mechanisms for many documents: neighbours once a word.

Nearly every draw is among the few nearest words, which are cached; the rare draw over the whole
vocabulary is computed as in `sample`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.bulk import WordCache, first_words, settle
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.gumbel.algorithm import smallest_sums
from dpcore.noise.discrete import Words, is_decided, scaled
from dpcore.noise.poisson import truncated_poisson

if TYPE_CHECKING:
    from dpcore.mechanisms.gumbel.published import TruncatedGumbel
    from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired

_ROWS_BYTES = 16 * 2**20  # distances held at a time
_NEAR = 64  # cached nearest words; a Poisson count of ln n is hardly ever larger


class RepairedBulk:
    """Sampler by inversion of the closed form, with cached nearest words."""

    shared_laws = None

    def __init__(self, mechanism: TruncatedGumbelRepaired, epsilon: float) -> None:
        """Set up the law at this ε."""
        self._mechanism = mechanism
        self._epsilon, self._strength = epsilon, mechanism.strength(epsilon)
        self._kept: WordCache[tuple[IntArray, Words, np.uint64]] = WordCache(
            16 * mechanism.heads + 8
        )

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        if not words.size:
            return np.empty(0, dtype=np.int64)
        entries = self._mechanism.check_words(words)
        outputs, sure = np.empty(words.size, dtype=np.int64), np.empty(words.size, dtype=bool)
        distinct, places = by_word(entries)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        kept = self._kept.each(distinct, self._laws, step)
        for word, members, (order, steps, total) in zip(distinct, places, kept, strict=True):
            where = scaled(first[members], total)
            place = np.searchsorted(steps, where, side="right")
            near = np.minimum(place, order.size - 1)
            outputs[members], sure[members] = order[near], is_decided(where, steps[near])
            far = members[place >= order.size]
            if far.size:
                outputs[far], sure[far] = self._among_all(word, first[far])
        rows = self._mechanism.rows(self._epsilon)
        return settle(outputs, sure, rngs, first, entries, offsets, rows)

    def _laws(self, words: list[int]) -> Iterator[tuple[IntArray, Words, np.uint64]]:
        """Yield the nearest words, the cumulated units up to each, and the units of all."""
        vectors, heads = self._mechanism.lexicon.vectors, self._mechanism.heads
        for row in distances(vectors, vectors[words]):
            weights = self._mechanism.weights(row, self._strength)
            yield weights.outcomes[:heads].copy(), weights.steps[:heads].copy(), weights.steps[-1]

    def _among_all(self, word: int, first: Words) -> tuple[IntArray, NDArray[np.bool_]]:
        """Look up as `Weights.look_up` does, over the whole vocabulary."""
        vectors = self._mechanism.lexicon.vectors
        row = distances(vectors, vectors[[word]])[0]
        return self._mechanism.weights(row, self._strength).look_up(first)


class TruncatedGumbelBulk:
    """Sampler of the published mechanism: noisy distances of as many words as each draw has."""

    shared_laws = None

    def __init__(self, mechanism: TruncatedGumbel, epsilon: float) -> None:
        """Set up the noise at this ε."""
        self._mechanism = mechanism
        self._b = mechanism.noise_scale(epsilon)
        self._width = min(_NEAR, len(mechanism.lexicon))
        self._kept: WordCache[tuple[IntArray, FloatArray]] = WordCache(16 * self._width)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        if not words.size:
            return np.empty(0, dtype=np.int64)
        mechanism, n = self._mechanism, len(self._mechanism.lexicon)
        entries = mechanism.check_words(words)
        outputs = np.empty(words.size, dtype=np.int64)
        counts = np.empty(words.size, dtype=np.int64)
        uniform: list[FloatArray] = []
        # The numbers of each document in the order of `sample`: counts, noise of few candidates by
        # count, noise of whole vocabularies.
        for i, rng in enumerate(rngs):
            part = slice(int(offsets[i]), int(offsets[i + 1]))
            if part.start == part.stop:
                continue
            counts[part] = truncated_poisson(rng, part.stop - part.start, n)
            # In `sample` draws with fewer candidates come first, and within them the earlier one.
            uniform.append(rng.random(int(counts[part][counts[part] < n].sum())))
            whole = part.start + np.flatnonzero(counts[part] == n)
            if whole.size:
                outputs[whole] = mechanism.among_all(rng, entries[whole], self._b)
        few = np.flatnonzero(counts < n)
        if few.size:
            document = np.searchsorted(offsets, few, side="right")
            order = few[np.lexsort((few, counts[few], document))]
            outputs[order] = self._among_few(entries[order], counts[order], np.concatenate(uniform))
        return outputs

    def _among_few(self, words: IntArray, counts: IntArray, uniform: FloatArray) -> IntArray:
        """Return outputs of draws whose candidates' uniform numbers are consecutive."""
        self._widen(int(counts.max()))
        distinct, which = np.unique(words, return_inverse=True)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        neighbours = list(self._kept.each(distinct.tolist(), self._neighbours, step))
        near = (
            np.stack([order for order, _ in neighbours]),
            np.stack([row for _, row in neighbours]),
        )
        bound = self._mechanism.bound
        return smallest_sums(near, which, counts, uniform, [self._b], bound)[:, 0]

    def _widen(self, wanted: int) -> None:
        """Cache more neighbours from now on, if a draw has more candidates than before."""
        if wanted > self._width:
            self._width = wanted
            self._kept = WordCache(16 * wanted)

    def _neighbours(self, words: list[int]) -> Iterator[tuple[IntArray, FloatArray]]:
        order, row = self._mechanism.lexicon.nearest_words(np.array(words), self._width)
        yield from zip(order, row, strict=True)
