"""The closed form of TEM, as functions of distances alone (Carvalho et al. 2021, Algorithm 2)."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray


def tem_gamma(epsilon: float, n: int, beta: float) -> float:
    """The γ of Theorem 3: a word beyond γ comes out with probability at most β.

    Args:
        epsilon: ε > 0.
        n: words of the vocabulary.
        beta: 0 < β < (n − 1)/n.
    """
    with np.errstate(over="ignore"):
        return float(np.float64(2.0 * log_odds(n, beta)) / epsilon)


def log_odds(n: int, beta: float) -> float:
    """c = ln((1 − β)(n − 1)/β), the cap in the exponent; positive for 0 < β < (n − 1)/n."""
    return math.log1p(-beta) + math.log(n - 1) - math.log(beta)


def capped(distance: FloatArray, epsilons: FloatArray, cap: FloatArray | float) -> FloatArray:
    """−min(ε·D/2, cap), shape (E, m)."""
    with np.errstate(over="ignore"):
        exponents = np.multiply.outer(0.5 * epsilons, distance)
    np.minimum(exponents, cap, out=exponents)
    return np.negative(exponents, out=exponents)


def normalised(exponents: FloatArray) -> FloatArray:
    """Probabilities from exponents of which the largest in each row is near 0 (D(w, w) = 0)."""
    exponents -= exponents.max(axis=1, keepdims=True)
    weights = np.exp(exponents, out=exponents)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
