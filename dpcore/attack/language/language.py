"""Bigram model of English, and the exact posterior over the words of a text under it.

The model, over the words of a lexicon, is an attacker's knowledge without any output.

Interpolated Kneser–Ney smoothing with one discount D (Kneser and Ney 1995; Chen and Goodman 1999,
Section 2.7 and equation 15 with one D):

    P(w | v) = max(c(v, w) − D, 0)/c(v) + λ(v)·p₀(w),   p₀(w) ∝ N₁₊(·, w) + ½,

c the counts, N₁₊(·, w) the number of different words before w, and λ(v) the rest to 1. Rare pairs
are not stored: their probability goes to λ(v), so every row still sums to 1. The boundary of a
sentence is a separate word; after a word that the lexicon lacks only p₀ is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import (
    ARRAYS,
    bundled_data,
    bundled_folder,
    refuse_of_the_system,
    replacing,
)
from dpcore.lexicon.lexicon import ENGLISH, Lexicon

# Counts of words and of neighbouring words, and their file format.


FILE = "bigrams.npz"
LARGEST = 65_535
"""Largest stored count of a pair."""


@dataclass(frozen=True)
class CountPlan:
    """Settings of the counts.

    Attributes:
        everyday: weight of an occurrence outside the encyclopedia.
        least: a pair of words with a smaller count is left out.
        discount: discount of the model for every count of a pair.
    """

    everyday: int = 8
    least: int = 2
    discount: float = 0.75


PairArray = NDArray[np.int32]
"""Numbers of the stored pairs: 800,000, kept in memory, and none above the size of a lexicon."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts over n words and the boundary of a sentence, which has the number n.

    Attributes:
        words: occurrences of each word, shape (n,).
        contexts: occurrences before a known word or the end, shape (n + 1,).
        continuations: number of different words before each word or the end, shape (n + 1,).
        first: first word of each stored pair, ascending, shape (P,).
        second: second word, ascending within one first word, shape (P,).
        pairs: count of each stored pair, shape (P,).
    """

    words: IntArray
    contexts: IntArray
    continuations: IntArray
    first: PairArray
    second: PairArray
    pairs: PairArray


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts to a small file: rows of words as gaps, all integers."""
    n = counts.words.size
    rows = np.bincount(counts.first, minlength=n + 1)
    # Second words ascend within a row: their gaps are small numbers, which compress well. A row
    # begins with the word itself.
    gaps = np.diff(counts.second, prepend=0)
    starts = np.cumsum(rows) - rows
    begins = starts[rows > 0]
    gaps[begins] = counts.second[begins]
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            words=counts.words.astype(np.uint32),
            contexts=counts.contexts.astype(np.uint32),
            continuations=counts.continuations.astype(np.uint32),
            rows=rows.astype(np.uint16),
            gaps=gaps.astype(np.uint16),
            pairs=counts.pairs.astype(np.uint16),
        )


