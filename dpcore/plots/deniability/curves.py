"""Curves of Nw and Sw over ε, mechanisms whose ε means the same in one figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.arrays import Float32Array
from dpcore.plots.style import (
    Caption,
    Style,
    axis,
    epsilon_hover,
    number,
    plain,
    probability_text,
    short_name,
    style_of,
    whole_ticks,
)
from dpcore.plots.traces import End, Frame, curve, draw_figure, end_labels, mark
from dpcore.plots.traces import band as edges
from dpcore.written import Filled, listed

COLUMNS = (
    "mechanism", "epsilon", "mean", "standard_error", "mean_low", "mean_high",
    "standard_deviation", "q05", "q95", "median", "worst", "worst_word", "words", "method", "runs",
)  # fmt: skip
"""One row for each mechanism and ε, ε ascending within a mechanism: one quantity over the words
measured; `standard_error` is that of the mean from the noise of the measurement, `mean_low` and
`mean_high` the interval that it leaves."""

BANDS = {"5–95 % of the words": "quantiles", "± standard deviation": "deviation"}
"""Label of a band and its name here."""

WORD_COLUMNS = ("mechanism", "epsilon", "word", "role", "nw", "sw")
"""One row for each mechanism, word and ε, ε ascending within a word: the curves of single words;
`role` is "word" or "other" of the two that are compared, and empty for any other."""

TITLES = {"nw": "Nw: chance that a word stays", "sw": "Sw: different outputs"}
_ROLES = {"word": "solid", "other": "dot"}
_MARGIN = 0.03  # beyond both ends of a y axis
_READ = ("mean", "mean_low", "mean_high", "q05", "q95", "worst", "worst_word", "method")


def curves_frame(table: pd.DataFrame, quantity: str, logarithm: bool) -> Frame:
    """Return the ends of the axes of `curves_figure`."""
    scale = math.log if logarithm else math.log10
    x = scale(table["epsilon"].min()), scale(table["epsilon"].max())
    # Nw is a probability; Sw is drawn in powers of ten and is at most R.
    top = 1.0 if quantity == "nw" else math.log10(float(table["runs"].max()))
    return Frame(x, (-_MARGIN * top, (1 + _MARGIN) * top))


def curves_figure(
    table: pd.DataFrame,
    quantity: str,
    axis_title: str,
    logarithm: bool,
    band: str,
    words: pd.DataFrame | None = None,
) -> go.Figure:
    """Draw the mean of each mechanism over ε, a band over words, and single words.

    The figure does not depend on the chosen ε: `curves_mark` is laid over it.

    Args:
        table: the columns `COLUMNS`, of mechanisms whose ε means the same.
        quantity: nw (axis from 0 to 1) or sw (logarithmic axis from 1 to R).
        axis_title: of the ε axis.
        logarithm: True if the axis shows ln ε (ticks evenly in ln ε); else ε on a log scale.
        band: a value of `BANDS`.
        words: the columns `WORD_COLUMNS`, of the same mechanisms: the two compared words are drawn
            bold, the first solid and the second dotted, all others thin.

    Returns:
        A figure with three traces a mechanism (lower edge, filled upper edge, mean), before them
        one of its thin lines and after them those of the compared words; every mean is labelled
        at its end.
    """
    frame = curves_frame(table, quantity, logarithm)
    runs = float(table["runs"].max())
    low, high = (0.0, 1.0) if quantity == "nw" else (1.0, runs)
    traces: list[go.Scatter] = []
    ends: list[End] = []
    for key, rows in table.groupby("mechanism", sort=False):
        style = style_of(str(key))
        x = _places(rows["epsilon"], logarithm)
        name, hover = short_name(str(key)), epsilon_hover(logarithm)
        mean = curve(x, _small(rows["mean"]), style, hover, shown=8, name=name)
        thin, bold = [], []
        if words is not None:
            single = words[words["mechanism"] == key]
            thin = _thin(single[single["role"] == ""], quantity, logarithm, style.colour)
            bold = _bold(single[single["role"] != ""], quantity, logarithm, name, style)
        under, over = _edges(rows, band, low, high)
        # Later traces lie on top: single words at the back, the compared ones in front.
        traces += [*thin, *edges(x, under, over, style.colour), mean, *bold]
        last = float(rows["mean"].iloc[-1])
        # The axis begins at Sw = 1, its least value.
        y = last if quantity == "nw" else math.log10(max(last, 1))
        ends.append(End(name, str(key), frame.x[1], y))
    kind = {} if logarithm else {"type": "log", "dtick": 1}
    y_axis = {"type": "log"} | whole_ticks(high) if quantity == "sw" else {}
    title = TITLES[quantity] + in_runs(quantity, runs)
    return draw_figure(
        traces,
        annotations=end_labels(ends, frame),
        xaxis=axis(axis_title, **kind, **frame.axis(frame.x)),
        yaxis=axis(title, **y_axis, **frame.axis(frame.y)),
        **frame.layout,
    )


def curves_mark(table: pd.DataFrame, quantity: str, logarithm: bool, epsilon: float) -> str:
    """Mark the chosen ε over `curves_figure`: a line, and a ring on every mean defined there.

    Returns:
        HTML to place directly below the figure.
    """
    scale = math.log if logarithm else math.log10
    rings = []
    for key, row in rows_at(table, epsilon, ("mean",)).items():
        if row is not None:
            mean = row["mean"] if quantity == "nw" else math.log10(max(row["mean"], 1.0))
            rings.append((mean, style_of(key).colour))
    return mark(curves_frame(table, quantity, logarithm), scale(epsilon), rings)


def rows_at(
    table: pd.DataFrame, epsilon: float, columns: Sequence[str]
) -> dict[str, dict[str, Any] | None]:
    """Return the row of each mechanism at one ε, or None, in the order of the table.

    It reads single cells: cutting tables with pandas would delay each step of a slider.

    Args:
        table: the columns `COLUMNS`.
        epsilon: the chosen one.
        columns: to read.
    """
    mechanisms = [str(key) for key in table["mechanism"].tolist()]
    rows: dict[str, dict[str, Any] | None] = dict.fromkeys(mechanisms)
    cells = {name: table[name].array for name in columns}
    # Compared exactly: the chosen ε is one of the table.
    for i in np.flatnonzero(table["epsilon"].to_numpy() == epsilon).tolist():
        rows[mechanisms[i]] = {name: column[i] for name, column in cells.items()}
    return rows


def _places(epsilons: pd.Series, logarithm: bool) -> Float32Array:
    """Return x of a curve: ln ε, or ε for an axis that takes its logarithm itself."""
    values = epsilons.to_numpy(dtype=np.float64)
    return np.asarray(np.log(values) if logarithm else values, dtype=np.float32)


def _small(values: pd.Series) -> Float32Array:
    """Return numbers in single precision for a chart: half the bytes."""
    return np.asarray(values.to_numpy(dtype=np.float32))


def _thin(rows: pd.DataFrame, quantity: str, logarithm: bool, colour: str) -> list[go.Scatter]:
    """Draw all words of a mechanism in one trace, with gaps between them."""
    if rows.empty:
        return []
    gap = np.array([np.nan], dtype=np.float32)
    x: list[Float32Array] = []
    y: list[Float32Array] = []
    for _, word in rows.groupby("word", sort=False):
        x += [_places(word["epsilon"], logarithm), gap]
        y += [_small(word[quantity]), gap]
    return [
        go.Scatter(
            x=np.concatenate(x),
            y=np.concatenate(y),
            mode="lines",
            opacity=0.4,
            hoverinfo="skip",
            line={"color": colour, "width": 1},
        )
    ]


def _bold(
    rows: pd.DataFrame, quantity: str, logarithm: bool, mechanism: str, style: Style
) -> list[go.Scatter]:
    """Draw the compared words of a mechanism."""
    return [
        curve(
            _places(word["epsilon"], logarithm),
            _small(word[quantity]),
            replace(style, dash=_ROLES[str(role)]),
            epsilon_hover(logarithm),
            width=4.5,
            size=11,
            shown=4,
            name=f"{mechanism}, “{plain(str(name))}”",
        )
        for (role, name), word in rows.groupby(["role", "word"], sort=False)
    ]


def _edges(
    rows: pd.DataFrame, band: str, low: float, high: float
) -> tuple[list[float], list[float]]:
    """Return lower and upper edge; mean ± deviation may leave the possible values and is cut."""
    under, over = rows["q05"], rows["q95"]
    if band == "deviation":
        under = rows["mean"] - rows["standard_deviation"]
        over = rows["mean"] + rows["standard_deviation"]
    return under.clip(low, high).tolist(), over.clip(low, high).tolist()


def curves_alt(table: pd.DataFrame, quantity: str) -> str:
    """Return the text alternative of the curves: their ends and the ε at which they halve."""
    runs = float(table["runs"].max())
    half = 0.5 if quantity == "nw" else runs / 2
    sentences: list[str] = []
    for key, rows in table.groupby("mechanism", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        filling = {
            "name": short_name(str(key)),
            "first": number(first["mean"]),
            "low": number(first["epsilon"]),
            "last": number(last["mean"]),
            "high": number(last["epsilon"]),
        }
        # Nw rises with ε and Sw falls: keep the part behind the crossing.
        beyond = rows[(rows["mean"] >= half) == (quantity == "nw")]
        if not 0 < len(beyond) < len(rows):
            sentence = Filled("{name}: mean {first} at ε = {low}, {last} at {high}.", **filling)
        elif quantity == "nw":
            sentence = Filled(
                "{name}: mean {first} at ε = {low}, {last} at {high}, first at least {half:g} at "
                "{there}.",
                half=half,
                there=number(beyond["epsilon"].iloc[0]),
                **filling,
            )
        else:
            sentence = Filled(
                "{name}: mean {first} at ε = {low}, {last} at {high}, first less than {half:g} at "
                "{there}.",
                half=half,
                there=number(beyond["epsilon"].iloc[0]),
                **filling,
            )
        sentences.append(sentence)
    start = Filled("{what}, as curves over ε.", what=_what(quantity, runs))
    return listed((start, *sentences), " ")


def _what(quantity: str, runs: float) -> str:
    if quantity == "nw":
        return Filled("Nw, the chance that a word stays")
    return Filled("Sw, the different outputs of a word in {runs:,.0f} runs", runs=runs)


def curves_caption(table: pd.DataFrame, quantity: str, label: str, epsilon: float) -> Caption:
    """Describe the curves at the chosen ε, from their own numbers; `label` is that ε in words."""
    runs = float(table["runs"].max())
    start = Filled("{what}, at {label}.", what=_what(quantity, runs), label=label)
    sentences: list[str] = []
    means: dict[str, float] = {}
    for key, row in rows_at(table, epsilon, _READ).items():
        name = short_name(key)
        if row is None:
            sentences.append(Filled("{name} is not defined there.", name=name))
            continue
        ends = row["mean_low"], row["mean_high"]
        means[name] = float(row["mean"])
        # The interval of a chance near 0 or 1 is lopsided; that of a mean Sw is symmetric.
        if row["method"] == "exact":
            mean = Filled("{mean} (exact)", mean=number(row["mean"]))
        elif quantity == "nw":
            mean = Filled("{mean}, interval of 95 %", mean=probability_text(row["mean"], *ends))
        else:
            mean = Filled(
                "{mean} (± {error}, two standard errors)",
                mean=number(row["mean"]),
                error=number((ends[1] - ends[0]) / 2),
            )
        sentences.append(
            Filled(
                "{name}: mean {mean}, 5–95 % of the words {low} to {high}, worst {worst} “{word}”.",
                name=name,
                mean=mean,
                low=number(row["q05"]),
                high=number(row["q95"]),
                worst=number(row["worst"]),
                word=row["worst_word"],
            )
        )
    return Caption(_finding(means, quantity, label), listed((start, *sentences), " "))


def _finding(means: dict[str, float], quantity: str, label: str) -> str:
    """Name the mechanisms that hide the words best and worst at one ε."""
    if not means:
        return Filled("None of these mechanisms is defined at {label}.", label=label)
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    filling = {
        "label": label,
        "low": low,
        "least": number(means[low]),
        "high": high,
        "most": number(means[high]),
    }
    if quantity == "nw" and low == high:
        return Filled(
            "At {label}, a word stays with a mean chance of {least} under {low}.", **filling
        )
    if quantity == "nw":
        return Filled(
            "At {label}, a word stays with a mean chance of {least} under {low}, of {most} under "
            "{high}.",
            **filling,
        )
    if low == high:
        return Filled(
            "At {label}, {high} makes {most} different words of one on average.", **filling
        )
    return Filled(
        "At {label}, {high} makes {most} different words of one on average, {low} {least}.",
        **filling,
    )


def in_runs(quantity: str, runs: float) -> str:
    """Return " in R runs" for Sw, which depends on the number of runs, else ""."""
    return f" in {runs:,.0f} runs" if quantity == "sw" else ""
