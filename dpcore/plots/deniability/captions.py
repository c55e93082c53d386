"""What the curves of Nw and Sw say, from the numbers that they are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plots.deniability.curves import rows_at
from dpcore.plots.layout import number, probability_text
from dpcore.plots.style import short_name

if TYPE_CHECKING:
    import pandas as pd

_SAID = ("mean", "mean_low", "mean_high", "q05", "q95", "worst", "worst_word", "method")
_WHAT = {"nw": "Nw, the chance that a word stays", "sw": "Sw, the different outputs of a word"}


def curves_alt(table: pd.DataFrame, quantity: str) -> str:
    """What the curves look like, for who does not see them: their ends and where they halve.

    Args:
        table: the columns `COLUMNS` of `dpcore.plots.deniability.curves`.
        quantity: nw or sw.
    """
    runs = float(table["runs"].max())
    half = 0.5 if quantity == "nw" else runs / 2
    said = []
    for key, rows in table.groupby("mechanism", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        text = (
            f"{short_name(str(key))}: mean {first['mean']:.3g} at ε = {number(first['epsilon'])}, "
            f"{last['mean']:.3g} at {number(last['epsilon'])}"
        )
        beyond = rows[(rows["mean"] >= half) == (quantity == "nw")]
        if len(beyond) and len(beyond) < len(rows):
            sign = "at least" if quantity == "nw" else "less than"
            text += f", first {sign} {half:g} at {number(beyond['epsilon'].iloc[0])}"
        said.append(text + ".")
    return f"{_WHAT[quantity]}{_runs(quantity, runs)}, as curves over ε. " + " ".join(said)


def curves_caption(table: pd.DataFrame, quantity: str, at_label: str, at: float) -> str:
    """What the curves say at the chosen ε, from the numbers that they are drawn from.

    Args:
        table: the columns `COLUMNS`.
        quantity: nw or sw.
        at_label: the chosen ε in words ("ε = 12").
        at: the chosen ε.
    """
    runs = float(table["runs"].max())
    what = _WHAT[quantity] + _runs(quantity, runs)
    said = []
    for key, row in rows_at(table, at, _SAID).items():
        name = short_name(key)
        if row is None:
            said.append(f"{name} is not defined there.")
            continue
        ends = row["mean_low"], row["mean_high"]
        if row["method"] == "exact":
            mean = f"{row['mean']:.3g} (exact)"
        elif quantity == "nw":
            mean = f"{probability_text(row['mean'], *ends)}, interval of 95 %"
        else:
            mean = f"{row['mean']:.3g} (± {(ends[1] - ends[0]) / 2:.2g}, two standard errors)"
        said.append(
            f"{name}: mean {mean}, 5–95 % of the words {row['q05']:.3g} to "
            f"{row['q95']:.3g}, worst {row['worst']:.3g} “{row['worst_word']}”."
        )
    return f"{what}, at {at_label}. " + " ".join(said)


def _runs(quantity: str, runs: float) -> str:
    return "" if quantity == "nw" else f" in {number(runs)} runs"
