"""Truncated exponential mechanism TEM (Carvalho et al. 2021, Algorithms 2 and 3).

Algorithm 2 adds Gumbel noise to the scores of the words within γ and of one more element ⊥ that
represents all the others; its output law is that of an exponential mechanism with truncated
distances,

    P(y | w) = exp(−(ε/2)·min(D(w, y), γ)) / Z_w,

a closed form, so that sampling is one inversion, in integers: the law is exact to the last bit of
the weights. With the γ of Theorem 3,

    γ = (2/ε)·ln((1 − β)(n − 1)/β),

the cap in the exponent, c = (ε/2)·γ = ln((1 − β)(n − 1)/β), does not depend on ε. One draw as a
function of ε is then argmax_y max(−ε·D_y/2, −c) + G_y with fixed Gumbel noise G: the maximum of n
falling lines and of one constant, −c + max_y G_y, hence a step function with exact breaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Rounding, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_BY_COMMAND_WORDS
from dpcore.mechanisms.certificate import (
    EPSILONS,
    CalibratedMechanism,
    Certificate,
    around_the_rise,
    search,
)
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem_bulk import TemBulk, Weigher, outputs_by_distance
from dpcore.mechanisms.exponential.tem_loss import effective_epsilon, effective_epsilons
from dpcore.mechanisms.law import tem_rounding
from dpcore.mechanisms.mechanism import ExponentialForm, LossBounds, LossSearch, WorstLoss
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Rows, Weights
from dpcore.noise.samplers import standard_gumbel
from dpcore.written import Filled

# Closed form of TEM, as functions of distances alone (Carvalho et al. 2021, Algorithm 2).


def tem_gamma(epsilon: float, n: int, beta: float) -> float:
    """Return the γ of Theorem 3: P(an output beyond γ) is at most β.

    Args:
        epsilon: ε > 0.
        n: words of the vocabulary.
        beta: 0 < β < (n − 1)/n.
    """
    with np.errstate(over="ignore"):
        return float(np.float64(2.0 * log_odds(n, beta)) / epsilon)


def log_odds(n: int, beta: float) -> float:
    """Return c = ln((1 − β)(n − 1)/β), the cap in the exponent; positive for 0 < β < (n − 1)/n."""
    return math.log1p(-beta) + math.log(n - 1) - math.log(beta)


def capped(distance: FloatArray, epsilons: FloatArray, cap: FloatArray | float) -> FloatArray:
    """Return −min(ε·D/2, cap), shape (E, m)."""
    with np.errstate(over="ignore"):
        exponents = np.multiply.outer(0.5 * epsilons, distance)
    np.minimum(exponents, cap, out=exponents)
    return np.negative(exponents, out=exponents)


def normalised(exponents: FloatArray) -> FloatArray:
    """Return probabilities from exponents; the largest of each row is near 0 (D(w, w) = 0)."""
    exponents -= exponents.max(axis=1, keepdims=True)
    weights = np.exp(exponents, out=exponents)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


# The upper envelope of one Gumbel-max draw of TEM, as a step function of ε.
#
# score_y(ε) = max(−ε·D_y/2, −c) + G_y, so the maximum over y is the upper envelope, for ε > 0, of
# the falling lines −ε·D_y/2 + G_y and of the constant −c + max_y G_y, whose word is argmax_y G_y:
# max_y max(a_y, b_y) = max(max_y a_y, max_y b_y). A line can be on the envelope only if every
# nearer word has a smaller intercept; walking through the vocabulary by distance these are the
# running maxima of G, about ln n of n.


def _candidates(
    orders: IntArray, distances: FloatArray, noise: FloatArray, cap: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return word, distance and intercept of lines that can matter, shape (m, R), padded.

    The last running maximum is the largest of all, so the constant gets its word. Padding has
    an intercept of −∞.
    """
    # A line that starts lower than a nearer word's and falls faster is never on top.
    sorted_noise = np.take_along_axis(noise, orders, axis=1)
    highest = np.maximum.accumulate(sorted_noise, axis=1)
    record = np.ones(noise.shape, dtype=bool)
    record[:, 1:] = sorted_noise[:, 1:] > highest[:, :-1]
    row, column = np.nonzero(record)
    counts = np.bincount(row, minlength=noise.shape[0])
    first = np.cumsum(counts) - counts
    place = np.arange(row.size) - first[row] + 1
    shape = (noise.shape[0], int(counts.max()) + 1)
    words = np.zeros(shape, dtype=np.int64)
    distance = np.full(shape, math.inf)
    intercept = np.full(shape, -math.inf)
    words[row, place] = orders[row, column]
    distance[row, place] = distances[row, column]
    intercept[row, place] = sorted_noise[row, column]
    everyone = np.arange(noise.shape[0])
    words[:, 0] = words[everyone, counts]
    distance[:, 0] = 0.0
    intercept[:, 0] = highest[:, -1] - cap
    return words, distance, intercept


