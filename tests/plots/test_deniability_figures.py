"""The curves of Nw and Sw, from small tables with known content."""

import itertools
import math

import pandas as pd
import pytest

from dpcore.plots.deniability import COLUMNS, curves_caption, curves_figure, spread
from dpcore.plots.style import style_of

ROWS = [
    ("madlib.v1", 1.0, 0.1, 0.02, 0.3, 0.05, 0.6, 0.1, 0.9, "<b>far", 5, "rao-blackwell", 200),
    ("madlib.v1", 10.0, 0.9, 0.01, 0.3, 0.7, 1.0, 0.95, 1.0, "zoo", 5, "rao-blackwell", 200),
    ("tem.v1", 1.0, 0.2, 0.0, 0.05, 0.1, 0.3, 0.2, 0.4, "city", 5, "exact", 200),
    ("tem.v1", 10.0, 0.91, 0.0, 0.05, 0.8, 1.0, 0.9, 1.0, "city", 5, "exact", 200),
]
TABLE = pd.DataFrame(ROWS, columns=list(COLUMNS))


def drawn(
    table: pd.DataFrame = TABLE,
    quantity: str = "nw",
    logarithm: bool = False,
    at: float = 10.0,
    band: str = "quantiles",
) -> object:
    return curves_figure(table, quantity, "ε", logarithm, at, band)


def test_each_mechanism_has_its_style_its_band_and_a_label() -> None:
    figure = drawn()
    lines = [trace for trace in figure.data if trace.name]
    assert [line.name for line in lines] == ["madlib", "tem"]
    for line in lines:
        style = style_of(line.name)
        assert (line.line.color, line.line.dash) == (style.colour, style.dash)
        assert line.marker.symbol == style.marker
    under, over = figure.data[:2]
    assert list(under.y) == [0.05, 0.7]
    assert list(over.y) == [0.6, 1.0]
    assert over.fill == "tonexty"
    first, second = figure.layout.annotations
    assert first.text.endswith(" madlib")
    assert second.text.endswith(" tem")


def test_the_deviation_is_cut_at_what_is_possible() -> None:
    under, over = drawn(band="deviation").data[:2]
    assert list(under.y) == pytest.approx([0.0, 0.6])
    assert list(over.y) == pytest.approx([0.4, 1.0])


def test_the_chosen_epsilon_is_a_line_and_a_ring_on_each_defined_curve() -> None:
    figure = drawn(TABLE.iloc[:3], at=10.0)
    assert figure.layout.shapes[0].x0 == 10.0
    rings = figure.data[-1]
    assert list(rings.x) == [10.0]
    assert list(rings.y) == [0.9]


def test_ln_epsilon_has_an_even_axis_and_epsilon_a_logarithmic_one() -> None:
    even = drawn(logarithm=True)
    assert even.layout.xaxis.type is None
    assert list(even.data[2].x) == pytest.approx([0.0, math.log(10.0)])
    assert even.layout.shapes[0].x0 == pytest.approx(math.log(10.0))
    assert even.layout.annotations[0].x == pytest.approx(math.log(10.0))
    plain = drawn()
    assert plain.layout.xaxis.type == "log"
    assert list(plain.layout.xaxis.range) == [0.0, 1.0]
    assert plain.layout.annotations[0].x == 1.0


def test_sw_is_on_a_logarithmic_axis_that_ends_at_the_runs() -> None:
    figure = drawn(TABLE.assign(mean=[150.0, 1.0, 90.0, 1.2]), "sw")
    assert figure.layout.yaxis.type == "log"
    assert list(figure.layout.yaxis.tickvals) == [1, 2, 5, 10, 20, 50, 100, 200]
    assert "200 runs" in figure.layout.yaxis.title.text
    assert [note.y for note in figure.layout.annotations] == pytest.approx([0.0, math.log10(1.2)])


@pytest.mark.parametrize("places", [[1.0, 2.0, 3.0], [99.0, 100.0, 100.0], [0.0, 50.0, 100.0]])
def test_labels_do_not_cover_each_other(places: list[float]) -> None:
    found = spread(places, 10.0, 100.0)
    assert all(b - a >= 10.0 for a, b in itertools.pairwise(found))
    assert found[-1] <= 100.0
    if places == [0.0, 50.0, 100.0]:
        assert found == places


def test_the_caption_gives_the_numbers_of_the_chosen_epsilon() -> None:
    said = curves_caption(TABLE, "nw", "ε = 1", 1.0)
    assert said.startswith("Nw, the chance that a word stays, at ε = 1. ")
    assert "madlib: mean 0.1 (± 0.04 (2 s.e.)), 5–95 % of the words 0.05 to 0.6" in said
    assert "tem: mean 0.2 (exact)" in said
    assert "worst 0.9 “<b>far”" in said
    assert "tem is not defined there." in curves_caption(TABLE.iloc[:3], "sw", "ε = 10", 10.0)
