"""How far the noise of an additive mechanism carries a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.noise.radial import Radial, radius_cdf
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore.arrays import FloatArray
    from dpcore.mechanisms.mechanism import Mechanism

_DIRECTIONS = 2_000
_ROUND = 1e-12


@dataclass(frozen=True)
class NoiseRadius:
    """Euclidean length of the noise at one ε, in the unit of the vectors.

    Attributes:
        low: 5 % of the draws are shorter.
        median: half of the draws are shorter.
        high: 95 % of the draws are shorter.
        exact: whether the quantiles are exact, or averaged over 2,000 directions of the noise.
    """

    low: float
    median: float
    high: float
    exact: bool


def noise_radii(
    mechanism: Mechanism, epsilons: Iterable[float], seed: int = 0
) -> list[NoiseRadius] | None:
    """The length of the noise at each ε, or None for a mechanism that moves no vector.

    None is the answer for mechanisms that choose among words directly (TEM, truncated Gumbel),
    truncate their noise, or add it to clipped or projected vectors, whose unit is another one.
    Where the noise is not round (Mahalanobis) its length is s·r·‖u‖ with a random ‖u‖, and
    P(length ≤ x) is averaged over directions. ε only sets s, so that the quantiles of r·‖u‖ are
    found once.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = [mechanism.check_epsilon(epsilon) for epsilon in epsilons]
    radial = mechanism.rays
    if radial is None or not radial.in_lexicon_space:
        return None
    unit = radial.directions(generator(seed, "noise radius"), _DIRECTIONS)
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    exact = bool(np.ptp(lengths) <= _ROUND)
    if exact:
        lengths = np.ones(1)
    low, median, high = (
        _quantile(radial.family, radial.dimension, lengths, share) for share in (0.05, 0.5, 0.95)
    )
    scales = [radial.scale(value) for value in values]
    return [NoiseRadius(s * low, s * median, s * high, exact) for s in scales]


def _quantile(family: Radial, dimension: int, lengths: FloatArray, share: float) -> float:
    """The x with mean over directions of P(r ≤ x/‖u‖) = share, at scale 1."""
    from scipy.optimize import brentq
    from scipy.special import gammaincinv

    # r² is twice a Gamma variable of shape d/2, or r is one of shape d (`dpcore.noise.radial`).
    if family is Radial.GAUSSIAN:
        plain = float(np.sqrt(2.0 * gammaincinv(dimension / 2, share)))
    else:
        plain = float(gammaincinv(dimension, share))
    # A quantile of the mixture lies between those along its shortest and its longest direction.
    low, high = plain * float(lengths.min()), plain * float(lengths.max())
    if lengths.size == 1 or low == high:
        return high
    return float(
        brentq(
            lambda x: float(radius_cdf(family, x / lengths, dimension).mean()) - share,
            low,
            high,
            xtol=1e-12 * high,
        )
    )
