"""Values of ε that meet a target of deniability, and comparable ε of two mechanisms.

A target such as "mean Nw ≤ 0.3" need not hold on a half-line: Nw of the truncated Gumbel mechanism
first falls and then rises with ε near the lower end of its domain, and Nw of an additive mechanism
may do so at tiny ε, where a few words on the hull of the vocabulary are the output for any input.
So the answer is a list of intervals, found on a grid over the whole range and refined at every
crossing. A change between two points of the grid that both meet the target (or both fail) is not
detected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import (
    QUANTITIES,
    RUNS,
    Deniability,
    Method,
    choose_method,
    measure,
    summarise,
)
from dpcore.measure.words import Selection
from dpcore.mechanisms.mechanism import Mechanism

# Ranges of ε where a condition holds: a grid, and refined ends.


_LEAST = 1e-3  # ε at which every mechanism is practically at its limit
_A_DECADE = 4  # grid points
_TOLERANCE = 1e-4  # relative width of a refined crossing
_INNER = 15  # points by which all crossings are refined at a time


@dataclass(frozen=True)
class Interval:
    """Range of ε in which a target holds, ends included.

    An end is a crossing if the target fails just beyond it; else the search ended there.
    """

    low: float
    high: float
    low_is_crossing: bool
    high_is_crossing: bool


def scan(mechanism: Mechanism, low: float | None = None, high: float | None = None) -> FloatArray:
    """Return a grid over the admissible ε, dense near a lower end that matters, shape (E,).

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
    """Return the first and last place of each run of neighbouring places that are True."""
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
    """Return intervals where a function of ε meets a condition; crossings refined to 10⁻⁴.

    An end is a point at which the condition was observed to hold. Of several crossings between two
    points of the grid the one next to the holding side is kept, so that an interval is never longer
    than the observations.

    Args:
        curve: values at ε of shape (E,), any order, shape (E,).
        holds: returns True where values meet the condition.
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


OVER = ("mean", "median", "worst")


@dataclass(frozen=True)
class Target:
    """Bound on one figure: Nw at most, Sw or the effective number at least.

    Attributes:
        quantity: nw, sw or effective.
        bound: the bound itself is allowed.
        over: mean, median, or worst word.
    """

    quantity: str
    bound: float
    over: str = "mean"

    def __post_init__(self) -> None:
        """Check names and bound (NaN fails)."""
        if self.quantity not in QUANTITIES or self.over not in OVER:
            raise ParameterError(
                f"a target is {', '.join(QUANTITIES)} over {', '.join(OVER)}, got "
                f"{self.quantity!r} over {self.over!r}"
            )
        low, high = (0.0, 1.0) if self.quantity == "nw" else (1.0, math.inf)
        if not (low <= self.bound <= high and self.bound < math.inf):
            allowed = "in [0, 1]" if self.quantity == "nw" else "a finite number of at least 1"
            raise ParameterError(
                f"the bound on {self.quantity} must be {allowed}, got {self.bound}"
            )

    def values(self, measured: Deniability) -> FloatArray:
        """Return the figure at each ε of a measurement, shape (E,)."""
        return np.asarray(getattr(summarise(measured, self.quantity), self.over))

    def ends(self, measured: Deniability) -> tuple[FloatArray, FloatArray]:
        """Return the interval of level 95 % of a target of Nw at each ε, shape (E,) each.

        A median or a largest value grows with every value, so that it lies between those of the
        lower and of the upper ends.

        Raises:
            ParameterError: the target is of another quantity.
        """
        if self.quantity != "nw":
            raise ParameterError(f"only Nw has an interval, got {self.quantity}")
        figures = measured.figures
        if self.over == "mean":
            return figures.nw_mean_low, figures.nw_mean_high
        low, high = (
            self.values(replace(measured, figures=replace(figures, nw=values)))
            for values in (figures.nw_low, figures.nw_high)
        )
        return low, high

    def holds(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return True where a value meets the target."""
        return values <= self.bound if self.quantity == "nw" else values >= self.bound

    def __str__(self) -> str:
        """Return the target as text."""
        sign = "≤" if self.quantity == "nw" else "≥"
        return f"{self.over} {self.quantity} {sign} {self.bound:g}"


