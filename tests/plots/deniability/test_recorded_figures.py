"""Figures of recorded results: marks and captions."""

import math
from typing import Any

import pandas as pd
import pytest

from dpcore.plots.deniability.recorded import (
    COLUMNS,
    TRADE_COLUMNS,
    recorded_caption,
    recorded_figure,
    trade_caption,
    trade_figure,
)


def row(
    curve: str, mechanism: str, layer: str, epsilon: float, mean: float, deviation: float = 0.1
) -> dict[str, Any]:
    return {
        "curve": curve, "mechanism": mechanism, "layer": layer, "epsilon": epsilon, "mean": mean,
        "standard_deviation": deviation, "standard_error": 0.01, "q05": mean, "q95": mean,
        "words": 0 if layer == "paper" else 40, "runs": 0 if layer == "paper" else 1000,
        "method": "protocol" if layer == "protocol" else "exact",
    }  # fmt: skip


@pytest.fixture
def table() -> pd.DataFrame:
    rows = [
        row("laplace", "laplace.v1", "line", 1.0, 0.05),
        row("laplace", "laplace.v1", "line", 10.0, 0.95),
        row("laplace", "laplace.v1", "protocol", 10.0, 0.94),
        row("laplace", "laplace.v1", "paper", 1.0, 0.5),
        row("laplace", "laplace.v1", "paper", 10.0, 0.7),
        row("tem", "tem.v1", "line", 1.0, 0.2, 0.0),
        row("tem", "tem.v1", "line", 10.0, 0.8, 0.0),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_a_band_a_line_and_the_marks_of_each_layer(table: pd.DataFrame) -> None:
    figure = recorded_figure(table, "nw", "ε", logarithm=False)
    names = [trace.name for trace in figure.data if trace.name]
    keys, curves = names[:2], names[2:]
    assert keys == ["the paper's protocol, 40 words", "printed in the paper"]
    assert curves == ["laplace", "laplace, protocol", "laplace, the paper", "tem"]
    shown = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert shown == keys
    lower, upper = figure.data[2], figure.data[3]
    assert lower.y == (0.0, 0.85)  # cut at 0
    assert upper.y == pytest.approx((0.15, 1.0))  # and at 1
    whiskers = {trace.name: trace.error_y.array for trace in figure.data if trace.name}
    assert whiskers["laplace, protocol"] == pytest.approx((0.06,))  # 1 is the most
    assert whiskers["laplace, the paper"] is None
    texts = [note.text for note in figure.layout.annotations]
    assert sum(text.endswith((" laplace", " tem")) for text in texts) == 2
    assert figure.layout.xaxis.type == "log"


def test_the_axis_of_ln_epsilon_is_linear_in_it(table: pd.DataFrame) -> None:
    figure = recorded_figure(table[table["curve"] == "tem"], "sw", "ln ε", logarithm=True)
    (line,) = [trace for trace in figure.data if trace.name]
    assert line.x == (0.0, math.log(10.0))
    assert figure.layout.xaxis.type is None
    assert "1,000 runs" in figure.layout.yaxis.title.text


def test_the_caption_says_the_numbers_that_are_drawn(table: pd.DataFrame) -> None:
    caption = recorded_caption(table, "nw", logarithm=False).how
    assert "laplace: 0.05 at ε = 1 to 0.95 at ε = 10 (40 words, exact)." in caption
    assert "laplace, printed in the paper, hollow: 0.5 at ε = 1 to 0.7 at ε = 10." in caption
    assert "tem: 0.2 at ε = 1" in caption
    assert "ln ε = 2.3" in recorded_caption(table, "nw", logarithm=True).how


def test_a_largest_value_in_the_text_of_a_paper_is_a_line_and_no_point(
    table: pd.DataFrame,
) -> None:
    stated = [row("tem", "tem.v1", "stated", e, 20.0, math.nan) for e in (1.0, 10.0)]
    more = pd.concat([table, pd.DataFrame(stated, columns=list(COLUMNS))], ignore_index=True)
    figure = recorded_figure(more, "sw", "ε", logarithm=False)
    keys = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert keys[-1] == "largest value stated in the paper"
    (mark,) = [trace for trace in figure.data if trace.name == "tem, largest in the paper"]
    assert (mark.mode, mark.y) == ("lines", (20.0, 20.0))
    caption = recorded_caption(more, "sw", logarithm=False).how
    assert "tem, stated in the paper as the largest, dotted: about 20." in caption
    assert "tem, printed" not in caption


def test_sw_against_nw() -> None:
    rows = [
        ("madlib", "madlib.v1", "exact", e, 40, 1000, nw, sw)
        for e, nw, sw in ((1.0, 0.1, 900.0), (9.0, 0.45, 300.0), (90.0, 1.0, 1.0))
    ]
    table = pd.DataFrame(rows, columns=list(TRADE_COLUMNS))
    figure = trade_figure(table)
    (line,) = figure.data
    assert line.x == (0.1, 0.45, 1.0)
    assert line.y == (900.0, 300.0, 1.0)
    assert figure.layout.yaxis.type == "log"
    # A line from (0.45, 300) to (1, 1), and of ε its logarithm.
    share = 0.05 / 0.55
    reached = f"Sw {300 - 299 * share:.0f} where Nw is 0.5 (ε = {9.0 * 10**share:.1f})"
    assert reached in trade_caption(table).how
    assert "Nw is never 0.05" in trade_caption(table, 0.05).how
