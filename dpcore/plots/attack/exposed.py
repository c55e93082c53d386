"""Least protected words: how often a word stays, against its distance to the nearest word."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.attack.words import share_text
from dpcore.plots.style import BLUE, GREY, LEGEND_CLOSE, VERMILION, Caption, axis, number, plain
from dpcore.plots.traces import draw_figure
from dpcore.written import Filled

COLUMNS = ("word", "group", "nearest", "stays")
"""One row for each word: `group` is WORST, BEST or OTHER, `nearest` the distance to its nearest
word, `stays` the probability that it comes out unchanged."""

WORST, BEST, OTHER = "least protected", "best protected", "another word"
_LOOKS = {OTHER: (GREY, "circle", 4), WORST: (VERMILION, "diamond", 11), BEST: (BLUE, "square", 9)}
_NAMED = 1  # words of either end that are named in the figure


def exposed_figure(table: pd.DataFrame) -> go.Figure:
    """Draw a mark for each word; the ends of the ranking have other marks, the first ones names.

    The rows of each end are sorted by rank.
    """
    traces = []
    # The ends of the ranking come last, so that no mark of the others covers theirs.
    for group, (colour, symbol, size) in _LOOKS.items():
        rows = table[table["group"] == group]
        names = [plain(word) for word in rows["word"]]
        named = group != OTHER
        traces.append(
            go.Scatter(
                x=rows["nearest"].round(3).tolist(),
                y=rows["stays"].astype("float32").tolist(),
                name=group,
                mode="markers+text" if named else "markers",
                text=names[:_NAMED] + [""] * (len(names) - _NAMED) if named else None,
                textposition="top left" if group == WORST else "bottom right",
                customdata=names,
                hovertemplate="%{customdata}<br>nearest word %{x:.3g} away<br>stays %{y:.3g}"
                "<extra></extra>",
                marker={"color": colour, "symbol": symbol, "size": size},
            )
        )
    return draw_figure(
        traces,
        height=380,
        legend=LEGEND_CLOSE,
        xaxis=axis("distance to the nearest word"),
        yaxis=axis("probability that it stays", rangemode="tozero"),
    )


def exposed_caption(table: pd.DataFrame, correlation: float, words: int) -> Caption:
    """Name the least protected words, and give the correlation with the nearest distance.

    Args:
        table: the columns `COLUMNS`.
        correlation: of rank, between the probability that a word stays and its distance to the
            nearest word; may be NaN.
        words: how many were ranked.
    """
    worst, best = (table[table["group"] == group].iloc[0] for group in (WORST, BEST))
    why = Filled("all words stay equally often")
    if not math.isnan(correlation):
        why = Filled(
            "the rank correlation of staying with the distance to the nearest word is "
            "{correlation:.2f}",
            correlation=correlation,
        )
    filling = {
        "worst": worst["word"],
        "most": share_text(float(worst["stays"])),
        "best": best["word"],
        "least": share_text(float(best["stays"])),
    }
    how = Filled(
        "Of {words:,} words “{worst}” is protected least: it stays in {most} cases (nearest word "
        "{worst_away} away); best protected is “{best}”, {least} ({best_away} away). Over all "
        "words {why}.",
        words=words,
        worst_away=number(float(worst["nearest"])),
        best_away=number(float(best["nearest"])),
        why=why,
        **filling,
    )
    finding = Filled(
        "“{worst}” is protected least and stays in {most} draws; “{best}” is protected best: "
        "{least}.",
        **filling,
    )
    return Caption(finding, how)
