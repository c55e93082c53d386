"""Calibration of Gaussian noise: how much privacy a σ buys, and which σ buys a privacy.

All in log space: δ may be far below the smallest float.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """σ = Δ√(2 ln(1.25/δ))/ε (Dwork and Roth 2014, Theorem A.1, for ε ≤ 1)."""
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def gaussian_log_delta(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> FloatArray:
    """ln δ of Gaussian noise at ε, exactly and elementwise (Balle and Wang 2018, Theorem 8).

    δ = Φ(a − b) − e^ε Φ(−a − b), a = Δ/2σ, b = εσ/Δ. −inf where the two terms agree to the last
    bit, that is where δ lies below their rounding.
    """
    from scipy.special import log_ndtr

    a, b = sensitivity / (2.0 * np.asarray(sigma)), epsilon * np.asarray(sigma) / sensitivity
    first = log_ndtr(a - b)
    gap = np.minimum(epsilon + log_ndtr(-a - b) - first, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(first + np.log(-np.expm1(gap)))


def analytic_sigma(epsilon: float, log_delta: float, sensitivity: float) -> float:
    """Smallest σ with δ(ε) ≤ δ, by bisection on ln σ; the returned end satisfies the bound."""

    def enough(log_sigma: float) -> bool:
        return bool(gaussian_log_delta(epsilon, math.exp(log_sigma), sensitivity) <= log_delta)

    low = high = math.log(sensitivity)
    while not enough(high):
        high += 2.0
    while enough(low):
        low -= 2.0
    while low < (middle := 0.5 * (low + high)) < high:
        if enough(middle):
            high = middle
        else:
            low = middle
    return math.exp(high)


def analytic_epsilon(sigma: FloatArray, log_delta: float, sensitivity: float) -> FloatArray:
    """The ε at which `analytic_sigma` gives this σ, elementwise; 0 where δ(0) is small enough."""
    sigma = np.asarray(sigma, dtype=np.float64)
    low, high = np.zeros_like(sigma), np.ones_like(sigma)
    while (short := gaussian_log_delta(high, sigma, sensitivity) > log_delta).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        short = gaussian_log_delta(middle, sigma, sensitivity) > log_delta
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    enough = gaussian_log_delta(np.zeros_like(sigma), sigma, sensitivity) <= log_delta
    return np.where(enough, 0.0, high)
