"""Radial noise: the law of radius, direction and coordinates, and tests of these tests.

False-alarm probability of each assertion: 1e-6.
"""

import numpy as np
import pytest
from scipy import special, stats

from dpcore.noise.samplers import Radial, directions, draws, radii, radius_cdf
from tests.chance import assert_distribution, assert_mean
from tests.fixtures import MakeRng

DRAWS = 200_000
DIMENSIONS = (1, 2, 3, 50, 300)
RADIUS = {
    Radial.L2LAPLACE: stats.gamma,
    Radial.LAPLACE: stats.gamma,
    Radial.GAUSSIAN: stats.chi,
}


@pytest.mark.slow
@pytest.mark.parametrize("family", Radial)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_radius_has_its_law(family: Radial, d: int, rng: MakeRng) -> None:
    assert_distribution(radii(rng(), family, DRAWS, d), RADIUS[family](d).cdf)


@pytest.mark.slow
@pytest.mark.parametrize("family", Radial)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_radius_two_percent_longer_is_noticed(family: Radial, d: int, rng: MakeRng) -> None:
    """It moves the distribution function by 0.7 % or more, and 10⁶ draws resolve 0.27 %."""
    longer = 1.02 * radii(rng(), family, 1_000_000 if d < 50 else 100_000, d)
    with pytest.raises(AssertionError):
        assert_distribution(longer, RADIUS[family](d).cdf)


@pytest.mark.parametrize("family", Radial)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_cdf_of_the_radius(family: Radial, d: int) -> None:
    law = RADIUS[family](d)
    x = np.concatenate(([0.0], law.ppf(np.linspace(0.001, 0.999, 50)), [np.inf]))
    probabilities = radius_cdf(family, x, d)
    np.testing.assert_allclose(probabilities, law.cdf(x), rtol=1e-10, atol=0)
    assert probabilities[0] == 0
    assert probabilities[-1] == 1


@pytest.mark.parametrize("d", [1, 2, 7, 300])
def test_directions_lie_on_the_sphere_and_not_in_the_ball(d: int, rng: MakeRng) -> None:
    for family in (Radial.L2LAPLACE, Radial.GAUSSIAN):
        unit = directions(rng(), family, 1000, d)
        assert unit.shape == (1000, d)
        assert unit.dtype == np.float64
        np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-14)
    side = directions(rng(), Radial.LAPLACE, 1000, d)
    np.testing.assert_allclose(np.abs(side).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("d", [2, 3, 20])
def test_directions_are_uniform(d: int, rng: MakeRng) -> None:
    """(1 + ⟨u, v⟩)/2 is Beta((d−1)/2, (d−1)/2) for every fixed v: an axis and a diagonal."""
    unit = directions(rng(), Radial.L2LAPLACE, DRAWS, d)
    diagonal = np.ones(d) / np.sqrt(d)
    law = stats.beta((d - 1) / 2, (d - 1) / 2)
    for v in (np.eye(d)[0], diagonal):
        assert_distribution(np.clip((1 + unit @ v) / 2, 0, 1), law.cdf)


def test_directions_in_one_dimension_are_fair_signs(rng: MakeRng) -> None:
    unit = directions(rng(), Radial.L2LAPLACE, DRAWS, 1)
    assert set(np.unique(unit)) == {-1.0, 1.0}
    assert_mean(unit, 0.0, 1.0)


def test_a_tilted_direction_is_noticed(rng: MakeRng) -> None:
    """A drift of 2 % of a coordinate's deviation."""
    d = 20
    vectors = rng().standard_normal((2 * DRAWS, d)) + 0.02
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    diagonal = np.ones(d) / np.sqrt(d)
    law = stats.beta((d - 1) / 2, (d - 1) / 2)
    with pytest.raises(AssertionError):
        assert_distribution((1 + unit @ diagonal) / 2, law.cdf)


@pytest.mark.parametrize("d", [1, 5, 100])
@pytest.mark.parametrize("epsilon", [0.1, 20.0])
def test_coordinates_have_variance_d_plus_1_over_epsilon_squared(
    d: int, epsilon: float, rng: MakeRng
) -> None:
    """‖z‖²/d has mean (d+1)/ε² and a variance from the fourth moment of a Gamma variable."""
    z = draws(rng(), Radial.L2LAPLACE, 100_000, d, 1 / epsilon)
    variance = (d + 1) / epsilon**2
    fourth = d * (d + 1) * (d + 2) * (d + 3) / d**2
    spread = np.sqrt(fourth - (d + 1) ** 2) / epsilon**2
    assert_mean(np.square(z).mean(axis=1), variance, spread)
    assert_mean(z.sum(axis=1), 0.0, np.sqrt(d * variance))


def test_coordinates_of_laplace_are_independent_laplace(rng: MakeRng) -> None:
    z = draws(rng(), Radial.LAPLACE, 50_000, 3, 2.0)
    assert_distribution(z, stats.laplace(scale=2.0).cdf)
    assert_mean(z[:, 0] * z[:, 1], 0.0, 8.0)
    # Squares too: a radius shared by round noise would correlate them.
    assert_mean((np.square(z[:, 0]) - 8) * (np.square(z[:, 1]) - 8), 0.0, 24 * 16 - 64)


def test_coordinates_of_gauss_are_normal(rng: MakeRng) -> None:
    z = draws(rng(), Radial.GAUSSIAN, 50_000, 4, 0.5)
    assert_distribution(z, stats.norm(scale=0.5).cdf)


def test_radius_and_direction_are_independent(rng: MakeRng) -> None:
    z = draws(rng(), Radial.L2LAPLACE, DRAWS, 3, 1.0)
    length = np.linalg.norm(z, axis=1)
    high = length > np.median(length)
    for part in (high, ~high):
        assert_distribution((1 + z[part, 2] / length[part]) / 2, stats.uniform.cdf)


def test_rows_are_fresh(rng: MakeRng) -> None:
    z = draws(rng(), Radial.L2LAPLACE, 1000, 3, 1.0)
    assert np.unique(z, axis=0).shape == z.shape


def test_density_slope_in_one_dimension(rng: MakeRng) -> None:
    """d = 1 is the Laplace law of scale 1/ε: the reference all others contain."""
    z = draws(rng(), Radial.L2LAPLACE, DRAWS, 1, 0.25)
    assert_distribution(z, stats.laplace(scale=0.25).cdf)
    assert special.gammainc(1, 2.0) == radius_cdf(Radial.L2LAPLACE, np.array(2.0), 1)
