"""Calibration of Gaussian noise against published values and an integral without cancellation."""

import math

import numpy as np
import pytest

from dpcore.mechanisms.gaussian import (
    analytic_epsilon,
    analytic_sigma,
    classical_sigma,
    gaussian_log_delta,
)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta", "sigma"),
    [(1.0, 1.0, 1e-5, 3.730631635), (2.0, 10.0, 1e-5, 0.9997772394)],
)
def test_reference_values_of_the_analytic_formula(sensitivity, epsilon, delta, sigma):
    assert analytic_sigma(epsilon, math.log(delta), sensitivity) == pytest.approx(sigma, rel=1e-9)


def test_reference_value_of_the_classical_formula():
    """Δ√(2 ln(1.25/δ))/ε at Δ = 2, ε = 0.5, δ = 1e-5: 4·√(2·11.7360690)."""
    assert classical_sigma(0.5, 1e-5, 2.0) == pytest.approx(19.379, rel=1e-4)
    assert classical_sigma(0.5, 1e-5, 2.0) == 4 * math.sqrt(2 * math.log(1.25e5))


def _log_delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    """ln ∫_ε^∞ (1 − e^{ε−l}) p(l) dl, the loss l being N(η, 2η) with η = Δ²/2σ².

    Every term is positive, so nothing cancels; the density's largest value is taken out.
    """
    eta = sensitivity**2 / (2 * sigma**2)
    above = epsilon - eta
    root = math.sqrt(above**2 + 4 * eta * 745)
    end = 4 * eta * 745 / (above + root) if above > 0 else root - above
    node, weight = np.polynomial.legendre.leggauss(20)
    edge = np.linspace(0, end, 1001)
    half = np.diff(edge)[:, None] / 2
    x = edge[:-1, None] + half * (1 + node)
    peak = max(-above, 0.0)

    def exponent(y):
        return -(2 * above * y + np.square(y)) / (4 * eta)

    total = (half * weight * -np.expm1(-x) * np.exp(exponent(x) - exponent(peak))).sum()
    at_epsilon = -(above**2) / (4 * eta) - 0.5 * math.log(4 * math.pi * eta)
    return math.log(total) + at_epsilon + float(exponent(peak))


CASES = [
    (1e-12, 1e5, 2.0),
    (1e-9, 1e12, 1.0),
    (1e-9, 7.3e10, 2.0),
    (0.5, 50.01, 1.0),
    (0.5, 49.99, 1.0),
    (0.01, 3700.0, 1.0),
    (1e-3, 37_000.0, 1.0),
    (0.1, 5.0, 1.0),
    (1.0, 3.730631635, 1.0),
    (1.0, 37.0, 1.0),
    (10.0, 0.4998886, 1.0),
    (80.0, 0.3, 2.0),
    (300.0, 0.15, 2.0),
]


@pytest.mark.parametrize(("epsilon", "sigma", "sensitivity"), CASES)
def test_log_delta_against_the_integral(epsilon, sigma, sensitivity):
    found = float(gaussian_log_delta(epsilon, sigma, sensitivity))
    assert found == pytest.approx(_log_delta(epsilon, sigma, sensitivity), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-5, 1e-20, 1e-100, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 10.0, 500.0])
def test_the_calibrated_noise_is_private_and_no_larger_than_it_must_be(epsilon, delta):
    sigma = analytic_sigma(epsilon, math.log(delta), 2.0)
    assert _log_delta(epsilon, sigma, 2.0) <= math.log(delta) + 1e-6
    assert _log_delta(epsilon, sigma * (1 - 1e-6), 2.0) > math.log(delta)


def test_epsilon_of_sigma_inverts_sigma_of_epsilon():
    epsilons = np.geomspace(0.01, 200, 30)
    for delta in (0.1, 1e-5, 1e-50):
        log_delta = math.log(delta)
        sigmas = np.array([analytic_sigma(float(e), log_delta, 2.0) for e in epsilons])
        assert np.all(np.diff(sigmas) < 0), "a smaller ε never means less noise"
        np.testing.assert_allclose(analytic_epsilon(sigmas, log_delta, 2.0), epsilons, rtol=1e-8)


def test_epsilon_of_a_sigma_that_needs_none_is_zero():
    """δ(0) = 2Φ(Δ/2σ) − 1 is below 0.1 for σ = 10Δ."""
    assert analytic_epsilon(np.array([10.0]), math.log(0.1), 1.0)[0] == 0


def test_the_classical_formula_fails_for_large_epsilon():
    """A theorem for ε ≤ 1; at ε = 20 its exact δ is far above the stated one."""
    delta = 1e-5
    for epsilon, holds in ((0.1, True), (1.0, True), (20.0, False)):
        sigma = classical_sigma(epsilon, delta, 1.0)
        assert (float(gaussian_log_delta(epsilon, sigma, 1.0)) <= math.log(delta)) is holds
