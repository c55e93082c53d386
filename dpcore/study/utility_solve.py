"""The smallest ε that keeps accuracy within a margin of the baseline, by mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcore.errors import ParameterError, StudyError
from dpcore.learn.intervals import mean_interval
from dpcore.plots.layout import number
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import curve_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Solved:
    """Where a curve comes within a margin of the baseline, and stays.

    Attributes:
        curve: which.
        mechanism: short name.
        epsilon: the smallest ε from which on the mean loss is at most the margin; None if the
            curve does not get there within the measured ε.
        low: the same for the lower end of the loss's interval: before it, the loss is larger.
        high: the same for the upper end: from there on, the loss is surely that small; None if
            it does not get there.
        smallest: the smallest ε that was measured; `epsilon` equal to it means "or less".
        largest: the largest ε that was measured.
    """

    curve: str
    mechanism: str
    epsilon: float | None
    low: float | None
    high: float | None
    smallest: float
    largest: float

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.epsilon is None:
            return f"{self.curve}: not reached up to ε = {number(self.largest)}"
        low = "?" if self.low is None else _short(self.low)
        if self.low is not None and self.low <= self.smallest:
            low += " or less"
        high = f"more than {number(self.largest)}" if self.high is None else _short(self.high)
        less = " or less" if self.epsilon <= self.smallest else ""
        return f"{self.curve}: ε = {_short(self.epsilon)}{less} (interval {low} to {high})"


def _short(epsilon: float) -> str:
    return f"{epsilon:.3g}" if epsilon < 999.5 else number(epsilon)


def solve(table: pd.DataFrame, within: float, **where: Any) -> tuple[Solved, ...]:
    """The smallest ε of every curve whose accuracy is within a margin of the baseline's.

    The loss is taken seed by seed (baseline minus curve, on the same texts), so that what the
    choice of texts does to both cancels; its mean has a 95 % t-interval. Between two measured ε
    the loss is interpolated linearly in ln ε.

    Args:
        table: rows of an experiment, with its baseline.
        within: margin x in accuracy, from 0 to 1.
        where: learner, tested_on, lexicon …, as for `curves`; the baseline is the clean one.

    Raises:
        ParameterError: the margin is not between 0 and 1.
        StudyError: there is no baseline, or fewer than two seeds.
    """
    (answers,) = solve_each(table, (within,), **where)
    return answers


def solve_each(
    table: pd.DataFrame, margins: Sequence[float], **where: Any
) -> tuple[tuple[Solved, ...], ...]:
    """`solve` for each of some margins, with one look at the table.

    Raises:
        ParameterError: as `solve`.
        StudyError: as `solve`.
    """
    for within in margins:
        if not 0 <= within <= 1:
            raise ParameterError(f"a margin of accuracy must be from 0 to 1, got {within}")
    rows = chosen(table, "accuracy", **where)
    # The baseline has clean texts alone, whatever the curves are tested on.
    shared = {name: value for name, value in where.items() if name != "tested_on"}
    clean = chosen(table, "accuracy", **shared)
    before = clean[clean["epsilon"].isna()].groupby("seed")["value"].mean()
    if len(before) < 2:
        raise StudyError("an interval needs the baseline of at least two seeds")
    rows = rows[rows["epsilon"].notna()]
    rows = rows.assign(curve=rows["label"].map(curve_name))
    found = []
    for (curve, mechanism), part in rows.groupby(["curve", "mechanism"], sort=False):
        epsilons, losses = _losses(part, before)
        if epsilons.size:
            found.append((str(curve), str(mechanism), epsilons, losses))
    return tuple(tuple(_solved(*each, within) for each in found) for within in margins)


def _solved(
    curve: str,
    mechanism: str,
    epsilons: NDArray[np.float64],
    losses: NDArray[np.float64],
    within: float,
) -> Solved:
    # Each end of the interval is a curve of its own, and is asked the same question.
    places = [_from_on(np.log(epsilons), line, within) for line in losses]
    low, epsilon, high = (None if x is None else math.exp(x) for x in places)
    return Solved(curve, mechanism, epsilon, low, high, float(epsilons[0]), float(epsilons[-1]))


def _losses(
    rows: pd.DataFrame, before: pd.Series
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ε ascending, and lower end, mean and upper end of the loss at each, shape (3, E)."""
    epsilons, lines = [], []
    for epsilon, part in rows.groupby("epsilon"):
        after = part.groupby("seed")["value"].mean()
        loss = (before - after).dropna().to_numpy(dtype=np.float64)
        if loss.size < 2:
            continue
        mean = mean_interval(loss)
        epsilons.append(float(cast("float", epsilon)))
        lines.append((mean.low, mean.mean, mean.high))
    return np.array(epsilons), np.array(lines).reshape(-1, 3).T


def _from_on(x: NDArray[np.float64], losses: NDArray[np.float64], within: float) -> float | None:
    """The smallest x from which on the loss is at most the margin, to the end of what is known."""
    fails = np.flatnonzero(losses > within)
    if not fails.size:
        return float(x[0])
    last = int(fails[-1])
    if last == x.size - 1:
        return None
    # The line from the last point above the margin to the next, which is at most the margin.
    share = (losses[last] - within) / (losses[last] - losses[last + 1])
    return float(x[last] + share * (x[last + 1] - x[last]))
