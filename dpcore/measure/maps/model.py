"""What a map is: its points, what it was made with, and under which name it is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.limits import MAX_MAP_NEIGHBOURS, MAX_MAP_WORDS
from dpcore.measure.density.density import check_neighbours
from dpcore.noise.streams import check_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcore.arrays import IntArray
    from dpcore.lexicon.lexicon import Lexicon


class Projection(StrEnum):
    """How the plane is made.

    UMAP (McInnes, Healy, Melville 2018) keeps neighbours and loses density; densMAP (Narayan,
    Berger, Cho 2021) is UMAP with a term for the density; PCA is the plane that shows most of the
    variance, a linear map without parameters.
    """

    UMAP = "umap"
    DENSMAP = "densmap"
    PCA = "pca"

    @classmethod
    def parse(cls, name: str) -> Projection:
        """Return the projection of this name, or a `ParameterError` that lists them."""
        try:
            return cls(str(name).strip().lower())
        except ValueError:
            allowed = ", ".join(cls)
            raise ParameterError(
                f"unknown projection {str(name)[:40]!r}: use one of {allowed}"
            ) from None


_UMAP: dict[str, Any] = {
    "n_neighbors": 10,  # itself included
    "min_dist": 0.05,
    "init": "pca",
    "metric": "euclidean",
    "n_epochs": 500,
}
SETTINGS: dict[Projection, dict[str, Any]] = {
    Projection.UMAP: _UMAP,
    # The weights that its authors propose (Narayan, Berger, Cho 2021, Methods).
    Projection.DENSMAP: _UMAP
    | {"n_epochs": 700, "dens_lambda": 2.0, "dens_frac": 0.3, "dens_var_shift": 0.1},
    Projection.PCA: {"metric": "euclidean"},
}
"""What each projection is made with, besides the seed: JSON values."""

LEAST = {
    Projection.UMAP: int(_UMAP["n_neighbors"]) + 1,
    Projection.DENSMAP: int(_UMAP["n_neighbors"]) + 1,
    Projection.PCA: 3,
}
"""The least number of words: more than the neighbours that UMAP looks at; a plane for PCA."""


def check_size(projection: Projection, words: int) -> None:
    """Refuse a map of too few words.

    Raises:
        ParameterError: with the least number and what to do.
    """
    if not words >= LEAST[projection]:
        raise ParameterError(
            f"a {projection} map needs at least {LEAST[projection]} words, got {words}: take more "
            "neighbours, a larger lexicon or "
            + ("another pair of words" if projection is Projection.PCA else "PCA")
        )


@dataclass(frozen=True, eq=False)
class Map:
    """Words as points of the plane; arrays are read-only.

    Attributes:
        projection: how it was made.
        fingerprint: of the Euclidean lexicon.
        words: rows of the lexicon that have a point, ascending, shape (m,).
        points: shape (m, 2), float32, one scale for both axes, the middle of each axis at 0. For
            PCA in the unit of the vectors; of UMAP and densMAP the unit means nothing.
        kept: for each word the share of its k nearest words in the original space, among the
            mapped ones, that are among its k nearest on the map, shape (m,), float32.
        k: neighbours compared in `kept` and `density`.
        parameters: everything that the map was made with, JSON values.
        centres: of a local map the words that it is about; empty for the whole lexicon.
        density: rank correlation (Spearman) between the words' mean distance to their k nearest
            words in the original space and on the map: 1 if dense and sparse places stay so; NaN
            where all distances of a side are equal.
    """

    projection: Projection
    fingerprint: str
    words: IntArray
    points: NDArray[np.float32]
    kept: NDArray[np.float32]
    k: int
    parameters: dict[str, Any]
    centres: tuple[int, ...] = ()
    density: float = float("nan")

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.words, self.points, self.kept):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of words that have a point."""
        return len(self.words)

    def place(self, word: int) -> int | None:
        """The row of `points` that shows a word, or None if the map does not show it."""
        row = int(np.searchsorted(self.words, word))
        return row if row < len(self.words) and self.words[row] == word else None

    @property
    def mean_kept(self) -> float:
        """Share of the k nearest words that the map keeps, over all mapped words."""
        return float(self.kept.mean(dtype=np.float64))


@dataclass(frozen=True)
class MapPlan:
    """Which map is meant; of one lexicon, two maps with the same plan are the same map.

    Attributes:
        projection: how it is made.
        seed: of UMAP and densMAP; 0 for PCA, which has no randomness.
        centres: one or two words whose neighbourhood is mapped, ascending; none for the whole
            lexicon.
        neighbours: nearest words of each centre that are mapped; 0 for the whole lexicon.
    """

    projection: Projection
    seed: int = 0
    centres: tuple[int, ...] = ()
    neighbours: int = 0

    @property
    def kind(self) -> str:
        """The name under which the map is kept: part of it depends on all parameters."""
        settings = SETTINGS[self.projection]
        # The 1 is the version of this list: another one would leave all older maps behind.
        settled = [1, self.seed, list(self.centres), self.neighbours, MAX_MAP_WORDS, settings]
        digest = hashlib.sha256(json.dumps(settled, sort_keys=True).encode()).hexdigest()
        return f"map-{self.projection}-{digest[:16]}"


def plan_of_vocabulary(projection: Projection | str, seed: int = 0) -> MapPlan:
    """The plan of the map of a whole lexicon.

    Raises:
        ParameterError: the projection is unknown or the seed out of range.
    """
    parsed = Projection.parse(projection)
    check_seed(seed)
    return MapPlan(parsed, 0 if parsed is Projection.PCA else seed)


def plan_of_words(
    lexicon: Lexicon,
    centres: Sequence[int],
    k: int,
    projection: Projection | str,
    seed: int = 0,
) -> MapPlan:
    """The plan of the map of the neighbourhood of one or two words.

    Raises:
        ParameterError: there are not one or two different words of the lexicon, or k is not 1 to
            n − 1 and at most 500.
    """
    plain = plan_of_vocabulary(projection, seed)
    words = tuple(sorted({int(word) for word in centres}))
    if not 1 <= len(centres) <= 2 or len(words) != len(centres):
        raise ParameterError(
            "the map of a neighbourhood is about one word or two different ones, got "
            f"{len(centres)} with {len(words)} different"
        )
    if not 0 <= words[0] <= words[-1] < len(lexicon):
        raise ParameterError(f"word indices must lie in 0..{len(lexicon) - 1}")
    if isinstance(k, int) and k > MAX_MAP_NEIGHBOURS:
        raise ParameterError(f"k must be at most {MAX_MAP_NEIGHBOURS} on a map, got {k}")
    return MapPlan(plain.projection, plain.seed, words, check_neighbours(lexicon, k))
