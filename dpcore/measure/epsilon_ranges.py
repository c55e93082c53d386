"""Where along the axis of ε a condition holds: a grid, and refined ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.mechanisms.mechanism import Mechanism

_LEAST = 1e-3  # ε at which every mechanism has long been at its limit
_A_DECADE = 4  # grid points
_TOLERANCE = 1e-4  # relative width of a refined crossing
_INNER = 15  # points by which all crossings are refined at a time


@dataclass(frozen=True)
class Interval:
    """A range of ε in which a target holds, ends included.

    An end is a crossing if the target fails just beyond it; else the search ended there.
    """

    low: float
    high: float
    low_is_crossing: bool
    high_is_crossing: bool


def scan(mechanism: Mechanism, low: float | None = None, high: float | None = None) -> FloatArray:
    """A grid over the admissible ε, dense near a lower end that matters, shape (E,).

    Args:
        mechanism: its admissible range bounds the grid.
        low: first ε; by default just above the lower end, or 10⁻³.
        high: last ε; by default just below the upper end, or 10⁷ (10³⁰ on a logarithmic axis).
    """
    allowed = mechanism.admissible
    if low is None:
        least = min(_LEAST, 1e-4 * allowed.high)
        low = allowed.low * (1.0 + 1e-6) if allowed.low > least else least
    if high is None:
        top = 1e30 if mechanism.meaning is EpsilonMeaning.METRIC_LOG else 1e7
        high = min(top, allowed.high * (1.0 - 1e-6))
    low, high = mechanism.check_epsilon(low), mechanism.check_epsilon(high)
    if not low < high:
        raise ParameterError(f"the range of epsilon must not be empty, got {low:g} to {high:g}")
    count = 2 + int(_A_DECADE * math.log10(high / low))
    grid = np.geomspace(low, high, count)
    if allowed.low > _LEAST:
        near = allowed.low * (1.0 + np.geomspace(1e-5, 1.0, 6 * _A_DECADE))
        grid = np.unique(np.concatenate((grid, near[(near > low) & (near < high)])))
    return grid


def runs_of(holds: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last place of each run of neighbouring places at which something holds."""
    # A False beyond either end makes the ends of the grid edges like all others.
    inside = np.concatenate(([False], holds, [False]))
    starts = np.flatnonzero(inside[1:] & ~inside[:-1])
    stops = np.flatnonzero(inside[:-1] & ~inside[1:]) - 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def holding(
    curve: Callable[[FloatArray], FloatArray],
    holds: Callable[[FloatArray], NDArray[np.bool_]],
    grid: FloatArray,
) -> tuple[Interval, ...]:
    """Intervals on which a function of ε meets a condition; crossings are refined to 10⁻⁴.

    An end is a point at which the condition was seen to hold. Of several crossings between two
    points of the grid the one next to the holding side is kept, so that an interval is never
    longer than what was seen.

    Args:
        curve: values at ε of shape (E,), any order, shape (E,).
        holds: whether values meet the condition.
        grid: ascending, shape (E,).
    """
    ends = np.array(runs_of(holds(curve(grid))), dtype=np.int64).reshape(-1)
    beyond = ends + np.tile([-1, 1], ends.size // 2)
    crosses = (beyond >= 0) & (beyond < grid.size)
    good, bad = grid[ends], grid[np.where(crosses, beyond, ends)]
    while True:
        wide = np.flatnonzero(np.abs(np.log(bad / good)) > _TOLERANCE)
        if not wide.size:
            break
        share = np.arange(1, _INNER + 1) / (_INNER + 1)
        points = good[wide, None] * (bad[wide, None] / good[wide, None]) ** share
        seen = holds(curve(points.reshape(-1))).reshape(points.shape)
        for row, i in enumerate(wide):
            # The end moves as far as all points hold, so a later crossing is never taken for it.
            failure = int(np.argmin(np.append(seen[row], False)))
            if failure < _INNER:
                bad[i] = points[row, failure]
            if failure > 0:
                good[i] = points[row, failure - 1]
    return tuple(
        Interval(float(good[i]), float(good[i + 1]), bool(crosses[i]), bool(crosses[i + 1]))
        for i in range(0, good.size, 2)
    )
