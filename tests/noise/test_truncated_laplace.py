"""Truncated Laplace noise: its law, and the mass outside a moved support.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcore.noise.samplers import quantile, shifted_out, uniforms
from tests.chance import assert_distribution
from tests.fixtures import MakeRng
from tests.mechanisms.plain import truncated_laplace_cdf

CASES = [(1.0, 0.5), (2.0, 3.0), (0.0029, 4.0233), (10.0, 80.0)]


@pytest.mark.parametrize(("alpha", "cut"), CASES)
def test_quantile_inverts_the_distribution_function(alpha: float, cut: float) -> None:
    u = np.linspace(-1, 1, 2001)[1:-1]
    x = quantile(u, alpha, -math.expm1(-alpha * cut))
    assert np.all(np.abs(x) <= cut)
    np.testing.assert_allclose(truncated_laplace_cdf(x, alpha, cut), (1 + u) / 2, atol=1e-12)


@pytest.mark.parametrize(("alpha", "cut"), CASES)
def test_draws_have_the_law(alpha: float, cut: float, rng: MakeRng) -> None:
    x = quantile(uniforms(rng(), 20_000, 5), alpha, -math.expm1(-alpha * cut))
    assert_distribution(x, lambda t: truncated_laplace_cdf(t, alpha, cut))


def test_a_cut_two_percent_longer_is_noticed(rng: MakeRng) -> None:
    x = quantile(uniforms(rng(), 40_000, 5), 1.0, -math.expm1(-0.51))
    with pytest.raises(AssertionError):
        assert_distribution(x, lambda t: truncated_laplace_cdf(t, 1.0, 0.5))


def test_uniforms_are_symmetric_and_fresh(rng: MakeRng) -> None:
    u = uniforms(rng(), 50_000, 4)
    assert u.shape == (50_000, 4)
    assert np.abs(u).max() <= 1
    assert_distribution((1 + u) / 2, stats.uniform.cdf)
    assert np.unique(u, axis=0).shape == u.shape


@pytest.mark.parametrize(("alpha", "cut"), CASES)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999, 1.0, 1.001, 1.7, 2.0, 3.0])
def test_mass_outside_equals_an_integral(alpha: float, cut: float, share: float) -> None:
    shift = share * cut
    # The noise lands outside the moved support [−A + v, A + v] where x < v − A.
    end = min(shift - cut, cut)

    def density(x: float) -> float:
        return alpha * math.exp(-alpha * abs(x)) / (-2 * math.expm1(-alpha * cut))

    near = [x for x in (0.0, -5 / alpha, 5 / alpha) if -cut < x < end]
    expected, _ = integrate.quad(density, -cut, end, points=near or None, epsabs=1e-13, limit=200)
    assert float(shifted_out(np.array(shift), alpha, cut)) == pytest.approx(expected, abs=1e-12)


def test_mass_outside_does_not_overflow() -> None:
    far = shifted_out(np.array([0.0, 1.0, 2000.0, 4000.0]), 1.0, 2000.0)
    assert far[0] == 0
    assert far[1] < 1e-300
    np.testing.assert_allclose(far[2:], [0.5, 1.0])
