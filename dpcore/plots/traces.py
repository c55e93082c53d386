"""What many figures draw alike: a curve, the band around it, lines across, names at the edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from dpcore.plots.style import GREY, Style, faint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = Sequence[float] | Sequence[float | None] | NDArray[np.floating[Any]]

_NO_LINE: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}


def curve(
    x: Values,
    y: Values,
    style: Style,
    *,
    width: float = 2.5,
    size: int = 8,
    shown: int | None = None,
    **more: object,
) -> go.Scatter:
    """A line with marks, in the colour, dash and marker of a mechanism.

    Args:
        x: places.
        y: values, as many.
        style: of the mechanism, or of whatever the curve stands for.
        width: of the line, pixels.
        size: of a mark, pixels.
        shown: the most marks that are drawn, so that a fine grid stays a line; None for all.
        more: anything else that Plotly's `Scatter` takes: a name, what is said on hovering.
    """
    marker: dict[str, Any] = {"symbol": style.marker, "size": size}
    if shown is not None:
        marker["maxdisplayed"] = shown
    line = {"color": style.colour, "dash": style.dash, "width": width}
    return go.Scatter(x=x, y=y, mode="lines+markers", line=line, marker=marker, **more)


def band(x: Values, low: Values, high: Values, colour: str, **more: object) -> list[go.Scatter]:
    """A tinted band between two edges that have no line of their own, as two traces.

    Args:
        x: places.
        low: the lower edge, as long.
        high: the upper edge.
        colour: of the curve that the band belongs to.
        more: what else both traces are given.
    """
    return [
        go.Scatter(x=x, y=low, **_NO_LINE, **more),
        go.Scatter(x=x, y=high, fill="tonexty", fillcolor=faint(colour), **_NO_LINE, **more),
    ]


def outline(x: list[float], low: list[float], high: list[float], colour: str) -> go.Scatter:
    """The same band as one closed trace, there and back, which needs no trace before it."""
    return go.Scatter(
        x=[*x, *reversed(x)],
        y=[*high, *reversed(low)],
        fill="toself",
        fillcolor=faint(colour),
        showlegend=False,
        **_NO_LINE,
    )


def whiskers(over: list[float], under: list[float] | None, colour: str) -> dict[str, Any]:
    """Thin error bars; without `under` they are as long below as above."""
    bars: dict[str, Any] = {"type": "data", "array": over, "color": colour}
    if under is not None:
        bars["arrayminus"] = under
    return bars | {"thickness": 1, "width": 3}


def rule(width: float, dash: str, **place: object) -> dict[str, Any]:
    """A grey straight line as a shape of the layout.

    Args:
        width: pixels.
        dash: Plotly's name of its dash.
        place: its ends, as Plotly's shapes take them (`upright` gives those of a vertical line).
    """
    return {"type": "line", "line": {"width": width, "dash": dash, "color": GREY}} | place


def upright(x: float) -> dict[str, Any]:
    """The ends of a vertical line from the bottom of the figure to its top."""
    return {"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}


def coloured(text: str, colour: str) -> str:
    """A mark of our own in the colour of its curve, for a label; never text that was typed."""
    return f'<span style="color:{colour}">{text}</span>'


def name_beside(x: float, y: float, shift: float, text: str, **more: object) -> dict[str, Any]:
    """A name to the right of a point, moved up by `shift` pixels, as an annotation."""
    return {
        "x": x,
        "y": y,
        "xanchor": "left",
        "xshift": 6,
        "yshift": shift,
        "showarrow": False,
        "text": text,
    } | more


def spread(places: list[float], gap: float, high: float) -> list[float]:
    """Ascending places moved as little as needed to stand `gap` apart, none above `high`."""
    moved: list[float] = []
    for place in places:  # upwards: each at least a gap above the one before
        moved.append(max(place, moved[-1] + gap) if moved else place)
    limit = high
    for i in reversed(range(len(moved))):  # and down again from the upper end
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    return moved
