"""Certificates: looked up without interpolation, searched for, kept, and those that are bundled."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.lexicon.catalogue import load
from dpcore.mechanisms import certificate as module
from dpcore.mechanisms.certificate import (
    EPSILONS,
    Certificate,
    bundled_file,
    keep_certificate,
    known_certificate,
    search,
    write_certificate,
)
from dpcore.mechanisms.registry import create
from pages.shared.dial import GROUPS

TABLE = Certificate(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.4, 1.5, 1.5]))


def test_entries_that_another_one_beats_are_dropped() -> None:
    assert TABLE.to_json() == [[1.0, 0.5], [3.0, 1.5]]
    with pytest.raises(ValueError, match="read-only"):
        TABLE.strengths[0] = 9.0


def test_a_look_up_takes_the_strength_of_the_smaller_epsilon() -> None:
    strengths = [TABLE.strength(e) for e in (0.99, 1.0, 2.999, 3.0, 1e9)]
    assert strengths == [0.0, 0.5, 0.5, 1.5, 1.5]
    back = TABLE.epsilon_of(np.array([0.0, 0.5, 0.6, 1.5, 1.6]))
    assert back.tolist() == [1.0, 1.0, 3.0, 3.0, math.inf]


@pytest.mark.parametrize(
    "curve",
    [
        lambda s: 1.5 * s,
        lambda s: np.where(s < 1, 3.0, 2.0) * s,  # falls once
        lambda s: 5.0 + np.abs(s - 2.0),  # has a least ε at s = 2
        lambda s: np.where(s < 3, s, 40.0 * s),  # jumps
    ],
)
def test_search_finds_the_largest_strength_that_fits(curve: Callable[..., Any]) -> None:
    certificate = search(curve, np.geomspace(0.01, 2000.0, 20))
    np.testing.assert_array_equal(curve(certificate.strengths), certificate.epsilons)
    dense = np.geomspace(0.01, 2000.0, 400_001)
    for epsilon in EPSILONS:
        fits = dense[curve(dense) <= epsilon]
        if fits.size:
            assert certificate.strength(epsilon) >= 0.997 * fits.max()


def test_search_without_any_epsilon_of_the_table() -> None:
    assert search(lambda s: 1e9 * s, np.array([1.0, 2.0])).to_json() == [[1e9, 1.0], [2e9, 2.0]]


def test_keeping_needs_the_same_lexicon_mechanism_and_settings() -> None:
    assert known_certificate("f" * 64, "m.v1", {"beta": 0.1}) is None
    assert keep_certificate("f" * 64, "m.v1", {"beta": 0.1}, TABLE)
    certificate = known_certificate("f" * 64, "m.v1", {"beta": 0.1})
    assert certificate is not None
    assert certificate.to_json() == TABLE.to_json()
    for other in (("e" * 64, "m.v1", 0.1), ("f" * 64, "m.v2", 0.1), ("f" * 64, "m.v1", 0.2)):
        assert known_certificate(other[0], other[1], {"beta": other[2]}) is None


def test_a_file_holds_one_entry_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "certificates.json"
    for settings in ({"beta": 0.1}, {"beta": 0.2}, {"beta": 0.1}):
        write_certificate(path, "f", "m.v1", settings, TABLE, {"command": "…"})
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert [entry["settings"]["beta"] for entry in entries] == [0.2, 0.1]
    monkeypatch.setattr(module, "_bundled", lambda: tuple(entries))
    certificate = known_certificate("f", "m.v1", {"beta": 0.2})
    assert certificate is not None
    assert certificate.to_json() == TABLE.to_json()


def test_the_slider_stands_on_the_table() -> None:
    """So what a page shows is certified at that very ε."""
    metric = next(group for group in GROUPS if group.name == "metric")
    assert set(metric.grid) <= set(EPSILONS)


@pytest.mark.parametrize("name", ["tem-calibrated", "truncated-gumbel-repaired"])
def test_the_bundled_lexicon_comes_with_its_certificates(name: str) -> None:
    mechanism: Any = create(name, load())
    entries = json.loads(bundled_file().read_text(encoding="utf-8"))
    entry = next(e for e in entries if e["mechanism"] == mechanism.key)
    assert entry["fingerprint"] == mechanism.lexicon.fingerprint
    assert entry["settings"] == mechanism.settings()
    assert f"calibrate --mechanism {name}" in entry["command"]
    assert mechanism.certificate is not None
    assert mechanism.certificate.to_json() == entry["rows"]
    low = mechanism.certificate.epsilons[0]
    assert all(
        mechanism.certificate.strength(e) > mechanism.proved_strength(e)
        for e in EPSILONS
        if low <= e <= 8
    )
