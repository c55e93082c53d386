"""How far out truncated Laplace noise must be cut off, and what a cut really costs.

A difference of two vectors moves the support of the noise in every coordinate at once, and an
output outside the other vector's support gives the vector away: that probability is δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.noise.truncated_laplace import shifted_out

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Truncation:
    """Truncated Laplace noise: rate α (1/unit), cut A (unit) and mass 1 − e^{−αA}."""

    alpha: float
    cut: float
    mass: float

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate."""
        x = self.alpha * self.cut
        if x < 1e-4:  # nearly uniform
            return self.cut / math.sqrt(3.0)
        tail = x * (x + 2.0) * math.exp(-x) / -math.expm1(-x) if x < 700 else 0.0
        return math.sqrt(max(2.0 - tail, 0.0)) / self.alpha


def published_truncation(
    epsilon: float, root: float, norm: float, dimension: int, dummies: int = 0
) -> Truncation:
    """Huang et al. 2024, Definition of TrLaplace: α = ε/Δ₁, A = −ln(1 − r)/α.

    Args:
        epsilon: nominal ε.
        root: d-th root of δ.
        norm: C.
        dimension: d, the number of real coordinates.
        dummies: coordinates added (and thrown away) so that r < 1.

    Raises:
        ParameterError: r = ε/(2δ^{1/d′}√d′) ≥ 1.
    """
    total = dimension + dummies
    r = epsilon / largest_epsilon(root, dimension, dummies)
    if not r < 1:
        msg = (
            f"epsilon of trlaplace must be < {largest_epsilon(root, dimension, dummies):.6g} "
            f"(2·δ^(1/d)·√d, so that r < 1), got {epsilon:g}"
        )
        raise ParameterError(msg)
    alpha = epsilon / (2.0 * math.sqrt(total) * norm)
    return Truncation(alpha, -math.log1p(-r) / alpha, r)


def largest_epsilon(root: float, dimension: int, dummies: int = 0) -> float:
    """2·δ^{1/d′}·√d′: ε must stay below it (δ is fixed, d′ = d + dummies)."""
    total = dimension + dummies
    return float(2.0 * root ** (dimension / total) * math.sqrt(total))


def log_survival(shifts: FloatArray, counts: FloatArray, noise: Truncation) -> FloatArray:
    """Σ counts_i·ln(1 − m(shift_i)) along the last axis: ln(1 − δ) of this shift."""
    with np.errstate(divide="ignore"):
        per_coordinate = np.log1p(-np.minimum(shifted_out(shifts, noise.alpha, noise.cut), 1.0))
    return np.asarray((counts * per_coordinate).sum(axis=-1))


def worst_delta(noise: Truncation, norm: float, dimension: int) -> float:
    """Exact δ at the nominal ε for the worst difference of L2 norm 2C.

    Within the common support the loss is at most α‖v‖₁ ≤ ε, so δ is the mass outside it,
    1 − Π(1 − m(v_i)). Where A ≥ 2C, −ln(1 − m) as a function of v_i² is concave and then convex,
    so the worst difference has equal coordinates except at most one larger: the search is over
    that one. For a shorter A it is the δ of a difference that exists: a lower bound.
    """
    if dimension == 1:
        return float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))
    counts = np.array([1.0, dimension - 1.0])

    def survival(angle: FloatArray) -> FloatArray:
        """Log survival where one coordinate is ‖v‖·cos(angle), the others are equal."""
        one = 2.0 * norm * np.cos(angle)
        rest = 2.0 * norm * np.sin(angle) / math.sqrt(dimension - 1)
        return log_survival(np.stack((one, rest), axis=-1), counts, noise)

    # Each grid lies between the neighbours of the best point of the one before.
    low, high, found = 0.0, math.acos(1.0 / math.sqrt(dimension)), 0.0
    for _ in range(3):
        grid = np.linspace(low, high, 1001)
        values = survival(grid)
        best = int(values.argmin())
        found = min(found, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    return float(-math.expm1(found))


@lru_cache(maxsize=4096)
def corrected_truncation(epsilon: float, delta: float, norm: float, dimension: int) -> Truncation:
    """The shortest A whose worst δ is at most δ, at the rate α of i.i.d. Laplace.

    For ε ≲ √d the worst difference is equal in all coordinates, and
    αA = ln(1 + expm1(ε/d)/(2m*)), m* = 1 − (1 − δ)^{1/d}. Above, a difference that is
    concentrated in one coordinate is worse, and A grows until that one is covered too.
    """
    alpha = epsilon / (2.0 * math.sqrt(dimension) * norm)
    single = -math.expm1(math.log1p(-delta) / dimension)
    low = _log1p_ratio(epsilon / dimension, single)

    def noise(x: float) -> Truncation:
        return Truncation(alpha, x / alpha, -math.expm1(-x))

    if worst_delta(noise(low), norm, dimension) <= delta * (1 + 1e-12):
        return noise(low)
    # One coordinate alone moved by 2C costs at most delta here, and all the others together too.
    high = 1.0 + max(low, _log1p_ratio(epsilon / math.sqrt(dimension), single))
    while worst_delta(noise(high), norm, dimension) > delta:
        high = 1.01 * high + 1.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if worst_delta(noise(middle), norm, dimension) <= delta:
            high = middle
        else:
            low = middle
    return noise(high)


def _log1p_ratio(x: float, m: float) -> float:
    """ln(1 + expm1(x)/(2m)) without overflow, x > 0."""
    ratio = math.expm1(x) / (2.0 * m) if x < 700 else math.inf
    if ratio < math.inf:
        return math.log1p(ratio)
    return x + math.log(-math.expm1(-x)) - math.log(2.0 * m)
