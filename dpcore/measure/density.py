"""Density of the embedding space around a word, and the length of an additive mechanism's noise.

All distances are Euclidean, for any metric of the lexicon. One word needs one ranking of the
vocabulary, which is not stored; figures of the whole vocabulary come from the table of neighbours,
which is computed once and cached.

The table of the bundled lexicon takes a while, so its density is bundled in a file, identical to
the bit; `python -m dpcore density --file data/lexicon/density.npz` makes it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import ARRAYS, bundled_folder, refuse_of_the_system, replacing
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.samplers import Radial, radius_cdf
from dpcore.noise.streams import generator
from dpcore.rewrite.languages import rules_of

NEIGHBOURS = 10
ORDINARY_ROWS = 10_000
FILE = "density.npz"
_FORM = {"nearest": "<f4", "mean_distance": "<f8", "hubness": "<i4"}


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Surroundings of one word.

    Attributes:
        word: index.
        neighbours: the k nearest other words, nearest first, shape (k,).
        distances: their distances, in the unit of the vectors, shape (k,).
        within: number of other words within the requested radius; None without one.
    """

    word: int
    neighbours: IntArray
    distances: FloatArray
    within: int | None

    @property
    def nearest(self) -> float:
        """δ(w), the distance to the nearest other word."""
        return float(self.distances[0])

    @property
    def mean_distance(self) -> float:
        """Mean distance to the k neighbours."""
        return float(self.distances.mean())


def check_neighbours(lexicon: Lexicon, k: int, most: int | None = None) -> int:
    """Check a number of neighbours against the lexicon (and the table), and return it."""
    limit = min(len(lexicon) - 1, len(lexicon) if most is None else most)
    if not 1 <= k <= limit:
        raise ParameterError(f"k must be 1 to {limit:,} neighbours for this lexicon, got {k}")
    return k


def check_radius(radius: float) -> float:
    """Check that a radius is a finite number ≥ 0, and return it."""
    if not 0 <= radius < math.inf:
        raise ParameterError(f"radius must be a finite number of at least 0, got {radius}")
    return float(radius)


def neighbourhood(
    lexicon: Lexicon,
    word: int,
    k: int = NEIGHBOURS,
    radius: float | None = None,
    ranking: Ranking | None = None,
) -> Neighbourhood:
    """Return the surroundings of one word, from exact float64 distances to all others.

    Args:
        lexicon: words and vectors.
        word: index.
        k: number of neighbours.
        radius: within which other words are counted.
        ranking: the lexicon by distance from the word, if already known.

    Raises:
        ParameterError: k is not 1 to n − 1, or the radius is not finite and ≥ 0.
    """
    check_neighbours(lexicon, k)
    if ranking is None:
        ranking = rank(lexicon.vectors, lexicon.vectors[[word]])[0]
    # Rows are distinct, but distances so small that they underflow could put another word first.
    others = ranking.order != word
    order, distances = ranking.order[others], ranking.distances[others]
    within = None
    if radius is not None:
        within = int(np.searchsorted(distances, check_radius(radius), side="right"))
    return Neighbourhood(word, order[:k], distances[:k], within)


@dataclass(frozen=True, eq=False)
class VocabularyDensity:
    """Density figures of every word; read-only arrays of shape (n,).

    Attributes:
        k: number of neighbours, the word itself not counted.
        nearest: δ(w), float32 as in the table.
        mean_distance: mean distance to the k nearest, float64.
        hubness: number of words with this one among their k nearest (Radovanović, Nanopoulos,
            Ivanović 2010: N_k); its mean over the vocabulary is k.
    """

    k: int
    nearest: NDArray[np.float32]
    mean_distance: FloatArray
    hubness: IntArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.nearest, self.mean_distance, self.hubness):
            array.setflags(write=False)

    def strata(self) -> IntArray:
        """Return the stratum of every word by δ(w): position in `STRATA`, shape (n,).

        Thirds of the vocabulary; of words with equal δ the one of lower index is the denser.
        """
        return equal_classes(self.nearest, len(STRATA))

    def crowding(self, classes: int) -> tuple[IntArray, FloatArray]:
        """Divide the words into equal classes by mean distance to the k nearest, densest first.

        Returns:
            The class of every word, 0 to classes − 1, shape (n,), and the largest mean distance of
            each class, ascending, shape (classes,).

        Raises:
            ParameterError: there are fewer words than classes.
        """
        if not 1 <= classes <= self.mean_distance.size:
            raise ParameterError(
                f"classes must be 1 to {self.mean_distance.size} for so many words, got {classes}"
            )
        places = equal_classes(self.mean_distance, classes)
        bounds = [self.mean_distance[places == place].max() for place in range(classes)]
        return places, np.array(bounds)


