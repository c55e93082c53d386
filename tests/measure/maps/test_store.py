"""Maps on disk: to the bit, checked, and never of another lexicon."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import MapMissingError
from dpcore.lexicon import catalogue
from dpcore.lexicon.cache import bundled_data
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.maps import fit
from dpcore.measure.maps import store as maps_store
from dpcore.measure.maps.store import (
    SETTINGS,
    MapPlan,
    Projection,
    plan_of_vocabulary,
    plan_of_words,
)
from tests.mechanisms import lexicons


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def same(first: Any, second: Any) -> bool:
    return (
        first.points.tobytes() == second.points.tobytes()
        and first.kept.tobytes() == second.kept.tobytes()
        and (first.words == second.words).all()
        and np.array_equal(first.regions, second.regions)
        and first.parameters == second.parameters
        and (first.k, first.centres, first.fingerprint)
        == (second.k, second.centres, second.fingerprint)
        and first.density == pytest.approx(second.density, nan_ok=True)
    )


@pytest.mark.parametrize("name", ["cloud", *sorted(lexicons.crafted().keys() - {"two words"})])
def test_a_map_comes_back_to_the_bit(name: str) -> None:
    lexicon = lexicons.cloud(90, 5) if name == "cloud" else lexicons.crafted()[name]
    built = fit.build_vocabulary_map(lexicon, "pca")
    assert same(fit.vocabulary_map(lexicon, "pca"), built)
    local = fit.local_map(lexicon, [1, 2], 9, "pca")
    plan = plan_of_words(lexicon, [1, 2], 9, "pca")
    assert maps_store.keep_map(plan, local)
    recalled = maps_store.recall_map(plan, lexicon.fingerprint)
    assert recalled.points.tobytes() == local.points.tobytes()
    assert recalled.words.tolist() == local.words.tolist()


def test_a_damaged_map_counts_as_absent_and_is_built_again(cache: Path, small: Lexicon) -> None:
    built = fit.build_vocabulary_map(small, "pca")
    (path,) = cache.rglob("map-*.bin")
    whole = path.read_bytes()
    for broken in (whole[:-200], whole.replace(b'"k": 10', b'"k": 11'), b"", b"\xff" * 999):
        path.write_bytes(broken)
        with pytest.raises(MapMissingError):
            fit.vocabulary_map(small, "pca")
    assert same(fit.build_vocabulary_map(small, "pca"), built)
    assert same(fit.vocabulary_map(small, "pca"), built)


def test_regions_come_back_and_damaged_ones_do_not(small: Lexicon) -> None:
    plan, shown = plan_of_vocabulary("pca"), fit.build_vocabulary_map(small, "pca")
    named = replace(shown, regions=np.array([[7, 300], [0, 20]]))
    maps_store.keep_map(plan, named)
    back = maps_store.recall_map(plan, small.fingerprint)
    assert back is not None
    assert same(back, named)
    for wrong in ([[60, 3]], [[-1, 3]], [[1, -3]], [[1, 2, 3]], [[1, 99_000]]):
        maps_store.keep_map(plan, replace(shown, regions=np.array(wrong)))
        assert maps_store.recall_map(plan, small.fingerprint) is None


def test_a_file_that_holds_another_kind_of_map_counts_as_absent(small: Lexicon) -> None:
    shown = fit.build_vocabulary_map(small, "pca")
    for plan in (
        plan_of_vocabulary("umap"),
        MapPlan(Projection.PCA, 0, (3,), 9),
    ):
        maps_store.keep_map(plan, shown)
        assert maps_store.recall_map(plan, small.fingerprint) is None


def test_the_name_of_a_map_depends_on_everything_it_is_made_with(
    small: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [
        plan_of_vocabulary("umap"),
        plan_of_vocabulary("densmap"),
        plan_of_vocabulary("umap", 1),
        plan_of_words(small, [3], 20, "umap"),
        plan_of_words(small, [3], 21, "umap"),
        plan_of_words(small, [3, 4], 20, "umap"),
    ]
    assert len({plan.kind for plan in plans}) == len(plans)
    assert plan_of_words(small, [4, 3], 20, "umap") == plans[-1]
    assert plan_of_vocabulary("pca", 5) == plan_of_vocabulary("pca")
    before = plans[0].kind
    monkeypatch.setitem(
        SETTINGS,
        Projection.UMAP,
        {"n_neighbors": 11},
    )
    assert plans[0].kind != before


def test_builders_that_race_leave_a_whole_map(middle: Lexicon) -> None:
    with ThreadPoolExecutor(4) as pool:
        recalled = list(pool.map(lambda _: fit.build_vocabulary_map(middle, "pca"), range(4)))
    assert all(same(shown, recalled[0]) for shown in recalled)
    assert same(fit.vocabulary_map(middle, "pca"), recalled[0])


def test_without_a_cache_folder_a_map_is_still_built(cache: Path, small: Lexicon) -> None:
    cache.parent.mkdir(exist_ok=True)
    cache.write_text("a file where the folder should be")
    assert len(fit.build_vocabulary_map(small, "pca")) == 60


def test_a_bundle_is_read_checked_and_only_for_its_lexicon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Lexicon, middle: Lexicon
) -> None:
    folder = tmp_path / "bundle"
    monkeypatch.setattr(maps_store, "_folder", lambda: folder)
    plan = plan_of_vocabulary("pca")
    built = fit.build_vocabulary_map(small, "pca")
    maps_store.write_bundle(folder, "small", "a command", [(plan, "vocabulary-pca", built)])
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "empty"))
    assert same(fit.vocabulary_map(small, "pca"), built)
    (facts,) = maps_store.stored_facts(small.fingerprint)
    assert facts["bundled"]
    assert maps_store.recall_map(plan, middle.fingerprint) is None
    path = folder / "vocabulary-pca.npz"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert maps_store.recall_map(plan, small.fingerprint) is None
    (folder / "manifest.json").write_text("{")
    assert maps_store.stored_facts(small.fingerprint) == []


def test_the_files_that_come_with_the_laboratory_are_those_of_the_manifest() -> None:
    folder = bundled_data("maps", "manifest.json")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["fingerprint"] == catalogue.load().fingerprint
    named = {entry["file"]: entry["sha256"] for entry in manifest["maps"].values()}
    there = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.npz")
    }
    assert there == named
    assert len(named) == 3 + 2 * len(fit.BUNDLED_PAIRS)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    for entry in manifest["maps"].values():
        with np.load(folder / entry["file"], allow_pickle=False) as file:
            assert float(np.mean(file["kept"]) / entry["k"]) == pytest.approx(
                entry["mean_kept"], rel=1e-6
            )
