"""Privacy profiles against closed forms, brute force and Monte Carlo; every bound on its side."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from dpcore.audit.profiles.profile import (
    gaussian,
    l2_laplace,
    product,
    product_loss,
    spread_shift,
    trade_off,
    worst_product,
)
from dpcore.errors import ParameterError
from dpcore.mechanisms.clipped.trlaplace import (
    corrected_truncation,
    published_truncation,
    worst_delta,
)
from tests.chance import deviation
from tests.fixtures import MakeRng


def inside(curve: Any, truth: NDArray[np.float64], slack: float = 1e-12) -> bool:
    return bool(np.all(curve.low <= truth + slack) and np.all(curve.high >= truth - slack))


# -- i.i.d. coordinates ---------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.01, 1.0, 2.0, 30.0])
def test_one_dimensional_laplace(shift: float) -> None:
    epsilons = np.linspace(0.0, 1.2 * shift, 13)
    curve = product(1.0, math.inf, np.array([-shift]))(epsilons)
    truth = np.maximum(-np.expm1((epsilons - shift) / 2), 0.0)
    assert inside(curve, truth)
    assert curve.error < 2e-4 * shift


def _brute(
    alpha: float, cut: float, shift: Sequence[float], epsilon: float, cells: int = 1500
) -> float:
    """δ by merging a fine box grid in two dimensions: a lower bound, near the truth."""
    laws = []
    for v in shift:
        edges = np.unique(np.concatenate((np.linspace(-cut, cut + v, cells), [-cut, cut, 0, v])))
        cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda x: np.clip(  # noqa: E731
            0.5 - 0.5 * np.sign(x) * np.expm1(-alpha * np.abs(np.clip(x, -cut, cut)))
            / np.expm1(-alpha * cut) * -1.0, 0, 1
        )  # fmt: skip
        laws.append((np.diff(cdf(edges)), np.diff(cdf(edges - v))))
    (p1, q1), (p2, q2) = laws
    gap = np.multiply.outer(p1, p2) - math.exp(epsilon) * np.multiply.outer(q1, q2)
    return float(np.maximum(gap, 0).sum())


@pytest.mark.parametrize("shift", [(0.7, 0.7), (1.3, 0.2), (1.9, 1.9)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_two_truncated_coordinates(shift: tuple[float, float], epsilon: float) -> None:
    alpha, cut = 0.8, 1.5
    low, high = product(alpha, cut, np.array(shift)).delta(epsilon)
    result = _brute(alpha, cut, shift, epsilon)
    assert low <= high
    assert result <= high + 1e-12
    assert result == pytest.approx(0.5 * (low + high), abs=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "equal", "single"),
    [(0.05, 0.987, 0.249), (0.1, 0.987, 0.248), (0.5, 0.984, 0.239), (1, 0.979, 0.228),
     (5, 0.843, 0.1225)],
)  # fmt: skip
def test_true_delta_of_the_published_noise_in_300_dimensions(
    epsilon: float, equal: float, single: float
) -> None:
    """δ = 4^−300 is claimed."""
    mechanism = published_truncation(epsilon, 0.25, 1.0, 300)
    for share, value in ((1 / 300, equal), (1.0, single)):
        low, high = product(mechanism.alpha, mechanism.cut, spread_shift(2.0, 300, share)).delta(
            epsilon
        )
        assert low == pytest.approx(value, abs=5.1e-4)
        assert high - low < 1e-6
    assert worst_delta(mechanism, 1.0, 300) == pytest.approx(
        product(mechanism.alpha, mechanism.cut, spread_shift(2.0, 300, 1 / 300)).delta(epsilon)[0],
        rel=1e-8,
    )


def test_reference_values_of_the_published_noise() -> None:
    mechanism = published_truncation(0.1, 0.25, 1.0, 300)
    assert mechanism.alpha == pytest.approx(0.002886751346, rel=1e-9)
    assert mechanism.cut == pytest.approx(4.023273343, rel=1e-9)
    assert mechanism.deviation == pytest.approx(2.319464576, rel=1e-9)
    shift = spread_shift(2.0, 300, 1 / 300)
    assert product(mechanism.alpha, mechanism.cut, shift).delta(0.1)[0] == pytest.approx(
        0.986588957, abs=2e-9
    )
    mechanism = published_truncation(1.0, 0.25, 1.0, 300)
    assert mechanism.cut == pytest.approx(4.250414901, rel=1e-9)
    assert product(mechanism.alpha, mechanism.cut, shift).delta(1.0)[0] == pytest.approx(
        0.9789585353, abs=3e-9
    )
    right = corrected_truncation(1.0, 1e-6, 1.0, 300)
    assert right.alpha * right.cut == pytest.approx(13.12403201, rel=1e-8)


@pytest.mark.parametrize("cut", [math.inf, 1.5])
def test_unequal_coordinates_against_monte_carlo(cut: float, rng: MakeRng) -> None:
    """Empirical Bernstein bound, false-alarm probability 1e-6 for each ε."""
    shift = rng().standard_normal(30) * 0.3
    alpha, draws = 0.6, 40_000
    mass = 1.0 if math.isinf(cut) else -math.expm1(-alpha * cut)
    u = rng(1).uniform(-1, 1, (draws, 30))
    x = -np.sign(u) * np.log1p(-np.abs(u) * mass) / alpha
    losses = alpha * (np.abs(x - shift) - np.abs(x)).sum(axis=1)
    losses[(np.abs(x - shift) > cut).any(axis=1)] = math.inf
    epsilons = np.array([0.0, 0.5, 1.5])
    curve = product(alpha, cut, shift)(epsilons)
    for i, epsilon in enumerate(epsilons):
        values = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        slack = float(deviation(draws, values.var()))
        assert curve.low[i] - slack <= values.mean() <= curve.high[i] + slack
    assert curve.error < 1e-3


def test_masses_and_mean_of_the_loss() -> None:
    """E e^{−L} over finite losses is the second law's mass where both are possible."""
    for cut in (math.inf, 0.9, 3.0):
        law = product_loss(1.2, cut, np.array([0.5, 0.0, 1.1, -0.5]))
        assert law.masses.sum() + law.infinite == pytest.approx(1.0, abs=1e-8)
        assert law.masses @ np.exp(-law.losses) == pytest.approx(1 - law.infinite, abs=1e-8)


