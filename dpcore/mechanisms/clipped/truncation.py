"""How far out truncated Laplace noise must be cut off, and what a cut really costs.

A difference of two vectors moves the support of the noise in every coordinate at once, and an
output outside the other vector's support gives the vector away: that probability is δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.bisection import safe_end
from dpcore.errors import ParameterError
from dpcore.lexicon.rounding import ELEMENTARY
from dpcore.noise.truncated_laplace import shifted_out

if TYPE_CHECKING:
    from collections.abc import Callable


_NEAR = 2e-11  # relative: where the bound on −ln(1 − δ) may stop
_ROUNDS = 12


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
    # Δ₁ = 2√d′·C; r = 1 − e^{−αA} is the mass that the cut keeps.
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
    1 − Π(1 − m(v_i)). Where A ≥ 2C the worst difference has equal coordinates but for at most one
    larger, and the search is over that one. With x = αv and K = 2e^{αA} − 1, the derivative of
    f = −ln(1 − m) is e^x/(K − e^x); f as a function of v² is concave where f′/x falls, which is
    where K(x − 1) + e^x < 0. That rises with x from 1 − K < 0, so f is concave up to some x₀ < 1
    and convex beyond. Of two unequal coordinates below x₀, and of two above it, a change of v_i²
    that keeps the norm raises the sum: so all below are equal, and at most one is above.

    What is returned is the δ of a difference that was found: a lower bound of the worst, which is
    exact but for rounding if A ≥ 2C (`worst_delta_bound` bounds it from above).
    """
    if dimension == 1:
        return float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))

    def survival(angle: FloatArray) -> FloatArray:
        return -_log_loss(angle, noise, norm, dimension)

    # Each grid lies between the neighbours of the best point of the one before.
    low, high, least = 0.0, math.acos(1.0 / math.sqrt(dimension)), 0.0
    for _ in range(3):
        grid = np.linspace(low, high, 1001)
        values = survival(grid)
        best = int(values.argmin())
        least = min(least, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    return float(-math.expm1(least))


def _coordinates(angle: FloatArray, norm: float, dimension: int) -> tuple[FloatArray, FloatArray]:
    """‖v‖·cos(angle), and the other coordinates, which are equal."""
    rest = 2.0 * norm * np.sin(angle) / math.sqrt(dimension - 1)
    return 2.0 * norm * np.cos(angle), rest


def _log_loss(angle: FloatArray, noise: Truncation, norm: float, dimension: int) -> FloatArray:
    """−ln(1 − δ) of that difference."""
    counts = np.array([1.0, dimension - 1.0])
    shifts = np.stack(_coordinates(angle, norm, dimension), axis=-1)
    return -log_survival(shifts, counts, noise)


def worst_delta_bound(noise: Truncation, norm: float, dimension: int) -> float:
    """An upper bound on δ at the nominal ε over all differences of L2 norm 2C; 1 if A < 2C.

    The search of `worst_delta` by branch and bound. Both coordinates, f and f′ are monotone in the
    angle, so that the derivative of the sum lies between two numbers on any interval; these bound
    the sum from its values at the ends. Intervals that may hold more than the best value are
    divided until the bound is as near as `_NEAR`. The values themselves are off by what an
    exponent of αA loses, and a few units more.
    """
    if not noise.cut >= 2.0 * norm:
        return 1.0
    most = float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))
    if dimension > 1:
        edges = np.linspace(0.0, math.acos(1.0 / math.sqrt(dimension)), 513)
        low, high = edges[:-1], edges[1:]
        best, bound = 0.0, math.inf
        for _ in range(_ROUNDS):
            left, right = (_log_loss(ends, noise, norm, dimension) for ends in (low, high))
            best = max(best, float(left.max()), float(right.max()))
            above = _above(low, high, left, right, noise, norm, dimension)
            bound = max(best, float(above.max()))
            open_ = above > best * (1.0 + _NEAR)
            if not open_.any():
                break
            steps = np.linspace(0.0, 1.0, 17)
            inner = low[open_, None] + steps * (high - low)[open_, None]
            low, high = inner[:, :-1].ravel(), inner[:, 1:].ravel()
        most = -math.expm1(-bound)
    rounding = ELEMENTARY * (2.0 * noise.alpha * noise.cut + 16.0)
    return min(most * (1.0 + rounding), 1.0)


