"""Two words at one ε: how often each stays, one curve a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plots.layout import axis, base_layout, number, plain
from dpcore.plots.style import name_tag, short_name, style_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import plotly.graph_objects as go

COLUMNS = ("mechanism", "epsilon", "word", "other", "nw", "standard_error", "method")
"""The columns that are used here: one row a mechanism, ε and word, the rows of the first word of a
mechanism before those of the second, ε ascending; `standard_error` is that of `nw`."""

_GREY = "#7A8691"


def pair_figure(table: pd.DataFrame, at: Mapping[str, float]) -> go.Figure:
    """Nw of the second word over Nw of the first, along ε: on the diagonal both stay as often.

    Since neither axis is ε, mechanisms whose ε means different things may share the figure.

    Args:
        table: the columns `COLUMNS`, of one pair of words.
        at: the chosen ε of each mechanism: a ring on its curve.

    Returns:
        A figure with one trace a mechanism, the diagonal and the rings.
    """
    import plotly.graph_objects as go

    words = _words(table)
    diagonal = go.Scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        hoverinfo="skip",
        line={"width": 2, "dash": "dot", "color": _GREY},
    )
    traces, rings = [diagonal], []
    for key, first, second in _curves(table):
        style = style_of(key)
        traces.append(
            go.Scatter(
                x=first["nw"].round(5).tolist(),
                y=second["nw"].round(5).tolist(),
                customdata=[f"{value:.4g}" for value in first["epsilon"]],
                name=name_tag(key),
                mode="lines+markers",
                line={"color": style.colour, "dash": style.dash, "width": 2.5},
                marker={"symbol": style.marker, "size": 8, "maxdisplayed": 12},
                hovertemplate=(
                    "ε = %{customdata}<br>"
                    + "<br>".join(
                        f"{plain(word)} stays: %{{{a}:.3g}}"
                        for word, a in zip(words, "xy", strict=True)
                    )
                ),
            )
        )
        here = (first["epsilon"] == at.get(key)).to_numpy()
        rings += [
            (float(x), float(y), style.colour)
            for x, y in zip(first["nw"][here], second["nw"].to_numpy()[here], strict=True)
        ]
    traces.append(
        go.Scatter(
            x=[ring[0] for ring in rings],
            y=[ring[1] for ring in rings],
            mode="markers",
            hoverinfo="skip",
            showlegend=False,
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": [ring[2] for ring in rings],
                "line": {"width": 3},
            },
        )
    )
    diagonal.name = "both stay as often"
    span = [-0.03, 1.03]
    return go.Figure(
        traces,
        base_layout(
            height=420,
            margin={"l": 8, "r": 16, "t": 34, "b": 8},
            dragmode=False,
            showlegend=True,
            legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
            xaxis=axis(f"Nw of “{plain(words[0])}”", range=span, fixedrange=True),
            yaxis=axis(f"Nw of “{plain(words[1])}”", range=span, fixedrange=True),
        ),
    )


def pair_caption(table: pd.DataFrame, at: Mapping[str, float]) -> str:
    """Which mechanism treats the two words differently, in the numbers of the figure.

    Args:
        table: the columns `COLUMNS`.
        at: the chosen ε of each mechanism.
    """
    one, two = _words(table)
    said, gaps = [], {}
    for key, first, second in _curves(table):
        name = short_name(key)
        gap = second["nw"].to_numpy() - first["nw"].to_numpy()
        widest = int(abs(gap).argmax())
        gaps[name] = abs(gap[widest])
        here = first["epsilon"].to_numpy() == at.get(key)
        now = (
            f"at ε = {number(at[key])} “{one}” stays with probability {_of(first, here)}, “{two}” "
            f"with {_of(second, here)}; "
            if here.any()
            else ""
        )
        said.append(
            f"{name}: {now}over all ε the two are at most {gaps[name]:.2g} apart "
            f"(at ε = {number(float(first['epsilon'].iloc[widest]))})."
        )
    return " ".join([_verdict(gaps, one, two), *said])


def _verdict(gaps: dict[str, float], one: str, two: str) -> str:
    ordered = sorted(gaps, key=lambda name: -gaps[name])
    first, last = ordered[0], ordered[-1]
    start = f"The same ε treats “{one}” and “{two}” most differently under {first}"
    if len(ordered) == 1:  # nothing to compare with
        return f"{start} ({gaps[first]:.2g} between their chances to stay)."
    return f"{start} ({gaps[first]:.2g}) and least under {last} ({gaps[last]:.2g})."


def _of(rows: pd.DataFrame, here: object) -> str:
    row = rows[here].iloc[0]
    error = "" if row["method"] == "exact" else f" ± {2 * row['standard_error']:.1g}"
    return f"{row['nw']:.3g}{error}"


def _words(table: pd.DataFrame) -> tuple[str, str]:
    return str(table["word"].iloc[0]), str(table["other"].iloc[0])


def _curves(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Mechanism, the rows of the first word and those of the second."""
    one, _ = _words(table)
    return [
        (str(key), rows[rows["word"] == one], rows[rows["word"] != one])
        for key, rows in table.groupby("mechanism", sort=False)
    ]
