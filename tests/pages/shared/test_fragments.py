"""Fragments of a page, and the places that they stand in."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
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