def read_counts(path: Path) -> Counts:
    """Read a file of `write_counts`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name].astype(np.int64) for name in stored.files}
    rows = arrays["rows"]
    first = np.repeat(np.arange(rows.size, dtype=np.int32), rows)
    total = np.cumsum(arrays["gaps"])
    begins = np.cumsum(rows) - rows
    before = np.concatenate(([0], total))[begins]
    return Counts(
        words=arrays["words"],
        contexts=arrays["contexts"],
        continuations=arrays["continuations"],
        first=first,
        second=(total - np.repeat(before, rows)).astype(np.int32),
        pairs=arrays["pairs"].astype(np.int32),
    )


UNKNOWN = -1
"""Number of a neighbour that the lexicon lacks, or that is not known."""
_ADDED = 0.5  # to the count of every word: no word is impossible


@dataclass(frozen=True, eq=False)
class Bigram:
    """Bigram model P(w | v) over n words and the boundary, which has the number n; read-only.

    Attributes:
        frequency: relative frequency of each word, shape (n,), sums to 1, positive.
        fallback: p₀, shape (n + 1,).
        share: λ, shape (n + 1,).
        starts: index of the first pair of each first word, shape (n + 2,).
        second: second word of each pair, ascending within a row, shape (P,).
        excess: max(c − D, 0)/c(v) of each pair, shape (P,).
    """

    frequency: FloatArray
    fallback: FloatArray
    share: FloatArray
    starts: IntArray
    second: PairArray
    excess: FloatArray

    @cached_property
    def pairs(self) -> Any:
        """Sparse matrix of `excess`, shape (n + 1, n + 1), with one row for each first word."""
        from scipy.sparse import csr_array

        size = self.share.size
        starts = self.starts.astype(np.int32)
        return csr_array((self.excess, self.second, starts), shape=(size, size))

    @property
    def boundary(self) -> int:
        """Number n of the beginning and of the end of a sentence."""
        return self.frequency.size

    @classmethod
    def of(cls, counts: Counts, discount: float) -> Bigram:
        """Make the model of some counts."""
        n = counts.words.size
        frequency = (counts.words + _ADDED) / (counts.words.sum() + _ADDED * n)
        # p₀ counts the different words before w, not their occurrences (Kneser and Ney 1995).
        fallback = np.asarray(counts.continuations, dtype=np.float64) + _ADDED
        excess = np.maximum(counts.pairs - discount, 0.0) / counts.contexts[counts.first]
        # λ(v) is the remainder of the stored pairs: dropped pairs and discounts alike.
        share = np.ones(n + 1) - np.bincount(counts.first, excess, minlength=n + 1)
        starts = np.searchsorted(counts.first, np.arange(n + 2))
        fallback /= fallback.sum()
        for array in (frequency, fallback, share, starts, counts.second, excess):
            array.setflags(write=False)
        return cls(frequency, fallback, share, starts.astype(np.int64), counts.second, excess)

    def after(self, word: int) -> FloatArray:
        """Return P(· | word) over all words and the boundary, shape (n + 1,)."""
        if word == UNKNOWN:
            return self.fallback
        row = self.share[word] * self.fallback
        pairs = slice(int(self.starts[word]), int(self.starts[word + 1]))
        row[self.second[pairs]] += self.excess[pairs]
        return np.asarray(row)

    def before(self, word: int) -> FloatArray:
        """Return P(word | ·) of all words and the boundary, (n + 1,): no law, a likelihood."""
        if word == UNKNOWN:
            return np.ones(self.share.size)
        column = self.share * self.fallback[word]
        # Pairs are sorted by their first word: `starts` gives the row of a pair.
        pairs = np.flatnonzero(self.second == word)
        column[np.searchsorted(self.starts, pairs, side="right") - 1] += self.excess[pairs]
        return np.asarray(column)


def perplexity(model: Bigram, pairs: IntArray) -> dict[str, float]:
    """Compute the perplexity of a text: e to the mean of −ln P(word | word before).

    Args:
        model: the model.
        pairs: first·(n + 1) + second of neighbouring words; ends of sentences are not predicted.

    Returns:
        `tokens`, `perplexity`, and `perplexity_unigram` from the frequencies alone.
    """
    first, second = np.divmod(pairs, model.boundary + 1)
    first, second = first[second < model.boundary], second[second < model.boundary]
    probabilities = model.share[first] * model.fallback[second]
    # Pairs as ascending numbers, so that one search looks up all pairs of the text.
    keys = np.repeat(np.arange(model.share.size), np.diff(model.starts)) * model.share.size
    keys += model.second
    wanted = first * model.share.size + second
    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    stored = keys[place] == wanted if keys.size else np.zeros(wanted.size, dtype=bool)
    probabilities[stored] += model.excess[place[stored]]
    return {
        "tokens": int(second.size),
        "perplexity": float(np.exp(-np.log(probabilities).mean())),
        "perplexity_unigram": float(np.exp(-np.log(model.frequency[second]).mean())),
    }


def language_folder() -> Path:
    """Return the folder of the bundled counts."""
    return bundled_data("language", FILE)


@lru_cache(maxsize=1)
def _bundled() -> tuple[Counts, tuple[str, ...]]:
    path = language_folder() / FILE
    try:
        counts = read_counts(path)
        words = (bundled_folder() / "words.txt").read_text(encoding="utf-8").split("\n")
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"the counts of words in {path} cannot be read; make them with "
            "`python -m dpcore language count`"
        ) from None
    return counts, tuple(words)


def check_english(lexicon: Lexicon) -> None:
    """Refuse a lexicon of another language: some of its words would match English ones.

    Raises:
        LexiconError: the lexicon is of another language.
    """
    if lexicon.language != ENGLISH:
        raise LexiconError(
            f"the words of lexicon {lexicon.name!r} are of the language {lexicon.language!r}, and "
            "only English was counted: there are no frequencies and no bigrams for them, take a "
            "uniform prior"
        )


@lru_cache(maxsize=2)
def language(lexicon: Lexicon) -> Bigram:
    """Return the bundled model over the words of a lexicon.

    A word that was not counted is as likely as one that never occurred.

    Raises:
        LexiconError: the lexicon is not English, or the counts are missing, or know none of its
            words.
    """
    check_english(lexicon)
    counts, words = _bundled()
    if lexicon.words != words:
        counts = _translated(counts, words, lexicon)
    return Bigram.of(counts, CountPlan().discount)


def word_frequencies(lexicon: Lexicon) -> FloatArray:
    """Return each word's relative frequency in the bundled counts, shape (n,), sums to 1."""
    return language(lexicon).frequency


