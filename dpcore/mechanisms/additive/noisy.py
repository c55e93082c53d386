"""Mechanisms that add noise to a word's vector and choose among the words near the noisy one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.mechanisms.additive.decoding import Decoding, Noise, decoding_of
from dpcore.mechanisms.additive.points import Points, least_distance, own
from dpcore.mechanisms.bulk.documents import BATCH
from dpcore.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.arrays import Float32Array, FloatArray, IntArray
    from dpcore.guarantee import Rounding
    from dpcore.lexicon.neighbours import NeighbourIndex

_POOLED = 4_096  # noisy vectors that share a search: 10 MB at 300 dimensions


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyMechanism(Mechanism):
    """The nearest target to an origin plus noise, unless a member chooses otherwise."""

    accepts_approximate_search = True

    # -- what a member says

    @abstractmethod
    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """The origins of words plus fresh noise, shape (k, p) (see `Mechanism.noisy_vectors`)."""

    @abstractmethod
    def noise_bounds(self, epsilon: float) -> Noise:
        """What the bound of its rounding needs to know of the noise at ε."""

    # -- what a member may change

    @property
    def points(self) -> Points:
        """The targets, with what is computed of them once."""
        return own(self.lexicon)

    @property
    def targets(self) -> Float32Array:
        """The public points that the noisy vector is compared with, shape (n, p)."""
        return self.points.vectors

    @property
    def origins(self) -> Float32Array:
        """The points that the noise is added to, shape (n, p)."""
        return self.lexicon.vectors

    @property
    def offset(self) -> float:
        """Bound on the distance of an origin from its own target."""
        return 0.0

    @property
    def separation(self) -> float | None:
        """Least distance above 0 of two targets, or a lower bound; None if it is not known."""
        return least_distance(self.lexicon, self.points)

    def coins(self, rng: np.random.Generator, count: int) -> FloatArray:
        """What the choice draws beside the noise, a number for each output: nothing here."""
        return np.empty(0)

    def choose(
        self, coins: FloatArray, noisy: FloatArray, index: NeighbourIndex | None
    ) -> IntArray:
        """The output for each noisy vector: the nearest target."""
        return self.points.search(noisy) if index is None else index.search(noisy, 1)[0][:, 0]

    # -- what follows

    @property
    def dimension(self) -> int:
        """Dimension p of the noise."""
        return int(self.targets.shape[1])

    def decoding(self, epsilon: float) -> Decoding | None:
        """The noise at ε and the targets, for bounds; None where the targets' are not known."""
        return decoding_of(self.points, self.separation, self.offset, self.noise_bounds(epsilon))

    def rounding(self, epsilon: float) -> Rounding | None:
        """How far floating point moves the law at ε (see `mechanisms.additive.decoding`).

        None where no bound is known: of points other than the lexicon's own in a large vocabulary
        the least distance is not computed for it, and two points may be too close.
        """
        decoding = self.decoding(epsilon)
        return None if decoding is None else decoding.rounding()

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One output per entry of `words`, each with fresh noise (see `Mechanism.sample`).

        An approximate index is allowed: it sees only the noisy vector (post-processing).
        """
        words, epsilon = self.check_words(words), self.check_epsilon(epsilon)
        if index is not None and self.targets is not self.lexicon.vectors:
            msg = f"{self.short} with these settings searches its own points: use no index"
            raise ParameterError(msg)
        outputs = np.empty(words.size, dtype=np.int64)
        for i in range(0, words.size, BATCH):
            part = words[i : i + BATCH]
            noisy = self.noisy_vectors(rng, part, epsilon)
            outputs[i : i + BATCH] = self.choose(self.coins(rng, part.size), noisy, index)
        return outputs

    def bulk(self, epsilon: float) -> NoisyBulk:
        """One search for the noisy vectors of many documents."""
        return NoisyBulk(self, epsilon)


class NoisyBulk:
    """Noise for each document from its own generator, one search for many documents."""

    shared_laws = None

    def __init__(self, mechanism: NoisyMechanism, epsilon: float) -> None:
        """Remember what to sample."""
        self._mechanism, self._epsilon = mechanism, mechanism.check_epsilon(epsilon)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.documents.Bulk`."""
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
                noisy = self._mechanism.noisy_vectors(rng, part, self._epsilon)
                yield noisy, self._mechanism.coins(rng, part.size)

    def _choose(self, waiting: list[tuple[FloatArray, FloatArray]]) -> IntArray:
        noisy = np.concatenate([vectors for vectors, _ in waiting])
        coins = np.concatenate([numbers for _, numbers in waiting])
        return self._mechanism.choose(coins, noisy, None)
