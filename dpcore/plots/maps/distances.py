"""The true distances beside a map: one tick a neighbour, and the length of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.captions import Caption
from dpcore.plots.layout import axis, note, number, plain
from dpcore.plots.maps.maps import COLOURS
from dpcore.plots.mark import Frame, laid, placed
from dpcore.plots.traces import drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

DISTANCE_COLUMNS = ("source", "word", "neighbour", "distance")
"""One row a neighbour of a or b; `distance` in the unit of the vectors."""

NOISE_COLUMNS = ("title", "colour", "low", "median", "high")
"""One row a mechanism: 5 %, 50 % and 95 % quantile of the length of its noise at one ε."""

_LESS, _MORE = 0.5, 10.0  # of the nearest and the farthest distance: where the axis ends
_ROW = 46
_TITLE = 20  # pixels from a row up to its title
_BAR, _DOT, _EDGE = 9, 15, 18


@dataclass(frozen=True, eq=False)
class Strip:
    """What a strip of true distances shows at every ε, made once (`distance_strip`).

    Attributes:
        figure: one row a word, one tick a neighbour, and one empty row a mechanism below.
        frame: where its axes end.
        titles: of the mechanisms.
        words: rows of words.
        median: of the distances.
        text: what the ticks show, in words.
    """

    figure: go.Figure
    frame: Frame
    titles: tuple[str, ...]
    words: int
    median: float
    text: str

    @property
    def alt(self) -> str:
        """A text alternative that stands still while the sliders move."""
        if not self.titles:
            return self.text
        return f"{self.text} Below: one row each for the noise of {', '.join(self.titles)}."


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
            f"{rows[-1]}: the nearest word is “{names[int(near.argmin())]}” at {near.min():.2f}, "
            f"the farthest of {len(part)} at {near.max():.2f}."
        )
    words = len(rows)
    rows += titles
    least, far = float(distances["distance"].min()), float(distances["distance"].max())
    x, title = (0.0, 1.04 * far), "Euclidean distance"
    scale: dict[str, Any] = {}
    if titles:
        x = (math.log10(_LESS * least), math.log10(_MORE * far))
        title += " (logarithmic)"
        scale = {"type": "log"} | _ticks(*x)
    # The first row is at the top, so the axis runs downwards, half a row beyond either end.
    frame = Frame(x, (len(rows) - 0.5, -0.6), height=34 + 52 + _ROW * len(rows), left=8, right=16)
    figure = drawn(
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
    return Strip(figure, frame, tuple(titles), words, median, " ".join(sentences))


def _ticks(low: float, high: float) -> dict[str, object]:
    """1, 2 and 5 in every decade between two powers of ten, each written out."""
    places = [
        step * 10.0**power
        for power in range(math.floor(low), math.ceil(high))
        for step in (1, 2, 5)
        if low <= math.log10(step) + power <= high
    ]
    return {"tickvals": places, "ticktext": [f"{place:g}" for place in places]}


def noise_mark(strip: Strip, noise: pd.DataFrame) -> str:
    """The length of the noise over the figure of a strip: a bar from 5 % to 95 % of the draws.

    The median is a disc. What lies beyond the axis ends in an arrow.

    Args:
        strip: with the titles of these mechanisms.
        noise: the columns `NOISE_COLUMNS`, of those mechanisms that have noise at the chosen ε.

    Returns:
        HTML to stand directly below the figure.
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
    """The bar as far as the axis reaches, and an arrow where it goes on."""
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
    """What the strip of true distances shows, from the numbers that it is drawn from.

    Args:
        strip: the distances.
        noise: as `noise_mark`; None if no mechanism adds noise to vectors.
    """
    if noise is None:
        finding = "The ticks are true distances; no mechanism here adds noise to compare them with."
        how = f"{strip.text} There is no noise on these vectors, whose length could be compared."
        return Caption(finding, how)
    columns = (noise[name].tolist() for name in ("title", "low", "median", "high"))
    lengths = [
        f"{title}: the noise is {number(median)} long in the median (90 % of the "
        f"draws: {number(low)} to {number(high)}), "
        f"{number(median / strip.median)} times the median of these distances."
        for title, low, median, high in zip(*columns, strict=True)
    ]
    ratios = (noise["median"] / strip.median).tolist()
    titles = noise["title"].tolist()
    longest, shortest = (ratios.index(end(ratios)) for end in (max, min))
    finding = (
        f"The noise of {titles[longest]} is {number(ratios[longest])} times a typical distance"
    )
    if longest != shortest:
        finding += f", that of {titles[shortest]} {number(ratios[shortest])} times"
    return Caption(f"{finding}.", " ".join([strip.text, *lengths]))
