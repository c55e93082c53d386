"""Messages and requests that no browser sends: no error, no traceback, nothing private printed."""

import asyncio
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.shared.contents import CONTENTS
from tests.browser.client import Session, alone, session
from tests.browser.server import Server

SIGN = "unmistakable7"
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def forged(name: str) -> Iterator[WidgetState]:
    """A value of every type, for a field that has another one or holds no such value."""
    plain: dict[str, object] = {
        "trigger_value": True,
        "bool_value": True,
        "double_value": float("nan"),
        "int_value": 2**62,
        "string_value": SIGN,
        "json_value": f"{{{SIGN}",
        "json_trigger_value": f"[1, null, {{}}, {SIGN}",
        "bytes_value": SIGN.encode(),
    }
    for key, value in plain.items():
        state = WidgetState(id=name)
        setattr(state, key, value)
        yield state
    yield WidgetState(id=name, json_value="[" * 5_000)
    yield WidgetState(id=name, json_trigger_value=f'[1, null, {{"event": "{SIGN}"}}]')
    for key, values in {
        "double_array_value": [1e308, float("nan"), -5],
        "int_array_value": [99, -1],
        "string_array_value": [SIGN, SIGN],
    }.items():
        state = WidgetState(id=name)
        getattr(state, key).data.extend(values)
        yield state
    state = WidgetState(id=name)
    state.file_uploader_state_value.uploaded_file_info.add(name=SIGN, size=3, file_id=SIGN)
    yield state
    state = WidgetState(id=name)
    state.string_trigger_value.data = SIGN
    yield state
    state = WidgetState(id=name)
    state.arrow_value.SetInParent()
    yield state


def fields(person: Session) -> set[str]:
    """The ids of all fields of the page that is open."""
    ids = {str(getattr(shown.message, "id", "")) for shown in person.screen.values()}
    return {name for name in ids if name.startswith("$$")}


@pytest.mark.parametrize("page", [page.address for page in CONTENTS])
def test_a_field_that_is_given_what_it_cannot_hold_keeps_its_own(app: Server, page: str) -> None:
    async def work() -> None:
        async with session(app.url) as person:
            await person.open(page)
            names = fields(person)
            assert names
            for values in zip(*(forged(name) for name in sorted(names)), strict=True):
                message = BackMsg()
                message.rerun_script.page_script_hash = person._page
                message.rerun_script.query_string = person.query
                message.rerun_script.widget_states.widgets.extend(values)
                await person.run(message)
                kind = values[0].WhichOneof("value")
                assert not list(person.all("exception")), kind
                assert names & fields(person), kind

    before = len(app.printed())
    alone(work())
    printed = app.printed()[before:]
    assert "Traceback" not in printed
    assert SIGN not in printed


def rerun(**fields: str) -> bytes:
    """A request of a page."""
    message = BackMsg()
    for name, value in fields.items():
        setattr(message.rerun_script, name, value)
    return message.SerializeToString()


def with_field(name: str) -> bytes:
    """A request of a page that has one field."""
    message = BackMsg()
    message.rerun_script.widget_states.widgets.add(id=name, string_value=SIGN)
    return message.SerializeToString()


ENDS: dict[str, tuple[str | bytes, int]] = {
    "text": (SIGN, 1003),
    "no protobuf": (b"\xff\xff\xff", 1002),
    "no message": (b"", 1002),
    "a field of no page": (with_field(SIGN), 1002),
    "a field with a line end": (with_field(f"$$ID-00-{SIGN}\n"), 1002),
    "a part with a long name": (rerun(fragment_id=SIGN * 1_000), 1002),
    "a page with a long name": (rerun(page_script_hash=SIGN * 1_000), 1002),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_message_of_no_browser_ends_its_tab_and_no_other(app: Server, name: str) -> None:
    message, code = ENDS[name]

    async def work() -> None:
        async with session(app.url) as other:
            await other.open("lesson")
            async with session(app.url) as person:
                await person.open("lesson")
                await person.socket.send(message)
                await asyncio.wait_for(person.socket.wait_closed(), 10)
                assert person.socket.close_code == code
            await other.rerun()

    before = len(app.printed())
    alone(work())
    assert app.printed()[before:] == ""


WITHOUT_EFFECT = {
    "clear cache": BackMsg(clear_cache=True),
    "load git": BackMsg(load_git_info=True),
    "run on save": BackMsg(set_run_on_save=True),
    "disconnect": BackMsg(debug_disconnect_websocket=True),
    "shut down": BackMsg(debug_shutdown_runtime=True),
}


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_message_for_developers_has_no_effect(app: Server, name: str) -> None:
    async def work() -> None:
        async with session(app.url) as person:
            await person.open("rewrite")
            shown = set(person.screen)
            await person.socket.send(WITHOUT_EFFECT[name].SerializeToString())
            await person.rerun()
            assert set(person.screen) == shown

    before = len(app.printed())
    alone(work())
    assert app.printed()[before:] == ""


def get(path: str, headers: str = "", host: str = "", method: str = "GET") -> bytes:
    """A request as it is written here."""
    return f"{method} {path} HTTP/1.1\r\nHost: {host or HOST}\r\n{headers}\r\n".encode("latin-1")


HOST = "127.0.0.1"
STREAM = "/_stcore/stream"
ODD = {
    "origin with an open bracket": (get(STREAM, f"{UPGRADE}Origin: http://[\r\n"), 403),
    "upload from such an origin": (
        get("/_stcore/upload_file/a/b", "Origin: http://[\r\nContent-Length: 0\r\n", method="PUT"),
        403,
    ),
    "host with an open bracket": (get(STREAM, f"{UPGRADE}Origin: http://a\r\n", host="["), 400),
    "invalid UTF-8": (get("/%ff%fe"), 200),
    "half of a pair": (get("/%ed%a0%80"), 200),
    "bytes": (get("/\xff\xfe"), 400),
    "zero byte": (get("/%00"), 400),
    "deep path": (get("/static/" + "a/" * 10_000 + "a"), 200),
    "deep query": (get("/?" + "a[b" * 10_000), 200),
    "query of invalid UTF-8": (get("/?x=%ff&%00=%00"), 200),
    "chunk without a length": (
        get("/_stcore/upload_file/a/b", "Transfer-Encoding: chunked\r\n", method="PUT") + b"zz\r\n",
        400,
    ),
    "cookie": (get("/_stcore/health", "Cookie: _streamlit_xsrf=\xff2|x|y|z\r\n"), 200),
    "forwarded": (get("/_stcore/health", "X-Forwarded-For: \xff, [::, ,\r\n"), 200),
    "protocol": (get(STREAM, f"{UPGRADE}Sec-WebSocket-Protocol: a b, \xff\r\n"), 400),
    "nonsense": (b"nonsense\r\n\r\n", 400),
    "frame of no client": (get(STREAM, UPGRADE) + b"\x82\x05hello", 101),
    "text of invalid UTF-8": (get(STREAM, UPGRADE) + b"\x81\x83\0\0\0\0\xff\xfe\xfd", 101),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_request_is_answered_and_costs_two_lines_at_most(app: Server, name: str) -> None:
    request, status = ODD[name]
    address = urlsplit(app.url)
    before = len(app.printed())
    with socket.create_connection((address.hostname, address.port), timeout=2) as connection:
        connection.sendall(request)
        answer = connection.recv(1_000)
        assert int(answer.split()[1]) == status
        if status == 101:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(10_000):
                pass
    printed = app.printed()[before:]
    assert "Traceback" not in printed
    assert len(printed.splitlines()) <= 2, printed  # uvicorn refuses, and its answer broke off
