"""Sw or effective number against Nw: mechanisms side by side at equal mean Nw.

With Sw on the y axis and its logarithm taken, this is Fig. 2 of Xu et al. 2021.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import LEGEND, Caption, axis, number, short_name, style_of, whole_ticks
from dpcore.plots.traces import Frame, curve, draw_figure, mark
from dpcore.written import Filled, Named, as_numeral, listed

COLUMNS = ("mechanism", "epsilon", "nw", "sw", "effective")
"""One row for each mechanism and ε, ε ascending: mean Nw, mean Sw, median effective number of the
words measured; the last may be infinite."""

READ_COLUMNS = ("mechanism", "epsilon", "low", "high", "sw", "effective")
"""One row for each mechanism and ε at which its mean Nw is the chosen one, as
`dpcore.measure.pair.Crossing`; a mechanism without such an ε has one row of empty cells."""

_NAMES = {"sw": "mean Sw", "effective": "median effective number"}
_TOP = 90  # room for a legend of three lines


def equal_frame(table: pd.DataFrame, quantity: str, runs: int) -> Frame:
    """Return the ends of the axes of `equal_figure`."""
    top = math.log10(_most(table, quantity, runs))
    return Frame((-0.02, 1.02), (-0.03 * top, 1.03 * top), 400, 58, 16, _TOP)


def equal_figure(table: pd.DataFrame, quantity: str, runs: int) -> go.Figure:
    """Draw Sw or the effective number over the mean Nw, one trace for each mechanism.

    Args:
        table: the columns `COLUMNS`, of mechanisms with any meaning of ε.
        quantity: sw or effective; its axis is logarithmic.
        runs: R of Sw.
    """
    frame = equal_frame(table, quantity, runs)
    traces = []
    hover = "%{y:.3g} at Nw = %{x:.3g}, ε = %{customdata:,.3~r}"
    for key, rows in table.groupby("mechanism", sort=False):
        x, y = (rows[name].to_numpy(dtype=np.float32) for name in ("nw", quantity))
        y = np.where(np.isfinite(y), y, np.nan)  # a curve is broken where nothing can be drawn
        style, name = style_of(str(key)), short_name(str(key))
        epsilons = rows["epsilon"].tolist()
        traces.append(curve(x, y, style, hover, shown=14, customdata=epsilons, name=name))
    ticks = whole_ticks(_most(table, quantity, runs))
    return draw_figure(
        traces,
        legend=LEGEND,
        xaxis=axis("mean Nw: chance that a word stays", **frame.axis(frame.x)),
        yaxis=axis(_title(quantity, runs), type="log", **ticks, **frame.axis(frame.y)),
        **frame.layout,
    )


def _title(quantity: str, runs: int) -> str:
    if quantity == "sw":
        return f"mean Sw: different outputs in {runs:,.0f} runs"
    return _NAMES[quantity]


def equal_mark(table: pd.DataFrame, read: pd.DataFrame, quantity: str, runs: int, nw: float) -> str:
    """Mark the chosen Nw over `equal_figure`: a line, and a ring at each ε that has it.

    Args:
        table: the columns `COLUMNS`, as for the figure.
        read: the columns `READ_COLUMNS`.
        quantity: sw or effective.
        runs: R of Sw.
        nw: the chosen mean Nw.

    Returns:
        HTML to place directly below the figure.
    """
    rings = [
        (math.log10(max(value, 1.0)), style_of(str(key)).colour)
        for key, value in zip(read["mechanism"], read[quantity].tolist(), strict=True)
        if math.isfinite(value)
    ]
    return mark(equal_frame(table, quantity, runs), nw, rings)


def equal_alt(table: pd.DataFrame, quantity: str, runs: int) -> str:
    """Return the text alternative of the curves."""
    sentences: list[str] = []
    for key, rows in table.groupby("mechanism", sort=False):
        low, high = rows.iloc[rows["nw"].argmin()], rows.iloc[rows["nw"].argmax()]
        sentences.append(
            Filled(
                "{name}: {first} at Nw = {low}, {last} at Nw = {high}.",
                name=short_name(str(key)),
                first=_count(low[quantity]),
                low=number(low["nw"]),
                last=_count(high[quantity]),
                high=number(high["nw"]),
            )
        )
    title = _title(quantity, runs)
    start = Filled("The {title}, as curves over the mean Nw.", title=Named(title))
    return listed((start, *sentences), " ")


def equal_caption(read: pd.DataFrame, nw: float, quantity: str) -> Caption:
    """Compare the mechanisms at the chosen Nw, from the numbers of the marks."""
    sentences: list[str] = []
    there: dict[str, float] = {}
    for key, rows in read.groupby("mechanism", sort=False):
        name = short_name(str(key))
        if rows["epsilon"].isna().all():
            sentences.append(Filled("{name} has it at no measured ε.", name=name))
            continue
        each = [
            Filled(
                "{value} at ε = {epsilon}",
                value=_count(row[quantity]),
                epsilon=number(row["epsilon"]),
            )
            for row in rows.to_dict("records")
        ]
        there[name] = float(rows[quantity].max())
        places = listed(each, "; ")
        if len(each) > 1:
            sentence = Filled(
                "{name}: {places} (its Nw is not monotone).", name=name, places=places
            )
        else:
            sentence = Filled("{name}: {places}.", name=name, places=places)
        sentences.append(sentence)
    what = Named(_NAMES[quantity])
    start = Filled("The {what} where the mean Nw is {nw}.", what=what, nw=number(nw))
    how = listed((start, *sentences), " ")
    if not there:
        return Caption(Filled("No mechanism here has a mean Nw of {nw}.", nw=number(nw)), how)
    most, least = max(there, key=there.__getitem__), min(there, key=there.__getitem__)
    filling = {"nw": number(nw), "what": what, "value": _count(there[most]), "most": most}
    if most == least:
        finding = Filled(
            "Where words stay with a chance of {nw}, the {what} is {value} under {most}.", **filling
        )
    else:
        finding = Filled(
            "Where words stay with a chance of {nw}, the {what} is {value} under {most}, {lesser} "
            "under {least}.",
            lesser=_count(there[least]),
            least=least,
            **filling,
        )
    return Caption(finding, how)


def _most(table: pd.DataFrame, quantity: str, runs: int) -> float:
    """Return the upper end of the y axis."""
    if quantity == "sw":
        return float(runs)
    values = table["effective"].to_numpy(dtype=np.float64)
    finite = values[np.isfinite(values)]
    return max(10.0, float(finite.max()) if finite.size else 0.0)


@as_numeral
def _count(value: float) -> str:
    return "beyond counting" if math.isinf(value) else f"{number(value)}"
