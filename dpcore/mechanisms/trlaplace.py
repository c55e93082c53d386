"""TrLaplace (Huang et al. 2024): truncated Laplace noise on clipped vectors.

Published, the truncation A is too short: a difference of two words moves the support of the noise
in every coordinate at once, and an output outside the other word's support gives the word away.
The paper bounds the volume of that region by a cube of side Δ_∞; it is (2A)^d − Π(2A − |v_i|)₊.
The corrected mechanism takes the A that the exact expression asks for.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, Guarantee, Status
from dpcore.lexicon.neighbours import NeighbourIndex, nearest
from dpcore.lexicon.ranking import Ranking
from dpcore.mechanisms.clipped import ClippedMechanism
from dpcore.mechanisms.envelope import FloatArray, IntArray
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.mechanism import EpsilonRange, parameter
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.noise.truncated_laplace import quantile, shifted_out, uniforms


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
    """Huang et al. 2024, Definition of TrLaplace: α = ε/Δ₁, A = −ln(1 − r)/α.

    Args:
        epsilon: nominal ε.
        root: d-th root of δ.
        norm: C.
        dimension: d, the number of real coordinates.
        dummies: coordinates added (and thrown away) so that r < 1.

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
    alpha = epsilon / (2.0 * math.sqrt(total) * norm)
    return Truncation(alpha, -math.log1p(-r) / alpha, r)


def largest_epsilon(root: float, dimension: int, dummies: int = 0) -> float:
    """2·δ^{1/d′}·√d′: ε must stay below it (δ is fixed, d′ = d + dummies)."""
    total = dimension + dummies
    return 2.0 * root ** (dimension / total) * math.sqrt(total)


def log_survival(shifts: FloatArray, counts: FloatArray, noise: Truncation) -> FloatArray:
    """Σ counts_i·ln(1 − m(shift_i)) along the last axis: ln(1 − δ) of this shift."""
    with np.errstate(divide="ignore"):
        per_coordinate = np.log1p(-np.minimum(shifted_out(shifts, noise.alpha, noise.cut), 1.0))
    return np.asarray((counts * per_coordinate).sum(axis=-1))


