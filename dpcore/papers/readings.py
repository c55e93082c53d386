"""Paper against measurement for the experiments: what is read from the record, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.plots.layout import number
from dpcore.study.utility_summary import baseline, curves

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.learn.intervals import Mean
    from dpcore.study.experiment_results import RecordedExperiment


def said(mean: float, low: float, high: float) -> str:
    """A mean with its interval, or alone if it has none."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return f"{mean:.3g}"
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def at(
    recorded: RecordedExperiment, quantity: str, curve: str, epsilon: float, **where: Any
) -> pd.Series:
    """Mean and interval of a curve at a recorded ε.

    Raises:
        StudyError: it is not recorded.
    """
    table = recorded.table
    rows = curves(table[np.isclose(table["epsilon"], epsilon, rtol=1e-9)], quantity, **where)
    rows = rows[rows["curve"] == curve]
    if not len(rows):
        raise StudyError(f"{recorded.entry.name} has no {quantity} of {curve} at ε = {epsilon:g}")
    return rows.iloc[0]


def shown(
    recorded: RecordedExperiment, quantity: str, curve: str, epsilon: float, **where: Any
) -> str:
    """The same, as text."""
    row = at(recorded, quantity, curve, epsilon, **where)
    return said(float(row["mean"]), float(row["low"]), float(row["high"]))


def without(recorded: RecordedExperiment, quantity: str, **where: Any) -> Mean:
    """Mean over seeds without a mechanism."""
    return baseline(recorded.table, quantity, **where)


def reaching(
    recorded: RecordedExperiment, quantity: str, curve: str, level: float, **where: Any
) -> float | None:
    """The smallest ε at which the mean of a curve reaches a level, interpolated in ln ε."""
    rows = curves(recorded.table, quantity, **where)
    rows = rows[rows["curve"] == curve]
    x, y = np.log(rows["epsilon"].to_numpy()), rows["mean"].to_numpy()
    above = np.flatnonzero(y >= level)
    if not above.size:
        return None
    i = int(above[0])
    if i == 0:
        return float(np.exp(x[0]))
    share = (level - y[i - 1]) / (y[i] - y[i - 1])
    return float(np.exp(x[i - 1] + share * (x[i] - x[i - 1])))


def beside(
    recorded: RecordedExperiment,
    quantity: tuple[str, dict[str, Any]],
    curve: str,
    epsilon: float | None,
) -> float | None:
    """The mean of a quantity of a curve at any ε within its grid, interpolated in ln ε."""
    if epsilon is None:
        return None
    name, where = quantity
    rows = curves(recorded.table, name, **where)
    rows = rows[rows["curve"] == curve]
    return float(np.interp(np.log(epsilon), np.log(rows["epsilon"]), rows["mean"]))


def epsilon_text(epsilon: float | None) -> str:
    """An ε, or that there is none."""
    if epsilon is None:
        return "never"
    return f"{epsilon:.3g}" if epsilon < 999.5 else number(epsilon)


def lexicon_facts(recorded: RecordedExperiment, name: str) -> dict[str, Any]:
    """What the manifest says of a lexicon."""
    return next(one for one in recorded.entry.lexicons if one["name"] == name)


def option(recorded: RecordedExperiment, name: str) -> Any:
    """An option of the plan that was run."""
    return dict(recorded.entry.plan["options"])[name]
