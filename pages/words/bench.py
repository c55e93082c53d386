"""Measurements of one pair of words, cached once they exist."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.two_words import compare
from dpcore.lexicon.cache import only_in_memory
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import Neighbourhood, neighbourhood
from dpcore.measure.maps.fit import (
    DEFAULT_NEIGHBOURS,
    build_vocabulary_map,
    local_map,
    vocabulary_map,
)
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.maps.table import (
    Inset,
    distance_table,
    insets,
    mass_table,
    point_table,
)
from dpcore.measure.pair import (
    Chances,
    Draws,
    Pair,
    Spread,
    chances,
    draws,
    mass_on_map,
    spread_on_map,
)
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.maps.distances import (
    Arrangement,
    Strip,
    arrange,
    distance_strip,
    local_angles,
    plane_angles,
    rim,
    ring_distances,
)
from dpcore.plots.pair import pair_figure
from pages.shared import link
from pages.shared.once import memo, once
from pages.shared.session import admissible

if TYPE_CHECKING:
    import plotly.graph_objects as go

RUNS = 200
"""R of Sw, and directions or runs behind Nw where a law is not exact."""
SEED = link.SEED
NEIGHBOURS = 12
"""Number of neighbours listed beside a word."""
STRIP = 40
"""Number of neighbours of each word in the strip of true distances."""
AROUND = 24
"""Number of neighbours of each word in its pane."""

_PART = 2  # ε measured at a time where every draw at every ε is made separately
_KEPT_LAWS = 32
_KEPT_TABLES = 24
_KEPT_OUTPUTS = 100  # of 600 words at the most
_SAMPLED = Effort(100)  # for a mechanism that must be run for each draw at each ε: tens of seconds


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements of one mechanism: as a table, and as plain rows by ε.

    Attributes:
        mechanism: registry key.
        table: the rows of the first word, then of the second, ε ascending.
        rows: those of both words, by ε.
    """

    mechanism: str
    table: pd.DataFrame
    rows: dict[float, list[dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Output distribution of both words on a map at one ε.

    Attributes:
        table: the drawn words, as `dpcore.measure.maps.table.mass_table`.
        on_map: columns word, on_map: the probability that the output is a mapped word.
    """

    table: pd.DataFrame
    on_map: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Around:
    """Nearest words of one word, and their positions in its pane.

    Attributes:
        neighbours: indices, nearest first, shape (k,).
        distances: Euclidean, shape (k,).
        arrangement: their angles and the sides of their names.
    """

    neighbours: IntArray
    distances: FloatArray
    arrangement: Arrangement


@dataclass(frozen=True, eq=False)
class Fate:
    """Outputs of one word in its pane at every ε of the slider.

    Attributes:
        chances: probabilities of the word and of its neighbours.
        draws: a hundred draws.
    """

    chances: Chances
    draws: Draws


@dataclass
class PairBench:
    """Cached results for one pair; memos are keyed by the mechanism itself.

    Attributes:
        pair: the words and their surroundings.
        shared: public noise directions.
        sent: data sent to the panes, by everything that it depends on.
    """

    pair: Pair
    shared: SharedDirections
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    _rows: dict[tuple[Mechanism, int], list[dict[str, Any]]] = field(default_factory=dict)
    _tables: dict[tuple[Mechanism, int], Measurements] = field(default_factory=dict)
    _together: dict[tuple[Measurements, ...], pd.DataFrame] = field(default_factory=dict)
    _laws: dict[tuple[Mechanism, int, float], Law] = field(default_factory=dict)
    _maps: dict[Projection, Map] = field(default_factory=dict)
    _points: dict[tuple[Projection, bool], pd.DataFrame] = field(default_factory=dict)
    _around: dict[tuple[int, float | None], Neighbourhood] = field(default_factory=dict)
    _strips: dict[int, pd.DataFrame] = field(default_factory=dict)
    _insets: dict[Projection, tuple[float, list[Inset]]] = field(default_factory=dict)
    _drawn: dict[tuple[Mechanism, float, Projection, bool], Outputs] = field(default_factory=dict)
    _spreads: dict[tuple[Projection, bool], Spread | None] = field(default_factory=dict)
    _strip: dict[tuple[str, ...], Strip] = field(default_factory=dict)
    _pair_figures: dict[tuple[Measurements, ...], go.Figure] = field(default_factory=dict)
    _panes: dict[int, Around] = field(default_factory=dict)
    sent: dict[Hashable, dict[str, Any]] = field(default_factory=dict)
    _fates: dict[tuple[Mechanism, int], Fate] = field(default_factory=dict)

    def parts(self, mechanism: Mechanism) -> int:
        """Return the number of steps in which a mechanism is measured."""
        return len(_parts(mechanism))

    def missing(self, mechanism: Mechanism) -> list[int]:
        """Return the steps that are not measured yet."""
        return [i for i in range(self.parts(mechanism)) if (mechanism, i) not in self._rows]

    def measure(self, mechanism: Mechanism, step: int) -> None:
        """Measure one step; concurrent callers wait for a measurement in progress."""

        def compute() -> list[dict[str, Any]]:
            part = _parts(mechanism)[step]
            return compare(mechanism, self.pair, part, self.shared, runs=RUNS, seed=SEED).rows()

        with self._measuring:
            memo(self._rows, (mechanism, step), compute, 50 * _KEPT_TABLES)

    def table(self, mechanism: Mechanism) -> Measurements | None:
        """Return all measurements of a mechanism so far; None if there are none."""
        done = [i for i in range(self.parts(mechanism)) if (mechanism, i) in self._rows]
        if not done:
            return None

        def compute() -> Measurements:
            rows = [row for i in done for row in self._rows[mechanism, i]]
            # Steps are measured in any order; figures need the rows of a word by ε.
            rows.sort(key=lambda row: (row["word"] != self.pair.names[0], row["epsilon"]))
            by_epsilon: dict[float, list[dict[str, Any]]] = {}
            for row in rows:
                by_epsilon.setdefault(row["epsilon"], []).append(row)
            return Measurements(mechanism.key, pd.DataFrame(rows), by_epsilon)

        # By the number of parts: each finished part makes another table.
        return memo(self._tables, (mechanism, len(done)), compute, _KEPT_TABLES)

    def together(self, measured: list[Measurements]) -> pd.DataFrame:
        """Return the tables of several mechanisms as one."""

        def compute() -> pd.DataFrame:
            return pd.concat([part.table for part in measured], ignore_index=True)

        return memo(self._together, tuple(measured), compute, 4)

    def law(self, mechanism: Mechanism, place: int, epsilon: float) -> tuple[Law, int]:
        """Return the law of the first (0) or second (1) word, and the position of ε in it."""
        word = self.pair.words[place]
        whole = mechanism.rays is not None

        def compute() -> Law:
            # Along rays one estimate serves every ε; other laws are made for one ε each.
            epsilons = admissible(mechanism) if whole else np.array([epsilon])
            return self.shared.law(mechanism, word, epsilons, self.pair.rankings[word])

        key = (mechanism, word, -1.0 if whole else epsilon)  # one estimate for the whole grid
        law = memo(self._laws, key, compute, _KEPT_LAWS)
        return law, int(np.argmin(np.abs(law.epsilons - epsilon)))

    def map(self, whole: bool, projection: Projection) -> Map:
        """Return the map of the vocabulary, or of the surroundings of both words.

        Raises:
            DpcoreError: it is not built yet, or there are too few words.
        """
        words = self.pair.lexicon
        if whole:
            return whole_map(words, projection)
        k = self.mapped_neighbours
        return memo(
            self._maps, projection, lambda: local_map(words, self.pair.words, k, projection)
        )

    @property
    def mapped_neighbours(self) -> int:
        """Number of nearest words of each word on the map of their surroundings."""
        # A lexicon may have fewer words than a map wants neighbours.
        return min(DEFAULT_NEIGHBOURS, len(self.pair.lexicon) - 1)

    def points(self, shown: Map) -> pd.DataFrame:
        """Return the points of a map for its figure; they do not depend on ε."""
        lexicon, k = self.pair.lexicon, self.mapped_neighbours
        return memo(
            self._points, _key(shown), lambda: point_table(lexicon, shown, self.pair.words, k)
        )

    def insets(self, shown: Map) -> tuple[float, list[Inset]]:
        """Return the surroundings of both words on a map, and their reach."""
        near = [self.pane(place).neighbours for place in (0, 1)]
        return memo(self._insets, shown.projection, lambda: insets(shown, self.pair.words, near))

    def spread(self, shown: Map) -> Spread | None:
        """Compare the room around the two words in the vector space and on a map."""
        return memo(self._spreads, _key(shown), lambda: spread_on_map(self.pair, shown))

    def outputs(self, mechanism: Mechanism, epsilon: float, shown: Map) -> Outputs:
        """Return the output distribution of both words on a map."""

        def compute() -> Outputs:
            masses = []
            for place in (0, 1):
                law, row = self.law(mechanism, place, epsilon)
                masses.append(mass_on_map(law, shown, slice(row, row + 1)))
            rows = [
                (name, float(mass.on[0].sum()))
                for name, mass in zip(self.pair.names, masses, strict=True)
            ]
            table = mass_table(self.pair.lexicon, shown, masses)
            return Outputs(table, pd.DataFrame(rows, columns=["word", "on_map"]))

        return memo(self._drawn, (mechanism, epsilon, *_key(shown)), compute, _KEPT_OUTPUTS)

    def distances(self) -> pd.DataFrame:
        """Return the true distances of the nearest words of both, for the strip."""
        k = min(STRIP, len(self.pair.lexicon) - 1)
        return memo(self._strips, k, lambda: distance_table(self.pair.lexicon, self.pair.words, k))

    def strip(self, titles: tuple[str, ...]) -> Strip:
        """Return the strip of true distances with a row for each of these mechanisms."""
        return memo(self._strip, titles, lambda: distance_strip(self.distances(), titles), 4)

    def pair_figure(self, measured: list[Measurements]) -> go.Figure:
        """Return the curves of both words under several mechanisms."""
        return memo(
            self._pair_figures, tuple(measured), lambda: pair_figure(self.together(measured)), 4
        )

    def around(self, place: int, radius: float | None = None) -> Neighbourhood:
        """Return the surroundings of one word, with as many neighbours as there are."""
        word, lexicon = self.pair.words[place], self.pair.lexicon
        k = min(NEIGHBOURS, len(lexicon) - 1)
        return memo(
            self._around,
            (place, radius),
            lambda: neighbourhood(lexicon, word, k, radius, self.pair.rankings[word]),
            _KEPT_LAWS,
        )

    @property
    def reach(self) -> float:
        """Distance at the rim of both panes."""
        return rim(*(self._nearest(place)[1] for place in (0, 1)))

    @property
    def rings(self) -> list[float]:
        """Distances of the rings of both panes."""
        return ring_distances(self.reach)

    def _nearest(self, place: int) -> tuple[IntArray, FloatArray]:
        word = self.pair.words[place]
        ranking = self.pair.rankings[word]
        others = ranking.order != word
        return ranking.order[others][:AROUND], ranking.distances[others][:AROUND]

    def pane(self, place: int) -> Around:
        """Return the nearest words of the first (0) or second (1) word, arranged around it."""

        def compute() -> Around:
            lexicon, word = self.pair.lexicon, self.pair.words[place]
            neighbours, distances = self._nearest(place)
            arrangement = arrange(
                local_angles(self._offsets(place, neighbours)),
                distances,
                [lexicon.words[i] for i in neighbours.tolist()],
                self.reach,
                middle=lexicon.words[word],
                rings=self.rings,
            )
            return Around(neighbours, distances, arrangement)

        return memo(self._panes, place, compute)

    def fate(self, mechanism: Mechanism, place: int) -> Fate:
        """Return the outputs of the first (0) or second (1) word at every ε of the slider."""
        word = self.pair.words[place]
        shared = self.shared
        if not (mechanism.exact_law or mechanism.rays is not None):
            shared = SharedDirections(_SAMPLED)

        def compute() -> Fate:
            grid, ranking = admissible(mechanism), self.pair.rankings[word]
            # Of the words in the pane alone: all others together are the arc at its rim.
            near = self.pane(place).neighbours
            return Fate(
                chances(mechanism, word, near, grid, ranking, shared),
                draws(mechanism, word, grid, ranking, SEED),
            )

        return memo(self._fates, (mechanism, place), compute, _KEPT_LAWS)

    def directions(self, place: int, outputs: IntArray) -> FloatArray:
        """Return the directions in a pane of words that it does not show."""
        near = self._offsets(place, self.pane(place).neighbours)
        return plane_angles(near, self._offsets(place, outputs))

    def _offsets(self, place: int, others: IntArray) -> FloatArray:
        vectors = self.pair.lexicon.vectors
        return np.asarray(vectors[others] - vectors[self.pair.words[place]], dtype=np.float64)


def whole_map(words: Lexicon, projection: Projection) -> Map:
    """Return the map of the whole vocabulary.

    For uploaded vectors, of which nothing is written to disk, no map is stored: their PCA, which
    takes about a second for so few, is made and kept in the session.

    Raises:
        DpcoreError: it is not built yet, or there are too few words.
    """

    def compute() -> Map:
        if projection is Projection.PCA and only_in_memory(words.fingerprint):
            return build_vocabulary_map(words, projection)
        return vocabulary_map(words, projection)

    # Three projections of two lexicons.
    return once("vocabulary maps", (words.fingerprint, projection), compute, 6)


def _key(shown: Map) -> tuple[Projection, bool]:
    return shown.projection, bool(shown.centres)


def _parts(mechanism: Mechanism) -> list[np.ndarray]:
    """Return the ε of the slider in groups that are measured together."""
    grid = admissible(mechanism)
    if mechanism.exact_law or mechanism.rays is not None:
        return [grid] if grid.size else []
    # Every n-th ε: a stop leaves ε from the whole range, and not its beginning.
    return [grid[i :: -(-grid.size // _PART)] for i in range(-(-grid.size // _PART))]
