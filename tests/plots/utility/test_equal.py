"""Figures at equal privacy: one axis for all mechanisms, whiskers, and their captions."""

import numpy as np
import pandas as pd
import pytest

from dpcore.plots.style import style_of
from dpcore.plots.utility.curves import Line
from dpcore.plots.utility.frontier import EQUAL_COLUMNS, X_TITLES, equal_caption, equal_figure

TABLE = pd.DataFrame(
    [
        ("madlib", "madlib", 9.0, 0.8, 0.7, 0.9, 3, 90.0),
        ("madlib", "madlib", 1.0, 0.5, 0.45, 0.55, 3, 10.0),
        ("tem", "tem", 2.0, 0.7, np.nan, np.nan, 1, 20.0),
    ],
    columns=list(EQUAL_COLUMNS),
)
LINES = (Line("without privacy", 0.82),)


def test_marks_are_joined_by_privacy_and_have_whiskers() -> None:
    figure = equal_figure(TABLE, "nw", "accuracy", LINES)
    named = {trace.name: trace for trace in figure.data}
    assert list(named["madlib"].x) == [10.0, 90.0]
    assert list(named["madlib"].y) == [0.5, 0.8]
    assert list(named["madlib"].error_y.array) == pytest.approx([0.05, 0.1])
    assert list(named["madlib"].customdata) == [1, 9]
    assert list(named["tem"].error_y.array) == [0.0]  # one trial
    assert named["tem"].line.color == style_of("tem").colour
    assert list(named["without privacy"].x) == [10.0, 90.0]
    assert figure.layout.xaxis.title.text == X_TITLES["nw"]


def test_only_the_loss_is_logarithmic() -> None:
    assert equal_figure(TABLE, "nw", "accuracy").layout.xaxis.type is None
    axis = equal_figure(TABLE, "loss", "accuracy").layout.xaxis
    assert axis.type == "log"
    assert list(axis.ticktext) == ["10", "20", "50"]


def test_the_caption_reads_the_middle_of_the_axis() -> None:
    caption = equal_caption(TABLE, "loss", "accuracy", LINES).how
    assert "madlib: 0.5 at 10 (ε = 1)" in caption  # √(10 · 90) = 30 is nearer to 10 than to 90
    assert "tem: 0.7 at 20 (ε = 2)" in caption
    assert "without privacy: 0.82" in caption
    assert "over 3 trials" in caption
    assert "One trial" in equal_caption(TABLE[2:], "nw", "accuracy").how
