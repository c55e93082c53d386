"""Maps on disk: bundled ones, and those in the cache.

Both have the same arrays: the points as int16 multiples of one step, which is finer than a figure
can show and half the size of float32, and counts of kept neighbours as uint8. A newly built map is
rounded in the same way, so it equals the map that will be read back, to the bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore import __version__
from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import (
    ARRAYS,
    FIELDS,
    bundled_data,
    cache_status,
    keep,
    kinds_kept,
    recall,
    refuse_of_the_system,
    replacing,
    write_text,
)
from dpcore.lexicon.cache import CacheEntry as KeptFile
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_MAP_NEIGHBOURS, MAX_MAP_WORDS
from dpcore.measure.density import check_neighbours
from dpcore.noise.streams import check_seed

# Definition of a map: its points, its parameters, and the name under which it is kept.


class Projection(StrEnum):
    """Method that projects the vectors to a plane.

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
"""Parameters of each projection, besides the seed: JSON values."""

LEAST = {
    Projection.UMAP: int(_UMAP["n_neighbors"]) + 1,
    Projection.DENSMAP: int(_UMAP["n_neighbors"]) + 1,
    Projection.PCA: 3,
}
"""Least number of words: more than the number of neighbours in UMAP; a plane for PCA."""


def check_size(projection: Projection, words: int) -> None:
    """Refuse a map of too few words.

    Raises:
        ParameterError: there are too few; the message has the least number and a remedy.
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
        projection: the projection.
        fingerprint: of the Euclidean lexicon.
        words: rows of the lexicon that have a point, ascending, shape (m,).
        points: shape (m, 2), float32, one scale for both axes, the middle of each axis at 0. For
            PCA in the unit of the vectors; for UMAP and densMAP the unit has no meaning.
        kept: for each word the share of its k nearest words in the original space, among the mapped
            ones, that are among its k nearest on the map, shape (m,), float32.
        k: neighbours compared in `kept` and `density`.
        parameters: all parameters of the map, JSON values.
        centres: central words of a local map; empty for the whole lexicon.
        density: rank correlation (Spearman) between the words' mean distance to their k nearest
            words in the original space and on the map: 1 if dense and sparse places stay so; NaN
            where all distances of a side are equal.
        regions: row of the word that names a region, and how far from it half of the region's words
            are, in steps, shape (r, 2), the widest first; for the whole lexicon by UMAP or densMAP.
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
    regions: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.words, self.points, self.kept, self.regions):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of words that have a point."""
        return len(self.words)

    def place(self, word: int) -> int | None:
        """Return the row of `points` that shows a word, or None if the map does not show it."""
        row = int(np.searchsorted(self.words, word))
        return row if row < len(self.words) and self.words[row] == word else None

    @property
    def mean_kept(self) -> float:
        """Share of the k nearest words that the map keeps, over all mapped words."""
        return float(self.kept.mean(dtype=np.float64))


