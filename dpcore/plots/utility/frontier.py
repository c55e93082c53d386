"""Privacy against utility: the frontier of all marks, and curves over one measure of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import NAMED, Caption, axis, curve_style, number
from dpcore.plots.traces import curve, draw_figure, line, whiskers
from dpcore.plots.utility.curves import EXPLAINED, TITLES, Line, across, log_ticks, values_of
from dpcore.written import Filled, Named, listed

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
    best_name = "frontier: no other is as good in both and better in one"
    # Stairs: between two marks the utility is that of the more private of them.
    traces = [line(best["private"], best["useful"], best_name, width=1, line_shape="hv")]
    for curve_name, rows in table.groupby("curve", sort=False):
        style = curve_style(str(curve_name), str(rows["mechanism"].iloc[0]))
        ordered = rows.sort_values("dominated", kind="stable")  # a legend shows the first mark
        worse = ordered["dominated"].tolist()
        traces.append(
            go.Scatter(
                x=ordered["private"].tolist(),
                y=ordered["useful"].tolist(),
                customdata=ordered["epsilon"].tolist(),
                name=str(curve_name),
                mode="markers",
                marker={
                    "symbol": [f"{style.marker}-open" if w else style.marker for w in worse],
                    "size": [10 if w else 12 for w in worse],
                    "color": style.colour,
                    "line": {"width": [1.5 if w else 0 for w in worse]},
                },
                hovertemplate="%{y:.3f} at %{x:.3f}, ε = %{customdata:,.3~r}",
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
    counts = {curve: int((~rows["dominated"]).sum()) for curve, rows in groups.items()}
    most = max(counts, key=counts.__getitem__)
    filling = {"best": len(best), "marks": len(table)}
    finding = Filled(
        "{best} of {marks} marks are beaten by no other, most of them of {most}: {count}.",
        most=Named(most),
        count=counts[most],
        **filling,
    )
    how = Filled(
        "Up ({useful}) and to the left ({private}) is better. {best} of {marks} marks are beaten "
        "by no other; the rest are hollow. On the frontier: {counts}.",
        useful=Named(useful),
        private=Named(private),
        counts=listed(
            Filled(
                "{name} {count} of {marks}",
                name=Named(curve),
                count=count,
                marks=len(groups[curve]),
            )
            for curve, count in counts.items()
        ),
        **filling,
    )
    return Caption(finding, how)


# Utility of text at equal privacy: mechanisms of all kinds over one measure of privacy.


EQUAL_COLUMNS = ("curve", "mechanism", "epsilon", "mean", "low", "high", "trials", "x")
"""One row for each curve and ε: mean with its interval (may be missing), and privacy `x` there."""

X_TITLES = {
    "nw": "Nw: share of words that stay",
    "counts-word": TITLES["counts-word"],
    "counts-near": TITLES["counts-near"],
    "word": TITLES["word"],
    "auc": "attacker's AUC (0.5: guessing)",
    "loss": "largest proved loss between two words (nats)",
}
"""Measures of privacy: less is more private."""
_HEIGHT_EQUAL = 420


def equal_figure(
    table: pd.DataFrame, by: str, quantity: str, lines: Sequence[Line] = ()
) -> go.Figure:
    """Draw means with their intervals over a measure of privacy that all mechanisms share.

    Args:
        table: the columns `EQUAL_COLUMNS`.
        by: a key of `X_TITLES`; "loss" has a logarithmic axis.
        quantity: a key of `dpcore.plots.utility.curves.TITLES`.
        lines: baselines.
    """
    traces = [
        _curve(str(name), rows.sort_values("x", kind="stable"))
        for name, rows in table.groupby("curve", sort=False)
    ]
    span = [float(table["x"].min()), float(table["x"].max())]
    traces += across(span, lines)
    x_axis: dict[str, Any] = log_ticks(span[0], span[1]) if by == "loss" else {}
    return draw_figure(
        traces,
        height=_HEIGHT_EQUAL,
        **NAMED,
        xaxis=axis(X_TITLES[by], fixedrange=True, **x_axis),
        yaxis=axis(TITLES[quantity], fixedrange=True),
    )


def _curve(name: str, rows: pd.DataFrame) -> go.Scatter:
    """Draw marks joined by a line, with whiskers: bands of curves that turn would overlap."""
    style = curve_style(name, str(rows["mechanism"].iloc[0]))
    hover = "%{y:.3f} at %{x:.3g}, ε = %{customdata:,.3~r}"
    over, under = rows["high"] - rows["mean"], rows["mean"] - rows["low"]
    bars = whiskers(over.fillna(0.0).tolist(), under.fillna(0.0).tolist(), style.colour)
    epsilons = rows["epsilon"].tolist()
    return curve(
        rows["x"], rows["mean"], style, hover, customdata=epsilons, name=name, error_y=bars
    )


def equal_caption(
    table: pd.DataFrame, by: str, quantity: str, lines: Sequence[Line] = ()
) -> Caption:
    """Give the value of each mechanism where its privacy is nearest to the middle of the axis."""
    low, high = float(table["x"].min()), float(table["x"].max())
    middle = math.sqrt(low * high) if by == "loss" and low > 0 else 0.5 * (low + high)
    sentences: list[str] = [
        Filled(
            "{explained} Each mark is a mechanism at one ε; marks one above the other give away "
            "the same by this measure: {measure}. Nearest to the middle of the axis:",
            explained=Named(EXPLAINED[quantity]),
            measure=Named(X_TITLES[by]),
        )
    ]
    there: dict[str, float] = {}
    for name, rows in table.groupby("curve", sort=False):
        row = rows.iloc[int((rows["x"] - middle).abs().argmin())]
        there[str(name)] = float(row["mean"])
        sentences.append(
            Filled(
                "{name}: {mean} at {x} (ε = {epsilon})",
                name=Named(str(name)),
                mean=number(row["mean"]),
                x=number(row["x"]),
                epsilon=number(row["epsilon"]),
            )
        )
    sentences += values_of(lines)
    trials = int(table["trials"].max())
    if trials > 1:
        sentences.append(
            Filled("Whiskers are 95 % intervals of the mean over {trials} trials.", trials=trials)
        )
    else:
        sentences.append(Filled("One trial, so no whiskers."))
    most, least = max(there, key=there.__getitem__), min(there, key=there.__getitem__)
    filling = {
        "middle": number(middle),
        "most": Named(most),
        "value": number(there[most]),
        "title": Named(TITLES[quantity]),
    }
    if most == least:
        finding = Filled(
            "About {middle} along the axis, {most} has the most, {value} ({title}).", **filling
        )
    else:
        finding = Filled(
            "About {middle} along the axis, {most} has the most, {value}, and {least} the least, "
            "{lesser} ({title}).",
            least=Named(least),
            lesser=number(there[least]),
            **filling,
        )
    return Caption(finding, listed(sentences, "\n"))
