"""Curves, baselines and the frontier of an experiment, from its tidy rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import StudyError
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.study.tables import chosen

if TYPE_CHECKING:
    import pandas as pd

RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys((
        "accuracy", "accuracy on what it learned", "auc", "bayes", "exact", "first", "majority",
        "nw", "roc", "rouge1", "rouge1_recall", "tpr",
    ), (0.0, 1.0)),
    "bleu": (0.0, 100.0),
}  # fmt: skip
"""Ranges of bounded quantities; their intervals are cut at the ends."""
KEYS = ["curve", "mechanism", "epsilon"]
"""Columns that identify a point of a curve."""
CURVE_COLUMNS = (*KEYS, "mean", "low", "high", "trials")
_KINDS = dict.fromkeys(("epsilon", "mean", "low", "high"), "float64") | {"trials": "int64"}


def curve_name(label: str) -> str:
    """Return the curve of an arm: arms that differ in dummy dimensions alone share one."""
    return str(label).partition(", d′")[0]


def curves(table: pd.DataFrame, quantity: str, **where: Any) -> pd.DataFrame:
    """Compute the mean over seeds at each ε with a 95 % t-interval, one curve per label.

    Args:
        table: rows with the columns `dpcore.study.plan.COLUMNS`.
        quantity: quantity, such as accuracy, auc, nw.
        where: values of other columns, such as learner="averaged", tested_on="clean".

    Returns:
        Columns `CURVE_COLUMNS`, ε ascending; `low` and `high` are NaN if there is one trial. Arms
        of one mechanism that differ in the number of dummy dimensions are one curve.
    """
    import pandas as pd

    rows = chosen(table, quantity, **where)
    rows = rows[rows["epsilon"].notna()]
    rows = rows.assign(curve=rows["label"].map(curve_name))
    points = []
    # Averaged per seed first: its rows (labellings, parts) are not independent trials.
    by_seed = rows.groupby([*KEYS, "seed"], sort=False)["value"].mean()
    for key, part in by_seed.groupby(level=KEYS, sort=False):
        mean = _interval(part.to_numpy(dtype=np.float64), quantity)
        curve = cast("tuple[str, str, float]", key)
        points.append((*curve, mean.mean, mean.low, mean.high, mean.trials))
    frame = pd.DataFrame(points, columns=list(CURVE_COLUMNS))
    frame = frame.astype(_KINDS)  # also if there is no row
    # Curves keep the order of the table; only the ε of each are sorted.
    place = frame["curve"].map({name: i for i, name in enumerate(frame["curve"].unique())})
    frame = frame.assign(place=place).sort_values(["place", "epsilon"], kind="stable")
    return frame.drop(columns="place").reset_index(drop=True)


def baseline(table: pd.DataFrame, quantity: str, **where: Any) -> Mean:
    """Compute the mean over seeds of a quantity of the rows without a mechanism.

    Raises:
        StudyError: there are none.
    """
    rows = chosen(table, quantity, **where)
    rows = rows[rows["epsilon"].isna()]
    if not len(rows):
        raise StudyError(f"the results hold no baseline of {quantity}")
    return _mean(rows, quantity)


CELL = (
    "label",
    "mechanism",
    "epsilon",
    "data",
    "learner",
    "tested_on",
    "variant",
    "quantity",
    "at",
)
"""Columns that identify a cell of an experiment, over whose seeds a mean is taken."""


def cell_means(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Compute the mean over seeds of every cell, with a 95 % t-interval, in the order of the table.

    Returns:
        One dictionary per cell: the columns `CELL`, None where a value is missing; `mean`, `low`,
        `high`, `trials`. The ends of a single trial are those that were recorded, or None.
    """
    cells = []
    for key, part in table.groupby(list(CELL), sort=False, dropna=False):
        mean = _mean(part, str(key[CELL.index("quantity")]))
        low, high = mean.low, mean.high
        if mean.trials == 1:
            low, high = (float(part[end].mean()) for end in ("low", "high"))
        ends = {"mean": mean.mean, "low": low, "high": high}
        texts = dict(zip(CELL, key, strict=True)) | ends
        row = {name: None if value != value else value for name, value in texts.items()}
        cells.append({**row, "trials": mean.trials})
    return cells


