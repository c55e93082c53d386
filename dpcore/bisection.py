"""Bisection that keeps the safe end: its result satisfies the condition, however it is rounded.

A calibration looks for the least noise that meets a guarantee. Halfway between noise that does and
noise that does not, one of the two ends moves; the result is the end that does and never the
middle, so that neither rounding nor an early stop can break the guarantee.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray

_EXHAUSTED = 2_200  # more halvings than there are between any two float64


def safe_end(
    holds: Callable[[FloatArray], ArrayLike],
    safe: ArrayLike,
    unsafe: ArrayLike,
    *,
    rounds: int = _EXHAUSTED,
    within: float = 0.0,
) -> FloatArray:
    """Return the last number from `safe` towards `unsafe` at which a condition holds, elementwise.

    Args:
        holds: the condition, for numbers of the common shape of the two ends; it is not called
            for the ends themselves.
        safe: numbers at which it holds; may lie above or below the other end.
        unsafe: numbers at which it need not hold.
        rounds: halvings at most; by default until no float64 lies between the two ends.
        within: width at which to stop, relative to the safe end.

    Returns:
        The safe ends when the search stops.
    """
    good, bad = np.broadcast_arrays(np.asarray(safe, np.float64), np.asarray(unsafe, np.float64))
    for _ in range(rounds):
        middle = 0.5 * (good + bad)
        between = (middle != good) & (middle != bad) & (np.abs(bad - good) > within * np.abs(good))
        if not between.any():
            break
        kept = np.asarray(holds(middle), dtype=bool)
        good, bad = (
            np.where(between & kept, middle, good),
            np.where(between & ~kept, middle, bad),
        )
    return np.asarray(good)
