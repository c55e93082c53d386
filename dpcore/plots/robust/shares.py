"""Shares against a number: certified accuracy against the size of an attack, accuracy against ε."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from dpcore.plots.layout import axis, named_layout, plain
from dpcore.plots.style import BLUE, GREEN, GREY, PURPLE, VERMILION, Style, style_of
from dpcore.plots.traces import curve, outline
from dpcore.plots.utility.curves import ticks

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("curve", "x", "mean", "low", "high")
"""One row a point, x ascending in each curve; `low` and `high` may be missing: no band. With a
further column `mechanism` a curve looks as that mechanism does everywhere."""

LOOKS = (
    (BLUE, "solid", "circle"),
    (VERMILION, "dash", "diamond"),
    (GREEN, "dot", "square"),
    (PURPLE, "dashdot", "star"),
    (GREY, "longdash", "x"),
    (BLUE, "dot", "triangle-up"),
    (VERMILION, "solid", "hexagon"),
    (GREEN, "dash", "triangle-down"),
    (PURPLE, "solid", "pentagon"),
    (GREY, "solid", "cross"),
)
"""Colour, dash and marker of the curves in their order."""
_HEIGHT, _MARK, _MARKS, _TICKS = 400, 8, 12, 10


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
    """Draw a curve a name, with its band where there is one.

    Args:
        table: the columns `COLUMNS`; further curves of one look have open marks.
        x_title: of the x axis.
        y_title: of the y axis.
        logarithm: whether the x axis is logarithmic.
        share: whether the y axis is a share of 0 to 1.
        whole: whether x counts something, so that only whole numbers are named.
        small: whether small values of y matter: its axis is logarithmic then, and bands that reach
            down to 0 are left out.
    """
    x_axis: dict[str, object] = {}
    if whole:
        x_axis = {"dtick": max(1, math.ceil(float(table["x"].max()) / _TICKS))}
    if logarithm:
        x_axis = {"type": "log"} | ticks(float(table["x"].min()), float(table["x"].max()))
    scale: dict[str, object] = {"range": [-0.03, 1.03]} if share else {"rangemode": "tozero"}
    if small:
        table = table.assign(low=table["low"].where(table["low"] > 0))
        scale = {"type": "log", "dtick": 1}
    traces: list[Any] = []
    names = list(dict.fromkeys(table["curve"].tolist()))
    drawn: Counter[tuple[str, str, str]] = Counter()
    for name, usual in zip(names, LOOKS * (1 + len(names) // len(LOOKS)), strict=False):
        rows = table[table["curve"] == name]
        look = _look(rows, usual)
        traces += _curve(str(name), rows, look, drawn[look])
        drawn[look] += 1
    return go.Figure(
        traces,
        named_layout(
            _HEIGHT,
            xaxis=axis(x_title, fixedrange=True, **x_axis),
            yaxis=axis(y_title, fixedrange=True, **scale),
        ),
    )


def _look(rows: pd.DataFrame, usual: tuple[str, str, str]) -> tuple[str, str, str]:
    mechanism = str(rows["mechanism"].iloc[0]) if "mechanism" in rows else ""
    if not mechanism:
        return usual
    style = style_of(mechanism)
    return style.colour, style.dash, style.marker


def _curve(name: str, rows: pd.DataFrame, look: tuple[str, str, str], before: int) -> list[Any]:
    """A curve; one of a look that was drawn before has open, larger marks, seen around those."""
    colour, dash, symbol = look
    traces = []
    banded = rows.dropna(subset=["low", "high"])
    if len(banded) > 1:
        at = banded["x"].tolist()
        traces.append(outline(at, banded["low"].tolist(), banded["high"].tolist(), colour))
    traces.append(
        curve(
            rows["x"].tolist(),
            rows["mean"].tolist(),
            Style(colour, dash, f"{symbol}-open" if before else symbol),
            size=_MARK + 4 * before,
            shown=_MARKS,
            name=plain(name),
            hovertemplate=f"{plain(name)}<br>%{{y:.3f}} at %{{x:.4~g}}<extra></extra>",
        )
    )
    return traces


def ends_caption(table: pd.DataFrame, what: str, unit: str) -> str:
    """Where every curve begins and ends.

    Args:
        table: the columns `COLUMNS`.
        what: is drawn.
        unit: name of x, as in "ε".
    """
    said = [f"{what}."]
    for name in dict.fromkeys(table["curve"].tolist()):
        rows = table[table["curve"] == name]
        first, last = rows.iloc[0], rows.iloc[-1]
        line = f"{name}: {first['mean']:.3g} at {unit} = {first['x']:.4g}"
        if len(rows) > 1:
            line += f", {last['mean']:.3g} at {unit} = {last['x']:.4g}"
        said.append(line)
    return "\n".join(said)


def certified_caption(table: pd.DataFrame, texts: str, at: float) -> str:
    """What each curve says at the beginning and at one x.

    Args:
        table: the columns `COLUMNS`; every curve has a point at 0 and at `at`.
        texts: how many of what the shares are of.
        at: where the curves are compared.
    """
    said = [f"Share of {texts} that stay right, at 0 and at {at:.3g}."]
    for name in dict.fromkeys(table["curve"].tolist()):
        rows = table[table["curve"] == name].set_index("x")["mean"]
        said.append(f"{name}: {rows.loc[0.0]:.1%}, {rows.loc[at]:.1%}")
    return "\n".join(said)
