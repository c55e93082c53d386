"""Formula against truth, from a small table with known content."""

import math

import pandas as pd
import pytest

from dpcore.papers.xu2021.appendix_c import COLUMNS
from dpcore.plots.deniability.recorded import appendix_caption, appendix_figure

ROWS = [
    ("madlib.v1", "<b>near", 1.0, 0.5, 0.6, 0.0, 0.1, 0.08, 0.13, 0.5, 0.01, "rao-blackwell"),
    ("madlib.v1", "<b>near", 10.0, 0.5, 0.9, 0.1, 0.3, 0.25, 0.35, 0.9, 0.02, "rao-blackwell"),
    ("madlib.v1", "far", 1.0, 2.5, 0.7, 0.0, 0.2, 0.2, 0.2, 0.6, 0.0, "exact"),
    ("madlib.v1", "far", 10.0, 2.5, 0.95, 0.5, 0.9, 0.9, 0.9, 0.99, 0.0, "exact"),
]
TABLE = pd.DataFrame(ROWS, columns=list(COLUMNS))


def test_formula_is_dashed_truth_solid_and_what_is_proved_dotted() -> None:
    figure = appendix_figure(TABLE, "ε", False, 10.0)
    explained, curves = figure.data[:3], figure.data[3:]
    assert [(t.name, t.line.dash) for t in explained] == [
        ("truth", "solid"),
        ("formula", "dash"),
        ("proved lower bound", "dot"),
    ]
    assert [t.line.dash for t in curves] == ["solid", "dash", "dot"] * 2
    assert [list(t.y) for t in curves[:3]] == [[0.1, 0.3], [0.6, 0.9], [0.0, 0.1]]
    assert len({t.line.color for t in curves}) == 2
    assert curves[0].marker.symbol != curves[3].marker.symbol
    assert figure.layout.xaxis.type == "log"
    assert [shape.x0 for shape in figure.layout.shapes] == [10.0]


def test_the_names_stand_at_the_ends_and_are_not_read_as_markup() -> None:
    figure = appendix_figure(TABLE, "ε", False, 10.0)
    near, far = figure.layout.annotations
    assert near.text.endswith("&lt;b&gt;near")
    assert far.text.endswith(" far")
    assert figure.data[3].meta == "&lt;b&gt;near"


def test_the_axis_of_ln_epsilon_and_the_appendixs_floor() -> None:
    figure = appendix_figure(TABLE, "ln ε", True, 1.0, 0.367)
    assert list(figure.data[3].x) == [0.0, math.log(10.0)]
    marker, floor = figure.layout.shapes
    assert marker.x0 == 0.0
    assert (floor.y0, floor.y1, floor.line.dash) == (0.367, 0.367, "dash")


def test_the_caption_says_both_words_and_the_largest_gap() -> None:
    caption = appendix_caption(TABLE, "ε = 1", 1.0).how
    assert "“<b>near” (δ = 0.5): formula 0.6, truth 0.1 (0.08 to 0.13), interval of 95 %" in caption
    assert "largest gap 0.6, at ε = 10." in caption
    assert "“far” (δ = 2.5): formula 0.7, truth 0.2 (exact)" in caption
    with pytest.raises(IndexError):
        appendix_caption(TABLE, "ε = 2", 2.0)
