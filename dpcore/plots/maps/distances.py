"""True distances beside a map: ticks, the length of the noise, and neighbours in a circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.plots.maps.panes import COLOURS
from dpcore.plots.style import Caption, axis, note, number, plain
from dpcore.plots.traces import Frame, draw_figure, laid, placed
from dpcore.written import Filled, Named, listed

DISTANCE_COLUMNS = ("source", "word", "neighbour", "distance")
"""One row for each neighbour of a or b; `distance` in the unit of the vectors."""

NOISE_COLUMNS = ("title", "colour", "low", "median", "high")
"""One row for each mechanism: 5 %, 50 % and 95 % quantile of the length of its noise at one ε."""

_LESS, _MORE = 0.5, 10.0  # of the nearest and the farthest distance: where the axis ends
_ROW = 46
_TITLE = 20  # pixels from a row up to its title
_BAR, _DOT, _EDGE = 9, 15, 18


@dataclass(frozen=True, eq=False)
class Strip:
    """Strip of true distances, made once for every ε (`distance_strip`).

    Attributes:
        figure: one row a word, one tick a neighbour, and one empty row a mechanism below.
        frame: ends of its axes, and margins.
        titles: of the mechanisms.
        words: rows of words.
        median: of the distances.
        text: the ticks in words.
    """

    figure: go.Figure
    frame: Frame
    titles: tuple[str, ...]
    words: int
    median: float
    text: str

    @property
    def alt(self) -> str:
        """Text alternative that does not change while the sliders move."""
        if not self.titles:
            return self.text
        return Filled(
            "{text} Below: one row each for the noise of {titles}.",
            text=self.text,
            titles=listed(map(Named, self.titles)),
        )


def distance_strip(distances: pd.DataFrame, titles: Sequence[str] = ()) -> Strip:
    """Draw the true distances of the nearest words of one or two words, in one scale.

    Args:
        distances: the columns `DISTANCE_COLUMNS`.
        titles: of the mechanisms whose noise `noise_mark` lays over the figure. With any the axis
            is logarithmic and ends at ten times the farthest distance.
    """
    traces: list[Any] = []
    rows: list[str] = []
    sentences: list[str] = []
    for source, part in distances.groupby("source", sort=False):
        near, names = part["distance"].to_numpy(), part["neighbour"].tolist()
        traces.append(
            go.Scatter(
                x=near.astype(np.float32),
                y=np.full(len(part), len(rows), np.int8),
                customdata=[plain(word) for word in names],
                mode="markers",
                hovertemplate="%{customdata}<br>distance %{x:.3f}<extra></extra>",
                marker={
                    "symbol": "line-ns-open",
                    "size": 22,
                    "color": COLOURS[str(source)],
                    "line": {"width": 2},
                },
            )
        )
        rows.append(f"“{part['word'].iloc[0]}”")
        sentences.append(
            Filled(
                "“{word}”: the nearest word is “{nearest}” at {low:.2f}, the farthest of {count} "
                "at {high:.2f}.",
                word=part["word"].iloc[0],
                nearest=names[int(near.argmin())],
                low=near.min(),
                count=len(part),
                high=near.max(),
            )
        )
    words = len(rows)
    rows += titles
    least, far = float(distances["distance"].min()), float(distances["distance"].max())
    x, title = (0.0, 1.04 * far), "Euclidean distance"
    scale: dict[str, Any] = {}
    if titles:
        x = (math.log10(_LESS * least), math.log10(_MORE * far))
        title = "Euclidean distance (logarithmic)"
        scale = {"type": "log"} | _ticks(*x)
    # The first row is at the top, so the axis runs downwards, half a row beyond either end.
    frame = Frame(x, (len(rows) - 0.5, -0.6), height=34 + 52 + _ROW * len(rows), left=8, right=16)
    figure = draw_figure(
        traces,
        annotations=[
            note(plain(name), 0, row, xref="paper", xanchor="left", yshift=_TITLE)
            for row, name in enumerate(rows)
        ],
        xaxis=axis(title, **scale, **frame.axis(frame.x)),
        yaxis=axis(showgrid=False, showticklabels=False, **frame.axis(frame.y)),
        **frame.layout,
    )
    median = float(distances["distance"].median())
    return Strip(figure, frame, tuple(titles), words, median, listed(sentences, " "))


def _ticks(low: float, high: float) -> dict[str, object]:
    """Return ticks at 1, 2 and 5 in every decade between two powers of ten, each written out."""
    places = [
        step * 10.0**power
        for power in range(math.floor(low), math.ceil(high))
        for step in (1, 2, 5)
        if low <= math.log10(step) + power <= high
    ]
    return {"tickvals": places, "ticktext": [f"{place:g}" for place in places]}


def noise_mark(strip: Strip, noise: pd.DataFrame) -> str:
    """Mark the length of the noise over a strip: a bar from 5 % to 95 % of the draws.

    The median is a disc. A bar that reaches beyond the axis ends in an arrow.

    Args:
        strip: with the titles of these mechanisms.
        noise: the columns `NOISE_COLUMNS`, of those mechanisms that have noise at the chosen ε.

    Returns:
        HTML to place directly below the figure.
    """
    frame = strip.frame
    parts: list[str] = []
    columns = (noise[name].tolist() for name in NOISE_COLUMNS)
    for name, colour, *lengths in zip(*columns, strict=True):
        y = frame.bottom + frame.pixels_up(strip.words + strip.titles.index(name))
        low, median, high = (math.log10(length) for length in lengths)
        parts += _bar(frame, y, colour, low, high)
        for place, across, up, rounded in (
            (low, 3, _EDGE, 0),
            (median, _DOT, _DOT, 50),
            (high, 3, _EDGE, 0),
        ):
            if frame.x[0] <= place <= frame.x[1]:
                look = (
                    f"width:{across}px;height:{up}px;border-radius:{rounded}%;background:{colour}"
                )
                parts.append(placed(frame.across(place, across / 2), f"{y + up / 2:.1f}", look))
    return laid(parts)


def _bar(frame: Frame, y: float, colour: str, low: float, high: float) -> list[str]:
    """Return the bar as far as the axis reaches, and an arrow where it goes on."""
    left, right = frame.x
    margins = frame.left + frame.right
    share = (min(max(high, left), right) - min(max(low, left), right)) / (right - left)
    look = f"width:calc({share:.5f} * (100% - {margins}px));height:{_BAR}px;background:{colour}"
    parts = [placed(frame.across(low, 0), f"{y + _BAR / 2:.1f}", look)]
    head = _EDGE / 2
    # An arrow is a box without size of which one border is coloured and the opposite one missing.
    for beyond, end, back, side, opposite in (
        (low < left, left, 0.0, "right", "left"),
        (high > right, right, head, "left", "right"),
    ):
        if beyond:
            look = f"border:{head:g}px solid transparent;border-{side}-color:{colour};"
            look += f"border-{opposite}-width:0"
            parts.append(placed(frame.across(end, back), f"{y + head:.1f}", look))
    return parts


def distance_caption(strip: Strip, noise: pd.DataFrame | None = None) -> Caption:
    """Describe the strip of true distances, from the numbers that it is drawn from.

    Args:
        strip: the distances.
        noise: as for `noise_mark`; None if no mechanism adds noise to vectors.
    """
    if noise is None:
        finding = Filled(
            "The ticks are true distances; no mechanism here adds noise to compare them with."
        )
        none = Filled("There is no noise on these vectors, whose length could be compared.")
        return Caption(finding, listed((strip.text, none), " "))
    columns = (noise[name].tolist() for name in ("title", "low", "median", "high"))
    lengths = [
        Filled(
            "{title}: the noise is {median} long in the median (90 % of the draws: {low} to "
            "{high}), {times} times the median of these distances.",
            title=Named(title),
            median=number(median),
            low=number(low),
            high=number(high),
            times=number(median / strip.median),
        )
        for title, low, median, high in zip(*columns, strict=True)
    ]
    ratios = (noise["median"] / strip.median).tolist()
    titles = noise["title"].tolist()
    longest, shortest = (ratios.index(end(ratios)) for end in (max, min))
    filling = {"longest": Named(titles[longest]), "most": number(ratios[longest])}
    if longest == shortest:
        finding = Filled("The noise of {longest} is {most} times a typical distance.", **filling)
    else:
        finding = Filled(
            "The noise of {longest} is {most} times a typical distance, that of {shortest} {least} "
            "times.",
            shortest=Named(titles[shortest]),
            least=number(ratios[shortest]),
            **filling,
        )
    return Caption(finding, listed((strip.text, *lengths), " "))


# The neighbours of a word at their true distances, at angles that are arranged for reading.
#
# A plane cannot keep the distances of many words. It can keep those from one word: they are the
# radii. The angles come from the two directions in which the neighbours differ most, are evened
# out, and are then moved as little as leaves room for every name.


SIDES = ("right", "left", "above", "below")
"""Positions of a name beside its dot."""

_EVEN = 0.6  # share of the way from the angles of the vectors to evenly spread ones
_TURN = math.radians(2.0)  # by which an angle is tried
_TURNS = 90
_DOT_RINGS, _GAP, _AIR = 4.0, 7.0, 1.5  # pixels: of a dot, from a dot to its name, around a name
_BESIDE, _INWARD = math.radians(9.0), math.radians(14.0)  # turns that a worse side is worth
_ACROSS = math.radians(20.0)  # and a name that lies across the rim
_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Sheet:
    """Sheet for which names are arranged, in pixels; the word is in its middle.

    Attributes:
        width: of the sheet.
        height: of the sheet.
        radius: from the middle to the rim.
        letter: width of a letter, on average.
        line: height of a line.
    """

    width: float = 540.0
    height: float = 500.0
    radius: float = 232.0
    letter: float = 7.1
    line: float = 15.0


SHEET = Sheet()


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Positions of neighbours around a word, nearest first.

    Attributes:
        angles: counterclockwise from the right, in radians, shape (k,).
        sides: of each name, positions in `SIDES`, shape (k,).
        named: True if there is room for the name, shape (k,).
    """

    angles: FloatArray
    sides: NDArray[np.int64]
    named: NDArray[np.bool_]


