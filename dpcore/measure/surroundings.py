"""What comes out for one word, seen from its nearest words: chances at every ε, and real draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.measure.outputs import outputs_of
from dpcore.measure.probability_intervals import Tally
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.ranking import Ranking
    from dpcore.measure.outputs import Outputs
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

_KEY = "surroundings"  # of the stream of the draws


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely the word itself, each of k words near it, and any other word comes out.

    Attributes:
        epsilons: shape (E,).
        value: the word, its neighbours in their order, and all others together, shape (E, k + 2).
            Each is a sum of its own, so that a small one is no rounding error of the others.
        low: lower ends of intervals of level 95 %, shape (E, k + 2); `value` itself if exact.
        high: upper ends.
        exact: whether the numbers are computed.
        detail: closed form, quadrature, directions, draws.
    """

    epsilons: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    exact: bool
    detail: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.value, self.low, self.high):
            array.setflags(write=False)


def chances(
    mechanism: Mechanism,
    word: int,
    neighbours: IntArray,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> Chances:
    """How likely a word stays, becomes each of some words, or becomes any other word.

    Args:
        mechanism: over the lexicon of the ranking.
        word: index.
        neighbours: other words, all different, shape (k,).
        epsilons: admissible, shape (E,).
        ranking: the lexicon by Euclidean distance from the word.
        shared: public directions, and how many.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    outputs = outputs_of(mechanism, word, epsilons, ranking, shared)
    columns = _columns(outputs, np.concatenate(([word], neighbours)))
    if outputs.exact:
        value = np.zeros((outputs.epsilons.size, len(neighbours) + 2))
        for column in range(value.shape[1]):
            value[:, column] = outputs.mass[:, columns == column].sum(axis=1)
        return Chances(outputs.epsilons, value, value, value, True, outputs.detail)
    weights = np.ones(outputs.rays)
    tallies = [
        Tally.of(outputs.each(columns == column).T, weights)
        for column in range(len(neighbours) + 2)
    ]
    tally = Tally.stacked(tallies)
    low, high = tally.interval()
    return Chances(outputs.epsilons, tally.value.T, low.T, high.T, False, outputs.detail)


def _columns(outputs: Outputs, shown: IntArray) -> NDArray[np.int64]:
    """Of each entry of the outputs its column: a place in `shown`, or the last for all others."""
    order = np.argsort(shown)
    place = np.minimum(np.searchsorted(shown[order], outputs.output), shown.size - 1)
    known = shown[order][place] == outputs.output
    return np.where(known, order[place], shown.size)


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of the noise of one word, each followed through all ε.

    For looking only, as `Mechanism.paths` is.

    Attributes:
        outputs: indices of words, shape (N, E).
        lengths: Euclidean length of the noise, shape (N, E); None where the mechanism adds none to
            the vectors.
    """

    outputs: IntArray
    lengths: FloatArray | None


def draws(
    mechanism: Mechanism,
    word: int,
    epsilons: FloatArray,
    ranking: Ranking,
    seed: int,
    count: int = 100,
) -> Draws:
    """Draw the noise of one word some times, and follow each draw through all ε.

    Args:
        mechanism: over the lexicon of the ranking.
        word: index.
        epsilons: admissible and ascending, shape (E,).
        ranking: the lexicon by Euclidean distance from the word.
        seed: of the draws.
        count: N.
    """
    key = (mechanism.key, _KEY, word)
    words = np.full(count, word, dtype=np.int64)
    paths = mechanism.paths(
        generator(seed, *key), words, rankings=[ranking] * count, epsilons=epsilons
    )
    return Draws(paths.at(epsilons), mechanism.path_lengths(generator(seed, *key), count, epsilons))
