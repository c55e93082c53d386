"""Means over trials and medians of measurements, with their intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEVEL = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over trials; `low` and `high` are NaN for a single trial."""

    mean: float
    low: float
    high: float
    trials: int


def mean_interval(values: ArrayLike, level: float = LEVEL) -> Mean:
    """Mean with Student's t-interval: trials are taken as independent and about normal.

    Args:
        values: one of each trial, shape (k,); NaN is refused.
        level: coverage, above 0 and below 1.

    Raises:
        ParameterError: there is no value, one is not finite, or the level is out of range.
    """
    found = np.asarray(values, dtype=np.float64).reshape(-1)
    if not (found.size and np.isfinite(found).all()):
        raise ParameterError("a mean needs at least one value, all of them finite numbers")
    if not 0 < level < 1:
        raise ParameterError(f"a level of coverage must be above 0 and below 1, got {level}")
    mean = float(found.mean())
    if found.size == 1:
        return Mean(mean, math.nan, math.nan, 1)
    error = float(found.std(ddof=1)) / math.sqrt(found.size)
    half = _quantile(level, found.size - 1) * error
    return Mean(mean, mean - half, mean + half, int(found.size))


@functools.lru_cache(maxsize=64)
def _quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit  # scipy.stats takes a quarter of a second to load

    return float(stdtrit(freedom, 1.0 - 0.5 * (1.0 - level)))


@dataclass(frozen=True)
class Median:
    """A median of independent values; `low` and `high` are NaN for too few of them."""

    median: float
    low: float
    high: float
    count: int


def median_interval(values: ArrayLike, level: float = LEVEL) -> Median:
    """Median with the interval between two order statistics, for values of any one law.

    x₍ⱼ₎ to x₍ₙ₊₁₋ⱼ₎ misses the median with probability at most 2·P(Bin(n, ½) < j); j is the largest
    that keeps the level.

    Args:
        values: independent, shape (n,); NaN is refused.
        level: coverage, above 0 and below 1.

    Raises:
        ParameterError: there is no value, one is not finite, or the level is out of range.
    """
    found = np.sort(np.asarray(values, dtype=np.float64).reshape(-1))
    if not (found.size and np.isfinite(found).all()):
        raise ParameterError("a median needs at least one value, all of them finite numbers")
    if not 0 < level < 1:
        raise ParameterError(f"a level of coverage must be above 0 and below 1, got {level}")
    from scipy.special import bdtr

    below = bdtr(np.arange(found.size // 2 + 1), found.size, 0.5)
    j = int((2.0 * below <= 1.0 - level).sum())
    low, high = (float(found[j - 1]), float(found[-j])) if j else (math.nan, math.nan)
    return Median(float(np.median(found)), low, high, int(found.size))
