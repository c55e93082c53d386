"""Which ε meets a target of deniability, and which ε of two mechanisms are comparable.

A target such as "mean Nw ≤ 0.3" need not hold on a half-line: Nw of the truncated Gumbel mechanism
first falls and then rises with ε near the lower end of its domain, and Nw of an additive mechanism
may do so at tiny ε, where a few words on the hull of the vocabulary come out whatever went in. So
the answer is a list of intervals, found on a grid over the whole range and refined at every
crossing. What falls between two points of the grid on both sides of which the target holds (or
fails) is not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import RUNS, Method, choose_method, measure
from dpcore.measure.epsilon_ranges import Interval, holding, runs_of, scan
from dpcore.measure.summary import QUANTITIES, summarise

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.measure.deniability import Deniability
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism

OVER = ("mean", "median", "worst")


@dataclass(frozen=True)
class Target:
    """A bound on one figure: Nw at most, Sw or the effective number at least.

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
        """The figure at each ε of a measurement, shape (E,)."""
        return np.asarray(getattr(summarise(measured, self.quantity), self.over))

    def ends(self, measured: Deniability) -> tuple[FloatArray, FloatArray]:
        """The interval of level 95 % of a target of Nw at each ε, shape (E,) each.

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
        """Whether each value meets the target."""
        return values <= self.bound if self.quantity == "nw" else values >= self.bound

    def __str__(self) -> str:
        """The target in words."""
        sign = "≤" if self.quantity == "nw" else "≥"
        return f"{self.over} {self.quantity} {sign} {self.bound:g}"


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a target holds.

    Attributes:
        target: the target.
        intervals: ascending and disjoint; empty if it holds nowhere.
        epsilons: all ε that were tried, ascending, shape (E,).
        values: the figure there, shape (E,).
        low: of a target of Nw, the lower end of the figure's interval of level 95 %, shape (E,);
            else None.
        high: the upper end: where it is above the bound, the target is not certain to hold.
        method: how it was measured.
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
    """All ε of a range at which a set of words meets a target.

    With an estimated method the seed is the same at every ε, so that the answer belongs to one
    set of noise directions; `Solution.error`, and for Nw the interval, say how far the figure
    itself may be off.

    Args:
        mechanism: over the lexicon of the selection.
        selection: the words.
        target: the figure and its bound.
        low: smallest ε to look at; see `scan`.
        high: largest ε to look at.
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
    # No error is known of a mean effective number: the largest of a word stands in for it.
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
    """The ε of another mechanism at which the same words have the same mean Nw.

    They are the `crossings` of the solution: usually one; none if the other mechanism never
    reaches this Nw; several where its Nw is not monotone. Equal Nw is not equal privacy: the
    guarantees of the two mechanisms may still mean different things.

    Args:
        mechanism: the one that is given.
        epsilon: its ε.
        other: the one to be set.
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
