"""How far a mechanism's randomness reaches at one ε, in the unit of the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.mechanisms.additive import RadialMechanism
from dpcore.mechanisms.tem import TruncatedExponential
from dpcore.mechanisms.truncated_gumbel import TruncatedGumbel
from dpcore.noise.radial import Radial

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.mechanisms.shared import SharedDirections


@dataclass(frozen=True)
class Reach:
    """A length to be compared with the distances of words.

    Attributes:
        length: in the unit of the vectors, > 0.
        meaning: what it is the length of, in a few words.
    """

    length: float
    meaning: str


def reach(mechanism: Mechanism, epsilon: float, shared: SharedDirections) -> Reach | None:
    """The length that says how far a mechanism looks at ε; None where there is none.

    * Noise on the vector: its mean length s(ε)·E r·E‖u‖, d/ε for multivariate Laplace noise in d
      dimensions. E‖u‖ is the mean over the shared directions where they are not of length 1.
    * TEM: the threshold γ, beyond which all words are equally likely.
    * Truncated Gumbel: the scale b of the noise on a distance.

    Raises:
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    if isinstance(mechanism, TruncatedExponential) and mechanism.metric == "euclidean":
        return Reach(mechanism.gamma(value), "threshold: words beyond it are equally likely")
    if isinstance(mechanism, TruncatedGumbel):
        return Reach(mechanism.noise_scale(value), "scale of the noise on a distance")
    if not isinstance(mechanism, RadialMechanism):
        return None
    if mechanism.dimension != mechanism.lexicon.dimension:
        return None  # the noise lies in another space
    unit = shared.bundle(mechanism).unit
    length = mechanism.scale(value) * _mean_radius(mechanism.family, mechanism.dimension)
    return Reach(
        float(length * np.linalg.norm(unit, axis=1).mean()), "mean length of the noise"
    )  # fmt: skip


def _mean_radius(family: Radial, dimension: int) -> float:
    """E r at scale 1: d of Gamma(d, 1), √2·Γ((d+1)/2)/Γ(d/2) of chi with d degrees."""
    if family is not Radial.GAUSSIAN:
        return float(dimension)
    from scipy.special import gammaln

    half = gammaln((dimension + 1) / 2) - gammaln(dimension / 2)
    return float(np.sqrt(2.0) * np.exp(half))
