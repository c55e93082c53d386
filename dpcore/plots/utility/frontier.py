"""Privacy against utility: one mark a mechanism and ε; marks that another beats are hollow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import NAMED, Caption, axis, curve_style, number
from dpcore.plots.traces import draw_figure, line
from dpcore.plots.utility.curves import Line, across, log_ticks

COLUMNS = ("curve", "mechanism", "epsilon", "private", "useful", "dominated")
"""One row for each curve and ε: two numbers, and `dominated`: True if another row is at least as
good in both and better in one."""

_HEIGHT = 420


def frontier_figure(
    table: pd.DataFrame,
    private_title: str,
    useful_title: str,
    lines: Sequence[Line] = (),
    *,
    logarithm: bool = False,
) -> go.Figure:
    """Draw utility over an attacker's gain: up and to the left is better.

    Args:
        table: the columns `COLUMNS`.
        private_title: of the x axis; less is better.
        useful_title: of the y axis; more is better.
        lines: baselines of utility.
        logarithm: True for a logarithmic x axis.
    """
    best = table[~table["dominated"]].sort_values(["private", "useful"], kind="stable")
    name = "frontier: no other is as good in both and better in one"
    # Stairs: between two marks the utility is that of the more private of them.
    traces = [line(best["private"], best["useful"], name, width=1, line_shape="hv")]
    for curve, rows in table.groupby("curve", sort=False):
        style = curve_style(str(curve), str(rows["mechanism"].iloc[0]))
        ordered = rows.sort_values("dominated", kind="stable")  # a legend shows the first mark
        worse = ordered["dominated"].tolist()
        traces.append(
            go.Scatter(
                x=ordered["private"].tolist(),
                y=ordered["useful"].tolist(),
                customdata=[f"{number(value)}" for value in ordered["epsilon"]],
                name=str(curve),
                mode="markers",
                marker={
                    "symbol": [f"{style.marker}-open" if w else style.marker for w in worse],
                    "size": [10 if w else 12 for w in worse],
                    "color": style.colour,
                    "line": {"width": [1.5 if w else 0 for w in worse]},
                },
                hovertemplate="%{y:.3f} at %{x:.3f}, ε = %{customdata}",
            )
        )
    span = [float(table["private"].min()), float(table["private"].max())]
    x_axis: dict[str, Any] = log_ticks(span[0], span[1]) if logarithm else {}
    traces += across(span, lines)
    return draw_figure(
        traces,
        height=_HEIGHT,
        **NAMED,
        xaxis=axis(private_title, fixedrange=True, **x_axis),
        yaxis=axis(useful_title, fixedrange=True),
    )


def frontier_caption(table: pd.DataFrame, private: str, useful: str) -> Caption:
    """Count the marks of each mechanism on the frontier; `private` and `useful` name the axes."""
    best = table[~table["dominated"]]
    groups = {str(curve): rows for curve, rows in table.groupby("curve", sort=False)}
    counts = [
        f"{curve} {int((~rows['dominated']).sum())} of {len(rows)}"
        for curve, rows in groups.items()
    ]
    most = max(groups, key=lambda curve: int((~groups[curve]["dominated"]).sum()))
    finding = (
        f"{len(best)} of {len(table)} marks are beaten by no other, most of them of {most}: "
        f"{int((~groups[most]['dominated']).sum())}."
    )
    how = (
        f"Up ({useful}) and to the left ({private}) is better. {len(best)} of {len(table)} marks "
        f"are beaten by no other; the rest are hollow. On the frontier: {', '.join(counts)}."
    )
    return Caption(finding, how)
