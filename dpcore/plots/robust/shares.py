"""Shares against a number, such as accuracy against ε, and votes of noisy draws on a picture."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least, at_most
from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    NAMED,
    PURPLE,
    VERMILION,
    Caption,
    Style,
    axis,
    curve_style,
    number,
    percent,
    plain,
)
from dpcore.plots.traces import curve, draw_figure, outline
from dpcore.plots.utility.curves import log_ticks
from dpcore.written import Filled, Named, listed

COLUMNS = ("curve", "x", "mean", "low", "high")
"""One row for each point, x ascending in each curve; `low` and `high` may be missing: no band. With
a further column `mechanism` a curve looks as it does everywhere."""

VOTES = ("class", "score", "low", "high")
"""One row for each class: its score under the draws, and bounds on its expected score."""

LOOKS = (
    Style(BLUE, "solid", "circle"),
    Style(VERMILION, "dash", "diamond"),
    Style(GREEN, "dot", "square"),
    Style(PURPLE, "dashdot", "star"),
    Style(GREY, "longdash", "x"),
    Style(BLUE, "dot", "triangle-up"),
    Style(VERMILION, "solid", "hexagon"),
    Style(GREEN, "dash", "triangle-down"),
    Style(PURPLE, "solid", "pentagon"),
    Style(GREY, "solid", "cross"),
)
"""Styles of the curves in their order."""
PRINTED = ", printed in the paper"
"""End of the name of a curve of printed values; dotted, with open marks."""
_HEIGHT, _MARK, _MARKS, _TICKS = 400, 8, 12, 10
_VOTES_HEIGHT = 280


def lines_figure(
    table: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    logarithm: bool = False,
    share: bool = True,
    whole: bool = False,
    small: bool = False,
) -> go.Figure:
    """Draw a curve for each name, with its band where there is one.

    Args:
        table: the columns `COLUMNS`; further curves of one look have open marks.
        x_title: of the x axis.
        y_title: of the y axis.
        logarithm: True for a logarithmic x axis.
        share: True if the y axis is a share of 0 to 1.
        whole: True if x counts something, so that only whole numbers are named.
        small: True if small values of y matter: its axis is logarithmic then, and bands that reach
            down to 0 are left out.
    """
    x_axis: dict[str, object] = {}
    if whole:
        x_axis = {"dtick": max(1, math.ceil(float(table["x"].max()) / _TICKS))}
    if logarithm:
        x_axis = log_ticks(float(table["x"].min()), float(table["x"].max()))
    scale: dict[str, object] = {"range": [-0.03, 1.03]} if share else {"rangemode": "tozero"}
    if small:
        table = table.assign(low=table["low"].where(table["low"] > 0))
        scale = {"type": "log", "dtick": 1}
    traces: list[Any] = []
    names = list(dict.fromkeys(table["curve"].tolist()))
    times: Counter[Style] = Counter()
    ours = [name for name in names if not str(name).endswith(PRINTED)]
    looks = dict(zip(ours, LOOKS * (1 + len(ours) // len(LOOKS)), strict=False))
    for name in names:
        rows = table[table["curve"] == name]
        usual = looks[str(name).removesuffix(PRINTED)]
        if name not in looks:
            usual = replace(usual, dash="dot", marker=f"{usual.marker}-open")
        mechanism = str(rows["mechanism"].iloc[0]) if "mechanism" in rows else ""
        look = curve_style(str(name), mechanism) if mechanism else usual
        traces += _curve(str(name), rows, look, times[look])
        times[look] += 1
    return draw_figure(
        traces,
        height=_HEIGHT,
        **NAMED,
        xaxis=axis(x_title, fixedrange=True, **x_axis),
        yaxis=axis(y_title, fixedrange=True, **scale),
    )


def _curve(name: str, rows: pd.DataFrame, look: Style, before: int) -> list[Any]:
    """Draw a curve; if its look was drawn before, it has open, larger marks, seen around those."""
    traces = []
    known = rows.dropna(subset=["low", "high"])
    if len(known) > 1:
        traces.append(outline(known["x"], known["low"], known["high"], look.colour))
    if before:
        look = replace(look, marker=f"{look.marker}-open")
    name, size = plain(name), _MARK + 4 * before
    hover = "%{fullData.name}<br>%{y:.3f} at %{x:.4~g}<extra></extra>"
    mean = curve(rows["x"], rows["mean"], look, hover, size=size, shown=_MARKS, name=name)
    return [*traces, mean]


def ends_caption(table: pd.DataFrame, what: str, unit: str) -> Caption:
    """Give the ends of every curve; `what` is drawn, and `unit` names x, as in "ε"."""
    lines = [Filled("{what}.", what=what)]
    most: tuple[float, dict[str, str]] | None = None
    for name in dict.fromkeys(table["curve"].tolist()):
        rows = table[table["curve"] == name]
        first, last = rows.iloc[0], rows.iloc[-1]
        filling = {
            "name": Named(name),
            "unit": Named(unit),
            "first": number(first["mean"]),
            "start": number(first["x"]),
            "last": number(last["mean"]),
            "end": number(last["x"]),
        }
        if len(rows) > 1:
            line = Filled(
                "{name}: {first} at {unit} = {start}, {last} at {unit} = {end}", **filling
            )
        else:
            line = Filled("{name}: {first} at {unit} = {start}", **filling)
        lines.append(line)
        change = abs(last["mean"] - first["mean"])
        if most is None or change > most[0]:
            most = change, filling
    if most is None:
        return Caption(lines[0], lines[0])
    if len(lines) == 2:
        finding = Filled(
            "“{name}” changes: {first} at {unit} = {start}, {last} at {unit} = {end}.", **most[1]
        )
    else:
        finding = Filled(
            "“{name}” changes most: {first} at {unit} = {start}, {last} at {unit} = {end}.",
            **most[1],
        )
    return Caption(finding, listed(lines, "\n"))


def printed_caption(table: pd.DataFrame, what: str, unit: str) -> Caption:
    """Say where a curve is farthest from its printed values; without any, as `ends_caption`.

    Args:
        table: the columns `COLUMNS`; a printed curve has its points where ours has some.
        what: the drawn quantity.
        unit: name of x.
    """
    how = ends_caption(table, what, unit)
    apart: list[tuple[float, str]] = []
    for printed in dict.fromkeys(table["curve"].tolist()):
        name = str(printed).removesuffix(PRINTED)
        if name == printed:
            continue
        ours = table[table["curve"] == name].set_index("x")["mean"]
        for x, value in table[table["curve"] == printed].set_index("x")["mean"].items():
            here = float(ours.loc[x])
            finding = Filled(
                "“{name}” is farthest from the paper at {unit} = {place}: {here} here, {printed} "
                "printed.",
                name=Named(name),
                unit=Named(unit),
                place=number(x),
                here=percent(here),
                printed=percent(value),
            )
            apart.append((abs(here - value), finding))
    return Caption(max(apart)[1], how.how) if apart else how


def certified_caption(table: pd.DataFrame, texts: str, x: float) -> Caption:
    """Compare the curves at 0 and at `x`, where all have a point; `texts` is as in "9 texts"."""
    lines = [Filled("Share of {texts} that stay right, at 0 and at {x}.", texts=texts, x=number(x))]
    left: dict[str, float] = {}
    for name in dict.fromkeys(table["curve"].tolist()):
        rows = table[table["curve"] == name].set_index("x")["mean"]
        left[str(name)] = float(rows.loc[x])
        lines.append(
            Filled(
                "{name}: {first}, {last}",
                name=Named(name),
                first=percent(rows.loc[0.0]),
                last=percent(rows.loc[x]),
            )
        )
    best, worst = max(left, key=left.__getitem__), min(left, key=left.__getitem__)
    filling = {"x": number(x), "best": Named(best), "most": percent(left[best])}
    if left[best] > left[worst]:
        finding = Filled(
            "At {x} along the axis, “{best}” keeps {most} right, “{worst}” {least}.",
            worst=Named(worst),
            least=percent(left[worst]),
            **filling,
        )
    else:
        finding = Filled("At {x} along the axis, “{best}” keeps {most} right.", **filling)
    return Caption(finding, listed(lines, "\n"))


def votes_figure(table: pd.DataFrame, label: str, score: str) -> go.Figure:
    """Draw the score of each class with the bounds on its expectation.

    Args:
        table: the columns `VOTES`.
        label: the true class.
        score: name of the score.
    """
    values = table["score"]
    first = table["low"].idxmax()
    colours = [
        BLUE if str(row["class"]) == label else VERMILION if i == first else GREY
        for i, row in table.iterrows()
    ]
    return draw_figure(
        go.Bar(
            x=[str(name) for name in table["class"]],
            y=values.tolist(),
            marker={
                "color": colours,
                "pattern": {"shape": ["/" if str(n) == label else "" for n in table["class"]]},
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": (table["high"] - values).clip(lower=0).tolist(),
                "arrayminus": (values - table["low"]).clip(lower=0).tolist(),
                "color": GREY,
                "thickness": 1.5,
            },
            hovertemplate="class %{x}: %{y:.3g}<extra></extra>",
        ),
        height=_VOTES_HEIGHT,
        xaxis=axis("class", fixedrange=True, type="category", showgrid=False),
        yaxis=axis(score, fixedrange=True, range=[0, 1.03]),
    )


def votes_caption(table: pd.DataFrame, label: str, error: float) -> Caption:
    """Name the two classes whose bounds decide; `error` bounds the chance of any wrong bound."""
    first = table.iloc[table["low"].argmax()]
    others = table[table["class"] != first["class"]]
    second = others.iloc[others["high"].argmax()]
    decided = first["low"] > second["high"]
    filling = {
        "first": first["class"],
        "second": second["class"],
        "least": number(first["low"], at_least),
        "most": number(second["high"], at_most),
        "label": label,
    }
    if decided:
        finding = Filled(
            "Class {first} gets at least {least}, class {second} at most {most}: it is read as "
            "{first}; its label is {label}.",
            **filling,
        )
        apart = Filled("The bounds are apart: a prediction is made.")
    else:
        finding = Filled(
            "Class {first} gets at least {least}, class {second} at most {most}: it abstains.",
            **filling,
        )
        apart = Filled("The bounds overlap: it abstains.")
    how = Filled(
        "Class {first} is at least {least}, and no other above {most} (class {second}); all bounds "
        "hold together but with probability at most {error:g}. {apart} The true class (hatched) is "
        "{label}.",
        error=error,
        apart=apart,
        **filling,
    )
    return Caption(finding, how)
