"""Figures of recorded results: the curves of a paper's figure, Sw against Nw, and Appendix C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least
from dpcore.plots.deniability.curves import TITLES, in_runs
from dpcore.plots.style import (
    BLUE,
    GLYPHS,
    GREY,
    LEGEND,
    VERMILION,
    Caption,
    Style,
    axis,
    curve_style,
    epsilon_axis,
    epsilon_hover,
    note,
    number,
    plain,
    probability_text,
    whole_ticks,
)
from dpcore.plots.traces import (
    End,
    band,
    coloured,
    curve,
    draw_figure,
    edge_labels,
    line,
    names_beside,
    right_margin,
    rule,
    upright,
    whiskers,
)
from dpcore.written import Filled, Named, listed

COLUMNS = (
    "curve", "mechanism", "method", "epsilon", "mean", "standard_error", "standard_deviation",
    "q05", "q95", "words", "runs", "layer",
)  # fmt: skip
"""One row for each curve, layer and ε, ε ascending. The layer is "line" (mean ± standard deviation
over words by the best method), "protocol" (the same by the papers' protocol), "paper" (a printed
mean alone) or "stated" (the largest mean that a paper states in its text, at both ends of ε)."""

TRADE_COLUMNS = ("curve", "mechanism", "method", "epsilon", "words", "runs", "nw", "sw")
"""One row for each curve and ε: mean Nw and mean Sw."""

_HEIGHT = 330
_PLOT_PIXELS = _HEIGHT - 92


def recorded_figure(
    table: pd.DataFrame, quantity: str, axis_title: str, logarithm: bool
) -> go.Figure:
    """Draw mean ± standard deviation over words against ε, with protocol marks and printed values.

    Args:
        table: the columns `COLUMNS`, of mechanisms whose ε means the same.
        quantity: nw (axis from 0 to 1) or sw (from 0 to the largest value).
        axis_title: of the ε axis.
        logarithm: True if the axis shows ln ε; else ε on a log scale.

    Returns:
        A figure. A curve has a band, a line and a label at the right edge; crosses with whiskers
        are the papers' protocol, hollow marks on a thin dotted line a paper's printed values, a
        dotted line without marks its largest value, and a legend says so where there are any.
    """
    scale = math.log if logarithm else float
    lines = table[table["layer"] == "line"]
    high = float((lines["mean"] + lines["standard_deviation"]).max())
    high = 1.0 if quantity == "nw" else max(high, float(table["mean"].max()))
    traces: list[go.Scatter] = []
    ends: list[End] = []
    for name, rows in table.groupby("curve", sort=False):
        key = str(rows["mechanism"].iloc[0])
        style = curve_style(str(name), key)
        for layer, part in rows.groupby("layer", sort=False):
            x = [scale(value) for value in part["epsilon"].tolist()]
            if layer == "line":
                mean, deviation = part["mean"], part["standard_deviation"]
                # Cut where it leaves the possible values.
                under, over = ((mean + s * deviation).clip(0.0, high).tolist() for s in (-1, 1))
                traces += band(x, under, over, style.colour, showlegend=False)
                ends.append(End(str(name), key, x[-1], float(part["mean"].iloc[-1])))
            limits = (0.0, 1.0) if quantity == "nw" else (1.0, float(part["runs"].max()))
            traces.append(_marks(part, x, str(name), style, str(layer), logarithm, limits))
    keys = _keys(table)
    labels = edge_labels(ends, high, logarithm, _PLOT_PIXELS)
    title = TITLES[quantity] + in_runs(quantity, float(table["runs"].max()))
    pad = 0.03 * high
    return draw_figure(
        keys + traces,
        height=_HEIGHT,
        margin={"l": 8, "r": right_margin(ends), "t": 34, "b": 8},  # above: the legend
        **({"legend": LEGEND | {"itemclick": False}} if keys else {}),
        annotations=labels,
        xaxis=epsilon_axis(axis_title, table["epsilon"], logarithm),
        yaxis=axis(title, fixedrange=True, range=[-pad, high + pad]),
    )


def _marks(
    rows: pd.DataFrame,
    x: list[float],
    name: str,
    style: Style,
    layer: str,
    logarithm: bool,
    limits: tuple[float, float],
) -> go.Scatter:
    """Draw the mean of one layer: a line, crosses with whiskers, or the paper's values."""
    after = {
        "line": "",
        "protocol": ", protocol",
        "paper": ", the paper",
        "stated": ", largest in the paper",
    }[layer]
    hover = epsilon_hover(logarithm)
    trace = curve(
        x,
        rows["mean"],
        style,
        hover,
        shown=8,
        name=name + after,
        cliponaxis=False,
        showlegend=False,
    )
    if layer == "protocol":
        trace.mode, trace.marker = "markers", _CROSS | {"color": style.colour}
        mean, deviation = rows["mean"], rows["standard_deviation"]
        # Cut where they leave the possible values.
        over, under = (
            deviation.clip(upper=(limit - mean).abs()).tolist() for limit in reversed(limits)
        )
        trace.error_y = whiskers(over, under, style.colour)
    elif layer == "stated":
        trace.mode, trace.line = "lines", {"color": style.colour, "dash": "dot", "width": 1.5}
        trace.hovertemplate = "%{y:.3g}"
    elif layer == "paper":
        trace.line = {"color": style.colour, "dash": "dot", "width": 1}
        trace.marker = {"symbol": f"{style.marker}-open", "size": 10, "color": style.colour}
    return trace


