"""Odds: how much an output speaks for one word against another, beside what is promised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plots.layout import axis, base_layout, factor_text, one_sided, powers_of_ten
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
    "log_low",
    "log_high",
    "log_bound",
    "exact",
    "status",
)
"""One row a mechanism: ln P(output|word) − ln P(output|other) (NaN where an estimate has no more
than an end), the ends of its interval (infinite where there is none; both the ratio if exact), the
largest value that is promised, whether the ratio is exact, and the promise's status."""

_RATIO = ("log_ratio", "log_low", "log_high")
_WIDEST = 60.0  # powers of ten: beyond it a bar is cut and its text says the number


def log_ratio(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The columns `log_ratio`, `log_low` and `log_high` of two probabilities with their intervals.

    Args:
        first: of the output under the word: value, lower and upper end, equal where it is exact.
        second: under the other word.
    """

    def log(value: float) -> float:
        return math.log(value) if value > 0 else -math.inf

    if first[1] == first[2] and second[1] == second[2]:
        exact = log(first[0]) - log(second[0])
        return exact, exact, exact
    ends = [
        (-math.inf if one_sided(low, high) else log(low), log(high))
        for _, low, high in (first, second)
    ]
    low, high = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    sided = math.isinf(low) or math.isinf(high)
    return (math.nan if sided else log(first[0]) - log(second[0])), low, high


def odds_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the ratio as a bar from 1× and the bound as a bracket on a logarithmic axis.

    Args:
        table: the columns `COLUMNS`.

    Returns:
        A figure whose x axis is log10 of the factor; 1× is marked "learns nothing".
    """
    import pandas as pd
    import plotly.graph_objects as go

    known = [_length(*row) for row in zip(*(table[c] for c in _RATIO), strict=True)]
    ratios = (pd.Series(known, dtype=float) / math.log(10)).clip(-_WIDEST, _WIDEST)
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
        text=[odds_text(*row) for row in zip(*(table[c] for c in _RATIO), strict=True)],
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


def odds_text(ratio: float, low: float, high: float) -> str:
    """So many times, with the interval of an estimate; `COLUMNS` says what the numbers are."""
    if low == high:
        return "too rare to compute" if math.isnan(ratio) else f"{factor_text(ratio)} times"
    if math.isnan(ratio):
        if math.isfinite(low):
            return f"at least {factor_text(low)} times"
        if math.isfinite(high):
            return f"at most {factor_text(high)} times"
        return "too rare to estimate"
    return f"about {factor_text(ratio)} times ({factor_text(low)} to {factor_text(high)})"


def _length(ratio: float, low: float, high: float) -> float:
    """Of the bar: the ratio, else the end that there is, else nothing."""
    ends = [end for end in (ratio, low, high) if math.isfinite(end)]
    return ratio if math.isinf(ratio) else (ends[0] if ends else 0.0)
