"""The truncated Poisson law of the number of candidates.

Y ~ Poisson(ln n); K = Y if 1 ≤ Y < n, and n otherwise (Xu et al. 2021, Definition 1 with
a = 1, b = n): all mass outside 1..n−1 is moved to the whole vocabulary, so P(K = n) > 1/n.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammainc, gammaln

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError

_NEGLIGIBLE = 1e-18


def _check(n: int) -> None:
    """Refuse a size below that of a vocabulary of two words."""
    if not n >= 2:
        msg = f"the vocabulary must hold at least 2 words, got {n}"
        raise ParameterError(msg)


def _poisson(n: int, largest: int) -> FloatArray:
    """Return P(Y = k) for k = 1..largest, Y ~ Poisson(ln n)."""
    rate = math.log(n)
    k = np.arange(1, largest + 1, dtype=np.float64)
    return np.asarray(np.exp(k * math.log(rate) - rate - gammaln(k + 1.0)))


def whole_vocabulary_weight(n: int) -> float:
    """Return P(K = n) = P(Y = 0) + P(Y ≥ n), summed and not taken as a difference from 1.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check(n)
    return 1.0 / n + float(gammainc(n, math.log(n)))


def poisson_weights(n: int) -> FloatArray:
    """Return P(K = k) for k = 1..n, shape (n,), entry k − 1 for k; far ones underflow to 0.

    Raises:
        ParameterError: for fewer than two words.
    """
    last = whole_vocabulary_weight(n)
    return np.append(_poisson(n, n - 1), last)


def candidate_weights(n: int) -> FloatArray:
    """Return the head of `poisson_weights`: P(K = k) for k = 1..m, shape (m,), m < n.

    The omitted mass, P(m < K < n), is below 1e-18.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check(n)
    rate = math.log(n)
    # Far beyond the omitted mass: twelve deviations, and 60 more where ln n is small.
    enough = int(rate + 12.0 * math.sqrt(rate) + 60.0)
    weights = _poisson(n, min(n - 1, enough))
    left = np.cumsum(weights[::-1])[::-1]
    return weights[: max(1, int((left >= _NEGLIGIBLE).sum()))]


def truncated_poisson(rng: np.random.Generator, count: int, n: int) -> IntArray:
    """Draw K, shape (count,), int64, in 1..n; exact, no tail is cut.

    Args:
        rng: source of randomness.
        count: number of draws.
        n: size of the vocabulary, at least 2.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check(n)
    drawn = rng.poisson(math.log(n), size=count)
    return np.where((drawn >= 1) & (drawn < n), drawn, n).astype(np.int64)


def poisson_quantile(uniform: FloatArray, n: int) -> IntArray:
    """Invert the law of K: the k with P(K < k) ≤ u < P(K ≤ k), u in [0, 1); same shape, int64.

    Raises:
        ParameterError: for fewer than two words.
    """
    steps = np.cumsum(candidate_weights(n))
    position = np.searchsorted(steps, uniform, side="right")
    return np.where(position < steps.size, position + 1, n).astype(np.int64)
