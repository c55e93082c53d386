"""Bounds on the rounding errors of float64, after Higham (2002).

Accuracy and Stability of Numerical Algorithms, 2nd ed.: fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u (2.4);
a product of k factors (1 + δ)^±1 is 1 + θ, |θ| ≤ γ_k = ku/(1 − ku) (Lemma 3.1); so a sum of k
numbers is off by at most γ_{k−1} times the sum of their absolute values, in any order (4.4).
"""

from __future__ import annotations

UNIT = 2.0**-53
"""u: the largest relative error of one rounded operation."""
ELEMENTARY = 8.0 * UNIT
"""Assumed of exp, log, expm1 and log1p of NumPy and the C library: relative error of a result.

Four units in the last place; NumPy tests its own to be within four, the common libraries stay
within one.
"""


def gamma(operations: float, unit: float = UNIT) -> float:
    """γ_k = k·u/(1 − k·u), rounded up.

    Args:
        operations: k ≥ 0, with k·u < ½.
        unit: u; 2^−24 for float32.
    """
    terms = operations * unit
    return terms / (1.0 - terms) * (1.0 + 8.0 * UNIT)
