"""Bisection that keeps the safe end: what comes out satisfies the condition, however it is rounded.

A calibration looks for the least noise that keeps a promise. Halfway between noise that does and
noise that does not, one of the two moves; at the end the one that does is taken and never the
middle, so that neither rounding nor an early end can break the promise.
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
    """The last number on the way from `safe` to `unsafe` at which a condition holds, elementwise.

    Args:
        holds: whether it does, for numbers of the common shape of the two ends; it is not asked
            about the ends themselves.
        safe: where it holds; may lie above or below the other end.
        unsafe: where it need not hold.
        rounds: halvings at most; by default until no float64 lies between the two ends.
        within: the width, as a part of the safe end, at which to stop.

    Returns:
        The safe ends at the end of the search.
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
