"""Figures of audits: pairs that ADePT's noise leaves uncovered (Habernal 2021), and profiles."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import (
    BLUE,
    GREEN,
    GREY,
    LEGEND_CLOSE,
    VERMILION,
    Caption,
    Style,
    axis,
    faint,
    number,
    percent,
    plain,
)
from dpcore.plots.traces import band, curve, draw_figure, line
from dpcore.written import Filled, Named, listed

SHARE_COLUMNS = ("distribution", "clipping", "dimension", "pairs", "share", "low", "high")
"""One row for each distribution, clipping (L2 or L1) and dimension; `low` and `high` bound the
share."""
GEOMETRY_COLUMNS = ("shape", "order", "x", "y")
"""Points in the order in which a shape is drawn, in units of C."""

_LOOKS = (
    Style(VERMILION, "solid", "circle"),
    Style(BLUE, "dash", "square"),
    Style(GREEN, "dot", "diamond"),
)


def exceeding_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the share of pairs against the dimension, one line a distribution, with 95 % intervals.

    The control, clipped by the L1 norm, is one grey line.
    """
    traces: list[go.Scatter] = []
    hover = "n = %{x}: %{y:.2%}<extra></extra>"
    groups = table[table["clipping"] == "L2"].groupby("distribution", sort=False)
    for look, (name, rows) in zip(_LOOKS, groups, strict=False):
        n, name = rows["dimension"], plain(str(name))
        traces += band(n, rows["low"], rows["high"], look.colour, showlegend=False)
        traces.append(curve(n, rows["share"], look, hover, width=2, size=5, name=name))
    control = table[table["clipping"] == "L1"].groupby("dimension")["share"].max()
    if len(control):
        places = control.index.tolist()
        traces.append(line(places, control, "clipped by the L1 norm", dash="longdash", hover=hover))
    return draw_figure(
        traces,
        height=380,
        legend=LEGEND_CLOSE,
        xaxis=axis("dimension n of the latent vector", type="log", dtick=math.log10(2)),
        yaxis=axis("pairs that are not covered", tickformat=".0%", range=[-0.02, 1.05]),
    )


def exceeding_caption(table: pd.DataFrame) -> Caption:
    """Describe the figure, in numbers of the same table."""
    clipped = table[table["clipping"] == "L2"]
    parts = []
    for name, rows in clipped.groupby("distribution", sort=False):
        half = rows[rows["share"] >= 0.5]["dimension"]
        last = rows.iloc[-1]
        if len(half):
            parts.append(
                Filled(
                    "{name}: half of the pairs from n = {dimension}",
                    name=Named(str(name)),
                    dimension=int(half.min()),
                )
            )
        else:
            parts.append(
                Filled(
                    "{name}: {share} at n = {dimension}",
                    name=Named(str(name)),
                    share=percent(last["share"]),
                    dimension=int(last["dimension"]),
                )
            )
    how = [
        Filled(
            "Share of {pairs:,} pairs whose clipped vectors are more than 2C apart in the L1 norm, "
            "so that noise of scale 2C/ε does not cover them. {parts}.",
            pairs=int(table["pairs"].iloc[0]),
            parts=listed(parts, "; "),
        )
    ]
    last = clipped[clipped["dimension"] == clipped["dimension"].max()]
    most = last.iloc[int(last["share"].argmax())]
    filling = {
        "dimension": int(most["dimension"]),
        "share": most["share"],
        "distribution": Named(str(most["distribution"])),
    }
    finding = Filled(
        "In {dimension} dimensions the noise leaves {share:.0%} of the pairs uncovered "
        "({distribution}).",
        **filling,
    )
    control = table[table["clipping"] == "L1"]
    if len(control):
        worst = float(control["share"].max())
        how.append(Filled("Clipped by the L1 norm: at most {share}.", share=percent(worst)))
        finding = Filled(
            "In {dimension} dimensions the noise leaves {share:.0%} of the pairs uncovered "
            "({distribution}); after clipping by the L1 norm at most {worst:.0%}.",
            worst=worst,
            **filling,
        )
    how.append(
        Filled(
            "Bands are 95 % intervals, each for itself: the points of a line share their vectors."
        )
    )
    return Caption(finding, listed(how, " "))


