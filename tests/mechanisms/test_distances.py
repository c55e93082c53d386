"""Distances of all pairs, tile by tile: each pair once, and as exact as directly computed ones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric, distance_error, distances, paired_distances
from dpcore.mechanisms import distances as distances_module
from dpcore.mechanisms.distances import (
    RELATIVE_ERROR,
    AllPairs,
    distances_by_word,
    near_distances,
)
from tests.mechanisms import lexicons


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("name", ["cloud", *lexicons.crafted()])
def test_tiles_hold_the_exact_distances_once(
    name: str, metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distances_module, "TILE", 16)
    lexicon = lexicons.cloud(50, 7) if name == "cloud" else lexicons.crafted()[name]
    vectors = lexicon.vectors
    if metric is Metric.ANGULAR and not vectors.any(axis=1).all():
        return
    n = len(lexicon)
    order = np.random.default_rng(1).permutation(n)
    plain = distances(vectors[order], vectors[order], metric)
    seen = np.zeros((n, n), dtype=int)
    pairs = AllPairs(vectors, metric, order)
    tiles = list(pairs)
    assert len(tiles) == pairs.count
    for tile in tiles:
        seen[tile.rows, tile.columns] += 1
        wanted = plain[tile.rows, tile.columns]
        if metric is Metric.ANGULAR:
            assert np.abs(tile.distances - wanted).max() <= RELATIVE_ERROR
        else:
            assert np.all(np.abs(tile.distances - wanted) <= 2 * RELATIVE_ERROR * wanted)
    assert np.all(np.maximum(seen, seen.T) == 1)


def test_most_distances_of_a_tile_come_from_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the routine would be right and slow."""
    asked = []
    direct = paired_distances

    def counted(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        asked.append(len(left))
        return direct(left, right)

    monkeypatch.setattr(distances_module, "paired_distances", counted)
    for tile in AllPairs(lexicons.cloud(200, 20).vectors, Metric.EUCLIDEAN):
        assert tile.distances.shape == (200, 200)
    assert sum(asked) == 200  # the diagonal


# Blocks of distances against all of them at once.


def test_every_distinct_word_is_computed_once_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = lexicons.cloud(40, 3).vectors
    words = np.array([3, 3, 0, 39, 3, 7, 7])
    monkeypatch.setattr(distances_module, "_BLOCK_ENTRIES", 3 * 40)
    rows = np.full((words.size, 40), np.nan)
    met = []
    for members, row in distances_by_word(vectors, words):
        rows[members] = row
        met.append(int(words[members[0]]))
        assert np.all(np.diff(members) > 0)
    assert met == [0, 3, 7, 39]
    np.testing.assert_array_equal(rows, distances(vectors, vectors[words]))


@pytest.mark.parametrize("name", ["cloud", *lexicons.crafted()])
@pytest.mark.parametrize("tolerance", [1e-11, 1e-12])
def test_near_distances_are_as_near_as_asked(name: str, tolerance: float) -> None:
    vectors = (lexicons.cloud(90, 40) if name == "cloud" else lexicons.crafted()[name]).vectors
    left = vectors[::3].astype(np.float64)
    rough = near_distances(left, vectors, Metric.EUCLIDEAN, tolerance)
    plain = distances(vectors, left)
    assert (np.abs(rough - plain) <= (tolerance + distance_error(vectors.shape[1])) * plain).all()
    assert (rough[np.arange(len(left)), 3 * np.arange(len(left))] == 0.0).all()
