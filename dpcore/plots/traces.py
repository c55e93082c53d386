"""Common parts of figures: curves, bands, lines across, names at the edge, marks over a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dpcore.plots.style import GREY, Style, base_layout, curve_style, faint, note

if TYPE_CHECKING:
    Values = Sequence[float] | Sequence[float | None] | pd.Series | NDArray[np.floating[Any]]


# Marks over a fixed figure: a line and rings laid over it, which move without it.
#
# Drawing a whole chart again for one line is slow, so the figure has fixed margins in pixels, and
# the mark is placed by the same numbers.


_LINE = 2
_RING, _STROKE = 15, 3


@dataclass(frozen=True)
class Frame:
    """Area of a figure inside its axes, for placing marks.

    Attributes:
        x: ends of the x axis, in its own units (powers of ten on a logarithmic axis).
        y: ends of the y axis, likewise.
        height: of the whole figure, pixels.
        left: margin, pixels; so are `right`, `top` and `bottom`.
        right: see `left`.
        top: see `left`.
        bottom: see `left`.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: int = 340
    left: int = 58
    right: int = 128
    top: int = 34
    bottom: int = 52

    @property
    def inner(self) -> int:
        """Height between the axes' ends, pixels."""
        return self.height - self.top - self.bottom

    @property
    def layout(self) -> dict[str, Any]:
        """Height and margins for Plotly."""
        margin = {"l": self.left, "r": self.right, "t": self.top, "b": self.bottom}
        return {"height": self.height, "margin": margin}

    def axis(self, ends: tuple[float, float]) -> dict[str, Any]:
        """Return settings that fix an axis where the mark expects it."""
        return {"range": list(ends), "fixedrange": True, "automargin": False}

    def pixels_up(self, y: float) -> float:
        """Return the height of a value above the x axis, pixels."""
        low, high = self.y
        return (y - low) / (high - low) * self.inner

    def across(self, x: float, back: float) -> str:
        """Return a CSS length from the left edge of the figure to a value, less `back` pixels."""
        low, high = self.x
        # Only the browser knows the width of the figure: the length is a share of it.
        share = min(max((x - low) / (high - low), 0.0), 1.0)
        wide = self.left + self.right
        return f"calc({self.left - back:g}px + {share:.5f} * (100% - {wide}px))"


def mark(frame: Frame, x: float, points: Iterable[tuple[float, str]]) -> str:
    """Return HTML of a dotted vertical line with rings, to place directly below its figure.

    Args:
        frame: of the figure.
        x: position of the line, in units of the x axis.
        points: y in units of its axis, and colour: the rings.
    """
    look = f"height:{frame.inner}px;border-left:{_LINE}px dotted {GREY}"
    line = placed(frame.across(x, _LINE / 2), frame.height - frame.top, look)
    return laid([line, *(_ring(frame, x, y, colour) for y, colour in points)])


def rings(frame: Frame, points: Iterable[tuple[float, float, str]]) -> str:
    """Return HTML of rings, to place directly below their figure.

    Args:
        frame: of the figure.
        points: x, y in units of the axes, and colour.
    """
    return laid([_ring(frame, x, y, colour) for x, y, colour in points])


def laid(parts: Iterable[str]) -> str:
    """Return HTML that takes no room; it has no text: the caption describes the marks.

    Args:
        parts: HTML placed absolutely from the left edge and the lower end of the figure.
    """
    style = "position:relative;height:0;pointer-events:none"
    return f'<div aria-hidden="true" style="{style}">{"".join(parts)}</div>'


def placed(left: str, up: float | str, look: str) -> str:
    """Return HTML of one part: how far from the left as CSS, how far up in pixels, and its CSS."""
    return f'<div style="position:absolute;left:{left};top:-{up}px;{look}"></div>'


def _ring(frame: Frame, x: float, y: float, colour: str) -> str:
    size = _RING + _STROKE
    up = frame.bottom + frame.pixels_up(y) + size / 2
    look = f"width:{size}px;height:{size}px;box-sizing:border-box;border-radius:50%;"
    look += f"border:{_STROKE}px solid {colour}"
    return placed(frame.across(x, size / 2), f"{up:.1f}", look)


