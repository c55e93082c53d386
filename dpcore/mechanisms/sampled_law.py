"""How far the law that is sampled may lie from the law that is stated, where it has a closed form.

Draws are exactly proportional to weights (`dpcore.noise.discrete`), so all that is off are the
weights, and these by the rounding of distances, exponents and exponentials. If each weight is
within a factor e^±τ of the true one, their sum is too, and a probability is within e^±2τ.

With u = 2^−53, d coordinates and γ_k = ku/(1 − ku) (Higham 2002, Lemma 3.1): a Euclidean distance
takes d differences, d squares, d − 1 additions and a root, hence a relative error of at most
γ_{d/2+3}; Manhattan takes γ_d, Chebyshev γ_1. An angle is off by at most γ_{2d+48} radians: the
lengths that divide the rows by γ_{d/2+4} each, which shows as twice their difference where the
angle is 0; chord and sum by γ_{d/2+3} each; the rest are single roundings and the arctangent. Rows
are float32, so that nothing under- or overflows.
"""

from __future__ import annotations

import math

from dpcore.guarantee import Rounding
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.rounding import ELEMENTARY, gamma

_SINGLE = 9  # a few single roundings on the way from a distance to its exponent, and back from ln


def tem_rounding(metric: Metric, dimension: int, exponent: float, cap: float) -> Rounding:
    """For weights exp(−min(η·D, c)).

    Rounding D and η·D moves the minimum of the two by at most γ·c, since an exponent beyond c does
    not count. c is taken as it was computed: the theorem holds for every threshold.

    Args:
        metric: of D.
        dimension: d.
        exponent: η.
        cap: c.
    """
    if metric is Metric.ANGULAR:
        moved = min(cap, exponent * gamma(2 * dimension + 48)) + gamma(_SINGLE) * cap
    else:
        terms = {Metric.EUCLIDEAN: 0.5 * dimension, Metric.MANHATTAN: dimension}
        moved = gamma(terms.get(metric, 0) + _SINGLE) * cap
    return weights_rounding(moved + gamma(_SINGLE))


def repaired_rounding(dimension: int, n: int, heads: int, reach: float) -> Rounding:
    """For weights e^{−s·D}·Σ_{k ≥ i} π_k/Z_k.

    The exponent is off by at most γ·s·Δ. Z_k is a sum of e^{−x_j} with x_0 = 0: changing the x_j by
    a factor 1 ± γ changes ln Z_k by at most γ·Σ p_j x_j, p_j = e^{−x_j}/Z_k, and that mean is at
    most ln k (it is the entropy of p less ln Z_k). Then sums of up to n terms are rounded. The π_k
    and the order of words are taken as they were computed: the theorem holds for all.

    Args:
        dimension: d.
        n: words.
        heads: how many of the nearest have a law of their own.
        reach: s·Δ, Δ the largest distance.
    """
    relative = gamma(0.5 * dimension + _SINGLE)
    sums = gamma(n + heads + _SINGLE) + ELEMENTARY
    return weights_rounding(relative * (reach + math.log(n) + 1.0) + sums)


def weights_rounding(moved: float = 0.0) -> Rounding:
    """For weights whose exponents are off by so much; an exponential is rounded on top of that."""
    # A factor e^±τ for a weight and for the sum: 2τ for a probability, 4τ for the ratio of two.
    tau = moved + ELEMENTARY
    return Rounding(
        relative=2.0 * tau,
        reason=(
            "Words are drawn exactly in proportion to computed weights (in whole numbers, with as "
            "many random bits as it takes), and float64 computes each weight, and so their sum, "
            f"to within a factor of 1 ± {tau:.2g}: the loss between two words may be larger by "
            f"{4.0 * tau:.2g}, and ε by that over their distance."
        ),
    )
