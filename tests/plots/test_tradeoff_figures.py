"""The figures of the trade-off: every curve and interval, and their captions."""

import pandas as pd
import pytest

from dpcore.attack.trade.ground import Amount
from dpcore.attack.trade.tradeoff import wastes
from dpcore.plots.attack.tradeoff import (
    AXES,
    distance_caption,
    frontier_caption,
    frontier_figure,
    tradeoff_caption,
    tradeoff_figure,
)


def table(**curves: tuple[tuple[float, float, float], ...]) -> pd.DataFrame:
    rows = [
        {
            "mechanism": name.replace("_", "-"),
            "epsilon": epsilon,
            "quantity": quantity,
            "value": value,
            "low": value - 0.01,
            "high": value + 0.02,
        }
        for name, points in curves.items()
        for epsilon, word, meaning in points
        for quantity, value in (("word", word), ("meaning", meaning))
    ]
    return pd.DataFrame(rows)


TABLE = table(
    tem=((2.4, 0.26, 0.27), (2.0, 0.07, 0.08)), k_ary=((8.0, 0.05, 0.05), (10.0, 0.45, 0.45))
)


def test_each_mechanism_is_a_curve_along_which_epsilon_rises() -> None:
    figure = tradeoff_figure(TABLE)
    assert [trace.name for trace in figure.data] == ["tem", "k-ary"]
    tem = figure.data[0]
    assert list(tem.customdata) == [2.0, 2.4]
    assert list(tem.x) == pytest.approx([7, 26])
    assert list(tem.y) == pytest.approx([8, 27])
    for bars in (tem.error_x, tem.error_y):
        assert list(bars.array) == pytest.approx([2, 2])
        assert list(bars.arrayminus) == pytest.approx([1, 1])
    assert figure.layout.xaxis.title.text.startswith(AXES["word"])
    assert figure.layout.dragmode is False


def test_the_caption_compares_where_as_much_is_given_away() -> None:
    caption = tradeoff_caption(TABLE)
    # On the lines, at the highest level that both reach: tem .08 + .19·13/19 = .21, k-ary .20.
    assert (
        "Where 20 in 100 are given away (words guessed, all equally likely), tem leaves" in caption
    )
    assert "tem leaves the most, 21 in 100" in caption
    assert caption.endswith("and k-ary the least, 20.")
    alone = tradeoff_caption(TABLE[TABLE["mechanism"] == "tem"])
    assert alone.endswith("tem leaves 21 in 100 (meaning that is left).")
    nowhere = tradeoff_caption(table(tem=((2.0, 0.6, 0.6),)))
    assert nowhere == "Further up is better, further left is safer."


def test_the_line_that_no_one_crosses_comes_first_and_widest() -> None:
    bound = pd.DataFrame({"epsilon": [1.0, 2.0], "low": [0.1, 0.9], "high": [0.2, 1.0]})
    figure = frontier_figure(bound, TABLE, "ε per unit of distance")
    assert [trace.name for trace in figure.data] == ["no mechanism above", "tem", "k-ary"]
    assert list(figure.data[0].y) == [20, 100]
    assert figure.data[0].line.width > figure.data[1].line.width
    assert list(figure.data[1].x) == [2.0, 2.4]
    assert figure.layout.xaxis.type == "log"


def test_how_many_times_the_least_epsilon() -> None:
    rows = [
        Amount("a", epsilon, "word", value, value, value, exact=True)
        for epsilon, value in ((1.0, 0.25), (4.0, 0.75), (8.0, 0.9))
    ] + [Amount("b", 1.0, "word", 0.1, 0.1, 0.1, exact=True)]
    assert wastes(rows, 0.5) == {"a": (2.0, 8.0)}  # between ε = 1 and 4
    assert wastes(rows, 2.0) == {"a": (1.0, 2.0)}  # nothing spends less than the least
    caption = frontier_caption({"a": (2.0, 8.0), "b": (3.0, 3.0)})
    assert caption.endswith("is this many times the least: a 2 to 8, b 3.")
    assert frontier_caption({}).endswith("no mechanism with this ε is above it.")


def test_the_bound_on_meaning_says_below_which_epsilon_no_half_is_left() -> None:
    bound = pd.DataFrame({"epsilon": [1.0, 2.0, 3.0], "high": [0.2, 0.5, 0.9]})
    assert distance_caption(bound).endswith("Below ε = 2 nobody can leave half of it.")
    at_once = distance_caption(bound[bound["epsilon"] >= 2])
    assert at_once.endswith("No mechanism is above it.")
