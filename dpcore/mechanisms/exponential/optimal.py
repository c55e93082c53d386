"""Optimal metric mechanism: P(y | w) = a_y·e^(−ε·d(w, y)) with K·a = 1.

With K_wv = e^(−ε·d(w, v)) and a = K⁻¹·1 every row sums to 1 by the definition of a. No normaliser
depends on the word, hence no factor of 2: the triangle inequality alone gives ε·d. And where a ≥ 0
and all words are equally likely, no mechanism that satisfies ε·d keeps more words, or lets an
attacker guess more, since a and the dual bound have one value (`docs/optimal.md`, Theorems 1 and 2;
for places on a map the construction with tight constraints of Chatzikokolakis, ElSalamouny,
Palamidessi 2017).

Below a critical ε some a_y would be negative. There a is the solution of the packing programme with
a ≥ 0, the normaliser differs a little from word to word, and the exponent η is the largest that was
certified to satisfy ε over all pairs of words (`packing.certified_weights`). Other weights can keep
more words: `standing` compares the words that stay with the bound.

Without weights for a lexicon a = 1, and |ln Z_w − ln Z_v| ≤ min(η·d, ln(1 + (n − 1)e^(−η·Δ₀))) with
Δ₀ the least distance of two words, so that the loss is at most ε·d for η = ε/2, and for η = ε +
ln(1 − (n − 1)e^(−ε·Δ₀))/Δ₀ where that is more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Rounding, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import Ranking
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS, CERTIFIED_BY_COMMAND_WORDS
from dpcore.mechanisms.certificate import (
    EPSILONS,
    CalibratedMechanism,
    Certificate,
    around_the_rise,
)
from dpcore.mechanisms.distances import distances_by_word
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.packing import (
    NORMALISER_ERROR,
    CertifiedWeights,
    certified_weights,
    keep_weights,
    known_weights,
    write_weights,
)
from dpcore.mechanisms.exponential.tem import euclidean_factor
from dpcore.mechanisms.exponential.tem_bulk import TemBulk, Weigher
from dpcore.mechanisms.exponential.tem_loss import log_normalisers
from dpcore.mechanisms.law import tem_rounding
from dpcore.mechanisms.mechanism import ColumnForm, KernelLaw, LossBounds
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Rows, Weights
from dpcore.outwards import at_least, at_most
from dpcore.written import Filled, Numeral, listed

# Words that the optimal mechanism keeps, compared with the bound.


ATTAINED = 1e-4  # relative difference at which bound and mechanism count as equal


@dataclass(frozen=True)
class Standing:
    """Share of words that stay compared with the bound, all words being equally likely.

    Attributes:
        epsilon: ε of the weights in use and of the bound.
        kept: share of words that stay, rounded down.
        bound: largest share under any mechanism that satisfies ε, rounded up.
    """

    epsilon: float
    kept: float
    bound: float

    @property
    def reached(self) -> float:
        """Kept words as a share of the bound."""
        return self.kept / self.bound

    @property
    def attained(self) -> bool:
        """True if the two agree to four digits, as they do at and above the critical ε."""
        return self.bound - self.kept <= ATTAINED * self.bound

    @property
    def sentence(self) -> str:
        """Both shares as text, with the conditions."""
        both = Filled(
            "With the weights for ε = {epsilon:.6g} a share of {kept} stays of words that are all "
            "equally likely, and no mechanism that keeps ε = {epsilon:.6g} keeps more than {bound}",
            epsilon=self.epsilon,
            kept=Numeral(at_least(self.kept, places=6)),
            bound=Numeral(at_most(self.bound, places=6)),
        )
        if self.attained:
            return Filled(
                "{both}, nor lets more of such words be guessed. The two agree, as they do at and "
                "above the critical ε of the lexicon: here it is optimal.",
                both=both,
            )
        return Filled(
            "{both}. That is {percent} % of the bound: below the critical ε of the lexicon another "
            "mechanism may keep more.",
            both=both,
            percent=Numeral(at_least(100.0 * self.reached, places=1)),
        )


_KEPT = 32  # cached ε of log weights and of normalisers: as many as a curve has
_ROUNDING = 1e-12  # relative, of a product of a few numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimal(CalibratedMechanism, ExactMechanism):
    """Mechanism a_y·e^(−η·d(w, y))/Z_w with certified weights; optimal where K⁻¹·1 ≥ 0."""

    key = "optimal.v1"
    short = "optimal"
    title = "Optimal metric mechanism"
    summary = (
        "Chooses a word with a probability that falls exponentially with its distance, weighted "
        "to keep the most words that its guarantee allows, if all are equally likely and ε is at "
        "or above the critical one of the vocabulary"
    )
    source = "docs/optimal.md, Theorems 1 and 2"
    meaning = EpsilonMeaning.METRIC
    certified_by_command = CERTIFIED_BY_COMMAND_WORDS

    metric: str = parameter(
        "euclidean", help="the metric of the guarantee", choices=tuple(str(m) for m in Metric)
    )

    def __post_init__(self) -> None:
        """Check the metric (with the reason against cosine)."""
        object.__setattr__(self, "metric", str(Metric.parse(self.metric)))
        super().__post_init__()
        if self.metric == Metric.ANGULAR and not self.lexicon.vectors.any(axis=1).all():
            raise ParameterError(
                "metric of optimal cannot be angular for this lexicon: a word has the zero "
                "vector, which has no angle; use another metric"
            )

    # -- the weights

    @property
    def is_known(self) -> bool:
        """True if the weights are bundled or were kept on this computer."""
        return known_weights(self.lexicon, Metric.parse(self.metric)) is not None

    @cached_property
    def _table(self) -> CertifiedWeights | None:
        """Certified weights of this lexicon and metric; None if there are none."""
        known = known_weights(self.lexicon, Metric.parse(self.metric))
        if known is not None or len(self.lexicon) > CERTIFIED_AT_ONCE_WORDS:
            return known
        return self._solve(silent)

    def _solve(self, progress: Progress) -> CertifiedWeights:
        """Compute the weights for `wanted` and keep them in the cache folder."""
        metric = Metric.parse(self.metric)
        table = certified_weights(self.lexicon, metric, self.wanted(), progress)
        keep_weights(self.lexicon, metric, table)
        return table

    def wanted(self) -> list[float]:
        """Return the ε for which weights are computed: round numbers, denser where the law changes.

        With Δ the diameter, words are hardly distinguished below ln(n)/4Δ; and beyond (ln n +
        14)/Δ₀ weights of 1 are within 1e-6 of the best.
        """
        extent = self.lexicon.with_metric(self.metric).extent
        size = math.log(max(len(self.lexicon), 2))
        low = 0.25 * (size / extent.diameter)
        high = (size + 14.0) / extent.separation if extent.separation > 0 else math.inf
        fine = set(around_the_rise(self.lexicon, self.metric))
        return sorted(fine | {epsilon for epsilon in EPSILONS if low < epsilon < high})

    def calibrate(self, progress: Progress = silent) -> Certificate:
        """Compute the weights, and keep them in the cache folder."""
        self.__dict__["_table"] = self._solve(progress)
        for follows in ("certificate", "_logarithms"):
            self.__dict__.pop(follows, None)
        return self.compute_certificate(progress)

    def write(self, path: Path, certificate: Certificate, provenance: Mapping[str, Any]) -> None:
        """Write the weights, from which the certificate follows."""
        if self._table is not None:
            write_weights(path, self.lexicon, Metric.parse(self.metric), self._table)

    @cached_property
    def certificate(self) -> Certificate | None:
        """Exponents with their certified ε; None if there are no weights."""
        return None if self._table is None else self.compute_certificate()

    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Return the certificate of the weights, which are computed if there are none."""
        table = self._table or self._solve(progress)
        return Certificate(table.epsilons, table.strengths)

    @cached_property
    def _separation(self) -> float:
        return float(self.lexicon.with_metric(self.metric).extent.separation)

    def proved_strength(self, epsilon: float) -> float:
        """Return η for a = 1: ε/2, or ε + ln(1 − (n − 1)e^(−ε·Δ₀))/Δ₀ if that is more."""
        gap, others = self._separation, len(self.lexicon) - 1.0
        share = others * math.exp(-min(epsilon * gap, 745.0))
        if not (gap > 0 and share < 1.0):
            return 0.5 * epsilon
        # The logarithm is rounded to the safe side.
        return max(0.5 * epsilon, epsilon + math.log1p(-share) / gap - 1e-14 * epsilon)

    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """Return η + min(η, ln(1 + (n − 1)e^(−η·Δ₀))/Δ₀)."""
        gap, others = self._separation, len(self.lexicon) - 1.0
        if not gap > 0:
            return 2.0 * strengths
        spread = np.log1p(others * np.exp(-strengths * gap)) / gap
        return np.asarray(strengths + np.minimum(strengths, spread * (1.0 + 1e-13)))

    def weights(self, epsilon: float) -> FloatArray:
        """Return a at ε, shape (n,), float64, in [0, 1]."""
        row = self._row(epsilon)
        if row is None or self._table is None:
            return np.ones(len(self.lexicon))
        return np.asarray(self._table.weights[row], dtype=np.float64)

    def _log_weights(self, epsilon: float) -> FloatArray:
        """Return ln a at ε, shape (n,); −∞ for a word without weight. Read-only."""
        row = self._row(epsilon)
        known = self._logarithms.get(row)  # looked up once: another session may clear them
        if known is None:
            with np.errstate(divide="ignore"):
                known = np.log(self.weights(epsilon))
            known.setflags(write=False)
            if len(self._logarithms) >= _KEPT:
                self._logarithms.clear()
            self._logarithms[row] = known
        return known

    @cached_property
    def _logarithms(self) -> dict[int | None, FloatArray]:
        return {}

    def least_staying(self, epsilon: float) -> FloatArray:
        """Bound P(w | w) from below for every word at ε, shape (n,), without a pass over pairs.

        a_w/Z_w from the table; for a = 1 the largest possible Z, with all others at Δ₀.
        """
        row = self._row(epsilon)
        if row is None or self._table is None:
            others = (len(self.lexicon) - 1.0) * math.exp(
                -min(self.strength(epsilon) * self._separation, 745.0)
            )
            return np.full(len(self.lexicon), (1.0 - 1e-12) / (1.0 + others))
        logs = self._table.normalisers[row].astype(np.float64) + 2.0 * NORMALISER_ERROR
        return np.asarray(self._table.weights[row] * np.exp(-logs))

    def _row(self, epsilon: float) -> int | None:
        """Return the table row with the strength at ε as exponent; None where a = 1 is better."""
        if self._table is None or self.certificate is None:
            return None
        strength = self.certificate.strength(epsilon)
        if not strength > self.proved_strength(epsilon):
            return None
        return int(np.flatnonzero(self._table.strengths == strength)[0])

    def standing(self, epsilon: float) -> Standing | None:
        """Return the words that stay at ε against the bound; None without weights of this lexicon.

        Between two known ε the weights are those of the smaller one, and so is the bound. Where
        weights of 1 are better, the bound is that of the next known ε above, or 1.
        """
        value = self.check_epsilon(epsilon)
        row, table = self._row(value), self._table
        if table is None:
            return None
        if row is not None:
            return Standing(
                float(table.wanted[row]), float(table.lower[row]), float(table.upper[row])
            )
        above = table.upper[table.wanted >= value]
        kept = float(self.least_staying(value).mean()) * (1.0 - _ROUNDING)
        return Standing(value, kept, float(above[0]) if above.size else 1.0)

    # -- the guarantee

    def promise(self, epsilon: float) -> MetricPrivacy:
        """Return the proved guarantee of a = 1."""
        return MetricPrivacy(
            epsilon=epsilon,
            status=Status.PROVED,
            reason=Filled(
                "Between two words at distance d the distances to an output differ by at most d, "
                "and the normalisers by no more than this exponent allows for."
            ),
            source=self.source,
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self._rounding(epsilon),
        )

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return metric privacy at ε, proved where rows sum to 1 by themselves, else certified."""
        value = self.check_epsilon(epsilon)
        row, standing = self._row(value), self.standing(value)
        if row is None or self._table is None or self._table.normalisers[row].any():
            plain = super().guarantee(value)
            if standing is None:
                return plain
            return replace(plain, reason=listed((plain.reason, standing.sentence), " "))
        reason = Filled(
            "P(y | w) = a_y·e^(−ε·d(w, y)) has no normaliser that depends on the word, so the "
            "triangle inequality alone bounds the loss by ε·d; that rows sum to 1 was computed for "
            "all {words:,} words, to 6 digits, which ε allows for.",
            words=len(self.lexicon),
        )
        return MetricPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=reason if standing is None else listed((reason, standing.sentence), " "),
            source=self.source,
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self._rounding(value),
        )

    def _rounding(self, epsilon: float) -> Rounding:
        """Bound the difference between the sampled law and the closed form."""
        eta, metric = self.strength(epsilon), Metric.parse(self.metric)
        reach = eta * self.lexicon.with_metric(metric).extent.diameter
        return tem_rounding(metric, self.lexicon.dimension, eta, reach)

    # -- the law

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln a_y − η·d − ln Z, shape (n,); −∞ for a word without weight."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        distance = self.distances(index, ranking, Metric.parse(self.metric))
        logs = self._log_weights(value) - self.strength(value) * distance
        top = logs.max()
        return np.asarray(logs - (top + math.log(np.exp(logs - top).sum())))

    def log_scores(
        self, word: int, epsilons: Sequence[float], ranking: Ranking
    ) -> Iterator[FloatArray]:
        """Yield, for each ε, ln a_y − η·d: ln P(y | word) without its normaliser.

        The normaliser is most of the work.
        """
        distance = self.distances(word, ranking, Metric.parse(self.metric))
        for epsilon in epsilons:
            yield self._log_weights(epsilon) - self.strength(epsilon) * distance

    def weigher(self, epsilon: float) -> Weigher:
        """Return a_y·e^(−η·d) as a function of d and y."""
        eta, weights = self.strength(epsilon), self.weights(epsilon)

        def weigh(distance: FloatArray, outputs: slice | IntArray) -> FloatArray:
            return np.asarray(np.exp(-eta * distance) * weights[outputs])

        return weigh

    def rows(self, epsilon: float) -> Rows:
        """Return the weights of all outputs with a > 0, for each distinct entry."""
        vectors, metric = self.lexicon.vectors, Metric.parse(self.metric)
        eta, weights = self.strength(epsilon), self.weights(epsilon)
        logs = self._log_weights(epsilon)

        def each(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, distance in distances_by_word(vectors, entries, metric):
                exponents = logs - eta * distance
                yield (
                    members,
                    Weights(
                        np.exp(-eta * distance) * weights, exponents.item, np.arange(distance.size)
                    ),
                )

        return each

    # -- hooks

    def bulk(self, epsilon: float) -> TemBulk:
        """Return a sampler by inversion in two steps; the first is cached for every word."""
        return TemBulk(self, epsilon)

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return loss bounds: weights and normalisers cancel, which leaves at most 2η·d."""
        promised = super().loss_bounds(guarantee).promised
        span = 2.0 * self.strength(guarantee.epsilon) / guarantee.epsilon * promised
        return LossBounds(promised, span * (1.0 + _ROUNDING))

    def kernel_law(self, epsilon: float) -> KernelLaw:
        """Return the kernel with the weights in use at ε."""
        value = self.check_epsilon(epsilon)
        metric = Metric.parse(self.metric)
        return KernelLaw(metric, self.strength(value), weights=self.weights(value))

    @property
    def column_form(self) -> ColumnForm:
        """Closed form with the stored normalisers."""
        return ColumnForm(self._column, NORMALISER_ERROR, Metric.parse(self.metric))

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        row, eta = self._row(epsilon), self.strength(epsilon)
        metric, vectors = Metric.parse(self.metric), self.lexicon.vectors
        distance = distances(vectors, vectors[[output]], metric)[0] if away is None else away
        if row is None or self._table is None:
            log_weight, normalisers = 0.0, _plain_normalisers(self.lexicon, metric, eta)
        else:
            weight = float(self._table.weights[row, output])
            log_weight = math.log(weight) if weight > 0 else -math.inf
            normalisers = self._table.normalisers[row].astype(np.float64)
        return np.asarray(log_weight - eta * distance - normalisers)


@lru_cache(maxsize=_KEPT)
def _plain_normalisers(lexicon: Lexicon, metric: Metric, eta: float) -> FloatArray:
    """Return ln Z of every word for a = 1, shape (n,): one pass over all pairs."""
    caps = np.array([math.inf])
    return np.asarray(log_normalisers(lexicon, metric, np.array([eta]), caps).logs[0])
