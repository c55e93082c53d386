"""Votes of the noisy draws on one picture."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least, at_most
from dpcore.plots.style import BLUE, GREY, VERMILION, Caption, axis, number
from dpcore.plots.traces import draw_figure
from dpcore.written import Filled

COLUMNS = ("class", "score", "low", "high")
"""One row for each class: its score under the draws, and bounds on its expected score."""

_HEIGHT = 250


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
