"""Clipping, its bound to the last bit, and the targets of the noisy vector."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
    ClippedRadial,
    analytic_epsilon,
    analytic_sigma,
    classical_sigma,
    clip,
    gaussian_log_delta,
    gaussian_log_delta_bounds,
)
from dpcore.noise.samplers import radii
from dpcore.outwards import delta_at_most
from tests.chance import assert_mean
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

KINDS = [ClippedLaplace, ClippedL2Laplace, ClippedGaussian, ClippedGaussianClassical]


@pytest.mark.parametrize("norm", [1e-6, 0.1, 1.0, 1 / 3, math.pi, 17.3, 1e6])
@pytest.mark.parametrize("d", [1, 3, 100, 300])
def test_rounding_never_lifts_a_row_above_the_bound(norm: float, d: int, rng: MakeRng) -> None:
    """Norms recomputed in extended precision from the float32 rows that are used."""
    rows = (norm * rng().standard_normal((3000, d))).astype(np.float32)
    clipped = clip(rows, norm).astype(np.longdouble)
    lengths = np.sqrt((clipped * clipped).sum(axis=1))
    assert lengths.max() <= norm
    before = np.sqrt((rows.astype(np.longdouble) ** 2).sum(axis=1))
    assert np.all(lengths[before > norm] >= norm * (1 - 1e-6))


def test_rows_within_the_bound_are_returned_as_they_are(rng: MakeRng) -> None:
    rows = rng().standard_normal((50, 4)).astype(np.float32)
    assert clip(rows, 100.0) is rows
    some = clip(rows, 2.0)
    short = np.linalg.norm(rows.astype(np.float64), axis=1) <= 2.0
    assert short.any()
    assert not short.all()
    assert np.array_equal(some[short], rows[short])
    assert not some.flags.writeable


def test_a_clipped_row_keeps_its_direction(rng: MakeRng) -> None:
    rows = rng().standard_normal((200, 5)).astype(np.float32)
    clipped = clip(rows, 0.5)
    cosine = (
        (rows * clipped).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(clipped, axis=1)
    )
    np.testing.assert_allclose(cosine, 1, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_by_default_nothing_is_clipped(kind: type[ClippedRadial], middle: Lexicon) -> None:
    mechanism = kind(lexicon=middle)
    assert mechanism.bound == middle.largest_norm
    assert mechanism.origins is middle.vectors
    assert mechanism.targets is middle.vectors


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_origins_are_farther_apart_than_the_sensitivity(
    kind: type[ClippedRadial], middle: Lexicon
) -> None:
    mechanism = kind(lexicon=middle, clip_norm=1.0)
    rows = mechanism.origins.astype(np.float64)
    norm = 1 if kind is ClippedLaplace else 2
    for w in range(0, len(rows), 50):
        assert np.linalg.norm(rows - rows[w], ord=norm, axis=1).max() <= mechanism.sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_with_unclipped_words_loses_words_even_without_noise(
    kind: type[ClippedRadial], middle: Lexicon, rng: MakeRng
) -> None:
    """Huang et al. 2024, eq. (2): with C below the norms the noiseless output is another word."""
    words = np.arange(len(middle))
    norm = 0.3 * middle.largest_norm
    ours = kind(lexicon=middle, clip_norm=norm)
    theirs = kind(lexicon=middle, clip_norm=norm, compare_with="unclipped")
    assert theirs.targets is middle.vectors
    assert (ours.sample(rng(), words, 1e9) == words).mean() == 1.0
    assert (theirs.sample(rng(), words, 1e9) == words).mean() < 0.9
    first, second = (replace(m.guarantee(2.0), rounding=None) for m in (ours, theirs))
    assert first == second


@pytest.mark.parametrize("kind", KINDS)
def test_paths_of_unclipped_comparison_equal_a_direct_search(
    kind: type[ClippedRadial], rng: MakeRng
) -> None:
    lexicon = lexicons.cloud(80, 4)
    mechanism = kind(lexicon=lexicon, clip_norm=1.0, compare_with="unclipped")
    words = np.full(60, 7)
    paths = mechanism.paths(rng(), words)
    again = rng()
    unit = mechanism.directions(again, 60)
    radius = radii(again, mechanism.family, 60, 4)
    targets, origin = lexicon.vectors.astype(np.float64), mechanism.origins[7].astype(np.float64)
    for epsilon in (0.5, 3.0, 20.0, 300.0):
        noisy = origin + (mechanism.scale(epsilon) * radius)[:, None] * unit
        expected = np.linalg.norm(targets[None] - noisy[:, None], axis=2).argmin(axis=1)
        assert np.array_equal(paths.at(np.array([epsilon]))[:, 0], expected)


def test_two_words_clipped_to_one_point_are_one_output(rng: MakeRng) -> None:
    """Collinear words beyond C cannot be told apart: the lowest index comes out."""
    mechanism = ClippedL2Laplace(lexicon=lexicons.line(1.5, 2, 3, -1), clip_norm=1.0)
    out = mechanism.sample(rng(), np.array([0, 1, 2, 3]), 1e9)
    assert out.tolist() == [0, 0, 0, 3]
    assert mechanism.paths(rng(), np.full(9, 2)).at(np.array([1e9]))[:, 0].tolist() == [0] * 9


@pytest.mark.parametrize(
    ("kind", "deviation"),
    [(ClippedLaplace, 2 * math.sqrt(2 * 30)), (ClippedL2Laplace, 2 * math.sqrt(31))],
)
def test_noise_has_the_stated_deviation(
    kind: type[ClippedLaplace], deviation: float, rng: MakeRng
) -> None:
    """Per coordinate at C = ε = 1, d = 30. False-alarm probability 1e-6."""
    lexicon = lexicons.cloud(40, 30)
    mechanism = kind(lexicon=lexicon, clip_norm=1.0)
    radius = radii(rng(1), mechanism.family, 30_000, 30)[:, None]
    z = mechanism.scale(1.0) * radius * mechanism.directions(rng(), 30_000)
    square = np.square(z).mean(axis=1)
    assert_mean(square, deviation**2, square.std())


def test_the_gaussian_guarantee_is_computed() -> None:
    lexicon = lexicons.cloud(40, 3)
    good = ClippedGaussian(lexicon=lexicon, delta=1e-6)
    classical = ClippedGaussianClassical(lexicon=lexicon, delta=1e-6)
    for epsilon in (0.01, 1.0, 50.0):
        assert good.guarantee(epsilon).status is Status.PROVED
        exact = gaussian_log_delta(epsilon, good.scale(epsilon), 2 * good.bound)
        assert float(exact) <= math.log(1e-6)
    assert classical.guarantee(0.5).status is Status.PROVED
    refuted = classical.guarantee(30.0)
    assert refuted.status is Status.REFUTED
    assert "above the claimed 1e-06" in refuted.reason


@pytest.mark.parametrize("kind", KINDS)
def test_scale_and_its_inverse(kind: type[ClippedRadial], middle: Lexicon) -> None:
    mechanism = kind(lexicon=middle)
    epsilons = np.geomspace(0.05, 100, 25)
    scales = np.array([mechanism.scale(float(e)) for e in epsilons])
    assert np.all(np.diff(scales) < 0)
    np.testing.assert_allclose(mechanism.epsilon_of(scales), epsilons, rtol=1e-8)


# Calibration of Gaussian noise against published values and an integral without cancellation.


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta", "sigma"),
    [(1.0, 1.0, 1e-5, 3.730631635), (2.0, 10.0, 1e-5, 0.9997772394)],
)
def test_reference_values_of_the_analytic_formula(
    sensitivity: float, epsilon: float, delta: float, sigma: float
) -> None:
    assert analytic_sigma(epsilon, math.log(delta), sensitivity) == pytest.approx(sigma, rel=1e-9)


def test_reference_value_of_the_classical_formula() -> None:
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

    def exponent(y: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
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
def test_log_delta_against_the_integral(epsilon: float, sigma: float, sensitivity: float) -> None:
    log_delta = float(gaussian_log_delta(epsilon, sigma, sensitivity))
    assert log_delta == pytest.approx(_log_delta(epsilon, sigma, sensitivity), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-5, 1e-20, 1e-100, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 10.0, 500.0])
def test_the_calibrated_noise_is_private_and_no_larger_than_it_must_be(
    epsilon: float, delta: float
) -> None:
    sigma = analytic_sigma(epsilon, math.log(delta), 2.0)
    assert _log_delta(epsilon, sigma, 2.0) <= math.log(delta) + 1e-6
    assert _log_delta(epsilon, sigma * (1 - 1e-6), 2.0) > math.log(delta)


def test_epsilon_of_sigma_inverts_sigma_of_epsilon() -> None:
    epsilons = np.geomspace(0.01, 200, 30)
    for delta in (0.1, 1e-5, 1e-50):
        log_delta = math.log(delta)
        sigmas = np.array([analytic_sigma(float(e), log_delta, 2.0) for e in epsilons])
        assert np.all(np.diff(sigmas) < 0), "a smaller ε never means less noise"
        np.testing.assert_allclose(analytic_epsilon(sigmas, log_delta, 2.0), epsilons, rtol=1e-8)


def test_epsilon_of_a_sigma_that_needs_none_is_zero() -> None:
    """δ(0) = 2Φ(Δ/2σ) − 1 is below 0.1 for σ = 10Δ."""
    assert analytic_epsilon(np.array([10.0]), math.log(0.1), 1.0)[0] == 0


def test_the_classical_formula_fails_for_large_epsilon() -> None:
    """A theorem for ε ≤ 1; at ε = 20 its exact δ is far above the stated one."""
    delta = 1e-5
    for epsilon, holds in ((0.1, True), (1.0, True), (20.0, False)):
        sigma = classical_sigma(epsilon, delta, 1.0)
        assert (float(gaussian_log_delta(epsilon, sigma, 1.0)) <= math.log(delta)) is holds


def _fifty_digits(epsilon: float, sigma: float, sensitivity: float) -> mpmath.mpf:
    """ln δ by the formula itself; enough digits that its difference keeps fifty."""
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    with mpmath.workdps(90 + int((a + b) ** 2 / 2)):
        e, s, d = (mpmath.mpf(x) for x in (epsilon, sigma, sensitivity))
        a, b = d / (2 * s), e * s / d
        return mpmath.log(mpmath.ncdf(a - b) - mpmath.exp(e) * mpmath.ncdf(-a - b))


def test_the_bounds_enclose_the_formula_in_fifty_digits() -> None:
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(250):
        a, epsilon = 10 ** rng.uniform(-5, 1.2), 10 ** rng.uniform(-4, 2.5)
        sensitivity = 10 ** rng.uniform(-2, 2)
        sigma = sensitivity / (2 * a)
        if epsilon * sigma / sensitivity > 37.0:  # δ below 1e-300 is no claim
            continue
        low, high = gaussian_log_delta_bounds(epsilon, sigma, sensitivity)
        exact = _fifty_digits(epsilon, sigma, sensitivity)
        assert mpmath.mpf(float(low)) <= exact <= mpmath.mpf(float(high))
        assert high - low < 1e-7
        seen += 1
    assert seen > 100


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12, 1e-100, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_the_noise_is_never_below_what_delta_needs(epsilon: float, delta: float) -> None:
    """In fifty digits: δ(σ) ≤ δ, and with a billionth less noise it is not."""
    sigma = analytic_sigma(epsilon, math.nextafter(math.log(delta), -math.inf), 2.0)
    assert _fifty_digits(epsilon, sigma, 2.0) <= mpmath.log(mpmath.mpf(delta))
    less = _fifty_digits(epsilon, sigma * (1 - 1e-9), 2.0)
    assert less > mpmath.log(mpmath.mpf(delta))


def test_bounds_say_so_where_nothing_is_known() -> None:
    low, high = gaussian_log_delta_bounds(np.array([2000.0]), np.array([1e9]), 1.0)
    assert low <= high
    assert not np.isnan([low, high]).any()


@pytest.mark.parametrize(
    ("log_delta", "text"),
    [
        (math.log(1.0049e-5), "1.01e-05"),
        (math.log(0.98765), "0.988"),
        (math.log(9.999e-6), "1e-05"),
        (-1151.0, "10^-499.8"),
    ],
)
def test_a_small_probability_is_printed_rounded_up(log_delta: float, text: str) -> None:
    assert delta_at_most(log_delta) == text