_CROSS = {"symbol": "x-thin-open", "size": 8, "line": {"width": 1.5}}


def _keys(table: pd.DataFrame) -> list[go.Scatter]:
    """Return a trace without points for each kind of marks, so that the legend explains it once."""
    keys = []
    protocol = table[table["layer"] == "protocol"]
    if len(protocol):
        name = f"the paper's protocol, {protocol['words'].max():,.0f} words"
        keys.append(_key(name, _CROSS | {"color": GREY}))
    if (table["layer"] == "paper").any():
        keys.append(_key("printed in the paper", {"symbol": "circle-open", "color": GREY}))
    if (table["layer"] == "stated").any():
        keys.append(
            line([None], [None], "largest value stated in the paper", dash="dot", width=1.5)
        )
    return keys


def _key(name: str, marker: dict[str, Any]) -> go.Scatter:
    return go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name)


def trade_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the mean Sw (log axis) against the mean Nw, one line a mechanism over its ε."""
    traces, names = [], []
    hover = "Sw %{y:.3g} at Nw = %{x:.3g}, ε = %{customdata:.3g}"
    high = float(table["sw"].max())
    for name, rows in table.groupby("curve", sort=False):
        style = curve_style(str(name), str(rows["mechanism"].iloc[0]))
        nw, sw, epsilons = (rows[column].tolist() for column in ("nw", "sw", "epsilon"))
        traces.append(curve(nw, sw, style, hover, shown=10, customdata=epsilons, name=str(name)))
        # Where the lines are apart: they meet at both ends.
        middle = rows.iloc[(rows["nw"] - 0.6).abs().argmin()]
        text = f"{coloured(style.glyph, style.colour)} {name}"
        x, y = float(middle["nw"]), math.log10(float(middle["sw"]))
        names.append(note(text, x, y, yshift=18, xanchor="left"))
    pad = 0.04 * math.log10(high)
    span = [-pad, math.log10(high) + pad]
    runs = f"{table['runs'].max():,.0f}"
    return draw_figure(
        traces,
        height=_HEIGHT,
        margin={"l": 8, "r": 16, "t": 34, "b": 8},
        annotations=names,
        xaxis=axis("Nw: chance that a word stays", fixedrange=True, range=[-0.03, 1.03]),
        yaxis=axis(
            f"Sw: different outputs in {runs} runs",
            fixedrange=True,
            type="log",
            range=span,
            **whole_ticks(high),
        ),
    )


def recorded_caption(table: pd.DataFrame, quantity: str, logarithm: bool) -> Caption:
    """Describe the curves, from the numbers that they are drawn from."""

    def mean_at(row: pd.Series) -> str:
        mean, epsilon = number(row["mean"]), row["epsilon"]
        if logarithm:
            return Filled("{mean} at ln ε = {place}", mean=mean, place=number(math.log(epsilon)))
        return Filled("{mean} at ε = {place}", mean=mean, place=number(epsilon))

    title = quantity.capitalize()
    sentences = [Filled("Mean {quantity} ± standard deviation over words (band).", quantity=title)]
    ends: dict[str, tuple[str, str]] = {}
    change: dict[str, float] = {}
    for key, rows in table.groupby("curve", sort=False):
        # The sentence on a curve is about its line; marks of other layers get their own.
        best = rows[rows["layer"] == "line"]
        name, first, last = str(key), best.iloc[0], best.iloc[-1]
        ends[name] = mean_at(first), mean_at(last)
        change[name] = abs(last["mean"] - first["mean"])
        sentences.append(
            Filled(
                "{name}: {first} to {last} ({words:,.0f} words, {method}).",
                name=Named(name),
                first=ends[name][0],
                last=ends[name][1],
                words=best["words"].max(),
                method=Named(first["method"]),
            )
        )
        for layer, marks in (
            ("protocol", Filled("the paper's protocol, crosses")),
            ("paper", Filled("printed in the paper, hollow")),
        ):
            part = rows[rows["layer"] == layer]
            if len(part):
                sentences.append(
                    Filled(
                        "{name}, {marks}: {first} to {last}.",
                        name=Named(name),
                        marks=marks,
                        first=mean_at(part.iloc[0]),
                        last=mean_at(part.iloc[-1]),
                    )
                )
        stated = rows[rows["layer"] == "stated"]
        if len(stated):
            sentences.append(
                Filled(
                    "{name}, stated in the paper as the largest, dotted: about {mean}.",
                    name=Named(name),
                    mean=number(stated["mean"].iloc[0]),
                )
            )
    most = max(change, key=change.__getitem__)
    finding = Filled(
        "Mean {quantity} of {name} goes from {first} to {last}.",
        quantity=title,
        name=Named(most),
        first=ends[most][0],
        last=ends[most][1],
    )
    return Caption(finding, listed(sentences, " "))


def trade_caption(table: pd.DataFrame, level: float = 0.5) -> Caption:
    """Give Sw of each mechanism where its Nw is first at a level, between two recorded ε."""
    sentences = [
        Filled("Different outputs (Sw, log axis) against the chance that a word stays (Nw).")
    ]
    there: dict[str, float] = {}
    for name, rows in table.groupby("curve", sort=False):
        epsilon, nw, sw = (rows[column].to_numpy(float) for column in ("epsilon", "nw", "sw"))
        over = nw >= level
        crossed = np.flatnonzero(over[1:] != over[:-1])
        if not crossed.size:
            sentences.append(
                Filled("{name}: Nw is never {level:g}.", name=Named(str(name)), level=level)
            )
            continue
        i = int(crossed[0])
        share = (level - nw[i]) / (nw[i + 1] - nw[i])
        there[str(name)] = float(sw[i] + share * (sw[i + 1] - sw[i]))
        sentences.append(
            Filled(
                "{name}: Sw {sw} where Nw is {nw:g} (ε = {epsilon}).",
                name=Named(str(name)),
                sw=number(there[str(name)]),
                nw=level,
                epsilon=number(epsilon[i] * (epsilon[i + 1] / epsilon[i]) ** share),
            )
        )
    how = listed(sentences, " ")
    if not there:
        return Caption(Filled("No mechanism here has an Nw of {level:g}.", level=level), how)
    most, least = max(there, key=there.__getitem__), min(there, key=there.__getitem__)
    filling = {"level": level, "most": Named(most), "count": number(there[most])}
    if most == least:
        finding = Filled(
            "Where Nw is {level:g}, {most} makes {count} different outputs.", **filling
        )
    else:
        finding = Filled(
            "Where Nw is {level:g}, {most} makes {count} different outputs, {least} {fewer}.",
            least=Named(least),
            fewer=number(there[least]),
            **filling,
        )
    return Caption(finding, how)


# Appendix C of Xu et al. 2021: the formula against the truth, for a dense and a sparse word.


_WORDS = ((BLUE, "circle"), (VERMILION, "diamond"))
_DASHES = {"truth": "solid", "formula": "dash", "low": "dot"}
_LABELS = {"truth": "truth", "formula": "formula", "low": "proved lower bound"}
_HEIGHT_APPENDIX_C = 360
_PLOT_PIXELS_APPENDIX_C = _HEIGHT_APPENDIX_C - 118


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
        logarithm: True if the axis shows ln ε; else ε on a log scale.
        epsilon: the chosen ε: a vertical line.
        limit: a constant that the appendix gives as a floor, drawn as a dashed grey line.

    Returns:
        A figure with three traces that explain the dashes, and three a word.
    """
    scale = math.log if logarithm else float
    # Traces without points: the legend explains each dash once, not once a word.
    traces = [
        line([None], [None], _LABELS[part], dash=dash, width=2.5) for part, dash in _DASHES.items()
    ]
    hover = "%{meta}, %{fullData.name}: " + epsilon_hover(logarithm) + "<extra></extra>"
    ends: list[tuple[float, float, str]] = []
    groups = table.groupby("word", sort=False)
    for (word, rows), (colour, marker) in zip(groups, _WORDS, strict=False):
        x = [scale(value) for value in rows["epsilon"].tolist()]
        for part, dash in _DASHES.items():
            solid = part == "truth"
            traces.append(
                curve(
                    x,
                    rows[part],
                    # The dash says which curve, so the marker must say of which word.
                    Style(colour, dash, marker if solid else f"{marker}-open"),
                    hover,
                    width=2.5 if solid else 1.8,
                    size=8 if solid else 7,
                    shown=8 if solid else 5,
                    showlegend=False,
                    name=_LABELS[part],
                    meta=plain(str(word)),
                )
            )
        name = f"{coloured(GLYPHS[marker], colour)} {plain(str(word)[:14])}"
        ends.append((1, float(rows["truth"].iloc[-1]), name))
    names = names_beside(
        sorted(ends, key=lambda end: end[1]),
        lambda y: y * _PLOT_PIXELS_APPENDIX_C,
        _PLOT_PIXELS_APPENDIX_C,
        xref="paper",
    )
    shapes = [rule(1.5, "dot", **upright(scale(epsilon)))]
    if limit is not None:
        shapes.append(rule(1.5, "dash", xref="paper", x0=0, x1=1, y0=limit, y1=limit))
    return draw_figure(
        traces,
        height=_HEIGHT_APPENDIX_C,
        margin={"l": 8, "r": 128, "t": 34, "b": 8},
        legend=LEGEND | {"itemclick": False},
        shapes=shapes,
        annotations=names,
        xaxis=epsilon_axis(axis_title, table["epsilon"], logarithm),
        yaxis=axis("chance that the word stays", fixedrange=True, range=[-0.03, 1.03]),
    )


