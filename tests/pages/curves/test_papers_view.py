"""The section with the papers' figures under AppTest: drawn from records, refusing damage."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import StudyError
from dpcore.papers.comparison import comparison_rows
from dpcore.papers.studies import STUDIES
from dpcore.study.recorded import read_recorded
from pages.shared import taking

FIRST = next(iter(STUDIES))


def script() -> None:
    from pages.curves.papers import MEASURED, choose_figure, papers_view

    figure = choose_figure()
    if figure != MEASURED:
        papers_view(figure)


@pytest.fixture
def opened() -> Iterator[Callable[..., AppTest]]:
    def make(**state: Any) -> AppTest:
        taking.recorded.clear()
        test = AppTest.from_function(script, default_timeout=60)
        for name, value in state.items():
            test.session_state[name] = value
        return test.run()

    yield make
    taking.recorded.clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_drawn_and_every_row_of_its_comparison_is_read_in_full(
    opened: Callable[..., AppTest], name: str
) -> None:
    test = opened(figure=name)
    assert not test.exception, test.exception
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    assert len(charts) == len(STUDIES[name].panels)
    assert next(code.value for code in test.code).startswith(f"python -m dpcore study run {name}")
    texts = {element.value for element in test.text}
    assert "seed 0" in " ".join(texts)
    assert "fingerprint" in " ".join(texts)
    titles = {element.value for element in test.markdown}
    rows = comparison_rows(read_recorded(name))
    assert bool(rows) == bool(STUDIES[name].source)
    for row in rows:
        assert not set("*_`$[]<>~:\\#") & set(row.quantity + row.figure), "it would be Markdown"
        assert f"**{row.quantity}** ({row.figure})" in titles
        assert row.reason in texts
        (numbers,) = (
            text
            for text in texts
            if text.startswith(f"The paper: {row.in_paper}\nMeasured here: {row.ours}")
        )
        assert numbers.endswith(f"Difference: {row.difference}") == bool(row.difference)


def test_it_opens_with_measured_curves_and_a_paper_says_its_gap(
    opened: Callable[..., AppTest],
) -> None:
    assert not opened().get("plotly_chart")
    test = opened(figure=FIRST)
    assert any("not defined at" in str(element.value) for element in test.markdown)


def test_a_damaged_record_is_said(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(name: str) -> None:
        raise StudyError("it is damaged: record it again")

    monkeypatch.setattr(taking, "read_recorded", damaged)
    test = opened(figure=FIRST)
    assert not test.exception
    assert "could not be read" in test.error[0].value
    assert "record it again" in test.text[0].value
