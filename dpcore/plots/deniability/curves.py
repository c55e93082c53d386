"""Curves of Nw and Sw over ε, mechanisms whose ε means the same in one figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from dpcore.plots.layout import axis, base_layout, number, plain, whole_ticks
from dpcore.plots.mark import Frame, mark
from dpcore.plots.style import faint, name_tag, short_name, style_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]

COLUMNS = (
    "mechanism",
    "epsilon",
    "mean",
    "standard_error",
    "mean_low",
    "mean_high",
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
`standard_error` is that of the mean from the noise of the measurement, `mean_low` and `mean_high`
the interval that it leaves."""

BANDS = {
    "5–95 % of the words": "quantiles",
    "± standard deviation": "deviation",
}
"""Label of a band and its name here."""

WORD_COLUMNS = ("mechanism", "epsilon", "word", "role", "nw", "sw")
"""One row a mechanism, word and ε, ε ascending within a word: the curves of single words; `role` is
"word" or "other" of the two that are compared, and empty for any other."""

_LABEL_PIXELS = 17
_TITLES = {
    "nw": "Nw: chance that a word stays",
    "sw": "Sw: different outputs",
}
_ROLES = {"word": "solid", "other": "dot"}
_MARGIN = 0.03  # beyond both ends of a y axis


def curves_frame(table: pd.DataFrame, quantity: str, logarithm: bool) -> Frame:
    """Where the axes of `curves_figure` end."""
    scale = math.log if logarithm else math.log10
    x = scale(table["epsilon"].min()), scale(table["epsilon"].max())
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

    The chosen ε is no part of it: `curves_mark` is laid over the figure.

    Args:
        table: the columns `COLUMNS`, of mechanisms whose ε means the same.
        quantity: nw (axis from 0 to 1) or sw (logarithmic axis from 1 to R).
        axis_title: of the ε axis.
        logarithm: whether the axis shows ln ε (ticks evenly in ln ε); else ε on a log scale.
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
    ends: list[tuple[str, float, float]] = []
    for key, rows in table.groupby("mechanism", sort=False):
        style = style_of(str(key))
        x = _places(rows["epsilon"], logarithm)
        own = None if words is None else words[words["mechanism"] == key]
        if own is not None:
            traces += _thin(own[own["role"] == ""], quantity, logarithm, style.colour)
        under, over = _edges(rows, band, low, high)
        edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        traces.append(go.Scatter(x=x, y=under, **edge))
        fill = faint(style.colour)
        traces.append(go.Scatter(x=x, y=over, fill="tonexty", fillcolor=fill, **edge))
        traces.append(
            go.Scatter(
                x=x,
                y=_small(rows["mean"]),
                name=short_name(str(key)),
                mode="lines+markers",
                line={"color": style.colour, "dash": style.dash, "width": 2.5},
                marker={"symbol": style.marker, "size": 8, "maxdisplayed": 8},
                hovertemplate=f"%{{y:.3g}} at {_hover(logarithm)}",
            )
        )
        if own is not None:
            traces += _bold(own[own["role"] != ""], quantity, logarithm, str(key))
        last = float(rows["mean"].iloc[-1])
        ends.append((str(key), frame.x[1], last if quantity == "nw" else math.log10(max(last, 1))))
    kind = {} if logarithm else {"type": "log", "dtick": 1}
    y_axis = {"type": "log"} | whole_ticks(high) if quantity == "sw" else {}
    title = _TITLES[quantity] + ("" if quantity == "nw" else f" in {number(runs)} runs")
    return go.Figure(
        traces,
        base_layout(
            dragmode=False,
            annotations=end_labels(ends, frame),
            xaxis=axis(axis_title, **kind, **frame.axis(frame.x)),
            yaxis=axis(title, **y_axis, **frame.axis(frame.y)),
            **frame.layout,
        ),
    )


def curves_mark(table: pd.DataFrame, quantity: str, logarithm: bool, at: float) -> str:
    """The chosen ε over `curves_figure`: a line, and a ring on every mean that is defined there.

    Returns:
        HTML to stand directly below the figure.
    """
    scale = math.log if logarithm else math.log10
    rings = []
    for key, row in rows_at(table, at, ("mean",)).items():
        if row is not None:
            mean = row["mean"] if quantity == "nw" else math.log10(max(row["mean"], 1.0))
            rings.append((mean, style_of(key).colour))
    return mark(curves_frame(table, quantity, logarithm), scale(at), rings)


