"""Maps: words as points of the plane, and how much of the truth a map keeps.

A map is made ahead (a whole lexicon takes minutes) and looked up: bundled for the default lexicon,
else kept in the cache. All maps are of the Euclidean metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.measure.counting import IntArray

DEFAULT_PAIR = ("monday", "garage")
"""An everyday word of a dense region of the bundled lexicon, and one of a sparse region."""


class Projection(StrEnum):
    """How the plane is made."""

    UMAP = "umap"
    DENSMAP = "densmap"
    PCA = "pca"


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
            words in the original space and on the map: 1 if dense and sparse places stay so.
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
