"""Exponential mechanism with a share of ε for each word by a public rule, and its guarantee.

Let r(w) in (0, 1] be the share of w (`dpcore.lexicon.kinds`) and r(w)·ε its budget. The obvious
form, any mechanism run at r(w)·ε for the word w, guarantees next to nothing between two words of
different budgets: their laws are two of a family, and near words w, v with r(w) < r(v) are
distinguished by every far output, by (r(v) − r(w))·ε·d/2 for e^(−r·ε·d/2) (`audit --claim
budget-by-kind`). A budget that depends on the word itself reveals a fact about the word.

The guarantee holds for the exponential mechanism over a metric d″ that includes the budgets,

    P(y | w) = exp(−ε·d″(w, y)/2)/Z_w,

since for a metric weight and normaliser change by a factor of at most e^(ε·d″/2) each: the loss is
at most ε·d″(w, v). Two metrics are offered, d the Euclidean distance:

* `same`: the budget of a word is taken to be public. d″(w, v) = min(r·d(w, v), 2b) for two words of
  one share r, and b for two words of different shares, b a public number. This is a metric: three
  words of one share, or of three, are clear; for w, v of one share and u of another d″(w, v) ≤ 2b =
  d″(w, u) + d″(u, v) and d″(w, u) = b ≤ d″(w, v) + d″(v, u).
* `any`: a word's budget holds against all words, d″(w, v) ≤ min(r(w), r(v))·d(w, v). Losses obey
  the triangle inequality (for ln P(y | ·) is a number). So for any mechanism, two words that are
  near to a word s of a small share are distinguished by at most r(s)·ε·(d(w, s) + d(s, v)). With
  the shares r_1 < … < r_k, S_j the words of a share of at most r_j, and h_j(w) the distance of w
  from its nearest word in S_j (so h_k = 0),

      d″(w, v) = min_j r_j·ρ_j(w, v),  ρ_j(w, v) = max(d(w, v), h_j(w) + h_j(v)) for w ≠ v.

  If w or v is in S_j then ρ_j = d, since h_j(v) ≤ d(w, v): so d″ ≤ min(r(w), r(v))·d. Each ρ_j is a
  metric. And d″ is one: let r_j·ρ_j be the least for (w, u) and r_l·ρ_l for (u, v), and l ≤ j
  without loss of generality. Then r_j·ρ_j(w, u) ≥ r_l·d(w, u), and since h_l(w) ≤ h_l(u) + d(w, u)
  the sum is at least r_l·max(d(w, u) + d(u, v), d(w, u) + h_l(u) + h_l(v)) ≥ r_l·ρ_l(w, v).

In 300 dimensions h_j is nearly as long as any distance, so under `any` no two words have much more
than 1.7 times the smallest budget: the protection of one kind costs all words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Rounding, Status, two_texts
from dpcore.lexicon.kinds import Shares, shares_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distance_error, distances, paired_distances
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.distances import Normalisers, distances_by_word, near_distances
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import tem_rounding
from dpcore.mechanisms.mechanism import ColumnForm, LossBounds
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Rows, Weights
from dpcore.written import Filled, listed

BUDGET_DISTANCE = "budgeted"
"""Name of the metric: distances times shares."""
_ROUNDING = 1e-12  # relative, of a product of a few numbers
_BLOCK = 512  # words whose distances are held at a time
_LOOKED_AT = 200  # sampled words of the largest budget, for `left`
_COLUMN_ERROR = 1e-9  # relative, of ln P: that of `near_distances`, times exponents up to 100


@dataclass(frozen=True, kw_only=True, repr=False)
class BudgetPrivacy(MetricPrivacy):
    """Metric privacy in a distance that includes the shares of ε, stated in budgets.

    Attributes:
        budgets: the rule's names of groups of words, and the ε of each, ascending.
        between: the largest loss of two words of different budgets; None where each budget holds
            against all words.
    """

    metric: str = BUDGET_DISTANCE
    budgets: tuple[tuple[str, float], ...]
    between: float | None = None

    def euclidean_loss(self, distance: float) -> float:
        """Return the largest loss of two words at a Euclidean distance, for any budgets."""
        most = max(epsilon for _, epsilon in self.budgets) * distance
        return max(most, self.between or 0.0) if distance > 0 else 0.0

    @property
    def _statement(self) -> str:
        budgets = listed(
            Filled("{epsilon:.4g} for {words}", epsilon=epsilon, words=words)
            for words, epsilon in self.budgets
        )
        if self.between is None:
            return Filled(
                "Whatever word comes out, any two words at Euclidean distance d explain it within "
                "a factor of e^(b·d), b the smaller of their budgets. Budgets: {budgets}.",
                budgets=budgets,
            )
        return Filled(
            "Whatever word comes out, any two words with one budget b at Euclidean distance d "
            "explain it within a factor of e^(b·d), two with different budgets within one of "
            "e^{between:.4g}. Budgets: {budgets}.",
            between=self.between,
            budgets=budgets,
        )

    def _for_tokens(self, tokens: int) -> str:
        """Return the statement for several tokens: losses add up, each by its own two words."""
        texts = two_texts(tokens)
        if self.between is None:
            return Filled(
                "{texts} the factor is at most e^L, L the sum over the places of b·d, d the "
                "distance of the two words and b the smaller of their budgets.",
                texts=texts,
            )
        return Filled(
            "{texts} the factor is at most e^L, L the sum over the places of b·d, d the distance "
            "of the two words and b their budget, or {between:.4g} where they have different ones.",
            texts=texts,
            between=self.between,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form, with the budgets."""
        return super().to_dict() | {
            "budgets": [{"words": words, "epsilon": epsilon} for words, epsilon in self.budgets],
            "between": self.between,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Budget(ExactMechanism):
    """Exponential mechanism e^(−ε·d″/2) over all words, d″ a metric with the shares of words."""

    key = "budget.v1"
    short = "budget"
    title = "Budgets by a public rule"
    summary = (
        "Chooses a word with a probability that falls exponentially with its distance, faster or "
        "slower by what a public rule allows the word"
    )
    source = "ours; the exponential mechanism of Yue et al. 2021 over the metric of the budgets"
    cited: ClassVar[tuple[str, ...]] = ("yue2021santext",)
    meaning = EpsilonMeaning.METRIC

    rule: str = parameter(
        "noun.person:0.5,noun.location:0.5,unknown:0.5",
        help="shares of ε, WHAT:SHARE with commas between: WHAT is a kind of words (noun.person, "
        "noun, unknown, …), digit, personal (all kinds of personal data) or rank>N; other words "
        "have ε itself",
    )
    promise: str = parameter(
        "same",
        help="same: between words of one budget, which is taken to be public; any: each budget "
        "against all words, for which the other words pay",
        choices=("same", "any"),
    )
    between: float | None = parameter(
        None,
        help="with same: how far apart words of different budgets count; without, twice the "
        "longest vector",
        low=1e-9,
        high=1e9,
    )

    def __post_init__(self) -> None:
        """Check the rule against the existing kinds."""
        super().__post_init__()
        try:
            self.shares  # noqa: B018 - reads the rule
        except ParameterError as error:
            raise ParameterError(f"rule of budget: {error}") from None

    # -- the metric

    @property
    def shares(self) -> Shares:
        """Share of every word, public like the vectors."""
        return shares_of(self.lexicon, self.rule)

    @property
    def apart(self) -> float:
        """b: the distance assigned to words of different budgets."""
        return 2.0 * self.lexicon.largest_norm if self.between is None else self.between

    @property
    def _hubs(self) -> FloatArray:
        return hub_distances(self.lexicon, self.rule)

    def budgeted(self, word: int, distance: FloatArray) -> FloatArray:
        """Return d″ of a word to all, shape (n,), from its Euclidean distances."""
        return np.asarray(self._budgeted(np.array([word]), distance[None, :])[0])

    def _budgeted(self, words: IntArray, distance: FloatArray) -> FloatArray:
        """Return d″ of some words to all, shape (k, n), from their distances."""
        shares = self.shares
        if self.promise == "same":
            alike = shares.codes[words][:, None] == shares.codes
            near = np.minimum(shares.of[words][:, None] * distance, 2.0 * self.apart)
            result = np.where(alike, near, self.apart)
        else:
            result = np.full(distance.shape, math.inf)
            for share, hub in zip(shares.values.tolist(), self._hubs, strict=True):
                reach = np.maximum(distance, hub[words][:, None] + hub)
                np.minimum(result, share * reach, out=result)
        result[np.arange(words.size), words] = 0.0
        return result

    @cached_property
    def _diameter(self) -> float:
        lexicon = self.lexicon.with_metric(Metric.EUCLIDEAN)
        return lexicon.extent.diameter * (1.0 + distance_error(lexicon.dimension))

    @cached_property
    def _reaches(self) -> FloatArray:
        """Upper bounds on d″, by share: of two words of which one or, with `same`, both have it."""
        values = self.shares.values
        reaches = values * self._diameter
        if self.promise == "same":
            return np.asarray(np.minimum(reaches, 2.0 * self.apart))
        # r_i·ρ_i bounds d″ of all words, whatever their shares.
        detours = values * np.maximum(self._diameter, 2.0 * self._hubs.max(axis=1))
        return np.asarray(np.minimum(reaches, np.minimum.accumulate(detours)))

    @property
    def _farthest(self) -> float:
        """Upper bound on d″."""
        largest = float(self._reaches.max())
        return max(largest, self.apart) if self._several else largest

    @property
    def _several(self) -> bool:
        """True if words of two budgets have a separate guarantee."""
        return self.promise == "same" and self.shares.values.size > 1

    # -- the guarantee

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee ε·d″, proved for both metrics."""
        value, shares = self.check_epsilon(epsilon), self.shares
        if self.promise == "same":
            reason = Filled(
                "Within one budget d″ is the share times the Euclidean distance, between budgets "
                "it is {apart:.4g}: a metric, so weight and normaliser each change by a factor of "
                "at most e^(ε·d″/2). Which budget a word has is a fact about it that the second "
                "figure alone protects.",
                apart=self.apart,
            )
        else:
            reason = Filled(
                "d″ is at most the smaller share times the Euclidean distance, and shorter where a "
                "way over words of a small share is: losses obey the triangle inequality, so no "
                "mechanism could guarantee more budget. It is a metric, so weight and normaliser "
                "each change by a factor of at most e^(ε·d″/2)."
            )
        separation = self.lexicon.with_metric(Metric.EUCLIDEAN).extent.separation
        factor = float(shares.values.max())
        if self._several:  # two near words of different budgets count as far apart
            factor = max(factor, self.apart / max(separation, 1e-300))
        return BudgetPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=reason,
            source=self.source,
            euclidean_factor=factor,
            rounding=self._rounding(value),
            budgets=tuple(zip(shares.names, (value * shares.values).tolist(), strict=True)),
            between=value * self.apart if self._several else None,
        )

    def _rounding(self, epsilon: float) -> Rounding:
        """Bound the rounding as for TEM; the sums and products of d″ add a few roundings."""
        eta = 0.5 * epsilon
        # h + h′ has at most twice the error of a distance.
        return tem_rounding(
            Metric.EUCLIDEAN, 2 * self.lexicon.dimension + 8, eta, eta * self._farthest
        )

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray:
        """Return d″ between words, shape (k, k)."""
        self.check_epsilon(epsilon)
        vectors = self.lexicon.vectors
        return self._budgeted(words, distances(vectors, vectors[words]))[:, words]

    @property
    def caution(self) -> str:
        """Warning about the cost of a budget, or about what it reveals."""
        if self.shares.values.size < 2:
            return ""
        if self.promise == "same":
            return Filled(
                "Which budget a word has is taken to be public: two words of different budgets "
                "may be told apart by ε·{apart:.4g}",
                apart=self.apart,
            )
        return Filled(
            "All words pay for the guarantee of the smallest budget: of two words with the "
            "largest, half are left with {left:.2f} times their ε or less",
            left=self.left,
        )

    @cached_property
    def left(self) -> float:
        """Median of d″/d over a sample of pairs of words of the largest budget."""
        shares = self.shares
        members = shares.words(int(shares.values.size - 1))
        some = members[:: max(1, members.size // _LOOKED_AT)]
        if some.size < 2:
            return float(shares.values.max())
        vectors = self.lexicon.vectors
        apart = distances(vectors, vectors[some])
        shortened = self._budgeted(some, apart)[:, some]
        upper = np.triu_indices(some.size, 1)
        return float(np.median(shortened[upper] / apart[:, some][upper]))

    # -- the law

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return −ε·d″/2 − ln Z, shape (n,), also where the probability underflows."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        logs = -0.5 * value * self.budgeted(index, self.distances(index, ranking))
        return np.asarray(logs - math.log(np.exp(logs).sum()))  # the word's own weight is 1

    def rows(self, epsilon: float) -> Rows:
        """Return the weights e^(−ε·d″/2) of all outputs; the largest is 1 without scaling."""
        vectors, eta = self.lexicon.vectors, 0.5 * self.check_epsilon(epsilon)
        outputs = np.arange(len(vectors))

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, distance in distances_by_word(vectors, entries):
                logs = -eta * self.budgeted(int(entries[members[0]]), distance)
                yield members, Weights(np.exp(logs), logs.item, outputs)

        return weights

    # -- hooks

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return loss bounds: normalisers cancel, which leaves at most ε·d″."""
        return _bounds(guarantee.epsilon * self._farthest)

    def loss_groups(self, guarantee: Guarantee) -> dict[str, LossBounds]:
        """Return loss bounds by budget, for pairs that both have it (with `any`: at least one)."""
        reaches = (guarantee.epsilon * self._reaches).tolist()
        return dict(zip(self.shares.names, map(_bounds, reaches), strict=True))

    @property
    def symmetric_law(self) -> bool:
        """d″ is symmetric, and 0 between a word and itself."""
        return True

    @property
    def column_form(self) -> ColumnForm:
        """Closed form, d″ being symmetric, with normalisers from one pass over all pairs."""
        return ColumnForm(self._column, _COLUMN_ERROR, Metric.EUCLIDEAN, self._normalisers.all_at)

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        distance = self.distances(output) if away is None else away
        return np.asarray(
            -0.5 * epsilon * self.budgeted(output, distance) - self._normalisers.at(epsilon)
        )

    @cached_property
    def _normalisers(self) -> Normalisers:
        return Normalisers(self._log_normalisers)

    def _log_normalisers(self, epsilons: list[float]) -> FloatArray:
        """Return ln Z of every word at some ε, shape (E, n): one pass over all pairs."""
        vectors = self.lexicon.vectors
        result = np.empty((len(epsilons), len(vectors)))
        for start in range(0, len(vectors), _BLOCK):
            words = np.arange(start, min(start + _BLOCK, len(vectors)))
            rows = vectors[words].astype(np.float64)
            apart = self._budgeted(words, near_distances(rows, vectors, Metric.EUCLIDEAN))
            for e, epsilon in enumerate(epsilons):
                result[e, words] = np.log(np.exp(-0.5 * epsilon * apart).sum(axis=1))
        return result


def _bounds(promised: float) -> LossBounds:
    return LossBounds(promised, promised * (1.0 + _ROUNDING))


@lru_cache(maxsize=8)
def hub_distances(lexicon: Lexicon, rule: str) -> FloatArray:
    """Return h_j: distances to the nearest word of a share of at most r_j, shape (k, n).

    Args:
        lexicon: words and vectors.
        rule: the rule that assigns the shares.
    """
    shares, vectors = shares_of(lexicon, rule), lexicon.vectors
    hubs = np.zeros((shares.values.size, len(lexicon)))
    for level in range(shares.values.size - 1):  # the last level includes all words
        members = np.flatnonzero(shares.codes <= level)
        others = np.flatnonzero(shares.codes > level)
        nearest = NearestSearch(vectors[members])(vectors[others])
        hubs[level, others] = paired_distances(vectors[others], vectors[members[nearest]])
    hubs.setflags(write=False)
    return hubs
