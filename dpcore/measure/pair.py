"""Comparison of two words over all ε: deniability, output distances, outputs and map masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.measure.deniability import Deniability, measure, summarise
from dpcore.measure.density import neighbourhood
from dpcore.measure.directions import Outputs, output_tally, outputs_of
from dpcore.measure.maps.store import Map
from dpcore.measure.probability_intervals import Tally
from dpcore.measure.words import select_words
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Law
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator


@dataclass(frozen=True, eq=False)
class Pair:
    """Two words, the nearest neighbour of each, and the vocabulary as seen from all of them.

    Attributes:
        lexicon: their lexicon; distances are Euclidean for any metric.
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
        """Look up two words.

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
        """Return the Euclidean distance of every word from one of `rankings`, shape (n,)."""
        ranking = self.rankings[word]
        distances = np.empty(len(ranking))
        distances[ranking.order] = ranking.distances
        return distances


def deniability(
    mechanism: Mechanism, pair: Pair, epsilons: FloatArray, runs: int, seed: int
) -> Deniability:
    """Measure Nw, Sw and effective number of both words, as `python -m dpcore deniability`."""
    return measure(
        mechanism, select_words(pair.lexicon, pair.names), epsilons, runs=runs, seed=seed
    )


def stay_tally(
    mechanism: Mechanism,
    word: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> Tally:
    """Estimate P(w | w) along shared directions and others towards the word.

    The arguments are those of `chances`.
    """
    return output_tally(mechanism, word, word, epsilons, ranking, shared)


def output_distance(pair: Pair, outputs: Outputs) -> tuple[FloatArray, FloatArray]:
    """Return the expected Euclidean distance of the output from its word, and its error.

    Shape (E,) each.

    Args:
        pair: has a ranking of the word.
        outputs: of a word.
    """
    return outputs.mean(pair.distances(outputs.word)[outputs.output])


@dataclass(frozen=True)
class Spread:
    """Ratio of the width of the second word's surroundings to the first one's.

    Attributes:
        neighbours: number of nearest words of each that count.
        true: ratio of the mean distances to them, second word to first.
        drawn: the same ratio on a map; NaN where all of the first word's lie on top of it.
    """

    neighbours: int
    true: float
    drawn: float


def spread_on_map(pair: Pair, shown: Map, k: int = 10) -> Spread | None:
    """Compare the surroundings of both words in space with those on a map.

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


# Outputs of one word among its nearest words: probabilities at every ε, and real draws.


_KEY = "surroundings"  # key of the stream of the draws


@dataclass(frozen=True, eq=False)
class Chances:
    """Probabilities of the word itself, of each of k words near it, and of any other word.

    Attributes:
        epsilons: shape (E,).
        value: the word, its neighbours in their order, and all others together, shape (E, k + 2).
            Each is its own sum, so that a small one is not a rounding error of the others.
        low: lower ends of intervals of level 95 %, shape (E, k + 2); `value` itself if exact.
        high: upper ends.
        exact: True if the numbers are computed.
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
    """Return the probabilities that a word stays, becomes each of some words, or any other.

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
    if mechanism.rays is None:
        tally = Tally.stacked(tallies)
        low, high = tally.interval()
        return Chances(outputs.epsilons, tally.value.T, low.T, high.T, False, outputs.detail)
    # Some rays are drawn towards the word itself, or at small ε none would reach it. The shares of
    # all other outputs among each other stay those of the plain rays.
    stays = stay_tally(mechanism, word, epsilons, ranking, shared)
    plain, tally = tallies[0].value, Tally.stacked([stays, *tallies[1:]])
    low, high = tally.interval()
    value = tally.value.copy()
    value[1:] *= np.divide(
        1.0 - stays.value, 1.0 - plain, out=np.zeros_like(plain), where=plain < 1.0
    )
    value[-1] += np.where(plain < 1.0, 0.0, 1.0 - stays.value)
    # The intervals of the plain rays hold as they are, and are widened to their estimate.
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Chances(outputs.epsilons, value.T, low.T, high.T, False, outputs.detail)


def _columns(outputs: Outputs, shown: IntArray) -> NDArray[np.int64]:
    """Return the column of each entry of the outputs: its place in `shown`, or the last."""
    order = np.argsort(shown)
    place = np.minimum(np.searchsorted(shown[order], outputs.output), shown.size - 1)
    known = shown[order][place] == outputs.output
    return np.where(known, order[place], shown.size)


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of the noise of one word, each followed through all ε.

    For inspection only, like `Mechanism.paths`.

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
    """Draw the noise of one word `count` times, and follow each draw through all ε.

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


# Words that are guessed more often than a given one, to put beside it.


_SCREENED, _JUDGED, _REFERENCE = 50, 200, 400  # draws of a candidate, and of the word itself
_SLOW = 8  # candidates of a mechanism that takes a tenth of a second for each


def less_protected(
    mechanism: Mechanism,
    word: int,
    candidates: IntArray,
    epsilon: float,
    *,
    margin: float,
    seed: int,
    count: int = 10,
) -> IntArray:
    """Return candidates that stay themselves more often than a word by a margin, the most first.

    Computed where the law is exact. Else estimated from draws with streams of their own, so that
    what is measured of the words elsewhere is independent of this choice: 400 of the word, 50 of
    each candidate, and 200 fresh ones of those that pass, which are judged by these alone.

    Args:
        mechanism: over the lexicon of the words.
        word: index.
        candidates: indices, shape (k,); the word itself is passed over. Only the first 8 count for
            a mechanism with neither rays nor a form of its law, which is slow.
        epsilon: ε.
        margin: least difference of the two probabilities, in (0, 1).
        seed: of the draws.
        count: at most so many are returned.

    Returns:
        Indices, shape (at most `count`,); none if no candidate stays so much more often.

    Raises:
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)

    def stay(words: IntArray, draws: int) -> FloatArray:
        if mechanism.exact_law:
            return np.array([mechanism.law(i, value).probability(i) for i in words.tolist()])
        rng = generator(seed, "less protected", mechanism.key, draws)
        outputs = mechanism.sample(rng, np.repeat(words, draws), value).reshape(-1, draws)
        return np.asarray((outputs == words[:, None]).mean(axis=1))

    least = float(stay(np.array([word]), _REFERENCE)[0]) + margin
    others: IntArray = candidates[candidates != word]
    if mechanism.rays is None and mechanism.column_form is None:
        others = others[:_SLOW]
    if not (others.size and least <= 1.0):
        return others[:0]
    others = _passing(others, stay(others, _SCREENED), least)
    if mechanism.exact_law or not others.size:
        return others[:count]
    # The most of 40 estimates would be too large by chance.
    return _passing(others[:count], stay(others[:count], _JUDGED), least)


