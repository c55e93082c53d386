"""Leakage of mechanisms against their utility, and the bound on all mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from dpcore.outwards import at_least, at_most
from dpcore.plots.style import GREY, LEGEND_CLOSE, axis, number, plain, style_of
from dpcore.plots.traces import curve, draw_figure, line, whiskers

if TYPE_CHECKING:
    import pandas as pd

AXES = {
    "word": "words guessed, all equally likely",
    "near": "words guessed or a near one, all equally likely",
    "kind": "words whose kind is guessed, all equally likely",
    "guess": "meaning guessed, all words equally likely",
    "pair": "words told from their nearest",
    "couple": "words told from another at random",
    "kept": "words that stay",
    "meaning": "meaning that is left",
}
"""Axis title of each quantity of `dpcore.attack.trade.tradeoff`; in 100 of the most."""


def tradeoff_figure(
    table: pd.DataFrame, across: str = "word", upwards: str = "meaning"
) -> go.Figure:
    """Draw a curve for each mechanism, ε rising along it, with 95 % intervals in both directions.

    Args:
        table: as `Tradeoff.to_pandas` has it; a column `label` names curves, if there is one.
        across: the leakage.
        upwards: the utility.
    """
    traces: list[go.Scatter] = []
    names = "label" if "label" in table else "mechanism"
    for name, rows in table.groupby(names, sort=False):
        # One row for each ε, with both quantities measured at it.
        points = rows.pivot(index="epsilon", columns="quantity", values=["value", "low", "high"])
        points = 100 * points.sort_index()
        look = style_of(str(name))
        x, y = points["value", across], points["value", upwards]
        hover = (
            "%{fullData.name}, ε = %{customdata:.4~g}<br>%{xaxis.title.text}: %{x:.3g}"
            "<br>%{yaxis.title.text}: %{y:.3g}<extra></extra>"
        )
        bars: dict[str, Any] = {
            f"error_{place}": whiskers(
                (points["high", quantity] - points["value", quantity]).tolist(),
                (points["value", quantity] - points["low", quantity]).tolist(),
                look.colour,
            )
            for place, quantity in (("x", across), ("y", upwards))
        }
        epsilons = points.index.tolist()
        traces.append(curve(x, y, look, hover, name=plain(str(name)), customdata=epsilons, **bars))
    return draw_figure(
        traces,
        height=440 + 11 * len(traces),
        legend=LEGEND_CLOSE,
        xaxis=axis(f"{AXES[across]}, in 100", range=[-3, 103]),
        yaxis=axis(f"{AXES[upwards]}, in 100", range=[-3, 103]),
    )


def tradeoff_caption(table: pd.DataFrame, across: str = "word", upwards: str = "meaning") -> str:
    """Name the curves with most and least utility at equal leakage, at a level that most reach."""
    names = "label" if "label" in table else "mechanism"
    curves = {}
    for name, rows in table.groupby(names, sort=False):
        points = rows.pivot(index="epsilon", columns="quantity", values="value").sort_values(across)
        curves[str(name)] = points[across].to_numpy(), points[upwards].to_numpy()
    left: dict[str, float] = {}
    level = _LEVELS[0]
    for share in _LEVELS:
        there = {
            name: float(np.interp(share, xs, ys))  # on the straight line between two points
            for name, (xs, ys) in curves.items()
            if xs[0] <= share <= xs[-1]
        }
        # The highest level that most curves pass: only those can be compared there.
        if len(there) > len(left):
            left, level = there, share
    direction = "Further up is better, further left is safer"
    if not left:
        return f"{direction}."
    best, worst = max(left, key=left.__getitem__), min(left, key=left.__getitem__)
    most = f"{best} leaves {'the most, ' if best != worst else ''}{100 * left[best]:.0f}"
    least = f", and {worst} the least, {100 * left[worst]:.0f}" if best != worst else ""
    return (
        f"{direction}. Where {100 * level:g} in 100 are given away ({AXES[across]}), {most} in 100 "
        f"({AXES[upwards]}){least}."
    )


_LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02)


def frontier_figure(
    bound: pd.DataFrame, table: pd.DataFrame, title: str, quantity: str = "word"
) -> go.Figure:
    """Draw a quantity over ε, a curve for each mechanism, all below the line that bounds them.

    Args:
        bound: columns epsilon and high, the upper bound: of words guessed as `Meter.to_pandas`
            has it.
        table: as for `tradeoff_figure`, of mechanisms whose ε means the same as the bound's.
        title: of the axis of ε.
        quantity: of `AXES`.
    """
    line_hover = "%{fullData.name}<br>ε = %{x:.4~g}: %{hovertext} in 100<extra></extra>"
    traces = [
        line(
            bound["epsilon"],
            100 * bound["high"],
            "no mechanism above",
            colour=GREY,
            width=4,
            hover=line_hover,
            # Rounded up, so that the number stays a bound.
            hovertext=[at_most(share, 3, times=100) for share in bound["high"]],
        )
    ]
    names = "label" if "label" in table else "mechanism"
    measured = table[table["quantity"] == quantity]
    for name, rows in measured.groupby(names, sort=False):
        ascending = rows.sort_values("epsilon")
        hover = "%{fullData.name}<br>ε = %{x:.4~g}: %{y:.3g} in 100<extra></extra>"
        look = style_of(str(name))
        traces.append(
            curve(
                ascending["epsilon"], 100 * ascending["value"], look, hover, name=plain(str(name))
            )
        )
    return draw_figure(
        traces,
        height=400 + 11 * len(traces),
        legend=LEGEND_CLOSE,
        xaxis=axis(title, type="log"),
        yaxis=axis(f"{AXES[quantity]}, in 100", range=[-3, 103]),
    )


def distance_caption(bound: pd.DataFrame) -> str:
    """Describe the bound on meaning, and the ε below which no mechanism leaves half of it.

    Args:
        bound: as for `frontier_figure`.
    """
    half = bound[bound["high"] >= 0.5]["epsilon"]
    start = "The line is the most that can be left of the meaning: 1 less the least expected "
    line = f"{start}distance over the mean distance of two words. No mechanism is above it."
    # If half is left at the smallest ε already, the table says nothing about where it begins.
    if half.empty or half.min() == bound["epsilon"].min():
        return line
    return f"{line} Below ε = {number(half.min(), at_least)} nobody can leave half of it."


def frontier_caption(wastes: dict[str, tuple[float, float]]) -> str:
    """Describe the ε of each mechanism as a multiple of the least possible ε.

    Args:
        wastes: by mechanism, the range of its ε over the least ε at which any mechanism could give
            as much away.
    """
    line = "The line is the most that a guarantee permits: no mechanism with this ε is above it."
    if not wastes:
        return line
    parts = ", ".join(
        f"{name} {number(low)}"
        + (f" to {number(high)}" if f"{number(high)}" != f"{number(low)}" else "")
        for name, (low, high) in wastes.items()
    )
    return (
        f"{line} Where half of the words are guessed, the ε of each mechanism is this many times "
        f"the least: {parts}."
    )
