"""Figures of robustness: curves, a picture under noise, votes, from tables with known content."""

import numpy as np
import pandas as pd

from dpcore.plots.robust import shares as robust
from dpcore.plots.robust.shares import (
    PRINTED,
    certified_caption,
    ends_caption,
    lines_figure,
    printed_caption,
    votes_caption,
    votes_figure,
)
from dpcore.plots.style import BLUE, GREY, VERMILION, style_of

CURVES = pd.DataFrame(
    [
        ("proved", 0.0, 0.9, 0.8, 1.0),
        ("proved", 0.5, 0.4, 0.3, 0.5),
        ("<b>other</b>", 0.0, 0.9, np.nan, np.nan),
        ("<b>other</b>", 0.5, 0.6, np.nan, np.nan),
    ],
    columns=list(robust.COLUMNS),
)


def test_curves_differ_in_colour_dash_and_marker_and_one_has_a_band() -> None:
    figure = lines_figure(CURVES.assign(x=[1.0, 20.0, 1.0, 20.0]), "ε", "accuracy", logarithm=True)
    named = [trace for trace in figure.data if trace.name]
    assert [trace.name for trace in named] == ["proved", "&lt;b&gt;other&lt;/b&gt;"]
    looks = [(t.line.color, t.line.dash, t.marker.symbol) for t in named]
    assert not set(looks[0]) & set(looks[1])
    (band,) = (trace for trace in figure.data if trace.fill == "toself")
    assert list(band.y) == [1.0, 0.5, 0.3, 0.8]
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "5", "10", "20"]
    assert list(figure.layout.yaxis.range) == [-0.03, 1.03]
    assert lines_figure(CURVES, "L", "loss", share=False).layout.yaxis.rangemode == "tozero"


def test_counts_have_whole_ticks() -> None:
    for most, step in ((3.0, 1), (25.0, 3)):
        figure = lines_figure(CURVES.assign(x=[0, most, 0, most]), "words", "share", whole=True)
        assert figure.layout.xaxis.dtick == step


def test_small_values_have_a_logarithmic_axis_and_no_band_down_to_nothing() -> None:
    figure = lines_figure(CURVES.assign(low=[0.0, 0.3, 0.1, 0.2]), "ε", "share", small=True)
    assert figure.layout.yaxis.type == "log"
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert not any(min(band.y) <= 0 for band in bands)


def test_a_mechanism_looks_as_everywhere() -> None:
    figure = lines_figure(CURVES.assign(mechanism=["tem", "tem", "", ""]), "ε", "accuracy")
    first, second = (trace for trace in figure.data if trace.name)
    assert (first.line.color, first.marker.symbol) == (
        style_of("tem").colour,
        style_of("tem").marker,
    )
    assert second.line.color == robust.LOOKS[1].colour


def test_no_two_looks_are_the_same() -> None:
    assert len(set(robust.LOOKS)) == len(robust.LOOKS)


def test_captions_say_the_ends_and_a_point() -> None:
    assert ends_caption(CURVES, "Accuracy", "ε").how.splitlines() == [
        "Accuracy.",
        "proved: 0.9 at ε = 0, 0.4 at ε = 0.5",
        "<b>other</b>: 0.9 at ε = 0, 0.6 at ε = 0.5",
    ]
    caption = certified_caption(CURVES, "10 pictures", 0.5).how
    assert "Share of 10 pictures that stay right, at 0 and at 0.5." in caption
    assert "proved: 90%, 40%" in caption


def test_printed_values_are_dotted_under_the_look_of_ours() -> None:
    ours = CURVES[CURVES["curve"] == "proved"]
    printed = ours.assign(curve="proved" + PRINTED, mean=ours["mean"] - [0.0, 0.3])
    table = pd.concat((CURVES, printed.assign(low=np.nan, high=np.nan)), ignore_index=True)
    lines = {line.name: line for line in lines_figure(table, "ε", "accuracy").data if line.name}
    assert lines["proved" + PRINTED].line.color == lines["proved"].line.color
    assert lines["proved" + PRINTED].line.dash == "dot"
    assert lines["proved" + PRINTED].marker.symbol == lines["proved"].marker.symbol + "-open"
    assert printed_caption(table, "Accuracy", "ε").finding == (
        "“proved” is farthest from the paper at ε = 0.5: 40% here, 10% printed."
    )
    assert printed_caption(CURVES, "Accuracy", "ε") == ends_caption(CURVES, "Accuracy", "ε")


VOTES = pd.DataFrame(
    [("3", 0.2, 0.1, 0.3), ("5", 0.7, 0.6, 0.8), ("8", 0.1, 0.0, 0.2)],
    columns=list(robust.VOTES),
)


def test_bounds_of_votes_are_drawn_and_said() -> None:
    (bars,) = votes_figure(VOTES, "3", "votes").data
    assert list(bars.marker.color) == [BLUE, VERMILION, GREY]
    assert list(bars.marker.pattern.shape) == ["/", "", ""]
    np.testing.assert_allclose(bars.error_y.array, [0.1] * 3)
    np.testing.assert_allclose(bars.error_y.arrayminus, [0.1] * 3)
    caption = votes_caption(VOTES, "3", 0.001).how
    assert "Class 5 is at least 0.6, and no other above 0.3 (class 3)" in caption
    assert "A prediction is made." in caption.replace("a prediction", "A prediction")
    assert "The true class (hatched) is 3." in caption
    close = VOTES.assign(high=[0.65, 0.8, 0.2])
    assert "it abstains" in votes_caption(close, "3", 0.001).how


def test_no_two_curves_look_the_same() -> None:
    """A mechanism at several δ keeps its colour and dash, and more curves than looks go on."""
    many = pd.concat(
        CURVES.iloc[:2].assign(curve=f"{name} {number}", mechanism=name)
        for name, count in (("gaussian", 4), ("", 20))
        for number in range(count)
    )
    lines = [trace for trace in lines_figure(many, "ε", "accuracy").data if trace.name]
    looks = [
        (trace.line.color, trace.line.dash, trace.marker.symbol, trace.marker.size)
        for trace in lines
    ]
    assert len(looks) == len(set(looks)) == 24
    assert len({look[:2] for look in looks[:4]}) == 1
