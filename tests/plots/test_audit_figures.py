"""The figures about ADePT's noise show the numbers of their tables."""

import numpy as np

from dpcore.papers.habernal2021.comparison import exceeding_pairs, two_dimensions
from dpcore.plots.audit import (
    GEOMETRY_COLUMNS,
    SHARE_COLUMNS,
    exceeding_caption,
    exceeding_figure,
    geometry_caption,
    geometry_figure,
)

TABLE = exceeding_pairs(np.random.default_rng(0), (1, 2, 4, 8, 16, 32), 400)


def test_one_line_a_distribution_and_one_for_the_control() -> None:
    figure = exceeding_figure(TABLE[list(SHARE_COLUMNS)])
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert len(named) == 4
    for name, rows in TABLE[TABLE["clipping"] == "L2"].groupby("distribution"):
        assert list(named[name].y) == rows["share"].tolist()
        assert list(named[name].x) == rows["dimension"].tolist()
    assert set(named["clipped by the L1 norm"].y) == {0.0}
    looks = {(t.line.color, t.line.dash) for t in named.values()}
    assert len(looks) == 4


def test_the_caption_reads_the_table() -> None:
    text = exceeding_caption(TABLE).how
    assert "400 pairs" in text
    assert "uniform on [−C, C]: half of the pairs from n = 4" in text
    assert "normal, σ = 0.01 C: 0% at n = 32" in text
    assert "Clipped by the L1 norm: at most 0%" in text


def test_without_the_control_nothing_is_said_of_it() -> None:
    alone = TABLE[TABLE["clipping"] == "L2"]
    assert len([t for t in exceeding_figure(alone).data if t.name]) == 3
    assert "L1 norm:" not in exceeding_caption(alone).how


def test_the_geometry() -> None:
    shapes = two_dimensions()[list(GEOMETRY_COLUMNS)]
    figure = geometry_figure(shapes)
    assert len(figure.data) == 4
    assert figure.layout.yaxis.scaleanchor == "x"
    assert "2.83·C in the L1 norm" in geometry_caption(shapes).how


def test_a_finger_that_scrolls_the_page_draws_no_box() -> None:
    for figure in (geometry_figure(two_dimensions()), exceeding_figure(TABLE)):
        assert figure.layout.dragmode is False
