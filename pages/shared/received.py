"""Messages of a browser: the kinds that are read, and the values that a field may be given."""

from __future__ import annotations

import re
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.state.session_state import Serialized, Value, WStates

NOT_BINARY, MALFORMED = 1003, 1002
"""Codes with which a web socket is closed (RFC 6455, 7.4.1)."""

_KINDS = frozenset(
    {
        "rerun_script",
        "stop_script",
        "file_urls_request",
        "app_heartbeat",
        "backend_operation_request",
    }
)
"""Kinds of messages that pages need.

The others are for developers of an app: `clear_cache`, which any browser may send, empties the
caches of all sessions (Streamlit 1.67; `test_streamlit_still_lets_any_browser_empty_all_caches`).
"""

_NAME = re.compile(r"[0-9a-zA-Z_-]{0,64}")
"""Hash of a page, or id of a fragment."""

_FIELD = re.compile(r"\$\$(STREAMLIT_INTERNAL_KEY_\$\$)?ID-[0-9a-f]+-[^\x00-\x1f]{0,200}")
"""Id of a field."""

_NUMBERS = {"int_value", "double_value"}

_read = WStates.__getitem__


def judge(message: bytes | str) -> int | bool:
    """Decide about one message of a browser.

    Returns:
        True to pass it on, False to leave it out, or the code to close its web socket with: no
        browser sends such a message.
    """
    if isinstance(message, str):
        return NOT_BINARY
    parsed = BackMsg()
    try:
        parsed.ParseFromString(message)
    except Exception:
        return MALFORMED
    kind = parsed.WhichOneof("type")
    if kind is None or (kind == "rerun_script" and not _plausible(parsed.rerun_script)):
        return MALFORMED
    return kind in _KINDS


def _plausible(state: ClientState) -> bool:
    """Return True for ids that Streamlit makes: others are logged, or break a session."""
    fields = (widget.id for widget in state.widget_states.widgets)
    names = (state.page_script_hash, state.fragment_id)
    return all(map(_NAME.fullmatch, names)) and all(map(_FIELD.fullmatch, fields))


def keep_types() -> None:
    """Make a field keep its first value if it is given a value of another type.

    Streamlit 1.67 passes any value of a message to the field, and so to the page: every run of that
    session then ends in an error, with three to thirteen kilobytes of the log. The test
    `test_streamlit_still_gives_a_field_a_value_of_any_type` fails when it checks the type itself.
    """
    WStates.__getitem__ = _typed  # type: ignore[method-assign]


def _typed(states: WStates, name: str) -> Any:
    state, field = states.states.get(name), states.widget_metadata.get(name)
    if not isinstance(state, Serialized) or field is None:
        return _read(states, name)
    given = state.value.WhichOneof("value")
    # A field of whole numbers is declared as one of `double_value`, and sent as the other.
    if given in (None, field.value_type) or {given, field.value_type} == _NUMBERS:
        try:
            return _read(states, name)
        except Exception:  # noqa: S110 - a value that a field of Streamlit's cannot read
            pass
    first = field.deserializer(None)
    states.states[name] = Value(first)  # so that the next look does not meet the same value
    return first
