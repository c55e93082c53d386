"""Randomised response: all words share one table of weights and interpret the drawn place.

A draw costs one look-up for any word, and many documents are one look-up together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.cache import CacheEntry, keep, recall
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import UNIT, distances
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking
from dpcore.lexicon.progress import Progress
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH
from dpcore.mechanisms.bulk import first_words, settle
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import weights_rounding
from dpcore.mechanisms.mechanism import (
    ColumnForm,
    LossBounds,
    LossSearch,
    SparseLaw,
    WorstLoss,
)
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Digits, Rows, Weights, draws
from dpcore.written import Filled


@dataclass(frozen=True, eq=False, kw_only=True)
class Response(ExactMechanism):
    """Mechanism that draws a place from a table that does not depend on the word."""

    @abstractmethod
    def places(self, epsilon: float) -> Weights:
        """Return the weights of the places at ε; outcome i is place i."""

    @abstractmethod
    def width(self, epsilon: float) -> int:
        """Return the number of outputs of a word that are e^ε times as likely as all others."""

    @abstractmethod
    def favoured(self, words: IntArray, epsilon: float) -> IntArray:
        """Return these outputs of each word, in any order, shape (m, `width`)."""

    @abstractmethod
    def outputs(self, entries: IntArray, places: IntArray, epsilon: float) -> IntArray:
        """Return the word that each place means for each entry, shape (k,)."""

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw as `ExactMechanism.sample` does."""
        self.check_index(index)
        entries, table = self.check_words(words), self.places(self.check_epsilon(epsilon))
        return self.outputs(entries, draws(Digits(rng), entries, _every(table)), epsilon)

    def sparse_law(self, epsilon: float) -> SparseLaw:
        """Return the two probabilities: of a favoured output, and of any other."""
        value = self.check_epsilon(epsilon)
        n, k = len(self.lexicon), self.width(value)
        inside = 1.0 / (k + (n - k) * math.exp(-value))
        words = np.arange(n)
        return SparseLaw(
            base=np.full(n, inside * math.exp(-value)),
            words=np.repeat(words, k),
            outputs=self.favoured(words, value).reshape(-1),
            excess=np.full(n * k, -inside * math.expm1(-value)),
        )

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Invert as `by_law`, in the order of the vocabulary, without a row for each word.

        With favoured outputs of weight 1 at s_0 < s_1 < … and q = e^−ε for all others, the weights
        up to and with s_j sum to (s_j − j)·q + j + 1.
        """
        uniform, n = rng.random(entries.size), len(self.lexicon)
        result = np.empty((entries.size, epsilons.size), dtype=np.int64)
        distinct, which = np.unique(entries, return_inverse=True)
        for e, epsilon in enumerate(epsilons.tolist()):
            places = np.sort(self.favoured(distinct, epsilon), axis=1)[which]
            k, q = places.shape[1], math.exp(-epsilon)
            aim = uniform * (k + (n - k) * q)
            before = (places - np.arange(k)) * q + np.arange(k)
            passed = (before + 1.0 <= aim[:, None]).sum(axis=1)
            last = np.minimum(passed, k - 1)
            rows = np.arange(entries.size)
            inside = (passed < k) & (before[rows, last] <= aim)
            with np.errstate(divide="ignore", invalid="ignore"):
                # Where q underflows, every aim is inside.
                between = np.where(inside, 0.0, np.floor((aim - passed) / q))
            others = np.minimum(between.astype(np.int64) + passed, n - 1)
            result[:, e] = np.where(inside, places[rows, last], others)
            progress(self.short, e + 1, epsilons.size)
        return result

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return loss bounds: ε on outputs near the first word only, −ε on the second's, or 0.

        All words have one normaliser, so these have the probabilities m·e^ε/(k·e^ε + n − k) and
        m/(k·e^ε + n − k) for m outputs each, and δ at any ε is largest for the largest possible m,
        m = min(k, n − k): that pair dominates all others, and so do its compositions theirs (Zhu,
        Dong, Wang 2022).
        """
        value = guarantee.epsilon
        n, k = len(self.lexicon), self.width(value)
        chance = min(k, n - k) / (k + (n - k) * math.exp(-value))
        return LossBounds(value, chance=min(1.0, chance * (1.0 + 8.0 * UNIT)))

    def bulk(self, epsilon: float) -> ResponseBulk:
        """Return a sampler with one look-up for the words of many documents."""
        return ResponseBulk(self, epsilon)


