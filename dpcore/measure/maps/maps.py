"""Maps of a lexicon: looked up, or built and kept.

UMAP and densMAP of a whole lexicon take minutes, so they are never made while a page waits: they
come with the laboratory (for its own lexicon) or lie in the cache, built by `python -m dpcore map
build` or by `dpcore.measure.maps.jobs`. All maps are of the Euclidean metric.
"""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import MapMissingError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.lexicon.ranking import rank
from dpcore.limits import MAX_MAP_WORDS
from dpcore.measure.maps.fit import pca_plane, umap_plane
from dpcore.measure.maps.model import (
    SETTINGS,
    Map,
    MapPlan,
    Projection,
    check_size,
    plan_of_vocabulary,
    plan_of_words,
)
from dpcore.measure.maps.quality import (
    COMPARED,
    density_kept,
    neighbours_kept,
    plane_neighbours,
    true_neighbours,
    without_itself,
)
from dpcore.measure.maps.store import in_steps, keep_map, make_map, recall_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.progress import Progress

DEFAULT_PAIR = ("monday", "garage")
"""An everyday word of a dense region of the bundled lexicon (nearest word at 2.42) and one of a
sparse region (5.78): the maps of their neighbourhoods come with the laboratory."""

DEFAULT_NEIGHBOURS = 60
"""Nearest words of each centre on the maps that come with the laboratory."""

# Of each word, itself included: what UMAP is fitted to, and what is compared afterwards.
_COLUMNS = max(COMPARED + 1, *(s.get("n_neighbors", 0) for s in SETTINGS.values()))


def vocabulary_map(lexicon: Lexicon, projection: Projection | str, *, seed: int = 0) -> Map:
    """The map of a whole lexicon, or of its most frequent 50,000 words (`Map.parameters` says so).

    Raises:
        MapMissingError: it has not been built; the message holds the command.
        ParameterError: the lexicon has too few words, or an argument is out of range.
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    plan = plan_of_vocabulary(projection, seed)
    return _look_up(euclidean, plan)


def available_maps(lexicon: Lexicon) -> list[Projection]:
    """The projections of which `vocabulary_map` has a map, with seed 0."""
    fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
    return [p for p in Projection if recall_map(plan_of_vocabulary(p), fingerprint) is not None]


def build_vocabulary_map(
    lexicon: Lexicon, projection: Projection | str, *, seed: int = 0, progress: Progress = silent
) -> Map:
    """Make the map of a whole lexicon and keep it in the cache.

    Of 25,000 words on one core UMAP takes half a minute and densMAP a minute, besides the table of
    neighbours if it is not yet there.

    Args:
        lexicon: of more than `limits.MAX_MAP_WORDS` words the first ones are mapped.
        projection: how.
        seed: 0 to MAX_SEED.
        progress: called with ("neighbours", words, of), ("preparing", 0, 0), ("layout", rounds,
            of) and ("measuring", 0, 0).

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
    """The map of the k nearest words of one word, or of two words in one fit and one scale.

    PCA is computed at once; UMAP and densMAP are looked up.

    Args:
        lexicon: words and vectors.
        centres: indices of one word or two different ones; `Map.centres` has them in this order.
        k: nearest words of each centre, 1 to n − 1 and at most `limits.MAX_MAP_NEIGHBOURS`.
        projection: how.
        seed: 0 to MAX_SEED.

    Raises:
        MapMissingError: it has not been built; the message holds the command.
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
    """Make the map that `local_map` looks up, and keep it in the cache.

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
        ParameterError: with the least number of this projection.
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
    """The command that builds a map, ready for a shell."""
    from dpcore.lexicon.catalogue import lexicon_option

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
    """The centres and the k words nearest to each, ascending."""
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
    """Fit, and measure what the map keeps; `near` are the nearest of the words, itself first."""
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
    # Rounded first: what is measured is the map that will be read back.
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
    )
