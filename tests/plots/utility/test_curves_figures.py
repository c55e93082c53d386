"""Figures of utility: curves, frontier and ROC, from small tables with known content."""

import numpy as np
import pandas as pd
import pytest

from dpcore.plots.style import style_of
from dpcore.plots.utility import curves as utility
from dpcore.plots.utility import frontier as utility_frontier
from dpcore.plots.utility import roc as utility_roc
from dpcore.plots.utility.curves import Line, utility_caption, utility_figure
from dpcore.plots.utility.frontier import frontier_caption, frontier_figure
from dpcore.plots.utility.roc import roc_caption, roc_figure

CURVES = pd.DataFrame(
    [
        ("madlib", "madlib", 1.0, 0.5, 0.45, 0.55, 5),
        ("madlib", "madlib", 10.0, 0.7, 0.65, 0.75, 5),
        ("tem", "tem", 1.0, 0.6, np.nan, np.nan, 1),
        ("tem", "tem", 10.0, 0.8, np.nan, np.nan, 1),
    ],
    columns=list(utility.COLUMNS),
)
LINES = (Line("without privacy", 0.82), Line("majority class", 0.5, "dot"))


def test_a_curve_has_its_band_and_style_and_a_baseline_goes_across() -> None:
    figure = utility_figure(CURVES, "accuracy", "ε per unit of distance", LINES)
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert set(named) == {"madlib", "tem", "without privacy", "majority class"}
    assert named["tem"].line.color == style_of("tem").colour
    assert named["tem"].marker.symbol == style_of("tem").marker
    assert list(named["without privacy"].x) == [1.0, 10.0]
    assert set(named["without privacy"].y) == {0.82}
    bands = [trace for trace in figure.data if trace.fill == "tonexty"]
    assert [list(band.y) for band in bands] == [[0.55, 0.75]]  # tem has one trial: no band
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.title.text == "ε per unit of distance"


def test_the_caption_says_the_numbers() -> None:
    caption = utility_caption(CURVES, "accuracy", LINES).how
    assert "madlib: from 0.5 at ε = 1 to 0.7 at ε = 10" in caption
    assert "without privacy: 0.82" in caption
    assert "95 % intervals of the mean over 1 to 5 trials" in caption
    assert "One trial" in utility_caption(CURVES[2:], "accuracy").how


FRONTIER = pd.DataFrame(
    [
        ("madlib", "madlib", 1.0, 0.2, 0.5, True),
        ("tem", "tem", 1.0, 0.1, 0.6, False),
        ("tem", "tem", 5.0, 0.9, 0.8, False),
    ],
    columns=list(utility_frontier.COLUMNS),
)


def test_dominated_marks_are_hollow_and_the_frontier_is_drawn_through_the_rest() -> None:
    figure = frontier_figure(FRONTIER, "Nw", "accuracy", LINES[:1])
    named = {trace.name: trace for trace in figure.data}
    line = named["frontier: no other is as good in both and better in one"]
    assert list(line.x) == [0.1, 0.9]
    assert set(named["madlib"].marker.symbol) == {"circle-open"}
    assert set(named["tem"].marker.symbol) == {"diamond"}
    assert named["tem"].marker.opacity is None  # nothing is too faint to see
    assert named["tem"].customdata[1] == 5
    assert "without privacy" in named
    caption = frontier_caption(FRONTIER, "Nw", "accuracy").how
    assert "2 of 3 marks" in caption
    assert "madlib 0 of 1, tem 2 of 2" in caption


ROC = pd.DataFrame(
    [
        ("without privacy", "", np.nan, 0.001, 0.0, 0.0, 0.01),
        ("without privacy", "", np.nan, 0.01, 0.05, 0.02, 0.08),
        ("without privacy", "", np.nan, 1.0, 1.0, 1.0, 1.0),
        ("tem, ε = 2", "tem", 2.0, 0.001, 0.002, np.nan, np.nan),
        ("tem, ε = 2", "tem", 2.0, 1.0, 1.0, np.nan, np.nan),
    ],
    columns=list(utility_roc.COLUMNS),
)


def test_roc_is_logarithmic_and_zero_is_drawn_at_the_floor() -> None:
    figure = roc_figure(ROC)
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert set(named) == {"guessing", "without privacy", "tem, ε = 2"}
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    curve = named["without privacy"]
    assert curve.y[0] == pytest.approx(0.0005)
    assert curve.customdata[0] == 0.0  # the hover text gives the true value
    assert list(named["guessing"].x) == list(named["guessing"].y) == [0.001, 1.0]
    assert len([trace for trace in figure.data if trace.fill == "tonexty"]) == 1


def test_the_roc_caption_reads_one_rate() -> None:
    caption = roc_caption(ROC, 0.01).how
    assert "1 in 100 texts" in caption
    assert "without privacy: 5 %" in caption


def test_curves_of_one_mechanism_have_dashes_of_their_own() -> None:
    second = ROC[3:].assign(curve="tem, ε = 4", epsilon=4.0)
    figure = roc_figure(pd.concat([ROC, second]))
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert named["tem, ε = 2"].line.color == named["tem, ε = 4"].line.color
    assert named["tem, ε = 2"].line.dash != named["tem, ε = 4"].line.dash


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.0, 40.0, ["1", "2", "5", "10", "20"]),
        (0.05, 1000.0, ["0.1", "1", "10", "100", "1,000"]),
        (3.0, 4.0, []),
    ],
)
def test_ticks_are_whole_and_not_too_many(low: float, high: float, shown: list[str]) -> None:
    assert utility.log_ticks(low, high)["ticktext"] == shown
