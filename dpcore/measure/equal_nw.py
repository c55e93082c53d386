"""Two mechanisms at equal mean Nw, read from curves that are already measured.

Equal Nw is not equal privacy: it only sets two mechanisms side by side where the words stay as
often, so that what they become can be compared (as Xu et al. 2021, Fig. 2 does for Sw).
`dpcore.measure.targets.calibrate` measures more to find the same ε closer; this only reads, and
says between which measured ε the answer lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.measure.summary import summarise

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.measure.deniability import Deniability


@dataclass(frozen=True)
class Crossing:
    """An ε at which a measured curve has a wanted mean Nw.

    Attributes:
        epsilon: on the straight line in ln ε between the two measured ε next to it; where the
            curve has the value at several neighbouring ε, the smallest.
        low: the next smaller measured ε at which the interval of the mean Nw (of level 95 %) does
            not hold the value; None if there is none.
        high: the next larger one.
        sw: mean Sw at `epsilon`, on the same line.
        effective: median effective number there; may be infinite.
    """

    epsilon: float
    low: float | None
    high: float | None
    sw: float
    effective: float


def crossings(measured: Deniability, nw: float) -> tuple[Crossing, ...]:
    """All ε at which the mean Nw is a value, as far as the curve tells them apart, ascending.

    Places that are not separated by a measured ε at which the interval of the mean Nw does not
    hold the value are one. None: the curve never has this Nw between its ends. Several: it is not
    monotone there.

    Args:
        measured: at ascending ε.
        nw: the wanted mean Nw.

    Raises:
        ParameterError: nw is no probability.
    """
    if not 0.0 <= nw <= 1.0:
        raise ParameterError(f"a mean Nw is in [0, 1], got {nw}")
    summary = summarise(measured, "nw")
    gap = summary.mean - nw
    certain = np.flatnonzero((summary.mean_low > nw) | (summary.mean_high < nw)).tolist()
    last = gap.size - 1
    columns = (summarise(measured, "sw").mean, summarise(measured, "effective").median)
    answer = []
    # Between two neighbouring ε that are certainly off, all places with the value are one answer.
    for low, high in zip([None, *certain], [*certain, None], strict=True):
        place = _meets(gap, 0 if low is None else low, last if high is None else high)
        if place is None:
            continue
        sw, effective = (_between(values, place) for values in columns)
        epsilon = math.exp(_between(np.log(measured.epsilons), place))
        below, above = (None if i is None else float(measured.epsilons[i]) for i in (low, high))
        answer.append(Crossing(epsilon, below, above, sw, effective))
    return tuple(answer)


def _meets(gap: FloatArray, first: int, last: int) -> float | None:
    """The first place, in steps of the grid, from `first` to `last` where a line chain is 0."""
    for i in range(first, last + 1):
        if gap[i] == 0.0:
            return float(i)
        # A change of sign: where the straight line between the two points is 0.
        if i < last and gap[i] * gap[i + 1] < 0.0:
            return float(i + gap[i] / (gap[i] - gap[i + 1]))
    return None


def _between(values: FloatArray, place: float) -> float:
    """A value between two places of the grid; next to an infinite one it is infinite."""
    i = int(place)
    share = place - i
    if share == 0.0:
        return float(values[i])
    return float((1.0 - share) * values[i] + share * values[i + 1])
