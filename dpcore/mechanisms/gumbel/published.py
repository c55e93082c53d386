"""The truncated Gumbel mechanism (Xu et al. 2021, Algorithms 1 and 2), as published.

`algorithm` says what it does. Δ and Δ₀ are those of a public vocabulary; the paper computes them
from the private corpus, which its theorem does not cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.ranking import Ranking, rank
from dpcore.mechanisms.distance_blocks import distance_blocks, nearest_words
from dpcore.mechanisms.gumbel.algorithm import low_reason, lowest_epsilon, scale, smallest_sums
from dpcore.mechanisms.gumbel.bounds import BoundedGumbel
from dpcore.mechanisms.gumbel.law import ABSOLUTE_ERROR, grouped_laws, laws_from_distances
from dpcore.mechanisms.gumbel.log_law import log_law_from_distances
from dpcore.mechanisms.law import Effort, FloatArray, IntArray, Law
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import EpsilonRange
from dpcore.noise.gumbel import truncated_gumbel
from dpcore.noise.poisson import poisson_quantile, poisson_weights, truncated_poisson

if TYPE_CHECKING:
    from dpcore.lexicon.extent.extent import Extent
    from dpcore.lexicon.neighbours import NeighbourIndex

_GRID_POINTS = 192
_GRID_TOP = math.exp(20.0)
_GRID_SPAN = math.exp(12.0)  # a grid reaches at least this far above its lower end


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedGumbel(BoundedGumbel):
    """Xu et al.'s mechanism over Euclidean distances; it has no parameter but ε."""

    key: ClassVar[str] = "truncated-gumbel.v1"
    short: ClassVar[str] = "truncated-gumbel"
    title: ClassVar[str] = "Truncated Gumbel"
    summary: ClassVar[str] = (
        "Takes a random number of nearest words, adds bounded noise to their distances and "
        "keeps the nearest"
    )
    source: ClassVar[str] = "Xu et al. 2021, Algorithms 1 and 2"
    meaning: ClassVar[EpsilonMeaning] = EpsilonMeaning.METRIC_LOG

    @cached_property
    def _extent(self) -> Extent:
        """Δ and Δ₀ in the Euclidean metric: bounds that err towards more noise if not exact."""
        return self.lexicon.with_metric(Metric.EUCLIDEAN).extent

    @property
    def bound(self) -> float:
        """Δ, at which the noise is cut off."""
        return self._extent.diameter

    @cached_property
    def _weights(self) -> FloatArray:
        return poisson_weights(len(self.lexicon))

    @property
    def admissible(self) -> EpsilonRange:
        """ε > (5 + 2 ln n)/Δ₀, where the noise scale is positive."""
        n, separation = len(self.lexicon), self._extent.separation
        return EpsilonRange(low=lowest_epsilon(n, separation), low_reason=low_reason(n, separation))

    def noise_scale(self, epsilon: float) -> float:
        """b at ε, in the units of the distances (Algorithm 2, step 1)."""
        extent = self._extent
        value = self.check_epsilon(epsilon)
        return scale(value, len(self.lexicon), extent.separation, extent.diameter)

    def guarantee(self, epsilon: float) -> Guarantee:
        """ε·d₂ is claimed (Theorem 1); as it stands, the claim is refuted."""
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.REFUTED,
            reason=(
                "The theorem claims this for every vocabulary and every ε of its domain, and exact "
                "computation contradicts it near the lower end: on 5,403 GloVe vectors, at a "
                "claimed ε of 63.2, the output 'hah' tells 'haven' from 'entire' with a true ε of "
                "126.7. Whether it holds on this lexicon at this ε, only an audit can tell."
            ),
            source="Xu et al. 2021, Theorem 1",
            metric="euclidean",
        )

    # -- release --------------------------------------------------------------------------------

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One fresh draw per entry, shape (k,).

        Neighbours are exact and found once per distinct word; a draw over the whole vocabulary,
        about one in n, computes all distances. An exact index is accepted and not needed.
        """
        self.check_index(index)
        b = self.noise_scale(epsilon)
        entries = self.check_words(words)
        n = len(self.lexicon)
        counts = truncated_poisson(rng, entries.size, n)
        outputs = np.empty(entries.size, dtype=np.int64)
        partial = np.flatnonzero(counts < n)
        whole = np.flatnonzero(counts == n)
        if partial.size:
            # Draws with fewer candidates take their noise first, and of those the earlier one.
            partial = partial[np.argsort(counts[partial], kind="stable")]
            few = counts[partial]
            distinct, rows = np.unique(entries[partial], return_inverse=True)
            near = self.neighbours(distinct, int(few[-1]))
            uniform = rng.random(int(few.sum()))
            outputs[partial] = smallest_sums(near, rows, few, uniform, [b], self.bound)[:, 0]
        if whole.size:
            outputs[whole] = self.among_all(rng, entries[whole], b)
        return outputs

    def among_all(self, rng: np.random.Generator, entries: IntArray, b: float) -> IntArray:
        """Draws with K = n, in blocks of rows."""
        outputs = np.empty(entries.size, dtype=np.int64)
        order = np.argsort(entries, kind="stable")
        for part, rows in distance_blocks(self.lexicon.vectors, entries[order]):
            noisy = truncated_gumbel(rng, rows.shape, b, self.bound)
            noisy += rows
            outputs[order[part]] = noisy.argmin(axis=1)
        return outputs

    def neighbours(self, words: IntArray, count: int) -> tuple[IntArray, FloatArray]:
        """Exact nearest words and their distances, shape (m, count); ties by lowest index."""
        return nearest_words(self.lexicon.vectors, words, count)

    # -- looking --------------------------------------------------------------------------------

    def grid(self) -> FloatArray:
        """The ε at which `paths` looks if it is not told: shape (192,), evenly spaced in ln ε.

        From just above the lowest admissible ε to at least e²⁰; beyond, b falls as slowly as
        1/ln ε and nothing worth seeing happens.
        """
        low = self.admissible.low * (1.0 + 1e-6)
        return np.geomspace(low, max(_GRID_TOP, low * _GRID_SPAN), _GRID_POINTS)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry, looked at on a grid of ε.

        K does not depend on ε and takes one uniform number; each candidate takes one more, and
        its noise at ε is the quantile of it. The outputs at grid points are exact, the breaks
        between them are not.

        Args:
            rng: source of randomness.
            words: word indices, shape (k,).
            rankings: one for each entry, if known.
            epsilons: ascending grid; `grid()` if not given.
        """
        entries = self.check_words(words)
        points = self.grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        scales = [self.noise_scale(float(e)) for e in points]
        n = len(self.lexicon)
        counts = np.empty(entries.size, dtype=np.int64)
        uniform: list[FloatArray] = []
        for i in range(entries.size):  # draw by draw: one does not depend on those behind it
            counts[i] = poisson_quantile(rng.random(1), n)[0]
            uniform.append(rng.random(int(counts[i])))
        outputs = np.empty((entries.size, points.size), dtype=np.int64)
        few = np.flatnonzero(counts < n)
        if few.size:
            width = int(counts[few].max())
            distinct, first, rows = np.unique(entries[few], return_index=True, return_inverse=True)
            if rankings is None:
                near = self.neighbours(distinct, width)
            else:
                heads = [rankings[i] for i in few[first].tolist()]
                near = (
                    np.stack([ranking.order[:width] for ranking in heads]),
                    np.stack([ranking.distances[:width] for ranking in heads]),
                )
            numbers = np.concatenate([uniform[i] for i in few.tolist()])
            outputs[few] = smallest_sums(near, rows, counts[few], numbers, scales, self.bound)
        own = np.zeros(1, dtype=np.int64)
        for i in np.flatnonzero(counts == n).tolist():
            ranking = self._ranking(int(entries[i])) if rankings is None else rankings[i]
            near = ranking.order[None], ranking.distances[None]
            outputs[i] = smallest_sums(near, own, counts[[i]], uniform[i], scales, self.bound)
        return EpsilonPaths.of_grid(entries, points, outputs)

    # -- probabilities --------------------------------------------------------------------------

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """The exact law over the whole vocabulary, by quadrature.

        Args:
            word: the word, or its index.
            epsilon: one ε, or E of them.
            rng: not needed.
            ranking: of this word, if known.
            effort: not needed.
        """
        index = int(self.check_words([word])[0])
        values = self.check_epsilons(epsilon)
        if ranking is None:
            ranking = self._ranking(index)
        probabilities = np.empty((values.size, len(self.lexicon)))
        place = np.empty(len(ranking), dtype=np.int64)
        place[ranking.order] = np.arange(len(ranking))
        laws = laws_from_distances(ranking.distances, *self._parameters(values))
        for row, law in zip(probabilities, laws, strict=True):
            law.take(place, out=row, mode="clip")  # "raise" would go through a copy
        return Law(
            lexicon=self.lexicon,
            word=index,
            epsilons=values,
            outputs=np.arange(len(self.lexicon)),
            probabilities=probabilities,
            exact=True,
            error=ABSOLUTE_ERROR,
            method="quadrature",
        )

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """P(word), p and c with Σ_y φ(P(y)) = Σ c·φ(p) for any φ with φ(0) = 0.

        Shapes (E,), (E, m), (E, m); see `grouped_laws`. None where sums need the law itself.
        """
        groups = grouped_laws(ranking.distances, *self._parameters(epsilons))
        # Of several words at distance 0 the first may be another one.
        own = int(np.flatnonzero(ranking.order == word)[0])
        if groups is None or not np.all(groups[1][:, : own + 1] == 1.0):
            return None
        return groups[0][:, own], *groups

    def _parameters(self, epsilons: FloatArray) -> tuple[FloatArray, list[float], float]:
        """P(K = k), the noise scale at each ε, and Δ."""
        scales = [self.noise_scale(e) for e in epsilons.tolist()]
        return self._weights, scales, self.bound

    def log_law(
        self,
        word: int,
        epsilon: float,
        outputs: IntArray | None = None,
        *,
        ranking: Ranking | None = None,
    ) -> FloatArray:
        """ln P(output | word), also where the probability underflows.

        No bound on the error is known: the largest that was found against a plain quadrature is
        0.3 % of the logarithm (distances that are spread out), far less for words near by; for
        words in tight clusters it can be larger. What needs a bound takes `gumbel.bounds`.
        A probability below e^−40000 comes out as −∞.

        Args:
            word: word index.
            epsilon: ε.
            outputs: word indices, shape (m,); the whole vocabulary if not given.
            ranking: of this word, if known.

        Returns:
            Shape (m,).
        """
        index = int(self.check_words([word])[0])
        b = self.noise_scale(epsilon)
        ranking = ranking or self._ranking(index)
        logs = np.empty(len(self.lexicon))
        logs[ranking.order] = log_law_from_distances(
            ranking.distances, self._weights, b, self.bound
        )
        return logs if outputs is None else logs[self.check_words(outputs)]

    def _ranking(self, word: int) -> Ranking:
        vectors = self.lexicon.vectors
        return rank(vectors, vectors[[word]])[0]
