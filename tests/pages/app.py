"""Helpers of tests under `AppTest`: open a page, read it, move a slider."""

import gc
import json
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any
from urllib.parse import parse_qsl

import pytest
import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.util import calc_hash

from pages.shared import once
from pages.shared.dial import Group
from pages.shared.fragments import _DRAWN
from tests.needs import ROOT

Screen = dict[tuple[int, ...], tuple[str, str, bytes]]
"""What is on the screen, by place: the fragment that drew it, its kind, and all that it says."""

_SAYING = ("text", "markdown", "html", "heading", "alert", "code", "dataframe", "plotly_chart")


def forget() -> None:
    """Forget what the pages keep for all sessions."""
    once._SHELVES.clear()
    st.cache_resource.clear()


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
    return run_parts(test, fragment)


def turn(test: AppTest, group: Group, epsilon: float, *fragments: str) -> AppTest:
    """Let the dial of ε rest at a step, as a browser does; these fragments run then.

    Args:
        test: a page with the dial.
        group: of the dial.
        epsilon: a step of it.
        fragments: that the page asks for then.
    """
    test.session_state[f"eps_{group.name}"] = epsilon
    test.query_params[f"eps_{group.name}"] = group.label(epsilon)
    return run_parts(test, *fragments)


def run_parts(test: AppTest, *fragments: str) -> AppTest:
    """Run these fragments, as a page asks when something of it has moved."""
    queue = [part for name in fragments for part in test._fragment_storage.resolve_target(name)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            local_script_runner, "RerunData", partial(RerunData, fragment_id_queue=queue)
        )
        return test.run()


def watched(run: Callable[[], AppTest], before: Screen | None = None) -> tuple[AppTest, Screen]:
    """A run of a page, and the screen after it.

    Args:
        run: opens the page, or makes a step.
        before: the screen that a step of a fragment found; what this fragment had drawn and does
            not draw again is gone then, and all else stays.
    """
    test, messages = received(run)
    drawn: Screen = {}
    for message in messages:
        element = message.delta.new_element
        kind = element.WhichOneof("type") if message.delta.HasField("new_element") else None
        place = tuple(message.metadata.delta_path)
        if kind == "empty":
            drawn = {address: it for address, it in drawn.items() if address[: len(place)] != place}
        elif kind == "code" and element.code.code_text.startswith("?"):
            link = str(sorted(parse_qsl(element.code.code_text[1:])))  # in whatever order
            drawn[place] = (message.delta.fragment_id, kind, link.encode())
        elif kind in _SAYING:
            content = getattr(element, kind).SerializeToString(deterministic=True)
            drawn[place] = (message.delta.fragment_id, kind, content)
    again = {fragment for fragment, _, _ in drawn.values()}
    kept = {place: screen for place, screen in (before or {}).items() if screen[0] not in again}
    return test, kept | drawn


def received(run: Callable[[], AppTest]) -> tuple[AppTest, list[ForwardMsg]]:
    """A run of a page, and all that a browser would be told of it."""
    messages: list[ForwardMsg] = []
    parse: Any = vars(local_script_runner)["parse_tree_from_messages"]

    def seen(given: list[ForwardMsg]) -> Any:
        messages.extend(given)
        return parse(given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_script_runner, "parse_tree_from_messages", seen)
        test = run()
    assert not test.exception, test.exception
    return test, messages


def rows(test: AppTest) -> dict[str, dict[str, Any]]:
    """The rows of the grid of rewritten texts, by mechanism."""
    return {row["key"]: row for group in grid(test)["groups"] for row in group["rows"]}


def grid(test: AppTest) -> dict[str, Any]:
    """Return the data of the grid component."""
    return component(test, "grid")


def component(test: AppTest, name: str) -> dict[str, Any]:
    """Return the data of one of our components."""
    assert not test.exception, test.exception
    drawn = [element.proto for element in test.get("bidi_component")]
    (ours,) = [proto for proto in drawn if proto.component_name.endswith(f".{name}")]
    data: dict[str, Any] = json.loads(ours.json)
    return data


def dials(test: AppTest) -> dict[str, dict[str, Any]]:
    """Return the data of each dial, by its name."""
    assert not test.exception, test.exception
    drawn = [element.proto for element in test.get("bidi_component")]
    data = [json.loads(each.json) for each in drawn if each.component_name.endswith(".dial")]
    return {each["group"]: each for each in data}


def written(row: dict[str, Any]) -> str:
    """The rewritten text of a row of the grid."""
    return "".join(token.get("gap", "") + token["text"] for token in row["tokens"])


def type_word(test: AppTest, key: str, word: str | None) -> AppTest:
    """Choose a word, or type one that is not offered, which `AppTest` does not know by itself."""
    box = test.selectbox(key=key)
    if word is not None and word not in box.options:
        box.options.append(word)
    return box.set_value(word).run()


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def shown_text(test: AppTest) -> str:
    """All that is written on the page, outside tables and figures."""
    assert not test.exception, test.exception
    parts = (
        *test.text, *test.markdown, *test.header, *test.subheader, *test.code, *test.error,
        *test.info, *test.warning, *test.success,
    )  # fmt: skip
    return " ".join(str(element.value) for element in parts)


def methods(test: AppTest) -> str:
    """Return the methods of the figures on the page, as their drawer says them."""
    return " ".join(figure.caption.how for _, figure in test.session_state[_DRAWN].values())


def table(test: AppTest, *columns: str) -> Any:
    """The table that has these columns."""
    return next(d.value for d in test.dataframe if set(columns) <= set(d.value.columns))


def strings_of(root: object) -> list[str]:
    """Every string that can be reached from an object, without leaving for code and modules."""
    seen: set[int] = set()
    waiting, texts = [root], []
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, ModuleType | type | FunctionType):
            continue
        seen.add(id(thing))
        if isinstance(thing, str):
            texts.append(thing)
        else:
            waiting += gc.get_referents(thing)
    return texts
