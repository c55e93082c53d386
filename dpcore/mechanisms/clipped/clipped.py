"""Local privacy by clipping: vectors are clipped to norm C, then noise is added.

Two clipped vectors differ by at most 2C in L2 norm and 2√d·C in L1 norm, whatever the words, so the
guarantee does not depend on a distance: it holds between any two words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray
from dpcore.guarantee import (
    ApproximateLocalPrivacy,
    EpsilonMeaning,
    Guarantee,
    PureLocalPrivacy,
    Status,
)
from dpcore.lexicon.metric import UNIT
from dpcore.mechanisms.additive.additive import NoisyMechanism, RadialMechanism
from dpcore.mechanisms.additive.points import Points, derived_points, own
from dpcore.mechanisms.mechanism import VectorNoise
from dpcore.mechanisms.settings import parameter
from dpcore.noise.samplers import Radial
from dpcore.outwards import at_most, delta_at_most, safe_end
from dpcore.written import Filled, Numeral

# Calibration of Gaussian noise: δ of a σ, and σ of a δ.
#
# All in log space: δ may be far below the smallest float.


_NARROW = 0.01  # a below which the two terms are not subtracted
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_SPECIAL = 32.0  # units of roundoff: SciPy's own tests see a few
_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return σ = Δ√(2 ln(1.25/δ))/ε (Dwork and Roth 2014, Theorem A.1, for ε ≤ 1)."""
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def gaussian_log_delta(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> FloatArray:
    """Return ln δ of Gaussian noise at ε, exactly and elementwise (Balle and Wang 2018, Theorem 8).

    δ = Φ(a − b) − e^ε Φ(−a − b), a = Δ/2σ, b = εσ/Δ. Where a is small the two terms agree in
    most digits, and δ = φ(a − b)·∫ (1 − x·M(x)) dx over [b − a, b + a] is used, with Mills' ratio
    M = (1 − Φ)/φ: all positive. (e^ε φ(a + b) = φ(a − b), and M′ = xM − 1.)
    """
    return _evaluated(epsilon, sigma, sensitivity)[0]


def gaussian_log_delta_bounds(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds on ln δ, elementwise: `gaussian_log_delta` with rounding.

    Assumes that SciPy's log_ndtr and erfcx have a relative error of `_SPECIAL`·u at most. A rounded
    argument x of ln Φ costs (|x| + 1)·u·(a + b); in the difference of the two terms an error of
    their logarithms is divided by expm1 of the gap between them.
    """
    value, error, most = _evaluated(epsilon, sigma, sensitivity)
    # Where the two terms agree in all digits, only δ ≤ Φ(a − b) is known.
    known = np.isfinite(value) & np.isfinite(error)
    value, error = np.where(known, value, 0.0), np.where(known, error, np.inf)
    return value - error, np.minimum(value + error, most)


def _evaluated(
    epsilon: FloatArray | float, sigma: FloatArray | float, sensitivity: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ln δ, a bound on its absolute error, and the upper bound ln Φ(a − b)."""
    from scipy.special import erfcx, log_ndtr

    a, b = sensitivity / (2.0 * np.asarray(sigma)), epsilon * np.asarray(sigma) / sensitivity
    # Theorem 8 in logarithms: δ = Φ(a − b)·(1 − e^gap), and gap ≤ 0.
    first, second = log_ndtr(a - b), log_ndtr(-a - b)
    gap = np.minimum(epsilon + second - first, 0.0)
    arguments = 2.0 * np.square(a + b) + 2.0
    terms = epsilon + np.abs(second) + np.abs(first) + arguments
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        direct = np.asarray(first + np.log(-np.expm1(gap)))
        error = np.abs(direct) + arguments + terms / np.expm1(-gap)
    error = np.asarray(_SPECIAL * UNIT * error)
    most = np.asarray(np.minimum(first + _SPECIAL * UNIT * (np.abs(first) + arguments), 0.0))
    if not np.any(a < _NARROW):
        return direct, error, most
    # Six nodes: the integrand is smooth, and the interval at most 0.02 wide.
    half = np.minimum(a, _NARROW)
    x = np.asarray(b)[..., None] + half[..., None] * _NODES
    integral = half * ((1.0 - x * _ROOT_HALF_PI * erfcx(x / math.sqrt(2.0))) @ _WEIGHTS)
    density = -0.5 * np.square(a - b) - 0.5 * math.log(2.0 * math.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        narrow = density + np.log(integral)
        # 1 − xM(x) is about 1/(1 + x²): the difference from 1 loses as much.
        narrow_error = _SPECIAL * UNIT * (np.abs(narrow) + 2.0 * arguments)
    chosen = a < _NARROW
    return np.where(chosen, narrow, direct), np.where(chosen, narrow_error, error), most


@lru_cache(maxsize=4096)
def analytic_sigma(epsilon: float, log_delta: float, sensitivity: float) -> float:
    """Return the smallest σ with δ(ε) ≤ δ, by bisection on ln σ, rounded up."""

    def enough(log_sigma: FloatArray | float) -> bool:
        high = gaussian_log_delta_bounds(epsilon, math.exp(log_sigma), sensitivity)[1]
        return bool(high <= log_delta)

    # δ falls with σ: first a bracket by steps of e², then its safe end.
    low = high = math.log(sensitivity)
    while not enough(high):
        high += 2.0
    while enough(low):
        low -= 2.0
    return math.exp(safe_end(enough, high, low))


def analytic_epsilon(sigma: FloatArray, log_delta: float, sensitivity: float) -> FloatArray:
    """Return the ε at which `analytic_sigma` gives this σ, elementwise; 0 if δ(0) suffices."""
    sigma = np.asarray(sigma, dtype=np.float64)
    low, high = np.zeros_like(sigma), np.ones_like(sigma)
    while (short := gaussian_log_delta_bounds(high, sigma, sensitivity)[1] > log_delta).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)

    def enough(epsilon: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(gaussian_log_delta_bounds(epsilon, sigma, sensitivity)[1] <= log_delta)

    return np.where(enough(np.zeros_like(sigma)), 0.0, safe_end(enough, high, low, rounds=60))


@lru_cache(maxsize=4096)
def composed_epsilon(sigma: float, log_delta: float, sensitivity: float, count: int) -> float:
    """Return the least ε at δ of `count` independent Gaussian noises together, rounded up.

    The mean of one differs by μ = Δ/σ between two inputs, in units of the noise, and that of k of
    them, as one vector, by √k·μ: they are one Gaussian mechanism of sensitivity √k·Δ (Dong, Roth,
    Su 2022), and its δ is known exactly (Balle and Wang 2018, Theorem 8).

    Returns:
        ε; ∞ for δ = 0, which no Gaussian noise has.
    """
    if not log_delta > -math.inf:
        return math.inf
    # Two roundings, each undone upwards.
    together = math.nextafter(math.nextafter(math.sqrt(count), math.inf) * sensitivity, math.inf)
    return float(analytic_epsilon(np.array(sigma), log_delta, together))


def clip(vectors: Float32Array, norm: float, power: int = 2) -> Float32Array:
    """Return rows scaled to a norm ≤ `norm`, shape (n, d): L2, or L1 with `power` = 1.

    x·min(1, C/‖x‖), with the factor rounded down by two units of float32, so that rounding the
    result cannot lift a row above the bound. Rows within the bound are returned unchanged.
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
    """Base of all mechanisms on clipped vectors: the norm, and the targets of the result.

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
        return derived_points(
            self.lexicon, ("clipped", norm, power), lambda: clip(vectors, norm, power)
        )

    @property
    def points(self) -> Points:
        """Targets, with quantities that are computed from them once."""
        return self._clipped if self.compare_with == "clipped" else own(self.lexicon)

    @property
    def origins(self) -> Float32Array:
        """Clipped vectors, shape (n, d)."""
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
        """Return the noise at ε, with the norm that vectors are clipped to."""
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
        """Return the guarantee of pure local privacy, proved."""
        value = self.check_epsilon(epsilon)
        return PureLocalPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=Filled(
                "Clipped vectors differ by at most {most} in the norm of the noise, and its scale "
                "is that over ε.",
                most=Numeral(at_most(self.sensitivity)),
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
        """ln δ, rounded down: a smaller δ is the stronger guarantee."""
        return math.nextafter(math.log(self.delta), -math.inf)

    def scale(self, epsilon: float) -> float:
        """Return σ(ε)."""
        return analytic_sigma(epsilon, self._log_delta, self.sensitivity)

    def epsilon_of(self, scale: FloatArray) -> FloatArray:
        """Return the ε at which σ is this scale; 0 where even ε = 0 needs less noise."""
        return analytic_epsilon(scale, self._log_delta, self.sensitivity)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the approximate local guarantee; its status follows from σ's exact δ."""
        value = self.check_epsilon(epsilon)
        # Computed from σ itself, from above, and not taken from the calibration.
        true = gaussian_log_delta_bounds(value, self.scale(value), self.sensitivity)[1]
        holds = float(true) <= math.log(self.delta)
        least = Numeral(delta_at_most(float(true)))
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=math.log(self.delta),
            status=Status.PROVED if holds else Status.REFUTED,
            reason=(
                Filled("The exact δ of this noise at this ε is at most {least}.", least=least)
                if holds
                else Filled(
                    "The exact δ of this noise at this ε is at most {least}, above the claimed "
                    "{claimed:.3g}.",
                    least=least,
                    claimed=self.delta,
                )
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
        """Return 2C√(2 ln(1.25/δ))/ε."""
        return classical_sigma(epsilon, self.delta, self.sensitivity)

    def epsilon_of(self, scale: FloatArray) -> FloatArray:
        """Return the inverse of `scale`: the same formula."""
        return classical_sigma(1.0, self.delta, self.sensitivity) / scale