def _translated(counts: Counts, words: tuple[str, ...], lexicon: Lexicon) -> Counts:
    """Renumber counts for another lexicon."""
    size, n = len(words), len(lexicon)
    number = np.array(
        [lexicon.index(w) if w in lexicon else UNKNOWN for w in words] + [n], dtype=np.int32
    )
    known = number >= 0
    if not known[:size].any():
        raise LexiconError(
            f"none of the {n:,} words of lexicon {lexicon.name!r} was counted: its frequencies "
            "are not known, take a uniform prior"
        )

    def moved(values: IntArray, length: int) -> IntArray:
        result = np.zeros(length, dtype=np.int64)
        result[number[: values.size][known[: values.size]]] = values[known[: values.size]]
        return result

    first, second = number[counts.first], number[counts.second]
    both = (first >= 0) & (second >= 0)
    order = np.lexsort((second[both], first[both]))
    return Counts(
        words=moved(counts.words, n),
        contexts=moved(counts.contexts, n + 1),
        continuations=moved(counts.continuations, n + 1),
        first=first[both][order],
        second=second[both][order],
        pairs=counts.pairs[both][order],
    )


# Hidden Markov chain of the words of a text: bigrams and outputs of all positions together.
#
# With words w₁ … w_L, outputs y₁ … y_L of independent noise and a bigram prior,
#
#     P(w_i | y₁ … y_L) ∝ α_i(w_i)·β_i(w_i)
#
# by the forward–backward recursion (Rabiner 1989, Section III.A). In the bigram model a step over
# all n words is a sum over the stored pairs and one shared term, so it is exact over the whole
# lexicon: no list of candidates is cut off. Whole sequences are drawn from the same posterior by
# going backward through the α (Scott 2002).
#
# The evidence at a position is its likelihood under each word, shape (n,), or the word itself, or n
# for the end of a sentence, or `UNKNOWN`: then the chain restarts behind it.


