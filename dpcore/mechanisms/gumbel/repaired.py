"""Repaired truncated Gumbel mechanism: the same candidates, with untruncated noise.

The published mechanism fails because its noise is bounded: an output that the noise cannot reach
from w′ reveals w. Here the noise keeps its tail and is subtracted, which makes the law a mixture of
softmaxes: a closed form, with a proved bound for every vocabulary and a far better certificate for
this one.

**The law.** Among K candidates the output is the word with the largest −d_j + b·G_j, G_j standard
Gumbel noise, not cut off: given K that is a softmax, so with s = 1/b and Z_k = Σ_{j ≤ k} e^{−s·d_j}

    P(u_i | w) = e^{−s·d_i}·T_i,    T_i = Σ_{k ≥ i} π_k/Z_k.

**The bound.** K = n alone gives P(y | w′) ≥ e^{−s·D(w′, y)}·π_n/Z_n(w′). Since Z_k ≥ 1, P(y | w) ≤
e^{−s·D(w, y)}·[(1 − π_n) + π_n/Z_n(w)]. With |D(w, y) − D(w′, y)| ≤ d, with Z_n(w′) ≤
e^{s·d}·Z_n(w) and Z_n ≤ n the loss of any output is at most

    B(d) = s·d + ln(e^{s·d} + A),    A = n·(1 − π_n)/π_n,

and B(d)/d falls with d: for f(d) = ln(e^{s·d} + A), f′(d)·d ≤ s·d ≤ f(d). So ε = B(Δ₀)/Δ₀ holds for
every vocabulary of n words with smallest distance Δ₀.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, MetricPrivacy, Rounding, Status
from dpcore.lexicon.extent import Extent
from dpcore.lexicon.metric import Metric, distance_error, paired_distances
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.certificate import CalibratedMechanism, Certificate
from dpcore.mechanisms.distances import distances_by_word, nearest_of
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem import gumbel_paths
from dpcore.mechanisms.gumbel.algorithm import RepairedBulk
from dpcore.mechanisms.gumbel.repaired_certificate import repaired_certificate, repaired_losses
from dpcore.mechanisms.law import repaired_rounding
from dpcore.mechanisms.mechanism import LossSearch, NearestForm, WorstLoss
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import EpsilonRange
from dpcore.noise.discrete import Rows, Weights
from dpcore.noise.samplers import (
    candidate_weights,
    poisson_quantile,
    standard_gumbel,
    whole_vocabulary_weight,
)
from dpcore.written import Filled

_RECTANGLE = 2_000_000  # numbers of one rectangle of noise: 16 MB
_FEW = 64  # candidates that may be padded: a draw has ln n ≈ 10 of them but for one in n
_CERTIFIED = 1e-5  # relative excess of a certified ε over the true one
_BLOCK_ROWS = 2048  # vectors that are float64 at a time: 5 MB, which stay in the cache
_LOOKED_AT = 32  # words whose probability to stay is computed for a caution


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedGumbelRepaired(CalibratedMechanism, ExactMechanism):
    """Softmax over a random number of nearest words, in the Euclidean metric."""

    key = "truncated-gumbel-repaired.v1"
    short = "truncated-gumbel-repaired"
    title = "Truncated Gumbel, repaired"
    summary = (
        "Takes a random number of nearest words and chooses among them with a probability "
        "that falls exponentially with the distance; on the bundled words a word nearly always "
        "stays, at any ε that it takes"
    )
    source = "our repair of Xu et al. 2021, Algorithms 1 and 2"
    cited: ClassVar[tuple[str, ...]] = ("xu2021gumbel",)
    meaning = EpsilonMeaning.METRIC

    @cached_property
    def _extent(self) -> Extent:
        return self.lexicon.with_metric(Metric.EUCLIDEAN).extent

    @property
    def _separation(self) -> float:
        """Δ₀, rounded down."""
        return self._extent.separation * (1.0 - distance_error(self.lexicon.dimension))

    def proved_strength(self, epsilon: float) -> float:
        """Return s = 1/b of the bound for every vocabulary with this n and Δ₀."""
        return proved_strength(epsilon, len(self.lexicon), self._separation)

    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """Return B(Δ₀)/Δ₀ at each s."""
        return proved_epsilon(strengths, len(self.lexicon), self._separation)

    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Compute `repaired_certificate` of the lexicon."""
        return repaired_certificate(self.lexicon, progress)

    @property
    def admissible(self) -> EpsilonRange:
        """Range of ε above the loss of infinite noise, or of the least certified noise."""
        reason = "the number of candidates gives this much away under any noise"
        if self.certificate is None:
            reason += " by the bound for every vocabulary; a certificate allows less"
        return EpsilonRange(low=self.lowest_epsilon, low_reason=reason)

    @cached_property
    def caution(self) -> str:
        """Warning about how often words stay at the largest noise; P(w | w) only grows with ε.

        Computed for words of evenly spaced ranks, since each law takes a pass over the lexicon.
        """
        n = len(self.lexicon)
        # The smallest admissible ε, up to the rounding of a look-up in the certificate.
        least = math.nextafter(self.admissible.low, math.inf) * (1.0 + 1e-9)
        words = np.unique(np.linspace(0, n - 1, _LOOKED_AT).astype(np.int64))
        # By products: what cancels is far below the digits of the sentence, and the differences
        # would take half of the time of a list of all mechanisms.
        vectors = self.lexicon.vectors
        own, rows = vectors[words].astype(np.float64), np.empty((words.size, n))
        for start in range(0, n, _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            np.matmul(own, vectors[part].astype(np.float64).T, out=rows[:, part])
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        # In place: new arrays of this size cost more than what is computed in them.
        rows *= -2.0
        rows += squares
        rows += squares[words, None]
        rows[np.arange(words.size), words] = 0.0
        np.sqrt(np.maximum(rows, 0.0, out=rows), out=rows)
        if self.heads < n:  # the order of the others does not matter
            rows.partition(self.heads, axis=1)
        rows[:, : self.heads].sort(axis=1)
        strength = np.array([self.strength(least)])
        stays = [float(law_of(row[: self.heads], row, strength)[0, 0]) for row in rows]
        return Filled(
            "At its lowest ε here, {least:.4g}, a word stays with probability {mean:.4g} (mean of "
            "{words} words, the least {lowest:.3g}), and more often at any larger ε",
            least=least,
            mean=float(np.mean(stays)),
            words=words.size,
            lowest=min(stays),
        )

    def noise_scale(self, epsilon: float) -> float:
        """Return b at ε, in the units of the distances; ∞ at the low end of the bound."""
        strength = self.strength(epsilon)
        return 1.0 / strength if strength > 0 else math.inf

    def promise(self, epsilon: float) -> MetricPrivacy:
        """Return the guarantee for every vocabulary with this n and Δ₀."""
        return MetricPrivacy(
            epsilon=epsilon,
            status=Status.PROVED,
            reason=Filled(
                "Every word is a candidate with probability above 1/n whatever went in, and noise "
                "without truncation moves no weight by more than e^(d/b): the loss is at most "
                "d/b + ln(e^(d/b) + A), and that over d is largest at the smallest distance."
            ),
            source=Filled("our derivation, for the repaired noise"),
            rounding=self.rounding(epsilon),
        )

    def rounding(self, epsilon: float) -> Rounding:
        """Bound the difference between the law of `sample` and the closed form."""
        reach = self.strength(epsilon) * self._extent.diameter
        return repaired_rounding(self.lexicon.dimension, len(self.lexicon), self.heads, reach)

    # -- release --------------------------------------------------------------------------------

    def rows(self, epsilon: float) -> Rows:
        """Return the closed form, nearest words first: nearly every inversion ends among them."""
        strength = self.strength(epsilon)

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for members, row in distances_by_word(self.lexicon.vectors, entries):
                yield members, self.weights(row, strength)

        return weights

    def weights(self, row: FloatArray, strength: float) -> Weights:
        """Return the law of all words, the nearest first.

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
        """Number of nearest words with their own law."""
        return heads(len(self.lexicon))

    # -- inspection ----------------------------------------------------------------------------

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw one exact step function of ε per entry; no grid is needed.

        The number of candidates K takes one uniform number, each candidate one Gumbel number; the
        output at s = 1/b is the largest of K falling lines −s·d_j + G_j.
        """
        entries = self.check_words(words)
        counts = poisson_quantile(rng.random(entries.size), len(self.lexicon))
        distinct, first, which = np.unique(entries, return_index=True, return_inverse=True)
        if rankings is None:
            rankings = rank(self.lexicon.vectors, self.lexicon.vectors[distinct])
        else:
            rankings = [rankings[i] for i in first.tolist()]
        order, parts = _rectangles(counts), []
        for part in order:
            width = int(counts[part].max())
            noise = standard_gumbel(rng, (part.size, width))
            # A word that is not a candidate never wins.
            noise[np.arange(width) >= counts[part][:, None]] = -math.inf
            ranked = [rankings[i] for i in which[part].tolist()]
            orders = np.stack([ranking.order[:width] for ranking in ranked])
            near = np.stack([ranking.distances[:width] for ranking in ranked])
            # In the order of distance: place j is the j-th nearest word.
            places = np.broadcast_to(np.arange(width), near.shape)
            limits, chosen = gumbel_paths(places, near, noise, math.inf)
            outputs = np.take_along_axis(orders, chosen, axis=1)
            parts.append(EpsilonPaths(entries[part], limits, outputs))
        drawn = EpsilonPaths.join(parts)
        back = np.argsort(np.concatenate([*order, np.empty(0, dtype=np.int64)]))
        # Breaks are in 2s, the nominal parameter of the exponential mechanism.
        paths = EpsilonPaths(entries, drawn.breaks[back], drawn.outputs[back])
        return self.in_own_epsilon(paths, 2.0)

    # -- probabilities --------------------------------------------------------------------------

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """Return the closed form, shape (E, n)."""
        strengths = np.array([self.strength(epsilon) for epsilon in epsilons.tolist()])
        ranking = ranking or self.ranked(word)
        rows = np.empty((epsilons.size, len(self.lexicon)))
        near = ranking.distances[: self.heads]
        rows[:, ranking.order] = law_of(near, ranking.distances, strengths)
        return rows

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(output | word) of every word, shape (n,), also where P underflows."""
        index = int(self.check_words([word])[0])
        ranking = ranking or self.ranked(index)
        logs = np.empty(len(self.lexicon))
        near = ranking.distances[: self.heads]
        logs[ranking.order] = log_law_of(near, ranking.distances, self.strength(epsilon))
        return logs

    # -- hooks

    def bulk(self, epsilon: float) -> RepairedBulk:
        """Return a sampler by inversion of the closed form that caches the nearest words."""
        return RepairedBulk(self, epsilon)

    @property
    def column_form(self) -> NearestForm:
        """Softmax over the nearest words, their number a Poisson variable."""
        return NearestForm(self.strength)

    @property
    def loss_search(self) -> LossSearch | None:
        """Search of the certificate, at this noise; for few words all pairs are faster."""
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


def _rectangles(counts: IntArray) -> list[IntArray]:
    """Return positions of draws that share a rectangle of noise: by candidates, in blocks."""
    order = np.argsort(counts, kind="stable")
    parts: list[IntArray] = []
    while order.size:
        # A draw over all words is wide; it is grouped only with others of its kind.
        alike = int((counts[order] <= 2 * counts[order[0]] + _FEW).sum())
        size = min(alike, max(1, _RECTANGLE // int(counts[order[alike - 1]])))
        parts.append(order[:size])
        order = order[size:]
    return parts


# -- the closed form and its bound ---------------------------------------------------------------


def proved_epsilon(strengths: FloatArray, n: int, separation: float) -> FloatArray:
    """Return B(Δ₀)/Δ₀ for each s = 1/b ≥ 0, increasing in s.

    Args:
        strengths: s, any shape.
        n: words of the vocabulary.
        separation: Δ₀, or a lower bound.
    """
    exponents = np.asarray(strengths, dtype=np.float64) * separation
    return np.asarray((exponents + np.logaddexp(exponents, _log_surplus(n))) / separation)


def proved_strength(epsilon: float, n: int, separation: float) -> float:
    """Return the largest s with B(Δ₀)/Δ₀ ≤ ε, in closed form; 0 if there is none.

    x = e^{s·Δ₀} solves x² + A·x = e^{ε·Δ₀}.
    """
    target, surplus = epsilon * separation, _log_surplus(n)
    # ln x = ln(2e^t/(A + √(A² + 4e^t))), in logarithms throughout.
    root = 0.5 * np.logaddexp(2.0 * surplus, math.log(4.0) + target)
    exponent = math.log(2.0) + target - float(np.logaddexp(surplus, root))
    if not exponent > 0:
        return 0.0
    strength = exponent / separation
    # Rounding must not guarantee more than the formula.
    while float(proved_epsilon(np.array(strength), n, separation)) > epsilon:
        strength = float(np.nextafter(strength, 0.0))
    return strength


def _log_surplus(n: int) -> float:
    """Return ln A."""
    last = whole_vocabulary_weight(n)
    return math.log(n) + math.log1p(-last) - math.log(last)


def law_of(near: FloatArray, distances: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return the probabilities of the words in the order of `distances`, shape (E, n).

    The first entries are the nearest words, in order; the others may be in any order.

    Args:
        near: distances of the nearest words, ascending, shape (m,): of the first m entries.
        distances: of all words, shape (n,).
        strengths: s = 1/b, shape (E,).
    """
    laws = np.exp(-np.multiply.outer(strengths, distances))
    tails, whole = _factors(laws, near.size)
    laws[:, : near.size] *= tails
    laws[:, near.size :] *= whole
    return laws


def log_law_of(near: FloatArray, distances: FloatArray, strength: float) -> FloatArray:
    """Return logarithms of `law_of` for one s, shape (n,), also where a probability underflows."""
    exponents = -strength * distances
    # Every Z_k is between 1 and n, so a term that underflows does not matter in the sum.
    tails, whole = _factors(np.exp(exponents)[None], near.size)
    exponents[: near.size] += np.log(tails[0])
    exponents[near.size :] += np.log(whole[0])
    return exponents


def _factors(terms: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return T_i of the first words, shape (E, size), and that of all others, shape (E, 1).

    From the terms e^{−s·d_j} of all words, shape (E, n).
    """
    n = terms.shape[1]
    weights = candidate_weights(n)[:size]
    partial = np.cumsum(terms[:, :size], axis=1)
    whole = whole_vocabulary_weight(n) / terms.sum(axis=1)[:, None]
    # Σ_{k ≥ i} from the last count backwards: the small terms first.
    few = (weights / partial)[:, ::-1]
    return np.cumsum(few, axis=1)[:, ::-1] + whole, whole


def heads(n: int) -> int:
    """Return the number of nearest words with their own law.

    The counts K < n distinguish so many; the rest of their mass is below 1e-18.
    """
    return int(candidate_weights(n).size)


def nearest_first(row: FloatArray, heads: int) -> IntArray:
    """Return all words, the first `heads` of them by distance, ties to the lowest index.

    Args:
        row: distances of all words, shape (n,).
        heads: number of words with their own law.
    """
    near, rest = nearest_of(row, heads), np.ones(row.size, dtype=bool)
    rest[near] = False
    return np.concatenate((near, np.flatnonzero(rest)))
