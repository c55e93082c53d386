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
from dpcore.written import Filled, Named, listed

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
        f"{plain(word)} <b>(itself)</b>" if stay else plain(word)
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
    exact = bool(table["exact"].all())
    stays: str = probability_text(*stay)
    # No private mechanism keeps a word for certain: show the distance from 1, however small.
    if stays == "1" and log_change > -math.inf:
        stays = Filled("1 − {rest}", rest=factor_text(log_change))
    filling = {"word": word, "stays": stays, "best": best["output"]}
    if best["output"] == word:
        first = Filled("“{word}” stays with probability {stays}", **filling)
        finding = Filled("“{word}” stays with probability {stays}.", **filling)
    else:
        first = Filled(
            "“{word}” most likely becomes “{best}” ({chance}, {distance} away); it stays with "
            "probability {stays}",
            chance=number(float(best["probability"])),
            distance=number(float(best["distance"])),
            **filling,
        )
        finding = Filled(
            "“{word}” most likely becomes “{best}” (probability {chance}); it stays with {stays}.",
            chance=probability_text(*[float(best["probability"])] * 3),
            **filling,
        )
    rest = Filled(
        "{first}; the {words} words shown hold {share} of the probability.",
        first=first,
        words=len(table),
        share=percent(float(table["probability"].sum())),
    )
    if exact:
        computed = Filled("Exact: {method}.", method=Named(method))
    else:
        computed = Filled(
            "Estimated: {method}, ± {error} (two standard errors).",
            method=Named(method),
            error=number(2 * float(table["error"].max())),
        )
    return Caption(finding, listed((rest, computed), " "))