def test_supports_that_do_not_meet() -> None:
    low, high = product(1.0, 0.5, np.array([0.1, 1.2])).delta(3.0)
    assert low == high == 1.0


def test_the_worst_shift_depends_on_epsilon() -> None:
    """At ε = 0 a single coordinate is worse than the equal spread, at larger ε it is better."""
    alpha = 1 / (2 * math.sqrt(50))
    curve = worst_product(alpha, math.inf, 2.0, 50, np.array([0.0, 0.3, 0.99]))
    single, all_ = (
        product(alpha, math.inf, spread_shift(2.0, 50, share))([0.0, 0.3, 0.99])
        for share in (1.0, 1 / 50)
    )
    assert single.low[0] > all_.high[0]
    assert single.high[1] < all_.low[1]
    assert np.all(curve.low >= np.maximum(single.low, all_.low))


# -- round noise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 7, 40])
def test_l2_laplace_against_monte_carlo(dimension: int, rng: MakeRng) -> None:
    """Empirical Bernstein bound, false-alarm probability 1e-6 for each ε."""
    draws, eta, s = 40_000, 0.7, 3.0
    z = rng().standard_normal((draws, dimension))
    z *= (rng(1).gamma(dimension, 1 / eta, draws) / np.linalg.norm(z, axis=1))[:, None]
    moved = z.copy()
    moved[:, 0] -= s
    losses = eta * (np.linalg.norm(moved, axis=1) - np.linalg.norm(z, axis=1))
    for epsilon in (0.0, 0.4, 1.2):
        values = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        low, high = l2_laplace(eta, s, dimension).delta(epsilon)
        slack = float(deviation(draws, values.var()))
        assert low - slack <= values.mean() <= high + slack
        assert high - low < 1e-10


