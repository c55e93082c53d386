"""Blocks of distances against all of them at once."""

import numpy as np
import pytest

from dpcore.lexicon.metric import distances
from dpcore.mechanisms import distance_blocks as module
from dpcore.mechanisms.distance_blocks import distances_by_word, nearest_words
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


def test_nearest_words_take_the_lowest_index_of_equal_ones() -> None:
    vectors = lexicons.crafted()["lattice"].vectors
    words = np.arange(len(vectors))
    order, distance = nearest_words(vectors, words, 7)
    rows = distances(vectors, vectors)
    expected = np.argsort(rows, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(distance, np.take_along_axis(rows, expected, axis=1))
