"""The figures of a map, from small tables with known content, and how large they are."""

import math
import re

import pandas as pd
import pytest

from dpcore.plots.maps.distances import (
    DISTANCE_COLUMNS,
    NOISE_COLUMNS,
    distance_caption,
    distance_strip,
    noise_mark,
)
from dpcore.plots.maps.panes import (
    COLOURS,
    MASS_COLUMNS,
    map_caption,
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
