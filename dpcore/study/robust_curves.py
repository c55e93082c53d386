"""Curves of the recorded experiments with networks, as figures take them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.mechanisms.registry import resolve
from dpcore.study.rows import CLEAN, PRIVATE
from dpcore.study.utility_summary import chosen, curve_name, curves

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.experiment_results import RecordedExperiment

COLUMNS = ("curve", "mechanism", "x", "mean", "low", "high")

TRAININGS = {"normal": "normal", "augmented": "augmented", "ibp": "interval bounds (IBP)"}
"""Learner of `dpcore.study.xu2021_training` -> what it is called."""
MEASURED = {
    "paper": ("adversarial accuracy", {"variant": "paper's attack"}),
    "stronger": ("adversarial accuracy", {"variant": "stronger attack"}),
    "rewritten": ("accuracy", {"tested_on": PRIVATE}),
    "clean": ("accuracy", {"tested_on": CLEAN}),
    "certified": ("certified", {"tested_on": CLEAN}),
}
"""How accuracy is measured: quantity and the values of other columns."""


def training_curves(recorded: RecordedExperiment, mechanism: str, measured: str) -> pd.DataFrame:
    """Accuracy of each training against ε of a mechanism, x = ln ε where its ε is so read.

    A network that knows no mechanism (normal, IBP) has one clean and one certified accuracy, which
    is drawn at every ε.

    Args:
        recorded: "xu2021-tables-2-3-…".
        mechanism: short name.
        measured: key of `MEASURED`.

    Returns:
        Columns `COLUMNS`, `mechanism` empty; the interval is that of each row over its texts.
    """
    quantity, where = MEASURED[measured]
    rows = chosen(recorded.table, quantity, **where)
    mine = rows[rows["label"] == mechanism]
    epsilons = sorted(set(mine["epsilon"].dropna()))
    found: list[tuple[Any, ...]] = []
    for learner, title in TRAININGS.items():
        own = mine[mine["learner"] == learner]
        fixed = rows[rows["epsilon"].isna() & (rows["learner"] == learner)]
        for epsilon in epsilons:
            at = own[own["epsilon"] == epsilon] if len(own) else fixed
            if len(at):
                means = (float(at[name].mean()) for name in ("value", "low", "high"))
                found.append((title, "", _x(mechanism, epsilon), *means))
    return _frame(found)


def rewriting_curves(recorded: RecordedExperiment, quantity: str, **where: Any) -> pd.DataFrame:
    """Mean over seeds of a quantity against ε, one curve a noise: columns `COLUMNS`."""
    found = curves(recorded.table, quantity, **where).rename(columns={"epsilon": "x"})
    return found[list(COLUMNS)]


def interval_curves(recorded: RecordedExperiment, quantity: str, **where: Any) -> pd.DataFrame:
    """As `rewriting_curves` for a quantity that is computed, with no interval over seeds."""
    rows = chosen(recorded.table, quantity, **where)
    rows = rows[rows["epsilon"].notna()]
    found = [
        (curve_name(label), mechanism, epsilon, float(part["value"].mean()), math.nan, math.nan)
        for (label, mechanism, epsilon), part in rows.groupby(
            ["label", "mechanism", "epsilon"], sort=False
        )
    ]
    return _frame(found).sort_values(["curve", "x"], ignore_index=True)


def _x(mechanism: str, epsilon: float) -> float:
    return math.log(epsilon) if resolve(mechanism).meaning.name == "METRIC_LOG" else epsilon


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))
