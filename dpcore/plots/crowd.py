"""Figures of what a crowd says: counts with intervals, differences of groups, and a trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.plots.style import BLUE, GREEN, GREY, PURPLE, VERMILION, axis, base_layout, faint, plain

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, GREY)
_MARKS = ("circle", "diamond", "square", "triangle-up", "cross")
_ROW, _EDGE = 26, 110  # pixels of a row, and of what is above and below
_MOST = 40  # rows of a figure


def dots(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw estimates with their intervals, a row for each query and a mark for each group.

    Args:
        rows: of `dpcore.crowd.estimates.Row.to_dict`; without an estimate, the middle is drawn.
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
    figure.update_xaxes(axis("occurrences", rangemode="tozero"))
    figure.update_yaxes(axis(None, autorange="reversed", type="category"))
    return figure


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
