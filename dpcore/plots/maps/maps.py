"""Words on a map, and where the output of a mechanism falls."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.captions import Caption
from dpcore.plots.layout import LEGEND, axis, base_layout, note, percent, plain
from dpcore.plots.style import BLUE, GREY, VERMILION, faint

POINT_COLUMNS = ("word", "x", "y", "role", "kept")
"""One row a point; `role` is background, near_a, near_b, centre_a or centre_b."""

MASS_COLUMNS = ("word", "x", "y", "source", "mass")
"""One row a word that the output may be; `source` is a or b, `mass` its probability."""

COLOURS = {"a": BLUE, "b": VERMILION}
MARKERS = {"a": "circle", "b": "diamond"}
MOST_POINTS = 3_000
"""Background words at the most: a figure stays small enough to be sent at once."""

_HEIGHT = 520
_WHOLE = 64  # pixels across of the marker of a word that holds all the mass
_LABELS = 4  # of each word's most likely outputs
_APART = (0.13, 0.045)  # of the width, across and down: nearer labels would cover each other
_PAD = 0.06
_ASPECT = 1.8  # width by height of the drawing, about


@dataclass(frozen=True, eq=False)
class MapBase:
    """What a map shows at every ε, made once (`map_base`).

    Attributes:
        below: traces under the masses, as plain dicts that Plotly has checked.
        above: traces over them.
        layout: without labels, likewise.
        centres: the rows of the centres.
        names: of the centres by source, for legends.
        width: of the drawing, in units of the map.
    """

    below: tuple[dict[str, Any], ...]
    above: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    centres: pd.DataFrame
    names: dict[str, str]
    width: float


def map_base(points: pd.DataFrame, projection: str) -> MapBase:
    """Draw the points of a map.

    Args:
        points: the columns `POINT_COLUMNS`.
        projection: umap, densmap or pca, for the note on what distances mean.
    """
    centres = points[points["role"].str.startswith("centre")]
    names = {str(row["role"])[-1]: f"“{plain(row['word'])}”" for _, row in centres.iterrows()}
    below = [
        _points(points[points["role"] == role], role, names)
        for role in ("background", "near_a", "near_b")
        if (points["role"] == role).any()
    ]
    x, y = _range(points["x"]), _range(points["y"])
    off = dict.fromkeys(("showticklabels", "showgrid", "showline"), False)
    plane: dict[str, Any] = off | {"ticks": ""}
    layout = base_layout(
        height=_HEIGHT,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        dragmode="pan",
        legend=LEGEND | {"y": 1, "itemsizing": "constant"},
        xaxis=axis(_NOTES.get(projection, _NOTES["umap"]), range=x, **plane),
        yaxis=axis(range=y, scaleanchor="x", scaleratio=1, constrain="domain", **plane),
    )
    drawn = go.Figure(below + [_centre(row) for _, row in centres.iterrows()], layout).to_dict()
    # With equal axes the longer side decides how much of the plane is seen.
    width = max(x[1] - x[0], _ASPECT * (y[1] - y[0]))
    data = drawn["data"]
    return MapBase(
        tuple(data[: len(below)]), tuple(data[len(below) :]), drawn["layout"], centres, names, width
    )


def map_figure(base: MapBase, mass: pd.DataFrame | None = None) -> go.Figure:
    """A map, and how likely each of its words is to be the output.

    Args:
        base: of the map; it does not depend on ε.
        mass: the columns `MASS_COLUMNS`, or None. Only its traces and the labels depend on it:
            its markers have an area proportional to the probability, on one scale for all ε.

    Returns:
        A figure with equal axes without numbers. Each point has its word as `customdata`
        (`chosen_word` reads it from a click).
    """
    traces = list(base.below)
    if mass is not None:
        traces += _masses(mass, base.names)
    layout = base.layout | {"annotations": _labels(base.centres, mass, base.width)}
    # Checking every point again takes most of a slider's step.
    return go.Figure([*traces, *base.above], layout, _validate=False)


# In lines that fit on a phone.
_NOTES = {
    "umap": "One scale for both axes;<br>gaps, areas and distances of this map mean nothing",
    "densmap": "One scale for both axes;<br>crowded places are denser, gaps mean nothing",
    "pca": "One scale for both axes;<br>two words are at least as far apart as they look",
}


def chosen_word(customdata: object) -> str | None:
    """The word of a point that was clicked, from its `customdata`; None if it has none."""
    value = customdata[0] if isinstance(customdata, list) and customdata else customdata
    return html.unescape(value) if isinstance(value, str) else None


def _range(values: pd.Series) -> list[float]:
    low, high = float(values.min()), float(values.max())
    pad = _PAD * (high - low) or 1.0
    return [low - pad, high + pad]


def _coordinates(rows: pd.DataFrame) -> dict[str, Any]:
    # float32: half the bytes, and far finer than a pixel.
    return {
        "x": rows["x"].to_numpy(np.float32),
        "y": rows["y"].to_numpy(np.float32),
        "customdata": [plain(word) for word in rows["word"].tolist()],
    }


def _points(rows: pd.DataFrame, role: str, names: dict[str, str]) -> Any:
    if role == "background":
        rows, name = rows.head(MOST_POINTS), "other words"
        marker: dict[str, Any] = {"color": GREY, "size": 4, "opacity": 0.35}
    else:
        source = role[-1]
        name = f"neighbours of {names.get(source, source)}"
        marker = {"color": COLOURS[source], "symbol": MARKERS[source], "size": 6}
    hover = "%{customdata}<extra></extra>"
    return go.Scatter(
        **_coordinates(rows), mode="markers", name=name, hovertemplate=hover, marker=marker
    )


def _masses(mass: pd.DataFrame, names: dict[str, str]) -> list[dict[str, Any]]:
    """One trace for each source, from whole columns: cutting the table would take longer."""
    drawn = _coordinates(mass)
    sizes = mass["mass"].to_numpy(np.float32)
    sources = np.array(mass["source"].tolist(), dtype=str)
    traces = []
    for source in sorted(set(sources.tolist())):
        places = np.flatnonzero(sources == source)
        colour = COLOURS[source]
        traces.append(
            {
                "type": "scatter",
                "x": drawn["x"][places],
                "y": drawn["y"][places],
                "customdata": [drawn["customdata"][i] for i in places.tolist()],
                "mode": "markers",
                "name": f"outputs of {names.get(source, source)} (area: probability)",
                "hovertemplate": "%{customdata}<br>probability %{marker.size:.3g}<extra></extra>",
                "marker": {
                    "symbol": MARKERS[source],
                    "size": sizes[places],
                    "sizemode": "area",
                    "sizeref": 2.0 / _WHOLE**2,
                    "sizemin": 0,
                    "color": faint(colour),
                    "line": {"color": colour, "width": 1.5},
                },
            }
        )
    return traces


def _centre(row: pd.Series) -> Any:
    source = str(row["role"])[-1]
    return go.Scatter(
        x=[float(row["x"])],
        y=[float(row["y"])],
        customdata=[plain(row["word"])],
        mode="markers",
        showlegend=False,
        hovertemplate="<b>%{customdata}</b><extra></extra>",
        marker={
            "symbol": f"{MARKERS[source]}-open-dot",
            "size": 16,
            "color": COLOURS[source],
            "line": {"width": 3},
        },
    )


def _labels(centres: pd.DataFrame, mass: pd.DataFrame | None, width: float) -> list[dict[str, Any]]:
    """Names of the centres and of the most likely outputs, none on top of another."""
    rows = [*zip(centres["word"], centres["x"].tolist(), centres["y"].tolist(), strict=True)]
    if mass is not None:
        columns = [mass[name].tolist() for name in ("word", "x", "y", "source")]
        left = dict.fromkeys(columns[3], _LABELS)
        for i in np.argsort(-mass["mass"].to_numpy(), kind="stable").tolist():
            word, x, y, source = (column[i] for column in columns)
            left[source] -= 1
            if left[source] >= 0:
                rows.append((word, x, y))
    placed: list[tuple[float, float]] = []
    labels: list[dict[str, Any]] = []
    look = {"font": {"size": 13}, "yshift": 16, "captureevents": False}
    across, down = (share * width for share in _APART)
    # From the most important on: a label that would cover an earlier one is left out.
    for word, x, y in rows:
        if not any(abs(x - a) < across and abs(y - b) < down for a, b in placed):
            placed.append((x, y))
            labels.append(note(f"<b>{plain(word)}</b>", x, y, **look))
    return labels


def map_caption(
    projection: str,
    words: int,
    of: int,
    kept: float,
    k: int,
    density: float,
    masses: pd.DataFrame | None = None,
    setting: str = "",
    drawn: pd.DataFrame | None = None,
) -> Caption:
    """What a map shows and what it hides, from the numbers that it is drawn from.

    Args:
        projection: umap, densmap or pca.
        words: mapped words.
        of: words of the lexicon.
        kept: mean share of the k nearest words that are nearest on the map.
        k: neighbours compared.
        density: rank correlation of crowdedness in truth and on the map; NaN if undefined.
        masses: columns word, on_map (probability that the output is a mapped word); one row an
            input word.
        setting: mechanism and ε in words.
        drawn: the columns `MASS_COLUMNS`, as in the figure: how much of the mass it draws.
    """
    name = {"umap": "UMAP", "densmap": "densMAP", "pca": "PCA"}.get(projection, projection)
    sentences = [
        f"{name} of {words:,} of {of:,} words: of the {k} nearest words of a word, this map keeps "
        f"{kept:{'.0%' if kept >= 0.02 else '.1%'}} among the {k} nearest."
    ]
    if not math.isnan(density):
        sentences.append(
            f"Crowded places stay crowded with a rank correlation of {density:.2f} "
            "(1: all, 0: nothing of it)."
        )
    if masses is not None and len(masses):
        shares = ", ".join(
            f"{percent(share)} of the outputs of “{word}”"
            for word, share in zip(masses["word"], masses["on_map"].tolist(), strict=True)
        )
        sentences.append(f"{setting}: {shares} fall on words of this map.")
    if drawn is not None:
        sources, mass = drawn["source"].to_numpy(), drawn["mass"].to_numpy()
        shown = [percent(mass[sources == name].sum()) for name in sorted(set(sources.tolist()))]
        sentences.append(
            f"The {len(drawn):,} output words that are drawn hold {' and '.join(shown)}."
            if shown
            else "No output is likely enough to be drawn: the mass is spread over too many words."
        )
    finding = (
        f"Of the {k} nearest words, this {name} map keeps {kept:{'.0%' if kept >= 0.02 else '.1%'}}"
        ": gaps on it are not distances."
    )
    return Caption(finding, " ".join(sentences))
