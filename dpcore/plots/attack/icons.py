"""Icon array: a hundred squares, each a case, before and after the output is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PURPLE,
    VERMILION,
    Caption,
    axis,
    note,
    plain,
    tint,
)
from dpcore.plots.traces import draw_figure
from dpcore.written import Filled, Named, listed

COLUMNS = ("when", "mark", "word", "count")
"""One row for each word and panel: `when` is BEFORE or AFTER, `mark` the letter in its squares,
`count` how many of the hundred. The rows of a panel are consecutive, in one order of words."""

BEFORE, AFTER = "before", "after"
REST = "·"
"""Mark of all words that have no letter."""
OTHER = "any other word"
MARKS = "ABCDEFGHIJKL"

_SIDE = 10
_HEIGHT, _TITLE = 264, 26
_TINTS = (BLUE, VERMILION, GREEN, PURPLE, "#F0E442", GREY)
_SHARE = 0.5  # of the colour; the rest is almost white, so that dark letters are legible
_EMPTY = "rgba(122,134,145,0.22)"
_GAP = 2
_BETWEEN = 0.02  # from a panel to the edge of its part of the figure


def icon_figure(table: pd.DataFrame) -> go.Figure:
    """Draw a square of 10 by 10 for each panel, filled row by row in the order of the words.

    Every square carries its letter, so that nothing is conveyed by colour alone; squares of all
    other words are empty. Titles name the panels.
    """
    panels = _panels(table)
    order = list(dict.fromkeys(row.mark for rows in panels.values() for row in rows))
    order = [mark for mark in order if mark != REST]
    axes: dict[str, object] = {}
    traces, titles = [], []
    for place, (panel, rows) in enumerate(panels.items()):
        # Plotly's first axes have no number.
        suffix = "" if place == 0 else str(place + 1)
        low, high = place / len(panels) + _BETWEEN, (place + 1) / len(panels) - _BETWEEN
        traces.append(_squares(rows, order, suffix))
        anchors = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
        titles.append(note(plain(panel), (low + high) / 2, 1, **anchors))
        shared: dict[str, Any] = {"visible": False, "constrain": "domain", "fixedrange": True}
        axes[f"xaxis{suffix}"] = axis(domain=[low, high], **shared)
        axes[f"yaxis{suffix}"] = axis(
            autorange="reversed", scaleanchor=f"x{suffix}", anchor=f"x{suffix}", **shared
        )
    return draw_figure(
        traces,
        height=_HEIGHT,
        margin={"l": 0, "r": 0, "t": _TITLE, "b": 0},
        annotations=titles,
        **axes,
    )


class _Row(NamedTuple):
    mark: str
    word: str
    cases: int


def _panels(table: pd.DataFrame) -> dict[str, list[_Row]]:
    """Return the rows of each panel, read from whole columns: row by row pandas delays a slider."""
    panels: dict[str, list[_Row]] = {}
    columns = (table[name].tolist() for name in COLUMNS)
    for when, mark, word, count in zip(*columns, strict=True):
        panels.setdefault(str(when), []).append(_Row(str(mark), str(word), int(count)))
    return panels


def _squares(rows: list[_Row], order: list[str], suffix: str) -> go.Heatmap:
    levels: list[int] = []
    marks: list[str] = []
    words: list[str] = []
    for mark, word, count in rows:
        levels += [0 if mark == REST else order.index(mark) + 1] * count
        marks += ["" if mark == REST else mark] * count
        words += [plain(word)] * count
    return go.Heatmap(
        z=_by_rows(levels),
        text=_by_rows(marks),
        customdata=_by_rows(words),
        texttemplate="%{text}",
        textfont={"color": INK, "size": 13},
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=_scale(len(order)),
        # Half a level beyond both ends, so that each level falls into its own step of the scale.
        zmin=-0.5,
        zmax=len(order) + 0.5,
        showscale=False,
        xgap=_GAP,
        ygap=_GAP,
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )


def _by_rows(values: Sequence[object]) -> list[Sequence[object]]:
    return [values[start : start + _SIDE] for start in range(0, len(values), _SIDE)]


def colours(words: int) -> list[str]:
    """Return the ground of each word's squares: dark letters are legible on it."""
    return [tint(_TINTS[i % len(_TINTS)], _SHARE) for i in range(words)]


def _scale(words: int) -> list[list[object]]:
    """Return a colour for the rest and one for each word, in steps."""
    grounds = [_EMPTY, *colours(words)]
    steps: list[list[object]] = []
    for i, colour in enumerate(grounds):
        steps += [[i / len(grounds), colour], [(i + 1) / len(grounds), colour]]
    return steps


def icon_caption(table: pd.DataFrame) -> Caption:
    """Describe the squares of both panels, as counts of cases in which this output is seen."""
    panels = _panels(table)
    before, after = panels[BEFORE], panels[AFTER]
    named = [(i, row) for i, row in enumerate(after) if row.mark != REST]
    place, best = max(named, key=lambda pair: pair[1].cases)
    finding = Filled(
        "Of 100 cases in which this is seen, the word was “{word}” in {now}; before, in {before}.",
        word=best.word,
        now=best.cases,
        before=before[place].cases,
    )
    how = Filled(
        "Of 100 cases in which this is seen: {after}. Before: {before}.",
        after=_cases(after),
        before=_cases(before),
    )
    return Caption(finding, how)


def _cases(rows: list[_Row]) -> str:
    counts = [row.cases for row in rows]
    # Equal chances, rounded to whole cases: one clause instead of a list of equal numbers.
    if len(rows) > 1 and all(row.mark != REST for row in rows) and max(counts) - min(counts) <= 1:
        if min(counts) == max(counts):
            return Filled("each of the {words} words in {cases}", words=len(rows), cases=counts[0])
        return Filled(
            "each of the {words} words in {low} or {high}",
            words=len(rows),
            low=min(counts),
            high=max(counts),
        )
    return listed(
        Filled("{others} in {cases}", others=Named(OTHER), cases=count)
        if mark == REST
        else Filled("“{word}” ({mark}) in {cases}", word=word, mark=mark, cases=count)
        for mark, word, count in rows
        if count > 0
    )
