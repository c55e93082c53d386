"""What the bulk samplers share: a bounded memory, random digits by document, the rare draws."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from dpcore.noise.discrete import Digits, draws, random_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpcore.arrays import IntArray
    from dpcore.noise.discrete import Rows, Words

KEPT_BYTES = 256 * 2**20
"""Memory for what is kept of words, in one process."""

T = TypeVar("T")


class Kept(Generic[T]):
    """One thing a word; what was not asked for longest goes first when memory is used up.

    Args:
        size: bytes of one thing.
        limit: bytes of all.
    """

    def __init__(self, size: int, limit: int = KEPT_BYTES) -> None:
        """Begin empty."""
        self._most = max(1, limit // max(1, size))
        self._things: OrderedDict[int, T] = OrderedDict()

    def each(
        self, words: Sequence[int], compute: Callable[[list[int]], Iterator[T]], step: int
    ) -> Iterator[T]:
        """The thing of each word, in order; those that are not kept are computed `step` at a time.

        Args:
            words: distinct.
            compute: gives the things of some words, in order.
            step: how many are looked at together.
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
            # After the part, so that a part larger than the memory still finds its own things.
            while len(self._things) > self._most:
                self._things.popitem(last=False)
            yield from (things[word] for word in part)


def first_words(rngs: Sequence[np.random.Generator], sizes: IntArray) -> Words:
    """The first word of digits of every draw, each document's from its generator."""
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
    """Draw the documents again in which a first word did not decide, one draw after the other.

    Args:
        outputs: shape (k,); changed.
        decided: whether the first word of a draw decided it, shape (k,).
        rngs: one generator a document.
        words: what `first_words` took from them.
        entries: input words, shape (k,).
        offsets: as in `dpcore.mechanisms.bulk.documents.Bulk`.
        rows: the weights of inputs.
    """
    # A draw that takes a second word moves all later draws of its document, and of no other.
    doubtful = np.searchsorted(offsets, np.flatnonzero(~decided), side="right") - 1
    for document in np.unique(doubtful).tolist():
        part = slice(int(offsets[document]), int(offsets[document + 1]))
        digits = Digits(rngs[document], words[part])
        outputs[part] = draws(digits, entries[part], rows)
    return outputs
