"""The section on Appendix C under AppTest: words, figures, sentences, refusals."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.curves import papers
from pages.shared.words import OTHER, WORD


def script() -> None:
    from pages.curves.papers import appendix_view
    from pages.shared.session import lexicon

    appendix_view(lexicon("default"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    monkeypatch.setattr(papers, "_DIRECTIONS", 20)

    def make(**state: Any) -> AppTest:
        test = AppTest.from_function(script, default_timeout=60)
        for name, value in state.items():
            test.session_state[name] = value
        test.run()
        assert not test.exception, test.exception
        return test

    return make


def shown_text(test: AppTest) -> str:
    return " ".join(str(element.value) for element in test.text)


def test_it_opens_with_two_figures_of_a_dense_and_a_sparse_word(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    assert len(charts) == 2
    assert all(len(chart["data"]) == 9 for chart in charts)
    assert [box.value for box in test.text_input] == ["monday", "garage"]
    text = shown_text(test)
    assert "it contradicts the formula" in text
    assert "vector of 300 coordinates" in text
    assert "for 25,000 words" in text
    table = test.dataframe[0].value
    assert len(table) == 4
    assert (table["truth"] <= 1).all()


def test_a_slider_changes_what_is_said_and_computes_nothing(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    rows = test.session_state["appendix_held"]
    test.select_slider(key="appendix_eps_metric").set_value(100.0).run()
    assert test.session_state["appendix_held"] is rows
    assert "At ε = 100, “monday”" in shown_text(test)


@pytest.mark.slow
def test_the_words_of_all_pages_are_followed_and_a_typed_one_is_taken_along(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(**{WORD: "river"})
    assert [box.value for box in test.text_input] == ["river", "garage"]
    test.text_input(key="appendix_sparse").set_value("Hospital").run()
    assert test.session_state[OTHER] == "hospital"
    assert "“hospital”" in shown_text(test)
    assert "hospital" not in str(test.query_params)


def test_a_word_that_cannot_be_compared_is_refused(opened: Callable[..., AppTest]) -> None:
    test = opened()
    for typed, refused in (
        ("<b>zzzxq", "not in the lexicon"),
        ("", "not in the lexicon"),
        ("monday", "same word"),
    ):
        test.text_input(key="appendix_sparse").set_value(typed).run()
        assert not test.exception
        assert refused in test.error[0].value
        assert not test.get("plotly_chart")
    test.text_input(key="appendix_sparse").set_value("garage").run()
    assert len(test.get("plotly_chart")) == 2
