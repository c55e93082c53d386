"""Events of the grid: a chosen word, and nothing after its page was left."""

from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st

from pages.rewrite import rewritten as grid

Heard = dict[str, Callable[[], None]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> tuple[Heard, list[tuple[str, int]]]:
    """Callbacks for the browser, and the events received."""
    calls: Heard = {}
    heard: list[tuple[str, int]] = []
    monkeypatch.setattr(grid, "_component", lambda: lambda **given: calls.update(given))
    monkeypatch.setattr(st, "session_state", {})

    def hear(mechanism: str, place: int) -> None:
        heard.append((mechanism, place))

    grid.rewrite_grid({}, key="some_grid", on_word=hear, on_peek=hear)
    return calls, heard


@pytest.mark.parametrize("name", ["word", "peek"])
def test_a_word_is_heard(drawn: tuple[Heard, list[tuple[str, int]]], name: str) -> None:
    calls, heard = drawn
    st.session_state["some_grid"] = {name: {"mechanism": "tem.v1", "place": 3}}
    calls[f"on_{name}_change"]()
    assert heard == [("tem.v1", 3)]


@pytest.mark.parametrize("state", [{}, {"some_grid": {}}, {"some_grid": {"word": None}}])
def test_a_glance_from_a_page_that_was_left_is_nothing(
    drawn: tuple[Heard, list[tuple[str, int]]], state: dict[str, Any]
) -> None:
    calls, heard = drawn
    st.session_state.update(state)
    for name in ("word", "peek"):
        calls[f"on_{name}_change"]()
    assert heard == []