def rim(*distances: FloatArray) -> float:
    """Return the distance at which panes of one scale end: just beyond the farthest neighbour."""
    return 1.05 * max(float(part[-1]) for part in distances)


def ring_distances(reach: float, most: int = 5) -> list[float]:
    """Return round distances up to a reach: multiples of 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(reach / most))
    steps = [factor * 10.0**place for place in (power, power + 1) for factor in _STEPS]
    step = next(step for step in steps if reach / step < most + 1)
    # Of the step's digits alone, so that 3 · 0.1 is 0.3.
    return [float(f"{n * step:.12g}") for n in range(1, math.floor(reach / step) + 1)]


def local_angles(offsets: FloatArray) -> FloatArray:
    """Compute angles of k neighbours from the two directions in which they differ most, evened out.

    Their order around the circle is that of the projection; the gaps are between those of the
    projection and equal ones.

    Args:
        offsets: of the neighbours from the word, shape (k, d).

    Returns:
        Shape (k,).
    """
    angles = plane_angles(offsets, offsets)
    order = np.argsort(angles, kind="stable")
    count = len(angles)
    even = 2.0 * math.pi * np.arange(count) / count
    even += float((angles[order] - even).mean())
    spread = np.empty(count)
    spread[order] = (1.0 - _EVEN) * angles[order] + _EVEN * even
    return spread


def plane_angles(offsets: FloatArray, others: FloatArray) -> FloatArray:
    """Compute angles of words on the plane in which the neighbours differ most.

    Args:
        offsets: of the neighbours from the word, shape (k, d).
        others: offsets of the words asked for, shape (m, d).

    Returns:
        Shape (m,).
    """
    neighbours = np.asarray(offsets, dtype=np.float64)
    middle = neighbours.mean(axis=0)
    _, _, axes = np.linalg.svd(neighbours - middle, full_matrices=False)
    axes = axes[:2]
    # The sign of a principal direction is arbitrary: its largest coordinate is made positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    plane = np.zeros((len(others), 2))
    plane[:, : len(axes)] = (np.asarray(others, dtype=np.float64) - middle) @ axes.T
    return np.arctan2(plane[:, 1], plane[:, 0])


def arrange(
    angles: FloatArray,
    distances: FloatArray,
    names: Sequence[str],
    reach: float,
    *,
    middle: str = "",
    rings: Sequence[float] = (),
    sheet: Sheet = SHEET,
) -> Arrangement:
    """Turn words around their middle, each as little as gives its name room; no distance changes.

    One after the other, the nearest first, since there is least room near the middle.

    Args:
        angles: preferred angles of the words, shape (k,).
        distances: true ones, ascending, shape (k,).
        names: of the words.
        reach: distance at the rim.
        middle: name of the word in the middle.
        rings: distances of the rings, whose numbers are at their tops.
        sheet: the sheet.
    """
    count = len(names)
    taken = _Occupancy(sheet, reach, middle, rings)
    turned, sides = np.array(angles, dtype=np.float64), np.zeros(count, dtype=np.int64)
    named = np.zeros(count, dtype=np.bool_)
    for i in range(count):
        radius = sheet.radius * distances[i] / reach
        tried, side, dots, boxes = _candidates(turned[i], radius, len(names[i]), sheet)
        free = np.flatnonzero(taken.leave(boxes, dots))
        named[i] = free.size > 0
        # Without room for its name a word keeps its own angle, the first one tried.
        place = int(free[0]) if free.size else 0
        turned[i], sides[i] = tried[place], side[place]
        taken.add(boxes[place] if named[i] else None, dots[place])
    return Arrangement(turned, sides, named)


def _candidates(
    angle: float, radius: float, letters: int, sheet: Sheet
) -> tuple[FloatArray, NDArray[np.int64], FloatArray, FloatArray]:
    """Return angles, sides, places and boxes to try, the best first.

    Better are less turning, a name that points outwards, and one that does not cross the rim.
    """
    turns = np.arange(-_TURNS, _TURNS + 1)
    tried = np.repeat(angle + _TURN * turns, len(SIDES))
    side = np.tile(np.arange(len(SIDES)), turns.size)
    dots = radius * np.stack((np.cos(tried), np.sin(tried)), axis=1)
    boxes = name_boxes(dots, side, letters, sheet)
    outward = np.where(np.cos(tried) >= 0, 0, 1)
    corners = np.hypot(*np.maximum(np.abs(boxes[:, :2]), np.abs(boxes[:, 2:])).T)
    cost = np.abs(tried - angle) + _ACROSS * (corners > sheet.radius)
    cost += np.where(side == outward, 0.0, np.where(side < 2, _INWARD, _BESIDE))
    order = np.argsort(cost, kind="stable")
    return tried[order], side[order], dots[order], boxes[order]


def name_boxes(
    dots: FloatArray, sides: NDArray[np.int64], letters: int, sheet: Sheet = SHEET
) -> FloatArray:
    """Compute the box of a name: left, bottom, right and top, y upwards, shape (m, 4).

    Args:
        dots: places of the word, in pixels from the middle, shape (m, 2).
        sides: of the name at each of them, shape (m,).
        letters: of the name.
        sheet: the sheet.
    """
    width, half = sheet.letter * letters, sheet.line / 2
    across = np.array([_GAP, -_GAP - width, -width / 2, -width / 2])[sides]
    up = np.array([-half, -half, _GAP - 1, 1 - _GAP - sheet.line])[sides]
    left, bottom = dots[:, 0] + across, dots[:, 1] + up
    return np.stack((left, bottom, left + width, bottom + sheet.line), axis=1)


class _Occupancy:
    """Boxes and dots already on the sheet."""

    def __init__(self, sheet: Sheet, reach: float, middle: str, rings: Sequence[float]) -> None:
        half = (sheet.width / 2, sheet.height / 2)
        self._paper = np.array([-half[0], -half[1], *half])
        wide, high = 0.65 * sheet.letter * len(middle) + 4, 0.75 * sheet.line
        self._boxes = [np.array([-wide, -high, wide, high])]
        for distance in rings:
            top = sheet.radius * distance / reach
            wide = sheet.letter * len(f"{distance:g}") / 2 + 2
            self._boxes.append(np.array([-wide, top - sheet.line / 2, wide, top + sheet.line / 2]))
        self._dots = [np.zeros(2)]

    def add(self, box: FloatArray | None, dot: FloatArray) -> None:
        if box is not None:
            self._boxes.append(box)
        self._dots.append(dot)

    def leave(self, boxes: FloatArray, dots: FloatArray) -> NDArray[np.bool_]:
        """Return a mask of the candidates that have room, shape (m,)."""
        around = boxes + _AIR * np.array([-1.0, -1.0, 1.0, 1.0])
        paper = self._paper
        inside = (boxes[:, :2] >= paper[:2]).all(axis=1) & (boxes[:, 2:] <= paper[2:]).all(axis=1)
        taken, places = np.array(self._boxes), np.array(self._dots)
        dotted = np.concatenate((places - _DOT_RINGS, places + _DOT_RINGS), axis=1)
        own = np.concatenate((dots - _DOT_RINGS, dots + _DOT_RINGS), axis=1)
        return np.asarray(
            inside
            & ~overlap(around, taken).any(axis=1)
            & ~overlap(around, dotted).any(axis=1)
            & ~overlap(own, taken).any(axis=1)
            & ~overlap(own, dotted).any(axis=1)
        )


def overlap(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Return a mask of the pairs of boxes (m, 4) and (n, 4) that overlap, shape (m, n)."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    return np.asarray((low < high).all(axis=2))
