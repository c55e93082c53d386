"""The noise layer of PixelDP: a linear first layer, and noise that hides a small change of x.

The layer releases Wx + Z. An attack α of ‖α‖_p ≤ L moves Wx by at most Δ_{p,q}·L, so that the
release, and whatever is computed from it, is (e, δ)-private with respect to such attacks for the
(e, δ) that the noise gives at that shift (Lecuyer et al. 2019, Section III.B). The scale is fixed
when the layer is made; (e, δ) and L can be traded against each other afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.sensitivity import identity_sensitivity, norm_of, sensitivity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray


class Accounting(StrEnum):
    """Which noise, and which theorem says what it gives."""

    LAPLACE = "laplace"
    """Laplace noise of scale b: (Δ_{p,1}·L/b, 0)."""
    CLASSICAL = "gaussian-classical"
    """Gaussian noise, σ = Δ_{p,2}·L·√(2 ln(1.25/δ))/e for e ≤ 1 (Dwork and Roth 2014, A.1)."""
    ANALYTIC = "gaussian-analytic"
    """Gaussian noise, with its exact δ at every e (Balle and Wang 2018, Theorem 8)."""

    @property
    def norm(self) -> float:
        """q, the norm in which this noise measures a shift."""
        return 1.0 if self is Accounting.LAPLACE else 2.0


@dataclass(frozen=True, eq=False)
class NoiseLayer:
    """x ↦ Wx + Z, Z independent noise of one scale in every coordinate.

    Attributes:
        accounting: the noise and its theorem.
        scale: b of Laplace noise or σ of Gaussian noise, in units of Wx.
        attack: p, the norm in which an attack on x is measured.
        dimension: d of x.
        matrix: W, shape (m, d), read-only; None for the identity, noise in the input.
        sensitivity: Δ_{p,q} of W, from the attack's norm p to the noise's norm q; computed.

    Raises:
        ParameterError: the scale is not a finite number above 0, the norm is not 1, 2 or
            infinity, or the sensitivity of W cannot be computed.
    """

    accounting: Accounting
    scale: float
    attack: float
    dimension: int
    matrix: FloatArray | None = None
    sensitivity: float = field(init=False)

    def __post_init__(self) -> None:
        """Check, and compute the sensitivity once."""
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        object.__setattr__(self, "attack", norm_of(self.attack))
        if not 0 < self.scale < math.inf:
            raise ParameterError(
                f"the scale of the noise must be a finite number > 0, got {self.scale}"
            )
        if self.matrix is None:
            largest = identity_sensitivity(self.dimension, self.attack, self.accounting.norm)
        else:
            # A copy: the sensitivity is that of these numbers, whatever becomes of the caller's.
            matrix = np.array(self.matrix, dtype=np.float64)
            largest = sensitivity(matrix, self.attack, self.accounting.norm)
            if matrix.shape[1] != self.dimension:
                raise ParameterError(
                    f"the layer takes {matrix.shape[1]} coordinates and the input has "
                    f"{self.dimension}"
                )
            matrix.setflags(write=False)
            object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "sensitivity", largest)

    def clean(self, inputs: ArrayLike) -> FloatArray:
        """Wx of k inputs of shape (k, d), without noise: shape (k, m).

        Raises:
            ParameterError: the inputs are not finite, or of another dimension.
        """
        x = np.asarray(inputs, dtype=np.float64)
        if not (x.ndim == 2 and x.shape[1] == self.dimension and np.isfinite(x).all()):
            raise ParameterError(
                f"inputs must be finite and of shape (k, {self.dimension}), got shape {x.shape}"
            )
        return x if self.matrix is None else np.asarray(x @ self.matrix.T)

    def noisy(self, clean: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Fresh noise on outputs of `clean`, of any shape."""
        # Plain float64 noise: nothing is kept secret here, so its rounding gives nothing away.
        if self.accounting is Accounting.LAPLACE:
            return np.asarray(clean + rng.laplace(scale=self.scale, size=clean.shape))
        return np.asarray(clean + self.scale * rng.standard_normal(clean.shape))
