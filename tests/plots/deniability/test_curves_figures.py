"""The curves of Nw and Sw, from small tables with known content."""

import itertools
import math
import re
from typing import Any

import pandas as pd
import pytest

from dpcore.plots.deniability.curves import (
    COLUMNS,
    WORD_COLUMNS,
    curves_alt,
    curves_caption,
    curves_figure,
    curves_frame,
    curves_mark,
)
from dpcore.plots.style import style_of
from dpcore.plots.traces import spread

ALONG = "rao-blackwell"
ROWS = [
    ("madlib.v1", 1.0, 0.1, 0.02, 0.07, 0.15, 0.3, 0.05, 0.6, 0.1, 0.9, "<b>far", 5, ALONG, 200),
    ("madlib.v1", 10.0, 0.9, 0.01, 0.88, 0.92, 0.3, 0.7, 1.0, 0.95, 1.0, "zoo", 5, ALONG, 200),
    ("tem.v1", 1.0, 0.2, 0.0, 0.2, 0.2, 0.05, 0.1, 0.3, 0.2, 0.4, "city", 5, "exact", 200),
    ("tem.v1", 10.0, 0.91, 0.0, 0.91, 0.91, 0.05, 0.8, 1.0, 0.9, 1.0, "city", 5, "exact", 200),
]
TABLE = pd.DataFrame(ROWS, columns=list(COLUMNS))


WORDS = pd.DataFrame(
    [
        ("madlib.v1", 1.0, "<b>far", "", 0.0, 150.0),
        ("madlib.v1", 10.0, "<b>far", "", 0.8, 20.0),
        ("madlib.v1", 1.0, "zoo", "word", 0.1, 140.0),
        ("madlib.v1", 10.0, "zoo", "word", 0.9, 10.0),
        ("madlib.v1", 1.0, "sea", "other", 0.2, 130.0),
        ("madlib.v1", 10.0, "sea", "other", 1.0, 1.0),
    ],
    columns=list(WORD_COLUMNS),
)


def drawn(
    table: pd.DataFrame = TABLE,
    quantity: str = "nw",
    logarithm: bool = False,
    band: str = "quantiles",
    words: pd.DataFrame | None = None,
) -> Any:
    return curves_figure(table, quantity, "ε", logarithm, band, words)


def places(html: str) -> tuple[list[float], list[float]]:
    """Shares of the width of the line and the rings, and their distances upwards."""
    across = [float(number) for number in re.findall(r"\+ ([\d.]+) \* \(100%", html)]
    return across, [float(number) for number in re.findall(r"top:-([\d.]+)px", html)]


def test_each_mechanism_has_its_style_its_band_and_a_label() -> None:
    figure = drawn()
    lines = [trace for trace in figure.data if trace.name]
    assert [line.name for line in lines] == ["madlib", "tem"]
    for line in lines:
        style = style_of(line.name)
        assert (line.line.color, line.line.dash) == (style.colour, style.dash)
        assert line.marker.symbol == style.marker
    under, over = figure.data[:2]
    assert list(under.y) == pytest.approx([0.05, 0.7])
    assert list(over.y) == pytest.approx([0.6, 1.0])
    assert over.fill == "tonexty"
    first, second = figure.layout.annotations
    assert first.text.endswith(" madlib")
    assert second.text.endswith(" tem")


def test_the_deviation_is_cut_at_what_is_possible() -> None:
    under, over = drawn(band="deviation").data[:2]
    assert list(under.y) == pytest.approx([0.0, 0.6])
    assert list(over.y) == pytest.approx([0.4, 1.0])


def test_single_words_are_thin_and_the_compared_two_are_bold_and_told_apart() -> None:
    figure = drawn(words=WORDS)
    thin = figure.data[0]
    assert (thin.line.width, thin.hoverinfo) == (1, "skip")
    assert list(thin.y[:2]) == pytest.approx([0.0, 0.8])
    assert math.isnan(thin.y[2])
    word, other = (trace for trace in figure.data if trace.line.width == 4.5)
    assert (word.name, other.name) == ("madlib, “zoo”", "madlib, “sea”")
    assert (word.line.dash, other.line.dash) == ("solid", "dot")
    assert list(other.y) == pytest.approx([0.2, 1.0])
    assert len(figure.data) == 9
    named = drawn(words=WORDS.assign(role="word"))
    assert "madlib, “&lt;b&gt;far”" in [trace.name for trace in named.data]