def _mean(rows: pd.DataFrame, quantity: str) -> Mean:
    by_seed = rows.groupby("seed")["value"].mean().to_numpy(dtype=np.float64)
    return _interval(by_seed, quantity)


def _interval(by_seed: NDArray[np.float64], quantity: str) -> Mean:
    """Compute the mean over seeds, with its interval cut to the range of the quantity."""
    mean = mean_interval(by_seed)
    if quantity not in RANGES or mean.trials == 1:
        return mean
    least, most = RANGES[quantity]
    return replace(mean, low=max(least, mean.low), high=min(most, mean.high))


def frontier(points: pd.DataFrame, private: str, useful: str) -> pd.DataFrame:
    """Mark dominated points: another is at least as private and as useful, and better in one.

    Args:
        points: one row per mechanism and ε.
        private: column of which less is better, such as the attacker's AUC or Nw.
        useful: column of which more is better, such as accuracy.

    Returns:
        The rows with finite numbers in both columns, and a column `dominated`.
    """
    cost, gain = (points[name].to_numpy(dtype=np.float64) for name in (private, useful))
    whole = np.isfinite(cost) & np.isfinite(gain)
    kept, cost, gain = points[whole], cost[whole], gain[whole]
    # Row i, column j: True if j is at least as good as i in both, and better in one of them.
    better = (cost[:, None] >= cost) & (gain[:, None] <= gain)
    strictly = (cost[:, None] > cost) | (gain[:, None] < gain)
    dominated: pd.DataFrame = kept.assign(dominated=(better & strictly).any(axis=1))
    return dominated


def join_quantities(
    table: pd.DataFrame, private: tuple[str, dict[str, Any]], useful: tuple[str, dict[str, Any]]
) -> pd.DataFrame:
    """Join two quantities in one row per curve and ε: the points of a frontier.

    Args:
        table: rows of an experiment.
        private: quantity and filter, as for `curves`; its mean becomes the column `private`.
        useful: the same, for the column `useful`.
    """
    left, right = (curves(table, name, **where) for name, where in (private, useful))
    left = left[[*KEYS, "mean"]].rename(columns={"mean": "private"})
    right = right[[*KEYS, "mean"]].rename(columns={"mean": "useful"})
    return left.merge(right, on=KEYS)


def roc_curves(
    table: pd.DataFrame, picks: Sequence[tuple[str, float | None]], **where: Any
) -> pd.DataFrame:
    """Compute the mean ROC over trials of some curves, each at one ε (`dpcore.plots.utility.roc`).

    Args:
        table: rows of an experiment.
        picks: label of a curve and its ε; None for the model of clean text.
        where: learner, variant …, as for `curves`.

    Returns:
        Columns curve, mechanism, epsilon, at, mean, low, high; false-positive rates ascending. The
        interval is Student's over trials, at each rate separately.
    """
    import pandas as pd

    rows = chosen(table, "roc", **where)
    points = []
    for label, epsilon in picks:
        of = rows[rows["epsilon"].isna() if epsilon is None else rows["epsilon"] == epsilon]
        of = of[of["label"] == label]
        name = "without privacy" if epsilon is None else f"{label}, ε = {epsilon:g}"
        for rate, part in of.groupby("at"):
            mean = _mean(part, "roc")
            mechanism = str(part["mechanism"].iloc[0])
            points.append((name, mechanism, epsilon, rate, mean.mean, mean.low, mean.high))
    return pd.DataFrame(points, columns=[*KEYS, "at", "mean", "low", "high"])
