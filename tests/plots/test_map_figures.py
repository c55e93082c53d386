"""The figures of a map, from small tables with known content, and how large they are."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dpcore.lexicon.catalogue import load
from dpcore.limits import MAX_MAP_NEIGHBOURS
from dpcore.measure.maps.fit import DEFAULT_NEIGHBOURS, DEFAULT_PAIR, local_map, vocabulary_map
from dpcore.measure.maps.table import MOST_MASS, distance_table, mass_table, point_table
from dpcore.measure.pair import MapMass
from dpcore.plots.maps.distances import (
    DISTANCE_COLUMNS,
    NOISE_COLUMNS,
    distance_caption,
    distance_strip,
    noise_mark,
)
from dpcore.plots.maps.panes import (
    COLOURS,
    MARKERS,
    MASS_COLUMNS,
    MOST_POINTS,
    POINT_COLUMNS,
    chosen_word,
    map_base,
    map_caption,
    map_figure,
)
from dpcore.plots.style import faint

POINTS = pd.DataFrame(
    [
        ("far", -5.0, 2.0, "background", 0.2),
        ("<b>up", 1.0, 1.0, "near_a", 0.5),
        ("R&D", 2.0, 0.0, "near_b", 0.5),
        ("dense", 1.1, 1.1, "centre_a", 0.9),
        ("sparse", 3.0, -1.0, "centre_b", 0.1),
    ],
    columns=list(POINT_COLUMNS),
)
MASS = pd.DataFrame(
    [
        ("dense", 1.1, 1.1, "a", 0.5),
        ("<b>up", 1.0, 1.0, "a", 0.02),
        ("sparse", 3.0, -1.0, "b", 0.9),
        ("R&D", 2.0, 0.0, "b", 0.1),
    ],
    columns=list(MASS_COLUMNS),
)
DISTANCES = pd.DataFrame(
    [
        ("a", "dense", "<b>up", 2.0),
        ("a", "dense", "far", 4.0),
        ("b", "sparse", "R&D", 5.0),
        ("b", "sparse", "far", 6.0),
    ],
    columns=list(DISTANCE_COLUMNS),
)
NOISE = pd.DataFrame(
    [("madlib at ε = 15", "#0072B2", 18.0, 20.0, 22.0)], columns=list(NOISE_COLUMNS)
)


TITLES = ("madlib at ε = 15",)


def traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data if trace.name}


def test_the_two_words_differ_in_colour_and_in_marker() -> None:
    drawn = traces(map_figure(map_base(POINTS, "umap"), MASS))
    assert COLOURS["a"] != COLOURS["b"]
    assert MARKERS["a"] != MARKERS["b"]
    for source, word in (("a", "dense"), ("b", "sparse")):
        near = drawn[f"neighbours of “{word}”"].marker
        assert (near.color, near.symbol) == (COLOURS[source], MARKERS[source])
        mass = drawn[f"outputs of “{word}” (area: probability)"].marker
        assert (mass.line.color, mass.symbol) == (COLOURS[source], MARKERS[source])
        assert mass.color == faint(COLOURS[source])  # what lies below shows through


def test_the_axes_are_equal_and_have_no_numbers_and_a_note() -> None:
    for projection, caption in (
        ("umap", "mean nothing"),
        ("densmap", "denser"),
        ("pca", "at least"),
    ):
        layout = map_figure(map_base(POINTS, projection), MASS).layout
        assert (layout.yaxis.scaleanchor, layout.yaxis.scaleratio) == ("x", 1)
        assert not layout.xaxis.showticklabels
        assert not layout.yaxis.showticklabels
        assert caption in layout.xaxis.title.text
        for end, values in ((layout.xaxis.range, POINTS["x"]), (layout.yaxis.range, POINTS["y"])):
            assert end[0] < values.min() < values.max() < end[1]


def test_the_area_of_a_marker_is_its_probability() -> None:
    figure = map_figure(map_base(POINTS, "umap"), MASS)
    marker = traces(figure)["outputs of “dense” (area: probability)"].marker
    assert marker.sizemode == "area"
    # In Plotly the diameter is sqrt(size / sizeref × 2), so 1 is the largest and 1/4 half as wide.
    assert math.sqrt(2 * 1.0 / marker.sizeref) == pytest.approx(64)
    assert list(marker.size) == pytest.approx([0.5, 0.02])


def test_the_slider_changes_only_the_masses_and_labels() -> None:
    before = map_figure(map_base(POINTS, "umap"), MASS)
    after = map_figure(map_base(POINTS, "umap"), MASS.assign(mass=MASS["mass"] / 3))
    same = [a == b for a, b in zip(before.data, after.data, strict=True)]
    changed = [
        trace.name for trace, unchanged in zip(before.data, same, strict=True) if not unchanged
    ]
    assert changed == [name for name in traces(before) if name.startswith("outputs")]
    assert before.layout.xaxis == after.layout.xaxis
    assert before.layout.uirevision == after.layout.uirevision
    without = map_figure(map_base(POINTS, "umap"), None)
    assert not [name for name in traces(without) if name.startswith("outputs")]


def test_a_click_gives_the_word_and_words_are_no_markup() -> None:
    figure = map_figure(map_base(POINTS, "umap"), MASS)
    shown = [word for trace in figure.data for word in trace.customdata]
    assert "<b>up" not in shown
    assert {chosen_word(word) for word in shown} == set(POINTS["word"])
    assert chosen_word(["R&amp;D"]) == "R&D"
    assert chosen_word(None) is chosen_word([]) is chosen_word(3) is None
    assert all("<b>up" not in (note.text or "") for note in figure.layout.annotations)
    assert all(trace.text is None for trace in figure.data)


def test_labels_do_not_cover_each_other_and_the_centres_come_first() -> None:
    labels = [note.text for note in map_figure(map_base(POINTS, "umap"), MASS).layout.annotations]
    assert labels[:2] == ["<b>dense</b>", "<b>sparse</b>"]
    assert not any("up" in label for label in labels)  # it lies beside “dense”
    assert len(labels) == 3


def test_the_largest_figure_is_small_enough_to_be_sent_at_once() -> None:
    """All words of the laboratory's own map, and as many outputs as are ever drawn."""
    lexicon = load()
    centres = lexicon.indices(DEFAULT_PAIR).tolist()
    shown = vocabulary_map(lexicon, "umap")
    table = point_table(lexicon, shown, centres, DEFAULT_NEIGHBOURS)
    assert (table["role"] == "background").sum() == MOST_POINTS
    even = np.full((1, len(lexicon)), 1e-3)
    spread = [MapMass(word, np.ones(1), even, np.zeros(1), True, 0.0) for word in centres]
    mass = mass_table(lexicon, shown, spread)
    assert len(mass) == 2 * MOST_MASS
    figure = map_figure(map_base(table, "umap"), mass)
    assert len(figure.to_json()) <= 100_000
    # The browser is not allowed to compile programs from text, which Plotly does for WebGL.
    assert {trace.type for trace in figure.data} == {"scatter"}
    local = local_map(lexicon, centres, DEFAULT_NEIGHBOURS, "umap")
    table = point_table(lexicon, local, centres, DEFAULT_NEIGHBOURS)
    figure = map_figure(map_base(table, "umap"), None)
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert len(figure.to_json()) <= 20_000
    distances = distance_table(lexicon, centres, MAX_MAP_NEIGHBOURS)
    assert len(distance_strip(distances, TITLES).figure.to_json()) <= 100_000


