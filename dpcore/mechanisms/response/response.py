"""Randomised response: all words share one table of weights, and read the place drawn differently.

So a draw costs a look-up, whatever the word is, and many documents are one look-up together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.rounding import UNIT
from dpcore.mechanisms.bulk.kept import first_words, settle
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.hooks import LossBounds
from dpcore.noise.discrete import Digits, draws

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.guarantee import Guarantee
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.lexicon.progress import Progress
    from dpcore.noise.discrete import Rows, Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class Response(ExactMechanism):
    """A mechanism that draws a place from a table that does not depend on the word."""

    @abstractmethod
    def places(self, epsilon: float) -> Weights:
        """The weights of the places at ε; outcome i is place i."""

    @abstractmethod
    def width(self, epsilon: float) -> int:
        """How many outputs of each word are e^ε times as likely as all others."""

    @abstractmethod
    def favoured(self, words: IntArray, epsilon: float) -> IntArray:
        """These outputs of each of some words, in any order, shape (m, `width`)."""

    @abstractmethod
    def outputs(self, entries: IntArray, places: IntArray, epsilon: float) -> IntArray:
        """The word that each place means for each entry, shape (k,)."""

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """As `ExactMechanism.sample`."""
        self.check_index(index)
        entries, table = self.check_words(words), self.places(self.check_epsilon(epsilon))
        return self.outputs(entries, draws(Digits(rng), entries, _every(table)), epsilon)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """The inversion of `by_law`, in the order of the vocabulary, without a row for each word.

        With favoured outputs of weight 1 at s_0 < s_1 < … and q = e^−ε for all others, the weights
        up to and with s_j sum to (s_j − j)·q + j + 1.
        """
        uniform, n = rng.random(entries.size), len(self.lexicon)
        result = np.empty((entries.size, epsilons.size), dtype=np.int64)
        distinct, which = np.unique(entries, return_inverse=True)
        for e, epsilon in enumerate(epsilons.tolist()):
            places = np.sort(self.favoured(distinct, epsilon), axis=1)[which]
            k, q = places.shape[1], math.exp(-epsilon)
            aim = uniform * (k + (n - k) * q)
            before = (places - np.arange(k)) * q + np.arange(k)
            passed = (before + 1.0 <= aim[:, None]).sum(axis=1)
            last = np.minimum(passed, k - 1)
            rows = np.arange(entries.size)
            inside = (passed < k) & (before[rows, last] <= aim)
            with np.errstate(divide="ignore", invalid="ignore"):
                # Where q underflows, every aim is inside.
                between = np.where(inside, 0.0, np.floor((aim - passed) / q))
            others = np.minimum(between.astype(np.int64) + passed, n - 1)
            result[:, e] = np.where(inside, places[rows, last], others)
            progress(self.short, e + 1, epsilons.size)
        return result

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """ε on the outputs that are near to the first word only, −ε on those of the second, or 0.

        All words have one normaliser, so these have the probabilities m·e^ε/(k·e^ε + n − k) and
        m/(k·e^ε + n − k) for m outputs each, and δ at any ε is largest for the most that there can
        be, m = min(k, n − k): that pair dominates all others, and so do its compositions theirs
        (Zhu, Dong, Wang 2022).
        """
        value = guarantee.epsilon
        n, k = len(self.lexicon), self.width(value)
        chance = min(k, n - k) / (k + (n - k) * math.exp(-value))
        return LossBounds(value, chance=min(1.0, chance * (1.0 + 8.0 * UNIT)))

    def bulk(self, epsilon: float) -> ResponseBulk:
        """One look-up for the words of many documents."""
        return ResponseBulk(self, epsilon)


class ResponseBulk:
    """See `dpcore.mechanisms.bulk.documents.Bulk`."""

    shared_laws = None

    def __init__(self, mechanism: Response, epsilon: float) -> None:
        """Fix the table."""
        self._mechanism, self._epsilon = mechanism, epsilon
        self._table = mechanism.places(epsilon)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.documents.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        entries = self._mechanism.check_words(words)
        if not entries.size:
            return entries
        places, sure = self._table.look_up(first)
        rows = _every(self._table)
        places = settle(places, sure, rngs, first, entries, offsets, rows)
        return self._mechanism.outputs(entries, places, self._epsilon)


def _every(table: Weights) -> Rows:
    """The one table for all entries."""
    return lambda entries: [(np.arange(entries.size), table)]