class ResponseBulk:
    """Sampler from one shared table (see `dpcore.mechanisms.bulk.Bulk`)."""

    shared_laws = None

    def __init__(self, mechanism: Response, epsilon: float) -> None:
        """Compute the table at this ε."""
        self._mechanism, self._epsilon = mechanism, epsilon
        self._table = mechanism.places(epsilon)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        entries = self._mechanism.check_words(words)
        if not entries.size:
            return entries
        places, sure = self._table.look_up(first)
        rows = _every(self._table)
        places = settle(places, sure, rngs, first, entries, offsets, rows)
        return self._mechanism.outputs(entries, places, self._epsilon)


def _every(table: Weights) -> Rows:
    """Return the one table for all entries."""
    return lambda entries: [(np.arange(entries.size), table)]


# k-ary randomised response: the word is kept, or any other is the output, all others alike.
#
# With n words, the word itself is the output with probability e^ε/(e^ε + n − 1), every other word
# with 1/(e^ε + n − 1) (Kairouz, Oh, Viswanath 2014; with two words Warner 1965). The ratio of the
# two is e^ε for every pair, so that ε is spent completely: pure local privacy, for any vectors. It
# is the baseline for a mechanism that uses the similarity of words.
#
# One draw as a function of ε takes a uniform number U and one of the other words: the word stays if
# and only if U < e^ε/(e^ε + n − 1), which is ε > ln(U(n − 1)/(1 − U)). So a path has one break.

_ERROR = 1e-14  # of a formula with a few roundings; relative for a logarithm above 1


@lru_cache(maxsize=8)
def _shifts(n: int, epsilon: float) -> Weights:
    """Return weights of the circular shift from the word to the output in the vocabulary."""
    weights = np.full(n, math.exp(-epsilon))
    weights[0] = 1.0
    return Weights(weights, lambda place: -epsilon if place else 0.0, np.arange(n))


