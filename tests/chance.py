"""Statistics of randomised tests: each accepts the true law but for `FALSE_ALARM`.

What a mechanism's own tests need as well is in `dpcore.testing.chance`. A test of a sampler fails a
correct sampler with at most that probability, and what it can see is tested as well
(`tests/noise/test_radial.py` shifts each law by 2 % and demands a failure).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpcore.testing.chance import (
    FALSE_ALARM,
    assert_law,
    assert_law_near,
    assert_same_law,
    deviation,
)

__all__ = [
    "FALSE_ALARM",
    "assert_distribution",
    "assert_law",
    "assert_law_near",
    "assert_mean",
    "assert_same_law",
    "deviation",
]


def assert_distribution(values: ArrayLike, cdf: Any) -> None:
    """Kolmogorov–Smirnov test against a continuous law."""
    p = stats.kstest(np.asarray(values).ravel(), cdf).pvalue
    assert p >= FALSE_ALARM, f"p = {p:.3g}: not this distribution"


def assert_mean(values: ArrayLike, mean: float, deviation_: float) -> None:
    """The average of many independent values of known standard deviation (normal limit)."""
    x = np.asarray(values, dtype=np.float64).ravel()
    z = abs(x.mean() - mean) * math.sqrt(x.size) / deviation_
    limit = stats.norm.isf(FALSE_ALARM / 2)
    assert z <= limit, f"mean {x.mean():.6g}, expected {mean:.6g}: {z:.1f} standard errors"
