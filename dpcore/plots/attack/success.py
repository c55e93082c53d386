"""Success of attackers: against ε, against an author's words, and against repeated releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd
import plotly.graph_objects as go

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.attack.words import share_at_most, share_text
from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    LEGEND_CLOSE,
    SCALES,
    VERMILION,
    Caption,
    Style,
    axis,
    number,
    plain,
)
from dpcore.plots.traces import curve, draw_figure, outline, rule, upright
from dpcore.written import Filled, Named, as_numeral, listed

COLUMNS = ("attacker", "epsilon", "right", "low", "high")
"""One row for each attacker and ε, ε ascending: share of right guesses and its interval."""

_LOOKS = (
    Style(VERMILION, "solid", "circle"),
    Style(BLUE, "dash", "square"),
    Style(GREEN, "dot", "diamond"),
    Style(GREY, "dashdot", "x"),
)

_TOPS = (5.0, 10.0, 20.0, 50.0, 100.0)  # ends of the axis: small shares are to be seen as well


def success_figure(
    table: pd.DataFrame, meaning: EpsilonMeaning, epsilon: float | None = None
) -> go.Figure:
    """Draw the curves with their intervals as bands, and the chosen ε as a line.

    Args:
        table: the columns `COLUMNS`; at most four attackers.
        meaning: of ε, which the axis is labelled by.
        epsilon: the chosen ε; None for none.
    """
    logarithm = meaning is EpsilonMeaning.METRIC_LOG
    traces: list[go.Scatter] = []
    names = [str(name) for name in dict.fromkeys(table["attacker"].tolist())]
    for name, look in zip(names, _LOOKS, strict=False):
        rows = table[table["attacker"] == name]
        epsilons = rows["epsilon"].tolist()
        x = _places(epsilons, logarithm)
        right, low, high = ((100 * rows[column]).tolist() for column in ("right", "low", "high"))
        hover = "%{fullData.name}<br>ε = %{customdata:.4~g}: %{y:.3g} in 100<extra></extra>"
        traces.append(outline(x, low, high, look.colour))
        traces.append(curve(x, right, look, hover, shown=16, name=plain(name), customdata=epsilons))
    top = next(end for end in _TOPS if end >= min(100 * table["high"].max(), 100.0))
    shapes = []
    if epsilon is not None:
        (place,) = _places([epsilon], logarithm)
        shapes.append(rule(2, "dot", **upright(place)))
    return draw_figure(
        traces,
        height=320 + 22 * len(names),
        showlegend=len(names) > 1,
        legend=LEGEND_CLOSE,
        shapes=shapes,
        xaxis=axis(SCALES[meaning].axis, type="linear" if logarithm else "log"),
        yaxis=axis("right guesses in 100", range=[-0.03 * top, 1.03 * top]),
    )


def success_caption(table: pd.DataFrame, epsilon: float | None = None) -> Caption:
    """Describe the success of each attacker at a measured ε, or else where they differ most."""
    names = list(dict.fromkeys(table["attacker"].tolist()))
    if epsilon is None or not (table["epsilon"] == epsilon).any():
        epsilon = _widest(table, names)
    here = table[table["epsilon"] == epsilon]
    shares = listed(
        (
            Filled("{name}: {value}", name=Named(str(row.attacker)), value=_share(row))
            for row in here.itertuples()
        ),
        "; ",
    )
    ranked = here.sort_values("right", ascending=False, kind="stable")
    best, worst = (
        (Named(str(row["attacker"])), share_text(row["right"]))
        for row in (ranked.iloc[0], ranked.iloc[-1])
    )
    if len(ranked) == 1:
        finding = Filled(
            "At ε = {epsilon}, “{best}” guesses {most}.",
            epsilon=number(epsilon),
            best=best[0],
            most=best[1],
        )
    else:
        finding = Filled(
            "At ε = {epsilon}, “{best}” guesses {most}, “{worst}” {least}.",
            epsilon=number(epsilon),
            best=best[0],
            most=best[1],
            worst=worst[0],
            least=worst[1],
        )
    how = Filled(
        "Right guesses at ε = {epsilon}: {shares}.", epsilon=number(epsilon), shares=shares
    )
    return Caption(finding, how)


@as_numeral
def _share(row: object) -> str:
    right, low, high = (float(getattr(row, name)) for name in ("right", "low", "high"))
    if low == high:
        return share_text(right)
    return f"{number(100 * right)} in 100 ({number(100 * low)} to {number(100 * high)})"


def _widest(table: pd.DataFrame, names: Sequence[str]) -> float:
    """Return the ε at which attackers differ most; with one attacker the middle of its range."""
    by_epsilon = table.groupby("epsilon")["right"]
    if len(names) == 1:
        apart = -(by_epsilon.mean() - 0.5).abs()
    else:
        apart = by_epsilon.max() - by_epsilon.min()
    return float(apart.index[int(apart.argmax())])


def _places(epsilons: Sequence[float], logarithm: bool) -> list[float]:
    return [math.log(value) if logarithm else value for value in epsilons]


FOUND = ("release", "words", "found", "low", "high", "authors")
"""One row for each release and number of released words, words ascending: share of the authors who
are found, its interval, and the number of authors with so many words."""
_MANY = 50  # authors on whom a finding may rest: its interval is 14 of 100 to either side at most


def found_figure(table: pd.DataFrame, chance: float) -> go.Figure:
    """Draw the share of authors who are found over the words that each released, by release.

    Args:
        table: the columns `FOUND`; at most four releases.
        chance: share that is found by chance; a dotted line.
    """
    traces: list[go.Scatter] = []
    names = [str(name) for name in dict.fromkeys(table["release"].tolist())]
    for name, look in zip(names, _LOOKS, strict=False):
        rows = table[table["release"] == name]
        words = rows["words"].tolist()
        found, low, high = ((100 * rows[column]).tolist() for column in ("found", "low", "high"))
        hover = (
            "%{fullData.name}<br>%{x} words: %{y:.3g} of 100 (%{customdata} authors)<extra></extra>"
        )
        traces.append(outline(words, low, high, look.colour))
        traces.append(
            curve(words, found, look, hover, name=plain(name), customdata=rows["authors"].tolist())
        )
    lines = table["words"].drop_duplicates().tolist()
    return draw_figure(
        traces,
        height=320 + 22 * len(names),
        legend=LEGEND_CLOSE,
        shapes=[rule(2, "dot", xref="paper", x0=0, x1=1, y0=100 * chance, y1=100 * chance)],
        xaxis=axis(
            "released words of each author",
            type="log",
            tickvals=lines,
            ticktext=[f"{words:g}" for words in lines],
        ),
        yaxis=axis("authors found, of 100", range=[-3, 103]),
    )


def found_caption(table: pd.DataFrame, chance: float) -> Caption:
    """Describe how many authors are found, first at the most words that many authors released."""
    names = list(dict.fromkeys(table["release"].tolist()))
    told = [
        Filled("{name}: {points}.", name=Named(str(name)), points=listed(_found(rows), "; "))
        for name, rows in ((name, table[table["release"] == name]) for name in names)
    ]
    last = table[table["release"] == names[-1]]
    many = last[last["authors"] >= min(_MANY, last["authors"].max())].iloc[-1]
    finding = Filled(
        "“{name}”, {words:g} words: {found} of 100 authors are found, {chance} by chance (dotted).",
        name=Named(str(names[-1])),
        words=many["words"],
        found=number(100 * many["found"]),
        chance=number(100 * chance),
    )
    return Caption(finding, Filled("Authors found, of 100. {told}", told=listed(told, " ")))


def _found(rows: pd.DataFrame) -> Iterator[Filled]:
    for row in rows.itertuples():
        shares = {end: number(100 * getattr(row, end)) for end in ("found", "low", "high")}
        yield Filled(
            "{words:g} words: {found} ({low} to {high}; {authors} authors)",
            words=row.words,
            authors=row.authors,
            **shares,
        )


RELEASED = ("curve", "releases", "right", "low", "high")
"""One row for each curve and number of releases of a word, ascending: share of right guesses and
its interval. The curves are `FRESH`, `MEMOISED` and `ALLOWED`."""
FRESH, MEMOISED, ALLOWED = "fresh noise", "memoised answers", "allowed by the guarantee"
_RELEASED_LOOKS = {
    FRESH: Style(VERMILION, "solid", "circle"),
    MEMOISED: Style(BLUE, "dash", "square"),
    ALLOWED: Style(GREY, "dot", "x"),
}


def released_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the share of words that is guessed after 1, 2, 4, … releases, on a log₂ axis.

    Args:
        table: the columns `RELEASED`.
    """
    traces: list[go.Scatter] = []
    for name, look in _RELEASED_LOOKS.items():
        rows = table[table["curve"] == name]
        releases = rows["releases"].tolist()
        right, low, high = ((100 * rows[column]).tolist() for column in ("right", "low", "high"))
        if low != high:
            traces.append(outline(releases, low, high, look.colour))
        hover = "%{fullData.name}<br>%{x} releases: %{y:.3g} of 100<extra></extra>"
        traces.append(curve(releases, right, look, hover, shown=16, name=name))
    most = int(table["releases"].max())
    ticks = [2**power for power in range(most.bit_length())]
    return draw_figure(
        traces,
        height=386,
        legend=LEGEND_CLOSE,
        xaxis=axis(
            "releases of one word",
            type="log",
            tickvals=ticks,
            ticktext=[f"{tick}" for tick in ticks],
        ),
        yaxis=axis("words guessed, of 100", range=[-3, 103]),
    )


def released_caption(table: pd.DataFrame) -> Caption:
    """Describe what is guessed after the most releases, with fresh noise and memoised."""
    fresh, memoised, allowed = (
        table[table["curve"] == name].sort_values("releases") for name in _RELEASED_LOOKS
    )
    last, once, bound = fresh.iloc[-1], memoised.iloc[0], allowed.iloc[0]
    releases = int(last["releases"])
    finding = Filled(
        "Fresh noise: {after} words are guessed after {releases} releases; memoised answers: "
        "{once} words.",
        after=share_text(last["right"]),
        releases=releases,
        once=share_text(once["right"]),
    )
    doubled = fresh[fresh["releases"].isin([2**power for power in range(releases.bit_length())])]
    points = listed(
        (
            Filled("{releases}: {value}", releases=row.releases, value=_share(row))
            for row in doubled.itertuples()
        ),
        "; ",
    )
    how = Filled(
        "Words guessed by releases with fresh noise, by the best attacker, who sees all outputs of "
        "the word: {points}. The guarantee of one release alone would allow {allowed} words.",
        points=points,
        allowed=share_at_most(bound["right"], certain=False),
    )
    return Caption(finding, how)
