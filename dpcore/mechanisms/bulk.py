"""Samplers for many documents, with the outputs of `Mechanism.sample`, and for several ε.

Every document has its own generator and draws from it exactly the numbers that `sample` draws, in
the same order; only the rest (searches, laws, neighbours) is done for all documents together, by
distinct word where the mechanism allows. So a document's output does not depend on its batch, and
every occurrence of a repeated word gets fresh independent noise.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.neighbours import NeighbourIndex, rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.distances import by_word
from dpcore.noise.discrete import Digits, Rows, Words, draws, random_words

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


BATCH = 512
"""Noisy vectors that share one matrix product; the value changes no result."""


class SharedLaws(Protocol):
    """Data of a sampler about words, computed once for all processes that sample."""

    @property
    def row_bytes(self) -> int:
        """Memory for the data of one word."""

    def ends_of(self, words: Sequence[int]) -> FloatArray:
        """Return the data of words."""

    def use(self, known: Sequence[FloatArray], step: int) -> None:
        """Store what `ends_of` returned for words 0 to step − 1, step to 2·step − 1, and so on."""


class Bulk(Protocol):
    """Sampler of outputs for the words of many documents."""

    @property
    def shared_laws(self) -> SharedLaws | None:
        """Data that can be computed once for all processes; None if there is none."""

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """Draw one output per word.

        Args:
            rngs: one generator a document.
            words: word indices of all documents in a row, shape (k,).
            offsets: document i has words[offsets[i]:offsets[i + 1]]; one entry more than `rngs`.

        Returns:
            Shape (k,): for each document the outputs of `Mechanism.sample` with its generator.
        """


def bulk(mechanism: Mechanism, epsilon: float, index: NeighbourIndex | None = None) -> Bulk:
    """Return the sampler of a mechanism at one ε.

    Args:
        mechanism: the mechanism to sample from.
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
    """Sampler that calls `Mechanism.sample` for each document."""

    shared_laws = None

    def __init__(
        self, mechanism: Mechanism, epsilon: float, index: NeighbourIndex | None = None
    ) -> None:
        """Store the mechanism, ε and the index."""
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


# Shared by the bulk samplers: a bounded memory, random digits by document, the rare draws.


KEPT_BYTES = 256 * 2**20
"""Memory for cached data of words, in one process."""

T = TypeVar("T")


