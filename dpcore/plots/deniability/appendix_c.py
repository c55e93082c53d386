"""Appendix C of Xu et al. 2021: the formula against the truth, for a dense and a sparse word."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dpcore.plots.layout import axis, base_layout, number, plain, probability_text
from dpcore.plots.style import BLUE, GLYPHS, GREY, VERMILION, Style
from dpcore.plots.traces import coloured, curve, name_beside, rule, spread, upright

if TYPE_CHECKING:
    import pandas as pd

_WORDS = ((BLUE, "circle"), (VERMILION, "diamond"))
_DASHES = {"truth": "solid", "formula": "dash", "low": "dot"}
_LABELS = {"truth": "truth", "formula": "formula", "low": "proved lower bound"}
_HEIGHT = 360
_PLOT_PIXELS = _HEIGHT - 118
_LABEL_PIXELS = 17


def appendix_figure(
    table: pd.DataFrame, axis_title: str, logarithm: bool, at: float, limit: float | None = None
) -> go.Figure:
    """Draw formula (dash), truth (solid) and the bound that holds (dots) of each word over ε.

    Args:
        table: the columns of `dpcore.papers.xu2021.appendix_c`, of one mechanism and at most two
        words,
            the dense one first; ε ascending within a word.
        axis_title: of the ε axis.
        logarithm: whether the axis shows ln ε; else ε on a log scale.
        at: the chosen ε: a vertical line.
        limit: a constant that the appendix gives as a floor, drawn as a dashed grey line.

    Returns:
        A figure with three traces that explain the dashes, and three a word.
    """
    scale = math.log if logarithm else float
    traces = [
        go.Scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=_LABELS[part],
            hoverinfo="skip",
            line={"color": GREY, "dash": dash, "width": 2.5},
        )
        for part, dash in _DASHES.items()
    ]
    ends: list[tuple[str, str, str, float]] = []
    groups = table.groupby("word", sort=False)
    for (word, rows), (colour, marker) in zip(groups, _WORDS, strict=False):
        x = [scale(value) for value in rows["epsilon"].tolist()]
        for part, dash in _DASHES.items():
            solid = part == "truth"
            traces.append(
                curve(
                    x,
                    rows[part].tolist(),
                    # The dash says which curve, so the marker must say of which word.
                    Style(colour, dash, marker if solid else f"{marker}-open"),
                    width=2.5 if solid else 1.8,
                    size=8 if solid else 7,
                    shown=8 if solid else 5,
                    showlegend=False,
                    hovertemplate=f"{plain(str(word))}, {_LABELS[part]}: %{{y:.3g}} at "
                    f"{'ln ε' if logarithm else 'ε'} = %{{x:.4g}}<extra></extra>",
                )
            )
        ends.append((str(word), colour, GLYPHS[marker], float(rows["truth"].iloc[-1])))
    first, last = scale(table["epsilon"].min()), scale(table["epsilon"].max())
    x_axis: dict[str, object] = {"range": [first, last]}
    if not logarithm:
        x_axis = {"range": [math.log10(first), math.log10(last)], "type": "log", "dtick": 1}
    shapes = [rule(1.5, "dot", **upright(scale(at)))]
    if limit is not None:
        shapes.append(rule(1.5, "dash", xref="paper", x0=0, x1=1, y0=limit, y1=limit))
    return go.Figure(
        traces,
        base_layout(
            height=_HEIGHT,
            margin={"l": 8, "r": 128, "t": 34, "b": 8},
            dragmode=False,
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemclick": False},
            shapes=shapes,
            annotations=_names(ends),
            xaxis=axis(axis_title, fixedrange=True, **x_axis),
            yaxis=axis("chance that the word stays", fixedrange=True, range=[-0.03, 1.03]),
        ),
    )


def _names(ends: list[tuple[str, str, str, float]]) -> list[dict[str, object]]:
    """The words at the ends of their curves, moved apart where they would cover each other."""
    ordered = sorted(ends, key=lambda end: end[3])
    places = spread([end[3] * _PLOT_PIXELS for end in ordered], _LABEL_PIXELS, _PLOT_PIXELS)
    return [
        name_beside(
            1,
            y,
            place - y * _PLOT_PIXELS,
            f"{coloured(glyph, colour)} {plain(word[:14])}",
            xref="paper",
        )
        for (word, colour, glyph, y), place in zip(ordered, places, strict=True)
    ]


def appendix_caption(table: pd.DataFrame, at_label: str, at: float) -> str:
    """Formula against truth at one ε and at its worst, from the numbers of the figure.

    Args:
        table: as for `appendix_figure`.
        at_label: the chosen ε in words ("ε = 12").
        at: the chosen ε.
    """
    said = [f"Chance that a word stays, formula (dash) against truth (solid), at {at_label}."]
    for word, rows in table.groupby("word", sort=False):
        row = rows[rows["epsilon"] == at].iloc[0]
        worst = rows.iloc[(rows["formula"] - rows["truth"]).abs().argmax()]
        truth = probability_text(float(row["truth"]), float(row["nw_low"]), float(row["nw_high"]))
        truth += " (exact)" if row["method"] == "exact" else ", interval of 95 %"
        said.append(
            f"“{word}” (δ = {row['nearest']:.3g}): formula {row['formula']:.3g}, truth "
            f"{truth}, proved at least {row['low']:.2g}; largest gap "
            f"{abs(worst['formula'] - worst['truth']):.3g}, at ε = {number(worst['epsilon'])}."
        )
    return " ".join(said)
