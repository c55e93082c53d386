"""Figures give every curve of a mechanism its own colour, dash and marker, by its label."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dpcore.plots.attack import tradeoff
from dpcore.plots.deniability.curves import curves_figure
from dpcore.plots.deniability.equal_nw import equal_figure as equal_nw_figure
from dpcore.plots.deniability.recorded import COLUMNS, recorded_figure, trade_figure
from dpcore.plots.pair import pair_figure
from dpcore.plots.robust.shares import lines_figure
from dpcore.plots.style import name_tag, short_name, style_of
from dpcore.plots.utility.curves import utility_figure
from dpcore.plots.utility.frontier import equal_figure, frontier_figure
from dpcore.plots.utility.roc import roc_figure
from dpcore.study.recorded import read_recorded
from dpcore.study.utility import at_equal

CURVES = {
    "neighbour-response, k = 3": "neighbour-response",
    "neighbour-response, k = 10": "neighbour-response",
    "neighbour-response, k = 30": "neighbour-response",
    "k-ary": "k-ary",
    "tem": "tem.v1",
    "tem-calibrated": "tem-calibrated.v1",
    "gaussian, δ = 0.122": "gaussian",
}
POINTS = pd.DataFrame(
    [
        {"curve": curve, "mechanism": mechanism, "epsilon": epsilon, "x": epsilon, "trials": 3,
         "mean": mean, "low": mean - 0.1, "high": mean + 0.1}
        for curve, mechanism in CURVES.items()
        for epsilon, mean in ((1.0, 0.3), (5.0, 0.7))
    ]
)  # fmt: skip
RECORDED = POINTS.assign(
    layer="line", method="exact", words=40, runs=1000, standard_deviation=0.1, standard_error=0.01,
    q05=0.2, q95=0.8,
)[list(COLUMNS)]  # fmt: skip
AMOUNTS = pd.concat(
    POINTS.rename(columns={"curve": "label", "mean": "value"}).assign(quantity=quantity)
    for quantity in ("word", "meaning")
)
BOUND = pd.DataFrame({"epsilon": [1.0, 5.0], "high": [0.5, 1.0]})
FIGURES: dict[str, Callable[[], go.Figure]] = {
    "utility": lambda: utility_figure(POINTS, "accuracy", "ε"),
    "equal": lambda: equal_figure(POINTS, "word", "accuracy"),
    "lines": lambda: lines_figure(POINTS, "ε", "accuracy"),
    "recorded": lambda: recorded_figure(RECORDED, "nw", "ε", logarithm=False),
    "trade": lambda: trade_figure(RECORDED.assign(nw=RECORDED["mean"], sw=500.0)),
    "trade-off": lambda: tradeoff.tradeoff_figure(AMOUNTS),
    "line of the trade-off": lambda: tradeoff.frontier_figure(BOUND, AMOUNTS, "ε"),
}


def look(trace: go.Scatter) -> tuple[str, str, str]:
    return trace.line.color, trace.line.dash, trace.marker.symbol


def own(name: str) -> tuple[str, str, str]:
    style = style_of(name)
    return style.colour, style.dash, style.marker


@pytest.mark.parametrize("name", FIGURES)
def test_every_curve_looks_as_its_label_says(name: str) -> None:
    traces = {trace.name: trace for trace in FIGURES[name]().data if trace.name in CURVES}
    assert {label: look(trace) for label, trace in traces.items()} == {
        label: own(label) for label in CURVES
    }
    assert len({look(trace) for trace in traces.values()}) == len(CURVES)


def test_the_names_at_the_ends_of_curves_have_their_marks() -> None:
    figure = recorded_figure(RECORDED, "nw", "ε", logarithm=False)
    texts = " ".join(str(note.text) for note in figure.layout.annotations)
    for label in CURVES:
        assert (
            f'<span style="color:{style_of(label).colour}">{style_of(label).glyph}</span>' in texts
        )


def test_marks_without_lines_have_colour_and_shape() -> None:
    table = POINTS.assign(private=POINTS["mean"], useful=POINTS["mean"])
    for dominated, ending in ((False, ""), (True, "-open")):
        figure = frontier_figure(table.assign(dominated=dominated), "guessed", "accuracy")
        for trace in figure.data:
            if trace.name in CURVES:
                style = style_of(trace.name)
                assert trace.marker.color == style.colour
                assert set(trace.marker.symbol) == {style.marker + ending}


def test_a_roc_has_the_dash_of_its_mechanism_first() -> None:
    """And other dashes at other ε; the model of clean text looks like no mechanism."""
    rates = pd.DataFrame({"at": [0.01, 1.0], "mean": [0.1, 1.0], "low": np.nan, "high": np.nan})
    label = "neighbour-response, k = 3"
    names = {
        "without privacy": "",
        f"{label}, ε = 5": CURVES[label],
        f"{label}, ε = 9": "neighbour-response",
    }
    parts = [rates.assign(curve=name, mechanism=key, epsilon=1.0) for name, key in names.items()]
    traces = {trace.name: trace for trace in roc_figure(pd.concat(parts)).data}
    first, second = traces[f"{label}, ε = 5"], traces[f"{label}, ε = 9"]
    assert look(first) == own(label)
    assert look(second)[::2] == own(label)[::2]
    assert second.line.dash != first.line.dash
    assert look(traces["without privacy"])[0] != own(label)[0]


def test_mechanisms_without_labels_look_as_everywhere() -> None:
    keys = ["madlib.v1", "tem.v1", "optimal.v1"]
    rows = pd.concat(POINTS[:2].assign(mechanism=key) for key in keys)
    everything = rows.assign(
        runs=100, q05=0.1, q95=0.9, standard_deviation=0.1, sw=9.0, effective=9.0, nw=rows["mean"],
    )  # fmt: skip
    pairs = pd.concat(
        rows.assign(
            word="a", other=other, nw=rows["mean"], nw_low=rows["mean"], nw_high=rows["mean"]
        )
        for other in "bc"
    )
    figures = (
        curves_figure(everything, "nw", "ε", False, "quantiles"),
        equal_nw_figure(everything, "sw", 100),
        pair_figure(pairs),
    )
    for figure in figures:
        for key in keys:
            named = {short_name(key), name_tag(key)}
            (trace,) = [trace for trace in figure.data if trace.name in named]
            assert look(trace) == own(key)


def test_curves_of_the_recorded_comparison_at_equal_leakage_differ() -> None:
    table = read_recorded("equal-leakage").table
    here = {"lexicon": "bundled", "learner": "tf-idf", "tested_on": "private", "data": "topic"}
    points = at_equal(table, ("word", {"lexicon": "bundled"}), ("accuracy", here))
    traces = equal_figure(points, "word", "accuracy").data
    looks = {trace.name: look(trace) for trace in traces}
    assert {f"neighbour-response, k = {k}" for k in (3, 10, 30)} < set(looks)
    assert len(set(looks.values())) == len(looks)
    assert all(seen == own(name) for name, seen in looks.items())
