"""ε-strip: outputs of one word over the whole range of ε, one bar a mechanism."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.style import (
    INK,
    SCALES,
    Caption,
    axis,
    base_layout,
    name_tag,
    plain,
    style_of,
    tint,
)
from dpcore.written import Filled, Named, listed

COLUMNS = (
    "mechanism", "title", "meaning", "word", "from_epsilon", "to_epsilon", "output", "distance",
    "exact",
)  # fmt: skip
"""One row for each piece: `output` comes out for from_epsilon ≤ ε < to_epsilon of this draw;
`distance` is the Euclidean distance of the output from the word, `exact` whether the two ends are
exact."""

_ROW_PIXELS = 44
_PANEL_PIXELS = 84
_SHARES = (0.5, 0.28)  # of the colour in alternating pieces


def strip_figure(
    table: pd.DataFrame, ranges: dict[EpsilonMeaning, tuple[float, float]]
) -> go.Figure:
    """Draw the pieces as labelled bars; each meaning of ε has a panel and an axis of its own.

    Args:
        table: the columns `COLUMNS`; rows of one mechanism are consecutive.
        ranges: the ε to show for each meaning that occurs, low and high; pieces are cut there.

    Returns:
        A figure. Pieces in which the word stays are white, the others are filled in two alternating
        tints of the mechanism's colour.
    """
    groups = [m for m in EpsilonMeaning if m in ranges and (table["meaning"] == m).any()]
    counts = [table.loc[table["meaning"] == m, "mechanism"].nunique() for m in groups]
    height = sum(counts) * _ROW_PIXELS + len(groups) * _PANEL_PIXELS
    figure = go.Figure(layout=base_layout(height=height, barmode="overlay"))
    top = 1.0
    for number, (meaning, count) in enumerate(zip(groups, counts, strict=True), start=1):
        suffix = "" if number == 1 else str(number)
        share = (count * _ROW_PIXELS + _PANEL_PIXELS) / height
        # Most of a panel's height beside its rows is the room for the axis below them.
        domain = (max(0.0, top - share + 0.72 * _PANEL_PIXELS / height), top)
        top -= share
        logarithmic = meaning is EpsilonMeaning.METRIC_LOG
        scale = math.log if logarithmic else math.log10
        figure.layout[f"xaxis{suffix}"] = axis(
            SCALES[meaning].axis,
            range=[scale(epsilon) for epsilon in ranges[meaning]],
            anchor=f"y{suffix}",
            **{} if logarithmic else {"type": "log", "dtick": 1},
        )
        figure.layout[f"yaxis{suffix}"] = axis(
            domain=domain,
            anchor=f"x{suffix}",
            autorange="reversed",
            showgrid=False,
            type="category",
        )
        part = table[table["meaning"] == meaning]
        for key, rows in part.groupby("mechanism", sort=False):
            figure.add_trace(_bars(str(key), rows, ranges[meaning], logarithmic, suffix))
    return figure


_ON_HOVER = ("distance", "from_epsilon", "to_epsilon")
_HOVER = (
    "<b>%{customdata[0]}</b><br>ε %{customdata[2]:,.3~r} to %{customdata[3]:,.3~r}<br>"
    "distance %{customdata[1]:.3g}<extra></extra>"
)
_LAST_HOVER = (
    "<b>%{customdata[0]}</b><br>ε from %{customdata[2]:,.3~r} on<br>"
    "distance %{customdata[1]:.3g}<extra></extra>"
)


def _bars(
    key: str, rows: pd.DataFrame, ends: tuple[float, float], logarithmic: bool, suffix: str
) -> go.Bar:
    style = style_of(key)
    inside = rows[(rows["to_epsilon"] > ends[0]) & (rows["from_epsilon"] < ends[1])]
    # Bars are placed by base and length: on an axis of ln ε both are logarithms, on Plotly's
    # logarithmic axis both are ε.
    start = inside["from_epsilon"].clip(lower=ends[0])
    stop = inside["to_epsilon"].clip(upper=ends[1])
    if logarithmic:
        start, stop = start.map(math.log), stop.map(math.log)
    stays = (inside["output"] == inside["word"]).tolist()
    shares = [0.0 if stay else _SHARES[i % 2] for i, stay in enumerate(stays)]
    labels = [plain(word) for word in inside["output"]]
    return go.Bar(
        orientation="h",
        base=start.tolist(),
        x=(stop - start).tolist(),
        y=[name_tag(key)] * len(inside),
        text=labels,
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="inside",
        customdata=list(zip(labels, *(inside[name].tolist() for name in _ON_HOVER), strict=True)),
        hovertemplate=[
            _LAST_HOVER if math.isinf(to) else _HOVER for to in inside["to_epsilon"].tolist()
        ],
        marker={
            "color": [tint(style.colour, share) for share in shares],
            "line": {"color": style.colour, "width": 1},
        },
        insidetextfont={"color": INK},
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )


def strip_caption(table: pd.DataFrame) -> Caption:
    """Describe the ε-strip of one word: the ε from which it stays, for each mechanism."""
    word = str(table["word"].iloc[0])
    sentences: list[str] = []
    becomes: list[tuple[int, str]] = []
    stay = 0
    for _, rows in table.groupby("mechanism", sort=False):
        title = str(rows["title"].iloc[0])
        last = rows.iloc[-1]
        count = rows.loc[rows["output"] != word, "output"].nunique()
        if last["output"] == word:
            sentence = Filled(
                "{title}: stays from ε = {start:.3g} on, {others} below",
                title=Named(title),
                start=float(last["from_epsilon"]),
                others=_others(count),
            )
        else:
            sentence = Filled(
                "{title}: never stays in this range, {others}",
                title=Named(title),
                others=_others(count),
            )
        sentences.append(sentence)
        becomes.append((count, title))
        stay += bool(last["output"] == word)
    most, title = max(becomes)
    filling = {"word": word, "title": Named(title), "others": _others(most)}
    if len(becomes) > 1:
        finding = Filled(
            "In this draw “{word}” stays at large ε under {stay} of {mechanisms} mechanisms; under "
            "{title} it becomes {others}.",
            stay=stay,
            mechanisms=len(becomes),
            **filling,
        )
    elif stay:
        finding = Filled(
            "In this draw “{word}” stays at large ε; under {title} it becomes {others}.", **filling
        )
    else:
        finding = Filled(
            "In this draw “{word}” never stays at large ε; under {title} it becomes {others}.",
            **filling,
        )
    start = Filled("What this draw makes of “{word}”:", word=word)
    return Caption(finding, listed((start, *sentences), "\n"))


def _others(count: int) -> str:
    if count == 0:
        return Filled("no other word")
    return Filled("1 other word") if count == 1 else Filled("{count} other words", count=count)