def test_l2_laplace_in_two_dimensions_against_plain_integration() -> None:
    eta, s, epsilon = 1.0, 1.5, 0.6

    def integrand(y: float, x: float) -> float:
        p = math.exp(-eta * math.hypot(x, y))
        q = math.exp(-eta * math.hypot(x - s, y))
        return max(p - math.exp(epsilon) * q, 0.0)

    total, _ = integrate.dblquad(integrand, -25, 2, 0, 25, epsabs=1e-7, epsrel=1e-6)
    result = 2 * total * eta**2 / (2 * math.pi)
    assert l2_laplace(eta, s, 2).delta(epsilon)[0] == pytest.approx(result, abs=1e-5)


def test_l2_laplace_in_one_dimension_is_laplace() -> None:
    epsilons = np.array([0.0, 0.5, 1.9, 2.0, 3.0])
    round_, plain = l2_laplace(1.0, 2.0, 1)(epsilons), product(1.0, math.inf, np.array([2.0]))
    assert inside(plain(epsilons), round_.value)
    assert round_.value[-2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dimension", [2, 300, 1700])
@pytest.mark.parametrize("s", [1e-3, 1.0, 40.0, 3000.0])
def test_l2_laplace_falls_and_ends_at_its_sensitivity(dimension: int, s: float) -> None:
    curve = l2_laplace(1.0, s, dimension)(np.linspace(0, s, 9))
    assert np.all(np.diff(curve.value) <= curve.error)
    assert curve.high[-1] == 0.0
    assert curve.error < 1e-8


def test_gaussian_is_balle_and_wang() -> None:
    low, high = gaussian(3.730631635, 1.0).delta(1.0)
    assert low == pytest.approx(1e-5, rel=1e-8)
    assert high >= low


# -- trade-off ------------------------------------------------------------------------------------


def test_trade_off_of_gaussian_noise_is_its_closed_form() -> None:
    alarms = np.array([0.0, 1e-3, 0.05, 0.3, 0.5, 0.9, 1.0])
    curve = trade_off(gaussian(1.0, 1.0), alarms)
    truth = stats.norm.cdf(stats.norm.isf(alarms) - 1.0)
    assert inside(curve, truth)
    assert curve.error < 2e-3


def test_trade_off_of_laplace_noise() -> None:
    """f(a) = 1 − e^s·a for a ≤ e^{−s}/2 (Dong, Roth, Su 2022, appendix)."""
    alarms = np.array([0.0, 0.01, 0.05])
    curve = trade_off(product(1.0, math.inf, np.array([1.0])), alarms)
    assert inside(curve, 1 - math.e * alarms)
    assert curve.error < 2e-3


def test_trade_off_with_a_shared_infinite_loss() -> None:
    """With δ in the limit m, no test misses more than 1 − m at no false alarms."""
    mechanism = published_truncation(0.5, 0.25, 1.0, 10)
    profile = product(mechanism.alpha, mechanism.cut, spread_shift(2.0, 10, 0.1))
    curve = trade_off(profile, np.array([0.0]))
    assert curve.low[0] == pytest.approx(1 - worst_delta(mechanism, 1.0, 10), abs=1e-6)
    assert curve.high[0] == pytest.approx(curve.low[0], abs=1e-6)


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match=">= 0"):
        gaussian(1.0, 1.0)([-1.0])
    with pytest.raises(ParameterError, match="sigma"):
        gaussian(0.0, 1.0)
    with pytest.raises(ParameterError, match="non-zero shift"):
        product(1.0, 1.0, np.zeros(3))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        trade_off(gaussian(1.0, 1.0), np.array([1.5]))
