"""Privacy profiles: the smallest δ that is true at each ε, for noise added to vectors.

The profile of two vectors under noise decides everything that any observer can do: for every test
the share of false alarms and of misses follow from it. Each value comes between two others: bounds
that hold the numerical error, but for round noise (`spherical`), where that is estimated by a
coarser quadrature, as `Profile.method` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, largest
from dpcore.audit.profiles.coordinates import product_loss
from dpcore.audit.profiles.spherical import spherical_delta
from dpcore.errors import ParameterError
from dpcore.lexicon.rounding import ELEMENTARY
from dpcore.mechanisms.clipped.gaussian import gaussian_log_delta_bounds

_SHARES = 9


@dataclass(frozen=True, eq=False)
class Curve:
    """A function known between two bounds, on a grid.

    Attributes:
        x: where, shape (E,): ε of a profile, the share of false alarms of a trade-off.
        low: lower bound, shape (E,).
        high: upper bound, shape (E,).
    """

    x: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def value(self) -> FloatArray:
        """The middle."""
        return 0.5 * (self.low + self.high)

    @property
    def error(self) -> float:
        """Half the largest distance of the bounds."""
        return float(0.5 * (self.high - self.low).max())


@dataclass(frozen=True, eq=False)
class Profile:
    """δ as a function of ε for one pair of vectors; the same in both orders.

    Attributes:
        title: the noise and the pair, in words.
        bounds: ε ↦ lower and upper bound on δ(ε), arrays to arrays.
        method: how it is computed.
    """

    title: str
    bounds: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    method: str

    def __call__(self, epsilons: FloatArray | list[float]) -> Curve:
        """δ at each ε ≥ 0.

        Raises:
            ParameterError: an ε is negative or not finite.
        """
        values = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        if not (values.ndim == 1 and np.all((values >= 0) & (values < math.inf))):
            raise ParameterError("a profile is taken at finite epsilon >= 0")
        low, high = self.bounds(values)
        return Curve(values, low, high)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on δ at one ε."""
        curve = self([epsilon])
        return float(curve.low[0]), float(curve.high[0])


def _positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise ParameterError(f"{name} must be a finite number > 0, got {value}")


