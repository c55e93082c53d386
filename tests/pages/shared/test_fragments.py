"""Fragments of a page, and the places that they stand in."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest

from pages.shared import progress
from tests.browser.client import alone, session
from tests.browser.server import serve

# A page with a computation in front of its fragment, which takes a moment for the number 1.
STOPPED = """
import time
import streamlit as st
from pages.shared.departure import keep_order
from pages.shared.fragments import fragment

def show(number):
    st.text(f"shown {number}")
    st.button("again", key="again")

keep_order()
number = int(st.number_input("number", 0, 9, 0, key="number"))
time.sleep(number == 1)
fragment(show, number)
"""
BEHIND = """
import streamlit as st
from pages.shared.fragments import fragment
from pages.shared.progress import timed

for _ in timed("Drawing noise", [1, 2]):
    pass
st.text("behind")
"""


def stopped_run() -> None:
    """Page that declares two fragments after its run was stopped, as a computation may last."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from pages.shared.fragments import fragment

    draw = [st.fragment, fragment][st.session_state.ours]
    get_script_run_ctx().script_requests.request_stop()
    declared = draw(lambda: None)
    declared()


def two_events() -> None:
    """Page of which a field has no callback and a button runs a fragment."""
    import streamlit as st

    from pages.shared.fragments import run_parts

    run = [lambda part: st.rerun([part]), run_parts][st.session_state.ours]
    st.number_input("number", key="number")
    st.button("again", on_click=run, args=("part",))
    st.text(st.session_state.number)
    st.fragment(lambda: None, key="part")()


@pytest.mark.parametrize("ours", [False, True])
def test_streamlit_still_declares_a_fragment_in_a_run_that_was_stopped(
    monkeypatch: pytest.MonkeyPatch, ours: bool
) -> None:
    declared: list[bool] = []
    monkeypatch.setattr(MemoryFragmentStorage, "register", lambda *_, **__: declared.append(True))
    page = AppTest.from_function(stopped_run)
    page.session_state["ours"] = ours
    page.run()
    assert declared == [True] * (not ours), "`fragments.fragment` need not check"


@pytest.mark.parametrize("ours", [False, True])
def test_streamlit_still_ignores_a_field_that_changes_when_a_fragment_is_requested(
    ours: bool,
) -> None:
    page = AppTest.from_function(two_events)
    page.session_state["ours"] = ours
    page.run()
    page.number_input[0].set_value(3.0)
    page.button[0].click().run()
    assert [text.value for text in page.text] == ["3.0"] * ours, "`fragments.run_parts` can go"


@pytest.mark.slow
def test_a_run_that_was_stopped_does_not_declare_what_was_asked_for_before(tmp_path: Path) -> None:
    """Its computation ends after the run that follows it has declared the same fragment."""
    script = tmp_path / "script.py"
    script.write_text(STOPPED, encoding="utf-8")

    async def ask(url: str) -> str:
        async with session(url) as person:
            await person.open()
            field = person.find("number_input")
            with suppress(TimeoutError):
                await asyncio.wait_for(person.set(field, 1), 0.4)  # computes by now
            await person.set(field, 2)
            await asyncio.sleep(1.2)  # and has ended by now
            await person.set(person.find("button"), True)
            return str(person.find("text").message.body)

    with serve(script, tmp_path) as server:
        assert alone(ask(server.url)) == "shown 2"


@pytest.mark.parametrize("silent", [-1.0, 60.0])
def test_what_stands_behind_a_progress_bar_stands_in_one_place(
    monkeypatch: pytest.MonkeyPatch, silent: float
) -> None:
    monkeypatch.setattr(progress, "_SILENT_SECONDS", silent)
    page: Any = AppTest.from_string(BEHIND).run()
    assert not page.exception
    assert [place for place, each in page.main.children.items() if each.type == "text"] == [1]
