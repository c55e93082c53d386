"""One picture with and without noise, and the votes of the noisy draws."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least, at_most
from dpcore.plots.style import BLUE, GREY, VERMILION, Caption, axis, number
from dpcore.plots.traces import draw_figure

COLUMNS = ("class", "score", "low", "high")
"""One row for each class: its score under the draws, and bounds on its expected score."""

_GREYS = [[0.0, "#FFFFFF"], [1.0, "#101418"]]
_HEIGHT = 250


def picture_figure(
    clean: Sequence[Sequence[float]],
    noisy: Sequence[Sequence[float]],
    titles: tuple[str, str],
    top: float,
) -> go.Figure:
    """Draw the same numbers without and with noise, side by side, in one scale of grey.

    Args:
        clean: one row a line, from the top.
        noisy: of the same shape.
        titles: of the two.
        top: the value drawn black; 0 and all below is white.
    """
    width = len(clean[0])
    traces = [
        go.Heatmap(
            z=[[round(float(value), 3) for value in row] for row in rows],
            x=[start + i for i in range(width)],
            zmin=0.0,
            zmax=top,
            colorscale=_GREYS,
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate=f"{title}: %{{z:.3g}}<extra></extra>",
        )
        for rows, title, start in zip((clean, noisy), titles, (0, width + 1), strict=True)
    ]
    middle = (width - 1) / 2
    off = {"fixedrange": True, "showgrid": False, "zeroline": False, "ticks": ""}
    return draw_figure(
        traces,
        height=_HEIGHT,
        xaxis=off | {"tickvals": [middle, width + 1 + middle], "ticktext": list(titles)},
        # Squares as high as they are wide, the first row at the top.
        yaxis={"autorange": "reversed", "scaleanchor": "x", "constrain": "domain"}
        | {"showticklabels": False}
        | off,
    )


def votes_figure(table: pd.DataFrame, label: str, score: str) -> go.Figure:
    """Draw the score of each class with the bounds on its expectation.

    Args:
        table: the columns `COLUMNS`.
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
        height=_HEIGHT + 30,
        xaxis=axis("class", fixedrange=True, type="category", showgrid=False),
        yaxis=axis(score, fixedrange=True, range=[0, 1.03]),
    )


def votes_caption(table: pd.DataFrame, label: str, error: float) -> Caption:
    """Name the two classes whose bounds decide; `error` bounds the chance of any wrong bound."""
    first = table.iloc[table["low"].argmax()]
    others = table[table["class"] != first["class"]]
    second = others.iloc[others["high"].argmax()]
    decided = first["low"] > second["high"]
    apart = (
        "The bounds are apart: a prediction is made."
        if decided
        else "The bounds overlap: it abstains."
    )
    least, most = number(first["low"], at_least), number(second["high"], at_most)
    finding = (
        f"Class {first['class']} gets at least {least}, class {second['class']} at most {most}: "
    )
    finding += (
        f"it is read as {first['class']}; its label is {label}." if decided else "it abstains."
    )
    how = (
        f"Class {first['class']} is at least {least}, and no other above "
        f"{most} (class {second['class']}); all bounds hold together but with "
        f"probability at most {error:g}. {apart} The true class (hatched) is {label}."
    )
    return Caption(finding, how)
