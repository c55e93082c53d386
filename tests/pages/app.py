"""What the tests of pages under `AppTest` share: opening a page, reading it, a slider's step."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.util import calc_hash

from tests.needs import ROOT

Screen = dict[tuple[int, ...], tuple[str, str, bytes]]
"""What is on the screen, by place: the fragment that drew it, its kind, and all that it says."""

_SAYING = ("text", "markdown", "html", "heading", "alert", "code", "dataframe", "plotly_chart")


def unopened(page: str, seconds: float = 120) -> AppTest:
    """A session that will begin with a page.

    Before its first run `switch_page` knows a page by the name of its file, which is the same for
    all of ours; the browser knows it by its address, as here.
    """
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=seconds)
    test._page_hash = calc_hash(page)
    return test


def open_page(page: str, **state: Any) -> AppTest:
    """A page of a session that holds some state already."""
    test = unopened(page)
    for name, value in state.items():
        test.session_state[name] = value
    return test.run()


def open_link(page: str, **link: str | list[str]) -> AppTest:
    """A page as a link opens it."""
    test = unopened(page, seconds=240)
    for name, value in link.items():
        test.query_params[name] = value
    return test.run()


def step(test: AppTest, slider: str, value: float, fragment: str) -> AppTest:
    """Move a slider as a browser does: it asks for its fragment, where `AppTest` runs the page.

    A browser also writes the value into the address.
    """
    test.select_slider(key=slider).set_value(value)
    test.query_params[slider] = f"{value:g}"
    asked = partial(RerunData, fragment_id_queue=test._fragment_storage.resolve_target(fragment))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_script_runner, "RerunData", asked)
        return test.run()


def watched(run: Callable[[], AppTest], before: Screen | None = None) -> tuple[AppTest, Screen]:
    """A run of a page, and the screen after it.

    Args:
        run: opens the page, or makes a step.
        before: the screen that a step of a fragment found; what this fragment had drawn and does
            not draw again is gone then, and all else stays.
    """
    messages: list[ForwardMsg] = []
    parse: Any = vars(local_script_runner)["parse_tree_from_messages"]

    def seen(given: list[ForwardMsg]) -> Any:
        messages.extend(given)
        return parse(given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            local_script_runner,
            "parse_tree_from_messages",
            seen,
        )
        test = run()
    assert not test.exception, test.exception
    drawn: Screen = {}
    for message in messages:
        element = message.delta.new_element
        kind = element.WhichOneof("type") if message.delta.HasField("new_element") else None
        place = tuple(message.metadata.delta_path)
        if kind == "empty":
            drawn = {one: it for one, it in drawn.items() if one[: len(place)] != place}
        elif kind == "code" and element.code.code_text.startswith("?"):
            link = str(sorted(parse_qsl(element.code.code_text[1:])))  # in whatever order
            drawn[place] = (message.delta.fragment_id, kind, link.encode())
        elif kind in _SAYING:
            said = getattr(element, kind).SerializeToString(deterministic=True)
            drawn[place] = (message.delta.fragment_id, kind, said)
    again = {fragment for fragment, _, _ in drawn.values()}
    kept = {place: one for place, one in (before or {}).items() if one[0] not in again}
    return test, kept | drawn


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def said(test: AppTest) -> str:
    """All that is written on the page, outside tables and figures."""
    assert not test.exception, test.exception
    parts = (
        *test.text, *test.markdown, *test.subheader, *test.code, *test.error, *test.info,
        *test.warning, *test.success,
    )  # fmt: skip
    return " ".join(str(element.value) for element in parts)


def table(test: AppTest, *columns: str) -> Any:
    """The table that has these columns."""
    return next(d.value for d in test.dataframe if set(columns) <= set(d.value.columns))
