"""The attacker's ROC on logarithmic axes: what an accusation with few false ones can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from dpcore.plots.layout import axis, named_layout, number
from dpcore.plots.style import GREY, faint, style_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("curve", "mechanism", "epsilon", "at", "mean", "low", "high")
"""One row a curve and false-positive rate `at` > 0, ascending: mean true-positive rate over trials
with its interval (may be missing). `mechanism` is empty for a model of clean text."""

_HEIGHT = 430
_DASHES = ("solid", "dash", "dot", "dashdot")
"""Of the curves of one mechanism, which share its colour and mark."""


def roc_figure(table: pd.DataFrame) -> go.Figure:
    """Draw true against false positives, both logarithmic, and the line of guessing.

    Args:
        table: the columns `COLUMNS`.
    """
    low = float(table["at"].min())
    traces: list[Any] = [
        go.Scatter(
            x=[low, 1.0],
            y=[low, 1.0],
            name="guessing",
            mode="lines",
            line={"color": GREY, "dash": "dot", "width": 1.5},
            hoverinfo="skip",
        )
    ]
    floor = 0.5 * low
    drawn: dict[str, int] = {}
    for curve, rows in table.groupby("curve", sort=False):
        mechanism = str(rows["mechanism"].iloc[0])
        style = style_of(mechanism or "baseline")
        dash = _DASHES[drawn.get(mechanism, 0) % len(_DASHES)]
        drawn[mechanism] = drawn.get(mechanism, 0) + 1
        x = rows["at"].tolist()
        banded = rows.dropna(subset=["low", "high"])
        if len(banded) > 1:
            edge = {
                "mode": "lines",
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": str(curve),
            }
            at = banded["at"].tolist()
            under = banded["low"].clip(lower=floor).tolist()
            over = banded["high"].clip(lower=floor).tolist()
            fill = faint(style.colour)
            traces.append(go.Scatter(x=at, y=under, **edge))
            traces.append(go.Scatter(x=at, y=over, fill="tonexty", fillcolor=fill, **edge))
        traces.append(
            go.Scatter(
                x=x,
                # A logarithmic axis has no place for 0: what is below it is drawn at its floor.
                y=rows["mean"].clip(lower=floor).tolist(),
                customdata=rows["mean"].tolist(),
                name=str(curve),
                legendgroup=str(curve),
                mode="lines+markers",
                line={"color": style.colour, "dash": dash, "width": 2},
                marker={"symbol": style.marker, "size": 7, "maxdisplayed": 8},
                hovertemplate="%{customdata:.4f} at %{x:.3g} false positives",
            )
        )
    return go.Figure(
        traces,
        named_layout(
            _HEIGHT,
            xaxis=axis("false-positive rate", type="log", dtick=1, fixedrange=True),
            yaxis=axis("true-positive rate", type="log", dtick=1, fixedrange=True),
        ),
    )


def roc_caption(table: pd.DataFrame, at: float) -> str:
    """How many members each curve finds at one false-positive rate.

    Args:
        table: as for `roc_figure`.
        at: a false-positive rate of the table.
    """
    said = []
    for curve, rows in table.groupby("curve", sort=False):
        row = rows.iloc[int((rows["at"] - at).abs().argmin())]
        said.append(f"{curve}: {100 * row['mean']:.3g} %")
    return (
        f"When {number(100 * at)} in 100 texts that were not used are wrongly called used, this "
        f"share of those that were used is found (guessing: {number(100 * at)} %): "
        f"{'; '.join(said)}."
    )