def equal_classes(values: NDArray[np.floating], classes: int) -> IntArray:
    """Return classes of ascending values that differ in size by at most one, shape (n,).

    Of equal values the one of lower index is in the lower class.
    """
    n = values.size
    places = np.empty(n, dtype=np.int64)
    # The value of rank r is in class ⌊classes · r/n⌋.
    places[np.argsort(values, kind="stable")] = np.arange(n) * classes // n
    return places


class DensityStratum(StrEnum):
    """Thirds of the vocabulary by δ(w)."""

    DENSE = "dense"
    MIDDLE = "middle"
    SPARSE = "sparse"


STRATA = tuple(DensityStratum)


def vocabulary_density(
    lexicon: Lexicon, k: int = NEIGHBOURS, progress: Progress = silent
) -> VocabularyDensity:
    """Return the density of every word: bundled, or from the table of neighbours.

    The table is cached, or else computed.

    Raises:
        ParameterError: k is not 1 to 127 (the width of the table), or not below n.
    """
    check_neighbours(lexicon, k, NEIGHBOUR_TABLE_WIDTH - 1)
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    bundled = bundled_density(euclidean, k)
    return density_from_table(euclidean, k, progress) if bundled is None else bundled


def bundled_density(lexicon: Lexicon, k: int = NEIGHBOURS) -> VocabularyDensity | None:
    """Return the bundled density, or None for another lexicon or k."""
    return read_density(lexicon.with_metric(Metric.EUCLIDEAN).fingerprint, k, len(lexicon))


def read_density(fingerprint: str, k: int, words: int) -> VocabularyDensity | None:
    """Return the density of the bundle, or None if it is damaged or of another lexicon or k.

    Args:
        fingerprint: of the Euclidean lexicon.
        k: number of neighbours.
        words: n.
    """
    try:
        path = bundled_folder() / FILE
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if str(stored["fingerprint"]) != fingerprint or int(stored["k"]) != k:
                return None
            arrays = {name: stored[name] for name in _FORM}
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        return None
    forms = {name: (array.shape, array.dtype.str) for name, array in arrays.items()}
    if forms != {name: ((words,), form) for name, form in _FORM.items()}:
        return None
    hubness = arrays["hubness"].astype(np.int64)
    return VocabularyDensity(k, arrays["nearest"], arrays["mean_distance"], hubness)


def write_density(path: Path, fingerprint: str, density: VocabularyDensity) -> None:
    """Write the file of the bundle atomically."""
    content = {name: getattr(density, name).astype(form) for name, form in _FORM.items()}
    content |= {"fingerprint": np.str_(fingerprint), "k": np.int64(density.k)}
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **content)


def density_from_table(
    lexicon: Lexicon, k: int = NEIGHBOURS, progress: Progress = silent
) -> VocabularyDensity:
    """Return `vocabulary_density`, always from the table of neighbours."""
    table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(progress=progress)
    near = table.distances[:, 1 : k + 1]  # the first neighbour of a word is the word itself
    hubness = np.bincount(table.indices[:, 1 : k + 1].reshape(-1), minlength=len(lexicon))
    return VocabularyDensity(
        k, near[:, 0].copy(), near.mean(axis=1, dtype=np.float64), hubness.astype(np.int64)
    )


