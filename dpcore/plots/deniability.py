"""Curves of Nw and Sw over ε, mechanisms whose ε means the same in one figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.plots.layout import axis, base_layout, number, whole_ticks
from dpcore.plots.style import faint, name_tag, short_name, style_of

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

COLUMNS = (
    "mechanism",
    "epsilon",
    "mean",
    "standard_error",
    "standard_deviation",
    "q05",
    "q95",
    "median",
    "worst",
    "worst_word",
    "words",
    "method",
    "runs",
)
"""One row a mechanism and ε, ε ascending within a mechanism: one quantity over the words measured;
`standard_error` is that of the mean from the noise of the measurement."""

BANDS = {
    "5–95 % of the words": "quantiles",
    "± standard deviation": "deviation",
}
"""Label of a band and its name here."""

_HEIGHT = 340
_MARGIN = {"l": 8, "r": 128, "t": 34, "b": 8}  # above: Plotly's menu
_PLOT_PIXELS = _HEIGHT - 92
_LABEL_PIXELS = 17
_TITLES = {
    "nw": "Nw: chance that a word stays",
    "sw": "Sw: different outputs",
}


def curves_figure(
    table: pd.DataFrame, quantity: str, axis_title: str, logarithm: bool, at: float, band: str
) -> go.Figure:
    """Draw the mean of each mechanism over ε, a band over words, and the chosen ε.

    Args:
        table: the columns `COLUMNS`, of mechanisms whose ε means the same.
        quantity: nw (axis from 0 to 1) or sw (logarithmic axis from 1 to R).
        axis_title: of the ε axis.
        logarithm: whether the axis shows ln ε (ticks evenly in ln ε); else ε on a log scale.
        at: the chosen ε: a vertical line, and a ring on every curve that is defined there.
        band: a value of `BANDS`.

    Returns:
        A figure with three traces a mechanism (lower edge, filled upper edge, mean) and one of
        rings; every curve is labelled at its end.
    """
    import plotly.graph_objects as go

    runs = float(table["runs"].max())
    low, high = (0.0, 1.0) if quantity == "nw" else (1.0, runs)
    scale = math.log if logarithm else float
    traces: list[go.Scatter] = []
    ends: list[tuple[str, float, float]] = []
    rings: list[tuple[float, float, str]] = []
    for key, rows in table.groupby("mechanism", sort=False):
        style = style_of(str(key))
        x = [scale(value) for value in rows["epsilon"].tolist()]
        under, over = _edges(rows, band, low, high)
        fill = faint(style.colour)
        edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        traces.append(go.Scatter(x=x, y=under, **edge))
        traces.append(go.Scatter(x=x, y=over, fill="tonexty", fillcolor=fill, **edge))
        traces.append(
            go.Scatter(
                x=x,
                y=rows["mean"].tolist(),
                name=short_name(str(key)),
                mode="lines+markers",
                line={"color": style.colour, "dash": style.dash, "width": 2.5},
                marker={"symbol": style.marker, "size": 8, "maxdisplayed": 8},
                hovertemplate=f"%{{y:.3g}} at {'ln ε' if logarithm else 'ε'} = %{{x:.4g}}",
            )
        )
        ends.append((str(key), x[-1], float(rows["mean"].iloc[-1])))
        here = rows[rows["epsilon"] == at]
        rings += [(scale(at), float(value), style.colour) for value in here["mean"]]
    traces.append(
        go.Scatter(
            x=[ring[0] for ring in rings],
            y=[ring[1] for ring in rings],
            mode="markers",
            hoverinfo="skip",
            marker={
                "symbol": "circle-open",
                "size": 15,
                "color": [ring[2] for ring in rings],
                "line": {"width": 3},
            },
        )
    )
    first, last = scale(table["epsilon"].min()), scale(table["epsilon"].max())
    x_axis: dict[str, Any] = {"range": [first, last]}
    if not logarithm:
        x_axis = {"range": [math.log10(first), math.log10(last)], "type": "log", "dtick": 1}
    y_axis: dict[str, Any] = {"range": [-0.03, 1.03]}
    if quantity == "sw":
        pad = 0.03 * math.log10(high)
        y_axis = {"range": [-pad, math.log10(high) + pad], "type": "log"} | whole_ticks(high)
    line = {
        "type": "line",
        "x0": scale(at),
        "x1": scale(at),
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 2, "dash": "dot", "color": "#7A8691"},
    }
    title = _TITLES[quantity] + ("" if quantity == "nw" else f" in {number(runs)} runs")
    return go.Figure(
        traces,
        base_layout(
            height=_HEIGHT,
            margin=_MARGIN,
            dragmode=False,
            shapes=[line],
            annotations=_end_labels(ends, quantity, high, logarithm),
            xaxis=axis(axis_title, fixedrange=True, **x_axis),
            yaxis=axis(title, fixedrange=True, **y_axis),
        ),
    )


def _edges(
    rows: pd.DataFrame, band: str, low: float, high: float
) -> tuple[list[float], list[float]]:
    """Lower and upper edge; mean ± deviation may leave the possible values and is cut there."""
    under, over = rows["q05"], rows["q95"]
    if band == "deviation":
        under = rows["mean"] - rows["standard_deviation"]
        over = rows["mean"] + rows["standard_deviation"]
    return under.clip(low, high).tolist(), over.clip(low, high).tolist()


def _end_labels(
    ends: list[tuple[str, float, float]], quantity: str, high: float, logarithm: bool
) -> list[dict[str, object]]:
    """Names at the ends of the curves, moved apart where they would cover each other."""

    def pixel(value: float) -> float:
        share = value if quantity == "nw" else math.log10(max(value, 1.0)) / math.log10(high)
        return share * _PLOT_PIXELS

    ordered = sorted(ends, key=lambda end: end[2])
    shifted = spread([pixel(end[2]) for end in ordered], _LABEL_PIXELS, _PLOT_PIXELS)
    return [
        {
            "x": x if logarithm else math.log10(x),
            "y": y if quantity == "nw" else math.log10(max(y, 1.0)),
            "xanchor": "left",
            "xshift": 6,
            "yshift": place - pixel(y),
            "showarrow": False,
            "align": "left",
            "text": f'<span style="color:{style_of(key).colour}">{name_tag(key)[0]}</span>'
            f"{name_tag(key)[1:]}",
        }
        for (key, x, y), place in zip(ordered, shifted, strict=True)
    ]


def spread(places: list[float], gap: float, high: float) -> list[float]:
    """Ascending places moved as little as needed to stand `gap` apart, none above `high`."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap) if found else place)
    limit = high
    for i in reversed(range(len(found))):
        found[i] = min(found[i], limit)
        limit = found[i] - gap
    return found


def curves_caption(table: pd.DataFrame, quantity: str, at_label: str, at: float) -> str:
    """What the curves say at the chosen ε, from the numbers that they are drawn from.

    Args:
        table: the columns `COLUMNS`.
        quantity: nw or sw.
        at_label: the chosen ε in words ("ε = 12").
        at: the chosen ε.
    """
    runs = number(float(table["runs"].max()))
    what = (
        "Nw, the chance that a word stays"
        if quantity == "nw"
        else f"Sw, the different outputs of a word in {runs} runs"
    )
    said = []
    for key, rows in table.groupby("mechanism", sort=False):
        here = rows[rows["epsilon"] == at]
        name = short_name(str(key))
        if here.empty:
            said.append(f"{name} is not defined there.")
            continue
        row = here.iloc[0]
        error = (
            "exact" if row["method"] == "exact" else f"± {2 * row['standard_error']:.2g} (2 s.e.)"
        )
        said.append(
            f"{name}: mean {row['mean']:.3g} ({error}), 5–95 % of the words {row['q05']:.3g} to "
            f"{row['q95']:.3g}, worst {row['worst']:.3g} “{row['worst_word']}”."
        )
    return f"{what}, at {at_label}. " + " ".join(said)
