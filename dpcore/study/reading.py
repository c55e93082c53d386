"""Figures read from a recorded result: a curve, its value at an ε, where it crosses a level."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.results import Recorded

PROTOCOL = "protocol"


def line(recorded: Recorded, curve: str, quantity: str) -> pd.DataFrame:
    """The rows of a curve by the best method that was recorded, ε ascending.

    Raises:
        StudyError: the result has no such curve.
    """
    rows = recorded.rows(quantity)
    rows = rows[rows["curve"] == curve]
    best = rows[rows["method"] != PROTOCOL]
    rows = best if len(best) else rows
    if not len(rows):
        raise StudyError(f"{recorded.entry.name} has no curve {curve!r} of {quantity}")
    return rows.sort_values("epsilon", kind="stable").reset_index(drop=True)


def counted(recorded: Recorded, curve: str, quantity: str) -> pd.DataFrame:
    """The rows of a curve by the papers' protocol, if another method is there too."""
    rows = recorded.rows(quantity)
    rows = rows[rows["curve"] == curve]
    chosen = rows["method"] == PROTOCOL
    found = rows[chosen] if not chosen.all() else rows[:0]
    return found.sort_values("epsilon", kind="stable").reset_index(drop=True)


def value(
    recorded: Recorded, curve: str, quantity: str, epsilon: float
) -> tuple[float, float, float]:
    """Mean at a recorded ε, and the ends of the interval that the noise of measuring leaves to it.

    Raises:
        StudyError: that ε is not recorded.
    """
    rows = line(recorded, curve, quantity)
    found = rows[np.isclose(rows["epsilon"], epsilon, rtol=1e-9, atol=0)]
    if not len(found):
        raise StudyError(f"{recorded.entry.name} has no {quantity} of {curve} at ε = {epsilon:g}")
    return interval(found.iloc[0])


def interval(row: pd.Series) -> tuple[float, float, float]:
    """Mean of a row, and the ends of its interval."""
    return float(row["mean"]), float(row["mean_low"]), float(row["mean_high"])


def crossing(recorded: Recorded, curve: str, quantity: str, level: float) -> float | None:
    """The largest ε at which the mean passes a level, between two recorded ε; None if it does not.

    Interpolated linearly in ln ε.
    """
    rows = line(recorded, curve, quantity)
    return _last_crossing(np.log(rows["epsilon"].to_numpy()), rows["mean"].to_numpy(), level)


def beside(recorded: Recorded, curve: str, of: str, where: str, level: float) -> float | None:
    """The mean of one quantity at the largest ε at which another one passes a level."""
    at = crossing(recorded, curve, where, level)
    if at is None:
        return None
    rows = line(recorded, curve, of)
    return float(np.interp(math.log(at), np.log(rows["epsilon"]), rows["mean"]))


def _last_crossing(x: np.ndarray, y: np.ndarray, level: float) -> float | None:
    above = y >= level
    places = np.flatnonzero(above[1:] != above[:-1])
    if not places.size:
        return None
    i = int(places[-1])
    share = (level - y[i]) / (y[i + 1] - y[i])
    return math.exp(float(x[i] + share * (x[i + 1] - x[i])))
