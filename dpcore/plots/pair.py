"""Two words at one ε: how often each stays, one curve a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from dpcore.plots.layout import axis, base_layout, number, plain, probability_text
from dpcore.plots.mark import Frame, rings
from dpcore.plots.style import GREY, name_tag, short_name, style_of
from dpcore.plots.traces import curve

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

COLUMNS = ("mechanism", "epsilon", "word", "other", "nw", "nw_low", "nw_high")
"""The columns that are used here: one row a mechanism, ε and word. The rows of a mechanism stand
together, those of the first word before those of the second, both over the same ε, ascending;
`nw_low` and `nw_high` are the ends of an interval for `nw`, equal where it is exact."""

_SPAN = (-0.03, 1.03)
_INNER, _NAME, _TITLE = 330, 19, 62  # pixels: between the axes, of a line of the legend, below


def pair_figure(table: pd.DataFrame) -> go.Figure:
    """Nw of the second word over Nw of the first, along ε: on the diagonal both stay as often.

    Since neither axis is ε, mechanisms whose ε means different things may share the figure. The
    chosen ε is no part of it: `pair_mark` is laid over the figure.

    Args:
        table: the columns `COLUMNS`, of one pair of words.

    Returns:
        A figure with the diagonal and one trace a mechanism.
    """
    words, frame = _words(table), _frame(table)
    traces = [
        go.Scatter(
            x=[0, 1],
            y=[0, 1],
            name="both alike",
            mode="lines",
            hoverinfo="skip",
            line={"width": 2, "dash": "dot", "color": GREY},
        )
    ]
    stays = "<br>".join(
        f"{plain(word)} stays: %{{{a}:.3g}}" for word, a in zip(words, "xy", strict=True)
    )
    traces += [
        curve(
            pair.first.round(5),
            pair.second.round(5),
            style_of(pair.mechanism),
            shown=12,
            customdata=pair.epsilons,
            name=name_tag(pair.mechanism),
            hovertemplate=f"ε = %{{customdata:.4~g}}<br>{stays}",
        )
        for pair in _curves(table)
    ]
    return go.Figure(
        traces,
        base_layout(
            dragmode=False,
            showlegend=True,
            # Names below each other: as high on every screen, and no name is cut off.
            legend={"x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
            xaxis=axis(f"Nw of “{plain(words[0])}”", **frame.axis(_SPAN)),
            yaxis=axis(f"Nw of “{plain(words[1])}”", **frame.axis(_SPAN)),
            height=frame.height,
            margin=frame.layout["margin"] | {"autoexpand": False},
        ),
    )


def _frame(table: pd.DataFrame) -> Frame:
    """Where the axes are above the legend."""
    below = _TITLE + _NAME * (table["mechanism"].nunique() + 1)
    top = 34
    return Frame(_SPAN, _SPAN, top + _INNER + below, right=16, top=top, bottom=below)


def pair_mark(table: pd.DataFrame, at: Mapping[str, float]) -> str:
    """The chosen ε over `pair_figure`: a ring on the curve of every mechanism measured there.

    Args:
        table: the columns `COLUMNS`.
        at: the chosen ε of each mechanism.

    Returns:
        HTML to stand directly below the figure.
    """
    places = ((pair, pair.place(at)) for pair in _curves(table))
    return rings(
        _frame(table),
        [
            (float(c.first[here]), float(c.second[here]), style_of(c.mechanism).colour)
            for c, here in places
            if here is not None
        ],
    )


def pair_alt(table: pd.DataFrame) -> str:
    """What the figure shows at all ε: it stands still while the sliders move."""
    one, two = _words(table)
    names = ", ".join(short_name(pair.mechanism) for pair in _curves(table))
    return f"How often “{two}” stays over how often “{one}” stays, one curve a mechanism: {names}."


def pair_caption(table: pd.DataFrame, at: Mapping[str, float]) -> str:
    """Which mechanism treats the two words differently, in the numbers of the figure.

    Args:
        table: the columns `COLUMNS`.
        at: the chosen ε of each mechanism.
    """
    one, two = _words(table)
    said, gaps = [], {}
    for pair in _curves(table):
        name, here = short_name(pair.mechanism), pair.place(at)
        apart = np.abs(pair.second - pair.first)
        widest = int(apart.argmax())
        gaps[name] = float(apart[widest])
        now = ""
        if here is not None:
            now = (
                f"at ε = {number(float(pair.epsilons[here]))} “{one}” stays with probability "
                f"{pair.said(0, here)}, “{two}” with {pair.said(1, here)}; "
            )
        said.append(
            f"{name}: {now}over all measured ε the two are at most {gaps[name]:.2g} apart "
            f"(at ε = {number(float(pair.epsilons[widest]))})."
        )
    return " ".join([_verdict(gaps, one, two), *said])


def _verdict(gaps: dict[str, float], one: str, two: str) -> str:
    ordered = sorted(gaps, key=lambda name: -gaps[name])
    first, last = ordered[0], ordered[-1]
    start = f"The same ε treats “{one}” and “{two}” most differently under {first}"
    if len(ordered) == 1:  # nothing to compare with
        return f"{start} (Nw differs by up to {gaps[first]:.2g})."
    return (
        f"{start} (Nw differs by up to {gaps[first]:.2g}) and least under {last} (by up to "
        f"{gaps[last]:.2g})."
    )


def _words(table: pd.DataFrame) -> tuple[str, str]:
    return str(table["word"].iloc[0]), str(table["other"].iloc[0])


@dataclass(frozen=True)
class _Curve:
    """One mechanism: Nw of both words over ε with its intervals, arrays of one length."""

    mechanism: str
    epsilons: FloatArray
    first: FloatArray
    second: FloatArray
    ends: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    def said(self, word: int, place: int) -> str:
        """Nw of the first (0) or the second (1) word at one ε."""
        value = (self.first, self.second)[word][place]
        return probability_text(float(value), *(float(end[place]) for end in self.ends[word]))

    def place(self, at: Mapping[str, float]) -> int | None:
        """Position of the chosen ε, if it was measured."""
        found = np.flatnonzero(self.epsilons == at.get(self.mechanism))
        return int(found[0]) if found.size else None


def _curves(table: pd.DataFrame) -> list[_Curve]:
    """The curves, from whole columns: a step of a slider does not wait for pandas."""
    names = table["mechanism"].tolist()
    epsilon, nw, low, high = (
        table[c].to_numpy(np.float64) for c in ("epsilon", "nw", "nw_low", "nw_high")
    )
    curves, start = [], 0
    for name in dict.fromkeys(names):
        middle, end = start + names.count(name) // 2, start + names.count(name)
        one, two = slice(start, middle), slice(middle, end)
        ends = ((low[one], high[one]), (low[two], high[two]))
        curves.append(_Curve(str(name), epsilon[one], nw[one], nw[two], ends))
        start = end
    return curves
