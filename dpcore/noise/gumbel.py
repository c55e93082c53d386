"""Gumbel noise in float64, plain and truncated to [−C, C].

With X = e^{−g/b}, g ~ Gumbel(0, b) is X ~ Exp(1), and g conditioned to [−C, C] is X conditioned
to [e^{−C/b}, e^{C/b}]. All formulas below go through z = X − e^{−C/b}, which keeps its relative
accuracy from b ≫ C (where the law tends to the uniform one on [−C, C]) to b ≪ C (where it tends
to the plain Gumbel law).
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

_TINY = 2.0**-1000  # a zero exponential draw would make an infinite Gumbel draw
_LARGEST_EXPONENT = 705.0  # e^709.8 is the largest float64


def standard_gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Gumbel(0, 1) draws with CDF exp(−e^{−x}), float64.

    Minus the logarithm of an exponential draw: unlike −ln(−ln U) in single precision, whose
    largest value is 16.6, it reaches as far as the law does.
    """
    draws = rng.standard_exponential(shape)
    np.maximum(draws, _TINY, out=draws)
    np.log(draws, out=draws)
    return np.negative(draws, out=draws)


def check_truncated(scale: float, bound: float) -> None:
    """Refuse a scale or a bound for which the truncated law does not exist.

    Raises:
        ParameterError: unless 0 < scale < ∞ and 0 < bound ≤ ∞.
    """
    if not 0 < scale < math.inf:
        msg = f"the Gumbel scale must be a finite number > 0, got {scale}"
        raise ParameterError(msg)
    if not bound > 0:
        msg = f"the truncation bound must be > 0, got {bound}"
        raise ParameterError(msg)


def _range(scale: float, bound: float) -> float:
    """e^{C/b} − e^{−C/b}, ∞ where it overflows."""
    ratio = bound / scale
    return 2.0 * math.sinh(ratio) if ratio < _LARGEST_EXPONENT else math.inf


def truncated_from_uniform(uniform: FloatArray, scale: float, bound: float) -> FloatArray:
    """Gumbel(0, b) conditioned to [−C, C] by inversion of the survival function.

    x = x_lo − log1p(V·expm1(−(x_hi − x_lo))), g = −b ln x with V = 1 − u, x_lo = e^{−C/b} and
    x_hi = e^{C/b} (∞ allowed); ln x is taken relative to ln x_lo, so that nothing is lost where
    b ≫ C and x_lo, x_hi are both next to 1. g is increasing in u.

    Args:
        uniform: u in [0, 1), any shape.
        scale: b.
        bound: C, ∞ allowed.

    Returns:
        Draws in [−C, C], same shape, float64.

    Raises:
        ParameterError: as `check_truncated`.
    """
    check_truncated(scale, bound)
    # X = x_lo + shifted, where `shifted` is Exp(1) conditioned to [0, x_hi − x_lo]: memoryless.
    mass = -math.expm1(-_range(scale, bound))
    with np.errstate(divide="ignore"):  # u = 0 without truncation is X = ∞, cut below
        shifted = -np.log1p((uniform - 1.0) * mass)
        ratio = bound / scale
        if ratio < _LARGEST_EXPONENT:
            # −b·ln(x_lo + shifted) = C − b·ln(1 + shifted·e^{C/b})
            noise = bound - scale * np.log1p(shifted * math.exp(ratio))
        else:
            noise = -scale * np.log(np.clip(shifted, _TINY, -math.log(_TINY)))
    return np.asarray(np.clip(noise, -bound, bound))


def truncated_gumbel(
    rng: np.random.Generator, shape: tuple[int, ...], scale: float, bound: float
) -> FloatArray:
    """Draws of Gumbel(0, b) conditioned to [−C, C], float64.

    Args:
        rng: source of randomness.
        shape: shape of the result.
        scale: b, as large as you like: b ≫ C tends to Uniform[−C, C].
        bound: C, ∞ allowed.

    Raises:
        ParameterError: as `check_truncated`.
    """
    return truncated_from_uniform(rng.random(shape), scale, bound)


def log1mexp(z: FloatArray) -> FloatArray:
    """ln(1 − e^{−z}) for z ≥ 0, accurate near 0 (ln z) and far away (−e^{−z})."""
    with np.errstate(divide="ignore"):
        return np.where(z < math.log(2.0), np.log(-np.expm1(-z)), np.log1p(-np.exp(-z)))


def log_survival_and_density(
    noise: FloatArray, scale: float, bound: float
) -> tuple[FloatArray, FloatArray]:
    """ln S(g) and ln f(g) of Gumbel(0, b) conditioned to [−C, C].

    S(g) = P(noise > g): 0 below −C in logarithm, −∞ from C on. The density is −∞ outside.

    Args:
        noise: g, any shape.
        scale: b.
        bound: C, ∞ allowed.

    Raises:
        ParameterError: as `check_truncated`.
    """
    check_truncated(scale, bound)
    with np.errstate(divide="ignore"):
        log_mass = float(log1mexp(np.asarray(_range(scale, bound))))
    exponent = np.minimum(-noise / scale, _LARGEST_EXPONENT)
    # z = e^{−g/b} − e^{−C/b}; beyond C it would be negative.
    shifted = np.exp(exponent) * -np.expm1(np.minimum((noise - bound) / scale, 0.0))
    below = noise < -bound
    survival = np.where(below, 0.0, np.minimum(log1mexp(shifted) - log_mass, 0.0))
    density = exponent - shifted - math.log(scale) - log_mass
    return survival, np.where(below | (noise > bound), -math.inf, density)
