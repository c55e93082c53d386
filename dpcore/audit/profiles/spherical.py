"""The privacy profile of noise ∝ exp(−η‖z‖₂) for two vectors at distance s, in any dimension.

The loss is L = η(‖z − v‖ − ‖z‖), and by symmetry P′(L > ε) = P(L < −ε), so that
δ(ε) = P(L > ε) − e^ε·P(L < −ε). With z = r·u, r ~ Gamma(d, 1/η), t = ⟨u, v⟩/s and c = ε/η < s,

    L > ε   ⇔  t < ((s² − c²)/(2r) − c)/s,
    L < −ε  ⇔  t > ((s² − c²)/(2r) + c)/s:

the angle is integrated exactly, (1 + t)/2 having a Beta((d − 1)/2, (d − 1)/2) law, and one integral
over the radius is left. The first right-hand side passes 1 at r = (s − c)/2, the second at
r = (s + c)/2; there the integrand may have a root singularity, which r = corner + q² removes.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray

_PANELS = 48
_WIDTH = 12.0  # standard deviations of the radius, and
_TAIL = 45.0  # as many times its scale: beyond them is less than 1e-18


def spherical_delta(
    epsilons: FloatArray, eta: float, distance: float, dimension: int
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound on δ(ε), each of the shape of `epsilons`.

    The bounds are the quadrature with 24 points a panel, less and plus ten times its difference
    from 12 points a panel and a rounding allowance: an estimate of the error, not a proof.

    Args:
        epsilons: ε ≥ 0, shape (E,).
        eta: η > 0, in 1/distance.
        distance: s ≥ 0.
        dimension: d.
    """
    fine, coarse = (
        np.array([_delta(float(e), eta * distance, dimension, order) for e in epsilons])
        for order in (24, 12)
    )
    error = np.where(epsilons < eta * distance, 10.0 * np.abs(fine - coarse) + 1e-14, 0.0)
    return np.maximum(fine - error, 0.0), np.minimum(fine + error, 1.0)


def _delta(epsilon: float, s: float, dimension: int, order: int) -> float:
    """δ in units in which η = 1."""
    from scipy.special import betainc, gammainc

    if epsilon >= s:
        return 0.0
    if dimension == 1:
        return -math.expm1(0.5 * (epsilon - s))
    shape = 0.5 * (dimension - 1)
    corner = 0.5 * (s - epsilon)
    r, weights = _radii(corner, dimension, order)
    # (1 + t)/2 below 1 − x, x = (s + ε)(1 − corner/r)/(2s); the Beta law is symmetric.
    x = np.clip((s + epsilon) * (r - corner) / r / (2.0 * s), 0.0, 1.0)
    first = float(gammainc(dimension, corner) + weights @ betainc(shape, shape, 1.0 - x))
    corner = 0.5 * (s + epsilon)
    r, weights = _radii(corner, dimension, order)
    x = np.clip((s - epsilon) * (r - corner) / r / (2.0 * s), 0.0, 1.0)
    second = float(weights @ betainc(shape, shape, x))
    return min(max(first - math.exp(epsilon) * second, 0.0), 1.0) if second > 0 else first


def _radii(corner: float, dimension: int, order: int) -> tuple[FloatArray, FloatArray]:
    """Radii beyond the corner, and weights that hold the Gamma(d, 1) density."""
    from scipy.special import gammaln

    high = max(dimension + _WIDTH * math.sqrt(dimension) + _TAIL, corner + _TAIL)
    low = max(corner, dimension - _WIDTH * math.sqrt(dimension))
    edges = np.linspace(math.sqrt(low - corner), math.sqrt(high - corner), _PANELS + 1)
    x, w = np.polynomial.legendre.leggauss(order)
    half = 0.5 * np.diff(edges)
    q = (half[:, None] * x + (edges[:-1] + half)[:, None]).ravel()
    r = corner + q * q
    density = np.exp((dimension - 1) * np.log(r) - r - gammaln(dimension))
    return r, (half[:, None] * w).ravel() * 2.0 * q * density
