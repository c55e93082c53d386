"""Maps of words with the probabilities of outputs, captions of two panes, and map colours."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.attack.words import chance_at_most, chance_text
from dpcore.plots.style import (
    BLUE,
    GREY,
    LEGEND,
    VERMILION,
    Caption,
    axis,
    base_layout,
    faint,
    note,
    percent,
    plain,
)

POINT_COLUMNS = ("word", "x", "y", "role", "kept")
"""One row for each point; `role` is background, near_a, near_b, centre_a or centre_b."""

MASS_COLUMNS = ("word", "x", "y", "source", "mass")
"""One row for each possible output word; `source` is a or b, `mass` its probability."""

COLOURS = {"a": BLUE, "b": VERMILION}
MARKERS = {"a": "circle", "b": "diamond"}
MOST_POINTS = 3_000
"""Largest number of background words: a figure stays small enough to be sent at once."""

_HEIGHT = 520
_WHOLE = 64  # pixels across of the marker of a word with all the mass
_LABELS = 4  # of each word's most likely outputs
_APART = (0.13, 0.045)  # of the width, across and down: nearer labels would cover each other
_PAD = 0.06
_ASPECT = 1.8  # width by height of the drawing, about


@dataclass(frozen=True, eq=False)
class MapBase:
    """Part of a map that does not depend on ε, made once (`map_base`).

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
        projection: umap, densmap or pca, for the note on the meaning of distances.
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
    """Draw a map with the probability of each of its words as output.

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
    """Read the word of a clicked point from its `customdata`; None if it has none."""
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
    """Draw one trace for each source, from whole columns: cutting the table would take longer."""
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
    """Label the centres and the most likely outputs, none on top of another."""
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
    """Describe a map and its losses, from the numbers that it is drawn from.

    Args:
        projection: umap, densmap or pca.
        words: mapped words.
        of: words of the lexicon.
        kept: mean share of the k nearest words that are nearest on the map.
        k: neighbours compared.
        density: rank correlation of true crowdedness and that on the map; NaN if undefined.
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


# Captions of two panes, one for each word: recomputed at every ε of the slider.


_LONGEST = 24  # letters of a word in a sentence
_NEVER = 1e-6
_SEEN = 0.1  # of the upper end: an estimate below it tells no more than that end
_LONELY = 0.1  # of the outputs: a word stands alone if it is guessed this much more often
_WORDS = 25  # in a finding

CROWD, ALONE, ALIKE, UNKNOWN = "crowd", "alone", "alike", ""
"""Standing of one of two words by how often it is guessed; unknown if estimates overlap."""


@dataclass(frozen=True)
class Guess:
    """Share of one word's outputs that are the word itself, at one ε.

    Someone who takes the output for the input word is right in this share.

    Attributes:
        value: the share.
        low: lower end of its interval; `value` if it is exact.
        high: upper end.
        near: share of the outputs that are one of its nearest words: its crowd.
    """

    value: float
    low: float
    high: float
    near: float


def standings(guesses: Sequence[Guess]) -> tuple[str, str]:
    """Say which of two words stands alone at one ε, and which has a crowd.

    The one that is guessed in at least 10 more of 100 outputs stands alone.
    """
    first, second = guesses
    if first.low != first.high and first.low <= second.high and second.low <= first.high:
        return UNKNOWN, UNKNOWN
    if abs(first.value - second.value) < _LONELY:
        return ALIKE, ALIKE
    return (ALONE, CROWD) if first.value > second.value else (CROWD, ALONE)


def pane_caption(names: Sequence[str], guesses: Sequence[Guess], setting: str) -> str:
    """Say which of two words is guessed more often at one ε, in at most 25 words.

    Args:
        names: of the two words.
        guesses: of both.
        setting: mechanism and ε in words: "tem, ε = 3".
    """
    if all(guess.low > 1.0 - _NEVER for guess in guesses):
        return f"{setting}: both words stay in practically every draw: neither is hidden."
    quoted = [f"“{shortened(name)}”" for name in names]
    often = [_often(guess) for guess in guesses]
    standing = standings(guesses)
    if ALONE in standing:
        alone = standing.index(ALONE)
        other = often[1 - alone]
        if often[alone].endswith(" of 100"):
            other = other.removesuffix(" of 100")
        return (
            f"{setting}: {quoted[alone]} stands alone, guessed in {often[alone]} outputs; "
            f"{quoted[1 - alone]}, in a crowd, in {other}."
        )
    shares = " and ".join(dict.fromkeys(often))
    if all(each.endswith(" of 100") for each in often):
        shares = shares.replace(" of 100", "", shares.count(" of 100") - 1)
    words, outputs = " and ".join(quoted), f"in {shares} outputs"
    if UNKNOWN in standing:
        return f"{setting}: {words} are guessed {outputs}: the estimates do not tell them apart."
    near = " and ".join(f"{100 * guess.near:.0f}" for guess in guesses)
    both = f"{setting}: {words} are guessed nearly alike, {outputs}"
    why = f"{both}; near words take {near}."
    # With a long reading of ε, the reason would make the finding too long.
    return why if len(why.split()) <= _WORDS else f"{both}."


def _often(guess: Guess) -> str:
    """Format a share of the outputs: "30 of 100", "practically no", "at most 1 of 90"."""
    if guess.value < _SEEN * guess.high:  # of too few observations for a number
        return f"at most {_count(guess.high, chance_at_most)}"
    return _count(guess.value)


def _count(probability: float, written: Callable[[float], str] = chance_text) -> str:
    if probability < _NEVER:
        return "practically no"
    much = written(probability)
    return much.replace(" in ", " of ") if much[0].isdigit() else "nearly all"


def shortened(word: str) -> str:
    """Shorten a word for a sentence."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


# Colours of crowded and of lonely words on the map of a whole vocabulary.
#
# A dark ground needs other colours than a light one, so there is a scale for each. On both the
# crowded words stand out most, lightness alone tells the order (to the colour-blind, and in print),
# and every colour has a contrast of at least 3:1. The stops are those of viridis (Smith and van der
# Walt 2015), from its dark half on white and from its light half on dark.


LIGHT = ("#440154", "#46327E", "#365C8D", "#277F8E", "#1D938A")
"""Colours on a light ground, the most crowded class first."""

DARK = ("#FDE725", "#A0DA39", "#4AC16D", "#1FA187", "#277F8E")
"""Colours on a dark ground, the most crowded class first."""

CLASSES = len(LIGHT)
"""Number of classes of equal size, by the mean distance to the nearest words."""
