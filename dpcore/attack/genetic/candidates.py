"""The words that a genetic attacker may put in each place of a text, and how likely it tries them.

Alzantot et al. 2018 take near words; Xu et al. 2021 draw from a metric-private mechanism at ε. Both
are a table: for each place some words with probabilities, the word that stands there left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.limits import MAX_DRAWS

if TYPE_CHECKING:
    from dpcore.learn.bags import Bags
    from dpcore.learn.substitutions import Substitutions
    from dpcore.mechanisms.mechanism import Mechanism


USUAL_DRAWS = 200
"""Draws of a word that stand for a mechanism without an exact law."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What each place of one document may become; read-only.

    Attributes:
        document: the one document.
        places: those of its places that have a candidate, shape (p,).
        rows: row of each of them in the two tables, one row a distinct word, shape (p,).
        words: candidates, shape (u, c), none of them the word itself.
        steps: running sums of their probabilities, shape (u, c); the last is 1. A word that only
            fills up a row has probability 0.
        method: where they come from, for a person.
    """

    document: Bags
    places: IntArray
    rows: IntArray
    words: IntArray
    steps: FloatArray
    method: str

    def __post_init__(self) -> None:
        for array in (self.places, self.rows, self.words, self.steps):
            array.setflags(write=False)

    def draw(self, rng: np.random.Generator, picked: IntArray) -> IntArray:
        """One candidate for each of some entries of `places`, independently, shape of `picked`."""
        drawn = np.empty(picked.shape, dtype=np.int64)
        uniform = rng.random(picked.shape)
        rows = self.rows[picked]
        for row in np.unique(rows):
            here = rows == row
            column = np.searchsorted(self.steps[row], uniform[here], side="right")
            drawn[here] = self.words[row, column]
        return drawn


def from_substitutions(document: Bags, substitutions: Substitutions) -> Candidates:
    """Every allowed substitute of a word is as likely as the others.

    Raises:
        ParameterError: there is not exactly one document.
    """
    known = {word: substitutions.of(word) for word in _words(document)}
    table = {word: (substitutes, np.ones(substitutes.size)) for word, substitutes in known.items()}
    return _candidates(document, table, "substitutes, equally likely")


def from_mechanism(
    document: Bags,
    mechanism: Mechanism,
    epsilon: float,
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    within: Substitutions | None = None,
) -> Candidates:
    """What a mechanism puts in the place of a word: by its law given a change, or what draws gave.

    The law tries what the mechanism may do however seldom it does it. Draws try what it did: a word
    that every draw gave back has no candidate.

    Args:
        document: exactly one.
        mechanism: over the lexicon of the document.
        epsilon: ε of the mechanism.
        rng: of the draws.
        draws: of each distinct word, 1 to `limits.MAX_DRAWS`, whether or not there is an exact law.
            None: the exact law given a change, or `USUAL_DRAWS` of a mechanism that has none.
        within: only these substitutes are tried, so that a certificate for them holds.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: the number of draws is outside its range, or there is not one document.
    """
    epsilon = mechanism.check_epsilon(epsilon)
    by_law = draws is None and mechanism.exact_law
    draws = USUAL_DRAWS if draws is None else draws
    if not 1 <= draws <= MAX_DRAWS:
        raise ParameterError(f"candidates are found from 1 to {MAX_DRAWS:,} draws, got {draws}")
    table: dict[int, tuple[IntArray, FloatArray]] = {}
    for word in _words(document):
        if by_law:
            law = mechanism.law(word, [epsilon])
            outputs, weights = law.outputs, law.probabilities[0]
        else:
            drawn = mechanism.sample(rng, np.full(draws, word), epsilon)
            outputs, counts = np.unique(drawn, return_counts=True)
            weights = counts.astype(np.float64)
        kept = (outputs != word) & (weights > 0)
        if within is not None:
            kept &= np.isin(outputs, within.of(word))
        table[word] = (outputs[kept], weights[kept])
    how = "exact law" if by_law else f"{draws:,} draws a word"
    return _candidates(document, table, f"{mechanism.short} at epsilon {epsilon:g}, {how}")


def _words(document: Bags) -> list[int]:
    """The distinct known words of the one document."""
    if not len(document) == 1:
        raise ParameterError(f"one document is attacked at a time, got {len(document)}")
    words: list[int] = np.unique(document.words[document.words >= 0]).tolist()
    return words


def _candidates(
    document: Bags, table: dict[int, tuple[IntArray, FloatArray]], method: str
) -> Candidates:
    row_of = {word: row for row, word in enumerate(w for w in table if table[w][0].size)}
    width = max((table[word][0].size for word in row_of), default=0)
    words = np.zeros((len(row_of), width), dtype=np.int64)
    steps = np.ones((len(row_of), width))
    for word, row in row_of.items():
        outputs, weights = table[word]
        words[row, : outputs.size] = outputs
        # A row is filled up with its last word, whose steps are all 1 and so are never reached.
        words[row, outputs.size :] = outputs[-1]
        sums = np.cumsum(weights)
        steps[row, : outputs.size] = sums / sums[-1]
    rows = np.array([row_of.get(int(word), -1) for word in document.words], dtype=np.int64)
    places = np.flatnonzero(rows >= 0)
    return Candidates(document, places, rows[places], words, steps, method)
