"""Figures of what a crowd says: counts, differences of groups, trends, and texts that it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    NAMED,
    PURPLE,
    VERMILION,
    Caption,
    axis,
    base_layout,
    faint,
    plain,
)
from dpcore.written import Filled, as_numeral, listed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, GREY)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_PERCENTS = (1, 2, 5, 10, 20, 50, 100, 1000)
_MARKS = ("circle", "diamond", "square", "triangle-up", "cross")
_ROW, _EDGE, _NAMES = 26, 110, 40  # pixels of a row, of what is above and below, and of names
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
    named = len(groups) > 1 or any("truth" in row for row in rows)
    height = _EDGE + _ROW * len(queries) + (_NAMES if named else 0)
    figure = go.Figure(layout=base_layout(height=height, **(NAMED if named else {})))
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
            hovertemplate="%{y}: %{x:,.0f}" + ("" if named else "<extra></extra>"),
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
    finding = Filled(
        "{right} of {intervals} intervals hold the truth.", right=right, intervals=len(rows)
    )
    if estimated := [row for row in rows if row["estimate"] is not None]:
        clearest = min(estimated, key=_relative_width)
        filling = {
            "right": right,
            "intervals": len(rows),
            "query": clearest["query"],
            "interval": _interval(clearest),
            "truth": clearest["truth"],
        }
        if len({row["group"] for row in rows}) > 1:
            finding = Filled(
                "{right} of {intervals} intervals hold the truth: “{query}” is counted {interval} "
                "times in {group}, and is there {truth:,.0f} times.",
                group=clearest["group"],
                **filling,
            )
        else:
            finding = Filled(
                "{right} of {intervals} intervals hold the truth: “{query}” is counted {interval} "
                "times, and is there {truth:,.0f} times.",
                **filling,
            )
    lines = (
        Filled(
            "{query} ({group}): {interval}, truth {truth:,.0f}",
            query=row["query"],
            group=row["group"],
            interval=_interval(row),
            truth=row["truth"],
        )
        for row in rows
    )
    how = Filled("Intervals of 95 %, for all words of the lexicon at once.")
    return Caption(finding, listed((how, *lines), "\n"))


def _relative_width(row: Mapping[str, Any]) -> float:
    return float(row["high"] - row["low"]) / max(float(row["estimate"]), 1.0)


@as_numeral
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

    figure = go.Figure(layout=base_layout(height=460, **NAMED))
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


def counts_by_texts(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw how often a query was counted in more and more texts, and how often it was written.

    Args:
        rows: of one query, from `dpcore.crowd.shown.drawn_counts`.
    """
    import plotly.graph_objects as go

    figure = go.Figure(layout=base_layout(height=420, **NAMED))
    groups = list(dict.fromkeys(str(row["group"]) for row in rows))
    for number, group in enumerate(groups):
        own = [row for row in rows if row["group"] == group]
        # Beside each other: bars of two groups at one place would hide each other.
        aside = 1.06 ** (number - 0.5 * (len(groups) - 1))
        x = [row["texts"] * aside for row in own]
        low, middle, high, truth = (
            [1000.0 * value / row["words"] for row, value in zip(own, values, strict=True)]
            for values in (
                [row["low"] for row in own],
                [_middle(row) for row in own],
                [row["high"] for row in own],
                [row["truth"] for row in own],
            )
        )
        colour, mark = _COLOURS[number % 5], _MARKS[number % 5]
        figure.add_scatter(
            x=x,
            y=middle,
            error_y={
                "type": "data",
                "array": [top - y for top, y in zip(high, middle, strict=True)],
                "arrayminus": [y - bottom for y, bottom in zip(middle, low, strict=True)],
            },
            customdata=[row["texts"] for row in own],
            mode="markers",
            name=plain(group),
            marker={"color": colour, "symbol": mark, "size": 8},
            hovertemplate="%{customdata:,} texts: %{y:.3f} of 1,000 words",
        )
        figure.add_scatter(
            x=x,
            y=truth,
            mode="markers",
            name="truth",
            showlegend=number == 0,
            marker={"color": colour, "symbol": "circle-open", "size": 15},
            hovertemplate="%{y:.3f} of 1,000 words",
        )
    figure.update_xaxes(axis("number of texts", type="log", **_decades(x[0], x[-1])))
    # Where little is known bars are long: they may leave the frame, so that the others are seen.
    tops = [1000.0 * row["high"] / row["words"] for row in rows]
    truths = [1000.0 * row["truth"] / row["words"] for row in rows]
    narrowest = min(top - true for top, true in zip(tops, truths, strict=True))
    frame = min(max(tops), max(4.0 * max(truths), 10.0 * narrowest))
    figure.update_yaxes(axis("of 1,000 words", range=(0.0, 1.05 * frame)))
    return figure


