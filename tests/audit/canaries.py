"""Laws and samplers that are broken in a known way, and a few that are exactly tight.

Log-laws have shape (n, n): row w, column y, from the matrix of distances alone.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from dpcore.arrays import FloatArray
from dpcore.mechanisms.exponential.tem import tem_gamma


def identity(n: int) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(np.eye(n))


def constant(n: int) -> FloatArray:
    return np.full((n, n), -np.log(n))


def randomised_response(n: int, epsilon: float) -> FloatArray:
    return log_softmax(epsilon * np.eye(n), axis=1)


def exponential(distance: FloatArray, epsilon: float, *, halved: bool = True) -> FloatArray:
    """The exponential mechanism; without the factor 2 its true ε is up to 2ε."""
    return log_softmax(-(epsilon / 2 if halved else epsilon) * distance, axis=1)


def tem(distance: FloatArray, epsilon: float, beta: float = 0.001) -> FloatArray:
    gamma = tem_gamma(epsilon, len(distance), beta)
    return log_softmax(-epsilon / 2 * np.minimum(distance, gamma), axis=1)


def tem_wrong_bottom(distance: FloatArray, epsilon: float, beta: float = 0.001) -> FloatArray:
    """⊥ has the score of n/|L| words in place of n − |L|."""
    n = len(distance)
    gamma = tem_gamma(epsilon, n, beta)
    scores = -epsilon / 2 * distance
    for row, apart in zip(scores, distance, strict=True):
        outside = apart > gamma
        if outside.any():
            inside = n - outside.sum()
            row[outside] = -epsilon / 2 * gamma + np.log(n / inside) - np.log(outside.sum())
    return log_softmax(scores, axis=1)


def tem_with_misses(
    distance: FloatArray, epsilon: float, missed: NDArray[np.bool_], beta: float = 0.001
) -> FloatArray:
    """Neighbours that an approximate index misses count as beyond γ."""
    gamma = tem_gamma(epsilon, len(distance), beta)
    return log_softmax(-epsilon / 2 * np.where(missed, gamma, np.minimum(distance, gamma)), axis=1)


def vickrey_without_the_word(
    rng: np.random.Generator, points: FloatArray, word: int, epsilon: float, draws: int
) -> NDArray[np.int64]:
    """The nearest word on a line to the noisy one, but never the word itself."""
    noisy = points[word] + rng.laplace(scale=1 / epsilon, size=draws)
    away = np.abs(noisy[:, None] - points)
    away[:, word] = np.inf
    return away.argmin(axis=1)


def renormalised(rng: np.random.Generator, root: FloatArray, draws: int) -> FloatArray:
    """Mahalanobis noise whose direction is normalised again after S^{1/2}: the radius is lost."""
    d = len(root)
    turned = rng.standard_normal((draws, d)) @ root
    unit = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return unit * rng.gamma(d, size=(draws, 1))


def broadcast(rng: np.random.Generator, draws: int, d: int, batch: int) -> FloatArray:
    """One noise vector for each batch of rows."""
    z = rng.standard_normal((draws // batch, d))
    z *= rng.gamma(d, size=(len(z), 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    return np.repeat(z, batch, axis=0)
