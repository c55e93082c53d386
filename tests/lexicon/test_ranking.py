"""Rankings: sorted, stable, read-only."""

import numpy as np
import pytest

from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.ranking import rank
from tests.fixtures import MakeRng


@pytest.mark.parametrize("metric", list(Metric))
def test_ranking_is_a_stable_sort_of_the_distances(metric: Metric, rng: MakeRng) -> None:
    rows = rng().standard_normal((80, 5)).astype(np.float32)
    for row, ranking in zip(
        distances(rows, rows[:7], metric), rank(rows, rows[:7], metric), strict=True
    ):
        expected = sorted(range(80), key=lambda i: (row[i], i))
        assert ranking.order.tolist() == expected
        assert np.array_equal(ranking.distances, row[expected])
        assert ranking.order.dtype == np.int64
        assert len(ranking) == 80


def test_ties_take_the_lowest_index_and_a_word_comes_first_in_its_own_ranking() -> None:
    square = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], dtype=np.float32)
    centre, corner = rank(square, square[[4, 0]])
    assert centre.order.tolist() == [4, 0, 1, 2, 3]
    assert centre.distances.tolist() == [0, 1, 1, 1, 1]
    assert corner.order.tolist() == [0, 4, 2, 3, 1]


def test_many_ties_among_many_words_take_the_lowest_index_too(rng: MakeRng) -> None:
    rows = rng().integers(0, 4, (5_000, 3)).astype(np.float32)
    (ranking,) = rank(rows, rows[:1])
    assert np.array_equal(ranking.order, np.argsort(distances(rows, rows[:1])[0], kind="stable"))
    assert np.all(np.diff(ranking.distances) >= 0)


def test_rankings_are_read_only_and_none_for_no_origin() -> None:
    (ranking,) = rank(np.eye(3, dtype=np.float32), np.eye(3)[:1])
    with pytest.raises(ValueError, match="read-only"):
        ranking.order[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ranking.distances[0] = 1
    assert rank(np.eye(3, dtype=np.float32), np.empty((0, 3))) == ()
