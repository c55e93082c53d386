"""Maps of a lexicon (PCA, UMAP, densMAP): look-up, fitting, quality and caching.

UMAP and densMAP of a whole lexicon take minutes, so they are never computed while a page waits:
they are bundled (for the bundled lexicon) or in the cache, built by `python -m dpcore map build` or
by `dpcore.measure.maps.jobs`. All maps use the Euclidean metric.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import MapMissingError, MissingPackageError
from dpcore.lexicon.catalogue import lexicon_option
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import ExactIndex, rank, refine
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_MAP_WORDS
from dpcore.measure.maps.store import (
    SETTINGS,
    Map,
    MapPlan,
    Projection,
    check_size,
    in_steps,
    keep_map,
    make_map,
    plan_of_vocabulary,
    plan_of_words,
    recall_map,
)
from dpcore.noise.streams import generator

# Points of a map: PCA by an exact decomposition, UMAP and densMAP by umap-learn.
#
# UMAP and densMAP are fitted to the exact neighbours, not to umap-learn's approximate ones, start
# at the PCA plane instead of a spectral one (on 25,000 words a quarter of the time, and the same
# share of neighbours kept), and run on one thread, which makes them reproducible.


def pca_plane(vectors: NDArray[np.float32]) -> tuple[FloatArray, float]:
    """Compute coordinates on the first two principal axes, by a float64 decomposition.

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
    """Compute points by UMAP or densMAP.

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
    # UMAP ignores the unit; squares of float32 must neither over- nor underflow.
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
        warnings.simplefilter("ignore")  # it warns that new points cannot be placed on this map
        points = model.fit_transform((vectors.astype(np.float64) / unit).astype(np.float32))
    return points, {"umap-learn": umap.__version__}


class _Rounds:
    """File for umap-learn's progress bar, which passes the numbers on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        numbers = re.search(r"(\d+)/(\d+)", text)
        if numbers:
            self._progress("layout", int(numbers[1]), int(numbers[2]))
        return len(text)

    def flush(self) -> None:
        pass


# Share of the original space that a map keeps, by exact neighbours on both sides.


COMPARED = 10
"""Neighbours of each word that are compared, fewer only if there are fewer words."""

_SPARE = 16
_SLACK = 1e-9  # relative; far above the rounding of float64 distances in the plane
_ROWS = 256


def without_itself(
    indices: NDArray[np.integer], lengths: FloatArray, k: int
) -> tuple[IntArray, FloatArray]:
    """Return the k nearest other rows, from the k + 1 nearest of each row (usually with itself).

    A row need not be among its own k + 1 nearest: more than k others may lie at its place.
    """
    rows = np.arange(len(indices))[:, None]
    # False sorts before True: the row itself goes last and is cut off, the others keep their order.
    order = np.argsort(indices[:, : k + 1] == rows, axis=1, kind="stable")[:, :k]
    return (
        np.take_along_axis(indices, order, axis=1).astype(np.int64),
        np.take_along_axis(lengths, order, axis=1),
    )


def true_neighbours(vectors: NDArray[np.float32], k: int) -> tuple[IntArray, FloatArray]:
    """Return the k nearest other rows of each row and their distances, both of shape (m, k)."""
    indices, lengths = ExactIndex(vectors).search(vectors, k + 1)
    return without_itself(indices, lengths, k)


def plane_neighbours(points: NDArray[np.float32], k: int) -> tuple[IntArray, FloatArray]:
    """Return `true_neighbours` for points of the plane; ties by lowest index.

    A tree proposes a few more than requested. Where the last proposed one is no farther than the
    last one wanted, so that an equally near one may be missing, all points are compared.
    """
    from scipy.spatial import cKDTree

    exact = points.astype(np.float64)
    wanted = min(k + 1 + _SPARE, len(points))
    tree = cKDTree(exact).query(exact, wanted)
    reach, proposed = np.asarray(tree[0]), np.asarray(tree[1], dtype=np.int64)
    indices, lengths = refine(points, exact, proposed, k + 1)
    if wanted < len(points):
        unsure = np.flatnonzero(reach[:, -1] <= lengths[:, -1] * (1 + _SLACK))
        for start in range(0, len(unsure), _ROWS):
            rows = unsure[start : start + _ROWS]
            block = distances(points, exact[rows])
            order = np.argsort(block, axis=1, kind="stable")[:, : k + 1]
            indices[rows] = order
            lengths[rows] = np.take_along_axis(block, order, axis=1)
    return without_itself(indices, lengths, k)