def worst_delta(noise: Truncation, norm: float, dimension: int) -> float:
    """Exact δ at the nominal ε for the worst difference of L2 norm 2C.

    Within the common support the loss is at most α‖v‖₁ ≤ ε, so δ is the mass outside it,
    1 − Π(1 − m(v_i)). As a function of v_i², −ln(1 − m) is concave and then convex, so the worst
    difference has equal coordinates except at most one larger: the search is over that one.
    """
    if dimension == 1:
        return float(shifted_out(np.array(2.0 * norm), noise.alpha, noise.cut))
    counts = np.array([1.0, dimension - 1.0])

    def survival(share: FloatArray) -> FloatArray:
        """Log survival where one coordinate holds this share of ‖v‖²."""
        one = 2.0 * norm * np.sqrt(share)
        rest = 2.0 * norm * np.sqrt((1.0 - share) / (dimension - 1))
        return log_survival(np.stack((one, rest), axis=-1), counts, noise)

    # Twice: the second grid lies between the neighbours of the best point of the first.
    low, high, found = 1.0 / dimension, 1.0, 0.0
    for _ in range(2):
        grid = np.linspace(low, high, 2001)
        values = survival(grid)
        best = int(values.argmin())
        found = min(found, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    return -math.expm1(found)


@lru_cache(maxsize=4096)
def corrected_truncation(epsilon: float, delta: float, norm: float, dimension: int) -> Truncation:
    """The shortest A whose worst δ is at most δ, at the rate α of i.i.d. Laplace.

    For ε ≲ √d the worst difference is equal in all coordinates, and
    αA = ln(1 + expm1(ε/d)/(2m*)), m* = 1 − (1 − δ)^{1/d}. Above, a difference that is
    concentrated in one coordinate is worse, and A grows until that one is covered too.
    """
    alpha = epsilon / (2.0 * math.sqrt(dimension) * norm)
    single = -math.expm1(math.log1p(-delta) / dimension)
    low = _log1p_ratio(epsilon / dimension, single)

    def noise(x: float) -> Truncation:
        return Truncation(alpha, x / alpha, -math.expm1(-x))

    if worst_delta(noise(low), norm, dimension) <= delta * (1 + 1e-12):
        return noise(low)
    # One coordinate alone moved by 2C costs at most delta here, and all the others together too.
    high = 1.0 + max(low, _log1p_ratio(epsilon / math.sqrt(dimension), single))
    while worst_delta(noise(high), norm, dimension) > delta:
        high = 1.01 * high + 1.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if worst_delta(noise(middle), norm, dimension) <= delta:
            high = middle
        else:
            low = middle
    return noise(high)


def _log1p_ratio(x: float, m: float) -> float:
    """ln(1 + expm1(x)/(2m)) without overflow."""
    if x > 30:
        return x - math.log(2.0 * m)
    return math.log1p(math.expm1(x) / (2.0 * m))


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedLaplaceMechanism(ClippedMechanism):
    """Nearest target to the clipped vector plus truncated Laplace noise."""

    accepts_approximate_search: ClassVar[bool] = True
    meaning: ClassVar[EpsilonMeaning] = EpsilonMeaning.LOCAL_APPROXIMATE

    @abstractmethod
    def truncation(self, epsilon: float) -> Truncation:
        """The noise at ε."""

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.targets.shape[1])

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One output per entry of `words`, each with fresh noise (see `Mechanism.sample`)."""
        words, noise = self.check_words(words), self.truncation(self.check_epsilon(epsilon))
        if index is not None and self.targets is not self.lexicon.vectors:
            msg = f"{self.short} with this clipping norm searches its own points: use no index"
            raise ParameterError(msg)
        outputs = np.empty(words.size, dtype=np.int64)
        step = Effort().batch
        for i in range(0, words.size, step):
            part = words[i : i + step]
            u = uniforms(rng, part.size, self.dimension)
            noisy = self.origins[part] + quantile(u, noise.alpha, noise.mass)
            if index is None:
                outputs[i : i + step] = nearest(self.targets, noisy)
            else:
                outputs[i : i + step] = index.search(noisy.astype(np.float32), 1)[0][:, 0]
        return outputs

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,  # noqa: ARG002 - the search is direct
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw of uniforms per entry, evaluated on an ascending grid of ε.

        Both the rate and the cut of the noise move with ε, so there is no scale to follow
        exactly; the outputs at the points of the grid are exact.
        """
        words = self.check_words(words)
        grid = self.default_grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        u = uniforms(rng, words.size, self.dimension)
        outputs = np.empty((words.size, grid.size), dtype=np.int64)
        step = max(1, Effort().batch // words.size)
        for e in range(0, grid.size, step):  # several ε share one search
            noises = [self.truncation(float(epsilon)) for epsilon in grid[e : e + step]]
            noisy = np.stack(
                [self.origins[words] + quantile(u, noise.alpha, noise.mass) for noise in noises]
            )
            found = nearest(self.targets, noisy.reshape(-1, self.dimension))
            outputs[:, e : e + step] = found.reshape(len(noises), words.size).T
        return EpsilonPaths.of_grid(words, grid, outputs)

    def default_grid(self) -> FloatArray:
        """64 values of ε, in geometric progression, over the range where anything changes."""
        allowed = self.admissible
        high = min(0.999 * allowed.high, 1e5)
        return np.geomspace(max(allowed.low, high * 1e-4), high, 64)

    def law(
        self,
        word: int,
        epsilons: FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,  # noqa: ARG002 - the search is direct
        effort: Effort | None = None,
    ) -> Law:
        """Plain Monte Carlo: the same `effort.directions` uniforms at every ε."""
        values, effort = self.check_epsilons(epsilons), effort or Effort()
        if rng is None:
            msg = f"the law of {self.short} is estimated: give a random generator"
            raise ParameterError(msg)
        words = self.check_words([word])
        order = np.argsort(values, kind="stable")
        paths = self.paths(rng, np.repeat(words, effort.directions), epsilons=values[order])
        drawn = np.empty((effort.directions, values.size), dtype=np.int64)
        drawn[:, order] = paths.at(values[order])
        outputs, column = np.unique(drawn, return_inverse=True)
        key = column.reshape(drawn.shape) + np.arange(values.size) * outputs.size
        counts = np.bincount(key.reshape(-1), minlength=outputs.size * values.size)
        share = counts.reshape(values.size, outputs.size) / effort.directions
        error = float(np.sqrt((share * (1 - share)).max() / (effort.directions - 1)))
        method = f"{effort.directions} draws"
        return Law(int(words[0]), values, outputs, share, False, error, method)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrLaplace(TruncatedLaplaceMechanism):
    """As published: its claim of (ε, δ) is refuted for every d ≥ 2."""

    key: ClassVar[str] = "trlaplace.v1"
    short: ClassVar[str] = "trlaplace"
    title: ClassVar[str] = "TrLaplace (as published)"
    summary: ClassVar[str] = "Laplace noise cut off very short: keeps words well, and gives them away"
    source: ClassVar[str] = "Huang, Yang, Habernal, Hu, Wang 2024, Theorem 3"

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
        """ε < 2·δ^{1/d′}·√d′, so that r < 1."""
        high = largest_epsilon(self.delta_root, self.dimension, self.dummy_dimensions)
        reason = "r = ε/(2·δ^(1/d)·√d) must be < 1; more dummy_dimensions raise the limit"
        return EpsilonRange(high=high, high_reason=reason)

    def truncation(self, epsilon: float) -> Truncation:
        """The published noise at ε."""
        return published_truncation(
            epsilon, self.delta_root, self.bound, self.dimension, self.dummy_dimensions
        )

    def guarantee(self, epsilon: float) -> Guarantee:
        """The claim, with the true δ of the worst difference beside it."""
        value = self.check_epsilon(epsilon)
        true = worst_delta(self.truncation(value), self.bound, self.dimension)
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=self.log_delta,
            status=Status.REFUTED if self.dimension > 1 else Status.PROVED,
            reason=(
                f"At this ε the exact δ for two clipped vectors 2C apart is {true:.4g}: the proof "
                "bounds the volume of the difference of the supports by a cube of side Δ∞."
                if self.dimension > 1
                else "In one dimension the proof's volume is right."
            ),
            source=self.source,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TrLaplaceCorrected(TruncatedLaplaceMechanism):
    """The same noise with the truncation that (ε, δ) really needs."""

    key: ClassVar[str] = "trlaplace-corrected.v1"
    short: ClassVar[str] = "trlaplace-corrected"
    title: ClassVar[str] = "TrLaplace (corrected)"
    summary: ClassVar[str] = "Truncated Laplace noise, cut off as far out as its promise needs"
    source: ClassVar[str] = "our derivation; the exact δ is 1 − Π(1 − m(v_i))"

    delta: float = parameter(
        1e-5, low=1e-300, high=0.5, help="δ: the probability with which ε may be exceeded"
    )

    def truncation(self, epsilon: float) -> Truncation:
        """The corrected noise at ε."""
        return corrected_truncation(epsilon, self.delta, self.bound, self.dimension)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Approximate local privacy, proved by the exact δ."""
        return ApproximateLocalPrivacy(
            epsilon=self.check_epsilon(epsilon),
            log_delta=math.log(self.delta),
            status=Status.PROVED,
            reason="The cut is the shortest whose exact δ, at the worst difference, is the stated.",
            source=self.source,
        )
