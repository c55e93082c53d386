"""Δ and Δ₀: exact against brute force, bounds that hold, and the cache."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import LexiconError
from dpcore.lexicon import extent as extent_module
from dpcore.lexicon.cache import bundled_extent, bundled_folder
from dpcore.lexicon.extent import (
    Extent,
    bound_extent,
    compute_extent,
    compute_stretch,
    extent_of,
    largest_stretch,
)
from dpcore.lexicon.fetch import build, write_extent
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from tests.fixtures import MakeRng


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def lexicon_of(vectors: NDArray[np.float32], metric: Metric = Metric.EUCLIDEAN) -> Lexicon:
    return Lexicon("some", tuple(f"w{i}" for i in range(len(vectors))), vectors, metric)


def by_force(vectors: NDArray[np.float32], metric: Metric) -> tuple[float, float]:
    table = distances(vectors, vectors, metric)[np.triu_indices(len(vectors), 1)]
    floor = extent_module.PARALLEL_ANGLE if metric is Metric.ANGULAR else 0.0
    return table.max(), table[table > floor].min()


def vocabularies(rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Random, clustered with near duplicates, far from the origin, and a lattice full of ties."""
    plain = rng.standard_normal((333, 12))
    twins = np.concatenate((plain, plain[:40] + 1e-5 * rng.standard_normal((40, 12))))
    far = plain + 300
    axis = np.arange(1, 6)
    lattice = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    spread = plain * np.exp(2 * rng.standard_normal((333, 1)))
    all_of_them = (plain, twins, far, lattice, spread, plain[:2], 1e-24 * plain, 1e20 * plain)
    return [a.astype(np.float32) for a in all_of_them]


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("kind", range(8))
def test_exact_extent_equals_brute_force(
    metric: Metric, kind: int, rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extent_module, "_BLOCK", 50)
    lexicon = lexicon_of(vocabularies(rng())[kind], metric)
    extent = compute_extent(lexicon.vectors, lexicon.metric)
    expected = by_force(lexicon.vectors, metric)
    assert extent.exact
    absolute = 1e-15 if metric is Metric.ANGULAR else 0
    np.testing.assert_allclose(
        (extent.diameter, extent.separation), expected, rtol=1e-12, atol=absolute
    )
    assert (extent.diameter_low, extent.separation_high) == (extent.diameter, extent.separation)


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("kind", range(8))
def test_bounds_hold_and_say_that_they_are_bounds(metric: Metric, kind: int, rng: MakeRng) -> None:
    vectors = vocabularies(rng())[kind]
    bounds = bound_extent(vectors, metric)
    diameter, separation = by_force(vectors, metric)
    assert not bounds.exact
    absolute = 1e-15 if metric is Metric.ANGULAR else 0.0
    assert 0 < bounds.separation <= separation * (1 + 1e-12) + absolute
    assert separation <= bounds.separation_high * (1 + 1e-12) + absolute
    assert bounds.diameter_low <= diameter * (1 + 1e-12)
    assert diameter <= bounds.diameter * (1 + 1e-12)
    assert bounds.diameter <= 2 * diameter * (1 + 1e-9) or metric is Metric.ANGULAR


def test_bounds_are_exact_where_the_projection_loses_nothing(rng: MakeRng) -> None:
    vectors = rng().standard_normal((400, 6)).astype(np.float32)
    bounds = bound_extent(vectors, Metric.EUCLIDEAN)
    separation = by_force(vectors, Metric.EUCLIDEAN)[1]
    assert bounds.separation == pytest.approx(separation, rel=1e-6)
    assert bounds.separation_high == pytest.approx(separation, rel=1e-12)


def test_words_that_coincide_in_the_projection_leave_a_positive_bound(rng: MakeRng) -> None:
    vectors = np.zeros((60, 20), dtype=np.float32)
    vectors[:, :8] = 100 * rng().standard_normal((60, 8))
    vectors[1] = vectors[0]
    vectors[1, 19] = 1e-3
    bounds = bound_extent(vectors, Metric.EUCLIDEAN)
    assert 0 < bounds.separation <= np.float32(1e-3) <= bounds.separation_high


def test_parallel_rows_have_distance_zero_under_the_angle() -> None:
    vectors = np.array([[1, 0], [3, 0], [0, 2], [1, 1]], dtype=np.float32)
    extent = compute_extent(vectors, Metric.ANGULAR)
    assert extent.separation == pytest.approx(np.pi / 4)
    assert extent.diameter == pytest.approx(np.pi / 2)
    with pytest.raises(LexiconError, match="parallel"):
        compute_extent(vectors[:2], Metric.ANGULAR)


def test_large_vocabularies_get_bounds_until_the_exact_values_are_built(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extent_module, "MAX_EXACT_EXTENT_WORDS", 100)
    vectors = rng().standard_normal((101, 12)).astype(np.float32)
    bounds = lexicon_of(vectors).extent
    assert not bounds.exact
    assert lexicon_of(vectors[:100]).extent.exact
    assert not lexicon_of(vectors[:21], Metric.MANHATTAN).extent.exact
    assert lexicon_of(vectors[:20], Metric.MANHATTAN).extent.exact
    seen = []
    report = build(lexicon_of(vectors), ("extent",), lambda *step: seen.append(step))
    assert report.extent.exact
    assert report.kept
    assert seen[-1][1] == seen[-1][2]
    assert lexicon_of(vectors).extent == report.extent
    assert bounds.diameter >= report.extent.diameter
    assert bounds.separation <= report.extent.separation


