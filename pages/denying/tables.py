"""The tables behind figures and views of the Deniability page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpcore.measure.reading import stretches
from dpcore.measure.summary import summarise
from dpcore.plots.deniability import COLUMNS

if TYPE_CHECKING:
    from dpcore.measure.targets import Target
    from pages.denying.curves import Curve


def curve_table(curves: list[Curve], quantity: str) -> pd.DataFrame:
    """One quantity of all curves at all measured ε, the columns `COLUMNS`."""
    rows: list[tuple[Any, ...]] = []
    for curve in curves:
        found = curve.found
        s = summarise(found, quantity)
        rows += [
            (
                found.mechanism,
                epsilon,
                s.mean[e],
                s.mean_error[e],
                s.deviation[e],
                s.bands[0, e],
                s.bands[-1, e],
                s.median[e],
                s.worst[e],
                found.selection.names[int(s.worst_word[e])],
                len(found.selection),
                str(found.method),
                found.runs,
            )
            for e, epsilon in enumerate(found.epsilons.tolist())
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def table_at(nw: pd.DataFrame, sw: pd.DataFrame, at: float) -> pd.DataFrame:
    """Both quantities of the mechanisms that are defined at one ε, for people."""
    parts = []
    for label, table in (("Nw", nw), ("Sw", sw)):
        here = table[table["epsilon"] == at].set_index("mechanism")
        names = {
            "mean": f"{label} mean",
            "standard_error": f"{label} standard error",
            "standard_deviation": f"{label} deviation over words",
            "median": f"{label} median",
            "worst": f"{label} worst",
            "worst_word": f"{label} worst word",
        }
        parts.append(here[list(names)].rename(columns=names))
    other = nw[nw["epsilon"] == at].set_index("mechanism")[["method", "words"]]
    return pd.concat([*parts, other], axis=1).reset_index()


def word_table(curves: list[Curve], epsilons: dict[str, float]) -> pd.DataFrame:
    """Every word under every mechanism at the chosen ε (by registry key)."""
    rows = []
    for curve in curves:
        at = epsilons[curve.found.mechanism]
        rows += [row for row in curve.found.rows() if row["epsilon"] == at]
    return pd.DataFrame(rows)


def solution_table(curves: list[Curve], target: Target) -> pd.DataFrame:
    """Where each curve meets a target, one row a run of measured ε; empty cells: nowhere."""
    rows: list[tuple[Any, ...]] = []
    for curve in curves:
        parts = stretches(curve.found, target)
        name, method = curve.mechanism.short, str(curve.found.method)
        rows += [(name, p.before, p.low, p.high, p.after, method) for p in parts]
        if not parts:
            rows.append((name, None, None, None, None, method))
    columns = ["mechanism", "not at", "met from", "met to", "no longer at", "method"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(columns[1:5], "float64"))


def solution_sentences(table: pd.DataFrame, logarithmic: set[str]) -> list[str]:
    """The rows of `solution_table` as sentences.

    Args:
        table: as it is returned.
        logarithmic: short names of the mechanisms whose ε is given as a power of e.
    """
    said = []
    for row in table.to_dict("records"):
        name = row["mechanism"]
        if pd.isna(row["met from"]):
            said.append(f"{name}: at no measured ε.")
            continue
        before, low, high, after = (
            _epsilon(row[column], name in logarithmic)
            for column in ("not at", "met from", "met to", "no longer at")
        )
        where = f"ε = {low}" if low == high else f"every measured ε from {low} to {high}"
        end = (
            f"no longer (or not for certain) at {after}"
            if after
            else "which is the largest that was measured"
        )
        start = f", and not for certain at {before}" if before else ""
        said.append(f"{name}: {where}, {end}{start}.")
    return said


def _epsilon(value: float, logarithm: bool) -> str:
    """An ε in a sentence; nothing for one that there is not."""
    if pd.isna(value):
        return ""
    return f"e^{math.log(value):.4g}" if logarithm else f"{value:.6g}"
