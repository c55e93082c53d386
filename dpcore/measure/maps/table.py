"""Tables for the figures of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import rank
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.pair import MapMass

if TYPE_CHECKING:
    import pandas as pd

BACKGROUND = 3_000
"""Number of background words on a map: the most frequent ones."""

SMALLEST_MASS = 1e-4
"""Least probability with a visible point."""

MOST_MASS = 300
"""Largest number of words drawn as outputs of one word: the most likely ones."""

_SOURCES = ("a", "b")


def point_table(
    lexicon: Lexicon,
    shown: Map,
    centres: Sequence[int],
    k: int,
    background: int = BACKGROUND,
) -> pd.DataFrame:
    """Return the points of a map: centres, their neighbours, and the most frequent other words.

    Args:
        lexicon: words and vectors.
        shown: the map.
        centres: one or two words, a and b.
        k: nearest words of each centre that are marked as its neighbours, as far as mapped.
        background: largest number of other words.

    Returns:
        Columns word, x, y (float32), role (background, near_a, near_b, centre_a, centre_b) and
        kept (see `Map.kept`); a neighbour of both is with the nearer. Centres come last.
    """
    import pandas as pd

    near = [
        ranking.order[ranking.order != word][:k]
        for word, ranking in zip(
            centres, rank(lexicon.vectors, lexicon.vectors[list(centres)]), strict=True
        )
    ]
    around = np.setdiff1d(np.intersect1d(np.concatenate(near), shown.words), centres)
    nearer = np.zeros(len(around), dtype=np.int64)
    if len(centres) == 2 and len(around):
        nearer = distances(lexicon.vectors[around], lexicon.vectors[list(centres)]).argmin(axis=0)
        # Of two centres equally near, or one that does not count the word, the one that does.
        for side in (0, 1):
            nearer[~np.isin(around, near[side])] = 1 - side
    others = np.setdiff1d(shown.words, np.concatenate((around, np.asarray(centres))))[:background]
    middle = np.array([word for word in centres if shown.place(word) is not None], dtype=np.int64)
    roles = (
        ["background"] * len(others)
        + [f"near_{_SOURCES[side]}" for side in nearer]
        + [f"centre_{_SOURCES[list(centres).index(int(word))]}" for word in middle]
    )
    words = np.concatenate((others, around, middle))
    place = np.searchsorted(shown.words, words)
    columns = _places(lexicon, shown, place) | {"role": roles, "kept": shown.kept[place]}
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Inset:
    """Surroundings of one word on a map, as seen from it; arrays are read-only.

    Places are distances from the word, in units of the map, and angles counterclockwise from the
    right, in radians.

    Attributes:
        near: places of its nearest words, in their order, shape (k, 2).
        others: places of all other mapped words inside the reach, shape (m, 2).
        kept: share of the nearest words that the map keeps (`Map.kept`), mean over the word and its
            nearest ones.
    """

    near: FloatArray
    others: FloatArray
    kept: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.near, self.others):
            array.setflags(write=False)


NAMED = 15
"""Number of nearest words that are named in an inset."""

_INSIDE, _MARGIN = 0.6, 1.6
"""Share of the named words that an inset must hold, and the room around them: a second clump far
off sets no scale."""


def insets(
    shown: Map, centres: Sequence[int], neighbours: Sequence[IntArray]
) -> tuple[float, list[Inset]]:
    """Cut the surroundings of words out of a map, in one scale.

    Args:
        shown: a map of all these words.
        centres: the words in the middle.
        neighbours: nearest words of each, nearest first, at least one.

    Returns:
        The reach of every inset, in units of the map, and the insets. A neighbour may lie beyond.
    """
    polar, rows = [], []
    for word, near in zip(centres, neighbours, strict=True):
        places = np.searchsorted(shown.words, np.concatenate(([word], near)))
        offsets = shown.points.astype(np.float64) - shown.points[places[0]]
        angles = np.arctan2(offsets[:, 1], offsets[:, 0])
        polar.append(np.stack((np.hypot(offsets[:, 0], offsets[:, 1]), angles), axis=1))
        rows.append(places)
    far = [each[places[1:], 0] for each, places in zip(polar, rows, strict=True)]
    reach = _MARGIN * max(float(np.quantile(each[:NAMED], _INSIDE)) for each in far) or 1.0
    cut = []
    for each, places in zip(polar, rows, strict=True):
        rest = np.delete(each, places, axis=0)
        kept = float(shown.kept[places].mean(dtype=np.float64))
        cut.append(Inset(each[places[1:]], rest[rest[:, 0] < reach], kept))
    return reach, cut


_FRAME = 0.002
"""Share of the points beyond each side of a map's frame."""

