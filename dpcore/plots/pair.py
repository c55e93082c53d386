"""Two words at one ε: the probability that each stays, one curve a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.plots.style import (
    Caption,
    axis,
    name_tag,
    number,
    plain,
    probability_text,
    short_name,
    style_of,
)
from dpcore.plots.traces import Frame, curve, draw_figure, line, rings
from dpcore.written import Filled, listed

COLUMNS = ("mechanism", "epsilon", "word", "other", "nw", "nw_low", "nw_high")
"""Columns used here: one row for each mechanism, ε and word. The rows of a mechanism are
consecutive, those of the first word before those of the second, both over the same ε, ascending;
`nw_low` and `nw_high` are the ends of an interval for `nw`, equal where it is exact."""

_SPAN = (-0.03, 1.03)
_INNER, _NAME, _TITLE = 330, 19, 62  # pixels: between the axes, of a line of the legend, below


def pair_figure(table: pd.DataFrame) -> go.Figure:
    """Draw Nw of the second word over Nw of the first, along ε: on the diagonal they are equal.

    Since neither axis is ε, mechanisms whose ε means different things may share the figure. The
    figure does not depend on the chosen ε: `pair_mark` is laid over it.
    """
    frame, words = _frame(table), [plain(word) for word in _words(table)]
    diagonal = line([0, 1], [0, 1], "both alike", dash="dot")
    stays = "%{meta[0]} stays: %{x:.3g}<br>%{meta[1]} stays: %{y:.3g}"
    traces = [
        curve(
            pair.first.round(5),
            pair.second.round(5),
            style_of(pair.mechanism),
            "ε = %{customdata:.4~g}<br>" + stays,
            shown=12,
            customdata=pair.epsilons,
            meta=words,
            name=name_tag(pair.mechanism),
        )
        for pair in _curves(table)
    ]
    return draw_figure(
        [diagonal, *traces],
        # Names below each other: as high on every screen, and no name is cut off.
        legend={"x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        xaxis=axis(f"Nw of “{words[0]}”", **frame.axis(_SPAN)),
        yaxis=axis(f"Nw of “{words[1]}”", **frame.axis(_SPAN)),
        height=frame.height,
        margin=frame.layout["margin"] | {"autoexpand": False},
    )


def _frame(table: pd.DataFrame) -> Frame:
    """Return the frame of the axes above the legend."""
    below = _TITLE + _NAME * (table["mechanism"].nunique() + 1)
    top = 34
    return Frame(_SPAN, _SPAN, top + _INNER + below, right=16, top=top, bottom=below)


def pair_mark(table: pd.DataFrame, epsilons: Mapping[str, float]) -> str:
    """Mark the chosen ε over `pair_figure`: a ring on the curve of every mechanism measured there.

    Args:
        table: the columns `COLUMNS`.
        epsilons: the chosen ε of each mechanism.

    Returns:
        HTML to place directly below the figure.
    """
    places = ((pair, pair.place(epsilons)) for pair in _curves(table))
    return rings(
        _frame(table),
        [
            (float(c.first[here]), float(c.second[here]), style_of(c.mechanism).colour)
            for c, here in places
            if here is not None
        ],
    )


def pair_alt(table: pd.DataFrame) -> str:
    """Return the text alternative for all ε: it does not change while the sliders move."""
    first, second = _words(table)
    names = ", ".join(short_name(pair.mechanism) for pair in _curves(table))
    return Filled(
        "How often “{second}” stays over how often “{first}” stays, one curve a mechanism: "
        "{names}.",
        first=first,
        second=second,
        names=names,
    )


def pair_caption(table: pd.DataFrame, epsilons: Mapping[str, float]) -> Caption:
    """Name the mechanisms that treat the words most and least differently, with their numbers."""
    first, second = _words(table)
    sentences, gaps = [], {}
    for pair in _curves(table):
        name, here = short_name(pair.mechanism), pair.place(epsilons)
        apart = np.abs(pair.second - pair.first)
        widest = int(apart.argmax())
        gaps[name] = float(apart[widest])
        filling = {
            "name": name,
            "gap": number(gaps[name]),
            "widest": number(float(pair.epsilons[widest])),
        }
        if here is None:
            sentence = Filled(
                "{name}: over all measured ε the two are at most {gap} apart (at ε = {widest}).",
                **filling,
            )
        else:
            sentence = Filled(
                "{name}: at ε = {epsilon} “{first}” stays with probability {first_stays}, "
                "“{second}” with {second_stays}; over all measured ε the two are at most {gap} "
                "apart (at ε = {widest}).",
                epsilon=number(float(pair.epsilons[here])),
                first=first,
                second=second,
                first_stays=pair.text(0, here),
                second_stays=pair.text(1, here),
                **filling,
            )
        sentences.append(sentence)
    verdict = _verdict(gaps, first, second)
    return Caption(verdict, listed((verdict, *sentences), " "))


def _verdict(gaps: dict[str, float], first: str, second: str) -> str:
    ordered = sorted(gaps, key=lambda name: -gaps[name])
    most, least = ordered[0], ordered[-1]
    filling = {"first": first, "second": second, "most": most, "up": number(gaps[most])}
    if len(ordered) == 1:  # nothing to compare with
        return Filled(
            "The same ε treats “{first}” and “{second}” most differently under {most} (Nw differs "
            "by up to {up}).",
            **filling,
        )
    return Filled(
        "The same ε treats “{first}” and “{second}” most differently under {most} (Nw differs by "
        "up to {up}) and least under {least} (by up to {least_up}).",
        least=least,
        least_up=number(gaps[least]),
        **filling,
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

    def text(self, word: int, place: int) -> str:
        """Format Nw of the first (0) or the second (1) word at one ε."""
        value = (self.first, self.second)[word][place]
        return probability_text(float(value), *(float(end[place]) for end in self.ends[word]))

    def place(self, epsilons: Mapping[str, float]) -> int | None:
        """Return the position of the chosen ε; None if it was not measured."""
        places = np.flatnonzero(self.epsilons == epsilons.get(self.mechanism))
        return int(places[0]) if places.size else None


def _curves(table: pd.DataFrame) -> list[_Curve]:
    """Return the curves, from whole columns: row by row pandas delays a slider."""
    names = table["mechanism"].tolist()
    epsilon, nw, low, high = (
        table[c].to_numpy(np.float64) for c in ("epsilon", "nw", "nw_low", "nw_high")
    )
    curves, start = [], 0
    for name in dict.fromkeys(names):
        # The rows of the two words are of equal number and consecutive (see `COLUMNS`).
        middle, end = start + names.count(name) // 2, start + names.count(name)
        first, second = slice(start, middle), slice(middle, end)
        ends = ((low[first], high[first]), (low[second], high[second]))
        curves.append(_Curve(str(name), epsilon[first], nw[first], nw[second], ends))
        start = end
    return curves
