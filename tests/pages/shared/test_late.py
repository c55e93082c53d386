"""A change that arrives after its field has gone."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpcore.lexicon.catalogue import load
from pages.curves import papers
from pages.rewrite import word_view
from pages.shared import sidebar, text_box
from pages.shared import words as chosen
from pages.words import words


def changed(monkeypatch: pytest.MonkeyPatch, drawn: str, draw: Callable[[], None]) -> Any:
    """The callback of a control that is drawn."""
    heard: list[Any] = []

    def take(*_: object, **more: Any) -> None:
        heard.append(more.get("on_change") or more["on_select"])

    monkeypatch.setattr(drawn, take)
    draw()
    return heard[0]


def test_nothing_is_chosen_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon = load()
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr(word_view, "run_dependents", lambda: None)
    for module in (papers, words):
        monkeypatch.setattr(module, "choose", lambda *_, **__: pytest.fail("chosen"))
    monkeypatch.setattr("pages.shared.link.drop", lambda *_: pytest.fail("a link lost its text"))

    def word(key: str) -> None:
        chosen.choose_word(
            "", key, "city", lexicon, lambda _: pytest.fail("taken"),
            offered=["city"], explained="", clear=lambda: pytest.fail("cleared"),
        )  # fmt: skip

    def table() -> None:
        one = pd.DataFrame({"word": ["city"]})
        words.selectable(one, chosen.WORD, key="gone", alt="", label="")

    late = [
        changed(monkeypatch, "streamlit.selectbox", lambda: word("gone")),
        changed(monkeypatch, "streamlit.selectbox", words.example_box),
        changed(monkeypatch, "pages.words.words.show_table", table),
        text_box._take_preset,
        text_box._typed,
        lambda: words._take_typed(lexicon, chosen.WORD),
        lambda: words._take_match(chosen.WORD),
        lambda: papers._take(chosen.WORD, lexicon),
        lambda: word_view._take(None),  # type: ignore[arg-type]
        word_view._take_mechanism,
        lambda: sidebar._carry("metric", "curve_metric"),
    ]
    state.clear()
    for callback in late:
        callback()
    assert not any(state.values())
