"""The words of a text as a hidden chain: what bigrams and outputs say of all places together.

With words w₁ … w_L, outputs y₁ … y_L of independent noise and a bigram prior,

    P(w_i | y₁ … y_L) ∝ α_i(w_i)·β_i(w_i)

by the forward–backward recursion (Rabiner 1989, Section III.A). In the bigram model a step over all
n words is a sum over the stored pairs and one shared term, so it is exact over the whole lexicon:
no list of candidates is cut off. Whole sequences are drawn from the same posterior by going
backward through the α (Scott 2002).

What was seen at a place is the likelihood of it under each word, shape (n,), or the word itself, or
n for the end of a sentence, or `UNKNOWN`: then the chain begins anew behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.language import UNKNOWN

if TYPE_CHECKING:
    from dpcore.attack.language.language import Bigram

Seen = FloatArray | int


def forward_backward(model: Bigram, evidence: Sequence[Seen]) -> list[FloatArray]:
    """P(w_i | everything) at every place, shape (n,) each; exact.

    Args:
        model: of neighbouring words; the sequence stands between two boundaries.
        evidence: what was seen at each place.
    """
    size, back = model.share.size, model.pairs
    backward: list[FloatArray] = []
    message = model.before(model.boundary)
    for seen, state in zip(reversed(evidence), reversed(_filtered(model, evidence)), strict=True):
        if _is_unknown(seen):
            backward.append(state[:-1])
            message = np.ones(size)
            continue
        both = state * message
        backward.append((both / both.sum())[:-1])
        onward = _local(model, seen) * message
        onward = onward / onward.max()
        message = model.share * float(model.fallback @ onward) + back @ onward
    return backward[::-1]


def draw_chains(
    model: Bigram, evidence: Sequence[Seen], count: int, rng: np.random.Generator
) -> IntArray:
    """Draw whole sequences from P(w₁ … w_L | everything), exactly.

    Args:
        model: of neighbouring words; the sequence stands between two boundaries.
        evidence: what was seen at each place.
        count: how many are drawn, independent of each other.
        rng: of the draws.

    Returns:
        Words, shape (count, L); what was known, as it was given.
    """
    words = np.empty((count, len(evidence)), dtype=np.int64)
    states = _filtered(model, evidence)
    behind = np.full(count, model.boundary)
    for i in range(len(evidence) - 1, -1, -1):
        seen = evidence[i]
        if isinstance(seen, np.ndarray):
            chances = rng.random(count)
            for word in np.unique(behind).tolist():
                those = behind == word
                sums = np.cumsum((states[i] * model.before(word))[:-1])
                drawn = np.searchsorted(sums, chances[those] * sums[-1], side="right")
                # A product that was rounded up to the whole sum is of the last possible word.
                words[those, i] = np.minimum(drawn, np.searchsorted(sums, sums[-1]))
        else:
            words[:, i] = seen
        behind = words[:, i]
    return words


def log_chance(model: Bigram, words: IntArray) -> FloatArray:
    """ln P of each sequence between two boundaries, shape (count,); behind `UNKNOWN` goes p₀.

    Args:
        model: of neighbouring words.
        words: shape (count, L); a place that is `UNKNOWN` has no chance of its own.
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
    """The places of each sentence without its end; of a longer one in parts.

    Args:
        evidence: what was seen at each place.
        boundary: n.
        longest: places of a part at the most.
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


def _filtered(model: Bigram, evidence: Sequence[Seen]) -> list[FloatArray]:
    """P(w_i | what was seen up to i) at every place, shape (n + 1,) each; 0 where it is unknown."""
    size, onto = model.share.size, model.pairs.T
    forward: list[FloatArray] = []
    message = model.after(model.boundary)
    for seen in evidence:
        if _is_unknown(seen):
            forward.append(np.zeros(size))
            message = model.fallback
            continue
        # Scaled to sum 1 at every place, so that no long product underflows (Rabiner 1989,
        # Section V.A); scales cancel in the posterior.
        state = message * _local(model, seen)
        state = state / state.sum()
        forward.append(state)
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
