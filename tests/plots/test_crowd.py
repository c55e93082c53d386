"""Figures of a crowd: every number is that of its row, and texts of a file are no markup."""

import numpy as np
import pytest

from dpcore.crowd.comparison import compare, trend_figure
from dpcore.crowd.estimates import TEXTS, Estimates, OutputCounts
from dpcore.crowd.planner import plan
from dpcore.crowd.queries import of_indices
from dpcore.crowd.undo import undo
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create
from dpcore.plots.crowd import counts_by_texts, dots, dots_caption, errors_by_texts
from tests.mechanisms.contract import SMALL

N = len(SMALL)


@pytest.fixture
def estimates(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Estimates:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    mechanism = create("k-ary", SMALL)
    rng = np.random.default_rng(0)
    words = [rng.integers(N, size=4_000), np.zeros(4_000, dtype=int), rng.integers(9, size=4_000)]
    outputs = [np.bincount(mechanism.sample(rng, w, 4.0), minlength=N) for w in words]
    seen = OutputCounts(("1", "2", "<b>3"), np.array([9, 9, 9]), np.array(outputs))
    estimators = undo(mechanism, 4.0, of_indices(SMALL, np.arange(4)), 4_000)
    return Estimates("k-ary", 4.0, TEXTS, 0.95, True, seen, estimators)


def test_dots_are_the_estimates_and_their_intervals(estimates: Estimates) -> None:
    figure = estimates.figure()
    rows = estimates.rows
    assert len(figure.data) == 3
    first = [row for row in rows if row.group == "1"]
    for x, plus, minus, row in zip(
        figure.data[0].x, figure.data[0].error_x.array, figure.data[0].error_x.arrayminus, first,
        strict=True,
    ):  # fmt: skip
        assert (x + plus, x - minus) == pytest.approx((row.high, row.low))
    assert figure.data[2].name == "&lt;b&gt;3"
    assert "&lt;b&gt;3" in estimates._repr_html_()
    assert "<b>3" not in estimates._repr_html_()


def test_a_volcano_has_what_differs_and_what_does_not(estimates: Estimates) -> None:
    comparison = compare(estimates)
    figure = comparison.figure("2")
    rows = [row for row in comparison.rows if row.group == "2"]
    assert len(figure.data[0].x) == sum(row.differs for row in rows)
    assert len(figure.data[1].x) == sum(not row.differs for row in rows)
    assert "w0" in figure.data[0].text
    assert "differs" in comparison._repr_html_()
    with pytest.raises(ParameterError, match="no group"):
        comparison.figure("4")


def test_a_trend_lies_among_its_shares(estimates: Estimates) -> None:
    figure = trend_figure(estimates, "w0")
    assert list(figure.data[1].y) == pytest.approx(
        [1000 * row.estimate / row.words for row in estimates.rows if row.query == "w0"]
    )
    assert len(figure.data[0].x) == 3
    with pytest.raises(ParameterError, match="no query"):
        trend_figure(estimates, "w30")


def test_the_truth_is_a_ring_and_the_finding_says_how_many_intervals_hold_it(
    estimates: Estimates,
) -> None:
    rows = [row.to_dict() | {"truth": row.low} for row in estimates.rows]
    rows[0]["truth"] = rows[0]["high"] + 1
    figure = dots(rows)
    assert list(figure.data[-1].x) == [row["truth"] for row in rows]
    assert len(set(figure.data[-1].marker.color)) == 3
    caption = dots_caption(rows)
    assert caption.finding.startswith(f"{len(rows) - 1} of {len(rows)} intervals hold the truth: ")
    clearest = next(row for row in rows if f"“{row['query']}” is counted" in caption.finding)
    assert any(
        f" times in {group}, and is there" in caption.finding for group in ("1", "2", "<b>3")
    )
    alone = dots_caption([row for row in rows if row["group"] == clearest["group"]])
    assert " times, and is there" in alone.finding
    unknown = [row | {"estimate": None} for row in rows]
    assert (
        dots_caption(unknown).finding == f"{len(rows) - 1} of {len(rows)} intervals hold the truth."
    )


def test_groups_are_named_and_decades_are_whole_numbers(estimates: Estimates) -> None:
    rows = [row.to_dict() | {"truth": 5.0} for row in estimates.rows if row.query == "w0"]
    assert dots(rows).layout.showlegend
    assert not dots(
        [row for row in rows if row["group"] == "1" and row.pop("truth")]
    ).layout.showlegend
    sizes = (100, 3_000, 12_345)
    grown = [row | {"texts": size, "truth": 5.0} for size in sizes for row in rows]
    figure = counts_by_texts(grown)
    assert figure.layout.xaxis.ticktext == ("100", "1,000", "10,000")
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        "1", "truth", "2", "&lt;b&gt;3",
    ]  # fmt: skip
    wide = [row | {"high": 4_000.0} if row["texts"] == 100 else row for row in grown]
    assert counts_by_texts(wide).layout.yaxis.range[1] < 1_000


def test_errors_fall_with_the_number_of_texts_and_meet_what_was_asked_for() -> None:
    planned = plan(
        create("k-ary", SMALL), error=0.1, epsilon=4.0, words=["w3"], share=0.01, stranger="equal"
    )
    assert planned.texts is not None
    texts = [float(planned.texts), 4.0 * planned.texts]
    errors = {"w3": planned.errors_in(texts)[0].tolist()}
    figure = errors_by_texts(texts, errors, 0.1, [planned.texts])
    assert list(figure.data[0].y) == pytest.approx([10.0, 5.0], rel=0.02)
    assert figure.data[1].x == (planned.texts,)
