"""SanText (Yue et al. 2021): the exponential mechanism over all words, with the distance as score.

    P(y | x) = exp(−(ε/2)·d(x, y)) / Z_x

over the whole vocabulary, the word itself among the outputs. It is TEM without its threshold.
Implemented after the definition in github.com/xiangyue9607/SanText, file SanText.py at commit
3f40a17, which uses the Euclidean distance.

For a metric d the triangle inequality changes weight and normaliser by at most e^(ε·d/2) each, so
ε·d holds. It does not for the cosine "distance" 1 − cos θ, which variants use: two words at a small
angle θ are θ²/2 apart by it, while their distances to a word at a right angle in the same plane
differ by sin θ, so that the loss per distance grows as 2/θ. The smallest repair is the angle θ
itself, which is a metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Rounding, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.bulk import Bulk
from dpcore.mechanisms.distances import (
    COLUMN_ERROR,
    Normalisers,
    distances_by_word,
    near_distances,
)
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem import capped, euclidean_factor, gumbel_paths, normalised
from dpcore.mechanisms.exponential.tem_bulk import TemBulk, Weigher
from dpcore.mechanisms.exponential.tem_loss import effective_epsilon, effective_epsilons
from dpcore.mechanisms.law import tem_rounding
from dpcore.mechanisms.mechanism import (
    ColumnForm,
    ExponentialForm,
    LossBounds,
    LossSearch,
    WorstLoss,
)
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Rows, Weights
from dpcore.noise.samplers import standard_gumbel
from dpcore.written import Filled, listed

COSINE = "cosine"
_BLOCK_ENTRIES = 2_000_000  # float64 entries of one block of noise: 16 MB
_BLOCK = 512  # words whose distances are held at a time
_ROUNDING = 1e-12  # relative, of a product of a few numbers


def cosine_of_angle(angle: FloatArray) -> FloatArray:
    """Return 1 − cos θ, without the cancellation near 0."""
    return np.asarray(2.0 * np.sin(0.5 * angle) ** 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class SanText(ExactMechanism):
    """Exponential mechanism e^(−ε·d/2) over all words, with a metric or the cosine distance."""

    key = "santext.v1"
    short = "santext"
    title = "SanText"
    summary = (
        "Chooses among all words with a probability that falls exponentially with the distance"
    )
    source = "Yue et al. 2021; code xiangyue9607/SanText at 3f40a17"
    cited: ClassVar[tuple[str, ...]] = ("yue2021santext",)
    meaning = EpsilonMeaning.METRIC

    metric: str = parameter(
        "euclidean",
        help="the distance; cosine is no metric, and the guarantee in it is refuted: angular holds",
        choices=("euclidean", "angular", COSINE),
    )

    def __post_init__(self) -> None:
        """Check that all words have angles, if the metric needs them."""
        super().__post_init__()
        if self.metric != Metric.EUCLIDEAN and not self.lexicon.vectors.any(axis=1).all():
            raise ParameterError(
                f"metric of santext cannot be {self.metric} for this lexicon: a word has the zero "
                "vector, which has no angle; use euclidean"
            )

    @property
    def _parsed(self) -> Metric:
        """Metric in which distances are computed; the cosine follows from the angle."""
        return Metric.ANGULAR if self.metric == COSINE else Metric.parse(self.metric)

    def _scores(self, distance: FloatArray) -> FloatArray:
        """Return d from the `distances` in `_parsed`."""
        return cosine_of_angle(distance) if self.metric == COSINE else distance

    @property
    def _diameter(self) -> float:
        """Upper bound on d."""
        bounds = {"euclidean": 2.0 * self.lexicon.largest_norm, "angular": math.pi, COSINE: 2.0}
        return bounds[self.metric]

    # -- the guarantee

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee ε·d, proved for a metric, refuted for 1 − cos θ."""
        value = self.check_epsilon(epsilon)
        reason = Filled(
            "Between two words at distance d the distance to any output differs by at most d, so "
            "weight and normaliser each change by a factor of at most e^(ε·d/2)."
        )
        factor = euclidean_factor(self.lexicon, self._parsed)
        if self.metric == COSINE:
            reason = Filled(
                "1 − cos θ breaks the triangle inequality: two words at a small angle θ are θ²/2 "
                "apart, but their distances to a third may differ by sin θ, and the loss per "
                "distance grows as 2/θ. With metric=angular the guarantee holds."
            )
            # ½c² ≤ c for chords c ≤ 2, and c ≤ θ.
        return MetricPrivacy(
            epsilon=value,
            status=Status.REFUTED if self.metric == COSINE else Status.PROVED,
            reason=reason,
            source=self.source,
            metric=self.metric,
            euclidean_factor=factor,
            rounding=self.rounding(value),
        )

    def rounding(self, epsilon: float) -> Rounding:
        """Bound the difference between the law of `sample` and the closed form."""
        eta = 0.5 * self.check_epsilon(epsilon)
        return tem_rounding(self._parsed, self.lexicon.dimension, eta, eta * self._diameter)

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray:
        """Return distances between words in the chosen metric, or 1 − cos θ."""
        self.check_epsilon(epsilon)
        points = self.lexicon.vectors[words]
        return self._scores(distances(points, points, self._parsed))

    # -- the law

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return the closed form at all ε at once, shape (E, n)."""
        return normalised(capped(self._away(word, ranking), epsilons, math.inf))

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return −ε·d/2 − ln Z, shape (n,), also where the probability underflows."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        logs = -0.5 * value * self._away(index, ranking)
        return np.asarray(logs - math.log(np.exp(logs).sum()))  # the word's own weight is 1

    def _away(self, word: int, ranking: Ranking | None) -> FloatArray:
        """Return d of a word to all, shape (n,)."""
        row = self._scores(self.distances(word, ranking, self._parsed))
        row[word] = 0.0  # an angle to itself may be off by its last bit
        return row

    # -- draws

    def weigher(self, epsilon: float) -> Weigher:
        """Return e^(−ε·d/2) as a function of the metric."""
        eta = 0.5 * self.check_epsilon(epsilon)
        return lambda distance, _outputs: np.exp(-eta * distance)

    def rows(self, epsilon: float) -> Rows:
        """Return the weights e^(−ε·d/2) of all outputs; the largest is 1 without scaling."""
        vectors, eta = self.lexicon.vectors, 0.5 * self.check_epsilon(epsilon)
        outputs = np.arange(len(vectors))

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, distance in distances_by_word(vectors, entries, self._parsed):
                row = self._scores(distance)
                row[entries[members[0]]] = 0.0
                logs = -eta * row
                yield members, Weights(np.exp(logs), logs.item, outputs)

        return weights

    def bulk(self, epsilon: float) -> Bulk:
        """Return a sampler by inversion in two steps; the first is cached for every word."""
        return super().bulk(epsilon) if self.metric == COSINE else TemBulk(self, epsilon)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw one exact step function of ε > 0 per entry, as TEM without a threshold."""
        entries, n, vectors = self.check_words(words), len(self.lexicon), self.lexicon.vectors
        known: dict[int, Ranking] = {}
        if rankings is not None and self._parsed is Metric.EUCLIDEAN:
            known = dict(zip(entries.tolist(), rankings, strict=True))
        step, parts = max(1, _BLOCK_ENTRIES // n), []
        for start in range(0, entries.size, step):
            block = entries[start : start + step]
            missing = sorted(set(block.tolist()) - known.keys())
            new = rank(vectors, vectors[missing], self._parsed) if missing else ()
            ranked = known | dict(zip(missing, new, strict=True))
            limits, outputs = gumbel_paths(
                np.stack([ranked[word].order for word in block.tolist()]),
                np.stack([self._scores(ranked[word].distances) for word in block.tolist()]),
                standard_gumbel(rng, (block.size, n)),
                math.inf,
            )
            parts.append(EpsilonPaths(block, limits, outputs))
        return EpsilonPaths.join(parts)

    # -- hooks

    @property
    def column_form(self) -> ExponentialForm | None:
        """Closed form; None with the cosine, which needs the laws of all words."""
        if self.metric == COSINE:
            return None
        return ExponentialForm(self._parsed, math.inf, lambda epsilon: 0.5 * epsilon)

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return loss bounds: for a metric, normalisers cancel, which leaves at most ε·d."""
        promised = super().loss_bounds(guarantee).promised
        if self.metric == COSINE:
            return LossBounds(promised)
        return LossBounds(promised, promised * (1.0 + _ROUNDING))

    @property
    def loss_search(self) -> LossSearch | None:
        """Search for a metric: the largest loss of two words is at one of them (see `tem_loss`)."""
        if self.metric == COSINE:
            return None

        def find(epsilon: float, progress: Progress) -> WorstLoss:
            return effective_epsilon(self.lexicon, self.metric, 0.5 * epsilon, math.inf, progress)

        return LossSearch("closed form", find)

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Return the true ε: half of the nominal ε covers a normaliser that hardly changes."""
        if self.metric == COSINE:
            return None
        halves = [0.5 * epsilon for epsilon in epsilons]
        none = [math.inf] * len(halves)
        return [
            loss.epsilon for loss in effective_epsilons(self.lexicon, self.metric, halves, none)
        ]


def cosine_stretch(lexicon: Lexicon, words: IntArray) -> tuple[float, int, int, int]:
    """Return the worst violation of the triangle inequality by 1 − cos θ among these words.

    Args:
        lexicon: its vectors.
        words: indices, shape (k,).

    Returns:
        max (d(x, y) − d(x′, y))/d(x, x′) over x ≠ x′ of `words` and all words y, which is 1 at most
        for a metric, and x, x′, y.
    """
    vectors = lexicon.vectors
    rows = cosine_of_angle(distances(vectors, vectors[words], Metric.ANGULAR))
    best = (0.0, 0, 0, 0)
    for i, x in enumerate(words.tolist()):
        apart = rows[i, words].copy()
        apart[i] = math.inf
        excess = (rows[i] - rows) / apart[:, None]
        j, y = divmod(int(excess.argmax()), len(vectors))
        if excess[j, y] > best[0]:
            best = (float(excess[j, y]), x, int(words[j]), y)
    return best


# SanText+ (Yue et al. 2021): SanText for sensitive words, and sometimes for the others.
#
# The vocabulary has a part V_S of sensitive words: its rarest ones, a share w. With P_S the law of
# SanText over V_S,
#
#     x in V_S:      P(y | x) = P_S(y | x) = exp(−(ε/2)·d(x, y))/Z_x,  y in V_S;
#     x not in V_S:  x itself with probability 1 − p, else a word of V_S by P_S(· | x).
#
# Implemented after github.com/xiangyue9607/SanText, files SanText.py and run_SanText.py at commit
# 3f40a17 (defaults ε = 15, p = .2, w = .5). There the frequencies are those of the private train
# and dev files; here V_S is defined by the public order of the lexicon, most frequent first,
# without which nothing below holds.
#
# Protected: two words of V_S have a loss of at most ε·d, by the triangle inequality; and from V_S
# to another word it is at most ε·d + ln(1/p), on outputs in V_S. Not protected: an output that is
# not in V_S proves that it was the input. So the guarantee holds under the condition that both
# words are sensitive. An output in V_S makes a sensitive word 1/p times as likely as before: with a
# share π of sensitive places the odds π : (1 − π) become π : p(1 − π).


@dataclass(frozen=True, eq=False, kw_only=True)
class SanTextPlus(ExactMechanism):
    """SanText over the rarest words; a frequent word usually stays."""

    key = "santext-plus.v1"
    short = "santext-plus"
    title = "SanText+"
    summary = (
        "Exchanges rare words among each other as SanText does, and mostly leaves a frequent one "
        "as it is"
    )
    source = "Yue et al. 2021; code xiangyue9607/SanText at 3f40a17"
    cited: ClassVar[tuple[str, ...]] = ("yue2021santext",)
    meaning = EpsilonMeaning.METRIC

    w: float = parameter(
        0.5, help="share of the words, the rarest, that are taken for sensitive", low=0.01, high=1.0
    )
    p: float = parameter(
        0.2, help="probability that a word that is not sensitive is exchanged", low=0.0, high=1.0
    )

    @property
    def first_sensitive(self) -> int:
        """Index of the first sensitive word; there is at least one."""
        n = len(self.lexicon)
        return n - max(1, min(n, round(self.w * n)))

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee ε·d if both words are sensitive; proved if all words are."""
        value, first, n = self.check_epsilon(epsilon), self.first_sensitive, len(self.lexicon)
        reason = Filled(
            "Between two words at distance d the distance to any output differs by at most d, so "
            "weight and normaliser each change by a factor of at most e^(ε·d/2)."
        )
        if first == 0:
            status = Status.PROVED
            reason = listed((Filled("All words are sensitive."), reason), " ")
        else:
            status = Status.CONDITIONAL
            reached = (
                Filled("Outside of them, the other words always come out as they are.")
                if self.p == 0
                else Filled(
                    "Outside of them, between a sensitive word and another the loss is at most "
                    "ε·d + ln(1/p), ln(1/p) = {more:.4g}, on sensitive outputs, and an output that "
                    "is not sensitive proves that it went in.",
                    more=math.log(1 / self.p),
                )
            )
            among = Filled(
                "Both words must be among the {sensitive:,} sensitive ones, from “{word}” on in "
                "the public order.",
                sensitive=n - first,
                word=self.lexicon.words[first],
            )
            reason = listed((among, reason, reached), " ")
        return MetricPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=self.source,
            rounding=tem_rounding(
                Metric.EUCLIDEAN,
                self.lexicon.dimension,
                0.5 * value,
                value * self.lexicon.largest_norm,
            ),
        )

    def posterior(self, share: float) -> float:
        """Return P(a place was sensitive | its output is), for the prior share π of them."""
        return share / (share + self.p * (1.0 - share))

    @property
    def caution(self) -> str:
        """Warning about what an output reveals."""
        if self.first_sensitive == 0:
            return ""
        return Filled(
            "The {words:,} most frequent words are not protected: when one comes out, it went in. "
            "Where half of the places are sensitive, a sensitive output says with probability "
            "{posterior:.3f} that the word was",
            words=self.first_sensitive,
            posterior=self.posterior(0.5),
        )

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P_S(y | x), or ln p + ln P_S, and ln(1 − p) for the word itself, shape (n,)."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        first = self.first_sensitive
        logs = np.full(len(self.lexicon), -math.inf)
        scores = -0.5 * value * self.distances(index, ranking)[first:]
        top = scores.max()
        logs[first:] = scores - (top + math.log(np.exp(scores - top).sum()))
        if index < first:
            with np.errstate(divide="ignore"):
                logs[first:] += np.log(self.p)
                logs[index] = np.log1p(-self.p)
        return logs

    @property
    def column_form(self) -> ColumnForm:
        """Closed form with normalisers over the sensitive words."""
        return ColumnForm(
            self._column,
            COLUMN_ERROR,
            Metric.EUCLIDEAN,
            _normalisers(self.lexicon, self.first_sensitive).all_at,
        )

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        first, n = self.first_sensitive, len(self.lexicon)
        logs = np.full(n, -math.inf)
        with np.errstate(divide="ignore"):
            if output < first:
                logs[output] = np.log1p(-self.p)
                return logs
            distance = self.distances(output) if away is None else away
            logs = -0.5 * epsilon * distance - _normalisers(self.lexicon, first).at(epsilon)
            logs[:first] += np.log(self.p)
        return np.asarray(logs)


@lru_cache(maxsize=2)
def _normalisers(lexicon: Lexicon, first: int) -> Normalisers:
    return Normalisers(partial(_log_normalisers, lexicon, first))


def _log_normalisers(lexicon: Lexicon, first: int, epsilons: list[float]) -> FloatArray:
    """Return ln Z over the words from `first` on, of every word, at some ε, shape (E, n)."""
    targets = lexicon.vectors[first:]
    result = np.empty((len(epsilons), len(lexicon)))
    for start in range(0, len(lexicon), _BLOCK):
        rows = lexicon.vectors[start : start + _BLOCK].astype(np.float64)
        apart = near_distances(rows, targets, Metric.EUCLIDEAN)
        least = apart.min(axis=1)
        apart -= least[:, None]
        for e, epsilon in enumerate(epsilons):
            sums = np.exp(-0.5 * epsilon * apart).sum(axis=1)
            result[e, start : start + _BLOCK] = np.log(sums) - 0.5 * epsilon * least
    return result