def errors_by_texts(
    texts: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    wanted: float,
    needed: Sequence[int | None],
) -> go.Figure:
    """Draw how the error of each query falls with the number of texts.

    Args:
        texts: numbers of texts, ascending.
        errors: by query, the relative half width of its interval in each of them.
        wanted: the error that is marked.
        needed: number of texts for it, by query; None where no number is enough.
    """
    import plotly.graph_objects as go

    figure = go.Figure(layout=base_layout(height=380))
    for number, (query, own) in enumerate(errors.items()):
        figure.add_scatter(
            x=list(texts),
            y=[100.0 * error for error in own],
            mode="lines",
            name=plain(query),
            line={"color": _COLOURS[number % 5], "dash": _DASHES[number % 5], "width": 2},
            hovertemplate="%{x:,.0f} texts: %{y:.3g} %",
        )
    met = [number for number in needed if number is not None]
    figure.add_scatter(
        x=met,
        y=[100.0 * wanted] * len(met),
        mode="markers",
        name="wanted",
        marker={"color": GREY, "symbol": "circle-open", "size": 13},
        hovertemplate="%{x:,.0f} texts: %{y:.3g} %",
    )
    figure.update_xaxes(axis("number of texts", type="log", **_decades(texts[0], texts[-1])))
    figure.update_yaxes(
        axis("error, ±% of the count", type="log", tickvals=_PERCENTS, range=(-0.1, 3.1))
    )
    return figure


def accuracy_by_texts(
    lines: Mapping[str, Sequence[tuple[int, float, float, float]]], marked: tuple[int, float] | None
) -> go.Figure:
    """Draw how well a classifier reads that learned from more and more texts.

    Args:
        lines: by name, number of texts, accuracy and its interval; the first is without privacy.
        marked: number of texts and accuracy that are ringed.
    """
    import plotly.graph_objects as go

    figure = go.Figure(layout=base_layout(height=420, **NAMED))
    colours = (GREY, *_COLOURS[:4])
    for number, (name, points) in enumerate(lines.items()):
        middle = [100.0 * mean for _, mean, _, _ in points]
        figure.add_scatter(
            x=[texts for texts, *_ in points],
            y=middle,
            error_y={
                "type": "data",
                "array": [100.0 * (high - mean) for _, mean, _, high in points],
                "arrayminus": [100.0 * (mean - low) for _, mean, low, _ in points],
            },
            mode="lines+markers",
            name=plain(name),
            line={"color": colours[number % 5], "dash": _DASHES[number % 5], "width": 2},
            marker={"symbol": _MARKS[number % 5], "size": 7},
            hovertemplate="%{x:,} texts: %{y:.1f} %",
        )
    if marked is not None:
        figure.add_scatter(
            x=[marked[0]],
            y=[100.0 * marked[1]],
            mode="markers",
            showlegend=False,
            marker={"color": GREY, "symbol": "circle-open", "size": 15},
            hovertemplate="%{x:,} texts: %{y:.1f} %",
        )
    texts = [point[0] for points in lines.values() for point in points]
    figure.update_xaxes(axis("number of texts", type="log", **_decades(min(texts), max(texts))))
    figure.update_yaxes(axis("% of clean texts read correctly"))
    return figure


def _decades(low: float, high: float) -> dict[str, Any]:
    """Return ticks at the powers of ten, as whole numbers."""
    powers = range(math.ceil(math.log10(low) - 0.1), math.floor(math.log10(high)) + 1)
    return {
        "tickvals": [10**power for power in powers],
        "ticktext": [f"{10**power:,}" for power in powers],
    }
