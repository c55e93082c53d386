"""ROC of the attacker on logarithmic axes: true positives at few false accusations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_most
from dpcore.plots.style import GREY, NAMED, Caption, Style, axis, curve_style, number
from dpcore.plots.traces import curve, draw_figure, line
from dpcore.plots.utility.curves import interval_band
from dpcore.written import Filled, Named, Numeral, listed

COLUMNS = ("curve", "mechanism", "epsilon", "at", "mean", "low", "high")
"""One row for each curve and false-positive rate `at` > 0, ascending: mean true-positive rate over
trials with its interval (may be missing). `mechanism` is empty for a model of clean text; the name
of any other curve is its label and its ε, as in "tem, ε = 2"."""

_HEIGHT = 430
_AT = ", ε = "
_CLEAN = Style(GREY, "longdash", "circle")
_DASHES = ("solid", "dash", "dot", "dashdot")
"""Dashes of further curves of one mechanism at other ε, which share its colour and mark."""


def roc_figure(table: pd.DataFrame, rate: float | None = None) -> go.Figure:
    """Draw true against false positives, both logarithmic, and the line of guessing.

    Args:
        table: as `COLUMNS`.
        rate: false-positive rate that is marked by an upright line; None for none.
    """
    low = float(table["at"].min())
    traces: list[Any] = [line([low, 1.0], [low, 1.0], "guessing", dash="dot", width=1.5)]
    floor = 0.5 * low
    times: Counter[str] = Counter()
    for name, rows in table.groupby("curve", sort=False):
        mechanism = str(rows["mechanism"].iloc[0])
        label, _, _ = str(name).partition(_AT)
        style = curve_style(label, mechanism) if mechanism else _CLEAN
        dashes = (style.dash, *(dash for dash in _DASHES if dash != style.dash))
        style = replace(style, dash=dashes[times[label] % len(dashes)])
        times[label] += 1
        traces += interval_band(rows, "at", style.colour, str(name), floor)
        traces.append(
            curve(
                rows["at"],
                # A logarithmic axis has no place for 0: values below it are drawn at its floor.
                rows["mean"].clip(lower=floor),
                style,
                "%{customdata:.4f} at %{x:.3g} false positives",
                width=2,
                size=7,
                shown=8,
                customdata=rows["mean"].tolist(),
                name=str(name),
                legendgroup=str(name),
            )
        )
    if rate is not None:
        traces.append(line([rate, rate], [floor, 1.0], "threshold", width=2))
    return draw_figure(
        traces,
        height=_HEIGHT,
        **NAMED,
        xaxis=axis("false-positive rate", type="log", dtick=1, fixedrange=True),
        yaxis=axis("true-positive rate", type="log", dtick=1, fixedrange=True),
    )


def tests_caption(table: pd.DataFrame, rate: float, words: tuple[str, str], area: float) -> Caption:
    """Say how much the best test between two words finds at one false-positive rate.

    Args:
        table: as `COLUMNS`: the best test, then what the guarantee allows.
        rate: one of its false-positive rates.
        words: the word that is looked for, and the other one.
        area: under the curve of the best test.
    """
    best, allowed = (
        float(rows["mean"].iloc[int((rows["at"] - rate).abs().argmin())])
        for _, rows in table.groupby("curve", sort=False)
    )
    filling: dict[str, Any] = {
        "rate": number(100 * rate),
        "found": Numeral(at_most(best, 3, times=100)),
        "word": words[0],
        "other": words[1],
    }
    finding = Filled(
        "A test that is wrong in {rate} of 100 texts with “{other}” finds {found} of 100 with "
        "“{word}”; guessing finds {rate}.",
        **filling,
    )
    how = Filled(
        "The best test there is names “{word}” for the outputs that favour it most, up to the "
        "threshold: no test that sees one output does better (Neyman, Pearson 1933). The guarantee "
        "alone would allow {allowed} of 100. Area under the curve: {area}, the chance to tell "
        "which of two outputs is whose. Numbers are rounded up.",
        allowed=Numeral(at_most(allowed, 3, times=100)),
        area=Numeral(at_most(area, 3)),
        **filling,
    )
    return Caption(finding, how)


def roc_caption(table: pd.DataFrame, rate: float) -> Caption:
    """Give the share of members that each curve finds at one false-positive rate of the table."""
    shares = []
    caught: dict[str, float] = {}
    for name, rows in table.groupby("curve", sort=False):
        row = rows.iloc[int((rows["at"] - rate).abs().argmin())]
        caught[str(name)] = 100 * float(row["mean"])
        share = number(100 * row["mean"])
        shares.append(Filled("{name}: {share} %", name=Named(str(name)), share=share))
    most, least = max(caught, key=caught.__getitem__), min(caught, key=caught.__getitem__)
    filling = {"rate": number(100 * rate), "most": Named(most), "share": number(caught[most])}
    if most == least:
        finding = Filled(
            "With {rate} % false accusations, {share} % of the used texts are found ({most}); "
            "guessing {rate} %.",
            **filling,
        )
    else:
        finding = Filled(
            "With {rate} % false accusations, {share} % of the used texts are found ({most}), "
            "{lesser} % ({least}); guessing {rate} %.",
            least=Named(least),
            lesser=number(caught[least]),
            **filling,
        )
    how = Filled(
        "When {rate} in 100 texts that were not used are wrongly called used, this share of those "
        "that were used is found (guessing: {rate} %): {shares}.",
        rate=number(100 * rate),
        shares=listed(shares, "; "),
    )
    return Caption(finding, how)
