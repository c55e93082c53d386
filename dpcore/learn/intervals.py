"""Means over trials and medians of measurements, with their intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
"""Coverage of every interval here."""


@dataclass(frozen=True)
class Mean:
    """A mean over trials; `low` and `high` are NaN for a single trial."""

    mean: float
    low: float
    high: float
    trials: int


def mean_interval(values: ArrayLike) -> Mean:
    """Mean with Student's t-interval: trials are taken as independent and about normal.

    Args:
        values: one of each trial, shape (k,).

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
    """Half the width of Student's interval of this coverage, in standard errors."""
    from scipy.special import stdtrit  # scipy.stats takes a quarter of a second to load

    return float(stdtrit(freedom, 1.0 - 0.5 * (1.0 - level)))  # both tails share what is left


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
    """Median with the interval between two order statistics, for values of any one law.

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
    # j = 0: even the smallest and the largest value do not have the level between them.
    low, high = (float(ordered[j - 1]), float(ordered[-j])) if j else (math.nan, math.nan)
    return Median(float(np.median(ordered)), low, high, int(ordered.size))
