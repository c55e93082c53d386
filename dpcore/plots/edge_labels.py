"""Names of curves at the right edge of a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpcore.plots.mark import Frame
from dpcore.plots.style import style_of
from dpcore.plots.traces import coloured, name_beside, spread

_LETTER_PIXELS = 6.3
_LABEL_PIXELS = 17
_LONG = 20  # letters of a name on one line
_INDENT = "\u2003"  # an em space: about as wide as a mark


class End(NamedTuple):
    """Where a curve ends, in the units of the axes, and its name and mechanism."""

    curve: str
    mechanism: str
    x: float
    y: float


def edge_labels(
    ends: Sequence[End], high: float, logarithm: bool, pixels: float
) -> list[dict[str, object]]:
    """Names at the right edge, as high as the curves end, moved apart where they would meet.

    All at the edge: beside a curve that ends earlier a name would cover the others.

    Args:
        ends: of all curves.
        high: largest value on the value axis, which begins at 0.
        logarithm: whether the ε axis shows ln ε; else ε on a log scale.
        pixels: height of the axis from 0 to `high`.

    Returns:
        Plotly's annotations.
    """

    def pixel(value: float) -> float:
        return value / high * pixels

    edge = max(end.x for end in ends)
    lines = [
        (text, end.y)
        for end in sorted(ends, key=lambda end: end.y)
        for text in reversed(_lines(end))  # from below
    ]
    shifted = spread([pixel(y) for _, y in lines], _LABEL_PIXELS, pixels)
    x = edge if logarithm else math.log10(edge)
    return [
        name_beside(x, y, place - pixel(y), text, align="left")
        for (text, y), place in zip(lines, shifted, strict=True)
    ]


def end_labels(ends: Sequence[End], frame: Frame) -> list[dict[str, object]]:
    """Names at the ends of curves, each on one line beside its own end.

    Args:
        ends: of all curves, in the units in which the frame ends.
        frame: of the figure.
    """
    ordered = sorted(ends, key=lambda end: end.y)
    wanted = [frame.pixels_up(end.y) for end in ordered]
    shifted = spread(wanted, _LABEL_PIXELS, frame.inner)
    return [
        name_beside(end.x, end.y, place - pixel, _mark(end) + end.curve, align="left")
        for end, pixel, place in zip(ordered, wanted, shifted, strict=True)
    ]


def _mark(end: End) -> str:
    """The mark of a curve in its colour, and a space: how a name begins."""
    style = style_of(end.mechanism)
    return coloured(style.glyph, style.colour) + " "


def _lines(end: End) -> list[str]:
    """The mark of a curve and its name, which is divided if it is long."""
    first, *rest = _pieces(end.curve)
    return [_mark(end) + first, *(f"{_INDENT}{piece}" for piece in rest)]


def _pieces(curve: str) -> list[str]:
    """A name as one line, or divided after its last hyphen if it is longer than most."""
    head, hyphen, tail = curve.rpartition("-")
    return [head + hyphen, tail] if len(curve) > _LONG and head else [curve]


def right_margin(ends: Sequence[End]) -> int:
    """Pixels for the labels."""
    longest = max(len(piece) for end in ends for piece in _pieces(end.curve))
    return round(30 + _LETTER_PIXELS * longest)
