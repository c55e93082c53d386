"""What a map keeps, against brute force."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.measure.maps.quality import (
    density_kept,
    neighbours_kept,
    plane_neighbours,
    true_neighbours,
    without_itself,
)
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


def brute(points: NDArray[np.floating], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k nearest other rows: by distance, then index."""
    exact = points.astype(np.float64)
    distances = np.linalg.norm(exact[:, None] - exact, axis=2)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


PLANES: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "scattered": lambda rng: rng.standard_normal((300, 2)),
    "a lattice full of ties": lambda rng: np.stack(np.meshgrid(*[np.arange(17.0)] * 2), -1),
    "many at one place": lambda rng: np.repeat(rng.standard_normal((6, 2)), 50, axis=0),
    "on a line": lambda rng: np.stack([np.arange(200.0), np.zeros(200)], axis=-1),
    "all at one place": lambda rng: np.zeros((60, 2)),
    "few": lambda rng: rng.standard_normal((12, 2)),
}


@pytest.mark.parametrize("name", PLANES)
def test_neighbours_in_the_plane_are_those_of_brute_force(rng: MakeRng, name: str) -> None:
    points = PLANES[name](rng()).reshape(-1, 2).astype(np.float32)
    indices, lengths = plane_neighbours(points, 10)
    expected, distances = brute(points, 10)
    assert (indices == expected).all()
    assert lengths == pytest.approx(distances, rel=1e-12)


@pytest.mark.parametrize("name", ["one-hot", "lattice", "near duplicates", "far from zero"])
def test_true_neighbours_are_those_of_brute_force(name: str) -> None:
    vectors = lexicons.crafted()[name].vectors
    indices, lengths = true_neighbours(vectors, 7)
    _, distances = brute(vectors, 7)
    assert lengths == pytest.approx(distances, rel=1e-9)
    assert (indices != np.arange(len(vectors))[:, None]).all()


def test_a_row_that_is_not_among_its_own_nearest_loses_the_last() -> None:
    indices = np.array([[0, 3, 4], [5, 1, 6], [7, 8, 9]])
    near, lengths = without_itself(indices, np.array([[0.0, 1, 2]] * 3), 2)
    assert near.tolist() == [[3, 4], [5, 6], [7, 8]]
    assert lengths.tolist() == [[1, 2], [0, 2], [0, 1]]


def test_kept_neighbours_are_counted_as_sets(rng: MakeRng) -> None:
    draw = rng()
    true, shown = (np.stack([draw.permutation(50)[:8] for _ in range(50)]) for _ in range(2))
    expected = [len(set(a) & set(b)) for a, b in zip(true.tolist(), shown.tolist(), strict=True)]
    assert neighbours_kept(true, shown).tolist() == expected
    assert (neighbours_kept(true, true[:, ::-1]) == 8).all()


def test_density_kept_is_a_rank_correlation(rng: MakeRng) -> None:
    true = np.sort(rng().uniform(1, 2, (40, 3)), axis=1)
    assert density_kept(true, true**3) <= 1.0
    nearest = true[:, :1]
    assert density_kept(nearest, np.exp(nearest)) == pytest.approx(1.0)
    assert density_kept(nearest, -nearest) == pytest.approx(-1.0)
    shown = rng(1).uniform(1, 2, (40, 3))
    ranks = [np.argsort(np.argsort(side.mean(axis=1))) for side in (true, shown)]
    assert density_kept(true, shown) == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert np.isnan(density_kept(true, np.ones((40, 3))))
