"""The truncated exponential mechanism TEM (Carvalho et al. 2021, Algorithms 2 and 3).

Algorithm 2 adds Gumbel noise to the scores of the words within γ and of one more element ⊥ that
stands for all the others; its output law is that of an exponential mechanism with truncated
distances,

    P(y | w) = exp(−(ε/2)·min(D(w, y), γ)) / Z_w,

a closed form, so that sampling is one inversion, in integers: the law is kept to the last bit of
the weights. With the γ of Theorem 3,

    γ = (2/ε)·ln((1 − β)(n − 1)/β),

the cap in the exponent, c = (ε/2)·γ = ln((1 − β)(n − 1)/β), does not depend on ε. One draw as a
function of ε is then argmax_y max(−ε·D_y/2, −c) + G_y with fixed Gumbel noise G: the maximum of
n falling lines and of one constant, −c + max_y G_y, hence a step function with exact breaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.bulk.sweep_tem import outputs_by_distance
from dpcore.mechanisms.bulk.tem import TemBulk, Weigher
from dpcore.mechanisms.distance_blocks import distances_by_word
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem_law import capped, log_odds, normalised, tem_gamma
from dpcore.mechanisms.exponential.tem_loss import effective_epsilon, effective_epsilons
from dpcore.mechanisms.exponential.tem_path import gumbel_paths
from dpcore.mechanisms.hooks import ExponentialForm, LossBounds, LossSearch
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.sampled_law import tem_rounding
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Weights
from dpcore.noise.gumbel import standard_gumbel

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.guarantee import Rounding
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.hooks import WorstLoss
    from dpcore.noise.discrete import Rows

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
    log_error = None  # `law_error` says it

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
        """The threshold γ at ε, in units of the metric (Theorem 3)."""
        return tem_gamma(self.check_epsilon(epsilon), len(self.lexicon), self.beta)

    def nominal(self, epsilon: float) -> float:
        """Twice the exponent at ε: ε itself."""
        return self.check_epsilon(epsilon)

    def guarantee(self, epsilon: float) -> Guarantee:
        """ε·d for the chosen metric, for every pair of words and every output (Theorem 2)."""
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason=(
                "Between two words at distance d the truncated distance to any output differs by "
                "at most d, so weight and normaliser each change by a factor of at most e^(ε·d/2)."
            ),
            source="Carvalho et al. 2021, Theorem 2",
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self.rounding(epsilon),
        )

    def rounding(self, epsilon: float) -> Rounding:
        """How far the law that `sample` draws from may lie from the closed form."""
        metric, dimension = Metric.parse(self.metric), self.lexicon.dimension
        return tem_rounding(metric, dimension, 0.5 * self.nominal(epsilon), self.cap)

    # -- release

    def weigher(self, epsilon: float) -> Weigher:
        """e^(−min(η·d, c)) as a function of d; all outputs weigh alike."""
        nominal = np.array([self.nominal(epsilon)])
        return lambda distance, _outputs: np.exp(capped(distance, nominal, self.cap)[0])

    def rows(self, epsilon: float) -> Rows:
        """The weights e^(−min(η·D, c)) of all outputs: the largest is 1 as it stands."""
        vectors, metric = self.lexicon.vectors, Metric.parse(self.metric)
        outputs, nominal = np.arange(len(vectors)), np.array([self.nominal(epsilon)])

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, distance in distances_by_word(vectors, entries, metric):
                logs = capped(distance, nominal, self.cap)[0]
                yield members, Weights(np.exp(logs), logs.item, outputs)

        return weights

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry as an exact step function of ε > 0; no grid is needed.

        At every ε the output has the law of TEM. Each entry uses n Gumbel numbers, in the order
        of the vocabulary; rankings are used if the metric is Euclidean.
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
        """`known` with the rankings of this block; those computed for other blocks may go."""
        missing = sorted(set(block.tolist()) - known.keys())
        if not missing:
            return known
        vectors = self.lexicon.vectors
        ranked = rank(vectors, vectors[missing], Metric.parse(self.metric))
        return known | dict(zip(missing, ranked, strict=True))

    # -- probabilities

    @property
    def law_error(self) -> float:
        """Distances are right to 1e-13 of themselves, and an exponent is at most c."""
        return 4e-13 * (1.0 + self.cap)

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """The closed form at all ε at once, shape (E, n)."""
        distance = self.distances(word, ranking, Metric.parse(self.metric))
        nominal = np.array([self.nominal(epsilon) for epsilon in epsilons.tolist()])
        return normalised(capped(distance, nominal, self.cap))

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """ln of the law: but for a β next to 0, the cap keeps every probability above underflow."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities(index, np.array([value]), ranking)[0]))

    def log_bounds(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """An exponent is at most c, so `law_error` bounds the error of every logarithm too."""
        logs = self.log_law(word, epsilon, ranking=ranking)
        return logs - self.law_error, logs + self.law_error

    # -- hooks

    def bulk(self, epsilon: float) -> TemBulk:
        """Inversion in two steps, of which the first is kept for every word."""
        return TemBulk(self, epsilon)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Inversion with Euclidean distances from matrix products; other metrics have none."""
        if self.metric != Metric.EUCLIDEAN:
            return super().sweep(rng, entries, epsilons, progress)
        return outputs_by_distance(self, rng, entries, epsilons, progress)

    @property
    def column_form(self) -> ExponentialForm:
        """The closed form, of whose parameters only η = `nominal`/2 moves with ε."""
        return ExponentialForm(
            Metric.parse(self.metric), self.cap, lambda epsilon: 0.5 * self.nominal(epsilon)
        )

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """All losses of two words share the quotient of their normalisers, so it cancels.

        What is left lies between ±min(η·d, c): truncated distances differ by min(d, γ) at most.
        """
        promised = super().loss_bounds(guarantee).promised
        # 2η·d at the largest d: of ε·d the part that η takes, twice.
        untruncated = self.nominal(guarantee.epsilon) / guarantee.epsilon * promised
        return LossBounds(promised, min(untruncated, 2.0 * self.cap) * (1.0 + _ROUNDING))

    @property
    def loss_search(self) -> LossSearch:
        """The largest loss of two words is at one of them (see `tem_loss`)."""

        def find(epsilon: float, progress: Progress) -> WorstLoss:
            gamma = self.gamma(epsilon)  # γ = c/η, whatever the exponent η is
            return effective_epsilon(self.lexicon, self.metric, self.cap / gamma, gamma, progress)

        return LossSearch("closed form", find)

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Half of ε is spent on a normaliser that hardly changes: the true ε is less."""
        gammas = [self.gamma(epsilon) for epsilon in epsilons]
        halves = [0.5 * epsilon for epsilon in epsilons]
        losses = effective_epsilons(self.lexicon, self.metric, halves, gammas)
        return [loss.epsilon for loss in losses]


@lru_cache(maxsize=8)
def euclidean_factor(lexicon: Lexicon, metric: Metric) -> float:
    """An f with d(w, w′) ≤ f·‖φ_w − φ_w′‖₂ for all words."""
    if metric is Metric.MANHATTAN:
        return math.sqrt(lexicon.dimension)
    if metric is Metric.ANGULAR:
        # Moving both words inwards to the smallest norm r does not stretch their difference, and
        # there it is the chord 2r·sin(θ/2) ≥ 2rθ/π.
        squares = np.einsum("ij,ij->i", lexicon.vectors, lexicon.vectors, dtype=np.float64)
        return 0.5 * math.pi / math.sqrt(float(squares.min()))
    return 1.0