_LETTER_PIXELS = 6.3
_LABEL_PIXELS = 17
_LONG = 20  # letters of a name on one line
_INDENT = "\u2003"  # an em space: about as wide as a mark
_NO_LINE: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}


def draw_figure(traces: Any, **layout: object) -> go.Figure:
    """Draw a figure of traces, with the common settings of a layout and these."""
    return go.Figure(traces, base_layout(**layout))


def curve(
    x: Values,
    y: Values,
    style: Style,
    hover: str,
    *,
    width: float = 2.5,
    size: int = 8,
    shown: int | None = None,
    **more: object,
) -> go.Scatter:
    """Draw a line with marks, in the colour, dash and marker of a mechanism.

    Args:
        x: places.
        y: values, as many.
        style: of the mechanism, or of anything else that the curve shows.
        hover: template of the hover text.
        width: of the line, pixels.
        size: of a mark, pixels.
        shown: the most marks that are drawn, so that a fine grid stays a line; None for all.
        more: anything else that Plotly's `Scatter` takes.
    """
    marker: dict[str, Any] = {"symbol": style.marker, "size": size}
    if shown is not None:
        marker["maxdisplayed"] = shown
    look = {"color": style.colour, "dash": style.dash, "width": width}
    more |= {"mode": "lines+markers", "hovertemplate": hover}
    return go.Scatter(x=_values(x), y=_values(y), line=look, marker=marker, **more)


def line(
    x: Values,
    y: Values,
    name: str,
    *,
    colour: str = GREY,
    dash: str | None = None,
    width: float = 2,
    hover: str | None = None,
    **more: object,
) -> go.Scatter:
    """Draw a line without marks; without `hover` it has no hover text.

    Args:
        x: places.
        y: values, as many.
        name: in the legend.
        colour: hexadecimal.
        dash: Plotly's name of its dash; None for a solid line.
        width: pixels.
        hover: template of the hover text.
        more: anything else that Plotly's `Scatter` takes.
    """
    on_hover = {"hoverinfo": "skip"} if hover is None else {"hovertemplate": hover}
    look = {"color": colour, "dash": dash, "width": width}
    return go.Scatter(
        x=_values(x), y=_values(y), name=name, mode="lines", line=look, **on_hover, **more
    )


def _values(values: Values) -> Any:
    """Return a column as a list, which is sent as numbers; an array would be sent as its bytes."""
    return values.tolist() if isinstance(values, pd.Series) else values


def band(x: Values, low: Values, high: Values, colour: str, **more: object) -> list[go.Scatter]:
    """Draw a tinted band between two edges without lines, as two traces.

    Args:
        x: places.
        low: the lower edge, as long.
        high: the upper edge.
        colour: of the curve that the band belongs to.
        more: further arguments of both traces.
    """
    return [
        go.Scatter(x=_values(x), y=_values(low), **_NO_LINE, **more),
        go.Scatter(
            x=_values(x),
            y=_values(high),
            fill="tonexty",
            fillcolor=faint(colour),
            **_NO_LINE,
            **more,
        ),
    ]


def outline(x: Values, low: Values, high: Values, colour: str) -> go.Scatter:
    """Draw the same band as one closed trace, there and back, which needs no trace before it."""
    return go.Scatter(
        x=[*_values(x), *reversed(_values(x))],
        y=[*_values(high), *reversed(_values(low))],
        fill="toself",
        fillcolor=faint(colour),
        showlegend=False,
        **_NO_LINE,
    )


def whiskers(over: list[float], under: list[float] | None, colour: str) -> dict[str, Any]:
    """Return thin error bars; without `under` they are as long below as above."""
    bars: dict[str, Any] = {"type": "data", "array": over, "color": colour}
    if under is not None:
        bars["arrayminus"] = under
    return bars | {"thickness": 1, "width": 3}


