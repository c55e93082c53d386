"""Without a lexicon or a mechanism a page says why and ends there."""

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import LexiconError
from dpcore.lexicon import catalogue
from pages.shared import session
from tests.pages.app import unopened


def _page() -> None:
    import streamlit as st

    from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop

    words = lexicon_or_stop("default")
    mechanisms = mechanisms_or_stop(words, st.session_state["chosen"])
    st.text(" ".join(mechanism.key for mechanism in mechanisms))


def _run(*chosen: tuple[str, tuple[tuple[str, object], ...]]) -> AppTest:
    test = AppTest.from_function(_page, default_timeout=60)
    test.session_state["chosen"] = chosen
    test.run()
    assert not test.exception, test.exception
    return test


def test_a_refused_setting_leaves_one_mechanism_out_and_the_others_stay() -> None:
    test = _run(("tem.v1", (("beta", -1.0),)), ("madlib.v1", ()))
    (refusal,) = test.error
    assert "left out: change its settings" in refusal.value
    reason, shorts = (element.value for element in test.text)
    assert "beta" in reason
    assert "-1.0" in reason
    assert shorts == "madlib.v1"


def test_with_no_mechanism_left_the_page_ends() -> None:
    test = _run(("tem.v1", (("beta", -1.0),)))
    assert len(test.error) == len(test.text) == 1
    assert "Choose at least one mechanism" in test.info[0].value


@pytest.mark.parametrize("page", ["rewrite", "curves", "words", "papers"])
def test_a_lexicon_that_cannot_be_loaded_is_refused_on_every_page(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LexiconError("the file **vectors** is damaged: add it again")

    monkeypatch.setattr(catalogue, "load", refuse)
    session.catalogued.clear()
    try:
        test = unopened(page).run()
    finally:
        session.catalogued.clear()
    assert not test.exception, test.exception
    assert [error.value for error in test.error] == ["The lexicon could not be loaded."]
    assert [text.value for text in test.text] == ["the file **vectors** is damaged: add it again"]
    assert not test.get("plotly_chart")
