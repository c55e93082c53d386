"""TrLaplace (Huang et al. 2024): truncated Laplace noise on clipped vectors.

As published, the truncation A is too short: a difference of two words moves the support of the
noise in every coordinate at once, and an output outside the other word's support reveals the word.
The paper bounds the volume of that region by a cube of side Δ_∞; it is (2A)^d − Π(2A − |v_i|)₊. The
corrected mechanism uses the A that the exact expression requires.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, Guarantee, Rounding, Status
from dpcore.lexicon.metric import ELEMENTARY
from dpcore.lexicon.neighbours import Ranking
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.additive.points import Noise, truncated_noise
from dpcore.mechanisms.bulk import BATCH
from dpcore.mechanisms.clipped.clipped import ClippedMechanism
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.mechanism import VectorNoise
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import EpsilonRange, parameter
from dpcore.noise.samplers import Radial, quantile, shifted_out, uniforms
from dpcore.outwards import safe_end
from dpcore.written import Filled

# Required cut of truncated Laplace noise, and the true δ of a cut.
#
# A difference of two vectors moves the support of the noise in every coordinate at once, and an
# output outside the other vector's support reveals the vector: that probability is δ.


_NEAR = 2e-11  # relative gap at which the bound on −ln(1 − δ) stops
_ROUNDS = 12


@dataclass(frozen=True)
class Truncation:
    """Truncated Laplace noise: rate α (1/unit), cut A (unit) and mass 1 − e^{−αA}."""

    alpha: float
    cut: float
    mass: float

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate."""
        x = self.alpha * self.cut
        if x < 1e-4:  # nearly uniform
            return self.cut / math.sqrt(3.0)
        tail = x * (x + 2.0) * math.exp(-x) / -math.expm1(-x) if x < 700 else 0.0
        return math.sqrt(max(2.0 - tail, 0.0)) / self.alpha


def published_truncation(
    epsilon: float, root: float, norm: float, dimension: int, dummies: int = 0
) -> Truncation:
    """Return the noise of Huang et al. 2024, Definition of TrLaplace.

    α = ε/Δ₁, A = −ln(1 − r)/α.

    Args:
        epsilon: nominal ε.
        root: d-th root of δ.
        norm: C.
        dimension: d, the number of real coordinates.
        dummies: coordinates added (and discarded) so that r < 1.

    Raises:
        ParameterError: r = ε/(2δ^{1/d′}√d′) ≥ 1.
    """
    total = dimension + dummies
    r = epsilon / largest_epsilon(root, dimension, dummies)
    if not r < 1:
        msg = (
            f"epsilon of trlaplace must be < {largest_epsilon(root, dimension, dummies):.6g} "
            f"(2·δ^(1/d)·√d, so that r < 1), got {epsilon:g}"
        )
        raise ParameterError(msg)
    # Δ₁ = 2√d′·C; r = 1 − e^{−αA} is the mass that the cut keeps.
    alpha = epsilon / (2.0 * math.sqrt(total) * norm)
    return Truncation(alpha, -math.log1p(-r) / alpha, r)


def largest_epsilon(root: float, dimension: int, dummies: int = 0) -> float:
    """Return 2·δ^{1/d′}·√d′: ε must stay below it (δ is fixed, d′ = d + dummies)."""
    total = dimension + dummies
    return float(2.0 * root ** (dimension / total) * math.sqrt(total))


def log_survival(shifts: FloatArray, counts: FloatArray, noise: Truncation) -> FloatArray:
    """Return Σ counts_i·ln(1 − m(shift_i)) along the last axis: ln(1 − δ) of this shift."""
    with np.errstate(divide="ignore"):
        per_coordinate = np.log1p(-np.minimum(shifted_out(shifts, noise.alpha, noise.cut), 1.0))
    return np.asarray((counts * per_coordinate).sum(axis=-1))


