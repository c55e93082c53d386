"""Mechanisms whose law is computed: law, draws and paths follow from ln P(y | w).

A new member defines `log_law` and `guarantee`; everything else here is a default, exact up to
`log_error`. A member overrides a default where it has a faster way or a sharper number.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking, rank
from dpcore.mechanisms.bulk import KEPT_BYTES, Bulk
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.noise.discrete import Digits, Rows, Weights, draws
from dpcore.noise.samplers import standard_gumbel

# Laws cached from one document to the next, as many as fit into a bounded memory.


_OUTCOME_BYTES = 32  # value, cumulated units, logarithm and index


class KeptRows:
    """Sampler like `sample` (see `dpcore.mechanisms.bulk.Bulk`) that caches weights of words.

    Where a word has few possible outputs, all words are soon cached; otherwise those met first.
    """

    shared_laws = None

    def __init__(self, mechanism: ExactMechanism, epsilon: float, limit: int = KEPT_BYTES) -> None:
        """Start with an empty cache."""
        self._mechanism, self._rows = mechanism, mechanism.rows(epsilon)
        self._kept: dict[int, Weights] = {}
        self._left = limit

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """Draw one output per word."""
        entries = self._mechanism.check_words(words)
        outputs = np.empty(entries.size, dtype=np.int64)
        for i, rng in enumerate(rngs):
            part = slice(int(offsets[i]), int(offsets[i + 1]))
            if part.stop > part.start:
                outputs[part] = draws(Digits(rng), entries[part], self._weights)
        return outputs

    def _weights(self, entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
        """Yield weights as `ExactMechanism.rows` does."""
        for word, members in zip(*by_word(entries), strict=True):
            weights = self._kept.get(word)
            if weights is None:
                ((_, weights),) = self._rows(np.array([word]))
                size = _OUTCOME_BYTES * weights.values.size
                if size <= self._left:
                    self._kept[word] = weights
                    self._left -= size
            yield members, weights


_ERROR = 1e-12  # of ln P: distances to 1e-13, sums of n terms, a few roundings
_GRID_POINTS = 128
_GRID_LOW, _GRID_SPAN = 0.01, 1e5  # lowest ε of a grid, and its highest over its lowest
_BLOCK_ENTRIES = 2_000_000  # Gumbel numbers drawn at a time: 16 MB


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactMechanism(Mechanism):
    """Mechanism that chooses among the words with computable probabilities."""

    exact_law: ClassVar[bool] = True
    log_error: ClassVar[float | None] = _ERROR

    # -- required of a member

    @abstractmethod
    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word) of every word y, shape (n,); −∞ for an impossible output."""

    # -- derived; a member may override

    @property
    def law_error(self) -> float:
        """Bound on the absolute error of a probability of `law`.

        ln P is off by r·max(1, |ln P|), and x·e^(−x) ≤ 1/e, so P is off by r at most.
        """
        return _ERROR if self.log_error is None else self.log_error

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return P(y | word) of every word y at each ε, shape (E, n), as `law` states it."""
        ranking = ranking or self.ranked(word)
        logs = [self.log_law(word, epsilon, ranking=ranking) for epsilon in epsilons.tolist()]
        return np.asarray(np.exp(logs))

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """Return the computed law over the whole vocabulary (see `Mechanism.law`)."""
        index, values = int(self.check_words([word])[0]), self.check_epsilons(epsilon)
        return Law(
            lexicon=self.lexicon,
            word=index,
            epsilons=values,
            outputs=np.arange(len(self.lexicon)),
            probabilities=self.probabilities(index, values, ranking),
            exact=True,
            error=self.law_error,
            method=self.law_method,
        )

    def rows(self, epsilon: float) -> Rows:
        """Return weights of all outputs for each distinct entry, proportional to the law at ε."""

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for word, members in zip(*by_word(entries), strict=True):
                logs = self.log_law(word, epsilon)
                outputs = np.flatnonzero(logs > -math.inf)  # a weight of 0 has no units
                logs = logs[outputs] - logs.max()  # at most 1, in float64's best range
                yield members, Weights(np.exp(logs), logs.item, outputs)

        return weights

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw one output per entry, shape (k,), by exact inversion (`dpcore.noise.discrete`).

        64 random bits an entry except for very rare ones; all other work is per distinct word. An
        exact index is accepted but not used: the law is over all words.
        """
        self.check_index(index)
        value = self.check_epsilon(epsilon)
        return draws(Digits(rng), self.check_words(words), self.rows(value))

    def bulk(self, epsilon: float) -> Bulk:
        """Return a sampler, document by document, that caches the laws of words met before."""
        return KeptRows(self, epsilon)

    def grid(self) -> FloatArray:
        """Return the default ε grid of `paths`, evenly spaced in ln ε."""
        allowed = self.admissible
        low = max(allowed.low * (1.0 + 1e-6), _GRID_LOW)
        return np.geomspace(low, min(low * _GRID_SPAN, 0.999 * allowed.high), _GRID_POINTS)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry on a grid of ε: the word with the largest ln P(y | w) + G_y.

        With i.i.d. standard Gumbel numbers G that word has the law P(· | w) (the Gumbel-max trick:
        Yellott 1977). One G for all ε makes a draw a function of ε. The outputs at the
        points of the grid are exact, the breaks between them are not.
        """
        entries, n = self.check_words(words), len(self.lexicon)
        points = self.grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        outputs = np.empty((entries.size, points.size), dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // n)
        for start in range(0, entries.size, step):
            block = entries[start : start + step]
            noise = standard_gumbel(rng, (block.size, n))
            for word, members in zip(*by_word(block), strict=True):
                first = start + int(members[0])
                ranking = self.ranked(word) if rankings is None else rankings[first]
                own = noise[members]
                for e, scores in enumerate(self.log_scores(word, points.tolist(), ranking)):
                    outputs[start + members, e] = (own + scores).argmax(axis=1)
        return EpsilonPaths.of_grid(entries, points, outputs)

    def log_scores(
        self, word: int, epsilons: Sequence[float], ranking: Ranking
    ) -> Iterator[FloatArray]:
        """Yield, for each ε, ln P(y | word) less a constant over y; shape (n,)."""
        return (self.log_law(word, epsilon, ranking=ranking) for epsilon in epsilons)

    def ranked(self, word: int) -> Ranking:
        """Return all words by Euclidean distance from one."""
        vectors = self.lexicon.vectors
        return rank(vectors, vectors[[word]])[0]

    def distances(
        self, word: int, ranking: Ranking | None = None, metric: Metric = Metric.EUCLIDEAN
    ) -> FloatArray:
        """Return the distances of a word to all, shape (n,), in the order of the vocabulary.

        Args:
            word: word index.
            ranking: of this word, if known; it saves the work where the metric is Euclidean.
            metric: of the distances.
        """
        if ranking is None or metric is not Metric.EUCLIDEAN:
            vectors = self.lexicon.vectors
            return np.asarray(distances(vectors, vectors[[word]], metric)[0])
        row = np.empty(len(ranking))
        row[ranking.order] = ranking.distances
        return row
