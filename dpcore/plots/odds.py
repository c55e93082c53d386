"""Odds: how much an output speaks for one word against another, beside what is promised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plots.layout import axis, base_layout, factor_text, plain, powers_of_ten
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

BEYOND = ("triangle-left", "triangle-right")
"""Symbols of a promised bound beyond the left and the right edge of the axis."""
_WIDEST = 60.0  # powers of ten: a bar or tick beyond it stands at the edge, with an arrow


def favoured(row: pd.Series) -> tuple[str, str]:
    """The word that the output of a row speaks for, and the one that it speaks against."""
    word, other = str(row["word"]), str(row["other"])
    return (other, word) if row["log_ratio"] < 0 else (word, other)


def odds_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the ratio as a bar from 1× and the bound as a tick on either side, logarithmically.

    A bar goes to the right where the output speaks for the word, to the left where it speaks for
    the other; the promise bounds it on both sides.

    Args:
        table: the columns `COLUMNS`, of one pair of words.

    Returns:
        A figure whose x axis is log10 of the factor; 1× is marked "learns nothing". What lies
        beyond the axis is drawn as an arrow at its edge.
    """
    import plotly.graph_objects as go

    powers = table["log_ratio"] / math.log(10)
    limits = table["log_bound"].clip(lower=0.0) / math.log(10)
    ratios, bounds = powers.clip(-_WIDEST, _WIDEST), limits.clip(upper=_WIDEST)
    styles = [style_of(str(key)) for key in table["mechanism"]]
    names = [name_tag(str(key)) for key in table["mechanism"]]
    reach = max(1.0, bounds.max(), ratios.abs().max(skipna=True) if ratios.notna().any() else 0.0)
    pad = 0.12 * reach
    places, labels = _mirrored(reach)
    word, other = (plain(" ".join(table[name].head(1))) for name in ("word", "other"))
    bars = go.Bar(
        orientation="h",
        x=ratios.fillna(0.0).tolist(),
        y=names,
        text=[_said(row) for _, row in table.iterrows()],
        textposition="auto",
        marker={
            "color": [style.colour for style in styles],
            "pattern": {"shape": ["" if exact else "/" for exact in table["exact"]]},
        },
        hovertemplate="%{y}<br>%{text}<extra>odds</extra>",
    )
    brackets = go.Scatter(
        mode="markers",
        x=[*bounds, *-bounds],
        y=[*names, *names],
        text=[_bound_text(value) for value in table["log_bound"]] * 2,
        marker={
            "symbol": [
                symbol if limit <= _WIDEST else arrow
                for symbol, arrow in (("line-ns-open", BEYOND[1]), ("line-ns-open", BEYOND[0]))
                for limit in limits
            ],
            "size": 22,
            "color": [style.colour for style in styles] * 2,
            "line": {"width": 3},
        },
        hovertemplate="%{y}<br>promised: at most %{text}<extra>bound</extra>",
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
        "xanchor": "center",
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
                f"← for “{other}”   (bar: this output; ticks: at most, as promised)   "
                f"for “{word}” →",
                range=[-reach - pad, reach + pad],
                tickvals=places,
                ticktext=labels,
            ),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
        ),
    )


def _mirrored(reach: float) -> tuple[list[float], list[str]]:
    """Ticks of both sides: the factor by which the odds of that side's word are multiplied."""
    places, labels = powers_of_ten(0.0, reach, most=4)
    left = [(-place, label) for place, label in zip(places, labels, strict=True) if place > 0]
    return [at for at, _ in left[::-1]] + places, [text for _, text in left[::-1]] + labels


def _said(row: pd.Series) -> str:
    """The text of a bar: the factor and the word that it speaks for, as the caption says them."""
    ratio = float(row["log_ratio"])
    if math.isnan(ratio):
        return "too rare to estimate"
    sign = "" if row["exact"] else "about "
    cut = " (beyond this axis)" if abs(ratio) > _WIDEST * math.log(10) else ""
    return f"{sign}{factor_text(abs(ratio))} times for “{plain(favoured(row)[0])}”{cut}"


def _bound_text(log_bound: float) -> str:
    beyond = log_bound > _WIDEST * math.log(10)
    return f"{factor_text(log_bound)} times{' (beyond this axis)' if beyond else ''}"
