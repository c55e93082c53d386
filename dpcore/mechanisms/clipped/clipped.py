"""Local privacy by clipping: vectors are clipped to norm C, then noise is added.

Two clipped vectors differ by at most 2C in L2 norm and 2√d·C in L1 norm, whatever the words, so
the guarantee does not depend on a distance: every word could have been every other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpcore.arrays import Float32Array, FloatArray
from dpcore.guarantee import (
    ApproximateLocalPrivacy,
    EpsilonMeaning,
    Guarantee,
    PureLocalPrivacy,
    Status,
)
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.additive.noisy import NoisyMechanism
from dpcore.mechanisms.additive.points import Points, derived, own
from dpcore.mechanisms.clipped.gaussian import (
    analytic_epsilon,
    analytic_sigma,
    classical_sigma,
    gaussian_log_delta_bounds,
)
from dpcore.mechanisms.hooks import VectorNoise
from dpcore.mechanisms.settings import parameter
from dpcore.noise.radial import Radial
from dpcore.outwards import at_most, delta_at_most


def clip(vectors: Float32Array, norm: float, power: int = 2) -> Float32Array:
    """Rows scaled down to a norm ≤ `norm`, shape (n, d): the L2 norm, or with `power` = 1 the L1.

    x·min(1, C/‖x‖), with the factor rounded down by two units of float32, so that rounding the
    result cannot lift a row above the bound. Rows within the bound are returned as they are.
    """
    if power == 1:
        lengths = np.abs(vectors).sum(axis=1, dtype=np.float64)
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not np.any(lengths > norm):
        return vectors
    factor = np.where(lengths > norm, norm * (1 - 2.0**-22) / np.maximum(lengths, norm), 1.0)
    clipped = (vectors * factor[:, None]).astype(np.float32)
    clipped.setflags(write=False)
    return clipped


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedMechanism(NoisyMechanism):
    """Common to all mechanisms on clipped vectors: the norm, and what the result is compared with.

    With C below the norms of the words, comparing the noisy *clipped* vector with the *unclipped*
    vocabulary (Huang et al. 2024, eq. 2) does not return the word even without noise; comparing
    with the clipped vocabulary does, under the same guarantee.
    """

    clip_power: ClassVar[int] = 2

    clip_norm: float | None = parameter(
        None,
        low=1e-9,
        high=1e9,
        help="C: vectors are clipped to this norm (default: the largest norm, so nothing is lost)",
    )
    compare_with: str = parameter(
        "clipped",
        choices=("clipped", "unclipped"),
        help="project onto the clipped vocabulary, or the unclipped one as Huang et al. 2024 do",
    )

    @property
    def bound(self) -> float:
        """C, in the unit of the vectors."""
        return self.lexicon.largest_norm if self.clip_norm is None else float(self.clip_norm)

    @property
    def _clipped(self) -> Points:
        vectors, norm, power = self.lexicon.vectors, self.bound, self.clip_power
        return derived(self.lexicon, ("clipped", norm, power), lambda: clip(vectors, norm, power))

    @property
    def points(self) -> Points:
        """The targets, with what is computed of them once."""
        return self._clipped if self.compare_with == "clipped" else own(self.lexicon)

    @property
    def origins(self) -> Float32Array:
        """The clipped vectors, shape (n, d)."""
        return self._clipped.vectors

    @property
    def offset(self) -> float:
        """Bound on the distance of a clipped vector from its own target."""
        # x − x·min(1, C/‖x‖) is at most as long as x.
        return 0.0 if self.targets is self.origins else self.lexicon.largest_norm


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedRadial(ClippedMechanism, RadialMechanism):
    """Radial noise on clipped vectors, its scale set by the largest distance of two of them."""

    @property
    def sensitivity(self) -> float:
        """2C: largest norm of the difference of two clipped vectors, in the norm of the noise."""
        return 2.0 * self.bound

    def vector_noise(self, epsilon: float) -> VectorNoise:
        """Its noise at ε, with the norm that vectors are clipped to."""
        return replace(
            super().vector_noise(epsilon),
            norm=self.bound,
            sensitivity=self.sensitivity,
            power=self.clip_power,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedLaplace(ClippedRadial):
    """I.i.d. Laplace noise of scale 2√d·C/ε in each coordinate: pure ε between any two words."""

    key = "laplace.v1"
    short = "laplace"
    title = "Clipped Laplace"
    summary = "Independent Laplace noise in every coordinate of the clipped vector"
    source = "Dwork et al. 2006, Proposition 1, with L1 sensitivity 2√d·C"
    cited: ClassVar[tuple[str, ...]] = ("dwork2006calibrating",)
    meaning = EpsilonMeaning.LOCAL
    family = Radial.LAPLACE

    @property
    def sensitivity(self) -> float:
        """2√d·C, an L1 norm: ‖x‖₁ ≤ √d·‖x‖₂, attained at (C/√d, …, C/√d)."""
        return 2.0 * math.sqrt(self.dimension) * self.bound

    def guarantee(self, epsilon: float) -> Guarantee:
        """Pure local privacy, proved."""
        value = self.check_epsilon(epsilon)
        return PureLocalPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=(
                f"Clipped vectors differ by at most {at_most(self.sensitivity)} in the norm of the "
                "noise, and its scale is that over ε."
            ),
            source=self.source,
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedL2Laplace(ClippedLaplace):
    """Noise ∝ exp(−ε‖z‖₂/(2C)): pure ε, with √2 less noise than i.i.d. Laplace for large d."""

    key = "l2-laplace.v1"
    short = "l2-laplace"
    title = "Clipped L2-Laplace"
    summary = "Madlib's round noise on the clipped vector: the pure-ε one to beat"
    source = "Chaudhuri, Monteleoni, Sarwate 2011, with L2 sensitivity 2C"
    cited: ClassVar[tuple[str, ...]] = ("chaudhuri2011erm",)
    family = Radial.L2LAPLACE

    @property
    def sensitivity(self) -> float:
        """2C."""
        return 2.0 * self.bound


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedGaussian(ClippedRadial):
    """Gaussian noise with the smallest σ that is (ε, δ)-private (Balle and Wang 2018)."""

    key = "gaussian.v1"
    short = "gaussian"
    title = "Clipped Gaussian (analytic)"
    summary = "Gaussian noise on the clipped vector, as little as (ε, δ) allows"
    source = "Balle and Wang 2018, Theorem 8"
    cited: ClassVar[tuple[str, ...]] = ("balle2018analytic",)
    meaning = EpsilonMeaning.LOCAL_APPROXIMATE
    family = Radial.GAUSSIAN

    delta: float = parameter(
        1e-5, low=1e-300, high=0.999, help="δ: the probability with which ε may be exceeded"
    )

    @property
    def _log_delta(self) -> float:
        """ln δ, rounded down: a smaller δ is the stronger promise."""
        return math.nextafter(math.log(self.delta), -math.inf)

    def scale(self, epsilon: float) -> float:
        """σ(ε)."""
        return analytic_sigma(epsilon, self._log_delta, self.sensitivity)

    def epsilon_of(self, scale: FloatArray) -> FloatArray:
        """The ε at which σ is this scale; 0 where even ε = 0 needs less noise."""
        return analytic_epsilon(scale, self._log_delta, self.sensitivity)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Approximate local privacy; its status is computed from the exact δ of this σ."""
        value = self.check_epsilon(epsilon)
        # Not taken from the calibration: what this σ really gives, from above.
        true = gaussian_log_delta_bounds(value, self.scale(value), self.sensitivity)[1]
        holds = float(true) <= math.log(self.delta)
        least = delta_at_most(float(true))
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=math.log(self.delta),
            status=Status.PROVED if holds else Status.REFUTED,
            reason=(
                f"The exact δ of this noise at this ε is at most {least}"
                + ("." if holds else f", above the claimed {self.delta:.3g}.")
            ),
            source=self.source,
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedGaussianClassical(ClippedGaussian):
    """Gaussian noise with σ = 2C√(2 ln(1.25/δ))/ε: a theorem for ε ≤ 1 only."""

    key = "gaussian-classical.v1"
    short = "gaussian-classical"
    title = "Clipped Gaussian (classical)"
    summary = "Gaussian noise by the textbook formula, which is proved for ε ≤ 1 only"
    source = "Dwork and Roth 2014, Theorem A.1; δ by Balle and Wang 2018, Theorem 8"
    cited: ClassVar[tuple[str, ...]] = ("dwork2014foundations", "balle2018analytic")

    def scale(self, epsilon: float) -> float:
        """2C√(2 ln(1.25/δ))/ε."""
        return classical_sigma(epsilon, self.delta, self.sensitivity)

    def epsilon_of(self, scale: FloatArray) -> FloatArray:
        """The inverse of `scale`: the same formula."""
        return classical_sigma(1.0, self.delta, self.sensitivity) / scale
