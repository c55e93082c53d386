"""The nearest target along a ray equals a direct search at every length."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.rays import (
    Candidates,
    Lines,
    Steps,
    lower_envelope,
    running_maxima,
)
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain

CRAFTED = lexicons.crafted()
SIZES = [(2, 1), (3, 1), (31, 1), (32, 2), (33, 3), (65, 2), (500, 10), (900, 100), (3000, 300)]


def _steps(lexicon: Lexicon, word: int, unit: NDArray[np.float64], *, keep: int = 1) -> Steps:
    (ranking,) = rank(lexicon.vectors, lexicon.vectors[[word]])
    norm = rays.largest_norm(lexicon.vectors)
    return lower_envelope(rays.from_word(unit, lexicon.vectors, ranking, keep=keep, norm=norm))


def _unit(rng: np.random.Generator, count: int, d: int) -> NDArray[np.float64]:
    unit = rng.standard_normal((count, d))
    return unit / np.linalg.norm(unit, axis=1, keepdims=True)


def _lengths(thresholds: np.ndarray, scale: float) -> np.ndarray:
    """Points inside every step, and just below and above every threshold."""
    finite = thresholds[np.isfinite(thresholds) & (thresholds > 0)]
    grid = scale * np.geomspace(1e-6, 1e6, 40)
    return np.concatenate((grid, finite * (1 - 1e-9), finite * (1 + 1e-9)))


def _mismatches(
    lexicon: Lexicon, word: int, unit: NDArray[np.float64], steps: Steps, *, ulps: int = 0
) -> int:
    """Points where a target comes out that a search in extended precision does not find.

    With `ulps` a target counts as found if it is as near, up to that many roundings of float64
    in the terms of its score: near duplicates differ by less than that around a threshold.
    """
    rows = lexicon.vectors.astype(np.float64)
    scale = float(np.linalg.norm(rows - rows[word], axis=1).max())
    wrong = 0
    for i in range(len(unit)):
        lengths = _lengths(steps.thresholds[i], scale)
        outputs = steps.targets[i, np.searchsorted(steps.thresholds[i], lengths, side="right")]
        squared, reach = plain.lines_of_ray(rows, rows[word], unit[i])
        scores = squared - 2 * lengths[:, None].astype(np.longdouble) * reach
        if ulps:
            chosen = scores[np.arange(lengths.size), outputs] - scores.min(axis=1)
            size = squared[outputs] + 2 * lengths * np.linalg.norm(rows, axis=1).max()
            wrong += int((chosen > ulps * np.finfo(np.float64).eps * size).sum())
        else:
            wrong += int((scores.argmin(axis=1) != outputs).sum())
    return wrong


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_paths_equal_a_direct_search_on_random_words(n: int, d: int, rng: MakeRng) -> None:
    lexicon = lexicons.cloud(n, d)
    unit = _unit(rng(), 200 if n * d < 10_000 else 12, d)
    word = n // 2
    assert _mismatches(lexicon, word, unit, _steps(lexicon, word, unit)) == 0


@pytest.mark.parametrize("name", CRAFTED)
def test_paths_equal_a_direct_search_on_crafted_words(name: str, rng: MakeRng) -> None:
    lexicon = CRAFTED[name]
    unit = _unit(rng(), 150, lexicon.dimension)
    ulps = 2 if "near duplicates" in name else 0
    for word in {0, len(lexicon) // 2, len(lexicon) - 1}:
        steps = _steps(lexicon, word, unit)
        assert _mismatches(lexicon, word, unit, steps, ulps=ulps) == 0


@pytest.mark.parametrize("name", ["lattice", "one-hot"])
def test_directions_along_the_axes_of_a_lattice(name: str) -> None:
    """Many targets reach equally far: ties are exact and go to the lowest index."""
    lexicon = CRAFTED[name]
    d = lexicon.dimension
    unit = np.concatenate((np.eye(d), -np.eye(d)))
    rows = lexicon.vectors.astype(np.float64)
    steps = _steps(lexicon, 0, unit)
    for i in range(len(unit)):
        ends = np.concatenate(([0.0], steps.thresholds[i][np.isfinite(steps.thresholds[i])]))
        inside = np.append((ends[1:] + ends[:-1]) / 2, ends[-1] + 1.0)
        for length in inside[np.diff(np.append(ends, np.inf)) > 0]:
            place = np.searchsorted(steps.thresholds[i], length, side="right")
            assert steps.targets[i, place] == plain.nearest_on_ray(rows, rows[0], unit[i], length)


def test_thresholds_ascend_and_padding_repeats_the_last_target(
    middle: Lexicon, rng: MakeRng
) -> None:
    steps = _steps(middle, 5, _unit(rng(), 300, middle.dimension))
    assert np.all(np.diff(np.where(np.isfinite(steps.thresholds), steps.thresholds, 1e300)) >= 0)
    padding = ~np.isfinite(steps.thresholds)
    assert padding.any()
    assert np.all((steps.targets[:, 1:] == steps.targets[:, :-1])[padding])
    assert np.all(steps.targets[:, 0] == 5)


@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("m", [1, 2, 31, 32, 33, 64, 257])
def test_running_maxima_keep_every_record(keep: int, m: int, rng: MakeRng) -> None:
    """No record of the definition is missing, and few others are kept."""
    values = rng().standard_normal((40, m)).astype(np.float32)
    row, column, _ = running_maxima([values.T], np.zeros(40), keep)
    entries = set(zip(row.tolist(), column.tolist(), strict=True))
    records = {
        (i, j) for i in range(40) for j in range(m) if (values[i, :j] > values[i, j]).sum() < keep
    }
    assert records <= entries
    assert len(entries) <= len(records) * (1 if keep == 1 else 2) + 40 * 32 * (keep - 1)
    assert np.all(np.diff(row) >= 0)


def test_running_maxima_keep_what_lies_within_the_tolerance() -> None:
    values = np.array([[1.0, 0.95, 0.8, 1.2]], dtype=np.float32)
    _, column, _ = running_maxima([values.T], np.array([0.1]), 1)
    assert column.tolist() == [0, 1, 3]


@pytest.mark.parametrize("slack", [0.0, 0.002])
def test_only_candidates_off_the_hull_are_dropped(slack: float, rng: MakeRng) -> None:
    """Dropped lines lie above the envelope even if every slope is off by its tolerance."""
    rays, size = 60, 40
    squared = np.sort(rng(1).uniform(0, 4, (rays, size)), axis=1)
    squared[::3, 5:9] = squared[::3, 5:6]  # ties in distance
    reach = np.sort(rng(2).uniform(0, 1, (rays, size)), axis=1).astype(np.float32)
    row = np.repeat(np.arange(rays), size)
    everything = Candidates(row, np.tile(np.arange(size), rays), squared.ravel(), reach.ravel())
    kept = everything.on_the_hull(np.full(rays, slack))
    assert kept.row.size < row.size
    off = rng(3).uniform(-slack / 2, slack / 2, reach.shape)
    slopes = reach.astype(np.float64) + off
    lengths = np.concatenate(([0.0], np.geomspace(1e-3, 1e3, 4000)))
    for ray in range(rays):
        scores = squared[ray] - 2 * lengths[:, None] * slopes[ray]
        assert set(scores.argmin(axis=1)) <= set(kept.targets[kept.row == ray])


def test_one_line_has_no_threshold() -> None:
    single = Lines(np.array([[7]]), np.array([[0.0]]), np.array([[0.3]]))
    steps = lower_envelope(single)
    assert steps.thresholds.shape == (1, 0)
    assert steps.targets.tolist() == [[7]]