def geometry_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the disc of clipped vectors, the square that the noise covers, and the worst pair."""
    looks: dict[str, dict[str, Any]] = {
        "disc": {
            "name": "clipped by the L2 norm",
            "line": {"color": BLUE, "width": 2},
            "fill": "toself",
            "fillcolor": faint(BLUE),
        },
        "covered square": {
            "name": "covered by the noise",
            "line": {"color": GREEN, "width": 2, "dash": "dash"},
        },
        "square around the disc": {
            "name": "what the noise must cover",
            "line": {"color": GREY, "width": 2, "dash": "dot"},
        },
        "worst pair": {
            "name": "worst pair",
            "mode": "lines+markers",
            "line": {"color": VERMILION, "width": 3},
            "marker": {"size": 11, "symbol": "diamond"},
        },
    }
    hover = "(%{x:.3g}, %{y:.3g})<extra></extra>"
    traces = [
        go.Scatter({"mode": "lines"} | looks[str(shape)]).update(
            x=rows["x"].tolist(), y=rows["y"].tolist(), hovertemplate=hover
        )
        for shape, rows in table.sort_values("order").groupby("shape", sort=False)
    ]
    return draw_figure(
        traces,
        height=420,
        legend=LEGEND_CLOSE,
        xaxis=axis("first coordinate / C", range=[-1.6, 1.6], constrain="domain"),
        yaxis=axis("second coordinate / C", scaleanchor="x", range=[-1.6, 1.6]),
    )


def geometry_caption(table: pd.DataFrame) -> Caption:
    """Describe the figure, in numbers of the same table."""
    pair = table[table["shape"] == "worst pair"].sort_values("order")
    across, up = (abs(float(pair[c].iloc[0] - pair[c].iloc[1])) for c in ("x", "y"))
    apart = number(across + up)
    how = Filled(
        "Two vectors clipped to Euclidean norm C: the worst pair is {across}·C apart in each "
        "coordinate, {apart}·C in the L1 norm; the published noise covers 2·C. In n dimensions it "
        "is 2√n·C.",
        across=number(across),
        apart=apart,
    )
    finding = Filled(
        "The worst pair is {apart}·C apart in the L1 norm; the published noise covers 2·C.",
        apart=apart,
    )
    return Caption(finding, how)


# The privacy profile of noise: the δ that a claim allows and the true δ, against ε.


_ROUNDING = 1e-7  # δ below which the numerical error of a profile may be all of it
_FLOOR = 1e-12  # below it a curve on a logarithmic axis ends


def profile_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the δ that the claim allows (dash), the true δ (solid), and the claimed ε.

    Args:
        table: the columns of `dpcore.papers.claims`.

    Returns:
        A figure; the axis of δ is logarithmic where the claim has a δ that it can show.
    """
    claimed = float(table["claimed_epsilon"].iloc[0])
    logarithm = bool(_FLOOR < table["claimed_delta"].iloc[0] < 0.01)
    least = _FLOOR if logarithm else -1.0
    broken = _excess(table) is not None
    hover = "ε = %{x:.4g}: δ = %{y:.4g}<extra></extra>"
    traces = [
        line(
            table["epsilon"],
            # On a logarithmic axis a curve ends at the floor instead of falling out of the figure.
            [y if y > least else None for y in table[column].tolist()],
            name,
            colour=colour,
            dash=dash,
            width=width,
            hover=hover,
        )
        for name, column, colour, dash, width in (
            ("the claim allows at most", "allowed", GREY, "dash", 2),
            ("true δ of the noise", "low", VERMILION if broken else BLUE, "solid", 3),
        )
    ]
    scale = {"type": "log", "exponentformat": "power"} if logarithm else {"rangemode": "tozero"}
    figure = draw_figure(
        traces,
        height=360,
        legend=LEGEND_CLOSE,
        xaxis=axis("ε (odds of e^ε)", rangemode="tozero"),
        yaxis=axis("δ(ε): probability not covered", **scale),
    )
    figure.add_vline(x=claimed, line={"color": GREY, "width": 1, "dash": "dot"})
    return figure


def profile_caption(table: pd.DataFrame) -> Caption:
    """Describe the figure, in numbers of the same table."""
    epsilon, delta = (float(table[f"claimed_{name}"].iloc[0]) for name in ("epsilon", "delta"))
    row, start = table[table["epsilon"] == epsilon].iloc[0], table.iloc[0]
    claim = Filled("ε = {epsilon}", epsilon=number(epsilon))
    if delta > 0:
        claim = Filled("({epsilon}, {delta})", epsilon=number(epsilon), delta=number(delta))
    # A δ that cannot be told from 0 is not printed as if it had been found.
    true: str = number(float(row["low"]))
    if row["high"] <= _ROUNDING and delta == 0:
        true = Filled(
            "0 within the numerical error {error}", error=number(float(row["high"] - row["low"]))
        )
    how = Filled(
        "δ(ε), the probability that odds of e^ε do not cover, for two clipped vectors as far apart "
        "as they can be. The claim is {claim}. At the claimed ε, the dotted line, the true δ is "
        "{true}; at ε = 0, where δ is the advantage of the best test, it is {least} and the claim "
        "allows {allowed}.",
        claim=claim,
        true=true,
        least=number(float(start["low"])),
        allowed=number(float(start["allowed"])),
    )
    excess = _excess(table)
    if excess is None:
        finding = Filled(
            "The claim {claim} holds here: the true δ is nowhere above what it allows.", claim=claim
        )
        drawn = Filled("At none of the ε drawn is the true curve above what the claim allows.")
        return Caption(finding, listed((how, drawn), " "))
    first, last = map(number, excess)
    finding = Filled(
        "The claim {claim} does not hold: the true δ is above what it allows from ε = {first} to "
        "{last}.",
        claim=claim,
        first=first,
        last=last,
    )
    drawn = Filled(
        "Of the ε drawn, the true curve is above what the claim allows from ε = {first} to {last}.",
        first=first,
        last=last,
    )
    return Caption(finding, listed((how, drawn), " "))


def _excess(table: pd.DataFrame) -> tuple[float, float] | None:
    """Return the first and last ε at which the true δ is above the allowed one; None: nowhere."""
    # The lower end of the true δ, and a margin for rounding: equal is not above.
    above = table[table["low"] > table["allowed"] * (1 + 1e-6) + 1e-15]["epsilon"]
    return (float(above.min()), float(above.max())) if len(above) else None
