"""Calibration of Gaussian noise: how much privacy a σ buys, and which σ buys a privacy.

All in log space: δ may be far below the smallest float.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.bisection import safe_end
from dpcore.lexicon.rounding import UNIT

_NARROW = 0.01  # a below which the two terms are not subtracted
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_SPECIAL = 32.0  # units of roundoff: SciPy's own tests see a few
_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """σ = Δ√(2 ln(1.25/δ))/ε (Dwork and Roth 2014, Theorem A.1, for ε ≤ 1)."""
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def gaussian_log_delta(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> FloatArray:
    """ln δ of Gaussian noise at ε, exactly and elementwise (Balle and Wang 2018, Theorem 8).

    δ = Φ(a − b) − e^ε Φ(−a − b), a = Δ/2σ, b = εσ/Δ. Where a is small the two terms agree in
    most digits, and δ = φ(a − b)·∫ (1 − x·M(x)) dx over [b − a, b + a] is used, with Mills' ratio
    M = (1 − Φ)/φ: all positive. (e^ε φ(a + b) = φ(a − b), and M′ = xM − 1.)
    """
    return _evaluated(epsilon, sigma, sensitivity)[0]


def gaussian_log_delta_bounds(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> tuple[FloatArray, FloatArray]:
    """A lower and an upper bound on ln δ, elementwise: `gaussian_log_delta` with its rounding.

    Assumed is that SciPy's log_ndtr and erfcx have a relative error of `_SPECIAL`·u at most. A
    rounded argument x of ln Φ costs (|x| + 1)·u·(a + b); in the difference of the two terms an
    error of their logarithms is divided by expm1 of the gap between them.
    """
    value, error, most = _evaluated(epsilon, sigma, sensitivity)
    # Where the two terms agree in all digits all that is known is that δ ≤ Φ(a − b).
    known = np.isfinite(value) & np.isfinite(error)
    value, error = np.where(known, value, 0.0), np.where(known, error, np.inf)
    return value - error, np.minimum(value + error, most)


def _evaluated(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ln δ, a bound on its absolute error, and the upper bound ln Φ(a − b)."""
    from scipy.special import erfcx, log_ndtr

    a, b = sensitivity / (2.0 * np.asarray(sigma)), epsilon * np.asarray(sigma) / sensitivity
    # Theorem 8 in logarithms: δ = Φ(a − b)·(1 − e^gap), and gap ≤ 0.
    first, second = log_ndtr(a - b), log_ndtr(-a - b)
    gap = np.minimum(epsilon + second - first, 0.0)
    arguments = 2.0 * np.square(a + b) + 2.0
    terms = epsilon + np.abs(second) + np.abs(first) + arguments
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        direct = np.asarray(first + np.log(-np.expm1(gap)))
        error = np.abs(direct) + arguments + terms / np.expm1(-gap)
    error = np.asarray(_SPECIAL * UNIT * error)
    most = np.asarray(np.minimum(first + _SPECIAL * UNIT * (np.abs(first) + arguments), 0.0))
    if not np.any(a < _NARROW):
        return direct, error, most
    # Six nodes: the integrand is smooth, and the interval at most 0.02 wide.
    half = np.minimum(a, _NARROW)
    x = np.asarray(b)[..., None] + half[..., None] * _NODES
    integral = half * ((1.0 - x * _ROOT_HALF_PI * erfcx(x / math.sqrt(2.0))) @ _WEIGHTS)
    density = -0.5 * np.square(a - b) - 0.5 * math.log(2.0 * math.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        narrow = density + np.log(integral)
        # 1 − xM(x) is about 1/(1 + x²): the difference from 1 loses as much.
        narrow_error = _SPECIAL * UNIT * (np.abs(narrow) + 2.0 * arguments)
    chosen = a < _NARROW
    return np.where(chosen, narrow, direct), np.where(chosen, narrow_error, error), most


@lru_cache(maxsize=4096)
def analytic_sigma(epsilon: float, log_delta: float, sensitivity: float) -> float:
    """Smallest σ with δ(ε) ≤ δ, by bisection on ln σ, but for rounding: never below it."""

    def enough(log_sigma: FloatArray | float) -> bool:
        high = gaussian_log_delta_bounds(epsilon, math.exp(log_sigma), sensitivity)[1]
        return bool(high <= log_delta)

    # δ falls with σ: first a bracket by steps of e², then its safe end.
    low = high = math.log(sensitivity)
    while not enough(high):
        high += 2.0
    while enough(low):
        low -= 2.0
    return math.exp(safe_end(enough, high, low))


def analytic_epsilon(sigma: FloatArray, log_delta: float, sensitivity: float) -> FloatArray:
    """The ε at which `analytic_sigma` gives this σ, elementwise; 0 where δ(0) is small enough."""
    sigma = np.asarray(sigma, dtype=np.float64)
    low, high = np.zeros_like(sigma), np.ones_like(sigma)
    while (short := gaussian_log_delta_bounds(high, sigma, sensitivity)[1] > log_delta).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)

    def enough(epsilon: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(gaussian_log_delta_bounds(epsilon, sigma, sensitivity)[1] <= log_delta)

    return np.where(enough(np.zeros_like(sigma)), 0.0, safe_end(enough, high, low, rounds=60))


@lru_cache(maxsize=4096)
def composed_epsilon(sigma: float, log_delta: float, sensitivity: float, count: int) -> float:
    """The least ε for a δ of so many independent Gaussian noises together, rounded up.

    The mean of one differs by μ = Δ/σ between two inputs, in units of the noise, and that of k of
    them, as one vector, by √k·μ: they are one Gaussian mechanism of sensitivity √k·Δ (Dong, Roth,
    Su 2022), and its δ is known exactly (Balle and Wang 2018, Theorem 8).

    Returns:
        ε; ∞ for δ = 0, which no Gaussian noise has.
    """
    if not log_delta > -math.inf:
        return math.inf
    # Two roundings, each undone upwards.
    together = math.nextafter(math.nextafter(math.sqrt(count), math.inf) * sensitivity, math.inf)
    return float(analytic_epsilon(np.array(sigma), log_delta, together))
