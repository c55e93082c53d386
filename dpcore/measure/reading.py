"""Where a curve that is already measured meets a target, with what the grid and noise leave open.

`dpcore.measure.targets.solve` measures more to find the crossing; this only reads what is there,
and claims an ε only where the whole interval of the estimate is on the right side of the bound:
that of level 95 % for Nw, two standard errors for the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.measure.epsilon_ranges import runs_of
from dpcore.measure.summary import STANDARD_ERRORS, summarise

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.measure.deniability import Deniability
    from dpcore.measure.targets import Target


@dataclass(frozen=True)
class Stretch:
    """Neighbouring measured ε at all of which a target holds; between them it is not measured.

    Attributes:
        low: smallest of them.
        high: largest of them.
        before: the next smaller ε that was measured: the target fails there, or the error leaves
            it open; None if none was measured.
        after: the next larger one.
    """

    low: float
    high: float
    before: float | None
    after: float | None


def margin(measured: Deniability, target: Target) -> FloatArray:
    """Standard error of the figure of a target at each ε, shape (E,).

    Of a mean it is that of the noise of the measurement, of a median or a worst word the largest
    of any word; 0 for exact methods.
    """
    errors: FloatArray = getattr(measured.figures, f"{target.quantity}_error").max(axis=0)
    if target.over != "mean":
        return errors
    mean = summarise(measured, target.quantity).mean_error
    return np.where(np.isnan(mean), errors, mean)


def _bounded_below(measured: Deniability, target: Target) -> Deniability:
    """The measurement with a number where the effective number of a word is infinite.

    No two of the R runs of such a word agreed, so its Σp² is small, but how small is not known.
    It is taken to be at most 1/z for a target of z if seeing no agreement would then lie two
    standard errors below 1/z, whatever the law: with Σp² = λ the variance of the share of agreeing
    pairs is at most 4 (λ^{3/2} − λ²)/R + 2 λ (1 − λ)/(R (R − 1)), because Σp³ ≤ λ^{3/2}. If so, z
    stands in for the infinite number, else 1.
    """
    figures = measured.figures
    infinite = np.isinf(figures.effective)
    if target.quantity != "effective" or not infinite.any():
        return measured
    share, runs = 1.0 / target.bound, measured.runs
    variance = 4.0 * (share**1.5 - share**2) / runs
    variance += 2.0 * share * (1.0 - share) / (runs * (runs - 1))
    least = target.bound if STANDARD_ERRORS * math.sqrt(variance) <= share else 1.0
    numbers = replace(
        figures,
        effective=np.where(infinite, least, figures.effective),
        effective_error=np.where(infinite, 0.0, figures.effective_error),
    )
    return replace(measured, figures=numbers)


def stretches(measured: Deniability, target: Target) -> tuple[Stretch, ...]:
    """All runs of measured ε at which a target holds for certain, as far as noise goes, ascending.

    Args:
        measured: at ascending ε.
        target: the figure and its bound.
    """
    # The end of the interval that is worse for the target: the upper one of Nw, the lower of Sw.
    if target.quantity == "nw":
        worse = target.ends(measured)[1]
    else:
        measured = _bounded_below(measured, target)
        worse = target.values(measured) - STANDARD_ERRORS * margin(measured, target)
    epsilons = measured.epsilons.tolist()
    return tuple(
        Stretch(
            epsilons[first],
            epsilons[last],
            epsilons[first - 1] if first else None,
            epsilons[last + 1] if last + 1 < len(epsilons) else None,
        )
        for first, last in runs_of(target.holds(worse))
    )