def gumbel_paths(
    orders: IntArray, distances: FloatArray, noise: FloatArray, cap: float
) -> tuple[FloatArray, IntArray]:
    """Return the breaks and outputs of m draws.

    Args:
        orders: the vocabulary of each draw by distance, shape (m, n).
        distances: those distances, ascending, shape (m, n).
        noise: Gumbel(0, 1) noise of each draw by word index, shape (m, n).
        cap: c > 0.

    Returns:
        Breaks in ε, ascending, padded with +inf, shape (m, P), and outputs, shape (m, P + 1),
        padded with the last one.
    """
    words, distance, intercept = _candidates(orders, distances, noise, cap)
    everyone = np.arange(noise.shape[0])
    current = intercept.argmax(axis=1)
    outputs = [words[everyone, current]]
    breaks: list[FloatArray] = []
    while True:
        # Lines G − ε·D/2 cross at ε = 2(G_c − G_y)/(D_c − D_y): a flatter one wins from there on.
        nearer = distance[everyone, current][:, None] - distance
        fall = intercept[everyone, current][:, None] - intercept
        crossing = np.full(nearer.shape, math.inf)
        np.divide(2.0 * fall, nearer, out=crossing, where=nearer > 0)
        soonest = crossing.min(axis=1)
        alive = np.isfinite(soonest)
        if not alive.any():
            break
        # Of lines that cross at the same ε, the flattest wins beyond it.
        following = np.where(crossing <= soonest[:, None], distance, math.inf).argmin(axis=1)
        current = np.where(alive, following, current)
        # Rounding must not put a break before the one that led to it.
        breaks.append(np.maximum(soonest, breaks[-1]) if breaks else soonest)
        outputs.append(words[everyone, current])
    limits = np.stack(breaks, axis=1) if breaks else np.empty((noise.shape[0], 0))
    return limits, np.stack(outputs, axis=1)


def _row(n: int, inside: IntArray, apart: FloatArray) -> FloatArray:
    """Return distances to all n words, shape (n,): inf for those not inside."""
    row = np.full(n, math.inf)
    row[inside] = apart
    return row