def _passing(words: IntArray, shares: FloatArray, least: float) -> IntArray:
    """Return the words with a share of at least so much, the largest first."""
    order = np.argsort(-shares, kind="stable")
    return words[order[shares[order] >= least]]


# Two mechanisms at equal mean Nw, read from curves that are already measured.
#
# Equal Nw is not equal privacy: it only compares two mechanisms where the words stay equally often,
# so that their outputs can be compared (as Xu et al. 2021, Fig. 2 does for Sw).
# `dpcore.measure.targets.calibrate` measures more to find the same ε more precisely; this only
# reads, and states between which measured ε the answer lies.


@dataclass(frozen=True)
class Crossing:
    """Value of ε at which a measured curve has a wanted mean Nw.

    Attributes:
        epsilon: on the straight line in ln ε between the two measured ε next to it; where the curve
            has the value at several neighbouring ε, the smallest.
        low: the next smaller measured ε at which the interval of the mean Nw (of level 95 %) does
            not contain the value; None if there is none.
        high: the next larger one.
        sw: mean Sw at `epsilon`, on a straight line of its logarithm, as figures draw it.
        effective: median effective number there; may be infinite.
    """

    epsilon: float
    low: float | None
    high: float | None
    sw: float
    effective: float


def crossings(measured: Deniability, nw: float) -> tuple[Crossing, ...]:
    """Return all ε, ascending, at which the mean Nw has a value, as far as they can be separated.

    Places that are not separated by a measured ε at which the interval of the mean Nw does not
    contain the value are one. None: the curve never has this Nw between its ends. Several: it is
    not monotone there.

    Args:
        measured: at ascending ε.
        nw: the wanted mean Nw.

    Raises:
        ParameterError: nw is not a probability.
    """
    if not 0.0 <= nw <= 1.0:
        raise ParameterError(f"a mean Nw is in [0, 1], got {nw}")
    summary = summarise(measured, "nw")
    gap = summary.mean - nw
    certain = np.flatnonzero((summary.mean_low > nw) | (summary.mean_high < nw)).tolist()
    last = gap.size - 1
    columns = (
        measured.epsilons,
        summarise(measured, "sw").mean,
        summarise(measured, "effective").median,
    )
    answer = []
    # Between two neighbouring ε that are certainly off, all places with the value are one answer.
    for low, high in zip([None, *certain], [*certain, None], strict=True):
        place = _meets(gap, 0 if low is None else low, last if high is None else high)
        if place is None:
            continue
        epsilon, sw, effective = (_between(values, place) for values in columns)
        below, above = (None if i is None else float(measured.epsilons[i]) for i in (low, high))
        answer.append(Crossing(epsilon, below, above, sw, effective))
    return tuple(answer)


def _meets(gap: FloatArray, first: int, last: int) -> float | None:
    """Return the first place, in grid steps, from `first` to `last` where a line chain is 0."""
    for i in range(first, last + 1):
        if gap[i] == 0.0:
            return float(i)
        # A change of sign: where the straight line between the two points is 0.
        if i < last and gap[i] * gap[i + 1] < 0.0:
            return float(i + gap[i] / (gap[i] - gap[i + 1]))
    return None


def _between(values: FloatArray, place: float) -> float:
    """Return a value > 0 between two places of the grid, on a line of logarithms, as it is drawn.

    It is infinite next to an infinite one.
    """
    i = int(place)
    share = place - i
    if share == 0.0:
        return float(values[i])
    return float(values[i] ** (1.0 - share) * values[i + 1] ** share)


# Outputs of a mechanism on a map.


@dataclass(frozen=True, eq=False)
class MapMass:
    """Law of one word's output, on the words of a map and outside; arrays are read-only.

    Attributes:
        word: index of the input.
        epsilons: shape (E,).
        on: probability of each mapped word, in the order of `Map.words`, shape (E, m).
        outside: probability of all words that the map does not show, shape (E,): their sum, not a
            difference from 1, so a small one is not a rounding error.
        exact: True if the probabilities are computed, False if estimated.
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
        chosen: positions of the wanted ε; a whole vocabulary at all of them is large.
    """
    place = np.searchsorted(shown.words, law.outputs)
    # A place beyond the last mapped word is compared with the first one, which it cannot be.
    place[place == len(shown.words)] = 0
    mapped = shown.words[place] == law.outputs
    epsilons, probabilities = law.epsilons[chosen], law.probabilities[chosen]
    on = np.zeros((epsilons.size, len(shown.words)))
    on[:, place[mapped]] = probabilities[:, mapped]
    outside = probabilities[:, ~mapped].sum(axis=1)
    return MapMass(law.word, epsilons, on, outside, law.exact, law.error)
