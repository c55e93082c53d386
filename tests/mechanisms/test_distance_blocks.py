"""Blocks of distances against all of them at once."""

import numpy as np
import pytest

from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.mechanisms import distance_blocks as module
from dpcore.mechanisms.distance_blocks import (
    distances_by_word,
    near_distances,
)
from tests.mechanisms import lexicons


def test_every_distinct_word_is_computed_once_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = lexicons.cloud(40, 3).vectors
    words = np.array([3, 3, 0, 39, 3, 7, 7])
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 3 * 40)
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
