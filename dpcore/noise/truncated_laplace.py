"""Laplace noise cut off at ±A, coordinate by coordinate.

Density α·e^{−α|x|} / (2(1 − e^{−αA})) on [−A, A].
"""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray


def uniforms(rng: np.random.Generator, count: int, dimension: int) -> FloatArray:
    """The randomness of `count` noise vectors: u uniform on (−1, 1), shape (count, dimension)."""
    return rng.uniform(-1.0, 1.0, size=(count, dimension))


def quantile(u: FloatArray, alpha: float, mass: float) -> FloatArray:
    """Noise of rate α from u ∈ (−1, 1): x = −sgn(u)·ln(1 − |u|·mass)/α, elementwise.

    Args:
        u: signed uniforms.
        alpha: rate of the Laplace density, in 1/(unit of x).
        mass: 1 − e^{−αA}, the Laplace mass inside ±A, in (0, 1].
    """
    return np.asarray(-np.sign(u) * np.log1p(-np.abs(u) * mass) / alpha)


def shifted_out(shift: FloatArray, alpha: float, cut: float) -> FloatArray:
    """m(v): probability that a coordinate's noise lands outside its support moved by v, v ≥ 0.

    m(v) = expm1(αv)/(2·expm1(αA)) for v ≤ A, else ½ + (1 − e^{−α(v−A)})/(2(1 − e^{−αA})), at most
    1. Written with e^{−αA} factored out, so that αA = 1000 does not overflow.
    """
    # At v ≥ 2A the supports are apart and m = 1: `beyond` stops at A.
    v = np.abs(np.asarray(shift, dtype=np.float64))
    below = 1.0 - np.exp(-alpha * cut)
    near = np.minimum(v, cut)
    inside = np.exp(alpha * (near - cut)) * -np.expm1(-alpha * near) / (2.0 * below)
    beyond = np.minimum(np.maximum(v - cut, 0.0), cut)
    return np.asarray(np.where(v <= cut, inside, 0.5 - np.expm1(-alpha * beyond) / (2.0 * below)))