@dataclass(frozen=True, eq=False, kw_only=True)
class KAryResponse(Response):
    """Mechanism that keeps a word with probability e^ε/(e^ε + n − 1); ε is its only parameter."""

    key = "k-ary.v1"
    short = "k-ary"
    title = "k-ary randomised response"
    summary = (
        "Keeps the word, or takes any other, all alike: the yardstick for mechanisms that know "
        "which words are near"
    )
    source = "Kairouz, Oh, Viswanath 2014; Warner 1965 for two words"
    cited: ClassVar[tuple[str, ...]] = ("kairouz2014extremal", "warner1965randomized")
    meaning = EpsilonMeaning.LOCAL
    log_error = _ERROR
    grouped_error = _ERROR

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: pure local privacy, proved, and attained by every pair of words."""
        return PureLocalPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason=Filled(
                "A word is e^ε times as likely to come out if it went in as if another did."
            ),
            source=self.source,
            rounding=weights_rounding(),
        )

    def _kept(self, epsilons: FloatArray) -> FloatArray:
        """Return e^ε/(e^ε + n − 1) in a form that does not overflow."""
        return np.asarray(1.0 / (1.0 + (len(self.lexicon) - 1) * np.exp(-epsilons)))

    # -- the protocol

    def places(self, epsilon: float) -> Weights:
        """Return weights of the circular shift from the word to the output in the vocabulary."""
        return _shifts(len(self.lexicon), epsilon)

    def width(self, epsilon: float) -> int:
        """Return 1: the word itself."""
        return 1

    def favoured(self, words: IntArray, epsilon: float) -> IntArray:
        """Return the word itself."""
        return words[:, None]

    def outputs(self, entries: IntArray, places: IntArray, epsilon: float) -> IntArray:
        """Return the words shifted by `places` from each entry."""
        return (entries + places) % len(self.lexicon)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry, with its one exact break (see the comment above)."""
        entries, n = self.check_words(words), len(self.lexicon)
        uniform = rng.random(entries.size)
        others = (entries + 1 + rng.integers(n - 1, size=entries.size)) % n
        with np.errstate(divide="ignore"):
            breaks = np.log(uniform) - np.log1p(-uniform) + np.log(n - 1.0)
        # A break at 0 lies below every ε: such a word stays at all of them.
        breaks = np.maximum(breaks, 0.0)
        return EpsilonPaths(entries, breaks[:, None], np.stack((others, entries), axis=1))

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return the two numbers of the closed form, shape (E, n)."""
        kept = self._kept(epsilons)
        rows = np.repeat((kept * np.exp(-epsilons))[:, None], len(self.lexicon), axis=1)
        rows[:, word] = kept
        return rows

    # -- hooks

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word) of every word y, shape (n,), also where P underflows."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        kept = -math.log1p((len(self.lexicon) - 1) * math.exp(-value))
        logs = np.full(len(self.lexicon), kept - value)
        logs[index] = kept
        return logs

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the word and, as one group, all others."""
        kept, n = self._kept(epsilons), len(self.lexicon)
        both = np.stack((kept, kept * np.exp(-epsilons)), axis=1)
        return kept, both, np.tile([1.0, n - 1.0], (epsilons.size, 1))

    @property
    def symmetric_law(self) -> bool:
        """All words have one normaliser, and two others one probability."""
        return True

    @property
    def column_form(self) -> ColumnForm:
        """Column form: P(y | w) = P(w | y), so a column is a law."""
        return ColumnForm(lambda output, _, epsilon: self.log_law(output, epsilon), _ERROR)

    @property
    def loss_search(self) -> LossSearch:
        """Loss ε, equal for every pair of words at either of the two; the first two serve."""

        def find(epsilon: float, progress: Progress) -> WorstLoss:  # noqa: ARG001 - at once
            stays, leaves = self.log_law(0, epsilon)[:2].tolist()
            return WorstLoss(epsilon, _ERROR * epsilon, 0, 1, 0, 1.0, stays, leaves)

        return LossSearch(self.law_method, find)


# Randomised response over neighbours: one of the k nearest words, or any word at all.
#
# N(w) is the set of w and its k − 1 nearest words, public like the vectors. With the same
# normaliser for every word,
#
#     P(y | w) = e^(ε·[y ∈ N(w)])/(k·e^ε + n − k),
#
# so the loss between any two words is at most ε, with no δ and in any number of dimensions
# (`docs/optimal.md`, section 3). k = 1 is k-ary randomised response, which no mechanism beats at
# keeping words; a larger k trades the word for a similar one.
#
# The law is a mixture: with probability q(ε) = k(e^ε − 1)/(k·e^ε + n − k) a word of N(w), else any
# word of the vocabulary, w and its neighbours among them. So a draw is one look-up in a table that
# all words share, and as a function of ε it has one break: U < q(ε) if and only if ε > ln((k + U(n
# − k))/(k(1 − U))).


_ERROR_NEIGHBOUR = 1e-14  # of a formula with a few roundings; relative for a logarithm above 1
_PROFILE_ENTRIES = 12_800_000  # distances from which the mean distance by rank is estimated
_FEW = 256  # distinct words up to which a table of all neighbours does not pay


