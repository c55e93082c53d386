"""The noise scale of the truncated Gumbel mechanism and where it exists (Xu et al. 2021, Alg. 2).

    α = (ε − 2(1 + ln n)/Δ₀)/3,   b = 2Δ / min{W₀(2αΔ), ln(αΔ₀)},

Δ the diameter and Δ₀ the separation of the vocabulary. b > 0 needs αΔ₀ > 1, that is
ε > (5 + 2 ln n)/Δ₀; the published condition, ε > 2(1 + ln n)/Δ₀, only makes α > 0.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import wrightomega

from dpcore.errors import EpsilonError


def lowest_epsilon(n: int, separation: float) -> float:
    """(5 + 2 ln n)/Δ₀: the scale exists for larger ε only."""
    return (5.0 + 2.0 * math.log(n)) / separation


def published_condition(n: int, separation: float) -> float:
    """2(1 + ln n)/Δ₀: the bound on ε that the paper states."""
    return 2.0 * (1.0 + math.log(n)) / separation


def low_reason(n: int, separation: float) -> str:
    """Why ε must be larger than `lowest_epsilon`, with the paper's own number."""
    return (
        "(5 + 2 ln n)/Δ₀; the paper's own condition, > "
        f"{published_condition(n, separation):.6g}, leaves a gap in which its formula gives a "
        "negative scale"
    )


def scale(epsilon: float, n: int, separation: float, diameter: float) -> float:
    """b of Algorithm 2, in the units of the distances.

    Args:
        epsilon: ε > (5 + 2 ln n)/Δ₀.
        n: words of the vocabulary.
        separation: Δ₀, the smallest non-zero distance (or a lower bound).
        diameter: Δ, the largest distance (or an upper bound).

    Raises:
        EpsilonError: ε is not above the bound, or not finite.
    """
    low = lowest_epsilon(n, separation)
    if not low < epsilon < math.inf:
        msg = (
            f"epsilon of truncated-gumbel must be a finite number > {low:.6g} "
            f"({low_reason(n, separation)}), got {epsilon:g}"
        )
        raise EpsilonError(msg)
    # αΔ₀ = 1 + excess: nothing cancels just above the bound, and nothing overflows far above it.
    with np.errstate(over="ignore"):
        excess = float(np.float64(epsilon - low) * separation / 3.0)
    if excess < 1e300:
        log_product = math.log1p(excess)
    else:
        log_product = math.log(epsilon) + math.log(separation) - math.log(3.0)
    # W₀(x) solves w + ln w = ln x, which is Wright's ω at ln x: no huge x is ever formed.
    lambert = float(wrightomega(log_product + math.log(2.0 * diameter / separation)))
    return 2.0 * diameter / min(lambert, log_product)
