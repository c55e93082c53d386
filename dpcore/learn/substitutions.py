"""Allowed substitutions: the words that each word of a text may be replaced by.

A certificate bounds every choice among them. They come from a list, from the nearest words, or from
a mechanism: the words that it outputs for w with at least some probability. The last makes a
certificate a statement about private rewriting: except with the probability that a word leaves its
set, a certified prediction is the same for the rewritten text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import ExactIndex
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_SUBSTITUTES
from dpcore.mechanisms.mechanism import Mechanism

_BLOCK = 256  # words whose neighbours are looked up between two reports of progress


@dataclass(frozen=True, eq=False)
class Substitutions:
    """Allowed substitutes of some words; any other word stays. Read-only.

    Attributes:
        words: m lexicon indices, ascending, shape (m,).
        choices: allowed words for each, shape (m, c); the first is the word itself, and shorter
            rows are padded with it.
        inside: probability that a mechanism's output lies in the set of a word, shape (m,); 1 for
            sets that come from a rule and not from a mechanism.
    """

    words: IntArray
    choices: IntArray
    inside: FloatArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.words, self.choices, self.inside):
            array.setflags(write=False)

    def rows(self, words: IntArray) -> IntArray:
        """Return the row of each of some distinct words, shape (u,); −1 for a fixed word."""
        if not self.words.size:
            return np.full(words.shape, -1, dtype=np.int64)
        # A word beyond the last one would be out of range: it is compared with the last place.
        places = np.minimum(np.searchsorted(self.words, words), self.words.size - 1)
        return np.where(self.words[places] == words, places, -1)

    def of(self, word: int) -> IntArray:
        """Return the substitutes of a word, without itself, in their order."""
        row = int(self.rows(np.array([word]))[0])
        return self.choices[row][self.choices[row] != word] if row >= 0 else np.empty(0, np.int64)

    def first(self, count: int) -> Substitutions:
        """Keep only the first `count` substitutes of each word: of k nearest words the nearest."""
        return Substitutions(self.words, self.choices[:, : count + 1].copy(), self.inside)

    def all_inside(self, words: IntArray) -> float:
        """Return the probability that a mechanism keeps every one of some words inside its set.

        Args:
            words: of a text, with repetitions; each is rewritten independently.
        """
        rows = self.rows(np.asarray(words, dtype=np.int64))
        return float(np.prod(self.inside[rows[rows >= 0]]))

    def table(self, words: IntArray) -> IntArray:
        """Return `choices` of distinct words, shape (u, c); a fixed word has only itself."""
        choices = np.repeat(words[:, None], max(1, self.choices.shape[1]), axis=1)
        rows = self.rows(words)
        choices[rows >= 0] = self.choices[rows[rows >= 0]]
        return choices

    @property
    def mean_size(self) -> float:
        """Mean number of substitutes of a word in `words`."""
        if not self.words.size:
            return 0.0
        return float((self.choices != self.words[:, None]).sum(axis=1).mean())


def from_lists(lexicon: Lexicon, lists: Mapping[str, Sequence[str]]) -> Substitutions:
    """Return substitutions from a list; words outside the vocabulary are left out.

    Args:
        lexicon: the vocabulary.
        lists: substitutes of each word, such as the neighbours in counter-fitted vectors
            (Alzantot et al. 2018, Jia et al. 2019).

    Raises:
        ParameterError: a word has more than `limits.MAX_SUBSTITUTES` substitutes.
    """
    known = {lexicon.index(word): word for word in lists if word in lexicon}
    words = sorted(known)
    return _packed(
        words,
        [[lexicon.index(w) for w in lists[known[word]] if w in lexicon] for word in words],
        np.ones(len(words)),
    )


def nearest_words(
    lexicon: Lexicon,
    words: ArrayLike,
    count: int,
    progress: Progress = silent,
) -> Substitutions:
    """Return substitutions by the k nearest words, by exact Euclidean distance.

    Args:
        lexicon: words and vectors.
        words: those that may be replaced; repetitions are allowed.
        count: k, 1 to `limits.MAX_SUBSTITUTES`.
        progress: called with ("neighbours", words done, words).

    Raises:
        ParameterError: a number is outside its range.
    """
    most = min(MAX_SUBSTITUTES, len(lexicon) - 1)
    if not 1 <= count <= most:
        raise ParameterError(f"a word has 1 to {most:,} substitutes, got {count}")
    distinct = _distinct(words, len(lexicon))
    index = ExactIndex(lexicon.vectors)
    substitutes: list[list[int]] = []
    for start in range(0, distinct.size, _BLOCK):
        part = distinct[start : start + _BLOCK]
        # One more than `count`: the nearest of all is nearly always the word itself.
        near, _ = index.search(lexicon.vectors[part], count + 1)
        rows = zip(part, near, strict=True)
        substitutes += [row[row != word][:count].tolist() for word, row in rows]
        progress("neighbours", start + len(part), distinct.size)
    return _packed(distinct.tolist(), substitutes, np.ones(distinct.size))


def likely_words(
    mechanism: Mechanism,
    words: ArrayLike,
    epsilon: float,
    least: float,
) -> Substitutions:
    """Return substitutions by the words that a mechanism outputs with probability ≥ `least`.

    Args:
        mechanism: one with an exact law.
        words: those that may be replaced; repetitions are allowed.
        epsilon: ε of the mechanism.
        least: at least 1/`limits.MAX_SUBSTITUTES`, which bounds the number of such words.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: the mechanism has no exact law, or `least` is outside its range.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"{mechanism.short} has no exact law, so which words are likely is not known exactly; "
            "take a mechanism such as tem, or the nearest words"
        )
    if not 1.0 / MAX_SUBSTITUTES <= least <= 1:
        raise ParameterError(
            f"the least probability of a substitute must be in [{1.0 / MAX_SUBSTITUTES:g}, 1], "
            f"got {least}"
        )
    mechanism.check_epsilon(epsilon)
    distinct = _distinct(words, len(mechanism.lexicon))
    substitutes, inside = [], np.zeros(distinct.size)
    for i, word in enumerate(distinct.tolist()):
        law = mechanism.law(word, [epsilon])
        likely = np.flatnonzero(law.probabilities[0] >= least)
        order = likely[np.argsort(-law.probabilities[0][likely], kind="stable")]
        outputs = law.outputs[order]
        substitutes.append(outputs[outputs != word].tolist())
        # The word itself is always allowed, so its probability counts, however small.
        stays = 0.0 if word in outputs else law.probability(word)
        inside[i] = law.probabilities[0][order].sum() + stays
    # A sum of probabilities may round to a little more than 1.
    return _packed(distinct.tolist(), substitutes, np.minimum(inside, 1.0))


def _distinct(words: ArrayLike, vocabulary: int) -> IntArray:
    """Return distinct words, ascending; those outside the vocabulary (−1) are dropped."""
    distinct = np.unique(np.asarray(words, dtype=np.int64))
    if distinct.size and not (distinct[0] >= -1 and distinct[-1] < vocabulary):
        raise ParameterError(f"word indices must lie in 0..{vocabulary - 1}")
    return distinct[distinct >= 0]


def _packed(words: list[int], substitutes: list[list[int]], inside: FloatArray) -> Substitutions:
    rows = [list(dict.fromkeys([word, *row])) for word, row in zip(words, substitutes, strict=True)]
    width = max((len(row) for row in rows), default=1)
    if not width <= MAX_SUBSTITUTES + 1:
        raise ParameterError(
            f"a word may have up to {MAX_SUBSTITUTES:,} substitutes, got {width - 1:,}"
        )
    choices = np.array([row + row[:1] * (width - len(row)) for row in rows], dtype=np.int64)
    return Substitutions(
        np.array(words, dtype=np.int64), choices.reshape(len(words), width), inside
    )