def _above(
    low: FloatArray,
    high: FloatArray,
    left: FloatArray,
    right: FloatArray,
    noise: Truncation,
    norm: float,
    dimension: int,
) -> FloatArray:
    """A bound on −ln(1 − δ) over each interval of angles, from its values at the ends."""
    (one_low, rest_low), (one_high, rest_high) = (
        _coordinates(ends, norm, dimension) for ends in (low, high)
    )
    # By the angle the one coordinate changes by −‖v‖sin, the others together by √(d−1)‖v‖cos.
    fall_low, fall_high = 2.0 * norm * np.sin(low), 2.0 * norm * np.sin(high)
    rise_low, rise_high = (
        2.0 * norm * math.sqrt(dimension - 1) * np.cos(ends) for ends in (low, high)
    )
    # sin rises and cos falls with the angle in [0, π/2], so the ends bound every factor.
    steepest = rise_low * _slope(rest_high, noise) - fall_low * _slope(one_high, noise)
    flattest = rise_high * _slope(rest_low, noise) - fall_high * _slope(one_low, noise)
    width = high - low
    from_left = left + np.maximum(steepest, 0.0) * width
    from_right = right + np.maximum(-flattest, 0.0) * width
    return np.asarray(np.minimum(from_left, from_right))


def _slope(shift: FloatArray, noise: Truncation) -> FloatArray:
    """f′ = α·e^{αv}/(2e^{αA} − 1 − e^{αv}) at v ≤ A; e^{αA} taken out."""
    inside = np.exp(noise.alpha * (shift - noise.cut))
    return np.asarray(noise.alpha * inside / (2.0 - math.exp(-noise.alpha * noise.cut) - inside))


@lru_cache(maxsize=4096)
def corrected_truncation(epsilon: float, delta: float, norm: float, dimension: int) -> Truncation:
    """The shortest A whose worst δ is at most δ, at the rate α of i.i.d. Laplace, but for 1e-9/α.

    For ε ≲ √d the worst difference is equal in all coordinates, and
    αA = ln(1 + expm1(ε/d)/(2m*)), m* = 1 − (1 − δ)^{1/d}. Above, a difference that is
    concentrated in one coordinate is worse, and A grows until that one is covered too.
    """
    alpha = epsilon / (2.0 * math.sqrt(dimension) * norm)
    # Equal coordinates: (1 − m)^d = 1 − δ, each moved by v = 2C/√d, so αv = ε/d.
    single = -math.expm1(math.log1p(-delta) / dimension)
    low = _log1p_ratio(epsilon / dimension, single)

    def noise(x: float) -> Truncation:
        return Truncation(alpha, x / alpha, -math.expm1(-x))

    if worst_delta(noise(low), norm, dimension) <= delta * (1 + 1e-12):
        return _safely(noise, low, delta, norm, dimension)
    # One coordinate alone moved by 2C costs at most delta here, and all the others together too.
    high = 1.0 + max(low, _log1p_ratio(epsilon / math.sqrt(dimension), single))
    while worst_delta(noise(high), norm, dimension) > delta:
        high = 1.01 * high + 1.0

    def enough(x: FloatArray) -> bool:
        return worst_delta(noise(float(x)), norm, dimension) <= delta

    x = float(safe_end(enough, high, low, within=1e-12))
    return _safely(noise, x, delta, norm, dimension)


def _safely(
    noise: Callable[[float], Truncation], x: float, delta: float, norm: float, dimension: int
) -> Truncation:
    """The noise at αA = x, or a little beyond, whose bound on δ is at most δ."""
    margin = 1e-10
    while worst_delta_bound(noise(x), norm, dimension) > delta:
        x, margin = x + margin, 2.0 * margin
    return noise(x)


def _log1p_ratio(x: float, m: float) -> float:
    """ln(1 + expm1(x)/(2m)) without overflow, x > 0."""
    ratio = math.expm1(x) / (2.0 * m) if x < 700 else math.inf
    if ratio < math.inf:
        return math.log1p(ratio)
    return x + math.log(-math.expm1(-x)) - math.log(2.0 * m)
