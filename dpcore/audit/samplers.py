"""Tests of noise, for mechanisms whose outputs cannot refute their claim.

A word mechanism is used at ε·d far above the resolution of any number of draws. Its guarantee
rests on the law of its noise, and that can be tested: the length of z, its projections on fixed
directions, and that rows are independent of each other. Each check is an exact or a
Kolmogorov–Smirnov test; the error probability is shared equally among them (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.profiles.noise import whitening_matrix
from dpcore.audit.verdict import SamplerTest
from dpcore.errors import ParameterError
from dpcore.limits import MAX_AUDIT_ENTRIES
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.samplers import Radial, radii, radius_cdf
from dpcore.noise.streams import generator
from dpcore.written import Filled, listed

# SciPy calls a law with the whole sample; its stub has one number at a time.
_Law = Callable[[float], float]

DEFAULT_ERROR = 1e-6
"""Probability with which correct noise fails a report."""
_PROJECTIONS = 4
_FEWEST = 1000


@dataclass(frozen=True)
class Check:
    """One test of a sampler.

    Attributes:
        name: of the tested property.
        statistic: the Kolmogorov–Smirnov distance or the share that was counted.
        p_value: probability of a statistic at least as far off under correct noise.
        threshold: the check fails below this p-value.
    """

    name: str
    statistic: float
    p_value: float
    threshold: float

    @property
    def passed(self) -> bool:
        """True if correct noise may look like this."""
        return self.p_value >= self.threshold


@dataclass(frozen=True)
class SamplerReport:
    """All checks of one sample of noise.

    Attributes:
        checks: in the order radius, projections, signs, neighbours.
        draws: rows of the sample.
        error: a correct sampler fails some check with at most this probability.
        further: names of the checks that look at something other than these rows.
    """

    checks: tuple[Check, ...]
    draws: int
    error: float
    further: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(check.name for check in self.checks if not check.passed)

    def extended(self, check: Check, error: float) -> SamplerReport:
        """Add a check of something else, which a correct sampler fails with at most this chance."""
        return SamplerReport(
            (*self.checks, check),
            self.draws,
            self.error + error,
            (*self.further, check.name),
        )

    @property
    def test(self) -> SamplerTest:
        """All checks as one finding."""
        worst = min(self.checks, key=lambda check: check.p_value)
        return SamplerTest(
            tests=len(self.checks),
            draws=self.draws,
            p_value=worst.p_value,
            threshold=worst.threshold,
            error=self.error,
            failed=self.failed,
        )

    @property
    def sentence(self) -> str:
        """The tests and their result in words."""
        state = (
            Filled("all pass")
            if self.passed
            else Filled("these fail: {names}", names=listed(self.failed))
        )
        further = Filled(" and of {names}", names=listed(self.further)) if self.further else ""
        return Filled(
            "{tests} tests of {draws:,} noise vectors (length, projections, "
            "independence){further}: {state}. A correct sampler fails any of them with "
            "probability at most {error:g}.",
            tests=len(self.checks),
            draws=self.draws,
            further=further,
            state=state,
            error=self.error,
        )


def check_noise(
    sample: FloatArray,
    family: Radial,
    scale: float,
    *,
    whitening: FloatArray | None = None,
    error: float = DEFAULT_ERROR,
    seed: int = 0,
) -> SamplerReport:
    """Test rows of noise against a radial family.

    Args:
        sample: noise vectors in the order in which they were drawn, shape (N, d), d ≥ 2.
        family: the law at scale 1.
        scale: s.
        whitening: if given, rows are multiplied by this symmetric (d, d) matrix first: S^{-1/2}
            for noise S^{1/2}·z (regularised Mahalanobis).
        error: probability with which correct noise fails.
        seed: of the fixed directions of projection, which do not depend on the sample.

    Raises:
        ParameterError: fewer than 1,000 rows, one coordinate, or values that are not finite.
    """
    from scipy.stats import binom, kstest

    rows = np.asarray(sample, dtype=np.float64)
    if not (rows.ndim == 2 and rows.shape[0] >= _FEWEST and rows.shape[1] >= 2):
        raise ParameterError(f"a sample has at least {_FEWEST} rows (N, d >= 2), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ParameterError("the noise holds NaN or infinity")
    if whitening is not None:
        rows = rows @ whitening
    draws, d = rows.shape
    power = 1 if family is Radial.LAPLACE else 2
    lengths = np.linalg.norm(rows, ord=power, axis=1)
    statistics: list[tuple[str, float, float]] = []
    test = kstest(lengths / scale, cast("_Law", lambda r: radius_cdf(family, r, d)))
    statistics.append(("radius", float(test.statistic), float(test.pvalue)))
    axes = _axes(family, d, seed)
    shadows = rows @ axes.T
    for i in range(len(axes)):
        statistic, law = _direction_law(family, shadows[:, i], lengths, scale, d)
        test = kstest(statistic, cast("_Law", law))
        statistics.append(
            (Filled("projection {number}", number=i + 1), float(test.statistic), float(test.pvalue))
        )
        ahead = int((shadows[:, i] > 0).sum())
        # Both tails of a symmetric law: twice the smaller one.
        p = 2.0 * float(binom.cdf(min(ahead, draws - ahead), draws, 0.5))
        statistics.append((Filled("sign {number}", number=i + 1), ahead / draws, min(p, 1.0)))
    # Disjoint pairs of successive rows: their products have a random sign if rows are independent.
    pairs = np.einsum("ij,ij->i", rows[: draws // 2 * 2 : 2], rows[1::2])
    ahead = int((pairs > 0).sum())
    p = 2.0 * float(binom.cdf(min(ahead, pairs.size - ahead), pairs.size, 0.5))
    statistics.append((Filled("neighbouring rows"), ahead / pairs.size, min(p, 1.0)))
    # No continuous law repeats a row.
    same = int((rows[1:] == rows[:-1]).all(axis=1).sum())
    statistics.append((Filled("repeated rows"), float(same), 0.0 if same else 1.0))
    # Bonferroni: no matter how the checks depend on each other.
    threshold = error / len(statistics)
    return SamplerReport(tuple(Check(*values, threshold) for values in statistics), draws, error)


def noise_report(mechanism: Mechanism, epsilon: float, count: int, seed: int) -> SamplerReport:
    """Test the mechanism's own directions and radii at ε, whitened if they are elliptical.

    Args:
        mechanism: with the sampler to test: `rays` or `reference_noise`.
        epsilon: ε.
        count: noise vectors.
        seed: of the noise.

    Raises:
        ParameterError: more noise than fits in memory.
    """
    rng = generator(seed, "audit", "sampler", mechanism.key)
    radial = mechanism.rays
    if radial is None:
        return _reference_report(mechanism, epsilon, rng, count, seed)
    noise = radial.vector_noise(epsilon)
    family, dimension = noise.family, noise.dimension
    _check_room(count, dimension)
    rows = 2 * count if dimension == 1 else count
    directions = radial.directions(rng, rows)
    z = directions * (noise.scale * radii(rng, family, rows, dimension))[:, None]
    if dimension == 1:  # a sign is no direction to project: two draws in a row are i.i.d. Laplace
        return check_noise(z.reshape(count, 2), Radial.LAPLACE, noise.scale, seed=seed)
    share = noise.covariance
    matrix = None if share is None else whitening_matrix(mechanism.lexicon, share)
    return check_noise(z, family, noise.scale, whitening=matrix, seed=seed)


def _reference_report(
    mechanism: Mechanism, epsilon: float, rng: np.random.Generator, count: int, seed: int
) -> SamplerReport:
    """Test noise that was brought to the law of L2-Laplace noise at scale 1."""
    dimension = mechanism.lexicon.dimension
    _check_room(count, dimension)
    rows = mechanism.reference_noise(rng, epsilon, 2 * count if dimension == 1 else count)
    if rows is None:
        raise ParameterError(f"{mechanism.short} has no noise whose sampler could be tested")
    if dimension == 1:
        return check_noise(rows.reshape(count, 2), Radial.LAPLACE, 1.0, seed=seed)
    return check_noise(rows, Radial.L2LAPLACE, 1.0, seed=seed)


def _check_room(count: int, dimension: int) -> None:
    if not count * dimension <= MAX_AUDIT_ENTRIES:
        raise ParameterError(
            f"at most {MAX_AUDIT_ENTRIES // dimension:,} noise vectors of {dimension} coordinates "
            f"are tested at a time, got {count:,}: lower the draws"
        )


def _axes(family: Radial, d: int, seed: int) -> FloatArray:
    """Return fixed unit vectors: coordinate axes for i.i.d. coordinates, whose law is known."""
    rng = generator(seed, "audit", "axes", d)
    if family is Radial.LAPLACE:
        return np.eye(d)[rng.choice(d, min(d, _PROJECTIONS), replace=False)]
    axes = rng.standard_normal((_PROJECTIONS, d))
    return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True))


def _direction_law(
    family: Radial, shadow: FloatArray, lengths: FloatArray, scale: float, d: int
) -> tuple[FloatArray, object]:
    """Return the statistic of one projection and its distribution function."""
    from scipy.special import betainc

    if family is Radial.LAPLACE:
        return shadow / scale, lambda x: 0.5 - 0.5 * np.sign(x) * np.expm1(-np.abs(x))
    # t = ⟨z, a⟩/‖z‖ of a uniform direction: (1 + t)/2 ~ Beta((d − 1)/2, (d − 1)/2).
    shape = 0.5 * (d - 1)
    cosine = np.clip(shadow / lengths, -1.0, 1.0)
    return cosine, lambda t: betainc(shape, shape, np.clip(0.5 * (1.0 + t), 0.0, 1.0))
