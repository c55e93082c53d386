"""Means over trials with their intervals."""

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