def worst_delta(noise: Truncation, norm: float, dimension: int) -> float:
    """Return the exact δ at the nominal ε for the worst difference of L2 norm 2C.

    Within the common support the loss is at most α‖v‖₁ ≤ ε, so δ is the mass outside it,
    1 − Π(1 − m(v_i)). Where A ≥ 2C the worst difference has equal coordinates but for at most one
    larger, and the search is over that one. With x = αv and K = 2e^{αA} − 1, the derivative of
    f = −ln(1 − m) is e^x/(K − e^x); f as a function of v² is concave where f′/x falls, which is
    where K(x − 1) + e^x < 0. That rises with x from 1 − K < 0, so f is concave up to some x₀ < 1
    and convex beyond. Of two unequal coordinates below x₀, and of two above it, a change of v_i²
    that keeps the norm raises the sum: so all below are equal, and at most one is above.

    The result is the δ of a difference that the search found: a lower bound on the worst, exact up
    to rounding if A ≥ 2C (`worst_delta_bound` bounds it from above).
    """
    if dimension == 1:
        return float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))

    def survival(angle: FloatArray) -> FloatArray:
        return -_log_loss(angle, noise, norm, dimension)

    # Each grid lies between the neighbours of the best point of the one before.
    low, high, least = 0.0, math.acos(1.0 / math.sqrt(dimension)), 0.0
    for _ in range(3):
        grid = np.linspace(low, high, 1001)
        values = survival(grid)
        best = int(values.argmin())
        least = min(least, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    return float(-math.expm1(least))


def _coordinates(angle: FloatArray, norm: float, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Return ‖v‖·cos(angle), and the other coordinates, which are equal."""
    rest = 2.0 * norm * np.sin(angle) / math.sqrt(dimension - 1)
    return 2.0 * norm * np.cos(angle), rest


def _log_loss(angle: FloatArray, noise: Truncation, norm: float, dimension: int) -> FloatArray:
    """Return −ln(1 − δ) of that difference."""
    counts = np.array([1.0, dimension - 1.0])
    shifts = np.stack(_coordinates(angle, norm, dimension), axis=-1)
    return -log_survival(shifts, counts, noise)


def worst_delta_bound(noise: Truncation, norm: float, dimension: int) -> float:
    """Return an upper bound on δ at the nominal ε over all differences of L2 norm 2C; 1 if A < 2C.

    The search of `worst_delta` by branch and bound. Both coordinates, f and f′ are monotone in the
    angle, so that the derivative of the sum lies between two numbers on any interval; these bound
    the sum from its values at the ends. Intervals that may contain more than the best value are
    divided until the bound is within `_NEAR`. The values themselves are off by the loss of an
    exponent of αA, and a few units more.
    """
    if not noise.cut >= 2.0 * norm:
        return 1.0
    most = float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))
    if dimension > 1:
        edges = np.linspace(0.0, math.acos(1.0 / math.sqrt(dimension)), 513)
        low, high = edges[:-1], edges[1:]
        best, bound = 0.0, math.inf
        for _ in range(_ROUNDS):
            left, right = (_log_loss(ends, noise, norm, dimension) for ends in (low, high))
            best = max(best, float(left.max()), float(right.max()))
            above = _above(low, high, left, right, noise, norm, dimension)
            bound = max(best, float(above.max()))
            open_ = above > best * (1.0 + _NEAR)
            if not open_.any():
                break
            steps = np.linspace(0.0, 1.0, 17)
            inner = low[open_, None] + steps * (high - low)[open_, None]
            low, high = inner[:, :-1].ravel(), inner[:, 1:].ravel()
        most = -math.expm1(-bound)
    rounding = ELEMENTARY * (2.0 * noise.alpha * noise.cut + 16.0)
    return min(most * (1.0 + rounding), 1.0)


def _above(
    low: FloatArray,
    high: FloatArray,
    left: FloatArray,
    right: FloatArray,
    noise: Truncation,
    norm: float,
    dimension: int,
) -> FloatArray:
    """Bound −ln(1 − δ) over each interval of angles, from its values at the ends."""
    (one_low, rest_low), (one_high, rest_high) = (
        _coordinates(ends, norm, dimension) for ends in (low, high)
    )
    # By the angle, one coordinate changes by −‖v‖sin, the others together by √(d−1)‖v‖cos.
    fall_low, fall_high = 2.0 * norm * np.sin(low), 2.0 * norm * np.sin(high)
    rise_low, rise_high = (
        2.0 * norm * math.sqrt(dimension - 1) * np.cos(ends) for ends in (low, high)
    )
    # sin rises and cos falls with the angle in [0, π/2], so the ends bound every factor.
    steepest = rise_low * _slope(rest_high, noise) - fall_low * _slope(one_high, noise)
    flattest = rise_high * _slope(rest_low, noise) - fall_high * _slope(one_low, noise)
    width = high - low
    from_left = left + np.maximum(steepest, 0.0) * width
    from_right = right + np.maximum(-flattest, 0.0) * width
    return np.asarray(np.minimum(from_left, from_right))


def _slope(shift: FloatArray, noise: Truncation) -> FloatArray:
    """Return f′ = α·e^{αv}/(2e^{αA} − 1 − e^{αv}) at v ≤ A, with e^{αA} factored out."""
    inside = np.exp(noise.alpha * (shift - noise.cut))
    return np.asarray(noise.alpha * inside / (2.0 - math.exp(-noise.alpha * noise.cut) - inside))


@lru_cache(maxsize=4096)
def corrected_truncation(epsilon: float, delta: float, norm: float, dimension: int) -> Truncation:
    """Return the shortest A with worst δ at most δ, at i.i.d. Laplace's rate α, up to 1e-9/α.

    For ε ≲ √d the worst difference is equal in all coordinates, and αA = ln(1 + expm1(ε/d)/(2m*)),
    m* = 1 − (1 − δ)^{1/d}. Above, a difference that is concentrated in one coordinate is worse, and
    A grows until that one is covered too.
    """
    alpha = epsilon / (2.0 * math.sqrt(dimension) * norm)
    # Equal coordinates: (1 − m)^d = 1 − δ, each moved by v = 2C/√d, so αv = ε/d.
    single = -math.expm1(math.log1p(-delta) / dimension)
    low = _log1p_ratio(epsilon / dimension, single)

    def noise(x: float) -> Truncation:
        return Truncation(alpha, x / alpha, -math.expm1(-x))

    if worst_delta(noise(low), norm, dimension) <= delta * (1 + 1e-12):
        return _safely(noise, low, delta, norm, dimension)
    # Here one coordinate alone, moved by 2C, costs at most delta, and so do all others together.
    high = 1.0 + max(low, _log1p_ratio(epsilon / math.sqrt(dimension), single))
    while worst_delta(noise(high), norm, dimension) > delta:
        high = 1.01 * high + 1.0

    def enough(x: FloatArray) -> bool:
        return worst_delta(noise(float(x)), norm, dimension) <= delta

    x = float(safe_end(enough, high, low, within=1e-12))
    return _safely(noise, x, delta, norm, dimension)


def _safely(
    noise: Callable[[float], Truncation], x: float, delta: float, norm: float, dimension: int
) -> Truncation:
    """Return the noise at αA = x, or slightly beyond, with a bound on its δ of at most δ."""
    margin = 1e-10
    while worst_delta_bound(noise(x), norm, dimension) > delta:
        x, margin = x + margin, 2.0 * margin
    return noise(x)


def _log1p_ratio(x: float, m: float) -> float:
    """Return ln(1 + expm1(x)/(2m)) without overflow, x > 0."""
    ratio = math.expm1(x) / (2.0 * m) if x < 700 else math.inf
    if ratio < math.inf:
        return math.log1p(ratio)
    return x + math.log(-math.expm1(-x)) - math.log(2.0 * m)


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedLaplaceMechanism(ClippedMechanism):
    """Nearest target to the clipped vector plus truncated Laplace noise."""

    meaning = EpsilonMeaning.LOCAL_APPROXIMATE

    @abstractmethod
    def truncation(self, epsilon: float) -> Truncation:
        """Return the noise at ε."""

    def noise_bounds(self, epsilon: float) -> Noise:
        """Return the bounds of plain Laplace noise, which is longer."""
        noise = self.truncation(epsilon)
        return truncated_noise(noise.alpha, noise.cut, self.dimension)

    def rounding(self, epsilon: float) -> Rounding | None:
        """Bound the effect of floating point on the law at ε (see `mechanisms.additive.points`).

        None where no bound is known; the cells of step 2 need noise that can reach every target.
        """
        decoding = self.decoding(epsilon)
        # Scaling towards a target stays within the support of the noise, which is convex, only if
        # the target itself lies in it, for any origin: they are at most 2X apart.
        if decoding is None or self.truncation(epsilon).cut < 2.0 * decoding.norm:
            return None
        return decoding.rounding()

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """Return the clipped vectors of words plus fresh noise (see `Mechanism.noisy_vectors`)."""
        words, noise = self.check_words(words), self.truncation(self.check_epsilon(epsilon))
        u = uniforms(rng, words.size, self.dimension)
        return self.origins[words] + quantile(u, noise.alpha, noise.mass)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw uniforms once per entry and evaluate them on an ascending grid of ε.

        Both the rate and the cut of the noise depend on ε, so there is no single scale to follow
        exactly; the outputs at the points of the grid are exact.
        """
        words = self.check_words(words)
        if not words.size:
            return EpsilonPaths.none()
        grid = self.grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        u = uniforms(rng, words.size, self.dimension)
        outputs = np.empty((words.size, grid.size), dtype=np.int64)
        step = max(1, BATCH // words.size)
        for e in range(0, grid.size, step):  # several ε share one search
            noises = [self.truncation(float(epsilon)) for epsilon in grid[e : e + step]]
            noisy = np.stack(
                [self.origins[words] + quantile(u, noise.alpha, noise.mass) for noise in noises]
            )
            nearest = self.points.search(noisy.reshape(-1, self.dimension))
            outputs[:, e : e + step] = nearest.reshape(len(noises), words.size).T
        return EpsilonPaths.of_grid(words, grid, outputs)

    def grid(self) -> FloatArray:
        """Return 64 values of ε, in geometric progression, where the law changes."""
        allowed = self.admissible
        high = min(0.999 * allowed.high, 1e5)
        return np.geomspace(max(allowed.low, high * 1e-4), high, 64)

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """Estimate the law by Monte Carlo: the same `effort.directions` uniforms at every ε."""
        values, effort = self.check_epsilons(epsilon), effort or Effort()
        rng = rng or self.estimating()
        words = self.check_words([word])
        # The same uniforms at every ε: the estimates of two ε differ by less than their errors.
        order = np.argsort(values, kind="stable")
        paths = self.paths(rng, np.repeat(words, effort.directions), epsilons=values[order])
        drawn = np.empty((effort.directions, values.size), dtype=np.int64)
        drawn[:, order] = paths.at(values[order])
        outputs, column = np.unique(drawn, return_inverse=True)
        key = column.reshape(drawn.shape) + np.arange(values.size) * outputs.size
        counts = np.bincount(key.reshape(-1), minlength=outputs.size * values.size)
        share = counts.reshape(values.size, outputs.size) / effort.directions
        count, word = effort.directions, int(words[0])
        error = float(np.sqrt((share * (1 - share)).max() / (count - 1)))
        method = f"{count} draws"
        return Law(self.lexicon, word, values, outputs, share, False, error, method, count)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Sample at each ε from the same uniforms: the rate and cut of the noise depend on ε."""
        targets, origins = self.targets, self.origins
        half = 0.5 * np.einsum("ij,ij->i", targets, targets)
        noises = [self.truncation(float(value)) for value in epsilons]
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        for start in range(0, entries.size, BATCH):
            part = entries[start : start + BATCH]
            u = uniforms(rng, part.size, self.dimension)
            for e, noise in enumerate(noises):
                noisy = (origins[part] + quantile(u, noise.alpha, noise.mass)).astype(np.float32)
                outputs[start : start + part.size, e] = (half - noisy @ targets.T).argmin(axis=1)
            progress(self.short, min(start + BATCH, entries.size), entries.size)
        return outputs

    def vector_noise(self, epsilon: float) -> VectorNoise:
        """Return the noise at ε: Laplace of rate α, cut off at ±A."""
        noise = self.truncation(epsilon)
        return VectorNoise(
            origins=self.origins,
            family=Radial.LAPLACE,
            scale=1.0 / noise.alpha,
            rate=noise.alpha,
            cut=noise.cut,
            norm=self.bound,
            sensitivity=2.0 * math.sqrt(self.dimension) * self.bound,
        )

    def true_delta(self, epsilon: float) -> float:
        """Return δ at the nominal ε for the worst difference of two vectors."""
        return worst_delta(self.truncation(epsilon), self.bound, self.dimension)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrLaplace(TruncatedLaplaceMechanism):
    """TrLaplace as published: its claim of (ε, δ) is false for d ≥ 2, except near the largest ε."""

    key = "trlaplace.v1"
    short = "trlaplace"
    title = "TrLaplace (as published)"
    summary = "Laplace noise cut off short: keeps words, and gives them away"
    source = "Huang, Yang, Habernal, Hu, Wang 2024, Theorem 3"
    cited: ClassVar[tuple[str, ...]] = ("huang2024trlaplace",)

    delta_root: float = parameter(
        0.25, low=1e-6, high=1 - 1e-9, help="δ^(1/d): the paper's δ is this to the power d"
    )
    dummy_dimensions: int = parameter(
        0, low=0, high=1_000_000, help="coordinates added to the noise so that a larger ε fits"
    )

    @property
    def log_delta(self) -> float:
        """ln δ = d·ln δ^{1/d}."""
        return self.dimension * math.log(self.delta_root)

    @property
    def admissible(self) -> EpsilonRange:
        """Range of ε below 2·δ^{1/d′}·√d′, so that r < 1."""
        high = largest_epsilon(self.delta_root, self.dimension, self.dummy_dimensions)
        reason = "r = ε/(2·δ^(1/d)·√d) must be < 1; more dummy_dimensions raise the limit"
        return EpsilonRange(high=high, high_reason=reason)

    def truncation(self, epsilon: float) -> Truncation:
        """Return the published noise at ε."""
        return published_truncation(
            epsilon, self.delta_root, self.bound, self.dimension, self.dummy_dimensions
        )

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the claim, with the true δ of the worst difference beside it.

        Close to the upper end of the range of ε the cut grows without bound, and the claim holds.
        """
        value = self.check_epsilon(epsilon)
        # Two numbers: the δ of one difference can refute, a bound on all δ can prove.
        noise = self.truncation(value)
        true = worst_delta(noise, self.bound, self.dimension)
        exact = Filled(
            "At this ε the exact δ for two clipped vectors 2C apart is {true:.4g}", true=true
        )
        if self.dimension == 1:
            status = Status.PROVED
            reason = Filled("In one dimension the proof's volume is right.")
        elif math.log(true) > self.log_delta:  # r < 1 keeps δ above 1e-17 or so
            status = Status.REFUTED
            reason = Filled(
                "{exact}: the proof bounds the volume of the difference of the supports by a "
                "cube of side Δ∞.",
                exact=exact,
            )
        elif math.log(worst_delta_bound(noise, self.bound, self.dimension)) <= self.log_delta:
            status = Status.PROVED
            reason = Filled(
                "{exact}, below the claim, at these settings; the theorem's proof is wrong.",
                exact=exact,
            )
        else:
            status = Status.CONDITIONAL
            reason = Filled(
                "{exact}, below the claim, if no other difference is worse.", exact=exact
            )
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=self.log_delta,
            status=status,
            reason=reason,
            source=self.source,
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TrLaplaceCorrected(TruncatedLaplaceMechanism):
    """TrLaplace with the truncation that (ε, δ) requires."""

    key = "trlaplace-corrected.v1"
    short = "trlaplace-corrected"
    title = "TrLaplace (corrected)"
    summary = "Truncated Laplace noise, cut off as far out as its guarantee needs"
    source = "our derivation; the exact δ is 1 − Π(1 − m(v_i))"
    cited: ClassVar[tuple[str, ...]] = ("huang2024trlaplace",)

    delta: float = parameter(
        1e-5, low=1e-300, high=0.5, help="δ: the probability with which ε may be exceeded"
    )

    def truncation(self, epsilon: float) -> Truncation:
        """Return the corrected noise at ε."""
        return corrected_truncation(epsilon, self.delta, self.bound, self.dimension)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the approximate local guarantee, proved by the exact δ."""
        value = self.check_epsilon(epsilon)
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=math.log(self.delta),
            status=Status.PROVED,
            reason=Filled(
                "The cut is the shortest whose exact δ, at the worst difference, is the stated, "
                "rounded outward."
            ),
            source=self.source,
            rounding=self.rounding(value),
        )