_BLOCK_ENTRIES = 2_000_000  # float64 entries of one block of distances: 16 MB
_ROUNDING = 1e-12  # relative, of a product of a few numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedExponential(ExactMechanism):
    """TEM with the γ of Theorem 3 over any metric of the lexicon's vectors."""

    key = "tem.v1"
    short = "tem"
    title = "Truncated exponential (TEM)"
    summary = (
        "Chooses a word with a probability that falls exponentially with its distance, "
        "and equally among all words beyond a threshold"
    )
    source = "Carvalho et al. 2021, Algorithms 2 and 3"
    cited: ClassVar[tuple[str, ...]] = ("carvalho2021tem",)
    meaning = EpsilonMeaning.METRIC
    log_error = None  # `law_error` gives the bound

    beta: float = parameter(
        0.001, help="probability β that a word beyond the threshold comes out", low=0.0, high=1.0
    )
    metric: str = parameter(
        "euclidean", help="the metric of the guarantee", choices=tuple(str(m) for m in Metric)
    )

    def __post_init__(self) -> None:
        """Check the metric (with the reason against cosine) and β against the lexicon."""
        object.__setattr__(self, "metric", str(Metric.parse(self.metric)))
        super().__post_init__()
        n = len(self.lexicon)
        if not 0 < self.beta < (n - 1) / n:
            msg = (
                f"beta of tem must be > 0 and < (n - 1)/n = {(n - 1) / n:.6g} for this lexicon, "
                f"got {self.beta}"
            )
            raise ParameterError(msg)
        if self.metric == Metric.ANGULAR and not self.lexicon.vectors.any(axis=1).all():
            raise ParameterError(
                "metric of tem cannot be angular for this lexicon: a word has the zero vector, "
                "which has no angle; use another metric"
            )

    @property
    def cap(self) -> float:
        """c = (ε/2)·γ, the same for every ε."""
        return log_odds(len(self.lexicon), self.beta)

    def gamma(self, epsilon: float) -> float:
        """Return the threshold γ at ε, in units of the metric (Theorem 3)."""
        return tem_gamma(self.check_epsilon(epsilon), len(self.lexicon), self.beta)

    def nominal(self, epsilon: float) -> float:
        """Return twice the exponent at ε: ε itself."""
        return self.check_epsilon(epsilon)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return ε·d for the chosen metric, all pairs of words and all outputs (Theorem 2)."""
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason=Filled(
                "Between two words at distance d the truncated distance to any output differs by "
                "at most d, so weight and normaliser each change by a factor of at most e^(ε·d/2)."
            ),
            source=Filled("Carvalho et al. 2021, Theorem 2"),
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self.rounding(epsilon),
        )

    def rounding(self, epsilon: float) -> Rounding:
        """Bound the difference between the law of `sample` and the closed form."""
        metric, dimension = Metric.parse(self.metric), self.lexicon.dimension
        return tem_rounding(metric, dimension, 0.5 * self.nominal(epsilon), self.cap)

    # -- release

    def reach(self, epsilon: float) -> float:
        """Return a distance from which on all words have one weight; inf if it is not used.

        It is γ, rounded up by more than its own rounding.
        """
        if Metric.parse(self.metric) is not Metric.EUCLIDEAN:
            return math.inf
        with np.errstate(over="ignore"):
            return float(np.float64(2.0 * self.cap) / self.nominal(epsilon)) * (1.0 + _ROUNDING)

    def weigher(self, epsilon: float) -> Weigher:
        """Return e^(−min(η·d, c)) as a function of d, the same for all outputs."""
        nominal = np.array([self.nominal(epsilon)])
        return lambda distance, _outputs: np.exp(capped(distance, nominal, self.cap)[0])

    def rows(self, epsilon: float) -> Rows:
        """Return the weights e^(−min(η·D, c)) of all outputs; the largest is 1 without scaling."""
        vectors, metric = self.lexicon.vectors, Metric.parse(self.metric)
        outputs, nominal = np.arange(len(vectors)), np.array([self.nominal(epsilon)])
        reach = self.reach(epsilon)

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, distance in self._distances(entries, metric, reach):
                logs = capped(distance, nominal, self.cap)[0]
                yield members, Weights(np.exp(logs), logs.item, outputs)

        return weights

    def _distances(
        self, entries: IntArray, metric: Metric, reach: float
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield, as `distances_by_word`, distances to all words; inf for words beyond a reach."""
        n = len(self.lexicon)
        distinct, positions = by_word(entries)
        step = max(1, _BLOCK_ENTRIES // n)
        for start in range(0, len(distinct), step):
            block = np.array(distinct[start : start + step])
            near = None if reach == math.inf else self.lexicon.words_within(block, reach)
            if near is None:
                rows: Iterable[FloatArray] = distances(
                    self.lexicon.vectors, self.lexicon.vectors[block], metric
                )
            else:
                rows = (_row(n, *each) for each in near)
            yield from zip(positions[start : start + step], rows, strict=True)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw one exact step function of ε > 0 per entry; no grid is needed.

        At every ε the output has the law of TEM. Each entry uses n Gumbel numbers, in the order of
        the vocabulary; rankings are used if the metric is Euclidean.
        """
        entries = self.check_words(words)
        n = len(self.lexicon)
        step = max(1, _BLOCK_ENTRIES // n)
        known: dict[int, Ranking] = {}
        if rankings is not None and self.metric == Metric.EUCLIDEAN:
            known = dict(zip(entries.tolist(), rankings, strict=True))
        parts: list[EpsilonPaths] = []
        for start in range(0, entries.size, step):
            block = entries[start : start + step]
            known = self._ranked(block, known)
            ranked = [known[word] for word in block.tolist()]
            limits, words_on = gumbel_paths(
                np.stack([ranking.order for ranking in ranked]),
                np.stack([ranking.distances for ranking in ranked]),
                standard_gumbel(rng, (block.size, n)),
                self.cap,
            )
            parts.append(EpsilonPaths(block, limits, words_on))
        return EpsilonPaths.join(parts)

    def _ranked(self, block: IntArray, known: dict[int, Ranking]) -> dict[int, Ranking]:
        """Return `known` with the missing rankings of this block, without those of other blocks."""
        missing = sorted(set(block.tolist()) - known.keys())
        if not missing:
            return known
        vectors = self.lexicon.vectors
        ranked = rank(vectors, vectors[missing], Metric.parse(self.metric))
        return known | dict(zip(missing, ranked, strict=True))

    # -- probabilities

    @property
    def law_error(self) -> float:
        """Error bound: distances have a relative error of 1e-13, an exponent is at most c."""
        return 4e-13 * (1.0 + self.cap)

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return the closed form at all ε at once, shape (E, n)."""
        distance = self.distances(word, ranking, Metric.parse(self.metric))
        nominal = np.array([self.nominal(epsilon) for epsilon in epsilons.tolist()])
        return normalised(capped(distance, nominal, self.cap))

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln of the law: except for β near 0, the cap prevents underflow."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities(index, np.array([value]), ranking)[0]))

    def log_bounds(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds by `law_error`, valid for logarithms as an exponent is at most c."""
        logs = self.log_law(word, epsilon, ranking=ranking)
        return logs - self.law_error, logs + self.law_error

    # -- hooks

    def bulk(self, epsilon: float) -> TemBulk:
        """Return a sampler by inversion in two steps; the first is cached for every word."""
        return TemBulk(self, epsilon, self.reach(epsilon))

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Invert with Euclidean distances from matrix products; other metrics have none."""
        if self.metric != Metric.EUCLIDEAN:
            return super().sweep(rng, entries, epsilons, progress)
        return outputs_by_distance(self, rng, entries, epsilons, progress)

    @property
    def column_form(self) -> ExponentialForm:
        """Closed form; of its parameters only η = `nominal`/2 depends on ε."""
        return ExponentialForm(
            Metric.parse(self.metric), self.cap, lambda epsilon: 0.5 * self.nominal(epsilon)
        )

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return loss bounds: the quotient of normalisers, common to all losses, cancels.

        The difference lies between ±min(η·d, c): truncated distances differ by min(d, γ) at most.
        """
        promised = super().loss_bounds(guarantee).promised
        # 2η·d at the largest d: the part of ε·d that η takes, twice.
        untruncated = self.nominal(guarantee.epsilon) / guarantee.epsilon * promised
        return LossBounds(promised, min(untruncated, 2.0 * self.cap) * (1.0 + _ROUNDING))

    @property
    def loss_search(self) -> LossSearch:
        """Search: the largest loss of two words is at one of them (see `tem_loss`)."""

        def find(epsilon: float, progress: Progress) -> WorstLoss:
            gamma = self.gamma(epsilon)  # γ = c/η, whatever the exponent η is
            return effective_epsilon(self.lexicon, self.metric, self.cap / gamma, gamma, progress)

        return LossSearch("closed form", find)

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Return the true ε: half of the nominal ε covers a normaliser that hardly changes."""
        gammas = [self.gamma(epsilon) for epsilon in epsilons]
        halves = [0.5 * epsilon for epsilon in epsilons]
        losses = effective_epsilons(self.lexicon, self.metric, halves, gammas)
        return [loss.epsilon for loss in losses]


@lru_cache(maxsize=8)
def euclidean_factor(lexicon: Lexicon, metric: Metric) -> float:
    """Return an f with d(w, w′) ≤ f·‖φ_w − φ_w′‖₂ for all words."""
    if metric is Metric.MANHATTAN:
        return math.sqrt(lexicon.dimension)
    if metric is Metric.ANGULAR:
        # Moving both words inwards to the smallest norm r does not stretch their difference, and
        # there it is the chord 2r·sin(θ/2) ≥ 2rθ/π.
        squares = np.einsum("ij,ij->i", lexicon.vectors, lexicon.vectors, dtype=np.float64)
        return 0.5 * math.pi / math.sqrt(float(squares.min()))
    return 1.0


# TEM with the largest exponent that its ε allows on this lexicon.
#
# TEM spends half of ε on the weight of a word and half on its normaliser, because the two could
# change in the same direction by as much as the distance. On a real vocabulary they do not: the
# true ε is .5 to .75 of the nominal one (`tem_loss`). Here the exponent is η(ε), the largest that
# was certified to have a true ε of at most ε; γ is that of Theorem 3 with η in place of ε/2, so at
# ε this is TEM at the nominal parameter 2η(ε) ≥ ε, and P(a word beyond γ) ≤ β holds as in TEM.


_START = 32  # initial exponents of the search


@dataclass(frozen=True, eq=False, kw_only=True)
class TemCalibrated(CalibratedMechanism, TruncatedExponential):
    """TEM at the nominal parameter 2η(ε), η certified on the lexicon."""

    key = "tem-calibrated.v1"
    short = "tem-calibrated"
    title = "Calibrated TEM"
    summary = (
        "TEM with the least randomness that its guarantee allows on this very vocabulary, "
        "where every pair of words was computed"
    )
    source = "our calibration of Carvalho et al. 2021, Algorithm 2"
    cited: ClassVar[tuple[str, ...]] = ("carvalho2021tem",)
    certified_by_command = CERTIFIED_BY_COMMAND_WORDS

    def proved_strength(self, epsilon: float) -> float:
        """Return η = ε/2 (Carvalho et al. 2021, Theorem 2)."""
        return 0.5 * epsilon

    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """Return 2η."""
        return 2.0 * strengths

    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Compute exponents η and their loss over all pairs of words."""
        return _certificate(self.lexicon, Metric.parse(self.metric), self.beta, progress)

    def nominal(self, epsilon: float) -> float:
        """Return 2η(ε): the parameter of plain TEM with this law."""
        return 2.0 * self.strength(epsilon)

    def gamma(self, epsilon: float) -> float:
        """Return the threshold γ at ε: Theorem 3 with η(ε) in place of ε/2."""
        return super().gamma(self.nominal(epsilon))

    def promise(self, epsilon: float) -> MetricPrivacy:
        """Return the guarantee of Theorem 2, for the exponent ε/2."""
        return MetricPrivacy(
            epsilon=epsilon,
            status=Status.PROVED,
            reason=Filled(
                "With the exponent ε/2 the truncated distance to any output differs by at most d "
                "between two words, so weight and normaliser each change by at most e^(ε·d/2)."
            ),
            source=Filled("Carvalho et al. 2021, Theorem 2"),
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self.rounding(epsilon),
        )

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Return None: η is calibrated so that ε is true."""
        return None

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw one exact step function of ε per entry: that of TEM, at 2η(ε)."""
        return self.in_own_epsilon(super().paths(rng, words, rankings=rankings), 2.0)


def _certificate(lexicon: Lexicon, metric: Metric, beta: float, progress: Progress) -> Certificate:
    """Find exponents η whose exact ε_eff over all pairs lies just below each ε of the table.

    γ is that of Theorem 3 with η in place of ε/2, so c = η·γ does not depend on η. Once η·Δ₀
    reaches c, every other word is beyond γ and the law no longer changes: the largest η tried is
    c/Δ₀.

    Args:
        lexicon: words and vectors.
        metric: of the guarantee.
        beta: β of γ.
        progress: called with (stage, done, all); several rounds.
    """
    cap = log_odds(len(lexicon), beta)
    # Slightly beyond, so that rounding leaves no pair within γ.
    last = cap / lexicon.with_metric(metric).extent.separation * (1.0 + 1e-9)
    first = min(0.5 * EPSILONS[0], 0.5 * last)

    def evaluate(etas: FloatArray) -> FloatArray:
        losses = effective_epsilons(lexicon, metric, etas, cap / etas, progress)
        # The certificate is a bound: the computed loss and its error, rounded up.
        return np.nextafter([loss.epsilon + loss.error for loss in losses], np.inf)

    start = np.geomspace(first, min(last, EPSILONS[-1]), _START)
    return search(evaluate, start, around_the_rise(lexicon, metric))
