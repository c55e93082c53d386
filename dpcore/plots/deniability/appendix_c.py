"""Appendix C of Xu et al. 2021: the formula against the truth, for a dense and a sparse word."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least
from dpcore.plots.captions import Caption
from dpcore.plots.layout import (
    LEGEND,
    axis,
    epsilon_axis,
    epsilon_hover,
    number,
    plain,
    probability_text,
)
from dpcore.plots.style import BLUE, GLYPHS, VERMILION, Style
from dpcore.plots.traces import coloured, curve, drawn, line, names_beside, rule, upright

_WORDS = ((BLUE, "circle"), (VERMILION, "diamond"))
_DASHES = {"truth": "solid", "formula": "dash", "low": "dot"}
_LABELS = {"truth": "truth", "formula": "formula", "low": "proved lower bound"}
_HEIGHT = 360
_PLOT_PIXELS = _HEIGHT - 118


def appendix_figure(
    table: pd.DataFrame,
    axis_title: str,
    logarithm: bool,
    epsilon: float,
    limit: float | None = None,
) -> go.Figure:
    """Draw formula (dash), truth (solid) and the bound that holds (dots) of each word over ε.

    Args:
        table: the columns of `dpcore.papers.xu2021.appendix_c`, of one mechanism and at most two
            words, the dense one first; ε ascending within a word.
        axis_title: of the ε axis.
        logarithm: whether the axis shows ln ε; else ε on a log scale.
        epsilon: the chosen ε: a vertical line.
        limit: a constant that the appendix gives as a floor, drawn as a dashed grey line.

    Returns:
        A figure with three traces that explain the dashes, and three a word.
    """
    scale = math.log if logarithm else float
    # Traces without points: what a dash means stands in the legend once, not once a word.
    traces = [
        line([None], [None], _LABELS[part], dash=dash, width=2.5) for part, dash in _DASHES.items()
    ]
    ends: list[tuple[float, float, str]] = []
    groups = table.groupby("word", sort=False)
    for (word, rows), (colour, marker) in zip(groups, _WORDS, strict=False):
        x = [scale(value) for value in rows["epsilon"].tolist()]
        for part, dash in _DASHES.items():
            solid = part == "truth"
            hover = f"{plain(str(word))}, {_LABELS[part]}: %{{y:.3g}} at {epsilon_hover(logarithm)}"
            traces.append(
                curve(
                    x,
                    rows[part],
                    # The dash says which curve, so the marker must say of which word.
                    Style(colour, dash, marker if solid else f"{marker}-open"),
                    f"{hover}<extra></extra>",
                    width=2.5 if solid else 1.8,
                    size=8 if solid else 7,
                    shown=8 if solid else 5,
                    showlegend=False,
                )
            )
        name = f"{coloured(GLYPHS[marker], colour)} {plain(str(word)[:14])}"
        ends.append((1, float(rows["truth"].iloc[-1]), name))
    names = names_beside(
        sorted(ends, key=lambda end: end[1]), lambda y: y * _PLOT_PIXELS, _PLOT_PIXELS, xref="paper"
    )
    shapes = [rule(1.5, "dot", **upright(scale(epsilon)))]
    if limit is not None:
        shapes.append(rule(1.5, "dash", xref="paper", x0=0, x1=1, y0=limit, y1=limit))
    return drawn(
        traces,
        height=_HEIGHT,
        margin={"l": 8, "r": 128, "t": 34, "b": 8},
        legend=LEGEND | {"itemclick": False},
        shapes=shapes,
        annotations=names,
        xaxis=epsilon_axis(axis_title, table["epsilon"], logarithm),
        yaxis=axis("chance that the word stays", fixedrange=True, range=[-0.03, 1.03]),
    )


def appendix_caption(table: pd.DataFrame, label: str, epsilon: float) -> Caption:
    """Formula against truth at the chosen ε and at its worst; `label` is that ε in words."""
    sentences = [f"Chance that a word stays, formula (dash) against truth (solid), at {label}."]
    worst_gap, finding = -1.0, ""
    for word, rows in table.groupby("word", sort=False):
        row = rows[rows["epsilon"] == epsilon].iloc[0]
        worst = rows.iloc[(rows["formula"] - rows["truth"]).abs().argmax()]
        truth = probability_text(float(row["truth"]), float(row["nw_low"]), float(row["nw_high"]))
        truth += " (exact)" if row["method"] == "exact" else ", interval of 95 %"
        sentences.append(
            f"“{word}” (δ = {number(row['nearest'])}): formula {number(row['formula'])}, truth "
            f"{truth}, proved at least {number(row['low'], at_least)}; largest gap "
            f"{number(abs(worst['formula'] - worst['truth']))}, at ε = {number(worst['epsilon'])}."
        )
        gap = abs(float(worst["formula"] - worst["truth"]))
        if gap > worst_gap:
            worst_gap = gap
            finding = (
                f"The formula is off by up to {number(gap)}: at ε = {number(worst['epsilon'])} it "
                f"gives “{word}” {number(worst['formula'])}, the truth is {number(worst['truth'])}."
            )
    return Caption(finding, " ".join(sentences))
