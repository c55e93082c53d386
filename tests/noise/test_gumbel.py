"""Gumbel noise: exact inverse pairs, both limits of the scale, and the law of the samplers."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcore.errors import ParameterError
from dpcore.noise.samplers import (
    log1mexp,
    log_survival_and_density,
    standard_gumbel,
    truncated_from_uniform,
    truncated_gumbel,
)
from tests.chance import assert_distribution
from tests.fixtures import MakeRng

SHAPES = [(1.0, 3.0), (0.5, math.inf), (409.5, 10.0), (1e17, 10.0), (0.01, 10.0), (2.0, 1e-3)]


@pytest.mark.parametrize(("scale", "bound"), SHAPES)
def test_quantiles_invert_the_survival_function(scale: float, bound: float) -> None:
    u = np.linspace(0.0, 1.0 - 1e-6, 1001)[1:]
    noise = truncated_from_uniform(u, scale, bound)
    survival, _ = log_survival_and_density(noise, scale, bound)
    assert np.all(np.diff(noise) > 0)
    assert np.all(np.abs(noise) <= bound)
    np.testing.assert_allclose(np.exp(survival), 1.0 - u, atol=1e-14)


def test_the_formula_of_the_definition_where_it_can_be_evaluated() -> None:
    u = np.array([0.0, 1e-3, 0.2, 0.7, 0.999])
    b, c = 1.3, 3.0
    low, high = math.exp(-math.exp(c / b)), math.exp(-math.exp(-c / b))
    plain = -b * np.log(-np.log(low + u * (high - low)))
    np.testing.assert_allclose(truncated_from_uniform(u, b, c), plain, atol=1e-12)


def test_wide_noise_is_uniform_to_the_last_digits() -> None:
    u = np.linspace(0.0, 0.999, 100)
    noise = truncated_from_uniform(u, 1e12, 10.0)
    np.testing.assert_allclose(noise, 10.0 * (2.0 * u - 1.0), atol=1e-9)


def test_the_ends_of_the_unit_interval_give_the_ends_of_the_support() -> None:
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    for scale, bound in SHAPES:
        noise = truncated_from_uniform(ends, scale, bound)
        assert np.all(np.isfinite(noise) & (np.abs(noise) <= bound))
    np.testing.assert_allclose(truncated_from_uniform(ends[:1], 1.0, 3.0), [-3.0])


@pytest.mark.parametrize(("scale", "bound"), [(1.0, 3.0), (0.5, 4.0), (30.0, 2.0)])
def test_the_density_is_the_slope_of_the_survival_function_and_integrates_to_one(
    scale: float, bound: float
) -> None:
    def density(g: float) -> float:
        return float(np.exp(log_survival_and_density(np.array(g), scale, bound)[1]))

    total, _ = integrate.quad(density, -bound, bound, epsabs=1e-12)
    assert total == pytest.approx(1.0, abs=1e-10)
    upper, _ = integrate.quad(density, 0.3, bound, epsabs=1e-12)
    survival = np.exp(log_survival_and_density(np.array(0.3), scale, bound)[0])
    assert upper == pytest.approx(float(survival), abs=1e-10)
    outside = np.array([-bound - 0.1, bound + 0.1])
    survival, inside = log_survival_and_density(outside, scale, bound)
    assert survival.tolist() == [0.0, -math.inf]
    assert inside.tolist() == [-math.inf, -math.inf]


def test_log1mexp_keeps_its_digits_at_both_ends() -> None:
    np.testing.assert_allclose(
        log1mexp(np.array([1e-20, 50.0])), [math.log(1e-20), -math.exp(-50.0)], rtol=1e-14
    )


def test_draws_have_the_truncated_law(rng: MakeRng) -> None:
    scale, bound = 1.0, 1.5
    law = stats.gumbel_r
    mass = law.cdf(bound) - law.cdf(-bound)
    draws = truncated_gumbel(rng(), (20_000,), scale, bound)
    assert_distribution(draws, lambda x: (law.cdf(x) - law.cdf(-bound)) / mass)


def test_plain_draws_have_the_gumbel_law_and_its_reach(rng: MakeRng) -> None:
    draws = standard_gumbel(rng(), (200, 1000))
    assert draws.dtype == np.float64
    assert np.isfinite(draws).all()
    assert_distribution(draws[:20], stats.gumbel_r.cdf)


@pytest.mark.parametrize(
    ("scale", "bound"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, 0.0)]
)
def test_a_law_that_does_not_exist_is_refused(scale: float, bound: float) -> None:
    with pytest.raises(ParameterError, match="must be"):
        truncated_from_uniform(np.array([0.5]), scale, bound)