_ISLAND, _EDGE = 0.03, 0.02
"""Gap between two islands, and room at the frame's edge, in shares of the frame's longer side."""


def framed(shown: Map) -> tuple[FloatArray, int]:
    """Return the points of a map within a frame that a few far-off islands do not set.

    On each axis the frame holds all but 0.2 % of the points at either end. Islands beyond it are
    moved to its edge, each as a whole: gaps between islands of UMAP and densMAP have no meaning.
    PCA, whose distances have one, stays as it is.

    Args:
        shown: the map.

    Returns:
        Points of shape (m, 2), the middle of the frame at 0, and the number of moved ones.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    points = shown.points.astype(np.float64)
    if shown.projection is Projection.PCA:
        return points, 0
    low, high = np.quantile(points, (_FRAME, 1 - _FRAME), axis=0)
    side = float((high - low).max())
    low, high = low - _EDGE * side, high + _EDGE * side
    far = np.flatnonzero(((points < low) | (points > high)).any(axis=1))
    if far.size:
        near = cKDTree(points[far]).query_pairs(_ISLAND * side, output_type="ndarray")
        links = coo_array((np.ones(len(near)), tuple(near.T)), shape=(far.size, far.size))
        count, islands = connected_components(links, directed=False)
        for island in range(count):
            rows = far[islands == island]
            least, most = points[rows].min(axis=0), points[rows].max(axis=0)
            points[rows] += np.maximum(low - least, 0) + np.minimum(high - most, 0)
    return points - (low + high) / 2, int(far.size)


def mass_table(
    lexicon: Lexicon, shown: Map, masses: Sequence[MapMass], position: int = 0
) -> pd.DataFrame:
    """Return the most likely outputs of one or two words, if they can be seen.

    Args:
        lexicon: words.
        shown: the map that the masses were divided on.
        masses: of a and b, in this order.
        position: of the ε.

    Returns:
        Columns word, x, y, source (a, b), mass (0 to 1); largest first within a source.
    """
    import pandas as pd

    parts: list[pd.DataFrame] = []
    for source, mass in zip(_SOURCES, masses, strict=False):
        row = mass.on[position]
        chosen = np.flatnonzero(row >= SMALLEST_MASS)
        chosen = chosen[np.argsort(-row[chosen], kind="stable")][:MOST_MASS]
        columns = _places(lexicon, shown, chosen) | {"source": source, "mass": row[chosen]}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _places(lexicon: Lexicon, shown: Map, rows: IntArray) -> dict[str, Any]:
    """Return the words and coordinates of rows of a map, as columns."""
    words = [lexicon.words[word] for word in shown.words[rows].tolist()]
    return {"word": words, "x": shown.points[rows, 0], "y": shown.points[rows, 1]}


def distance_table(lexicon: Lexicon, centres: Sequence[int], k: int) -> pd.DataFrame:
    """Return the true distances of the k nearest words of each centre, nearest first.

    Returns:
        Columns source (a, b), word (the centre), neighbour, distance.
    """
    import pandas as pd

    rows: list[tuple[str, str, str, float]] = []
    rankings = rank(lexicon.vectors, lexicon.vectors[list(centres)])
    for source, word, ranking in zip(_SOURCES, centres, rankings, strict=False):
        others = ranking.order != word
        pairs = zip(ranking.order[others][:k], ranking.distances[others][:k], strict=True)
        rows += [
            (source, lexicon.words[word], lexicon.words[int(other)], float(distance))
            for other, distance in pairs
        ]
    return pd.DataFrame(rows, columns=["source", "word", "neighbour", "distance"])
