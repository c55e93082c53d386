"""The figure of two words: its curves, rings and the verdict of its caption."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.plots.pair import COLUMNS, pair_alt, pair_caption, pair_figure, pair_mark

EPSILONS = [1.0, 2.0, 4.0]


def rows(
    mechanism: str, first: list[float], second: list[float], error: float
) -> list[tuple[Any, ...]]:
    both = (("near", "<far>", first), ("<far>", "near", second))
    return [
        (mechanism, epsilon, word, other, nw, nw - error, nw + error)
        for word, other, values in both
        for epsilon, nw in zip(EPSILONS, values, strict=True)
    ]


@pytest.fixture
def table() -> pd.DataFrame:
    records = rows("madlib.v1", [0.1, 0.2, 0.9], [0.2, 0.7, 0.95], 0.01)
    records += rows("tem.v1", [0.1, 0.5, 1.0], [0.1, 0.52, 1.0], 0.0)
    return pd.DataFrame(records, columns=list(COLUMNS))


def test_each_curve_runs_over_both_words(table: pd.DataFrame) -> None:
    figure = pair_figure(table)
    diagonal, madlib, tem = figure.data
    assert list(madlib.x) == [0.1, 0.2, 0.9]
    assert list(madlib.y) == [0.2, 0.7, 0.95]
    assert list(tem.y) == [0.1, 0.52, 1.0]
    assert list(madlib.customdata) == EPSILONS
    assert list(diagonal.x) == list(diagonal.y) == [0, 1]
    assert madlib.line.color != tem.line.color
    assert "<far>" not in figure.layout.yaxis.title.text
    assert "“<far>” stays" in pair_alt(table)


def test_the_rings_stand_where_the_axes_are(table: pd.DataFrame) -> None:
    layout = pair_figure(table).layout
    low, high = layout.xaxis.range
    assert (layout.yaxis.range, layout.margin.autoexpand) == ((low, high), False)
    # tem is not measured at 3: it has no ring.
    html = pair_mark(table, {"madlib.v1": 2.0, "tem.v1": 3.0})
    ((across, up),) = re.findall(r"left:calc\([^*]*?([\d.]+) \* .*?top:-([\d.]+)px", html)
    assert float(across) == pytest.approx((0.2 - low) / (high - low), abs=1e-5)
    inner = layout.height - layout.margin.t - layout.margin.b
    assert float(up) == pytest.approx(
        layout.margin.b + (0.7 - low) / (high - low) * inner + 9, abs=0.06
    )


def test_the_caption_names_the_most_and_the_least_different(table: pd.DataFrame) -> None:
    caption = pair_caption(table, {"madlib.v1": 2.0, "tem.v1": 4.0}).how
    assert caption.startswith(
        "The same ε treats “near” and “<far>” most differently under madlib (Nw differs by up to "
        "0.5) and least under tem (by up to 0.02)."
    )
    assert "madlib: at ε = 2 “near” stays with probability 0.2 (0.19 to 0.21), " in caption
    assert "“<far>” with 0.7 (0.69 to 0.71);" in caption
    assert "(at ε = 2)." in caption
    assert "tem: at ε = 4 “near” stays with probability 1, “<far>” with 1;" in caption


def test_one_mechanism_is_not_compared_with_itself(table: pd.DataFrame) -> None:
    only = table[table["mechanism"] == "tem.v1"].reset_index(drop=True)
    caption = pair_caption(only, {}).how
    assert "under tem (Nw differs by up to 0.02)." in caption
    assert "least" not in caption
    assert np.isfinite(pair_figure(only).data[1].x).all()
