"""Laws that are kept from one document to the next, as many as fit into a bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.mechanisms.bulk.kept import KEPT_BYTES
from dpcore.mechanisms.distance_blocks import by_word
from dpcore.noise.discrete import Digits, Weights, draws

if TYPE_CHECKING:
    from dpcore.arrays import IntArray
    from dpcore.mechanisms.exact import ExactMechanism

_OUTCOME_BYTES = 32  # value, cumulated units, logarithm and index


class KeptRows:
    """See `dpcore.mechanisms.bulk.documents.Bulk`: `sample`, with the weights of words met before.

    Where a word has few possible outputs, all words are soon known; else those met first are.
    """

    shared_laws = None

    def __init__(self, mechanism: ExactMechanism, epsilon: float, limit: int = KEPT_BYTES) -> None:
        """Begin with none."""
        self._mechanism, self._rows = mechanism, mechanism.rows(epsilon)
        self._kept: dict[int, Weights] = {}
        self._left = limit

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """One output per word."""
        entries = self._mechanism.check_words(words)
        outputs = np.empty(entries.size, dtype=np.int64)
        for i, rng in enumerate(rngs):
            part = slice(int(offsets[i]), int(offsets[i + 1]))
            if part.stop > part.start:
                outputs[part] = draws(Digits(rng), entries[part], self._weights)
        return outputs

    def _weights(self, entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
        """As `ExactMechanism.rows`."""
        for word, members in zip(*by_word(entries), strict=True):
            weights = self._kept.get(word)
            if weights is None:
                ((_, weights),) = self._rows(np.array([word]))
                size = _OUTCOME_BYTES * weights.values.size
                if size <= self._left:
                    self._kept[word] = weights
                    self._left -= size
            yield members, weights
