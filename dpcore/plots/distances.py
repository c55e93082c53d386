"""The true distances beside a map: one tick a neighbour, and the length of the noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plots.layout import axis, base_layout, number, plain
from dpcore.plots.maps import COLOURS

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

DISTANCE_COLUMNS = ("source", "word", "neighbour", "distance")
"""One row a neighbour of a or b; `distance` in the unit of the vectors."""

NOISE_COLUMNS = ("title", "colour", "low", "median", "high")
"""One row a mechanism: 5 %, 50 % and 95 % quantile of the length of its noise at one ε."""

_LOG_FROM = 5.0


def distance_strip_figure(distances: pd.DataFrame, noise: pd.DataFrame | None = None) -> go.Figure:
    """Draw the true distances of the nearest words of one or two words, in one scale.

    Args:
        distances: the columns `DISTANCE_COLUMNS`.
        noise: the columns `NOISE_COLUMNS`, or None if no mechanism adds noise to vectors.

    Returns:
        A figure with one row a word, one tick a neighbour, and one row a mechanism below. The
        axis is logarithmic if the noise is more than five times as long as the farthest distance.
    """
    import plotly.graph_objects as go

    traces: list[Any] = []
    rows: list[str] = []
    for source, part in distances.groupby("source", sort=False):
        name = f"“{plain(part['word'].iloc[0])}”"
        rows.append(name)
        traces.append(
            go.Scatter(
                x=part["distance"].to_numpy(np.float32),
                y=[name] * len(part),
                customdata=[plain(word) for word in part["neighbour"]],
                mode="markers",
                hovertemplate="%{customdata}<br>distance %{x:.3f}<extra></extra>",
                marker={
                    "symbol": "line-ns-open",
                    "size": 22,
                    "color": COLOURS[str(source)],
                    "line": {"width": 2},
                },
            )
        )
    far = float(distances["distance"].max())
    if noise is not None:
        for _, row in noise.iterrows():
            name = f"{plain(row['title'])}"
            rows.append(name)
            traces.append(_interval(row, name))
        far = max(far, float(noise["high"].max()))
    x: dict[str, Any] = {"range": [0, 1.04 * far]}
    title = "Euclidean distance, in the unit of the vectors"
    if far > _LOG_FROM * float(distances["distance"].max()):
        low = float(distances["distance"].min())
        x = {"range": [math.log10(0.9 * low), math.log10(1.1 * far)], "type": "log", "dtick": "D2"}
        title += " (logarithmic)"
    return go.Figure(
        traces,
        base_layout(
            height=96 + 46 * len(rows),
            margin={"l": 8, "r": 16, "t": 34, "b": 8},
            dragmode=False,
            xaxis=axis(title, fixedrange=True, **x),
            yaxis=axis(
                type="category",
                categoryorder="array",
                categoryarray=rows,
                range=[len(rows) - 0.5, -0.5],
                showgrid=False,
                fixedrange=True,
            ),
        ),
    )


def _interval(row: pd.Series, name: str) -> Any:
    import plotly.graph_objects as go

    low, middle, high = (float(row[column]) for column in ("low", "median", "high"))
    colour = str(row["colour"])
    return go.Scatter(
        x=[low, middle, high],
        y=[name] * 3,
        customdata=["5 % of the draws are shorter", "half of the draws are shorter",
                    "95 % of the draws are shorter"],
        mode="lines+markers",
        hovertemplate="length of the noise %{x:.3g}<br>%{customdata}<extra></extra>",
        line={"color": colour, "width": 9},
        marker={
            "symbol": ["line-ns-open", "circle", "line-ns-open"],
            "size": [18, 15, 18],
            "color": colour,
            "line": {"width": 3, "color": colour},
        },
    )  # fmt: skip


def distance_caption(distances: pd.DataFrame, noise: pd.DataFrame | None = None) -> str:
    """What the strip of true distances shows, from the numbers that it is drawn from.

    Args:
        distances: as `distance_strip_figure`.
        noise: as there.
    """
    said = []
    for _, part in distances.groupby("source", sort=False):
        near = part["distance"]
        first = part.loc[near.idxmin()]
        said.append(
            f"“{first['word']}”: the nearest word is “{first['neighbour']}” at "
            f"{near.min():.2f}, the farthest of {len(part)} at {near.max():.2f}."
        )
    if noise is None:
        said.append("This mechanism adds no noise to vectors: it has no radius to compare.")
        return " ".join(said)
    middle = float(distances["distance"].median())
    for _, row in noise.iterrows():
        said.append(
            f"{row['title']}: the noise is {number(float(row['median']))} long in the median "
            f"(90 % of the draws: {number(float(row['low']))} to {number(float(row['high']))}), "
            f"{float(row['median']) / middle:.3g} times the median of these distances."
        )
    return " ".join(said)
