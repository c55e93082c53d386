"""The largest stretch of a map over all pairs equals a double loop."""

from pathlib import Path

import numpy as np
import pytest

from dpcore.lexicon.extent import stretch as module
from dpcore.lexicon.extent.stretch import compute_stretch, largest_stretch
from dpcore.lexicon.lexicon import Lexicon


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
    monkeypatch.setattr(module, "_BLOCK", block)
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
    monkeypatch.setattr(module, "compute_stretch", lambda *_: pytest.fail("computed again"))
    assert largest_stretch(lexicon, images, "map") == first
    monkeypatch.setattr(module, "compute_stretch", lambda *_: 17.0)
    assert largest_stretch(lexicon, 2 * images, "map") == 17.0


def test_progress_is_told() -> None:
    rows, images = _case("random")
    seen: list[tuple[str, int, int]] = []
    compute_stretch(rows, images, lambda *step: seen.append(step))
    assert seen == [("stretch", 1, 1)]