def appendix_caption(table: pd.DataFrame, label: str, epsilon: float) -> Caption:
    """Compare formula and truth at the chosen ε and at its worst; `label` is that ε in words."""
    sentences = [
        Filled(
            "Chance that a word stays, formula (dash) against truth (solid), at {label}.",
            label=label,
        )
    ]
    worst_gap, finding = -1.0, ""
    for word, rows in table.groupby("word", sort=False):
        row = rows[rows["epsilon"] == epsilon].iloc[0]
        worst = rows.iloc[(rows["formula"] - rows["truth"]).abs().argmax()]
        gap = abs(float(worst["formula"] - worst["truth"]))
        chance = probability_text(float(row["truth"]), float(row["nw_low"]), float(row["nw_high"]))
        if row["method"] == "exact":
            truth = Filled("{mean} (exact)", mean=chance)
        else:
            truth = Filled("{mean}, interval of 95 %", mean=chance)
        filling = {"word": word, "gap": number(gap), "epsilon": number(worst["epsilon"])}
        sentences.append(
            Filled(
                "“{word}” (δ = {nearest}): formula {formula}, truth {truth}, proved at least "
                "{low}; largest gap {gap}, at ε = {epsilon}.",
                nearest=number(row["nearest"]),
                formula=number(row["formula"]),
                truth=truth,
                low=number(row["low"], at_least),
                **filling,
            )
        )
        if gap > worst_gap:
            worst_gap = gap
            finding = Filled(
                "The formula is off by up to {gap}: at ε = {epsilon} it gives “{word}” {formula}, "
                "the truth is {truth}.",
                formula=number(worst["formula"]),
                truth=number(worst["truth"]),
                **filling,
            )
    return Caption(finding, listed(sentences, " "))
