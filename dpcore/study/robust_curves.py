"""Curves of the recorded experiments with networks, in the form that figures take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.mechanisms.registry import resolve
from dpcore.study.plan import CLEAN, PRIVATE
from dpcore.study.recorded import Recorded
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import curve_name, curves

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("curve", "mechanism", "x", "mean", "low", "high")

TRAININGS = {"normal": "normal", "augmented": "augmented", "ibp": "interval bounds (IBP)"}
"""Learner of `dpcore.papers.xu2021.plans` -> its name in figures."""
MEASURED = {
    "paper": ("adversarial accuracy", {"variant": "paper's attack"}),
    "stronger": ("adversarial accuracy", {"variant": "stronger attack"}),
    "rewritten": ("accuracy", {"tested_on": PRIVATE}),
    "clean": ("accuracy", {"tested_on": CLEAN}),
    "certified": ("certified", {"tested_on": CLEAN}),
}
"""Kinds of accuracy: quantity and the values of other columns."""


def training_curves(recorded: Recorded, mechanism: str, measured: str) -> pd.DataFrame:
    """Return the accuracy of each training against ε (x = ln ε if ε is read on that scale).

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
    points: list[tuple[Any, ...]] = []
    for learner, title in TRAININGS.items():
        learned = mine[mine["learner"] == learner]
        # A network without rows for this mechanism was trained once: one value at every ε.
        fixed = rows[rows["epsilon"].isna() & (rows["learner"] == learner)]
        for epsilon in epsilons:
            chosen_rows = learned[learned["epsilon"] == epsilon] if len(learned) else fixed
            if len(chosen_rows):
                means = (float(chosen_rows[name].mean()) for name in ("value", "low", "high"))
                points.append((title, "", epsilon_on_axis(mechanism, epsilon), *means))
    return _frame(points)


CONSTANT = "always the largest class"


def constant_line(recorded: Recorded, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the test accuracy of a constant answer, from one end of some curves to the other.

    No attack changes a constant answer, so a network that has learned nothing lies here.

    Args:
        recorded: "xu2021-tables-2-3-…".
        curves: result of `training_curves`, not empty.
    """
    share = float(chosen(recorded.table, "majority")["value"].mean())
    ends = (float(curves["x"].min()), float(curves["x"].max()))
    return _frame([(CONSTANT, "", x, share, math.nan, math.nan) for x in ends])


def rewriting_curves(recorded: Recorded, quantity: str, **where: Any) -> pd.DataFrame:
    """Return the mean over seeds of a quantity against ε, one curve per noise (`COLUMNS`)."""
    points = curves(recorded.table, quantity, **where).rename(columns={"epsilon": "x"})
    return points[list(COLUMNS)]


def interval_curves(recorded: Recorded, quantity: str, **where: Any) -> pd.DataFrame:
    """Return curves as `rewriting_curves` for a computed quantity, without intervals over seeds."""
    rows = chosen(recorded.table, quantity, **where)
    rows = rows[rows["epsilon"].notna()]
    groups = rows.groupby(["label", "mechanism", "epsilon"], sort=False)["value"].mean()
    points = [
        (curve_name(str(label)), mechanism, epsilon, mean, math.nan, math.nan)
        for (label, mechanism, epsilon), mean in zip(groups.index, groups.tolist(), strict=True)
    ]
    return _frame(points).sort_values(["curve", "x"], ignore_index=True)


ALLOWED = "the claimed ε allows"


def allowed_curve(recorded: Recorded, data: str) -> pd.DataFrame:
    """Return the bound of a claimed ε on an attacker who names an utterance, as one curve.

    Args:
        recorded: "adept2021-…".
        data: the corpus.

    Returns:
        Columns `COLUMNS`.
    """
    rows = _claimed(recorded, data)
    bounds = rows.groupby("epsilon")["value"].mean()
    means = zip(bounds.index.tolist(), bounds.tolist(), strict=True)
    return _frame([(ALLOWED, "", epsilon, mean, math.nan, math.nan) for epsilon, mean in means])


def refuted_at(recorded: Recorded, quantity: str, data: str, mechanism: str) -> tuple[float, ...]:
    """Return the claimed ε at which a measured success exceeds the claim's bound, in every seed.

    Args:
        recorded: "adept2021-…".
        quantity: "bayes" or "first".
        data: the corpus.
        mechanism: short name of the noise.
    """
    rows = chosen(recorded.table, quantity, data=data, label=mechanism)
    claims = _claimed(recorded, data)
    # The lower end of the interval: only a success that chance does not explain refutes a claim.
    both = rows.merge(claims[["epsilon", "seed", "value"]], on=["epsilon", "seed"])
    beyond = (both["low"] > both["value_y"]).groupby(both["epsilon"]).all()
    return tuple(float(epsilon) for epsilon in beyond.index[beyond])


def _claimed(recorded: Recorded, data: str) -> pd.DataFrame:
    """Return the bound of a claim, the same for every noise: one row per ε and seed."""
    rows = chosen(recorded.table, "first_bound", variant="claimed", data=data)
    return rows.drop_duplicates(["epsilon", "seed"])


def epsilon_on_axis(mechanism: str, epsilon: float) -> float:
    """Return ε as the axis of a mechanism shows it: ln ε where that is read."""
    return math.log(epsilon) if resolve(mechanism).meaning.name == "METRIC_LOG" else epsilon


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))