@lru_cache(maxsize=8)
def _mixture(n: int, k: int, epsilon: float) -> Weights:
    """Return weights of the k places of N(w), and of all n words after them.

    A word of N(w) is in both parts: (1 − e^−ε) + e^−ε = 1, any other weighs e^−ε.
    """
    near, anywhere = -math.expm1(-epsilon), math.exp(-epsilon)
    values = np.concatenate((np.full(k, near), np.full(n, anywhere)))
    return Weights(
        values, lambda place: math.log(near) if place < k else -epsilon, np.arange(n + k)
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourResponse(Response):
    """P(y | w) ∝ e^ε on the k nearest words of w, itself included, and 1 elsewhere."""

    key = "neighbour-response.v1"
    short = "neighbour-response"
    title = "Randomised response over neighbours"
    summary = (
        "Takes one of the k nearest words, the word itself among them, or any word at all: the "
        "guarantee holds between any two words, in any number of dimensions"
    )
    source = "docs/optimal.md, section 3; k = 1 is Kairouz, Oh, Viswanath 2014"
    cited: ClassVar[tuple[str, ...]] = ("kairouz2014extremal",)
    meaning = EpsilonMeaning.LOCAL
    log_error = _ERROR_NEIGHBOUR
    grouped_error = _ERROR_NEIGHBOUR

    k: int | None = parameter(
        10,
        help="how many words are near: the word and its k − 1 nearest; auto takes, at each ε, the "
        "k whose output is the least distance away on average",
        low=1,
    )

    def width(self, epsilon: float) -> int:
        """Return k at ε; in a smaller vocabulary all words but one."""
        value = self.check_epsilon(epsilon)
        if self.k is not None:
            return min(self.k, len(self.lexicon) - 1)
        return _best_width(_profile(self.lexicon), value)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: pure local privacy, proved."""
        return PureLocalPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason=Filled(
                "Each word has {outputs:,} outputs that are e^ε times as likely as all others, so "
                "that all words have one normaliser, and two words differ on an output by a "
                "factor of e^ε at most.",
                outputs=self.width(epsilon),
            ),
            source=self.source,
            rounding=weights_rounding(),
        )

    # -- the protocol

    def places(self, epsilon: float) -> Weights:
        """Return the weights of the k places of N(w), then of all words."""
        return _mixture(len(self.lexicon), self.width(epsilon), epsilon)

    def favoured(self, words: IntArray, epsilon: float) -> IntArray:
        """Return N(w)."""
        return self._nearest(words, self.width(epsilon))

    def outputs(self, entries: IntArray, places: IntArray, epsilon: float) -> IntArray:
        """Return a nearest word for a place below k, else the word of index place − k."""
        k = self.width(epsilon)
        outputs, near = places - k, np.flatnonzero(places < k)
        distinct, which = np.unique(entries[near], return_inverse=True)
        outputs[near] = self._nearest(distinct, k)[which, places[near]]
        return outputs

    def _nearest(self, words: IntArray, k: int) -> IntArray:
        """Return N(w) of some words, shape (m, k), nearest first; ties by lowest index."""
        if words.size > _FEW and k <= NEIGHBOUR_TABLE_WIDTH:
            return np.asarray(_neighbours(self.lexicon, k)[words], dtype=np.int64)
        return self.lexicon.nearest_words(words, k)[0]

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry, with its one exact break; on a grid where k depends on ε."""
        if self.k is None:
            return super().paths(rng, words, rankings=rankings, epsilons=epsilons)
        entries, n = self.check_words(words), len(self.lexicon)
        k = min(self.k, n - 1)
        uniform = rng.random(entries.size)
        anywhere = rng.integers(n, size=entries.size)
        place = rng.integers(k, size=entries.size)
        distinct, which = np.unique(entries, return_inverse=True)
        near = self._nearest(distinct, k)[which, place]
        with np.errstate(divide="ignore"):
            # ln((k + U(n − k))/(k(1 − U))) without the cancellation near U = 0.
            breaks = np.log1p(uniform * ((n - k) / k)) - np.log1p(-uniform)
        return EpsilonPaths(entries, breaks[:, None], np.stack((anywhere, near), axis=1))

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return the two numbers of the closed form, shape (n,), also where they underflow."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        inside, outside = self._logs(np.array([value]))
        logs = np.full(len(self.lexicon), outside[0])
        k = self.width(value)
        near = self._nearest(np.array([index]), k)[0] if ranking is None else ranking.order[:k]
        logs[near] = inside[0]
        return logs

    def _logs(self, epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln P of a word of N(w) and of another, shape (E,) each, without overflow."""
        k = np.array([self.width(epsilon) for epsilon in epsilons.tolist()])
        inside = -np.log(k) - np.log1p((len(self.lexicon) - k) / k * np.exp(-epsilons))
        return inside, inside - epsilons

    # -- hooks

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the words of N(w) and, as one group, all others."""
        inside, outside = np.exp(self._logs(epsilons))
        k = np.array([float(self.width(epsilon)) for epsilon in epsilons.tolist()])
        counts = np.stack((k, len(self.lexicon) - k), axis=1)
        return inside, np.stack((inside, outside), axis=1), counts

    @property
    def column_form(self) -> ColumnForm:
        """Column form: the words that have the output among their nearest."""
        return ColumnForm(self._column, _ERROR_NEIGHBOUR)

    def _column(self, output: int, _: FloatArray | None, epsilon: float) -> FloatArray:
        (inside,), (outside,) = self._logs(np.array([epsilon]))
        logs = np.full(len(self.lexicon), outside)
        words, starts = _holders(self, self.width(epsilon))
        logs[words[starts[output] : starts[output + 1]]] = inside
        return logs

    @property
    def loss_search(self) -> LossSearch:
        """Loss ε between the first word and any word that it is not near to."""

        def find(epsilon: float, progress: Progress) -> WorstLoss:  # noqa: ARG001 - at once
            logs = self.log_law(0, epsilon)
            other = int(logs.argmin())  # not in N(0), but in N(other)
            there = float(self.log_law(other, epsilon)[other])
            error = _ERROR_NEIGHBOUR * epsilon
            return WorstLoss(epsilon, error, other, 0, other, 1.0, there, float(logs[other]))

        return LossSearch(self.law_method, find)


@lru_cache(maxsize=4)
def _neighbours(lexicon: Lexicon, k: int) -> NDArray[np.int32]:
    """Return N(w) of all words, shape (n, k), cached so that no text reads and checks it again."""
    return lexicon.neighbours(k).indices.copy()


@lru_cache(maxsize=4)
def _holders(mechanism: NeighbourResponse, k: int) -> tuple[IntArray, IntArray]:
    """Return the words with y among their k nearest: words[starts[y] : starts[y + 1]]."""
    n = len(mechanism.lexicon)
    nearest = mechanism._nearest(np.arange(n), k).reshape(-1)
    order = np.argsort(nearest, kind="stable")
    starts = np.searchsorted(nearest[order], np.arange(n + 1))
    return order // k, starts


@lru_cache(maxsize=4)
def _profile(lexicon: Lexicon) -> FloatArray:
    """Return the mean distance of the r-th nearest word over a vocabulary sample, shape (n,).

    The sample takes every few words in the order of the vocabulary, so that it is public like the
    vocabulary and the same on every machine. It affects how useful k is, never the guarantee.
    """
    known = recall(lexicon.fingerprint, "distance-profile")
    if known is not None:
        return np.asarray(known.arrays["mean"], dtype=np.float64)
    n = len(lexicon)
    sample = np.unique(np.linspace(0, n - 1, min(n, max(32, _PROFILE_ENTRIES // n))).astype(int))
    total = np.zeros(n)
    for word in sample:
        total += np.sort(distances(lexicon.vectors, lexicon.vectors[[word]])[0])
    mean = total / sample.size
    keep(
        lexicon.fingerprint, "distance-profile", CacheEntry({"mean": mean}, {"words": sample.size})
    )
    return mean


def _best_width(profile: FloatArray, epsilon: float) -> int:
    """Return the k < n with the least mean distance of the output; the smallest of equals.

    With D_k the sum of the k smallest distances and D_n that of all, the mean distance is
    ((e^ε − 1)·D_k + D_n)/(k(e^ε − 1) + n); both are divided by e^ε, against overflow.
    """
    n = profile.size
    near, anywhere = -math.expm1(-epsilon), math.exp(-epsilon)
    sums = np.cumsum(profile)
    k = np.arange(1, n)
    return int(np.argmin((near * sums[:-1] + anywhere * sums[-1]) / (near * k + anywhere * n))) + 1