def gaussian(sigma: float, distance: float) -> Profile:
    """Gaussian noise N(0, σ²I) and two vectors at this L2 distance (Balle and Wang 2018, Thm 8)."""
    _positive(sigma=sigma, distance=distance)

    def bounds(epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = gaussian_log_delta_bounds(epsilons, sigma, distance)
        return np.exp(low) * (1 - ELEMENTARY), np.minimum(np.exp(high) * (1 + ELEMENTARY), 1.0)

    return Profile(f"Gaussian noise, σ = {sigma:.4g}, distance {distance:.4g}", bounds, "formula")


def l2_laplace(eta: float, distance: float, dimension: int) -> Profile:
    """Noise ∝ exp(−η‖z‖₂) in d dimensions and two vectors at this L2 distance."""
    _positive(eta=eta, distance=distance)
    return Profile(
        f"L2-Laplace noise, rate {eta:.4g}, distance {distance:.4g}, d = {dimension}",
        lambda epsilons: spherical_delta(epsilons, eta, distance, dimension),
        "one quadrature; its error is estimated by a coarser one",
    )


def product(alpha: float, cut: float, shift: FloatArray) -> Profile:
    """I.i.d. Laplace noise of rate α, cut off at ±A (∞: not at all), and a difference v.

    Args:
        alpha: α > 0.
        cut: A > 0, ∞ allowed.
        shift: v, shape (d,), not zero.
    """
    _positive(alpha=alpha)
    vector = np.asarray(shift, dtype=np.float64)
    if not (cut > 0 and vector.ndim == 1 and np.isfinite(vector).all() and vector.any()):
        raise ParameterError("a product profile needs a cut > 0 and a finite non-zero shift (d,)")
    law = product_loss(alpha, cut, vector)
    kind = "Laplace noise" if math.isinf(cut) else f"Laplace noise cut off at {cut:.4g}"
    return Profile(
        f"{kind}, rate {alpha:.4g}, L1 difference {np.abs(vector).sum():.4g}, d = {vector.size}",
        law.delta,
        "FFT of the losses of the coordinates, rounded to both sides",
    )


def spread_shift(norm: float, dimension: int, share: float, power: int = 2) -> FloatArray:
    """A vector of this Lp norm whose first coordinate holds `share` of the p-th power.

    The others are equal: share = 1/d is the equal spread, 1 a single coordinate.
    """
    if dimension == 1:
        return np.array([norm])
    shift = np.full(dimension, norm * ((1.0 - share) / (dimension - 1)) ** (1.0 / power))
    shift[0] = norm * share ** (1.0 / power)
    return shift


def searched_shares(dimension: int) -> list[float]:
    """Shares of the first coordinate in the differences of `worst_product`, ascending."""
    if dimension == 1:
        return [1.0]
    shares: list[float] = np.geomspace(1.0 / dimension, 1.0, _SHARES).tolist()
    return shares


def worst_product(
    alpha: float,
    cut: float,
    norm: float,
    dimension: int,
    epsilons: FloatArray,
    *,
    power: int = 2,
) -> Curve:
    """The largest δ at each ε over differences of this Lp norm, as far as they were searched.

    Searched are differences with one coordinate larger than the others, which are equal, from the
    equal spread to a single coordinate. For p = 2, at the ε at which α‖v‖₁ ≤ ε for all of them and
    A ≥ norm, the worst of all differences is one of these (see `mechanisms.truncation`); at a
    smaller ε the curve is the δ of differences that exist: `low` bounds the worst from below.
    """
    curves = [
        product(alpha, cut, spread_shift(norm, dimension, share, power))(epsilons)
        for share in searched_shares(dimension)
    ]
    low, high = (np.max([getattr(c, side) for c in curves], axis=0) for side in ("low", "high"))
    return Curve(curves[0].x, low, high)


def trade_off(profile: Profile, alarms: FloatArray, epsilons: FloatArray | None = None) -> Curve:
    """The smallest share of misses of any test that gives false alarms with share a.

    f(a) = sup_ε max(0, 1 − δ(ε) − e^ε·a, e^{−ε}(1 − δ(ε) − a)) over ε ≥ 0 (Dong, Roth, Su 2022,
    Proposition 6), for a pair whose profile is the same in both orders. The supremum over a grid
    is a lower bound; as δ falls with ε, each interval of the grid bounds it from above.

    Args:
        profile: of the pair.
        alarms: shares a in [0, 1], shape (A,).
        epsilons: ascending grid from 0; its last ε should leave δ at its limit.
    """
    shares = np.asarray(alarms, dtype=np.float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ParameterError("false alarms are shares between 0 and 1")
    grid = np.linspace(0.0, 12.0, 4801) if epsilons is None else np.asarray(epsilons)
    curve = profile(grid)
    low = _supremum(shares, grid, grid, 1.0 - curve.high)
    # δ beyond the grid is at least its limit; e^700 is near the largest float64.
    last = float(profile.bounds(np.array([700.0]))[0][0])
    # Between two points of the grid δ is at least its value at the right one, ε at least the left.
    kept = np.append(1.0 - curve.low[1:], 1.0 - last)
    high = _supremum(shares, grid, grid, kept)
    return Curve(shares, low, np.minimum(high, 1.0 - shares))


def _supremum(shares: FloatArray, up: FloatArray, down: FloatArray, kept: FloatArray) -> FloatArray:
    """max over the grid of the two lines, and 0, for each share, shape (A,)."""
    best = np.zeros(shares.size)
    for i, a in enumerate(shares):
        # e^ε·a is 0 for a = 0 also where e^ε overflows.
        with np.errstate(over="ignore"):
            first = kept - np.exp(up) * a if a > 0 else kept
        lines = np.maximum(first, np.exp(-down) * (kept - a))
        best[i] = max(0.0, largest(lines, "a share of misses")[1])
    return best
