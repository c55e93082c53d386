"""Solve for ε: where the curves meet a wish, and a click that sets the slider there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dpcore.measure.reading import stretches
from dpcore.measure.targets import OVER, Target
from pages.deniability.moving import set_slider
from pages.shared.downloads import csv_button
from pages.shared.fields import pick
from pages.shared.groups import group_of
from pages.shared.messages import note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pages.deniability.curves import Curve

_QUANTITIES = {"Nw at most": "nw", "Sw at least": "sw", "Effective number at least": "effective"}
_STARTS = {"nw": 0.5, "sw": 10.0, "effective": 10.0}
_MOST_EFFECTIVE = 1e6
_COLUMNS = ("mechanism", "not at", "met from", "met to", "no longer at", "method")


def solve_view(curves: Sequence[Curve], runs: int) -> None:
    """Draw the wish, the answer in words, and one button a mechanism."""
    target, wanted = _wish(runs)
    table = solution_table(curves, target)
    st.markdown(f"**{wanted} {target.bound:g}** ({target.over} of the measured words) is met by")
    logarithmic = {c.mechanism.short for c in curves if group_of(c.mechanism.meaning).logarithm}
    st.text("\n".join(solution_sentences(table, logarithmic)))
    _take_over(curves, table)
    note(
        "Read from the curves above: only measured ε are claimed, and an estimate counts only if "
        "all of its interval is on the right side (of level 95 % for Nw, else two standard "
        "errors). The worst word is the worst of the measured ones. "
        "`python -m dpcore solve` searches between the measured ε."
    )
    csv_button("Intervals as CSV", "epsilon_for_target", lambda: table, key="csv_solution")


def _wish(runs: int) -> tuple[Target, str]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        over = pick(
            "Of the",
            OVER,
            "over",
            "Whether the wish is for the mean, the median, or the least deniable of the "
            "measured words.",
            width=150,
        )
        wanted = pick(
            "Wanted",
            _QUANTITIES,
            "wanted",
            "Nw: chance that a word stays. Sw: different outputs in R runs. Effective "
            "number: how many equally likely outputs would agree as often as two runs do.",
            width=250,
        )
        quantity = _QUANTITIES[wanted]
        low, high = {
            "nw": (0.0, 1.0),
            "sw": (1.0, float(runs)),
            "effective": (1.0, _MOST_EFFECTIVE),
        }[quantity]
        bound = st.number_input(
            "Bound",
            low,
            high,
            min(_STARTS[quantity], high),
            step=0.05 if quantity == "nw" else 1.0,
            format="%g",
            key=f"bound_{quantity}",
            bind="query-params",
            width=150,
            help="The bound itself is allowed.",
        )
    return Target(quantity, float(bound), over), wanted


def _take_over(curves: Sequence[Curve], table: pd.DataFrame) -> None:
    """Buttons that set a slider to the largest ε that meets the wish: the most useful one."""
    largest = table.groupby("mechanism", sort=False)["met to"].max()
    able = [c for c in curves if not math.isnan(largest[c.mechanism.short])]
    if not able:
        return
    with st.container(horizontal=True):
        for curve in able:
            short, epsilon = curve.mechanism.short, float(largest[curve.mechanism.short])
            group = group_of(curve.mechanism.meaning)
            shown = epsilon_text(epsilon, group.logarithm)
            st.button(
                f"{short}: set ε = {shown}",
                key=f"take_{short}",
                icon=":material/tune:",
                on_click=_taker(curve, epsilon),
                help="Moves the slider of this group to the largest measured ε that meets the "
                "wish.",
            )


def _taker(curve: Curve, epsilon: float) -> Callable[[], None]:
    group = group_of(curve.mechanism.meaning)

    def take() -> None:
        set_slider(group, epsilon)
        st.rerun()  # all: a slider in a fragment that is rerun by name keeps showing the old value

    return take


def solution_table(curves: Sequence[Curve], target: Target) -> pd.DataFrame:
    """Where each curve meets a target, one row a run of measured ε; empty cells: nowhere."""
    rows: list[tuple[Any, ...]] = []
    for curve in curves:
        parts = stretches(curve.measured, target)
        name, method = curve.mechanism.short, str(curve.measured.method)
        rows += [(name, p.before, p.low, p.high, p.after, method) for p in parts]
        if not parts:
            rows.append((name, None, None, None, None, method))
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return table.astype(dict.fromkeys(_COLUMNS[1:5], "float64"))


def solution_sentences(table: pd.DataFrame, logarithmic: set[str]) -> list[str]:
    """The rows of `solution_table` as sentences.

    Args:
        table: as it is returned.
        logarithmic: short names of the mechanisms whose ε is given as a power of e.
    """
    sentences = []
    for row in table.to_dict("records"):
        name = row["mechanism"]
        if pd.isna(row["met from"]):
            sentences.append(f"{name}: at no measured ε.")
            continue
        before, low, high, after = (
            epsilon_text(row[column], name in logarithmic)
            for column in ("not at", "met from", "met to", "no longer at")
        )
        where = f"ε = {low}" if low == high else f"every measured ε from {low} to {high}"
        end = (
            f"no longer (or not for certain) at {after}"
            if after
            else "which is the largest that was measured"
        )
        start = f", and not for certain at {before}" if before else ""
        sentences.append(f"{name}: {where}, {end}{start}.")
    return sentences


def epsilon_text(value: float | None, logarithm: bool) -> str:
    """An ε in a sentence; nothing for one that there is not."""
    if value is None or pd.isna(value):
        return ""
    return f"e^{math.log(value):.4g}" if logarithm else f"{value:.6g}"