@dataclass(frozen=True, eq=False)
class Solution:
    """Ranges of ε where a target holds.

    Attributes:
        target: the target.
        intervals: ascending and disjoint; empty if it holds nowhere.
        epsilons: all ε that were tried, ascending, shape (E,).
        values: the figure there, shape (E,).
        low: of a target of Nw, the lower end of the figure's interval of level 95 %, shape (E,);
            else None.
        high: the upper end: where it is above the bound, the target is not certain to hold.
        method: method of measurement.
        error: the largest standard error of the figure at any ε tried (of a median or worst word,
            the largest of any word); 0 if exact.
    """

    target: Target
    intervals: tuple[Interval, ...]
    epsilons: FloatArray
    values: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    method: Method
    error: float

    @property
    def smallest(self) -> float | None:
        """Smallest ε found to meet the target."""
        return self.intervals[0].low if self.intervals else None

    @property
    def largest(self) -> float | None:
        """Largest ε found to meet the target: the most useful one."""
        return self.intervals[-1].high if self.intervals else None

    @property
    def certain(self) -> tuple[tuple[float, float], ...] | None:
        """Ends of each run of tried ε at which all of Nw's interval meets the bound.

        None for another quantity.
        """
        if self.high is None:
            return None
        return tuple(
            (float(self.epsilons[first]), float(self.epsilons[last]))
            for first, last in runs_of(self.target.holds(self.high))
        )

    @property
    def crossings(self) -> tuple[float, ...]:
        """All ε at which the figure passes the bound, ascending."""
        return tuple(
            end
            for part in self.intervals
            for end, crosses in (
                (part.low, part.low_is_crossing),
                (part.high, part.high_is_crossing),
            )
            if crosses
        )


def solve(
    mechanism: Mechanism,
    selection: Selection,
    target: Target,
    *,
    low: float | None = None,
    high: float | None = None,
    method: Method | str = Method.AUTO,
    runs: int = RUNS,
    seed: int | None = 0,
    progress: Progress = silent,
) -> Solution:
    """Find all ε of a range at which a set of words meets a target.

    With an estimated method the seed is the same at every ε, so that the answer belongs to one set
    of noise directions; `Solution.error`, and for Nw the interval, bound the error of the figure
    itself.

    Args:
        mechanism: over the lexicon of the selection.
        selection: the words.
        target: the figure and its bound.
        low: smallest ε to try; see `scan`.
        high: largest ε to try.
        method: as for `measure`.
        runs: R of Sw.
        seed: of the noise.
        progress: called by every measurement.

    Raises:
        ParameterError, EpsilonError: as `measure`, or the range is empty.
    """
    tried: list[FloatArray] = []
    values: list[FloatArray] = []
    ends: list[tuple[FloatArray, FloatArray]] = []
    errors = [0.0]
    chosen = choose_method(mechanism, method)
    # No error of a mean effective number is known: the largest of a word replaces it.
    mean = target.over == "mean" and target.quantity != "effective"
    error = f"{target.quantity}_mean_error" if mean else f"{target.quantity}_error"

    def curve(epsilons: FloatArray) -> FloatArray:
        measured = measure(
            mechanism, selection, epsilons, method=chosen, runs=runs, seed=seed, progress=progress
        )
        tried.append(epsilons)
        values.append(target.values(measured))
        if target.quantity == "nw":
            ends.append(target.ends(measured))
        errors.append(float(getattr(measured.figures, error).max()))
        return values[-1]

    intervals = holding(curve, target.holds, scan(mechanism, low, high))
    epsilons, figures = np.concatenate(tried), np.concatenate(values)
    order = np.argsort(epsilons, kind="stable")
    least, most = (
        np.concatenate([end[i] for end in ends])[order] if ends else None for i in range(2)
    )
    return Solution(
        target, intervals, epsilons[order], figures[order], least, most, chosen, max(errors)
    )


def calibrate(
    mechanism: Mechanism,
    epsilon: float,
    other: Mechanism,
    selection: Selection,
    *,
    method: Method | str = Method.AUTO,
    runs: int = RUNS,
    seed: int | None = 0,
    progress: Progress = silent,
) -> Solution:
    """Find the ε of another mechanism at which the same words have the same mean Nw.

    They are the `crossings` of the solution: usually one; none if the other mechanism never reaches
    this Nw; several where its Nw is not monotone. Equal Nw is not equal privacy: the guarantees of
    the two mechanisms may still mean different things.

    Args:
        mechanism: the reference mechanism.
        epsilon: its ε.
        other: the mechanism to calibrate.
        selection: the words.
        method: of both measurements, as are the rest; see `measure`.
        runs: R.
        seed: of the noise.
        progress: called by every measurement.
    """
    settings: dict[str, Any] = {"method": method, "runs": runs, "seed": seed, "progress": progress}
    given = measure(mechanism, selection, [epsilon], **settings)
    target = Target("nw", float(summarise(given, "nw").mean[0]))
    return solve(other, selection, target, **settings)