Seen = FloatArray | int


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of the recursion at one position, each up to a factor; shape (n + 1,) each.

    Attributes:
        left: P(evidence before the position, w).
        right: P(evidence behind it | w).
        state: P(w | evidence up to the position), with sum 1; 0 where the position is unknown.
    """

    left: FloatArray
    right: FloatArray
    state: FloatArray


def messages(model: Bigram, evidence: Sequence[Seen]) -> list[Messages]:
    """Compute the messages from both sides at every position; exact.

    Args:
        model: bigram model; the sequence is between two boundaries.
        evidence: evidence at each position.
    """
    size, back = model.share.size, model.pairs
    result: list[Messages] = []
    message = model.before(model.boundary)
    forward = _forward(model, evidence)
    for seen, (left, state) in zip(reversed(evidence), reversed(forward), strict=True):
        result.append(Messages(left, message, state))
        if _is_unknown(seen):
            message = np.ones(size)
            continue
        onward = _local(model, seen) * message
        onward = onward / onward.max()
        message = model.share * float(model.fallback @ onward) + back @ onward
    return result[::-1]


def forward_backward(model: Bigram, evidence: Sequence[Seen]) -> list[FloatArray]:
    """Compute P(w_i | everything) at every position, shape (n,) each; exact.

    Args:
        model: bigram model; the sequence is between two boundaries.
        evidence: evidence at each position.
    """
    beliefs: list[FloatArray] = []
    for seen, at in zip(evidence, messages(model, evidence), strict=True):
        if _is_unknown(seen):
            beliefs.append(at.state[:-1])
            continue
        both = at.state * at.right
        beliefs.append((both / both.sum())[:-1])
    return beliefs


def draw_chains(
    model: Bigram, evidence: Sequence[Seen], count: int, rng: np.random.Generator
) -> IntArray:
    """Draw whole sequences from P(w₁ … w_L | everything), exactly.

    Args:
        model: bigram model; the sequence is between two boundaries.
        evidence: evidence at each position.
        count: number of draws, independent of each other.
        rng: generator for the draws.

    Returns:
        Words, shape (count, L); known words unchanged.
    """
    words = np.empty((count, len(evidence)), dtype=np.int64)
    states = [state for _, state in _forward(model, evidence)]
    behind = np.full(count, model.boundary)
    for i in range(len(evidence) - 1, -1, -1):
        seen = evidence[i]
        if isinstance(seen, np.ndarray):
            chances = rng.random(count)
            for word in np.unique(behind).tolist():
                those = behind == word
                sums = np.cumsum((states[i] * model.before(word))[:-1])
                drawn = np.searchsorted(sums, chances[those] * sums[-1], side="right")
                # A product that was rounded up to the whole sum goes to the last possible word.
                words[those, i] = np.minimum(drawn, np.searchsorted(sums, sums[-1]))
        else:
            words[:, i] = seen
        behind = words[:, i]
    return words


def log_chance(model: Bigram, words: IntArray) -> FloatArray:
    """Compute ln P of each sequence between two boundaries, shape (count,); p₀ after `UNKNOWN`.

    Args:
        model: bigram model.
        words: shape (count, L); a position that is `UNKNOWN` contributes no factor.
    """
    ends = np.full((len(words), 1), model.boundary)
    whole = np.concatenate([ends, words, ends], axis=1)
    pairs, place = np.unique(
        np.stack([whole[:, :-1].ravel(), whole[:, 1:].ravel()]), axis=1, return_inverse=True
    )
    logs = np.zeros(pairs.shape[1])
    for first in np.unique(pairs[0]).tolist():
        those = np.flatnonzero((pairs[0] == first) & (pairs[1] != UNKNOWN))
        logs[those] = np.log(model.after(first)[pairs[1, those]])
    return np.asarray(logs[place.ravel()].reshape(len(words), -1).sum(axis=1))


def parts_of(evidence: Sequence[Seen], boundary: int, longest: int) -> list[range]:
    """Return the positions of each sentence without its end; a longer one in parts.

    Args:
        evidence: evidence at each position.
        boundary: n.
        longest: largest number of positions of a part.
    """
    ends = [
        i for i, seen in enumerate(evidence)
        if not isinstance(seen, np.ndarray) and seen == boundary
    ]  # fmt: skip
    return [
        range(i, min(i + longest, end))
        for begin, end in zip([-1, *ends], [*ends, len(evidence)], strict=True)
        for i in range(begin + 1, end, longest)
    ]


def _forward(model: Bigram, evidence: Sequence[Seen]) -> list[tuple[FloatArray, FloatArray]]:
    """Compute `Messages.left` and `Messages.state` at every position."""
    size, onto = model.share.size, model.pairs.T
    forward: list[tuple[FloatArray, FloatArray]] = []
    message = model.after(model.boundary)
    for seen in evidence:
        if _is_unknown(seen):
            forward.append((message, np.zeros(size)))
            message = model.fallback
            continue
        # Scaled to sum 1 at every position, so that no long product underflows (Rabiner 1989,
        # Section V.A); scales cancel in the posterior.
        state = message * _local(model, seen)
        state = state / state.sum()
        forward.append((message, state))
        # P(· | v) = λ(v)·p₀ + stored excess: the sum over v splits into one number and the pairs.
        message = float(state @ model.share) * model.fallback + onto @ state
    return forward


def _local(model: Bigram, seen: Seen) -> FloatArray:
    likelihood = np.zeros(model.share.size)
    if isinstance(seen, np.ndarray):
        likelihood[:-1] = seen
    else:
        likelihood[seen] = 1.0
    return likelihood


def _is_unknown(seen: Seen) -> bool:
    return not isinstance(seen, np.ndarray) and seen == UNKNOWN