def rows_at(
    table: pd.DataFrame, at: float, columns: Sequence[str]
) -> dict[str, dict[str, Any] | None]:
    """The row of each mechanism at one ε, or None, in the order of the table.

    It reads single cells: a step of a slider does not wait for pandas to cut tables.

    Args:
        table: the columns `COLUMNS`.
        at: ε.
        columns: those that are wanted.
    """
    mechanisms = [str(key) for key in table["mechanism"].tolist()]
    found: dict[str, dict[str, Any] | None] = dict.fromkeys(mechanisms)
    cells = {name: table[name].array for name in columns}
    for i in np.flatnonzero(table["epsilon"].to_numpy() == at).tolist():
        found[mechanisms[i]] = {name: column[i] for name, column in cells.items()}
    return found


def _places(epsilons: pd.Series, logarithm: bool) -> FloatArray:
    """x of a curve: ln ε, or ε for an axis that takes its logarithm itself."""
    values = epsilons.to_numpy(dtype=np.float64)
    return np.asarray(np.log(values) if logarithm else values, dtype=np.float32)


def _small(values: pd.Series) -> FloatArray:
    """Numbers as a chart needs them: half the bytes."""
    return np.asarray(values.to_numpy(dtype=np.float32))


def _hover(logarithm: bool) -> str:
    return f"{'ln ε' if logarithm else 'ε'} = %{{x:.4g}}"


def _thin(rows: pd.DataFrame, quantity: str, logarithm: bool, colour: str) -> list[go.Scatter]:
    """All words of a mechanism in one trace, with gaps between them."""
    if rows.empty:
        return []
    gap = np.array([np.nan], dtype=np.float32)
    x: list[FloatArray] = []
    y: list[FloatArray] = []
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


def _bold(rows: pd.DataFrame, quantity: str, logarithm: bool, key: str) -> list[go.Scatter]:
    """The compared words of a mechanism."""
    style = style_of(key)
    return [
        go.Scatter(
            x=_places(word["epsilon"], logarithm),
            y=_small(word[quantity]),
            name=f"{short_name(key)}, {plain(str(name))}",
            mode="lines+markers",
            line={"color": style.colour, "dash": _ROLES[str(role)], "width": 4.5},
            marker={"symbol": style.marker, "size": 11, "maxdisplayed": 4},
            hovertemplate=f"%{{y:.3g}} at {_hover(logarithm)}",
        )
        for (role, name), word in rows.groupby(["role", "word"], sort=False)
    ]


def _edges(
    rows: pd.DataFrame, band: str, low: float, high: float
) -> tuple[list[float], list[float]]:
    """Lower and upper edge; mean ± deviation may leave the possible values and is cut there."""
    under, over = rows["q05"], rows["q95"]
    if band == "deviation":
        under = rows["mean"] - rows["standard_deviation"]
        over = rows["mean"] + rows["standard_deviation"]
    return under.clip(low, high).tolist(), over.clip(low, high).tolist()


def end_labels(ends: list[tuple[str, float, float]], frame: Frame) -> list[dict[str, object]]:
    """Names at the ends of the curves, moved apart where they would cover each other.

    Args:
        ends: registry key, x and y of the end in units of the axes.
        frame: of the figure.
    """
    ordered = sorted(ends, key=lambda end: end[2])
    wanted = [frame.pixels_up(end[2]) for end in ordered]
    shifted = spread(wanted, _LABEL_PIXELS, frame.inner)
    return [
        {
            "x": x,
            "y": y,
            "xanchor": "left",
            "xshift": 6,
            "yshift": place - pixel,
            "showarrow": False,
            "align": "left",
            "text": f'<span style="color:{style_of(key).colour}">{name_tag(key)[0]}</span>'
            f"{name_tag(key)[1:]}",
        }
        for (key, x, y), pixel, place in zip(ordered, wanted, shifted, strict=True)
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
