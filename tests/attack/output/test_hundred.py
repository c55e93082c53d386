"""Counts out of a hundred: their sum, their distance from the shares, and what is refused."""

import numpy as np
import pytest

from dpcore.attack.output.hundred import of_hundred
from dpcore.errors import ParameterError
from tests.fixtures import MakeRng


def test_counts_sum_to_the_things_and_keep_within_one(rng: MakeRng) -> None:
    for size in (1, 2, 7, 100, 400):
        shares = rng().dirichlet(np.full(size, 0.3))
        counts = of_hundred(shares)
        assert counts.sum() == 100
        assert np.abs(counts - 100 * shares).max() < 1


@pytest.mark.parametrize(
    ("shares", "counts"),
    [
        ([1.0], [100]),
        ([0.5, 0.5], [50, 50]),
        ([1 / 3, 1 / 3, 1 / 3], [34, 33, 33]),
        ([0.994, 0.006], [99, 1]),
        ([0.996, 0.004], [100, 0]),
        ([0.0, 1.0], [0, 100]),
    ],
)
def test_known_counts(shares: list[float], counts: list[int]) -> None:
    assert of_hundred(shares).tolist() == counts


def test_another_number_of_things() -> None:
    assert of_hundred([0.26, 0.74], 10).tolist() == [3, 7]


@pytest.mark.parametrize("bad", [[], [0.5, 0.4], [1.5, -0.5], [np.nan, 1.0], [[1.0]], [np.inf]])
def test_what_is_no_distribution_is_refused(bad: list[float]) -> None:
    with pytest.raises(ParameterError):
        of_hundred(bad)


def test_nothing_to_divide_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1 thing"):
        of_hundred([1.0], 0)