@dataclass(frozen=True)
class MapPlan:
    """Parameters that identify a map; of one lexicon, two maps with the same plan are equal.

    Attributes:
        projection: the projection.
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
        """Name under which the map is kept: part of it depends on all parameters."""
        settings = SETTINGS[self.projection]
        # The 1 is the version of this list: another one would orphan all older maps.
        settled = [1, self.seed, list(self.centres), self.neighbours, MAX_MAP_WORDS, settings]
        digest = hashlib.sha256(json.dumps(settled, sort_keys=True).encode()).hexdigest()
        return f"map-{self.projection}-{digest[:16]}"


def plan_of_vocabulary(projection: Projection | str, seed: int = 0) -> MapPlan:
    """Return the plan of the map of a whole lexicon.

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
    """Return the plan of the map of the neighbourhood of one or two words.

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


MANIFEST = "manifest.json"
_STEPS = 32_767
_LARGEST_STEP = 1e30  # the points stay within float32
_PACKAGES = ("numpy", "scipy", "scikit-learn", "umap-learn", "numba")


def make_map(
    plan: MapPlan,
    fingerprint: str,
    words: IntArray,
    points: tuple[NDArray[np.int16], float],
    kept: NDArray[np.uint8],
    k: int,
    parameters: dict[str, Any],
    density: float,
    regions: IntArray,
) -> Map:
    """Return a map from its stored parts.

    Args:
        plan: the plan of the map.
        fingerprint: of the Euclidean lexicon.
        words: rows of the lexicon, ascending, shape (m,).
        points: multiples of a step, shape (m, 2), and the step.
        kept: number of the k nearest words that are kept, shape (m,).
        k: neighbours compared.
        parameters: see `Map`.
        density: see `Map`.
        regions: see `Map`.
    """
    multiples, step = points
    return Map(
        plan.projection,
        fingerprint,
        words.astype(np.int64),
        (multiples * step).astype(np.float32),
        (kept / np.float32(k)).astype(np.float32),
        k,
        parameters | {"step": step},
        plan.centres,
        density,
        regions.astype(np.int64),
    )


def in_steps(points: NDArray[Any]) -> tuple[NDArray[np.int16], float]:
    """Centre the points on 0 along each axis, and return multiples of one step for both axes.

    The centre of an axis is the middle of its range. The step has 8 significant bits, so every
    multiple is a float32 exactly.
    """
    exact = points.astype(np.float64)
    # The middle of the range, not the mean: it makes the largest multiple smallest.
    exact -= (exact.min(axis=0) + exact.max(axis=0)) / 2
    mantissa, exponent = math.frexp(float(np.abs(exact).max()) / _STEPS)
    step = math.ldexp(math.ceil(mantissa * 256) / 256, exponent) or 1.0
    return np.rint(exact / step).astype(np.int16), step


def facts_of(shown: Map) -> dict[str, Any]:
    """Return the metadata of a map, without its arrays, as JSON values."""
    return {
        "projection": str(shown.projection),
        "k": shown.k,
        "centres": list(shown.centres),
        "density": None if math.isnan(shown.density) else shown.density,
        "mean_kept": shown.mean_kept,
        "version": __version__,
        "parameters": shown.parameters,
    }


def _arrays_of(shown: Map) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "points": np.rint(shown.points / np.float64(shown.parameters["step"])).astype(np.int16),
        "kept": np.rint(shown.kept * np.float64(shown.k)).astype(np.uint8),
    }
    # A map of the whole lexicon shows its words in order: no need to store them.
    if not np.array_equal(shown.words, np.arange(len(shown))):
        arrays["words"] = shown.words.astype(np.int32)
    if len(shown.regions):
        arrays["regions"] = shown.regions.astype(np.int32)
    return arrays


def _restored(
    plan: MapPlan, fingerprint: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
) -> Map | None:
    """Return the map, or None if it does not match the plan."""
    try:
        points, kept = arrays["points"], arrays["kept"]
        # A cache file may be damaged or of another version: whatever does not fit is absent.
        m, k, density = len(points), int(facts["k"]), facts["density"]
        step = float(facts["parameters"]["step"])
        words = np.asarray(arrays.get("words", np.arange(m)))
        regions = arrays.get("regions", np.zeros((0, 2), dtype=np.int32))
        fits = (
            points.dtype == np.dtype(np.int16)
            and kept.dtype == np.dtype(np.uint8)
            and points.shape == (m, 2)
            and kept.shape == words.shape == (m,)
            and facts["projection"] == plan.projection
            and facts["centres"] == list(plan.centres)
            and k >= 1
            and 0 < step < _LARGEST_STEP
            and regions.dtype == np.dtype(np.int32)
            and regions.shape == (len(regions), 2)
            and bool(np.all((regions >= 0) & (regions < (m, 2 * _STEPS * math.sqrt(2) + 1))))
        )
        if not fits:
            return None
        return make_map(
            plan,
            fingerprint,
            words,
            (points, step),
            kept,
            k,
            dict(facts["parameters"]),
            math.nan if density is None else float(density),
            regions,
        )
    except FIELDS:
        return None


def check_cache() -> None:
    """Refuse to compute for minutes a map that could not be kept.

    Raises:
        ParameterError: the cache folder cannot be written.
    """
    status = cache_status()
    if not status.writable:
        raise ParameterError(
            f"a map is kept in {status.folder}, but the laboratory {status.reason}; name another "
            "folder in DPCORE_CACHE"
        )


def keep_map(plan: MapPlan, shown: Map) -> bool:
    """Write a map to the cache; return False if the folder cannot be written."""
    return keep(shown.fingerprint, plan.kind, KeptFile(_arrays_of(shown), facts_of(shown)))


def recall_map(plan: MapPlan, fingerprint: str) -> Map | None:
    """Return the bundled map, else the one in the cache, else None.

    A damaged file counts as absent.
    """
    entry = _bundle(fingerprint).get(plan.kind)
    if entry is not None:
        shown = _from_bundle(plan, fingerprint, entry)
        if shown is not None:
            return shown
    kept = recall(fingerprint, plan.kind)
    return None if kept is None else _restored(plan, fingerprint, kept.arrays, kept.facts)


def stored_facts(fingerprint: str) -> list[dict[str, Any]]:
    """Return the metadata of every available map, and whether it is bundled."""
    bundle = _bundle(fingerprint)
    facts = [dict(entry) | {"bundled": True} for entry in bundle.values()]
    for kind in kinds_kept(fingerprint):
        if kind.startswith("map-") and kind not in bundle:
            kept = recall(fingerprint, kind)
            if kept is not None:
                facts.append(dict(kept.facts) | {"bundled": False})
    return facts


def _folder() -> Path:
    return bundled_data("maps", MANIFEST)


def _bundle(fingerprint: str) -> dict[str, dict[str, Any]]:
    """Return the entries of the bundled maps, by kind; empty for another lexicon."""
    try:
        manifest = json.loads((_folder() / MANIFEST).read_text(encoding="utf-8"))
        if manifest["fingerprint"] != fingerprint:
            return {}
        return {str(kind): dict(entry) for kind, entry in manifest["maps"].items()}
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return {}


def _from_bundle(plan: MapPlan, fingerprint: str, entry: Mapping[str, Any]) -> Map | None:
    try:
        content = (_folder() / str(entry["file"])).read_bytes()
        # Before it is parsed: a bundled file that was changed counts as absent.
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        return None
    return _restored(plan, fingerprint, arrays, entry)


def write_bundle(
    folder: Path, lexicon: str, command: str, maps: Sequence[tuple[MapPlan, str, Map]]
) -> None:
    """Write maps of one lexicon in the format of the bundle.

    Args:
        folder: the folder.
        lexicon: name of the lexicon.
        command: the command that built them.
        maps: plan, name of the file without its ending, and map.

    Raises:
        OSError: the folder cannot be written.
    """
    entries = {}
    for plan, name, shown in maps:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **_arrays_of(shown))
        with replacing(folder / f"{name}.npz") as temporary:
            temporary.write_bytes(buffer.getvalue())
            temporary.chmod(0o644)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        entries[plan.kind] = {"file": f"{name}.npz", "sha256": digest} | facts_of(shown)
    manifest = {
        "lexicon": lexicon,
        "fingerprint": maps[0][2].fingerprint,
        "command": command,
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "maps": entries,
    }
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    (folder / MANIFEST).chmod(0o644)
