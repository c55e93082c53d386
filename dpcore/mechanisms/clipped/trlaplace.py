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
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, Guarantee, Rounding, Status
from dpcore.lexicon.progress import Progress
from dpcore.lexicon.ranking import Ranking
from dpcore.mechanisms.additive.decoding import Noise, truncated_noise
from dpcore.mechanisms.bulk.documents import BATCH
from dpcore.mechanisms.clipped.clipped import ClippedMechanism
from dpcore.mechanisms.clipped.truncation import (
    Truncation,
    corrected_truncation,
    largest_epsilon,
    published_truncation,
    worst_delta,
    worst_delta_bound,
)
from dpcore.mechanisms.hooks import VectorNoise
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import EpsilonRange, parameter
from dpcore.noise.radial import Radial
from dpcore.noise.truncated_laplace import quantile, uniforms


@dataclass(frozen=True, eq=False, kw_only=True)
class TruncatedLaplaceMechanism(ClippedMechanism):
    """Nearest target to the clipped vector plus truncated Laplace noise."""

    meaning = EpsilonMeaning.LOCAL_APPROXIMATE

    @abstractmethod
    def truncation(self, epsilon: float) -> Truncation:
        """The noise at ε."""

    def noise_bounds(self, epsilon: float) -> Noise:
        """As of plain Laplace noise, which is longer."""
        noise = self.truncation(epsilon)
        return truncated_noise(noise.alpha, noise.cut, self.dimension)

    def rounding(self, epsilon: float) -> Rounding | None:
        """How far floating point moves the law at ε (see `mechanisms.additive.decoding`).

        None where no bound is known; the cells of step 2 need noise that can reach every target.
        """
        decoding = self.decoding(epsilon)
        # Scaling towards a target stays within the support of the noise, which is convex, only if
        # the target itself lies in it, whatever the origin: they are at most 2X apart.
        if decoding is None or self.truncation(epsilon).cut < 2.0 * decoding.norm:
            return None
        return decoding.rounding()

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """The clipped vectors of words plus fresh noise (see `Mechanism.noisy_vectors`)."""
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
        """One draw of uniforms per entry, evaluated on an ascending grid of ε.

        Both the rate and the cut of the noise move with ε, so there is no scale to follow
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
        """64 values of ε, in geometric progression, over the range where anything changes."""
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
        """Plain Monte Carlo: the same `effort.directions` uniforms at every ε."""
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
        """The noise at each ε from the same uniforms: its rate and cut move with ε."""
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
        """Its noise at ε: Laplace of rate α, cut off at ±A."""
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
        """δ at the nominal ε for the worst difference of two vectors."""
        return worst_delta(self.truncation(epsilon), self.bound, self.dimension)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrLaplace(TruncatedLaplaceMechanism):
    """As published: its claim of (ε, δ) is false for d ≥ 2, but close to the largest ε."""

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
        """The claim, with the true δ of the worst difference beside it.

        Close to the upper end of the range of ε the cut grows without bound, and the claim holds.
        """
        value = self.check_epsilon(epsilon)
        # Two numbers: the δ of one difference can refute, a bound on the δ of all can prove.
        noise = self.truncation(value)
        true = worst_delta(noise, self.bound, self.dimension)
        exact = f"At this ε the exact δ for two clipped vectors 2C apart is {true:.4g}"
        if self.dimension == 1:
            status, reason = Status.PROVED, "In one dimension the proof's volume is right."
        elif math.log(true) > self.log_delta:  # r < 1 keeps δ above 1e-17 or so
            status = Status.REFUTED
            reason = (
                f"{exact}: the proof bounds the volume of the difference of the supports by a "
                "cube of side Δ∞."
            )
        elif math.log(worst_delta_bound(noise, self.bound, self.dimension)) <= self.log_delta:
            status = Status.PROVED
            reason = f"{exact}, below the claim, at these settings; the theorem's proof is wrong."
        else:
            status = Status.CONDITIONAL
            reason = f"{exact}, below the claim, if no other difference is worse."
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
    """The same noise with the truncation that (ε, δ) really needs."""

    key = "trlaplace-corrected.v1"
    short = "trlaplace-corrected"
    title = "TrLaplace (corrected)"
    summary = "Truncated Laplace noise, cut off as far out as its promise needs"
    source = "our derivation; the exact δ is 1 − Π(1 − m(v_i))"
    cited: ClassVar[tuple[str, ...]] = ("huang2024trlaplace",)

    delta: float = parameter(
        1e-5, low=1e-300, high=0.5, help="δ: the probability with which ε may be exceeded"
    )

    def truncation(self, epsilon: float) -> Truncation:
        """The corrected noise at ε."""
        return corrected_truncation(epsilon, self.delta, self.bound, self.dimension)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Approximate local privacy, proved by the exact δ."""
        value = self.check_epsilon(epsilon)
        return ApproximateLocalPrivacy(
            epsilon=value,
            log_delta=math.log(self.delta),
            status=Status.PROVED,
            reason=(
                "The cut is the shortest whose exact δ, at the worst difference, is the stated, "
                "rounded outward."
            ),
            source=self.source,
            rounding=self.rounding(value),
        )