def rule(width: float, dash: str, **place: object) -> dict[str, Any]:
    """Draw a grey straight line as a shape of the layout.

    Args:
        width: pixels.
        dash: Plotly's name of its dash.
        place: its ends, as Plotly's shapes take them (`upright` gives those of a vertical line).
    """
    return {"type": "line", "line": {"width": width, "dash": dash, "color": GREY}} | place


def upright(x: float) -> dict[str, Any]:
    """Return the ends of a vertical line from the bottom of the figure to its top."""
    return {"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}


def coloured(text: str, colour: str) -> str:
    """Colour a mark of a label like its curve; never used for text that a person typed."""
    return f'<span style="color:{colour}">{text}</span>'


class End(NamedTuple):
    """Name and mechanism of a curve, and its end, in the units of the axes."""

    curve: str
    mechanism: str
    x: float
    y: float


def edge_labels(
    ends: Sequence[End], high: float, logarithm: bool, pixels: float
) -> list[dict[str, Any]]:
    """Place names at the right edge, as high as the curves end, moved apart where they would meet.

    All at the edge: beside a curve that ends earlier a name would cover the others.

    Args:
        ends: of all curves.
        high: largest value on the value axis, which begins at 0.
        logarithm: True if the ε axis shows ln ε; else ε on a log scale.
        pixels: height of the axis from 0 to `high`.
    """
    edge = max(end.x for end in ends)
    x = edge if logarithm else math.log10(edge)
    lines = [
        (x, end.y, text)
        for end in sorted(ends, key=lambda end: end.y)
        for text in reversed(_lines(end))  # from below
    ]
    return names_beside(lines, lambda y: y / high * pixels, pixels, align="left")


def end_labels(ends: Sequence[End], frame: Frame) -> list[dict[str, Any]]:
    """Place names at the ends of curves, each on one line beside its own end.

    Args:
        ends: of all curves, in the units of the ends of the frame.
        frame: of the figure.
    """
    ordered = sorted(ends, key=lambda end: end.y)
    lines = [(end.x, end.y, _mark(end) + end.curve) for end in ordered]
    return names_beside(lines, frame.pixels_up, frame.inner, align="left")


def names_beside(
    names: Sequence[tuple[float, float, str]],
    pixels_up: Callable[[float], float],
    high: float,
    **more: object,
) -> list[dict[str, Any]]:
    """Place names to the right of points, moved apart where they would cover each other.

    Args:
        names: x, y and text of each, from below.
        pixels_up: the height of a value above the x axis.
        high: height of the axis, pixels.
        more: anything else that Plotly's annotations take.
    """
    wanted = [pixels_up(y) for _, y, _ in names]
    places = spread(wanted, _LABEL_PIXELS, high)
    return [
        note(text, x, y, xanchor="left", xshift=6, yshift=place - pixel, **more)
        for (x, y, text), pixel, place in zip(names, wanted, places, strict=True)
    ]


def spread(places: list[float], gap: float, high: float) -> list[float]:
    """Move ascending places as little as needed to be `gap` apart, none above `high`."""
    moved: list[float] = []
    for place in places:  # upwards: each at least a gap above the one before
        moved.append(max(place, moved[-1] + gap) if moved else place)
    limit = high
    for i in reversed(range(len(moved))):  # and down again from the upper end
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    return moved


def right_margin(ends: Sequence[End]) -> int:
    """Return the pixels for the labels at the right edge."""
    longest = max(len(piece) for end in ends for piece in _pieces(end.curve))
    return round(30 + _LETTER_PIXELS * longest)


def _mark(end: End) -> str:
    """Return the mark of a curve in its colour, and a space, as the beginning of a label."""
    style = curve_style(end.curve, end.mechanism)
    return coloured(style.glyph, style.colour) + " "


def _lines(end: End) -> list[str]:
    """Return the mark of a curve and its name, which is divided if it is long."""
    first, *rest = _pieces(end.curve)
    return [_mark(end) + first, *(f"{_INDENT}{piece}" for piece in rest)]


def _pieces(curve: str) -> list[str]:
    """Return a name as one line, or divided after its last hyphen if it is long."""
    head, hyphen, tail = curve.rpartition("-")
    return [head + hyphen, tail] if len(curve) > _LONG and head else [curve]
