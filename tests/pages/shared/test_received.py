"""Messages of a browser that are read, and values that a field cannot hold."""

from dataclasses import fields
from unittest.mock import MagicMock

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from pages.shared import server as received
from pages.shared.server import MALFORMED, NOT_BINARY, judge

NAME = "$$ID-0f-number"


def message(**fields: str) -> bytes:
    """A request to run a page."""
    asked = BackMsg()
    asked.rerun_script.SetInParent()
    for name, value in fields.items():
        setattr(asked.rerun_script, name, value)
    return asked.SerializeToString()


def with_field(name: str) -> bytes:
    """A request that gives one field a value."""
    asked = BackMsg()
    asked.rerun_script.widget_states.widgets.add(id=name, string_value="a")
    return asked.SerializeToString()


def test_what_pages_send_is_read() -> None:
    for sent in (
        message(query_string=""),
        message(page_script_hash="0f" * 16, fragment_id="0f" * 16, query_string="a=\n"),
        with_field(NAME),
        with_field("$$ID-0f-None"),
        with_field("$$STREAMLIT_INTERNAL_KEY_$$ID-0f-curve__events"),
        BackMsg(stop_script=True).SerializeToString(),
        BackMsg(app_heartbeat=True).SerializeToString(),
    ):
        assert judge(sent) is True


@pytest.mark.parametrize(
    "kind", [field.name for field in BackMsg.DESCRIPTOR.fields if field.name not in received._KINDS]
)
def test_what_developers_send_is_left_out(kind: str) -> None:
    sent = BackMsg()
    setattr(sent, kind, True)
    assert judge(sent.SerializeToString()) is False


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("text", NOT_BINARY),
        (b"", MALFORMED),
        (b"\xff\xff", MALFORMED),
        (message(page_script_hash="a" * 65), MALFORMED),
        (message(fragment_id="a\nb"), MALFORMED),
        (with_field("open_page"), MALFORMED),
        (with_field("$$ID-0f-a\n"), MALFORMED),
        (with_field("$$ID-0f-" + "a" * 201), MALFORMED),
    ],
)
def test_what_no_browser_sends_ends_its_tab(sent: bytes | str, code: int) -> None:
    assert judge(sent) == code


def number(value: float | str | None) -> float:
    """The deserializer of a field of numbers, whose first value is 1."""
    return 1.0 if value is None else float(value) + 0.0


def states(kind: str = "", value: object = None) -> WStates:
    """The values of a session in which one field of numbers was sent a value."""
    held = WStates()
    held.set_widget_metadata(WidgetMetadata(NAME, number, str, "double_value"))
    sent = WidgetState(id=NAME)
    if kind:
        setattr(sent, kind, value)
    held.set_widget_from_proto(sent)
    return held


def test_streamlit_still_gives_a_field_a_value_of_any_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WStates, "__getitem__", received._read)
    assert states("string_value", "2")[NAME] == 2, "`received.keep_types` can go"
    with pytest.raises(ValueError, match="unmistakable"):
        states("string_value", "unmistakable")[NAME]


def test_streamlit_still_lets_any_browser_empty_all_caches() -> None:
    session = MagicMock()
    AppSession.handle_backmsg(session, BackMsg(clear_cache=True))
    emptied = session._handle_clear_cache_request.called
    assert emptied, "`received._KINDS` need not leave `clear_cache` out"


def test_a_field_keeps_its_first_value_where_it_is_sent_another_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WStates, "__getitem__", received._read)
    received.keep_types()
    assert states("double_value", 2.0)[NAME] == 2
    assert states("int_value", 2)[NAME] == 2  # as a browser sends a whole number
    assert states()[NAME] == 1
    for kind, value in (("string_value", "2"), ("json_value", "{"), ("bool_value", True)):
        held = states(kind, value)
        assert held[NAME] == 1
        assert held[NAME] == 1  # and stays it
        held.set_from_value(NAME, 3.0)
        assert held[NAME] == 3
    with pytest.raises(KeyError):
        WStates()[NAME]


def test_streamlit_is_as_it_is_taken_to_be() -> None:
    assert "value_type" in {field.name for field in fields(WidgetMetadata)}
