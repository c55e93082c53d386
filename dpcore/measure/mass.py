"""Where the output of a mechanism falls on a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.measure.maps.model import Map
    from dpcore.mechanisms.law import Law


@dataclass(frozen=True, eq=False)
class MapMass:
    """The law of one word's output, on the words of a map and beside them; arrays are read-only.

    Attributes:
        word: index of the input.
        epsilons: shape (E,).
        on: probability of each mapped word, in the order of `Map.words`, shape (E, m).
        outside: probability of all words that the map does not show, shape (E,): their sum, not
            what is missing from 1, so a small one is not a rounding error.
        exact: whether the probabilities are computed or estimated.
        error: as `Law.error`, of one word.
    """

    word: int
    epsilons: FloatArray
    on: FloatArray
    outside: FloatArray
    exact: bool
    error: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.on, self.outside):
            array.setflags(write=False)


def mass_on_map(law: Law, shown: Map, chosen: slice = slice(None)) -> MapMass:
    """Divide the law of a word's output between the words of a map and all others.

    Args:
        law: of the word.
        shown: the map.
        chosen: positions of the ε wanted; a whole vocabulary at all of them is large.
    """
    place = np.searchsorted(shown.words, law.outputs)
    # Beyond the last mapped word: compared with the first one, which it cannot be.
    place[place == len(shown.words)] = 0
    mapped = shown.words[place] == law.outputs
    epsilons, probabilities = law.epsilons[chosen], law.probabilities[chosen]
    on = np.zeros((epsilons.size, len(shown.words)))
    on[:, place[mapped]] = probabilities[:, mapped]
    outside = probabilities[:, ~mapped].sum(axis=1)
    return MapMass(law.word, epsilons, on, outside, law.exact, law.error)
