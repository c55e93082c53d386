"""Damaged bundled files: such a map or table counts as absent, without a message."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dpcore.attack.language import language
from dpcore.attack.output import spectrum
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import bundled_folder
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric
from dpcore.measure import density as density_room
from dpcore.measure.maps import store as maps_store
from dpcore.measure.maps.store import MapPlan, Projection
from tests.fuzzing import damaged, distorted, repeated

PLANS = [MapPlan(projection) for projection in Projection]


def test_a_distorted_manifest_of_maps_has_no_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = maps_store._folder()
    whole = json.loads((place / maps_store.MANIFEST).read_text(encoding="utf-8"))
    kind = next(plan.kind for plan in PLANS if plan.kind in whole["maps"])
    whole["maps"] = {kind: whole["maps"][kind]}
    shutil.copy(place / whole["maps"][kind]["file"], tmp_path)
    monkeypatch.setattr(maps_store, "_folder", lambda: tmp_path)
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))

    def maps(text: str) -> list[Any]:
        (tmp_path / maps_store.MANIFEST).write_text(text, encoding="utf-8")
        maps_store.stored_facts(whole["fingerprint"])
        return [maps_store.recall_map(plan, whole["fingerprint"]) for plan in PLANS]

    assert any(maps(json.dumps(whole)))

    @repeated(100)
    @given(distorted(whole))
    def check(manifest: object) -> None:
        for shown in maps(json.dumps(manifest)):
            assert shown is None or np.isfinite(shown.points).all()

    check()
    for text in ("[" * 100_000, "null", '{"fingerprint": 1}'):
        assert not any(maps(text))


def bundle(name: str) -> bytes:
    return (bundled_folder() / name).read_bytes()


def test_a_damaged_table_of_density_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bundle(density_room.FILE)
    with np.load(io.BytesIO(whole), allow_pickle=False) as arrays:
        fingerprint, k = str(arrays["fingerprint"]), int(arrays["k"])
        words = max(arrays[name].size for name in arrays.files)
    monkeypatch.setattr(density_room, "bundled_folder", lambda: tmp_path)

    def read(data: bytes) -> object:
        (tmp_path / density_room.FILE).write_bytes(data)
        return density_room.read_density(fingerprint, k, words)

    assert read(whole) is not None
    assert read(whole[:-30]) is None

    @repeated(25)
    @given(damaged(whole))
    def check(data: bytes) -> None:
        read(data)

    check()


def test_damaged_moments_are_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, words = bundle(spectrum.BUNDLE), load("default")
    monkeypatch.setattr(spectrum, "bundled_folder", lambda: tmp_path)

    @repeated(15)
    @given(damaged(whole))
    def check(data: bytes) -> None:
        (tmp_path / spectrum.BUNDLE).write_bytes(data)
        spectrum._bundled(words, Metric.EUCLIDEAN)

    check()


def test_damaged_counts_of_words_say_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (language.language_folder() / language.FILE).read_bytes()
    monkeypatch.setattr(language, "language_folder", lambda: tmp_path)
    read = language._bundled.__wrapped__
    for data in (b"", whole[:-30], whole[:1000], whole[:40] + b"\0" * 99 + whole[139:], b"PK"):
        (tmp_path / language.FILE).write_bytes(data)
        with pytest.raises(LexiconError, match="language count"):
            read()
