"""Means over trials and medians of measurements, with their intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

LEVEL = 0.95
"""Coverage of every interval in this module."""


@dataclass(frozen=True)
class Mean:
    """A mean over trials; `low` and `high` are NaN for a single trial."""

    mean: float
    low: float
    high: float
    trials: int


def mean_interval(values: ArrayLike) -> Mean:
    """Return the mean with Student's t-interval, for independent, about normal trials.

    Args:
        values: one per trial, shape (k,).

    Raises:
        ParameterError: there is no value, or one is not finite.
    """
    sample = _sample(values, "a mean")
    mean = float(sample.mean())
    if sample.size == 1:
        return Mean(mean, math.nan, math.nan, 1)
    error = float(sample.std(ddof=1)) / math.sqrt(sample.size)
    half = student_quantile(sample.size - 1) * error
    return Mean(mean, mean - half, mean + half, int(sample.size))


@functools.lru_cache(maxsize=64)
def student_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return half the width of Student's interval of this coverage, in standard errors."""
    from scipy.special import stdtrit  # scipy.stats takes a quarter of a second to load

    return float(stdtrit(freedom, 1.0 - 0.5 * (1.0 - level)))  # both tails share 1 − level


@functools.lru_cache(maxsize=64)
def normal_quantile(level: float = LEVEL) -> float:
    """Return half the width of a normal interval of this coverage, in standard errors."""
    from scipy.special import ndtri

    return float(-ndtri(0.5 * (1.0 - level)))


def ratio_of_sums(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Return Σ values / Σ counts over independent groups, and its standard error.

    Linearised (Cochran 1977, Section 2.11): values within a group need not be independent.

    Args:
        values: of at least two groups, shape (k,).
        counts: of the same groups, not all 0, shape (k,).
    """
    # The residuals values − ratio·counts of the groups give the variance of the ratio.
    total = float(counts.sum())
    ratio = float(values.sum()) / total
    spread = float(np.square(values - ratio * counts).sum()) * values.size / (values.size - 1)
    return ratio, math.sqrt(spread) / total


def difference_error(table: NDArray[np.float64]) -> tuple[float, int]:
    """Return the standard error of the difference of two rows' means, over trials in common.

    The effect of a trial on all rows cancels. The rest is assumed to have one variance for all rows
    (as in Dunnett 1955): the residual of number ~ row + trial.

    Args:
        table: one row per item compared, one column per trial, shape (m, t).

    Returns:
        The error, NaN where no degree of freedom is left to estimate it, and (m − 1)·(t − 1), its
        degrees of freedom.
    """
    m, trials = table.shape
    freedom = (m - 1) * (trials - 1)
    if not freedom:
        return math.nan, 0
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    return math.sqrt(2.0 * float(np.square(rest).sum()) / freedom / trials), freedom


def places(table: NDArray[np.float64], level: float = LEVEL) -> list[tuple[int, int]]:
    """Return the ranks that each row may have, as far as the trials tell the means apart.

    Rank 1 is the largest mean. Two rows are told apart where the interval of their difference does
    not hold 0; the intervals of all pairs hold together (Bonferroni). A row is behind all that are
    surely larger, and before all that are surely smaller: so all ranges of ranks together hold at
    the level.

    Args:
        table: as for `difference_error`.
        level: coverage of all intervals together.

    Returns:
        First and last rank of each row, counted from 1.
    """
    m = len(table)
    error, freedom = difference_error(table)
    if not freedom:
        return [(1, m)] * m
    half = student_quantile(freedom, 1.0 - (1.0 - level) / (0.5 * m * (m - 1))) * error
    means = table.mean(axis=1)
    larger = means[None, :] - means[:, None] > half  # column over row
    before, behind = larger.sum(axis=1), larger.sum(axis=0)
    return [(1 + int(a), m - int(b)) for a, b in zip(before, behind, strict=True)]


def _sample(values: ArrayLike, what: str) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64).reshape(-1)
    if not (sample.size and np.isfinite(sample).all()):
        raise ParameterError(f"{what} needs at least one value, all of them finite numbers")
    return sample


@dataclass(frozen=True)
class Median:
    """A median of independent values; `low` and `high` are NaN for too few of them."""

    median: float
    low: float
    high: float
    count: int


def median_interval(values: ArrayLike) -> Median:
    """Return the median with the interval between two order statistics, for values of any one law.

    x₍ⱼ₎ to x₍ₙ₊₁₋ⱼ₎ misses the median with probability at most 2·P(Bin(n, ½) < j); j is the largest
    that keeps the level.

    Args:
        values: independent, shape (n,).

    Raises:
        ParameterError: there is no value, or one is not finite.
    """
    from scipy.special import bdtr

    ordered = np.sort(_sample(values, "a median"))
    below = bdtr(np.arange(ordered.size // 2 + 1), ordered.size, 0.5)
    j = int((2.0 * below <= 1.0 - LEVEL).sum())
    # j = 0: even the interval from the smallest to the largest value does not have the level.
    low, high = (float(ordered[j - 1]), float(ordered[-j])) if j else (math.nan, math.nan)
    return Median(float(np.median(ordered)), low, high, int(ordered.size))