def neighbours_kept(true: IntArray, shown: IntArray) -> NDArray[np.uint8]:
    """Count each row's true neighbours that are among those shown, shape (m,).

    Args:
        true: shape (m, k), k at most 255.
        shown: shape (m, k).
    """
    m = len(true)
    # Row i is mapped to its own numbers, i·m to i·m + m − 1, so that one search over all rows finds
    # only neighbours of the same row.
    offset = np.arange(m)[:, None] * m
    both = np.isin((true + offset).reshape(-1), (shown + offset).reshape(-1))
    return np.asarray(both.reshape(true.shape).sum(axis=1), dtype=np.uint8)


_REGION_SHARES = 250, 625  # a region has at least one of so many words
_REGION_LEAST, _CENTRAL = 10, 10  # words of a region at least; candidates for its name


def named_regions(vectors: NDArray[np.float32], steps: NDArray[np.integer]) -> IntArray:
    """Return the regions of a map: its dense clumps of at least one in 625 words, by their names.

    A clump is a leaf of the hierarchy of densities (HDBSCAN: Campello, Moulavi and Sander 2013),
    once of at least a 250th, once of a 625th of the words. Of the words whose vectors are nearest
    to the mean of its vectors, the most frequent one names it. Which of equal distances comes first
    depends on the processor (scikit-learn sorts them with numpy's quicksort), and moves some words
    at the edges of clumps: of the bundled maps' regions three in a hundred differ between two
    instruction sets, fewer than where each point is moved at random by about one step.

    Args:
        vectors: shape (m, d), the most frequent word first.
        steps: points of the map, shape (m, 2).

    Returns:
        See `Map.regions`.
    """
    from sklearn.cluster import HDBSCAN

    found: dict[int, int] = {}
    for share in _REGION_SHARES:
        size = max(_REGION_LEAST, len(steps) // share)
        if len(steps) <= size:
            continue
        fitted = HDBSCAN(
            min_cluster_size=size,
            min_samples=_REGION_LEAST,
            cluster_selection_method="leaf",
            copy=True,
        ).fit(steps.astype(np.float64))
        for clump in range(fitted.labels_.max() + 1):
            rows = np.flatnonzero(fitted.labels_ == clump)
            off = vectors[rows].astype(np.float64) - vectors[rows].mean(axis=0, dtype=np.float64)
            central = rows[np.argsort((off**2).sum(axis=1), kind="stable")[:_CENTRAL]]
            word = int(central.min())
            across = steps[rows].astype(np.float64) - steps[word]
            found.setdefault(word, round(float(np.median(np.hypot(*across.T)))))
    widest = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return np.array(widest, dtype=np.int64).reshape(-1, 2)


def density_kept(true: FloatArray, shown: FloatArray) -> float:
    """Return Spearman's correlation of mean neighbour distances in space and on the map.

    Args:
        true: distances to the neighbours in the original space, shape (m, k).
        shown: distances to the neighbours on the map, shape (m, k).

    Returns:
        −1 to 1; NaN if all means of a side are equal.
    """
    from scipy.stats import spearmanr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal means: the correlation is not defined
        correlation = spearmanr(true.mean(axis=1, dtype=np.float64), shown.mean(axis=1))
    return float(correlation.statistic)


DEFAULT_PAIR = ("monday", "garage")
"""An everyday word of a dense region of the bundled lexicon (nearest word at 2.42) and one of a
sparse region (5.78)."""

BUNDLED_PAIRS = (DEFAULT_PAIR, ("june", "umbrella"), ("june", "insulin"))
"""Pairs of words whose maps come with the laboratory: the examples of the page Words."""

DEFAULT_NEIGHBOURS = 60
"""Nearest words of each centre on the bundled maps."""

# Columns of each word, itself included: for the fit of UMAP, and for the comparison afterwards.
_COLUMNS = max(COMPARED + 1, *(s.get("n_neighbors", 0) for s in SETTINGS.values()))


def vocabulary_map(lexicon: Lexicon, projection: Projection | str, *, seed: int = 0) -> Map:
    """Return the map of a whole lexicon, or of its 50,000 most frequent words.

    `Map.parameters` states which.

    Raises:
        MapMissingError: it has not been built; the message has the command.
        ParameterError: the lexicon has too few words, or an argument is out of range.
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    plan = plan_of_vocabulary(projection, seed)
    return _look_up(euclidean, plan)


def build_vocabulary_map(
    lexicon: Lexicon, projection: Projection | str, *, seed: int = 0, progress: Progress = silent
) -> Map:
    """Build the map of a whole lexicon and keep it in the cache.

    For 25,000 words on one core UMAP takes half a minute and densMAP a minute, besides the table of
    neighbours if it is not yet cached.

    Args:
        lexicon: of more than `limits.MAX_MAP_WORDS` words the first ones are mapped.
        projection: the projection.
        seed: 0 to MAX_SEED.
        progress: called with ("neighbours", words, of), ("preparing", 0, 0), ("layout", rounds, of)
            and ("measuring", 0, 0).

    Raises:
        ParameterError: the lexicon has too few words, or an argument is out of range.
        MissingPackageError: umap-learn is not installed.
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    plan = plan_of_vocabulary(projection, seed)
    check_plan(euclidean, plan)
    mapped = euclidean
    if len(euclidean) > MAX_MAP_WORDS:
        mapped = dataclasses.replace(
            euclidean,
            words=euclidean.words[:MAX_MAP_WORDS],
            vectors=euclidean.vectors[:MAX_MAP_WORDS],
        )
    table = mapped.neighbours(progress=progress)
    near = (
        table.indices[:, :_COLUMNS].astype(np.int64),
        table.distances[:, :_COLUMNS].astype(np.float64),
    )
    shown = _build(plan, euclidean, np.arange(len(mapped)), near, progress)
    keep_map(plan, shown)
    return shown


def local_map(
    lexicon: Lexicon,
    centres: Sequence[int],
    k: int,
    projection: Projection | str,
    *,
    seed: int = 0,
) -> Map:
    """Return the map of the k nearest words of one word, or of two words on one scale.

    PCA is computed at once; UMAP and densMAP are looked up. Two words share one fit.

    Args:
        lexicon: words and vectors.
        centres: indices of one word or two different ones; `Map.centres` has them in this order.
        k: nearest words of each centre, 1 to n − 1 and at most `limits.MAX_MAP_NEIGHBOURS`.
        projection: the projection.
        seed: 0 to MAX_SEED.

    Raises:
        MapMissingError: it has not been built; the message has the command.
        ParameterError: there are too few words for a map, or an argument is out of range.
    """
    plan = plan_of_words(lexicon, centres, k, projection, seed)
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    if plan.projection is Projection.PCA:
        shown = _build_local(euclidean, plan, silent)
    else:
        shown = _look_up(euclidean, plan)
    return dataclasses.replace(shown, centres=tuple(int(word) for word in centres))


def build_local_map(
    lexicon: Lexicon,
    centres: Sequence[int],
    k: int,
    projection: Projection | str,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Map:
    """Build the map that `local_map` looks up, and keep it in the cache.

    Raises:
        ParameterError: as `local_map`.
        MissingPackageError: umap-learn is not installed.
    """
    plan = plan_of_words(lexicon, centres, k, projection, seed)
    shown = _build_local(lexicon.with_metric(Metric.EUCLIDEAN), plan, progress)
    if plan.projection is not Projection.PCA:
        keep_map(plan, shown)
    return dataclasses.replace(shown, centres=tuple(int(word) for word in centres))


def check_plan(euclidean: Lexicon, plan: MapPlan) -> None:
    """Refuse a map of too few words.

    Raises:
        ParameterError: there are too few; the message has the least number of this projection.
    """
    check_size(plan.projection, len(_union(euclidean, plan) if plan.centres else euclidean))


def _look_up(euclidean: Lexicon, plan: MapPlan) -> Map:
    shown = recall_map(plan, euclidean.fingerprint)
    if shown is None:
        check_plan(euclidean, plan)
        what = " and ".join(repr(euclidean.words[word]) for word in plan.centres)
        raise MapMissingError(
            f"there is no {plan.projection} map of {what or 'lexicon ' + repr(euclidean.name)} "
            f"yet; build it with: {build_command(euclidean, plan)}"
        )
    return shown


def build_command(lexicon: Lexicon, plan: MapPlan) -> str:
    """Return the command that builds a map, ready for a shell."""
    parts = ["python", "-m", "dpcore", "map", "build", "--projection", str(plan.projection)]
    parts += lexicon_option(lexicon)
    for word in plan.centres:
        parts += ["--word", lexicon.words[word]]
    if plan.centres:
        parts += ["--k", str(plan.neighbours)]
    if plan.seed:
        parts += ["--seed", str(plan.seed)]
    return shlex.join(parts)


def _union(euclidean: Lexicon, plan: MapPlan) -> IntArray:
    """Return the centres and the k words nearest to each, ascending."""
    groups = [np.array(plan.centres)]
    centres = list(plan.centres)
    for word, ranking in zip(
        centres, rank(euclidean.vectors, euclidean.vectors[centres]), strict=True
    ):
        groups.append(ranking.order[ranking.order != word][: plan.neighbours])
    return np.unique(np.concatenate(groups))


def _build_local(euclidean: Lexicon, plan: MapPlan, progress: Progress) -> Map:
    words = _union(euclidean, plan)
    check_size(plan.projection, len(words))
    indices, lengths = true_neighbours(euclidean.vectors[words], min(_COLUMNS, len(words)) - 1)
    itself = np.arange(len(words))[:, None]
    near = (np.hstack([itself, indices]), np.hstack([np.zeros((len(words), 1)), lengths]))
    return _build(plan, euclidean, words, near, progress)


def _build(
    plan: MapPlan,
    euclidean: Lexicon,
    words: IntArray,
    near: tuple[IntArray, FloatArray],
    progress: Progress,
) -> Map:
    """Fit a map and measure its quality; `near` are the nearest of the words, itself first."""
    vectors = euclidean.vectors[words]
    plane: NDArray[Any]
    details: dict[str, Any]
    if plan.projection is Projection.PCA:
        progress("preparing", 0, 0)
        plane, share = pca_plane(vectors)
        details = {"variance_shown": share}
    else:
        plane, details = umap_plane(plan.projection, vectors, near, plan.seed, progress)
        details["seed"] = plan.seed
    progress("measuring", 0, 0)
    # Rounded first, so that the measured map is the one that will be read back.
    steps = in_steps(plane)
    k = min(COMPARED, len(words) - 1)
    true, true_distances = without_itself(near[0], near[1], k)
    shown, shown_distances = plane_neighbours((steps[0] * steps[1]).astype(np.float32), k)
    parameters = {
        "words": len(words),
        "lexicon_words": len(euclidean),
        **({"neighbours": plan.neighbours} if plan.centres else {}),
        **SETTINGS[plan.projection],
        **details,
    }
    return make_map(
        plan,
        euclidean.fingerprint,
        words,
        steps,
        neighbours_kept(true, shown),
        k,
        parameters,
        density_kept(true_distances, shown_distances),
        # The nearness of a map by PCA says too little.
        np.zeros((0, 2), dtype=np.int64)
        if plan.centres or plan.projection is Projection.PCA
        else named_regions(vectors, steps[0]),
    )
