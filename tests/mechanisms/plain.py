"""Plain twins that the fast routines must equal, written as the definitions are."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from dpcore.arrays import FloatArray


def lines_of_ray(
    targets: FloatArray, origin: FloatArray, unit: FloatArray
) -> tuple[NDArray[np.longdouble], NDArray[np.longdouble]]:
    """D_y² and a_y of every target in extended precision: the score at t is D_y² − 2t·a_y."""
    rows = targets.astype(np.longdouble) - origin.astype(np.longdouble)
    return (rows * rows).sum(axis=1), rows @ unit.astype(np.longdouble)


def nearest_on_ray(targets: FloatArray, origin: FloatArray, unit: FloatArray, length: float) -> int:
    """The target nearest to a point of a ray, ties to the lowest index."""
    squared, reach = lines_of_ray(targets, origin, unit)
    return int((squared - 2 * np.longdouble(length) * reach).argmin())


def two_nearest_on_ray(
    targets: FloatArray, origin: FloatArray, unit: FloatArray, length: float
) -> tuple[int, int, float, float]:
    """The two nearest targets and their distances."""
    rows = targets.astype(np.longdouble) - origin - np.longdouble(length) * unit
    squares = (rows * rows).sum(axis=1)
    first, second = np.argsort(squares, kind="stable")[:2]
    return int(first), int(second), float(np.sqrt(squares[first])), float(np.sqrt(squares[second]))


def line_law(
    points: FloatArray, origin: float, cdf: Callable[[FloatArray], FloatArray], scale: float = 1.0
) -> FloatArray:
    """P(y) of the nearest of several points on a line to origin + scale·noise, shape (n,)."""
    order = np.argsort(points, kind="stable")
    middles = (points[order][1:] + points[order][:-1]) / 2
    below = np.concatenate(([0.0], cdf((middles - origin) / scale), [1.0]))
    law = np.empty(points.size)
    law[order] = np.diff(below)
    return law


def delta_between(first: FloatArray, second: FloatArray, epsilon: float) -> float:
    """Hockey-stick divergence Σ(P − e^ε P′)₊."""
    return float(np.maximum(first - np.exp(epsilon) * second, 0.0).sum())


def laplace_cdf(x: FloatArray) -> FloatArray:
    """Laplace distribution at scale 1."""
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))


def truncated_laplace_cdf(x: FloatArray, alpha: float, cut: float) -> FloatArray:
    """Laplace noise of rate alpha, conditioned on [−cut, cut]."""
    inside = np.clip(x, -cut, cut)
    mass = -np.expm1(-alpha * np.abs(inside)) / -np.expm1(-alpha * cut)
    return 0.5 * (1 + np.sign(inside) * mass)


def tem_log_law(distance: FloatArray, epsilon: float, gamma: float) -> FloatArray:
    """ln P(y | w) of words at these distances: Carvalho et al. 2021, Algorithm 2, as a softmax."""
    return np.asarray(log_softmax(-0.5 * epsilon * np.minimum(distance, gamma)))