def within_radius(
    lexicon: Lexicon, radius: float, progress: Progress = silent
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Count the other words within a radius of each word, as far as the table reaches.

    Returns:
        Counts, shape (n,), and True where a count is complete: False where all neighbours of the
        table lie within, so that there may be more.
    """
    check_radius(radius)
    table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(progress=progress)
    counts = (table.distances[:, 1:] <= radius).sum(axis=1)
    # Complete where a neighbour of the table lies beyond, or the table holds all other words.
    return counts, (counts < table.distances.shape[1] - 1) | (len(lexicon) == counts + 1)


def ordinary_words(lexicon: Lexicon, rows: int = ORDINARY_ROWS) -> IntArray:
    """Return indices of alphabetic words among the most frequent rows, ascending.

    No junk tokens.
    """
    return np.array(
        [i for i, word in enumerate(lexicon.words[:rows]) if word.isalpha()], dtype=np.int64
    )


def extremes(
    density: VocabularyDensity, count: int, among: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the densest and the sparsest words by δ(w), each most extreme first.

    Args:
        density: of the vocabulary.
        count: how many of each (fewer if there are fewer words).
        among: indices to choose from, such as `ordinary_words`; all if not given.
    """
    chosen = np.arange(density.nearest.size) if among is None else among
    order = chosen[np.argsort(density.nearest[chosen], kind="stable")]
    return order[:count], order[::-1][:count]


COMMON_ROWS = 5_000
"""Most frequent rows, whose words are common."""
_LONG = 5


def sparsest_common(lexicon: Lexicon, density: VocabularyDensity, count: int = 40) -> IntArray:
    """Return common words whose nearest word is far, the sparsest first.

    Ordinary words of five or more letters, without function words.

    Args:
        lexicon: the vocabulary.
        density: of the vocabulary.
        count: at most so many words.
    """
    rules = rules_of(lexicon.language)
    common = ordinary_words(lexicon, COMMON_ROWS)
    names = [lexicon.words[i] for i in common.tolist()]
    content = [len(name) >= _LONG and rules.lower(name) not in rules.stop_words for name in names]
    return extremes(density, count, common[np.array(content, dtype=bool)])[1]


def search(lexicon: Lexicon, text: str, limit: int = 20) -> IntArray:
    """Return words that a typed text may mean: itself, words that begin with it or contain it.

    Case is ignored. Within each group the most frequent come first.

    Returns:
        At most `limit` indices; none for an empty text.
    """
    wanted = text.strip().casefold()
    groups: tuple[list[int], list[int], list[int]] = ([], [], [])
    if wanted:
        for i, word in enumerate(lexicon.words):
            place = word.casefold().find(wanted)
            if place >= 0:
                same = place == 0 and len(word) == len(wanted)
                groups[0 if same else 1 if place == 0 else 2].append(i)
    return np.array([i for group in groups for i in group][:limit], dtype=np.int64)


# Distance that the noise of an additive mechanism moves a vector.


_DIRECTIONS = 2_000
_ROUND = 1e-12


@dataclass(frozen=True)
class NoiseRadius:
    """Euclidean length of the noise at one ε, in the unit of the vectors.

    Attributes:
        low: 5 % of the draws are shorter.
        median: half of the draws are shorter.
        high: 95 % of the draws are shorter.
        exact: True if the quantiles are exact, False if averaged over 2,000 directions of the
        noise.
    """

    low: float
    median: float
    high: float
    exact: bool


def noise_radii(
    mechanism: Mechanism, epsilons: Iterable[float], seed: int = 0
) -> list[NoiseRadius] | None:
    """Return the length of the noise at each ε, or None for a mechanism that moves no vector.

    The result is None for mechanisms that choose among words directly (TEM, truncated Gumbel),
    truncate their noise, or add it to clipped or projected vectors, whose unit is another one.
    Where the noise is not round (Mahalanobis) its length is s·r·‖u‖ with a random ‖u‖, and P(length
    ≤ x) is averaged over directions. ε only sets s, so that the quantiles of r·‖u‖ are found once.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = [mechanism.check_epsilon(epsilon) for epsilon in epsilons]
    radial = mechanism.rays
    if radial is None or not radial.in_lexicon_space:
        return None
    unit = radial.directions(generator(seed, "noise radius"), _DIRECTIONS)
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    exact = bool(np.ptp(lengths) <= _ROUND)
    if exact:
        lengths = np.ones(1)
    low, median, high = (
        _quantile(radial.family, radial.dimension, lengths, share) for share in (0.05, 0.5, 0.95)
    )
    scales = [radial.scale(value) for value in values]
    return [NoiseRadius(s * low, s * median, s * high, exact) for s in scales]


def _quantile(family: Radial, dimension: int, lengths: FloatArray, share: float) -> float:
    """Return the x with mean over directions of P(r ≤ x/‖u‖) = share, at scale 1."""
    from scipy.optimize import brentq
    from scipy.special import gammaincinv

    # r² is twice a Gamma variable of shape d/2, or r is one of shape d (`dpcore.noise.samplers`).
    if family is Radial.GAUSSIAN:
        plain = float(np.sqrt(2.0 * gammaincinv(dimension / 2, share)))
    else:
        plain = float(gammaincinv(dimension, share))
    # A quantile of the mixture lies between those along its shortest and its longest direction.
    low, high = plain * float(lengths.min()), plain * float(lengths.max())
    if lengths.size == 1 or low == high:
        return high
    return float(
        brentq(
            lambda x: float(radius_cdf(family, x / lengths, dimension).mean()) - share,
            low,
            high,
            xtol=1e-12 * high,
        )
    )