def test_the_extent_is_kept_and_a_damaged_file_is_rebuilt(
    rng: MakeRng, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = rng().standard_normal((50, 4)).astype(np.float32)
    first = lexicon_of(vectors).extent
    (path,) = cache.rglob("extent.bin")
    monkeypatch.setattr(extent_module, "compute_extent", lambda *a, **k: pytest.fail("computed"))
    assert lexicon_of(vectors).extent == first
    monkeypatch.undo()
    monkeypatch.setenv("DPCORE_CACHE", str(cache))
    whole = path.read_bytes()
    nonsense = whole.replace(b'"separation": ', b'"separation":-')
    for broken in (b"", whole[:40], b"\xff" * 300, nonsense):
        path.write_bytes(broken)
        assert lexicon_of(vectors).extent == first
        assert path.read_bytes() == whole


def test_contradicting_extents_are_refused() -> None:
    for fields in (
        (1.0, 2.0, True, 1.0, 2.0),
        (2.0, 1.0, True, 1.9, 1.0),
        (2.0, 0.0, False, 1.0, 1.0),
        (float("nan"), 1.0, False, 2.0, 1.0),
        (float("inf"), 1.0, False, 2.0, 1.0),
    ):
        with pytest.raises(LexiconError, match="extent"):
            Extent(*fields)
    with pytest.raises(LexiconError, match="not an extent"):
        Extent.from_json({"diameter": 1})


def test_write_extent_enters_one_lexicon_and_keeps_the_others(tmp_path: Path, rng: MakeRng) -> None:
    path = tmp_path / "extent.json"
    first, second = (
        lexicon_of(rng(i).standard_normal((9, 3)).astype(np.float32)) for i in range(2)
    )
    for lexicon in (first, second, first):
        write_extent(path, lexicon, lexicon.extent)
    table = json.loads(path.read_text())
    assert set(table) == {first.fingerprint, second.fingerprint}
    assert Extent.from_json(table[second.fingerprint]) == second.extent
    path.write_text("[")
    with pytest.raises(LexiconError, match="not a table of extents"):
        write_extent(path, first, first.extent)
    with pytest.raises(LexiconError, match="cannot build 'map'"):
        build(first, ("map",))


def test_the_bundled_extent_is_there_exact_and_true() -> None:
    if not (bundled_folder() / "vectors.npy").is_file():
        pytest.skip("no bundled lexicon in this checkout")
    from dpcore.lexicon.catalogue import load

    lexicon = load()
    fields = bundled_extent(lexicon.fingerprint)
    assert fields is not None, "data/lexicon/extent.json is of another lexicon: build it again"
    extent = Extent.from_json(fields)
    assert extent.exact
    assert extent == extent_of(lexicon.vectors, lexicon.metric, lexicon.fingerprint)
    # The farthest and nearest of the words that 64 of them have must lie within.
    table = distances(lexicon.vectors, lexicon.vectors[:: len(lexicon) // 64])
    assert table.max() <= extent.diameter * (1 + 1e-12)
    assert table[table > 0].min() >= extent.separation * (1 - 1e-12)
    assert bundled_extent("0" * 64) is None


# The largest stretch of a map over all pairs equals a double loop.


def _plain(rows: np.ndarray, images: np.ndarray) -> float:
    best = 0.0
    for i in range(len(rows)):
        top = np.linalg.norm(images[i].astype(np.float64) - images[:i], axis=1)
        bottom = np.linalg.norm(rows[i].astype(np.float64) - rows[:i], axis=1)
        best = max(best, float((top / bottom).max(initial=0.0)))
    return best


def _case(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((300, 10))
    if name == "near duplicates":
        rows[150:] = rows[:150] + 1e-6 * rng.standard_normal((150, 10))
    if name == "far from zero":
        rows += 50.0
    if name == "collinear":
        rows = np.outer(rng.standard_normal(300), rng.standard_normal(10))
    mapped = rows @ rng.standard_normal((10, 4))
    if name == "a collapsing map":
        mapped = np.zeros((300, 4))
        mapped[7, 0] = 1.0
    return rows.astype(np.float32), mapped.astype(np.float32)


CASES = ["random", "near duplicates", "far from zero", "collinear", "a collapsing map"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("block", [37, 2048])
def test_equals_a_double_loop(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extent_module, "_BLOCK_STRETCH", block)
    rows, images = _case(name)
    assert compute_stretch(rows, images) == pytest.approx(_plain(rows, images), rel=1e-12)


def test_the_identity_stretches_nothing() -> None:
    rows, _ = _case("random")
    assert compute_stretch(rows, rows) == 1.0


def test_a_scaled_map_stretches_by_its_factor() -> None:
    rows, _ = _case("random")
    assert compute_stretch(rows, 4 * rows) == 4.0


def test_the_answer_is_kept_for_this_map_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    rows, images = _case("random")
    lexicon = Lexicon("test", tuple(f"w{i}" for i in range(300)), rows)
    first = largest_stretch(lexicon, images, "map")
    monkeypatch.setattr(extent_module, "compute_stretch", lambda *_: pytest.fail("computed again"))
    assert largest_stretch(lexicon, images, "map") == first
    monkeypatch.setattr(extent_module, "compute_stretch", lambda *_: 17.0)
    assert largest_stretch(lexicon, 2 * images, "map") == 17.0


def test_progress_is_told() -> None:
    rows, images = _case("random")
    seen: list[tuple[str, int, int]] = []
    compute_stretch(rows, images, lambda *step: seen.append(step))
    assert seen == [("stretch", 1, 1)]
