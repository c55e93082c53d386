"""Sensitivity of a linear layer: how far its output moves when its input moves by one.

Δ_{p,q} = max ‖Wα‖_q over ‖α‖_p ≤ 1 (Lecuyer et al. 2019, Section III.B): p is the norm that
measures an attack, q the norm that the noise is calibrated to, 1 for Laplace and 2 for Gaussian.
A convex function is largest at a corner of the ball, so that

    p = 1    the largest q-norm of a column of W;
    q = ∞    the largest dual norm of a row;
    p = q = 2    the largest singular value;

and for (2, 1), (∞, 1) and (∞, 2) a maximum over all vectors of signs. No way is known that avoids
their number (computing it is NP-hard, Rohn 2000), so that long ones are refused and not estimated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.limits import MAX_SIGNS

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray


NORMS = (1.0, 2.0, math.inf)


def norm_of(value: float) -> float:
    """A norm as a float.

    Raises:
        ParameterError: it is not 1, 2 or infinity.
    """
    if value not in NORMS:
        raise ParameterError(f"the norm of an attack must be 1, 2 or infinity, got {value}")
    return float(value)


def sensitivity(matrix: FloatArray, attack: float, noise: float) -> float:
    """Δ_{p,q} of x ↦ Wx, exact but for rounding, which is upwards.

    Args:
        matrix: W, shape (m, d), finite.
        attack: p, one of `NORMS`.
        noise: q, one of `NORMS`.

    Raises:
        ParameterError: the matrix is not a finite matrix, or a maximum over more than
            `limits.MAX_SIGNS` signs would be needed.
    """
    p, q = norm_of(attack), norm_of(noise)
    w = np.asarray(matrix, dtype=np.float64)
    if not (w.ndim == 2 and w.size and np.isfinite(w).all()):
        raise ParameterError(f"a layer is a finite matrix of shape (m, d), got shape {w.shape}")
    if p == 1:
        lengths = _norms(w.T, q)
    elif q == math.inf:
        lengths = _norms(w, 2.0 if p == 2 else 1.0)
    elif p == q == 2:
        lengths = np.asarray(np.linalg.norm(w, 2), dtype=np.float64)
    elif p == 2:  # ‖Wα‖₁ = max over signs s of ⟨Wᵀs, α⟩
        lengths = _norms(_signs(len(w), p, q) @ w, 2.0)
    elif q == 1 and len(w) < w.shape[1]:  # Δ_{∞,1} of W and of its transpose are equal
        lengths = _norms(_signs(len(w), p, q) @ w, 1.0)
    else:
        lengths = _norms(_signs(w.shape[1], p, q) @ w.T, q)
    # A sum of n terms is off by at most about n·2⁻⁵³ of itself: eight times that is added.
    return float(np.max(lengths)) * (1.0 + (sum(w.shape) + 8) * 2.0**-50)


def identity_sensitivity(dimension: int, attack: float, noise: float) -> float:
    """Δ_{p,q} of noise in the input itself: 1 for p ≤ q, else d^(1/q − 1/p)."""
    p, q = norm_of(attack), norm_of(noise)
    if not dimension >= 1:
        raise ParameterError(f"an input has at least one coordinate, got {dimension}")
    return 1.0 if p <= q else float(dimension ** (1.0 / q - 1.0 / p))


def _norms(rows: FloatArray, order: float) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, ord=order, axis=1))


def _signs(count: int, p: float, q: float) -> FloatArray:
    """All vectors of signs up to a common one, shape (2^(count − 1), count)."""
    if not count <= MAX_SIGNS:
        raise ParameterError(
            f"the exact sensitivity from norm {p:g} to norm {q:g} is a maximum over 2^{count} "
            f"vectors of signs, and up to 2^{MAX_SIGNS} are tried; measure the attack in norm 1, "
            "use Gaussian noise against norm 2, or put the noise in the input"
        )
    # s and −s give the same norm: the last sign stays +, as no number reaches its bit.
    bits = np.arange(2 ** (count - 1))[:, None] >> np.arange(count)
    return np.where(bits & 1, -1.0, 1.0)
