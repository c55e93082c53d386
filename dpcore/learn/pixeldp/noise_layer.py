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
from dpcore.mechanisms.clipped.gaussian import analytic_sigma, classical_sigma

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]


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
            found = identity_sensitivity(self.dimension, self.attack, self.accounting.norm)
        else:
            matrix = np.array(self.matrix, dtype=np.float64)
            found = sensitivity(matrix, self.attack, self.accounting.norm)
            if matrix.shape[1] != self.dimension:
                raise ParameterError(
                    f"the layer takes {matrix.shape[1]} coordinates and the input has "
                    f"{self.dimension}"
                )
            matrix.setflags(write=False)
            object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "sensitivity", found)

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
        if self.accounting is Accounting.LAPLACE:
            return np.asarray(clean + rng.laplace(scale=self.scale, size=clean.shape))
        return np.asarray(clean + self.scale * rng.standard_normal(clean.shape))


def calibrated_scale(
    accounting: Accounting, size: float, epsilon: float, delta: float, shift: float
) -> float:
    """The scale at which attacks up to a size are (e, δ)-private.

    Args:
        accounting: the noise and its theorem.
        size: L > 0, of the attack.
        epsilon: e > 0; at most 1 for the classical Gaussian theorem.
        delta: δ in (0, 1); not used by Laplace noise, whose δ is 0.
        shift: Δ_{p,q} of the layer, > 0.

    Raises:
        ParameterError: an argument is outside its range.
    """
    accounting = Accounting(accounting)
    if not 0 < size < math.inf:
        raise ParameterError(
            f"the noise is made for attacks up to a size L, a finite number > 0, got {size}; "
            "against attacks of size 0 no noise is needed"
        )
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"e of a noise layer must be a finite number > 0, got {epsilon}")
    if not 0 < shift < math.inf:
        raise ParameterError(f"the sensitivity must be a finite number > 0, got {shift}")
    if accounting is Accounting.LAPLACE:
        return shift * size / epsilon
    if not 0 < delta < 1:
        raise ParameterError(f"delta of Gaussian noise must be between 0 and 1, got {delta}")
    if accounting is Accounting.CLASSICAL:
        if not epsilon <= 1:
            raise ParameterError(
                f"the classical theorem on Gaussian noise is proved for e <= 1, got {epsilon}; "
                "take the analytic one"
            )
        return classical_sigma(epsilon, delta, shift * size)
    return analytic_sigma(epsilon, math.log(delta), shift * size)
