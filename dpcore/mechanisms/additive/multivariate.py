"""Multivariate Laplace noise, round or stretched along the vocabulary's own spread."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.rounding import gamma
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.additive.decoding import Noise, radial_noise
from dpcore.mechanisms.hooks import VectorNoise
from dpcore.mechanisms.settings import parameter
from dpcore.noise.radial import Radial


@dataclass(frozen=True, eq=False, kw_only=True)
class MultivariateLaplace(RadialMechanism):
    """Madlib, CMP: z with density ∝ exp(−ε‖z‖₂), pure ε·‖φ_w − φ_w′‖₂."""

    key = "madlib.v1"
    short = "madlib"
    title = "Multivariate Laplace (Madlib)"
    summary = "Moves the word's vector in a random direction; takes the nearest word"
    source = "Fernandes et al. 2019; Feyisetan et al. 2020, Theorem 2"
    cited: ClassVar[tuple[str, ...]] = ("fernandes2019obfuscation", "feyisetan2020madlib")
    meaning = EpsilonMeaning.METRIC
    family = Radial.L2LAPLACE

    def guarantee(self, epsilon: float) -> Guarantee:
        """Metric privacy, proved: the triangle inequality on the log-density."""
        value = self.check_epsilon(epsilon)
        return MetricPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason="The log-density of the noise changes by at most ε times the distance moved.",
            source=self.source,
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Mahalanobis(MultivariateLaplace):
    """Elliptical noise ∝ exp(−ε‖z‖_RM), ‖z‖_RM² = zᵀS⁻¹z, S = λΣ + (1−λ)I.

    Σ is the covariance of the vocabulary scaled to trace d. Pure ε·d_RM; in Euclidean terms
    ε/√λ_min(S). λ = 0 is the multivariate Laplace mechanism.
    """

    key = "mahalanobis.v1"
    short = "mahalanobis"
    title = "Regularised Mahalanobis"
    summary = "As Madlib, with noise stretched along the vocabulary's own spread"
    source = "Xu, Aggarwal, Feyisetan, Teissier 2020, Theorem 1"
    cited: ClassVar[tuple[str, ...]] = ("xu2020mahalanobis",)

    lam: float = parameter(
        0.2, low=0.0, high=1.0, help="λ: share of the vocabulary's covariance in the noise's shape"
    )

    @property
    def share(self) -> float:
        """λ in effect; at 0 all of this is the multivariate Laplace mechanism."""
        return self.lam

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (ascending) and eigenvectors of S."""
        vectors = self.lexicon.vectors
        mean = vectors.mean(axis=0, dtype=np.float64)
        total = np.zeros((vectors.shape[1], vectors.shape[1]))
        for i in range(0, vectors.shape[0], 4096):
            part = vectors[i : i + 4096] - mean
            total += part.T @ part
        # Trace d, as the identity has: so λ mixes two shapes of the same size.
        total *= vectors.shape[1] / np.trace(total)
        shape = self.share * total + (1.0 - self.share) * np.eye(vectors.shape[1])
        values, axes = np.linalg.eigh(shape)
        if not values[0] > 1e-12:
            msg = (
                f"the noise shape of mahalanobis is singular (smallest eigenvalue {values[0]:.3g}, "
                "needs > 1e-12): choose a smaller lam"
            )
            raise ParameterError(msg)
        return values, axes

    @property
    def smallest_eigenvalue(self) -> float:
        """λ_min(S): the Euclidean guarantee is ε/√λ_min(S)."""
        return float(self._spectrum[0][0])

    @property
    def _stretches(self) -> tuple[float, float]:
        """√λ of S, the smallest rounded down and the largest rounded up.

        A computed eigenvalue is off by a modest multiple of u‖S‖ (LAPACK Users' Guide, 3rd ed.,
        section 4.7): 10d is taken, which is assumed and not proved.
        """
        values = self._spectrum[0]
        error = gamma(10.0 * values.size) * float(values[-1])
        return math.sqrt(float(values[0]) - error), math.sqrt(float(values[-1]) + error)

    def noise_bounds(self, epsilon: float) -> Noise:
        """As for round noise, stretched by the square roots of the eigenvalues of S."""
        if self.share == 0:
            return super().noise_bounds(epsilon)
        least, most = self._stretches
        return radial_noise(self.family, self.dimension, self.scale(epsilon), most, least)

    def vector_noise(self, epsilon: float) -> VectorNoise:
        """Its noise at ε, in the shape of S."""
        return replace(super().vector_noise(epsilon), covariance=self.share or None)

    def shaped(self, vectors: FloatArray) -> FloatArray:
        """S^{1/2}·x; a direction is S^{1/2}·u, u on the unit sphere, not normalised again."""
        if self.share == 0:
            return vectors
        values, axes = self._spectrum
        return np.asarray(((vectors @ axes) * np.sqrt(values)) @ axes.T)

    @property
    def direction_key(self) -> tuple[object, ...]:
        """Directions of the ellipsoid are shared only by mechanisms with the same λ."""
        return (*super().direction_key, self.share) if self.share else super().direction_key

    def guarantee(self, epsilon: float) -> Guarantee:
        """Metric privacy in the regularised Mahalanobis metric, proved."""
        value = self.check_epsilon(epsilon)
        # ‖z‖_RM ≤ ‖z‖₂/√λ_min(S), with the eigenvalue rounded down.
        factor = 1.0 if self.lam == 0 else 1.0 / self._stretches[0]
        return MetricPrivacy(
            epsilon=value,
            metric="regularised Mahalanobis",
            euclidean_factor=float(factor),
            status=Status.PROVED,
            reason=(
                "As for multivariate Laplace, in the metric of the public covariance; in Euclidean "
                f"distance its parameter is {value * factor:.4g}."
            ),
            source=self.source,
            rounding=self.rounding(value),
        )
