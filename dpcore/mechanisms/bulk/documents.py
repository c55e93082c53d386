"""Many documents at once: the outputs of `Mechanism.sample`, document by document, in less time.

Every document has a generator of its own and draws from it exactly what `sample` draws, in the
same order; only what follows (searches, laws, neighbours) is done for all documents together, by
distinct word where the mechanism allows. So a document's output does not depend on the batch that
it is in, and repeated words get fresh independent noise for every occurrence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.mechanisms.mechanism import Mechanism

BATCH = 512
"""Noisy vectors that share one matrix product; it changes no result."""


class SharedLaws(Protocol):
    """What a sampler keeps of words, computed once for all processes that sample."""

    @property
    def row_bytes(self) -> int:
        """Memory for what is kept of a word."""

    def ends_of(self, words: Sequence[int]) -> FloatArray:
        """What is kept of words."""

    def use(self, known: Sequence[FloatArray], step: int) -> None:
        """Take what `ends_of` gave for the words 0 to step − 1, step to 2·step − 1, and so on."""


class Bulk(Protocol):
    """Outputs for the words of many documents."""

    @property
    def shared_laws(self) -> SharedLaws | None:
        """What can be computed once for all processes; None if there is nothing."""

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """One output per word.

        Args:
            rngs: one generator a document.
            words: word indices of all documents in a row, shape (k,).
            offsets: document i has words[offsets[i]:offsets[i + 1]]; one entry more than `rngs`.

        Returns:
            Shape (k,): for each document what `Mechanism.sample` gives with its generator.
        """


def bulk(mechanism: Mechanism, epsilon: float, index: NeighbourIndex | None = None) -> Bulk:
    """The way of a mechanism at one ε.

    Args:
        mechanism: what to sample.
        epsilon: ε.
        index: an index to search with, as for `Mechanism.sample`; without one the search is exact.

    Raises:
        EpsilonError: as `Mechanism.check_epsilon`.
        ParameterError: the mechanism's guarantee forbids this index.
    """
    mechanism.check_epsilon(epsilon)
    mechanism.check_index(index)
    return mechanism.bulk(epsilon) if index is None else OneByOne(mechanism, epsilon, index)


class OneByOne:
    """`Mechanism.sample` for each document: the plain way."""

    shared_laws = None

    def __init__(
        self, mechanism: Mechanism, epsilon: float, index: NeighbourIndex | None = None
    ) -> None:
        """Remember what to sample."""
        self._mechanism, self._epsilon, self._index = mechanism, epsilon, index

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `Bulk`."""
        outputs = np.empty(words.size, dtype=np.int64)
        for i, rng in enumerate(rngs):
            part = slice(int(offsets[i]), int(offsets[i + 1]))
            if part.stop > part.start:
                outputs[part] = self._mechanism.sample(
                    rng, words[part], self._epsilon, index=self._index
                )
        return outputs
