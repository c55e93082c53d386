"""Distances of all pairs, tile by tile: each pair once, and as exact as directly computed ones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric, distances, paired_distances
from dpcore.mechanisms import all_pairs, distance_blocks
from dpcore.mechanisms.all_pairs import AllPairs
from dpcore.mechanisms.distance_blocks import RELATIVE_ERROR
from tests.mechanisms import lexicons


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("name", ["cloud", *lexicons.crafted()])
def test_tiles_hold_the_exact_distances_once(
    name: str, metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_pairs, "TILE", 16)
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

    monkeypatch.setattr(distance_blocks, "paired_distances", counted)
    for tile in AllPairs(lexicons.cloud(200, 20).vectors, Metric.EUCLIDEAN):
        assert tile.distances.shape == (200, 200)
    assert sum(asked) == 200  # the diagonal