class WordCache(Generic[T]):
    """Cache of one item per word; the least recently used go first when memory is full.

    Args:
        size: bytes of one item.
        limit: bytes of all.
    """

    def __init__(self, size: int, limit: int = KEPT_BYTES) -> None:
        """Start empty."""
        self._most = max(1, limit // max(1, size))
        self._things: OrderedDict[int, T] = OrderedDict()

    def each(
        self, words: Sequence[int], compute: Callable[[list[int]], Iterator[T]], step: int
    ) -> Iterator[T]:
        """Yield the item of each word, in order; missing ones are computed `step` at a time.

        Args:
            words: distinct.
            compute: yields the items of some words, in order.
            step: number of words handled together.
        """
        for start in range(0, len(words), step):
            part = words[start : start + step]
            things = {word: self._things[word] for word in part if word in self._things}
            missing = [word for word in part if word not in things]
            if missing:
                things |= dict(zip(missing, compute(missing), strict=True))
            for word in part:
                self._things[word] = things[word]
                self._things.move_to_end(word)
            # After the part, so that a part larger than the memory still finds its own items.
            while len(self._things) > self._most:
                self._things.popitem(last=False)
            yield from (things[word] for word in part)


def first_words(rngs: Sequence[np.random.Generator], sizes: IntArray) -> Words:
    """Return the first digit word of every draw, each from its document's generator."""
    parts = [random_words(rng, size) for rng, size in zip(rngs, sizes.tolist(), strict=True)]
    return np.concatenate([np.empty(0, dtype=np.uint64), *parts])


def settle(
    outputs: IntArray,
    decided: NDArray[np.bool_],
    rngs: Sequence[np.random.Generator],
    words: Words,
    entries: IntArray,
    offsets: IntArray,
    rows: Rows,
) -> IntArray:
    """Redraw the documents in which a first digit word was not decisive, draw by draw.

    Args:
        outputs: shape (k,); changed.
        decided: True where the first digit word decided the draw, shape (k,).
        rngs: one generator a document.
        words: the digit words that `first_words` took from them.
        entries: input words, shape (k,).
        offsets: as in `dpcore.mechanisms.bulk.Bulk`.
        rows: the weights of inputs.
    """
    # A draw that takes a second word moves all later draws of its document, and of no other.
    doubtful = np.searchsorted(offsets, np.flatnonzero(~decided), side="right") - 1
    for document in np.unique(doubtful).tolist():
        part = slice(int(offsets[document]), int(offsets[document + 1]))
        digits = Digits(rngs[document], words[part])
        outputs[part] = draws(digits, entries[part], rows)
    return outputs


# One draw a word at several ε: for experiments, never for release.
#
# An experiment needs each document at every ε of a grid. Its outputs at different ε may share their
# noise, since each alone has the mechanism's law; so the costly part (a matrix product, or the law
# of a distinct word) is computed once and not once for each ε. Two columns of the result together
# reveal the words (`dpcore.mechanisms.path`), and the float32 search may decide a near tie
# differently from `Mechanism.sample`: released outputs come from `sample`.


_TOGETHER = 64  # distinct words whose distances are computed at a time


def outputs_at(
    mechanism: Mechanism,
    rng: np.random.Generator,
    words: IntArray | Sequence[int],
    epsilons: FloatArray | Sequence[float],
    progress: Progress = silent,
) -> IntArray:
    """Draw once per entry of `words` and return its output at each ε.

    Each column has the law of `Mechanism.sample` at its ε, independently over the entries; the
    columns of an entry share their noise.

    Args:
        mechanism: any of the registry.
        rng: source of randomness.
        words: word indices, shape (k,).
        epsilons: in any order, shape (E,).
        progress: called with (stage, done, total).

    Returns:
        Word indices, shape (k, E).

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: an index is not of the vocabulary.
    """
    entries, values = mechanism.check_words(words), mechanism.check_epsilons(epsilons)
    if not entries.size:
        return np.empty((0, values.size), dtype=np.int64)
    return mechanism.sweep(rng, entries, values, progress)


def by_law(
    mechanism: Mechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """Invert the exact law: one uniform number an entry, one law a distinct word."""
    uniform = rng.random(entries.size)
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    distinct, places = by_word(entries)
    vectors = mechanism.lexicon.vectors
    for start in range(0, len(distinct), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        rankings = rank(vectors, vectors[distinct[part]])
        for word, members, ranking in zip(distinct[part], places[part], rankings, strict=True):
            law = mechanism.law(word, epsilons, ranking=ranking)
            for e, probabilities in enumerate(law.probabilities):
                ladder = np.cumsum(probabilities)
                # A product that rounds up to the last step must not leave the vocabulary.
                rung = np.searchsorted(ladder, uniform[members] * ladder[-1], side="right")
                outputs[members, e] = law.outputs[np.minimum(rung, ladder.size - 1)]
        progress(mechanism.short, min(start + _TOGETHER, len(distinct)), len(distinct))
    return outputs


def by_paths(
    mechanism: Mechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """Evaluate the ε-path of each entry on the grid."""
    order = np.argsort(epsilons, kind="stable")
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    for start in range(0, entries.size, BATCH):
        part = slice(start, start + BATCH)
        paths = mechanism.paths(rng, entries[part], epsilons=epsilons[order])
        outputs[part, order] = paths.at(epsilons[order])
        progress(mechanism.short, min(start + BATCH, entries.size), entries.size)
    return outputs
