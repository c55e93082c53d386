"""The privacy profile of noise: δ against ε as a claim allows it, and as it is."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.captions import Caption
from dpcore.plots.layout import LEGEND_CLOSE, axis, number
from dpcore.plots.style import BLUE, GREY, VERMILION
from dpcore.plots.traces import drawn, line

_ROUNDING = 1e-7  # δ below which the numerical error of a profile may be all of it
_FLOOR = 1e-12  # below it a curve on a logarithmic axis ends


def profile_figure(table: pd.DataFrame) -> go.Figure:
    """Two curves: what the claim allows (dash), what is true (solid), and the claimed ε.

    Args:
        table: the columns of `dpcore.papers.claimed`.

    Returns:
        A figure; the axis of δ is logarithmic where the claim has a δ that it can show.
    """
    claimed = float(table["claimed_epsilon"].iloc[0])
    logarithm = _logarithmic(table)
    least = _FLOOR if logarithm else -1.0
    broken = _excess(table) is not None
    hover = "ε = %{x:.4g}: δ = %{y:.4g}<extra></extra>"
    traces = [
        line(
            table["epsilon"],
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
    figure = drawn(
        traces,
        height=360,
        legend=LEGEND_CLOSE,
        xaxis=axis("ε (odds of e^ε)", rangemode="tozero"),
        yaxis=axis("δ(ε): probability not covered", **scale),
    )
    figure.add_vline(x=claimed, line={"color": GREY, "width": 1, "dash": "dot"})
    return figure


def profile_caption(table: pd.DataFrame) -> Caption:
    """What the figure shows, in numbers of the same table."""
    epsilon, delta = (float(table[f"claimed_{name}"].iloc[0]) for name in ("epsilon", "delta"))
    row, start = table[table["epsilon"] == epsilon].iloc[0], table.iloc[0]
    claim = f"({number(epsilon)}, {number(delta)})" if delta > 0 else f"ε = {number(epsilon)}"
    text = (
        "δ(ε), the probability that odds of e^ε do not cover, for two clipped vectors as far apart "
        f"as they can be. The claim is {claim}. At the claimed ε, the dotted line, the true δ is "
    )
    if row["high"] <= _ROUNDING and delta == 0:
        text += f"0 within the numerical error {number(float(row['high'] - row['low']))}"
    else:
        text += number(float(row["low"]))
    least, allowed = (number(float(start[name])) for name in ("low", "allowed"))
    text += (
        f"; at ε = 0, where δ is the advantage of the best test, it is {least} and the claim "
        f"allows {allowed}."
    )
    excess = _excess(table)
    if excess is None:
        finding = f"The claim {claim} holds here: the true δ is nowhere above what it allows."
        how = text + " At none of the ε drawn is the true curve above what the claim allows."
        return Caption(finding, how)
    finding = (
        f"The claim {claim} does not hold: the true δ is above what it allows from "
        f"ε = {number(excess[0])} to {number(excess[1])}."
    )
    return Caption(
        finding,
        text + " Of the ε drawn, the true curve is above what the claim allows from "
        f"ε = {number(excess[0])} to {number(excess[1])}.",
    )


def _excess(table: pd.DataFrame) -> tuple[float, float] | None:
    """First and last ε at which the true δ is above the allowed one; None: nowhere."""
    above = table[table["low"] > table["allowed"] * (1 + 1e-6) + 1e-15]["epsilon"]
    return (float(above.min()), float(above.max())) if len(above) else None


def _logarithmic(table: pd.DataFrame) -> bool:
    return bool(_FLOOR < table["claimed_delta"].iloc[0] < 0.01)
