"""Outputs drawn from word counts, and the words that tell two groups of texts apart.

How often each output occurs depends on the texts of a group through their word counts alone, so
that outputs are drawn from the counts: first the words of a subsample of the texts, then, for each
word, what the mechanism makes of all its occurrences.

For k-ary randomised response, p on the word itself and q on each other, the function of outputs
whose mean is the number of occurrences of w has a closed form (`docs/crowd.md`), so that all words
are compared at once: the estimate is (o_w − N·q)/(p − q) for o_w outputs w of N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.output.operators import response_of
from dpcore.crowd.bundled import Crowd
from dpcore.crowd.comparison import RATE
from dpcore.crowd.estimates import LEAST_TEXTS, LEVEL, TEXTS, Estimates, OutputCounts
from dpcore.crowd.queries import Queries
from dpcore.crowd.undo import undo
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism, SparseLaw
from dpcore.noise.streams import generator
from dpcore.rewrite.languages import rules_of

_ROWS = 4_000_000  # draws of one multinomial call, to bound memory


def sample_words(counts: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """Draw a share of the words of a group, without replacement.

    Args:
        counts: occurrences of each word, shape (n,).
        share: of all words; at 1 the counts themselves are returned.
        rng: source of randomness.

    Raises:
        ParameterError: the share is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise ParameterError(f"a share of the words is above 0 and at most 1, got {share}")
    if share == 1:
        return counts
    number = round(share * int(counts.sum()))
    drawn = rng.multivariate_hypergeometric(counts, number, method="marginals")
    return np.asarray(drawn, dtype=np.int64)


