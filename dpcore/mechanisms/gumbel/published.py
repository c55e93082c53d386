"""Truncated Gumbel mechanism (Xu et al. 2021, Algorithms 1 and 2), as published.

`algorithm` describes it. Δ and Δ₀ are those of a public vocabulary; the paper computes them from
the private corpus, which its theorem does not cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.extent import Extent
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking
from dpcore.mechanisms.distances import distances_by_word
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.gumbel.algorithm import (
    TruncatedGumbelBulk,
    low_reason,
    lowest_epsilon,
    scale,
    smallest_sums,
)
from dpcore.mechanisms.gumbel.law import ABSOLUTE_ERROR, grouped_laws, laws_from_distances
from dpcore.mechanisms.gumbel.log_law import (
    PairBounds,
    certify,
    log_law_from_distances,
    log_probability_bounds,
)
from dpcore.mechanisms.mechanism import NoisyNearestForm
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import EpsilonRange
from dpcore.noise.samplers import poisson_quantile, poisson_weights, truncated_gumbel
from dpcore.written import Filled

# Largest relative deviation of `log_law` from a plain quadrature that was observed, with distances
# that are spread out: an estimate, not a bound. Where a claim is refuted, it is by
# `log_law.certify`.
_DEVIATION = 3e-3
_BOUNDED = 8  # entries of a law that are bounded one by one
_RARE = 1e-5  # probabilities below it are taken from the logarithmic law
_GRID_POINTS = 192
_GRID_TOP = math.exp(20.0)
_GRID_SPAN = math.exp(12.0)  # a grid reaches at least this far above its lower end


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedGumbel(ExactMechanism):
    """Xu et al.'s mechanism over Euclidean distances; ε is its only parameter."""

    key = "truncated-gumbel.v1"
    short = "truncated-gumbel"
    title = "Truncated Gumbel"
    summary = (
        "Takes a random number of nearest words, adds bounded noise to their distances and "
        "keeps the nearest"
    )
    source = "Xu et al. 2021, Algorithms 1 and 2"
    cited: ClassVar[tuple[str, ...]] = ("xu2021gumbel",)
    meaning = EpsilonMeaning.METRIC_LOG
    law_method = "quadrature"
    log_error = None  # no bound is known
    log_estimate = _DEVIATION
    grouped_error = ABSOLUTE_ERROR

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
        """Range of ε above (5 + 2 ln n)/Δ₀, where the noise scale is positive."""
        n, separation = len(self.lexicon), self._extent.separation
        return EpsilonRange(low=lowest_epsilon(n, separation), low_reason=low_reason(n, separation))

    def noise_scale(self, epsilon: float) -> float:
        """Return b at ε, in the units of the distances (Algorithm 2, step 1)."""
        extent = self._extent
        value = self.check_epsilon(epsilon)
        return scale(value, len(self.lexicon), extent.separation, extent.diameter)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the claim ε·d₂ (Theorem 1); as published, it is refuted."""
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.REFUTED,
            reason=Filled(
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
        """Draw one output per entry, shape (k,), by Algorithm 1.

        Neighbours are exact and found once per distinct word; a draw over the whole vocabulary,
        about one in n, computes all distances. An exact index is accepted but not used.
        """
        self.check_index(index)
        entries = self.check_words(words)
        # One document of many: `TruncatedGumbelBulk` has Algorithm 1.
        return self.bulk(epsilon)([rng], entries, np.array([0, entries.size]))

    def among_all(self, rng: np.random.Generator, entries: IntArray, b: float) -> IntArray:
        """Draw with K = n: all distances, and noise on each, word by word."""
        outputs = np.empty(entries.size, dtype=np.int64)
        for members, row in distances_by_word(self.lexicon.vectors, entries):
            noisy = truncated_gumbel(rng, (members.size, row.size), b, self.bound)
            noisy += row
            outputs[members] = noisy.argmin(axis=1)
        return outputs

    # -- inspection ----------------------------------------------------------------------------

    def grid(self) -> FloatArray:
        """Return the default ε grid of `paths`: shape (192,), evenly spaced in ln ε.

        From just above the lowest admissible ε to at least e²⁰; beyond, b falls as slowly as 1/ln ε
        and nothing visible changes.
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
        """Draw once per entry, evaluated on a grid of ε.

        K does not depend on ε and takes one uniform number; each candidate takes one more, and
        its noise at ε is the quantile of it. The outputs at grid points are exact, the breaks
        between them are not.
        """
        entries = self.check_words(words)
        points = self.grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        scales = [self.noise_scale(float(e)) for e in points]
        n = len(self.lexicon)
        counts = np.empty(entries.size, dtype=np.int64)
        uniform: list[FloatArray] = []
        # K by inversion, so that one uniform number decides it; K is the same at every ε.
        for i in range(entries.size):  # draw by draw: one does not depend on those behind it
            counts[i] = poisson_quantile(rng.random(1), n)[0]
            uniform.append(rng.random(int(counts[i])))
        outputs = np.empty((entries.size, points.size), dtype=np.int64)
        few = np.flatnonzero(counts < n)
        if few.size:
            width = int(counts[few].max())
            distinct, first, rows = np.unique(entries[few], return_index=True, return_inverse=True)
            if rankings is None:
                near = self.lexicon.nearest_words(distinct, width)
            else:
                heads = [rankings[i] for i in few[first].tolist()]
                near = (
                    np.stack([ranking.order[:width] for ranking in heads]),
                    np.stack([ranking.distances[:width] for ranking in heads]),
                )
            numbers = np.concatenate([uniform[i] for i in few.tolist()])
            outputs[few] = smallest_sums(near, rows, counts[few], numbers, scales, self.bound)
        single = np.zeros(1, dtype=np.int64)
        for i in np.flatnonzero(counts == n).tolist():
            ranking = self.ranked(int(entries[i])) if rankings is None else rankings[i]
            near = ranking.order[None], ranking.distances[None]
            outputs[i] = smallest_sums(near, single, counts[[i]], uniform[i], scales, self.bound)
        return EpsilonPaths.of_grid(entries, points, outputs)

    # -- probabilities --------------------------------------------------------------------------

    @property
    def law_error(self) -> float:
        """Error bound of the quadrature."""
        return ABSOLUTE_ERROR

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return the law by quadrature, shape (E, n); all ε share the work on the distances."""
        ranking = ranking or self.ranked(word)
        rows = np.empty((epsilons.size, len(self.lexicon)))
        place = np.empty(len(ranking), dtype=np.int64)
        place[ranking.order] = np.arange(len(ranking))
        laws = laws_from_distances(ranking.distances, *self._parameters(epsilons))
        for row, law in zip(rows, laws, strict=True):
            law.take(place, out=row, mode="clip")  # "raise" would go through a copy
        return rows

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return `grouped_laws`, for φ with φ(0) = 0; None where sums need the law itself."""
        groups = grouped_laws(ranking.distances, *self._parameters(epsilons))
        # Of several words at distance 0, another one may be first.
        place = int(np.flatnonzero(ranking.order == word)[0])
        if groups is None or not np.all(groups[1][:, : place + 1] == 1.0):
            return None
        return groups[0][:, place], *groups

    def _parameters(self, epsilons: FloatArray) -> tuple[FloatArray, list[float], float]:
        """Return P(K = k), the noise scale at each ε, and Δ."""
        scales = [self.noise_scale(e) for e in epsilons.tolist()]
        return self._weights, scales, self.bound

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word) of every word y, shape (n,), also where the probability underflows.

        No bound on the error is known (see `_DEVIATION`); for words in tight clusters it can be
        larger than the observed deviation. Where a bound is needed, use `gumbel.log_law.certify`. A
        probability below e^−40000 is returned as −∞.
        """
        index, b = int(self.check_words([word])[0]), self.noise_scale(epsilon)
        ranking = ranking or self.ranked(index)
        logs = np.empty(len(self.lexicon))
        logs[ranking.order] = log_law_from_distances(
            ranking.distances, self._weights, b, self.bound
        )
        return logs

    # -- hooks ----------------------------------------------------------------------------------

    def bulk(self, epsilon: float) -> TruncatedGumbelBulk:
        """Return a sampler that finds the neighbours once for each word."""
        return TruncatedGumbelBulk(self, epsilon)

    @property
    def column_form(self) -> NoisyNearestForm:
        """Noise on the distances of the nearest words, their number a Poisson variable."""
        return NoisyNearestForm(self.noise_scale)

    def certified(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> PairBounds:
        """Bound the two probabilities of an output that distinguishes two words."""
        rows = self.distances(word), self.distances(other)
        return certify(*rows, output, distance, self.noise_scale(epsilon), self.bound)

    def least_epsilon(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> float:
        """Return the ε that the bounds imply: a refutation does not rely on the quadrature."""
        return self.certified(epsilon, word, other, output, distance).epsilon

    def floored_log_law(self, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
        """Return `log_law` and a proved bound on the entries that it leaves out.

        In `log_law` −∞ means "not computed", so a few such entries are bounded one by one instead.
        With more of them, the nearest is bounded from above: a farther word is never likelier, so
        all of them lie below that.
        """
        ranking = self.ranked(word)
        logs = np.array(self.log_law(word, epsilon, ranking=ranking))
        missing = np.flatnonzero(np.isneginf(logs[ranking.order]))
        if not missing.size:
            return logs, None
        weights, b = poisson_weights(len(self.lexicon)), self.noise_scale(epsilon)
        bounds = [
            log_probability_bounds(ranking.distances, int(place), weights, b, self.bound, gap=0.05)
            for place in missing[: _BOUNDED if missing.size <= _BOUNDED else 1]
        ]
        if missing.size > _BOUNDED:
            return logs, bounds[0][1]
        for place, (low, high) in zip(missing, bounds, strict=True):
            logs[ranking.order[place]] = 0.5 * (low + high)
        unknown = np.isneginf(logs).any()
        return logs, max(high for _, high in bounds) if unknown else None

    def doubted_log_law(
        self, word: int, epsilon: float, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, str]:
        """Return ln P, errors and method; rare entries come from `log_law`.

        There the quadrature has no digit left.
        """
        logs, errors, method = super().doubted_log_law(word, epsilon, ranking)
        rare = np.flatnonzero(np.exp(logs) < _RARE)
        deep = self.log_law(word, epsilon, ranking=ranking)[rare]
        logs[rare] = deep
        errors[rare] = np.where(np.isfinite(deep), _DEVIATION * np.abs(deep), 0.0)
        return logs, errors, method
