"""Odds: how much an output speaks for one word against another, beside what is promised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plots.layout import axis, base_layout, factor_text, powers_of_ten
from dpcore.plots.style import GREY, name_tag, style_of

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

COLUMNS = (
    "mechanism",
    "title",
    "word",
    "other",
    "output",
    "log_ratio",
    "log_bound",
    "exact",
    "status",
)
"""One row a mechanism: ln P(output|word) − ln P(output|other) (NaN where an estimate cannot tell),
the largest value that is promised, whether the ratio is exact, and the promise's status."""

_WIDEST = 60.0  # powers of ten: beyond it a bar is cut and its text says the number


def odds_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the ratio as a bar from 1× and the bound as a bracket on a logarithmic axis.

    Args:
        table: the columns `COLUMNS`.

    Returns:
        A figure whose x axis is log10 of the factor; 1× is marked "learns nothing".
    """
    import plotly.graph_objects as go

    ratios = (table["log_ratio"] / math.log(10)).clip(-_WIDEST, _WIDEST)
    bounds = (table["log_bound"] / math.log(10)).clip(0.0, _WIDEST)
    styles = [style_of(str(key)) for key in table["mechanism"]]
    names = [name_tag(str(key)) for key in table["mechanism"]]
    low = min(0.0, ratios.min(skipna=True) if ratios.notna().any() else 0.0)
    high = max(1.0, bounds.max(), ratios.max(skipna=True) if ratios.notna().any() else 0.0)
    pad = 0.06 * (high - low)
    places, labels = powers_of_ten(low, high)
    bars = go.Bar(
        orientation="h",
        x=ratios.fillna(0.0).tolist(),
        y=names,
        text=[_said(row.log_ratio, row.exact) for row in table.itertuples()],
        textposition="auto",
        marker={
            "color": [style.colour for style in styles],
            "pattern": {"shape": ["" if exact else "/" for exact in table["exact"]]},
        },
        hovertemplate="%{y}<br>%{text}<extra>odds</extra>",
    )
    brackets = go.Scatter(
        mode="markers",
        x=bounds.tolist(),
        y=names,
        text=[factor_text(value) for value in table["log_bound"]],
        marker={
            "symbol": "line-ns-open",
            "size": 22,
            "color": [style.colour for style in styles],
            "line": {"width": 3},
        },
        hovertemplate="%{y}<br>promised: at most %{text} times<extra>bound</extra>",
    )
    nothing = {
        "type": "line",
        "x0": 0,
        "x1": 0,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 2, "dash": "dot", "color": GREY},
    }
    label = {
        "x": 0,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": "left",
        "showarrow": False,
        "text": "1×: learns nothing",
    }
    return go.Figure(
        [bars, brackets],
        base_layout(
            height=104 + 38 * len(table),
            margin={"l": 8, "r": 16, "t": 28, "b": 8},
            dragmode=False,
            shapes=[nothing],
            annotations=[label],
            xaxis=axis(
                "times more likely (bar: this output; tick: at most, as promised)",
                range=[low - pad, high + pad],
                tickvals=places,
                ticktext=labels,
            ),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
        ),
    )


def _said(log_ratio: float, exact: bool) -> str:
    if math.isnan(log_ratio):
        return "too rare to estimate"
    sign = "" if exact else "about "
    return f"{sign}{factor_text(log_ratio)} times"
