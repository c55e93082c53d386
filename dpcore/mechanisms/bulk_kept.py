"""What the bulk samplers share: uniform numbers by document, places by word, a bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcore.mechanisms.law import FloatArray, IntArray

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
            found = {word: self._things[word] for word in part if word in self._things}
            missing = [word for word in part if word not in found]
            if missing:
                found |= dict(zip(missing, compute(missing), strict=True))
            for word in part:
                self._things[word] = found[word]
                self._things.move_to_end(word)
            while len(self._things) > self._most:
                self._things.popitem(last=False)
            yield from (found[word] for word in part)


def uniforms(rngs: Sequence[np.random.Generator], sizes: IntArray) -> FloatArray:
    """As many uniform numbers for each document as it needs, each from its generator."""
    parts = [rng.random(size) for rng, size in zip(rngs, sizes.tolist(), strict=True) if size]
    return np.concatenate(parts) if parts else np.empty(0)


def by_word(words: IntArray) -> tuple[list[int], list[IntArray]]:
    """The distinct words, and the places of each."""
    distinct, inverse, counts = np.unique(words, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    return distinct.tolist(), np.split(order, np.cumsum(counts)[:-1])
