"""The repaired truncated Gumbel mechanism: the same candidates, noise that is not cut off.

The published mechanism fails because its noise is bounded: an output that the noise cannot reach
from w′ gives w away. Here the noise keeps its tail and is subtracted, which makes the law a mixture
of softmaxes: a closed form, with a proved bound for every vocabulary and a far better certificate
for this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import EpsilonMeaning, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric, distance_error, distances, paired_distances
from dpcore.lexicon.progress import silent
from dpcore.lexicon.ranking import Ranking, rank
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.bulk.gumbel import RepairedBulk
from dpcore.mechanisms.calibrated import CalibratedMechanism
from dpcore.mechanisms.distance_blocks import distances_by_word
from dpcore.mechanisms.exponential.tem_path import gumbel_paths, joined
from dpcore.mechanisms.gumbel.algorithm import rectangles
from dpcore.mechanisms.gumbel.repaired_certificate import repaired_certificate, repaired_losses
from dpcore.mechanisms.gumbel.repaired_law import (
    heads,
    law_of,
    log_law_of,
    nearest_first,
    proved_epsilon,
    proved_strength,
)
from dpcore.mechanisms.hooks import LossSearch, NearestForm, WorstLoss
from dpcore.mechanisms.law import Effort, FloatArray, IntArray, Law
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.sampled_law import repaired_rounding
from dpcore.mechanisms.settings import EpsilonRange
from dpcore.noise.gumbel import standard_gumbel
from dpcore.noise.inversion import Digits, Weights, draws
from dpcore.noise.poisson import poisson_quantile

if TYPE_CHECKING:
    from dpcore.guarantee import Rounding
    from dpcore.lexicon.extent.extent import Extent
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.certificate import Certificate
    from dpcore.noise.inversion import Rows

_CERTIFIED = 1e-5  # by how much of itself a certified ε may lie above the true one
_LOOKED_AT = 32  # words whose chance to stay is computed for a caution


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedGumbelRepaired(CalibratedMechanism):
    """Softmax over a random number of nearest words, in the Euclidean metric."""

    key: ClassVar[str] = "truncated-gumbel-repaired.v1"
    short: ClassVar[str] = "truncated-gumbel-repaired"
    title: ClassVar[str] = "Truncated Gumbel, repaired"
    summary: ClassVar[str] = (
        "Takes a random number of nearest words and chooses among them with a probability "
        "that falls exponentially with the distance; on the bundled words a word nearly always "
        "stays, at any ε that it takes"
    )
    source: ClassVar[str] = "our repair of Xu et al. 2021, Algorithms 1 and 2"
    meaning: ClassVar[EpsilonMeaning] = EpsilonMeaning.METRIC
    exact_law: ClassVar[bool] = True
    log_error: ClassVar[float] = 1e-12

    @cached_property
    def _extent(self) -> Extent:
        return self.lexicon.with_metric(Metric.EUCLIDEAN).extent

    @property
    def _separation(self) -> float:
        """Δ₀, rounded down."""
        return self._extent.separation * (1.0 - distance_error(self.lexicon.dimension))

    def proved_strength(self, epsilon: float) -> float:
        """The s = 1/b of the bound that holds for every vocabulary with this n and Δ₀."""
        return proved_strength(epsilon, len(self.lexicon), self._separation)

    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """B(Δ₀)/Δ₀ at each s."""
        return proved_epsilon(strengths, len(self.lexicon), self._separation)

    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """See `repaired_certificate`."""
        return repaired_certificate(self.lexicon, progress)

    @property
    def admissible(self) -> EpsilonRange:
        """Above the loss that remains under infinite noise, or of the least certified one."""
        reason = "the number of candidates gives this much away under any noise"
        if self.certificate is None:
            reason += " by the bound for every vocabulary; a certificate allows less"
        return EpsilonRange(low=self.lowest_epsilon, low_reason=reason)

    @cached_property
    def caution(self) -> str:
        """How often words stay where the noise is largest; P(w | w) only grows with ε.

        With the words of evenly spaced ranks, for a law takes as long as a pass over the lexicon.
        """
        n = len(self.lexicon)
        # The smallest admissible ε, but for the rounding of a look-up in the certificate.
        least = math.nextafter(self.admissible.low, math.inf) * (1.0 + 1e-9)
        words = np.unique(np.linspace(0, n - 1, _LOOKED_AT).astype(np.int64))
        rows = np.sort(distances(self.lexicon.vectors, self.lexicon.vectors[words]), axis=1)
        strength = np.array([self.strength(least)])
        stays = [float(law_of(row[: self.heads], row, strength)[0, 0]) for row in rows]
        return (
            f"At its lowest ε here, {least:.4g}, a word stays with probability "
            f"{float(np.mean(stays)):.4g} (mean of {words.size} words, the least "
            f"{min(stays):.3g}), and more often at any larger ε"
        )

    def noise_scale(self, epsilon: float) -> float:
        """b at ε, in the units of the distances; ∞ at the low end of the bound."""
        strength = self.strength(epsilon)
        return 1.0 / strength if strength > 0 else math.inf

    def promise(self, epsilon: float) -> MetricPrivacy:
        """The bound for every vocabulary with this n and Δ₀."""
        return MetricPrivacy(
            epsilon=epsilon,
            status=Status.PROVED,
            reason=(
                "Every word is a candidate with probability above 1/n whatever went in, and noise "
                "with a whole tail moves no weight by more than e^(d/b): the loss is at most "
                "d/b + ln(e^(d/b) + A), and that over d is largest at the smallest distance."
            ),
            source="our derivation, for the repaired noise",
            rounding=self.rounding(epsilon),
        )

    def rounding(self, epsilon: float) -> Rounding:
        """How far the law that `sample` draws from may lie from the closed form."""
        reach = self.strength(epsilon) * self._extent.diameter
        return repaired_rounding(self.lexicon.dimension, len(self.lexicon), self.heads, reach)

    # -- release --------------------------------------------------------------------------------

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One fresh draw per entry, shape (k,), by exact inversion (`dpcore.noise.inversion`).

        64 random bits an entry but for very rare ones; the work beyond that is per distinct word.
        An exact index is accepted and not needed: every word has positive probability.
        """
        self.check_index(index)
        strength = self.strength(epsilon)
        return draws(Digits(rng), self.check_words(words), self.rows(strength))

    def rows(self, strength: float) -> Rows:
        """The weights of all outputs for each distinct entry, at s = `strength`."""

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, row in distances_by_word(self.lexicon.vectors, entries):
                yield members, self.weights(row, strength)

        return weights

    def weights(self, row: FloatArray, strength: float) -> Weights:
        """The law of all words, the nearest first.

        Args:
            row: distances of all words, shape (n,).
            strength: s.
        """
        order = nearest_first(row, self.heads)
        near, ordered = row[order[: self.heads]], row[order]
        law = law_of(near, ordered, np.array([strength]))[0]
        return Weights(law, lambda i: float(log_law_of(near, ordered, strength)[i]), order)

    @cached_property
    def heads(self) -> int:
        """How many of the nearest words have a law of their own."""
        return heads(len(self.lexicon))

    # -- looking --------------------------------------------------------------------------------

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry as an exact step function of ε.

        The number of candidates K takes one uniform number, each candidate one Gumbel number; the
        output at s = 1/b is the largest of K falling lines −s·d_j + G_j.

        Args:
            rng: source of randomness.
            words: word indices, shape (k,).
            rankings: one for each entry, if known.
            epsilons: not needed.
        """
        entries = self.check_words(words)
        counts = poisson_quantile(rng.random(entries.size), len(self.lexicon))
        distinct, first, which = np.unique(entries, return_index=True, return_inverse=True)
        if rankings is None:
            rankings = rank(self.lexicon.vectors, self.lexicon.vectors[distinct])
        else:
            rankings = [rankings[i] for i in first.tolist()]
        parts = rectangles(counts)
        breaks: list[FloatArray] = []
        outputs: list[IntArray] = []
        for part in parts:
            width = int(counts[part].max())
            noise = standard_gumbel(rng, (part.size, width))
            noise[np.arange(width) >= counts[part][:, None]] = -math.inf
            own = [rankings[i] for i in which[part].tolist()]
            orders = np.stack([ranking.order[:width] for ranking in own])
            near = np.stack([ranking.distances[:width] for ranking in own])
            # In the order of distance: place j stands for the j-th nearest word.
            places = np.broadcast_to(np.arange(width), near.shape)
            limits, chosen = gumbel_paths(places, near, noise, math.inf)
            breaks.append(limits)
            outputs.append(np.take_along_axis(orders, chosen, axis=1))
        limits, words_on = joined(breaks, outputs)
        back = np.argsort(np.concatenate([*parts, np.empty(0, dtype=np.int64)]))
        # Breaks are in 2s, the nominal parameter of the exponential mechanism.
        return self.in_own_epsilon(EpsilonPaths(entries, limits[back], words_on[back]), 2.0)

    def _ranking(self, word: int) -> Ranking:
        vectors = self.lexicon.vectors
        return rank(vectors, vectors[[word]])[0]

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
        """The closed form over the whole vocabulary.

        Args:
            word: the word, or its index.
            epsilon: one ε, or E of them.
            rng: not needed.
            ranking: of this word, if known.
            effort: not needed.
        """
        index = int(self.check_words([word])[0])
        values = self.check_epsilons(epsilon)
        strengths = np.array([self.strength(float(value)) for value in values])
        ranking = ranking or self._ranking(index)
        probabilities = np.empty((values.size, len(self.lexicon)))
        near = ranking.distances[: self.heads]
        probabilities[:, ranking.order] = law_of(near, ranking.distances, strengths)
        return Law(
            lexicon=self.lexicon,
            word=index,
            epsilons=values,
            outputs=np.arange(len(self.lexicon)),
            probabilities=probabilities,
            exact=True,
            # x·e^(−x) ≤ 1/e times the relative error of a distance, summed over few terms.
            error=1e-12,
            method="closed form",
        )

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """ln P(output | word) of every word, shape (n,), also where the probability underflows."""
        index = int(self.check_words([word])[0])
        ranking = ranking or self._ranking(index)
        logs = np.empty(len(self.lexicon))
        near = ranking.distances[: self.heads]
        logs[ranking.order] = log_law_of(near, ranking.distances, self.strength(epsilon))
        return logs

    # -- hooks

    def bulk(self, epsilon: float) -> RepairedBulk:
        """Inversion of the closed form, of which the nearest words are kept."""
        return RepairedBulk(self, epsilon)

    @property
    def column_form(self) -> NearestForm:
        """A softmax over the nearest words, as many as a Poisson variable says."""
        return NearestForm(self.strength)

    @property
    def loss_search(self) -> LossSearch | None:
        """The search of the certificate, at this noise; of few words all pairs are quicker."""
        if len(self.lexicon) <= MAX_AUDIT_WORDS:
            return None
        method = "certificate at this noise: bounds on far pairs, closed form on the rest"
        return LossSearch(method, self._worst_loss)

    def _worst_loss(self, epsilon: float, progress: Progress) -> WorstLoss:
        strengths = np.array([self.strength(epsilon)])
        loss = repaired_losses(self.lexicon, strengths, progress)[0]
        logs = (self.log_law(word, epsilon) for word in (loss.word, loss.other))
        first, second = (float(law[loss.output]) for law in logs)
        vectors = self.lexicon.vectors
        apart = float(paired_distances(vectors[[loss.word]], vectors[[loss.other]])[0])
        worst = (loss.word, loss.other, loss.output, apart, first, second)
        return WorstLoss(loss.epsilon, _CERTIFIED * loss.epsilon, *worst)