def test_a_background_that_is_too_large_is_cut() -> None:
    many = pd.concat([POINTS.head(1)] * (MOST_POINTS + 9) + [POINTS.tail(4)], ignore_index=True)
    assert len(map_figure(map_base(many, "umap"), MASS).data[0].customdata) == MOST_POINTS


def test_the_caption_gives_what_is_kept_and_what_lies_beside() -> None:
    masses = pd.DataFrame([("dense", 0.778), ("<b>", 0.7551)], columns=["word", "on_map"])
    caption = map_caption("densmap", 122, 25_000, 0.6491, 10, 0.934, masses, "Madlib at ε = 15").how
    assert caption == (
        "densMAP of 122 of 25,000 words: of the 10 nearest words of a word, this map keeps 65% "
        "among the 10 nearest. Crowded places stay crowded with a rank correlation of 0.93 (1: "
        "all, 0: nothing of it). Madlib at ε = 15: 77.8% of the outputs of “dense”, 75.5% of the "
        "outputs of “<b>” fall on words of this map."
    )
    caption = map_caption("pca", 9, 9, 0.004, 8, math.nan).how
    assert caption.endswith("this map keeps 0.4% among the 8 nearest.")
    caption = map_caption("pca", 9, 9, 0.5, 8, math.nan, masses, "x", MASS).how
    assert caption.endswith("The 4 output words that are drawn hold 52% and 100%.")
    caption = map_caption("pca", 9, 9, 0.5, 8, math.nan, masses, "x", MASS.head(0)).how
    assert caption.endswith("the mass is spread over too many words.")


