"""Bounds on ln Z from float32 products, against float64 brute force."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.metric import distances
from dpcore.mechanisms.gumbel.normaliser_bounds import normaliser_bounds
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


def truth(
    vectors: NDArray[np.float32], strengths: list[Any] | NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    apart = distances(vectors, vectors)
    np.fill_diagonal(apart, np.inf)  # own weight 1 comes in by log1p: small sums keep their digits
    logs = np.array([np.log1p(np.exp(-s * apart).sum(axis=1)) for s in strengths])
    return logs, apart.min(axis=1)


@pytest.mark.parametrize(
    ("n", "d", "middle", "spread"),
    [
        (40, 3, 0.0, 1.0),
        (1100, 20, 0.0, 1.0),  # several tiles
        (600, 5, 30.0, 1.0),  # far from the origin: the product loses digits
        (600, 300, 0.0, 1e-6),
        (600, 50, 0.0, 1e7),
    ],
)
def test_the_truth_lies_between_the_bounds(
    rng: MakeRng, n: int, d: int, middle: float, spread: float
) -> None:
    vectors = (middle + spread * rng().standard_normal((n, d))).astype(np.float32)
    typical = spread * np.sqrt(d)
    strengths = np.array([1e-3, 0.1, 1.0, 5.0, 30.0, 1e4]) / typical
    logs, gaps = truth(vectors, strengths)
    found = normaliser_bounds(vectors, gaps, strengths)
    assert found is not None
    low, high = found
    assert np.all(low <= logs + 1e-12)
    assert np.all(logs <= high + 1e-12)
    if not middle:
        assert np.all((high - low)[:3] < 3e-2)
        assert np.all((high - low)[0] < 3e-4)


def test_near_duplicates_make_the_bounds_wide_and_not_wrong(rng: MakeRng) -> None:
    half = rng().standard_normal((300, 40)).astype(np.float32)
    vectors = np.concatenate((half, np.nextafter(half, np.float32(9))))
    strengths = np.array([0.5, 20.0, 2e6])
    logs, gaps = truth(vectors, strengths)
    found = normaliser_bounds(vectors, gaps, strengths)
    assert found is not None
    assert np.all(found[0] <= logs)
    assert np.all(logs <= found[1])
    assert found[1].max() <= np.log(600) + 1e-12


def test_lengths_whose_squares_leave_float32_are_left_to_float64() -> None:
    vectors = lexicons.cloud(30, 3).vectors
    gaps = np.ones(30)
    assert normaliser_bounds(vectors * np.float32(1e18), gaps, np.ones(1)) is None
    assert normaliser_bounds(vectors * np.float32(1e-18), gaps, np.ones(1)) is None


def test_progress_counts_every_tile(rng: MakeRng) -> None:
    seen = []
    vectors = rng().standard_normal((1100, 4)).astype(np.float32)
    _, gaps = truth(vectors, [])
    normaliser_bounds(vectors, gaps, np.ones(2), lambda *args: seen.append(args))
    assert seen == [("normalising", k, 6) for k in range(1, 7)]
