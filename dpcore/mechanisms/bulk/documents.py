"""Many documents at once: the outputs of `Mechanism.sample`, document by document, in less time.

Every document has a generator of its own and draws from it exactly what `sample` draws, in the
same order; only what follows (searches, laws, neighbours) is done for all documents together, by
distinct word where the mechanism allows. So a document's output does not depend on the batch that
it is in, and repeated words get fresh independent noise for every occurrence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.bulk.gumbel import RepairedBulk, TruncatedGumbelBulk
from dpcore.mechanisms.bulk.tem import TemBulk
from dpcore.mechanisms.clipped.trlaplace import TruncatedLaplaceMechanism
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.mechanism import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.mechanisms.law import FloatArray, IntArray
    from dpcore.mechanisms.mechanism import Mechanism

_POOLED = 4_096  # noisy vectors that share a search: 10 MB at 300 dimensions


class Bulk(Protocol):
    """Outputs for the words of many documents."""

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
    if index is None and isinstance(mechanism, TruncatedExponential):
        return TemBulk(mechanism, epsilon)
    if index is None and isinstance(mechanism, TruncatedGumbelRepaired):
        return RepairedBulk(mechanism, epsilon)
    if index is None and isinstance(mechanism, TruncatedGumbel):
        return TruncatedGumbelBulk(mechanism, epsilon)
    if index is None and isinstance(mechanism, RadialMechanism | TruncatedLaplaceMechanism):
        return NoisyBulk(mechanism, epsilon)
    return OneByOne(mechanism, epsilon, index)


class OneByOne:
    """`Mechanism.sample` for each document: the plain way."""

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


class NoisyBulk:
    """Noise for each document from its own generator, one search for many documents."""

    def __init__(
        self, mechanism: RadialMechanism | TruncatedLaplaceMechanism, epsilon: float
    ) -> None:
        """Compute the noise at this ε."""
        self._mechanism = mechanism
        if isinstance(mechanism, RadialMechanism):
            self._scale = mechanism.scale(mechanism.check_epsilon(epsilon))
        else:
            self._truncation = mechanism.truncation(mechanism.check_epsilon(epsilon))

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `Bulk`."""
        words = self._mechanism.check_words(words) if words.size else words
        outputs = np.empty(words.size, dtype=np.int64)
        waiting: list[tuple[FloatArray, FloatArray]] = []
        first = done = 0
        for noisy, coins in self._drawn(rngs, words, offsets):
            waiting.append((noisy, coins))
            done += len(noisy)
            if done - first >= _POOLED:
                outputs[first:done] = self._choose(waiting)
                waiting, first = [], done
        if waiting:
            outputs[first:done] = self._choose(waiting)
        return outputs

    def _drawn(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Noisy vectors and coins, drawn as `sample` draws them: at most `BATCH` at a time."""
        for i, rng in enumerate(rngs):
            stop = int(offsets[i + 1])
            for start in range(int(offsets[i]), stop, BATCH):
                part = words[start : min(start + BATCH, stop)]
                if isinstance(self._mechanism, RadialMechanism):
                    noisy = self._mechanism.noisy(rng, part, self._scale)
                    yield noisy, self._mechanism.coins(rng, part.size)
                else:
                    yield self._mechanism.noisy(rng, part, self._truncation), np.empty(0)

    def _choose(self, waiting: list[tuple[FloatArray, FloatArray]]) -> IntArray:
        noisy = np.concatenate([one for one, _ in waiting])
        if isinstance(self._mechanism, RadialMechanism):
            coins = np.concatenate([two for _, two in waiting])
            return self._mechanism.choose(coins, noisy, None)
        return self._mechanism.choose(noisy, None)