def test_the_strip_has_one_scale_and_a_row_a_word_and_a_mechanism() -> None:
    strip = distance_strip(DISTANCES, TITLES)
    layout = strip.figure.layout
    titles = {note.y: note.text for note in layout.annotations}
    assert titles == {0: "“dense”", 1: "“sparse”", 2: "madlib at ε = 15"}
    first, second = strip.figure.data
    assert list(first.x) == [2.0, 4.0]
    assert list(second.x) == [5.0, 6.0]
    assert (set(first.y), set(second.y)) == ({0}, {1})
    assert first.customdata[0] == "&lt;b&gt;up"
    assert (first.marker.color, second.marker.color) == (COLOURS["a"], COLOURS["b"])
    # The nearest is at 2, the farthest at 6; the noise goes further, and its bar ends there.
    assert layout.xaxis.type == "log"
    assert "logarithmic" in layout.xaxis.title.text
    assert list(layout.xaxis.range) == pytest.approx([0.0, math.log10(60)])
    assert layout.xaxis.ticktext == ("1", "2", "5", "10", "20", "50")
    assert list(layout.xaxis.tickvals) == [1, 2, 5, 10, 20, 50]
    assert (layout.xaxis.automargin, layout.yaxis.automargin) == (False, False)
    assert titles[2] in strip.alt
    alone = distance_strip(DISTANCES)
    assert alone.figure.layout.xaxis.type is None
    assert list(alone.figure.layout.xaxis.range) == pytest.approx([0, 1.04 * 6])


def shares(html: str) -> tuple[list[float], float]:
    """Places along the axis in an overlay, and the width of its bar."""
    places = [float(x) for x in re.findall(r"left:calc\([^;]*?([\d.]+) \* \(100%", html)]
    return places, float(re.findall(r"width:calc\(([\d.]+) \*", html)[0])


def test_the_noise_is_a_bar_where_the_axis_has_its_length() -> None:
    strip = distance_strip(DISTANCES, TITLES)
    expected = [math.log(length, 60) for length in (18.0, 20.0, 22.0)]
    html = noise_mark(strip, NOISE)
    places, width = shares(html)
    assert places == pytest.approx([expected[0], *expected], abs=1e-5)
    assert width == pytest.approx(expected[2] - expected[0], abs=1e-5)
    assert NOISE["colour"][0] in html
    # Row 2 of three, which end half a row below: half a row of 46 pixels, above a margin of 52.
    low, high = strip.frame.y
    up = 52 + 0.5 / (low - high) * strip.frame.inner
    assert f"top:-{up + 4.5:.1f}px" in html
    assert "madlib" not in html
    assert noise_mark(strip, NOISE.head(0)).count("<div") == 1


def test_noise_beyond_the_axis_ends_in_an_arrow() -> None:
    strip = distance_strip(DISTANCES, TITLES)
    over = noise_mark(strip, NOISE.assign(high=80.0))
    assert "border-left-color" in over
    assert "border-right-color" not in over
    assert shares(over)[1] == pytest.approx(1 - math.log(18.0, 60), abs=1e-5)
    under = noise_mark(strip, NOISE.assign(low=0.1, median=0.2, high=0.3))
    assert "border-right-color" in under
    assert shares(under) == ([0.0, 0.0], 0.0)
    assert "border-left-color" not in noise_mark(strip, NOISE)


def test_the_caption_of_the_strip_gives_the_numbers_that_are_drawn() -> None:
    strip = distance_strip(DISTANCES, TITLES)
    assert distance_caption(strip, NOISE).how == (
        "“dense”: the nearest word is “<b>up” at 2.00, the farthest of 2 at 4.00. “sparse”: the "
        "nearest word is “R&D” at 5.00, the farthest of 2 at 6.00. madlib at ε = 15: the noise is "
        "20 long in the median (90 % of the draws: 18 to 22), 4.44 times the median of these "
        "distances."
    )
    assert "There is no noise on these vectors" in distance_caption(distance_strip(DISTANCES)).how


def test_what_is_put_into_a_map_unchecked_is_what_plotly_would_accept() -> None:
    figure = map_figure(map_base(POINTS, "umap"), MASS)
    checked = go.Figure(figure.to_dict())
    assert checked.to_dict() == figure.to_dict()


def test_a_mass_that_is_nowhere_large_enough_draws_nothing() -> None:
    figure = map_figure(map_base(POINTS, "umap"), MASS.head(0))
    assert not [name for name in traces(figure) if name.startswith("outputs")]
    assert [note.text for note in figure.layout.annotations] == ["<b>dense</b>", "<b>sparse</b>"]
