"""Making the points of a map: PCA by an exact decomposition, UMAP and densMAP by umap-learn.

UMAP and densMAP are fitted to the exact neighbours, not to umap-learn's approximate ones, begin at
the PCA plane instead of a spectral one (on 25,000 words a quarter of the time, and the same share
of neighbours kept), and run on one thread, which is what makes them repeatable.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import MissingPackageError
from dpcore.measure.maps.model import SETTINGS, Projection
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.progress import Progress


def pca_plane(vectors: NDArray[np.float32]) -> tuple[FloatArray, float]:
    """Coordinates on the two first principal axes, by a singular value decomposition in float64.

    The sign of an axis is such that its coordinate of largest magnitude is positive.

    Args:
        vectors: shape (m, d).

    Returns:
        Points of shape (m, 2) around their mean, in the unit of the vectors, and the share of the
        variance that they show.
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    scale = float(np.abs(centred).max()) or 1.0  # so that squares neither over- nor underflow
    left, singular, _ = np.linalg.svd(centred / scale, full_matrices=False)
    points = np.zeros((len(centred), 2))
    axes = min(2, len(singular))
    points[:, :axes] = left[:, :axes] * singular[:axes]
    largest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points *= np.where(largest < 0, -scale, scale)
    total = float((singular**2).sum())
    return points, float((singular[:2] ** 2).sum()) / total if total > 0 else 1.0


def umap_plane(
    projection: Projection,
    vectors: NDArray[np.float32],
    neighbours: tuple[IntArray, FloatArray],
    seed: int,
    progress: Progress,
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Points of UMAP or densMAP.

    Args:
        projection: one of the two.
        vectors: shape (m, d), m at least `LEAST`.
        neighbours: indices and distances of the nearest rows of each row, itself first, both of
            shape (m, at least n_neighbors).
        seed: 0 to MAX_SEED.
        progress: called with ("preparing", 0, 0), then ("layout", round, rounds).

    Returns:
        Points of shape (m, 2), and the versions that made them.

    Raises:
        MissingPackageError: umap-learn is not installed.
    """
    progress("preparing", 0, 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import umap
    except ImportError:
        raise MissingPackageError(
            f"a {projection} map needs umap-learn: pip install umap-learn, or use PCA"
        ) from None
    settings = {name: value for name, value in SETTINGS[projection].items() if name != "init"}
    count = int(settings["n_neighbors"])
    rng = generator(seed, "map", projection)
    start, _ = pca_plane(vectors)
    flat = np.ptp(start, axis=0) == 0  # all words on a line: UMAP would divide by this
    start[:, flat] = rng.uniform(-1, 1, (len(start), int(flat.sum()))) * np.abs(start).max()
    # UMAP knows no unit; squares of float32 must neither over- nor underflow.
    unit = float(np.abs(vectors).max()) or 1.0
    indices, lengths = (part[:, :count] for part in neighbours)
    model = umap.UMAP(
        **settings,
        densmap=projection is Projection.DENSMAP,
        random_state=int(rng.integers(2**31)),
        n_jobs=1,
        # Rounded, so that the last bits of a linear algebra library do not move the map.
        init=np.round(start / np.abs(start).max(), 6).astype(np.float32),
        precomputed_knn=(indices.astype(np.int32), (lengths / unit).astype(np.float32)),
        tqdm_kwds={
            "file": _Rounds(progress),
            "disable": False,
            "bar_format": "{n_fmt}/{total_fmt}",
            "ascii": True,
            "mininterval": 0.3,
        },
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that new points cannot be placed on this map
        points = model.fit_transform((vectors.astype(np.float64) / unit).astype(np.float32))
    return points, {"umap-learn": umap.__version__}


class _Rounds:
    """The file that umap-learn's progress bar writes to: it hands the numbers on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        numbers = re.search(r"(\d+)/(\d+)", text)
        if numbers:
            self._progress("layout", int(numbers[1]), int(numbers[2]))
        return len(text)

    def flush(self) -> None:
        pass
