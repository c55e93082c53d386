"""Mechanisms over the mean Nw, from small tables with known content."""

import math
import re

import pandas as pd
import pytest

from dpcore.plots.deniability.equal_nw import (
    COLUMNS,
    READ_COLUMNS,
    equal_alt,
    equal_caption,
    equal_figure,
    equal_frame,
    equal_mark,
)
from dpcore.plots.style import style_of

TABLE = pd.DataFrame(
    [
        ("madlib.v1", 1.0, 0.1, 150.0, math.inf),
        ("madlib.v1", 10.0, 0.9, 5.0, 3.0),
        ("tem.v1", 1.0, 0.2, 180.0, 500.0),
        ("tem.v1", 5.0, 1.0, 1.0, 1.0),
    ],
    columns=list(COLUMNS),
)
READ = pd.DataFrame(
    [
        ("madlib.v1", 4.0, 1.0, 10.0, 60.0, 20.0),
        ("tem.v1", 2.0, 1.0, 3.0, 90.0, math.inf),
        ("tem.v1", 4.0, 3.0, 5.0, 10.0, 4.0),
        ("truncated-gumbel.v1", None, None, None, None, None),
    ],
    columns=list(READ_COLUMNS),
)


def test_each_mechanism_is_one_curve_over_nw_in_its_style() -> None:
    figure = equal_figure(TABLE, "sw", 200)
    assert [trace.name for trace in figure.data] == ["madlib", "tem"]
    for trace in figure.data:
        style = style_of(trace.name)
        assert (trace.line.color, trace.line.dash) == (style.colour, style.dash)
        assert trace.marker.symbol == style.marker
    assert list(figure.data[0].x) == pytest.approx([0.1, 0.9])
    assert list(figure.data[0].y) == pytest.approx([150.0, 5.0])
    assert figure.layout.yaxis.type == "log"
    assert "200 runs" in figure.layout.yaxis.title.text


def test_an_infinite_effective_number_is_a_gap_and_the_axis_ends_at_the_largest_finite() -> None:
    figure = equal_figure(TABLE, "effective", 200)
    assert math.isnan(figure.data[0].y[0])
    assert equal_frame(TABLE, "effective", 200).y[1] == pytest.approx(1.03 * math.log10(500))
    assert tuple(figure.layout.yaxis.range) == pytest.approx(equal_frame(TABLE, "effective", 200).y)


def test_the_mark_has_a_ring_for_each_place_that_can_be_drawn() -> None:
    def across(quantity: str) -> list[float]:
        html = equal_mark(TABLE, READ, quantity, 200, 0.5)
        return [float(number) for number in re.findall(r"\+ ([\d.]+) \* \(100%", html)]

    assert across("sw") == [0.5] * 4  # the line and three rings
    assert across("effective") == [0.5] * 3


def test_the_caption_tells_who_has_this_nw_and_who_has_it_twice_or_never() -> None:
    caption = equal_caption(READ, 0.5, "sw").how
    assert caption.startswith("The mean Sw where the mean Nw is 0.5. ")
    assert "madlib: 60 at ε = 4." in caption
    assert "tem: 90 at ε = 2; 10 at ε = 4 (its Nw is not monotone)." in caption
    assert "truncated-gumbel has it at no measured ε." in caption
    assert "tem: beyond counting at ε = 2" in equal_caption(READ, 0.5, "effective").how


def test_the_text_alternative_tells_the_ends() -> None:
    caption = equal_alt(TABLE, "effective", 200)
    assert "madlib: beyond counting at Nw = 0.1, 3 at Nw = 0.9." in caption
    assert "tem: 500 at Nw = 0.2, 1 at Nw = 1." in caption
