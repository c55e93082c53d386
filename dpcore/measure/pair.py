"""Two words side by side: deniability, and how far the output lies, over all ε."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.lexicon.ranking import Ranking, rank
from dpcore.measure.deniability import Deniability, measure
from dpcore.measure.density.density import neighbourhood
from dpcore.measure.words import named

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.maps.model import Map
    from dpcore.measure.outputs import Outputs
    from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Pair:
    """Two words, the nearest neighbour of each, and the vocabulary as seen from all of them.

    Attributes:
        lexicon: their lexicon; distances are Euclidean whatever its metric.
        words: the two indices.
        nearest: the nearest other word of each.
        gaps: δ of each, the distance to it.
        distance: between the two words.
        rankings: of the lexicon from each of these (at most four) words, by index.
    """

    lexicon: Lexicon
    words: tuple[int, int]
    nearest: tuple[int, int]
    gaps: tuple[float, float]
    distance: float
    rankings: dict[int, Ranking]

    @classmethod
    def of(cls, lexicon: Lexicon, first: str, second: str) -> Pair:
        """Look two words up.

        Raises:
            UnknownWordError: one of them is not in the vocabulary.
            ParameterError: they are the same word.
        """
        words = (lexicon.index(first), lexicon.index(second))
        if words[0] == words[1]:
            raise ParameterError(
                f"two different words are needed to compare, got {first[:40]!r} twice; "
                "choose another second word"
            )
        from_first, from_second = rank(lexicon.vectors, lexicon.vectors[list(words)])
        rankings = {words[0]: from_first, words[1]: from_second}
        a, b = (neighbourhood(lexicon, word, 1, ranking=rankings[word]) for word in words)
        nearest = (int(a.neighbours[0]), int(b.neighbours[0]))
        more = [word for word in dict.fromkeys(nearest) if word not in rankings]
        if more:  # none where each word is the other's nearest
            rankings |= dict(zip(more, rank(lexicon.vectors, lexicon.vectors[more]), strict=True))
        between = float(from_first.distances[from_first.order == words[1]][0])
        return cls(lexicon, words, nearest, (a.nearest, b.nearest), between, rankings)

    @property
    def names(self) -> tuple[str, str]:
        """The two words."""
        return self.lexicon.words[self.words[0]], self.lexicon.words[self.words[1]]

    def distances(self, word: int) -> FloatArray:
        """Euclidean distance of every word from one of `rankings`, shape (n,)."""
        ranking = self.rankings[word]
        distances = np.empty(len(ranking))
        distances[ranking.order] = ranking.distances
        return distances


def deniability(
    mechanism: Mechanism, pair: Pair, epsilons: FloatArray, runs: int, seed: int
) -> Deniability:
    """Nw, Sw and effective number of both words, as `python -m dpcore deniability` has them."""
    return measure(mechanism, named(pair.lexicon, pair.names), epsilons, runs=runs, seed=seed)


def output_distance(pair: Pair, outputs: Outputs) -> tuple[FloatArray, FloatArray]:
    """Expected Euclidean distance of the output from its word, and standard error, (E,) each.

    Args:
        pair: whose rankings hold the word.
        outputs: of a word.
    """
    return outputs.mean(pair.distances(outputs.word)[outputs.output])


@dataclass(frozen=True)
class Spread:
    """How much wider the second word's surroundings are than the first one's.

    Attributes:
        neighbours: how many nearest words of each count.
        true: ratio of the mean distances to them, second word to first.
        drawn: the same ratio on a map; NaN where all of the first word's lie on top of it.
    """

    neighbours: int
    true: float
    drawn: float


def spread_on_map(pair: Pair, shown: Map, k: int = 10) -> Spread | None:
    """Compare the surroundings of both words with what a map makes of them.

    Args:
        pair: the words.
        shown: a map of their lexicon.
        k: nearest words of each, as far as mapped.

    Returns:
        The ratios, or None if the map does not show both words and some of their neighbours.
    """
    true, drawn, counts = [], [], []
    for word in pair.words:
        ranking, centre = pair.rankings[word], shown.place(word)
        near = ranking.order != word
        order, far = ranking.order[near], ranking.distances[near]
        mapped = np.flatnonzero(np.isin(order, shown.words))[:k]
        if centre is None or not mapped.size:
            return None
        places = np.searchsorted(shown.words, order[mapped])
        gaps = shown.points[places].astype(np.float64) - shown.points[centre]
        true.append(float(far[mapped].mean()))
        drawn.append(float(np.hypot(gaps[:, 0], gaps[:, 1]).mean()))
        counts.append(int(mapped.size))
    ratio = drawn[1] / drawn[0] if drawn[0] > 0 else float("nan")
    return Spread(min(counts), true[1] / true[0], ratio)