def draw_outputs(law: SparseLaw, counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw how often each output occurs, exactly.

    A law b_y + e(w, y) with e ≥ 0 is a mixture: with probability Σe(w, ·) one of the exceptions of
    w, else an output that does not depend on w.

    Args:
        law: of the mechanism at one ε.
        counts: occurrences of each word, shape (n,).
        rng: source of randomness.

    Returns:
        Occurrences of each output, shape (n,).

    Raises:
        ParameterError: an exception is less likely than an output that is none.
    """
    if not np.all(law.excess >= 0):
        raise ParameterError("outputs are drawn from a law whose exceptions are all more likely")
    n = law.base.size
    order = np.argsort(law.words, kind="stable")
    words, outputs, excess = law.words[order], law.outputs[order], law.excess[order]
    mass = np.bincount(words, excess, n)
    exceptional = rng.binomial(counts, np.minimum(mass, 1.0))
    total = int(counts.sum() - exceptional.sum())
    drawn = np.asarray(rng.multinomial(total, law.base / law.base.sum()), dtype=np.int64)
    # Words with as many exceptions each are drawn together; one exception needs no draw.
    sizes = np.bincount(words, minlength=n)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        every = np.flatnonzero((sizes == size) & (exceptional > 0))
        for part in np.array_split(every, max(1, every.size * size // _ROWS)):
            places = starts[part, None] + np.arange(size)
            came = exceptional[part, None]
            if size > 1:
                chances = excess[places] / excess[places].sum(axis=1, keepdims=True)
                came = rng.multinomial(exceptional[part], chances)
            drawn += np.bincount(outputs[places].ravel(), came.ravel(), n).astype(np.int64)
    return drawn


def draw_release(
    crowd: Crowd, law: SparseLaw, texts: int, seed: int, *key: str | int
) -> tuple[IntArray, IntArray]:
    """Draw a subsample of the texts of a crowd, and what a mechanism makes of them.

    Args:
        crowd: word counts of all its texts; each group gives the same share of them.
        law: of the mechanism at one ε.
        texts: number of texts, at most all of them.
        seed: seed of the draw.
        key: names of the setting; different ones are independent.

    Returns:
        How often each word was written, and how often it came out, in each group: shape (G, n)
        each.

    Raises:
        ParameterError: there are fewer texts.
    """
    share = texts / int(crowd.texts.sum())
    written, outputs = [], []
    for group, counts in zip(crowd.groups, crowd.counts, strict=True):
        rng = generator(seed, "crowd", crowd.name, group, texts, *key)
        written.append(sample_words(counts, share, rng))
        outputs.append(draw_outputs(law, written[-1], rng))
    return np.stack(written), np.stack(outputs)


def against_the_rest(counts: IntArray, group: int) -> IntArray:
    """Return the counts of one group, and those of all others together, shape (2, n)."""
    return np.stack((counts[group], counts.sum(axis=0) - counts[group]))


def true_difference(crowd: Crowd, group: int) -> FloatArray:
    """Return the share of each word in a group minus that in all others, shape (n,)."""
    both = against_the_rest(crowd.counts, group)
    shares = both / both.sum(axis=1, keepdims=True)
    return np.asarray(shares[0] - shares[1])


def k_ary(mechanism: Mechanism, epsilon: float) -> tuple[SparseLaw, float, float]:
    """Return the law of k-ary randomised response at ε, with p and q.

    Raises:
        ParameterError: the mechanism is another one.
        EpsilonError: ε is not admissible.
    """
    law, response = mechanism.sparse_law(epsilon), response_of(mechanism, epsilon)
    if law is None or response is None:
        raise ParameterError(
            f"all words are compared at once in texts of k-ary, got {mechanism.short}: count named "
            "words with dpcore.count"
        )
    more, q = response
    return law, q + more, q


def content_words(lexicon: Lexicon) -> BoolArray:
    """Return True for words that are no function words of the language, shape (n,)."""
    language = rules_of(lexicon.language)
    return np.array([language.lower(word) not in language.stop_words for word in lexicon.words])


@dataclass(frozen=True, eq=False)
class WordComparison:
    """Words compared between two groups; arrays of shape (n,), in shares of all words of a group.

    Attributes:
        difference: estimated share in the first group minus that in the second.
        error: its standard error.
        half: half the width of its interval: of level 1 − `RATE`·R/m for the R words that are told
            apart of m, so that of these a share of `RATE` misses at most (Benjamini and Yekutieli
            2005, Definition 1); of level 1 − `RATE` for any other.
        differs: True for words that are told apart, at a rate of false discoveries of `RATE`
            (Benjamini and Hochberg 1995).
    """

    difference: FloatArray
    error: FloatArray
    half: FloatArray
    differs: BoolArray

    @property
    def z(self) -> FloatArray:
        """Difference in standard errors."""
        nothing = np.zeros_like(self.difference)
        return np.asarray(np.divide(self.difference, self.error, out=nothing, where=self.error > 0))

    def ranked(self, sign: int) -> IntArray:
        """Return the words that are told apart in one direction, the clearest first.

        Args:
            sign: 1 for words that are more common in the first group, −1 for the second.
        """
        z = sign * self.z
        places = np.flatnonzero(self.differs & (z > 0))
        return np.asarray(places[np.argsort(-z[places], kind="stable")])


def compare_words(
    outputs: IntArray, p: float, q: float, share: float = 1.0, among: BoolArray | None = None
) -> WordComparison:
    """Compare words between two groups of texts of k-ary randomised response.

    The variance of an estimate Ĝ = Σh is Σh² − Ĝ for these texts. Where they are a sample of more
    texts, that of drawing the words is added: Ĝ·(1 − Ĝ/N), times 1 − `share`.

    Rare outputs are not normal, so that a word is told apart only if the exact test says so too: of
    the outputs w of both groups together, the first group has a binomial number if the word is as
    common in both.

    Args:
        outputs: how often each output occurs in each of the two groups, shape (2, n).
        p: probability that a word stays.
        q: probability of each other output.
        share: share of all texts that these are; at 1 they are compared themselves, without those
            for which they may stand.
        among: words that are compared, shape (n,); all if None. No other is told apart.

    Raises:
        ParameterError: p ≤ q, or a group has no output.
    """
    from scipy.special import ndtr, ndtri
    from scipy.stats import false_discovery_control

    if not 0 <= q < p <= 1:
        raise ParameterError(f"a word must stay with more than each other's chance: p={p}, q={q}")
    o = np.asarray(outputs, dtype=np.float64)
    total = o.sum(axis=1, keepdims=True)
    if o.ndim != 2 or len(o) != 2 or not np.all(total > 0):
        raise ParameterError("two groups of outputs are compared, none of which is empty")
    scale = 1.0 / (p - q)
    estimate = (o - total * q) * scale
    noise = (o * (1.0 - q) ** 2 + (total - o) * q**2) * scale**2 - estimate
    inside = np.clip(estimate / total, 0.0, 1.0)
    variance = np.maximum(noise, 0.0) + (1.0 - share) * total * inside * (1.0 - inside)
    difference = estimate[0] / total[0, 0] - estimate[1] / total[1, 0]
    error = np.sqrt((variance / total**2).sum(axis=0))
    size = np.abs(difference)
    z = np.divide(size, error, out=np.zeros_like(size), where=error > 0)
    of_first = float(total[0, 0] / total.sum())
    tail = 2.0 * ndtr(-z)
    among = np.ones(tail.size, dtype=bool) if among is None else among
    # Beyond RATE no word is told apart, nor does its p matter to the others.
    near = among & (tail <= RATE)
    tail[near] = np.maximum(tail[near], _binomial_tails(o[0, near], o[1, near], of_first))
    differs = np.zeros(tail.size, dtype=bool)
    differs[among] = false_discovery_control(tail[among]) <= RATE
    level = RATE * np.where(differs, differs.sum() / among.sum(), 1.0)
    half = -ndtri(level / 2.0) * error
    return WordComparison(difference, error, np.asarray(half), np.asarray(differs))


def _binomial_tails(first: FloatArray, second: FloatArray, share: float) -> FloatArray:
    """Return two-sided p that `first` of `first + second` outputs fall into a group of a share."""
    from scipy.special import betainc

    # P(X ≥ k) = I_s(k, m − k + 1) for X binomial of m and s, for k > 0.
    above = np.where(first > 0, betainc(np.maximum(first, 1.0), second + 1.0, share), 1.0)
    below = np.where(second > 0, betainc(np.maximum(second, 1.0), first + 1.0, 1.0 - share), 1.0)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(below, above)))


# Words that are told apart in a release that is drawn, beside the truth.


@dataclass(frozen=True, eq=False)
class WordDifferences:
    """Words that are told apart at one setting, the clearest first; shares of all words.

    Attributes:
        words: their indices, shape (k,).
        difference: estimates, positive where a word is more common in the group, shape (k,).
        half: half the widths of their intervals.
        truth: true differences.
        z: differences in standard errors.
    """

    words: IntArray
    difference: FloatArray
    half: FloatArray
    truth: FloatArray
    z: FloatArray

    @property
    def wrong(self) -> int:
        """Number of words that are truly no more common in the group where they seem to be."""
        return int((self.difference * self.truth <= 0).sum())

    @property
    def missed(self) -> BoolArray:
        """True where the interval does not hold the truth, shape (k,)."""
        return np.abs(self.difference - self.truth) > self.half

    def side(self, sign: int) -> IntArray:
        """Return the places of the words of one side, the clearest first."""
        return np.flatnonzero(sign * self.difference > 0)

    def clearest(self, lexicon: Lexicon, sign: int, most: int) -> list[str]:
        """Return the words of one side, at most so many."""
        return [lexicon.words[word] for word in self.words[self.side(sign)[:most]].tolist()]


class DrawnComparison:
    """A group of a bundled crowd compared with all others, in releases by k-ary response.

    Args:
        mechanism: k-ary response over the lexicon of the crowd.
        crowd: word counts of all texts.
        group: number of the group.
        every: True to compare function words too.
    """

    def __init__(
        self, mechanism: Mechanism, crowd: Crowd, group: int, *, every: bool = False
    ) -> None:
        self.mechanism, self.crowd, self.group = mechanism, crowd, group
        self._among = None if every else content_words(mechanism.lexicon)
        self._truth = true_difference(crowd, group)

    def at(self, epsilon: float, texts: int, seed: int, *key: str | int) -> WordDifferences:
        """Draw a release of some of the texts, and return the words that it tells apart.

        Args:
            epsilon: ε of each word.
            texts: number of texts, at most all of them.
            seed: seed of the draw.
            key: names of the setting; different ones are independent.

        Raises:
            ParameterError: the mechanism is another one, or there are fewer texts.
            EpsilonError: ε is not admissible.
        """
        law, p, q = k_ary(self.mechanism, epsilon)
        _, outputs = draw_release(self.crowd, law, texts, seed, *key)
        share = texts / int(self.crowd.texts.sum())
        comparison = compare_words(against_the_rest(outputs, self.group), p, q, share, self._among)
        places = np.concatenate((comparison.ranked(1), comparison.ranked(-1)))
        places = places[np.argsort(-np.abs(comparison.z[places]), kind="stable")]
        return WordDifferences(
            places,
            comparison.difference[places],
            comparison.half[places],
            self._truth[places],
            comparison.z[places],
        )


# Queries counted in releases of more and more texts, beside the truth.


def drawn_counts(
    mechanism: Mechanism,
    crowd: Crowd,
    queries: Queries,
    epsilon: float,
    sizes: Sequence[int],
    seed: int,
    *key: str | int,
) -> list[dict[str, Any]]:
    """Draw a release for each number of texts, and count in it as `dpcore.crowd.counting.count`.

    Args:
        mechanism: over the lexicon of the crowd, with a law of few exceptions such as k-ary.
        crowd: word counts of all texts.
        queries: what is counted.
        epsilon: ε of each word.
        sizes: numbers of texts, each at most all of them.
        seed: seed of the draws.
        key: names of the setting; different ones are independent.

    Returns:
        For each size, query and group the columns of `dpcore.crowd.estimates.Row.to_dict` for these
        very texts, each interval of 95 % by itself, with `texts` (the size) and `truth` (how often
        it was written).

    Raises:
        ParameterError: the mechanism has no such law, or there are fewer texts.
        EpsilonError: ε is not admissible.
    """
    law = mechanism.sparse_law(epsilon)
    if law is None:
        raise ParameterError(f"outputs of {mechanism.short} are not drawn from counts: take k-ary")
    estimators = undo(mechanism, epsilon, queries, float(crowd.words.sum()))
    matrix, rows = queries.matrix(), []
    for size in sizes:
        written, outputs = draw_release(crowd, law, size, seed, *key)
        texts = np.rint(crowd.texts * (size / crowd.texts.sum())).astype(np.int64)
        observed = OutputCounts(crowd.groups, np.maximum(texts, LEAST_TEXTS), outputs)
        estimates = Estimates(mechanism.short, epsilon, TEXTS, LEVEL, False, observed, estimators)
        truth = (written @ matrix).T.ravel()
        rows += [
            {"texts": size, **row.to_dict(), "truth": float(true)}
            for row, true in zip(estimates.rows, truth, strict=True)
        ]
    return rows
