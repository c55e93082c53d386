"""Laws that need nothing but the distances from a word, for a reader without the engine.

Such a reader, as a page without a server, has vectors of few levels a coordinate and one formula
for each of these laws. Both are here as the reader has them, so that `differences` measures what
its numbers are off by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem import TruncatedExponential, capped, normalised
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired, law_of
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import candidate_weights, whole_vocabulary_weight
from dpcore.outwards import at_most

LEVELS = 91
"""Levels of a coordinate: the printed letters from # to ~ without the backslash."""
_SPREAD = 4.5  # standard deviations of a coordinate that the levels cover; what is beyond is cut
_HIGHEST = {"capped": 20.0, "counted": 30.0, "alike": 30.0}
"""Formula -> last ε of its dial, from which on hardly a word changes."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """Vectors with few levels a coordinate, as the reader has them.

    Attributes:
        levels: number of the level of each coordinate, shape (n, d), uint8.
        least: lowest level of each coordinate, shape (d,).
        steps: distance of two levels, shape (d,).
        excess: what rounding adds to a squared distance on average.
    """

    levels: NDArray[np.uint8]
    least: FloatArray
    steps: FloatArray
    excess: float

    @cached_property
    def values(self) -> FloatArray:
        """The vectors, shape (n, d): rounded to float32."""
        return (self.least + self.steps * self.levels).astype(np.float32).astype(np.float64)

    def distances(self, word: int) -> FloatArray:
        """Return the distances of a word to all, shape (n,), as the reader computes them."""
        squares = ((self.values - self.values[word]) ** 2).sum(axis=1) - self.excess
        row = np.sqrt(np.maximum(squares, 0.0))
        row[word] = 0.0
        return np.asarray(row)

    @property
    def codes(self) -> str:
        """One letter for each coordinate."""
        letters = self.levels + 35
        letters[letters >= ord("\\")] += 1
        return letters.tobytes().decode("ascii")


def rounded_vectors(lexicon: Lexicon) -> Rounded:
    """Round the vectors of a lexicon to levels that one letter each can name."""
    vectors = lexicon.vectors.astype(np.float64)
    reach = _SPREAD * vectors.std(axis=0)
    middle = vectors.mean(axis=0)
    steps = 2.0 * reach / (LEVELS - 1)
    levels = np.clip(np.rint((vectors - middle + reach) / steps), 0, LEVELS - 1).astype(np.uint8)
    missed = middle - reach + steps * levels - vectors
    return Rounded(levels, middle - reach, steps, 2.0 * float((missed**2).sum(axis=1).mean()))


@dataclass(frozen=True, eq=False)
class Closed:
    """Mechanism whose law the reader computes from distances, by a formula.

    Attributes:
        mechanism: the mechanism, with its defaults.
        epsilons: steps of its dial, shape (E,).
        formula: name of the formula.
        numbers: what the formula needs, by name; a list has one entry for each step.
    """

    mechanism: ExactMechanism
    epsilons: FloatArray
    formula: str
    numbers: dict[str, Any]

    def laws(self, row: FloatArray, word: int) -> FloatArray:
        """Return the laws of a word as the reader computes them, shape (E, n).

        Args:
            row: its distances to all words, shape (n,).
            word: its index.
        """
        if self.formula == "capped":
            cap = math.inf if self.numbers["cap"] is None else self.numbers["cap"]
            return normalised(capped(row, 2.0 * np.array(self.numbers["rates"]), cap))
        if self.formula == "alike":
            laws = np.repeat(np.exp(-self.epsilons)[:, None], row.size, axis=1)
            laws[:, word] = 1.0
            return np.asarray(laws / laws.sum(axis=1, keepdims=True))
        order = np.argsort(row, kind="stable")
        near = row[order[: len(self.numbers["counts"])]]
        laws = np.empty((self.epsilons.size, row.size))
        laws[:, order] = law_of(near, row[order], np.array(self.numbers["strengths"]))
        return laws


def closed_laws(lexicon: Lexicon, steps_of: Callable[[Mechanism], Iterable[float]]) -> list[Closed]:
    """Return the mechanisms whose laws have a closed form in the distances from the word.

    Args:
        lexicon: the vocabulary.
        steps_of: returns the steps of ε of a mechanism.
    """

    def closed(short: str, formula: str, numbers: Callable[[Any, list[float]], Any]) -> Closed:
        mechanism = create(short, lexicon, {})
        steps = [float(each) for each in steps_of(mechanism) if each <= _HIGHEST[formula]]
        if not isinstance(mechanism, ExactMechanism):
            raise TypeError(f"{short} has no exact law")
        return Closed(mechanism, np.array(steps), formula, numbers(mechanism, steps))

    def tem(mechanism: TruncatedExponential, steps: list[float]) -> dict[str, Any]:
        return {"rates": [0.5 * mechanism.nominal(each) for each in steps], "cap": mechanism.cap}

    def santext(_: Mechanism, steps: list[float]) -> dict[str, Any]:
        return {"rates": [0.5 * each for each in steps], "cap": None}

    def counted(mechanism: TruncatedGumbelRepaired, steps: list[float]) -> dict[str, Any]:
        return {
            "strengths": [mechanism.strength(each) for each in steps],
            "counts": candidate_weights(len(lexicon))[: mechanism.heads].tolist(),
            "all": whole_vocabulary_weight(len(lexicon)),
        }

    def alike(_: Mechanism, steps: list[float]) -> dict[str, Any]:
        return {"others": [math.exp(-each) for each in steps]}

    return [
        closed("tem", "capped", tem),
        closed("tem-calibrated", "capped", tem),
        closed("santext", "capped", santext),
        closed("truncated-gumbel-repaired", "counted", counted),
        closed("k-ary", "alike", alike),
    ]


def differences(
    lexicon: Lexicon, vectors: Rounded, laws: Sequence[Closed], tried: int
) -> tuple[float, dict[str, list[float]]]:
    """Measure what a reader's numbers are off by, for words of evenly spaced ranks.

    Args:
        lexicon: the vocabulary.
        vectors: as the reader has them.
        laws: of the mechanisms.
        tried: number of words.

    Returns:
        The largest difference of a distance, and of a probability at each step, by mechanism; all
        are rounded up.
    """
    exact, apart = lexicon.vectors, 0.0
    # Nobody needs to know how far below a millionth.
    most = {each.mechanism.short: np.full(each.epsilons.size, 1e-6) for each in laws}
    words = np.unique(np.linspace(0, len(lexicon) - 1, tried).astype(np.int64))
    for word in words.tolist():
        row = vectors.distances(word)
        apart = max(apart, float(np.abs(row - distances(exact, exact[[word]])[0]).max()))
        for each in laws:
            there = each.mechanism.probabilities(word, each.epsilons, None)
            off = np.abs(each.laws(row, word) - there).max(axis=1)
            most[each.mechanism.short] = np.maximum(most[each.mechanism.short], off)
    rounded = {name: [float(at_most(off, 2)) for off in row] for name, row in most.items()}
    return float(at_most(apart, 2)), rounded
