"""Rays towards a target, for an event that few rays of the noise lead to.

A word that seldom comes out is seldom met by a ray of the noise, so that the mean over rays says
0 of what is 10⁻⁴. Here some rays are drawn towards the word (`dpcore.noise.towards`), at two
strengths, beside the plain ones, and every ray counts with the weight

    1 / Σ_k α_k·ρ_k,     ρ_k the density of tilt k relative to the noise, ρ_0 = 1,

α_k the share of the rays that were drawn with tilt k (the balance heuristic: Veach and Guibas
1995, Section 9.2.2; Owen and Zhou 2000, Section 4, deterministic mixture). No weight exceeds 1/α_0:
where plain rays do well, little is lost.

The strengths are shares of how many standard deviations the projection of the noise on the aim
must have before a target that lies as far out as this one reaches as far as the farthest: measured
on some rays, so that they are right for any vocabulary. The aim is the target seen from the middle
of all targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.envelope import Steps
from dpcore.noise.radial import Radial
from dpcore.noise.towards import (
    exponential_directions,
    exponential_ratio,
    exponents,
    shifts,
    sphere_ratio,
)

if TYPE_CHECKING:
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.additive.envelope import Lines

_STRENGTHS = np.array([0.45, 0.75])
_LEAST = 50  # rays drawn towards a target, if there are as many plain ones
_PLAIN = 2  # plain rays for each of them, where there are more,
_PLAIN_LAPLACE = 4  # and for the family whose rays need a product with the vocabulary of their own


@dataclass(frozen=True, eq=False)
class Towards:
    """Rays towards one target, and the weights of these and of the plain ones.

    Attributes:
        steps: the output along each ray towards the target, M rays.
        weights: of these rays, shape (M,).
        plain: weights of the plain rays, shape (N,).
    """

    steps: Steps
    weights: FloatArray
    plain: FloatArray


def rays_towards(
    mechanism: RadialMechanism,
    bundle: rays.Bundle,
    ranking: Ranking,
    target: int,
    rng: np.random.Generator,
    *,
    kept: bool = True,
) -> Towards | None:
    """Rays from one origin towards a target, to be weighed together with those of a bundle.

    Args:
        mechanism: whose noise the bundle is of.
        bundle: N plain rays.
        ranking: the targets by distance from the origin.
        target: index.
        rng: source of randomness.
        kept: whether the product of the bundle may be used, which is then kept.

    Returns:
        None where there is nothing to aim at: the target lies in the middle of all.
    """
    plain = bundle.unit.shape[0]
    laplace = mechanism.family is Radial.LAPLACE
    count = min(plain, max(_LEAST, plain // (_PLAIN_LAPLACE if laplace else _PLAIN)))
    away = bundle.targets[target] - bundle.centre
    aim = mechanism.shaped(away[None])[0]
    length = float(np.sqrt(aim @ aim))
    if not length > 1e-6 * bundle.norm:
        return None
    dimension = mechanism.dimension
    # ⟨noise, away⟩ has standard deviation length/√d for a noise of length 1 on the sphere.
    spread = length / np.sqrt(dimension)
    if laplace:
        spread *= np.sqrt(2.0 / dimension)
    strengths = _STRENGTHS * bundle.farthest / spread
    # The strengths take turns, so that their shares are fixed and not random: the balance heuristic
    # needs the shares, and fixed ones have no variance.
    which = np.arange(count) % strengths.size
    shares = np.bincount(which, minlength=strengths.size) / plain
    if laplace:
        theta = exponents(strengths, aim / length)
        unit = exponential_directions(rng, theta[which])
        ratios = exponential_ratio(theta, np.concatenate((bundle.unit, unit)))
        lines = _lines(mechanism, bundle, ranking, unit)
    else:
        a = shifts(strengths, dimension)
        amounts, along = a[which], bundle.unit @ away / length
        lengths = np.sqrt(1.0 + amounts * (2.0 * along[:count] + amounts))
        shift = mechanism.shaped(aim[None])[0] / length
        cosines = np.concatenate((along, (along[:count] + amounts) / lengths))
        ratios = sphere_ratio(a, cosines, dimension)
        if kept:
            unit, lines = bundle.shifted(ranking, shift, amounts, lengths, keep=mechanism.keep)
        else:
            unit = (bundle.unit[:count] + amounts[:, None] * shift) / lengths[:, None]
            lines = _lines(mechanism, bundle, ranking, unit)
    # Weights are relative: N plain rays and the rays of each tilt, over N.
    weights = 1.0 / (1.0 + shares @ ratios)
    return Towards(mechanism.steps(rng, lines, unit), weights[plain:], weights[:plain])


def _lines(
    mechanism: RadialMechanism, bundle: rays.Bundle, ranking: Ranking, unit: FloatArray
) -> Lines:
    return rays.from_word(unit, bundle.targets, ranking, keep=mechanism.keep, norm=bundle.norm)
