"""Figures of what a crowd says: counts with intervals, differences of groups, and a trend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILION,
    Caption,
    axis,
    base_layout,
    faint,
    plain,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, GREY)
_MARKS = ("circle", "diamond", "square", "triangle-up", "cross")
_ROW, _EDGE = 26, 110  # pixels of a row, and of what is above and below
_MOST = 40  # rows of a figure


def dots(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw estimates with their intervals, a row for each query and a mark for each group.

    Args:
        rows: of `dpcore.crowd.estimates.Row.to_dict`; without an estimate, the middle is drawn. The
            owner of the originals may add `truth`, which is drawn as a ring.
    """
    import plotly.graph_objects as go

    queries = list(dict.fromkeys(str(row["query"]) for row in rows))[:_MOST]
    groups = list(dict.fromkeys(str(row["group"]) for row in rows))
    figure = go.Figure(layout=base_layout(height=_EDGE + _ROW * len(queries)))
    for number, group in enumerate(groups):
        own = [row for row in rows if row["group"] == group and row["query"] in queries]
        middle = [_middle(row) for row in own]
        figure.add_scatter(
            x=middle,
            y=[plain(str(row["query"])) for row in own],
            error_x={
                "type": "data",
                "array": [row["high"] - x for row, x in zip(own, middle, strict=True)],
                "arrayminus": [x - row["low"] for row, x in zip(own, middle, strict=True)],
            },
            mode="markers",
            name=plain(group),
            marker={"color": _COLOURS[number % 5], "symbol": _MARKS[number % 5], "size": 8},
            hovertemplate="%{y}: %{x:,.0f}",
        )
    if checked := [row for row in rows if "truth" in row and row["query"] in queries]:
        figure.add_scatter(
            x=[row["truth"] for row in checked],
            y=[plain(str(row["query"])) for row in checked],
            mode="markers",
            name="truth",
            marker={
                "color": [_COLOURS[groups.index(str(row["group"])) % 5] for row in checked],
                "symbol": "circle-open",
                "size": 15,
            },
            hovertemplate="%{y}: %{x:,.0f}",
        )
    figure.update_xaxes(axis("occurrences", rangemode="tozero"))
    figure.update_yaxes(axis(None, autorange="reversed", type="category"))
    return figure


def dots_caption(rows: Sequence[Mapping[str, Any]]) -> Caption:
    """Say how many intervals hold the truth, and what the clearest row says.

    Args:
        rows: as `dots` takes them, each with `truth`.
    """
    right = sum(row["low"] <= row["truth"] <= row["high"] for row in rows)
    finding = f"{right} of {len(rows)} intervals hold the truth."
    if estimated := [row for row in rows if row["estimate"] is not None]:
        clearest = min(estimated, key=_relative_width)
        finding = (
            f"{right} of {len(rows)} intervals hold the truth: “{clearest['query']}” is counted "
            f"{_interval(clearest)} times, and is there {clearest['truth']:,.0f} times."
        )
    lines = [
        f"{row['query']} ({row['group']}): {_interval(row)}, truth {row['truth']:,.0f}"
        for row in rows
    ]
    how = "Intervals of 95 %, for all words of the lexicon at once."
    return Caption(finding, "\n".join((how, *lines)))


def _relative_width(row: Mapping[str, Any]) -> float:
    return float(row["high"] - row["low"]) / max(float(row["estimate"]), 1.0)


def _interval(row: Mapping[str, Any]) -> str:
    """Write an interval in whole occurrences, rounded outwards."""
    return f"{math.floor(row['low']):,} to {math.ceil(row['high']):,}"


def _middle(row: Mapping[str, Any]) -> float:
    """Return the estimate within its interval, or the middle of the interval."""
    if row["estimate"] is None:
        return 0.5 * float(row["low"] + row["high"])
    return min(max(float(row["estimate"]), float(row["low"])), float(row["high"]))


def volcano(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw differences of groups: how large to the right or left, how sure upwards.

    Args:
        rows: of `dpcore.crowd.comparison.Difference.to_dict`, for one group.
    """
    import plotly.graph_objects as go

    figure = go.Figure(layout=base_layout(height=460))
    for differs, colour, mark, name in (
        (True, BLUE, "circle", "differ"),
        (False, GREY, "circle-open", "not told apart"),
    ):
        own = [row for row in rows if row["differs"] is differs]
        named = differs and len(own) <= _MOST
        figure.add_scatter(
            x=[1000.0 * row["difference"] for row in own],
            y=[abs(row["z"]) for row in own],
            text=[plain(str(row["query"])) for row in own],
            mode="markers+text" if named else "markers",
            textposition="top center",
            name=name,
            marker={"color": colour, "symbol": mark, "size": 7},
            hovertemplate="%{text}: %{x:+.3f} of 1,000, z = %{y:.1f}",
        )
    group = plain(str(rows[0]["group"])) if rows else ""
    figure.update_xaxes(axis(f"more in {group}, of 1,000 words", zeroline=True))
    figure.update_yaxes(axis("standard errors", rangemode="tozero"))
    return figure


def trend_line(
    groups: Sequence[str],
    places: Sequence[float],
    shares: Sequence[tuple[float, float, float]],
    line: tuple[float, float],
    query: str,
) -> go.Figure:
    """Draw the shares of a query in ordered groups, and the line through them.

    Args:
        groups: names, in order.
        places: where they lie.
        shares: estimate and interval of each.
        line: share on the line at the first place, and its slope.
        query: what is counted.
    """
    import plotly.graph_objects as go

    middle = [1000.0 * share for share, _, _ in shares]
    figure = go.Figure(layout=base_layout(height=380))
    start, slope = line
    fitted = [1000.0 * (start + slope * (place - places[0])) for place in places]
    figure.add_scatter(x=list(places), y=fitted, mode="lines", name="line", line_color=faint(BLUE))
    figure.add_scatter(
        x=list(places),
        y=middle,
        error_y={
            "type": "data",
            "array": [1000.0 * (high - share) for share, _, high in shares],
            "arrayminus": [1000.0 * (share - low) for share, low, _ in shares],
        },
        mode="markers",
        name=plain(query),
        marker={"color": BLUE, "size": 8},
        hovertemplate="%{y:.3f} of 1,000",
    )
    figure.update_xaxes(
        axis(None, tickvals=list(places), ticktext=[plain(str(group)) for group in groups])
    )
    figure.update_yaxes(axis(f"{plain(query)}, of 1,000 words", rangemode="tozero"))
    return figure
