"""Figure of the most likely outputs of one word at one ε."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import (
    Caption,
    axis,
    factor_text,
    number,
    percent,
    plain,
    probability_text,
    style_of,
)
from dpcore.plots.traces import draw_figure

COLUMNS = ("mechanism", "word", "epsilon", "output", "probability", "error", "distance", "exact")
"""One row for each output, most likely first; `error` is a standard error, or a bound on the error
where `exact` is true; `distance` is the Euclidean distance of the output from the word."""


def law_figure(table: pd.DataFrame) -> go.Figure:
    """Draw one horizontal bar for each output; an estimate carries ±2 standard errors.

    The word itself is outlined, the other outputs are filled. The table is of one word.
    """
    style = style_of(str(table["mechanism"].iloc[0]))
    stays = (table["output"] == table["word"]).tolist()
    labels = [
        f"{plain(word)} (itself)" if stay else plain(word)
        for word, stay in zip(table["output"], stays, strict=True)
    ]
    bars = go.Bar(
        orientation="h",
        x=table["probability"].tolist(),
        y=labels,
        customdata=table["distance"].tolist(),
        hovertemplate="%{y}<br>probability %{x:.4g}<br>distance %{customdata:.3g}<extra></extra>",
        marker={
            "color": ["rgba(0,0,0,0)" if stay else style.colour for stay in stays],
            "line": {"color": style.colour, "width": 2},
        },
    )
    if not bool(table["exact"].all()):
        error = 2 * table["error"]
        below = error.clip(upper=table["probability"])  # no probability is below 0
        bars.error_x = {"type": "data", "symmetric": False, "thickness": 1.5}
        bars.error_x.update(array=error.tolist(), arrayminus=below.tolist())
    return draw_figure(
        bars,
        height=64 + 30 * len(table),
        xaxis=axis("probability", rangemode="tozero"),
        yaxis=axis(autorange="reversed", showgrid=False, type="category"),
    )


def law_caption(
    table: pd.DataFrame,
    stay: tuple[float, float, float],
    method: str,
    log_change: float = -math.inf,
) -> Caption:
    """Describe the bars of `law_figure`.

    Args:
        table: as there.
        stay: probability that the word stays, with the ends of its interval.
        method: of computing the probabilities, in words.
        log_change: ln of the probability that it does not stay; −∞ where that is not known.
    """
    word = str(table["word"].iloc[0])
    best = table.iloc[0]
    shown = float(table["probability"].sum())
    how = "exact" if bool(table["exact"].all()) else "estimated"
    stays = probability_text(*stay)
    # No private mechanism keeps a word for certain: show the distance from 1, however small.
    if stays == "1" and log_change > -math.inf:
        stays = f"1 − {factor_text(log_change)}"
    first = (
        f"“{word}” stays with probability {stays}"
        if best["output"] == word
        else f"“{word}” most likely becomes “{best['output']}” "
        f"({number(float(best['probability']))}, {number(float(best['distance']))} away); "
        f"it stays with probability {stays}"
    )
    rest = f"the {len(table)} words shown hold {percent(shown)} of the probability"
    error = (
        ""
        if how == "exact"
        else f", ± {number(2 * float(table['error'].max()))} (two standard errors)"
    )
    finding = first
    if best["output"] != word:
        finding = (
            f"“{word}” most likely becomes “{best['output']}” (probability "
            f"{probability_text(*[float(best['probability'])] * 3)}); it stays with {stays}"
        )
    return Caption(f"{finding}.", f"{first}; {rest}. {how.capitalize()}: {method}{error}.")
