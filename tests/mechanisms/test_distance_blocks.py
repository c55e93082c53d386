"""Blocks of distances against all of them at once."""

import numpy as np
import pytest

from dpcore.lexicon.metric import distances
from dpcore.mechanisms import distance_blocks as module
from dpcore.mechanisms.distance_blocks import distance_blocks, nearest_words
from tests.mechanisms import lexicons


def test_blocks_hold_every_word_in_order_and_repeated_ones_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = lexicons.cloud(40, 3).vectors
    words = np.array([3, 3, 0, 39, 3, 7, 7])
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 3 * 40)
    blocks = list(distance_blocks(vectors, words))
    assert [part.stop - part.start for part, _ in blocks] == [3, 3, 1]
    np.testing.assert_array_equal(
        np.concatenate([rows for _, rows in blocks]), distances(vectors, vectors[words])
    )


def test_nearest_words_take_the_lowest_index_of_equal_ones() -> None:
    vectors = lexicons.crafted()["lattice"].vectors
    words = np.arange(len(vectors))
    order, distance = nearest_words(vectors, words, 7)
    rows = distances(vectors, vectors)
    expected = np.argsort(rows, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(distance, np.take_along_axis(rows, expected, axis=1))
