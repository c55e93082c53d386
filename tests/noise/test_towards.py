"""Directions towards an aim have the density that their weights say."""

import numpy as np
import pytest
from scipy import integrate

from dpcore.noise.samplers import (
    Radial,
    directions,
    exponential_directions,
    exponential_ratio,
    exponents,
    shifts,
    sphere_ratio,
)
from tests.chance import assert_distribution, assert_mean

DRAWS = 20_000


def test_a_shift_stays_inside_the_sphere() -> None:
    assert shifts(np.array([1.0, 3.0, 1e9]), 100).tolist() == [0.1, 0.3, 0.9]


@pytest.mark.parametrize("d", [2, 3, 40])
def test_the_ratio_of_the_sphere_is_the_density_of_what_is_drawn(d: int) -> None:
    """The cosine with the aim has the plain density (1 − c²)^{(d−3)/2} times the ratio."""
    a = np.array([0.5])
    rng = np.random.default_rng(d)
    unit = directions(rng, Radial.L2LAPLACE, DRAWS, d)
    unit[:, 0] += a
    cosine = unit[:, 0] / np.linalg.norm(unit, axis=1)
    grid = np.linspace(0.0, np.pi, 4001)  # of the angle
    density = np.sin(grid) ** (d - 2) * sphere_ratio(a, np.cos(grid), d)[0]
    below = integrate.cumulative_simpson(density, x=grid, initial=0.0)
    plain = integrate.simpson(np.sin(grid) ** (d - 2), x=grid)
    assert below[-1] == pytest.approx(plain, rel=1e-6)  # the ratio has mean 1 over plain ones
    assert_distribution(np.arccos(cosine), lambda angle: np.interp(angle, grid, below / below[-1]))


def test_without_a_shift_directions_are_plain() -> None:
    assert sphere_ratio(np.zeros(1), np.array([-1.0, 0.3, 1.0]), 7).tolist() == [[1.0, 1.0, 1.0]]
    theta = exponents(np.zeros(1), np.array([1.0, 0.0]))
    assert exponential_ratio(theta, np.array([[0.25, -0.75]])).tolist() == [[1.0]]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_ratio_of_laplace_directions_weighs_them_back_to_plain_ones(d: int) -> None:
    """Means of functions of the direction, weighted by 1/ratio, are those of plain directions."""
    rng = np.random.default_rng(d)
    aim = rng.standard_normal(d)
    theta = exponents(np.array([0.9]), aim / np.linalg.norm(aim))
    unit = exponential_directions(rng, np.repeat(theta, DRAWS, axis=0))
    np.testing.assert_allclose(np.abs(unit).sum(axis=1), 1.0, rtol=1e-12)
    weight = 1.0 / exponential_ratio(theta, unit)[0]
    assert_mean(weight, 1.0, float(weight.std()))
    plain = directions(rng, Radial.LAPLACE, DRAWS, d)
    for k in range(d):
        half = weight * (unit[:, k] > 0.1)
        expected = float((plain[:, k] > 0.1).mean())
        assert_mean(half, expected, float(np.hypot(half.std(), 0.5)))  # √(p(1 − p)) ≤ 0.5


def test_no_coordinate_is_tilted_beyond_what_has_a_density() -> None:
    theta = exponents(np.array([1.0, 50.0]), np.array([0.6, -0.8]))
    assert np.abs(theta).max(axis=1) == pytest.approx([0.8 / np.sqrt(2), 0.9])
    assert theta[1] == pytest.approx(0.9 * np.array([0.75, -1.0]))