def test_the_chosen_epsilon_is_a_line_and_a_ring_on_each_defined_curve() -> None:
    across, _ = places(curves_mark(TABLE.iloc[:3], "nw", False, 10.0))
    assert across == [1.0, 1.0]  # the line, and the ring of the one mechanism with ε = 10
    html = curves_mark(TABLE, "nw", False, 1.0)
    across, up = places(html)
    assert across == [0.0, 0.0, 0.0]
    frame = curves_frame(TABLE, "nw", False)
    assert up[0] == frame.height - frame.top
    # Nw of 0.1 and 0.2 on an axis from −0.03 to 1.03; a ring is 18 pixels high.
    wanted = [frame.bottom + (nw + 0.03) / 1.06 * frame.inner + 9 for nw in (0.1, 0.2)]
    assert up[1:] == pytest.approx(wanted, abs=0.06)
    assert style_of("tem").colour in html
    assert 'aria-hidden="true"' in html


def test_the_mark_stands_where_the_figure_has_its_axes() -> None:
    for quantity in ("nw", "sw"):
        for logarithm in (False, True):
            frame, layout = (
                curves_frame(TABLE, quantity, logarithm),
                drawn(quantity=quantity, logarithm=logarithm).layout,
            )
            assert tuple(layout.xaxis.range) == pytest.approx(frame.x)
            assert tuple(layout.yaxis.range) == pytest.approx(frame.y)
            assert not layout.xaxis.automargin
            assert not layout.yaxis.automargin
            margin = layout.margin
            sides = (layout.height, margin.l, margin.r, margin.t, margin.b)
            assert sides == (frame.height, frame.left, frame.right, frame.top, frame.bottom)
    across, _ = places(curves_mark(TABLE, "sw", True, math.sqrt(10.0)))
    assert across == pytest.approx([0.5])
    outside, _ = places(curves_mark(TABLE, "sw", True, 1000.0))
    assert outside == [1.0]


def test_ln_epsilon_has_an_even_axis_and_epsilon_a_logarithmic_one() -> None:
    even = drawn(logarithm=True)
    assert even.layout.xaxis.type is None
    assert list(even.data[2].x) == pytest.approx([0.0, math.log(10.0)])
    assert even.layout.annotations[0].x == pytest.approx(math.log(10.0))
    plain: Any = drawn()
    assert plain.layout.xaxis.type == "log"
    assert list(plain.layout.xaxis.range) == [0.0, 1.0]
    assert plain.layout.annotations[0].x == 1.0


def test_sw_is_on_a_logarithmic_axis_that_ends_at_the_runs() -> None:
    figure: Any = drawn(TABLE.assign(mean=[150.0, 1.0, 90.0, 1.2]), "sw")
    assert figure.layout.yaxis.type == "log"
    assert list(figure.layout.yaxis.tickvals) == [1, 2, 5, 10, 20, 50, 100, 200]
    assert "200 runs" in figure.layout.yaxis.title.text
    assert [note.y for note in figure.layout.annotations] == pytest.approx([0.0, math.log10(1.2)])


@pytest.mark.parametrize("wanted", [[1.0, 2.0, 3.0], [99.0, 100.0, 100.0], [0.0, 50.0, 100.0]])
def test_labels_do_not_cover_each_other(wanted: list[float]) -> None:
    places = spread(wanted, 10.0, 100.0)
    assert all(b - a >= 10.0 for a, b in itertools.pairwise(places))
    assert places[-1] <= 100.0
    if wanted == [0.0, 50.0, 100.0]:
        assert places == wanted


def test_the_caption_gives_the_numbers_of_the_chosen_epsilon() -> None:
    caption = curves_caption(TABLE, "nw", "ε = 1", 1.0).how
    assert caption.startswith("Nw, the chance that a word stays, at ε = 1. ")
    assert (
        "madlib: mean 0.1 (0.07 to 0.15), interval of 95 %, 5–95 % of the words 0.05 to 0.6"
        in caption
    )
    assert "tem: mean 0.2 (exact)" in caption
    assert "worst 0.9 “<b>far”" in caption
    assert "tem is not defined there." in curves_caption(TABLE.iloc[:3], "sw", "ε = 10", 10.0).how


def test_the_text_alternative_does_not_depend_on_the_chosen_epsilon() -> None:
    caption = curves_alt(TABLE, "nw")
    assert caption.startswith("Nw, the chance that a word stays, as curves over ε. ")
    assert "madlib: mean 0.1 at ε = 1, 0.9 at 10, first at least 0.5 at 10." in caption
    counts = curves_alt(TABLE.assign(mean=[150.0, 1.0, 190.0, 120.0]), "sw")
    assert "in 200 runs" in counts
    assert "madlib: mean 150 at ε = 1, 1 at 10, first less than 100 at 10." in counts
    assert "tem: mean 190 at ε = 1, 120 at 10." in counts
