"""A mark on a figure that stands still: a line and rings laid over it, which move without it.

To draw a whole chart again for one line is slow, so the figure has margins in pixels that do not
adapt, and the mark is placed by the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plots.style import GREY

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE = 2
_RING, _STROKE = 15, 3


@dataclass(frozen=True)
class Frame:
    """The area of a figure inside its axes, which the mark must know.

    Attributes:
        x: ends of the x axis, in its own units (powers of ten on a logarithmic axis).
        y: ends of the y axis, likewise.
        height: of the whole figure, pixels.
        left: margin, pixels; so are `right`, `top` and `bottom`.
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
        """What keeps an axis where the mark takes it to be."""
        return {"range": list(ends), "fixedrange": True, "automargin": False}

    def pixels_up(self, y: float) -> float:
        """Height of a value above the x axis, pixels."""
        low, high = self.y
        return (y - low) / (high - low) * self.inner

    def across(self, x: float, back: float) -> str:
        """A CSS length from the left edge of the figure to a value, less `back` pixels."""
        low, high = self.x
        # The width of the figure is the browser's to know: a share of what it turns out to be.
        share = min(max((x - low) / (high - low), 0.0), 1.0)
        wide = self.left + self.right
        return f"calc({self.left - back:g}px + {share:.5f} * (100% - {wide}px))"


def mark(frame: Frame, x: float, points: Iterable[tuple[float, str]]) -> str:
    """HTML of a dotted vertical line with rings, to stand directly below its figure.

    Args:
        frame: of the figure.
        x: where the line stands, in units of the x axis.
        points: y in units of its axis, and colour: the rings.
    """
    look = f"height:{frame.inner}px;border-left:{_LINE}px dotted {GREY}"
    line = placed(frame.across(x, _LINE / 2), frame.height - frame.top, look)
    return laid([line, *(_ring(frame, x, y, colour) for y, colour in points)])


def rings(frame: Frame, points: Iterable[tuple[float, float, str]]) -> str:
    """HTML of rings, to stand directly below their figure.

    Args:
        frame: of the figure.
        points: x, y in units of the axes, and colour.
    """
    return laid([_ring(frame, x, y, colour) for x, y, colour in points])


def laid(parts: Iterable[str]) -> str:
    """HTML that takes no room of its own; nothing in it is text: the caption says what it marks.

    Args:
        parts: HTML placed absolutely from the left edge and the lower end of the figure.
    """
    style = "position:relative;height:0;pointer-events:none"
    return f'<div aria-hidden="true" style="{style}">{"".join(parts)}</div>'


def placed(left: str, up: float | str, look: str) -> str:
    """HTML of one part: how far from the left as CSS, how far up in pixels, and its CSS."""
    return f'<div style="position:absolute;left:{left};top:-{up}px;{look}"></div>'


def _ring(frame: Frame, x: float, y: float, colour: str) -> str:
    size = _RING + _STROKE
    up = frame.bottom + frame.pixels_up(y) + size / 2
    look = f"width:{size}px;height:{size}px;box-sizing:border-box;border-radius:50%;"
    look += f"border:{_STROKE}px solid {colour}"
    return placed(frame.across(x, size / 2), f"{up:.1f}", look)
