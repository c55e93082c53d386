"""Files that a stranger uploads on every page that takes one: a sentence, and little memory."""

import ast
import asyncio
import gzip
import io
import itertools
import socket
import zipfile
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from dpcore.limits import (
    MAX_ADDRESS_UPLOADS,
    MAX_SESSION_FILES,
    MAX_SESSION_MEGABYTES,
    MAX_UPLOAD_MEGABYTES,
    UPLOAD_WINDOW_SECONDS,
)
from pages.curves import choosing
from tests.browser.client import Session, alone, session
from tests.browser.server import Server
from tests.browser.test_locks import ask, multipart, token
from tests.needs import ROOT

MEGABYTE = 2**20
PEAK_MEGABYTES = 150  # a file of 5 MB read as a table: its bytes, its text, its rows
SIGN = "unmistakable9"
UPLOADERS = {
    "corpus_file": ("curves", {"of": choosing.TEXT}),
    "use_file": ("release", {"use_corpus": "uploaded"}),
    "own_vectors_file": ("attacker", {}),
}
"""Key of every file uploader, and the page and link that show it."""
ENDS = {"use_file": "csv"}
"""End of the name of an uploaded file, where it is not txt."""


def bomb() -> bytes:
    """Thirty kilobytes that unpack to thirty megabytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", b"0" * 30 * MEGABYTE)
    return buffer.getvalue()


REFUSED = {
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
    "a zip bomb": bomb(),
    "a gzip bomb": gzip.compress(b"good,bad\n" * MEGABYTE),
    "a pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94",
    "an array": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}",
    "a parquet file": b"PAR1" + b"\x15\x04\x15\x00" * 50 + b"PAR1",
    "invalid UTF-8": b"text,label\n\xff\xfe\xfa,good\n",
    "half of a pair": b"text,label\n\xed\xa0\x80,good\n",
    "UTF-16": "text,label\ngood,bad\n".encode("utf-16"),
    "zero bytes": b"text,label\ngo\0od,bad\n",
    "nothing": b"",
    "blank lines": b"\n" * (4 * MEGABYTE),
    "few blank lines": b"\r\n \t\r\n" * 1_000,
    "a million columns": b",".join(b"c%d" % i for i in range(600_000)) + b"\n",
    "a line of a million words": b"good " * 1_000_000,
    "one endless word": b"a" * 700_000,
    "the largest file": b"good,bad\n" * ((MAX_UPLOAD_MEGABYTES - 1) * MEGABYTE // 9),
}
"""What no page may take; Release reads UTF-16."""
NO_TABLE = {
    "columns with one name": b"text,text\n" + b"good,bad\n" * 30,
    "rows of any length": b"text,label\ngood\nbad,worse,worst\n",
    "an open quotation": b'text,label\n"' + b"good,bad\n" * 40_000,
    "a header": b"text,label\n",
}
"""What is a text, but no table."""
CASES = [
    *(pair for pair in itertools.product(UPLOADERS, REFUSED) if pair != ("use_file", "UTF-16")),
    *itertools.product(["use_file"], NO_TABLE),
]


def peak(pid: int) -> float:
    """Most memory that a process has held since the last `forget_peak`, in MB (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forget_peak(pid: int) -> float:
    """Reset the measurement and return the memory in use, in MB."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    return peak(pid)


async def put(
    app: Server, person: Session, file: str, data: bytes, end: str = "txt"
) -> tuple[int, bytes]:
    """Upload as a browser does."""
    kind, body = multipart(data, f"{SIGN}.{end}")
    right = await asyncio.to_thread(token, app)
    path = f"/_stcore/upload_file/{person.id}/{file}"
    return (await asyncio.to_thread(ask, app, "PUT", path, kind | right, body))[:2]


async def shown_after(app: Server, key: str, data: bytes) -> tuple[list[str], list[str]]:
    """Refusals and plain texts of a page that was given a file; exceptions count as neither."""
    page, query = UPLOADERS[key]
    end = ENDS.get(key, "txt")
    async with session(app.url) as person:
        await person.open(page, urlencode(query))
        status, _ = await put(app, person, "one", data, end)
        assert status == 204
        field = person.find("file_uploader", key)
        await person.upload(field, "one", f"own.{end}", len(data))
        failed = [str(element.message)[:300] for element in person.all("exception")]
        assert not failed, failed
        refusals = [
            element.message.body for element in person.all("alert") if element.message.format == 1
        ]
        return refusals, [element.message.body for element in person.all("text")]


@pytest.fixture(scope="module")
def ready() -> set[str]:
    """Keys of the fields whose page the shared server has prepared."""
    return set()


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param(key, name, marks=() if number % len(UPLOADERS) == 0 else pytest.mark.full)
        for number, (key, name) in enumerate(sorted(CASES, key=lambda case: case[::-1]))
    ],
)
def test_a_wrong_file_is_answered_with_a_sentence(
    app: Server, key: str, name: str, ready: set[str]
) -> None:
    data = (REFUSED | NO_TABLE)[name]
    if key not in ready:  # what the page itself needs is no memory that the file took
        alone(shown_after(app, key, b"text,label\ngood,bad\n"))
        ready.add(key)
    before = forget_peak(app.pid)
    refusals, message = alone(shown_after(app, key, data))
    assert peak(app.pid) - before < PEAK_MEGABYTES
    assert len(refusals) == 1, (refusals, message)
    assert any(10 < len(text) < 400 for text in message)  # the engine's sentence
    assert "Traceback" not in app.printed()
    assert SIGN not in app.printed()


def test_every_uploader_is_tried() -> None:
    keys = {
        ast.literal_eval(keyword.value)
        for path in (ROOT / "pages").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.file_uploader"
        for keyword in node.keywords
        if keyword.arg == "key"
    }
    assert keys == set(UPLOADERS)


def drip(app: Server, session_id: str, address: str) -> socket.socket:
    """Begin an upload that never goes on; behind the trusted proxy it comes from `address`."""
    url = urlsplit(app.url)
    connection = socket.create_connection((url.hostname, url.port), timeout=30)
    right = "".join(f"{name}: {value}\r\n" for name, value in token(app).items())
    connection.sendall(
        f"PUT /_stcore/upload_file/{session_id}/one HTTP/1.1\r\nHost: {url.netloc}\r\n{right}"
        f"X-Forwarded-For: {address}\r\nContent-Length: 1000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b".encode()
    )
    return connection


def test_slow_uploads_of_one_address_stop_no_one_else_and_end(app: Server) -> None:
    async def work() -> None:
        async with session(app.url) as slow, session(app.url) as other:
            await slow.open("release")
            await other.open("release")
            held = [
                await asyncio.to_thread(drip, app, slow.id, "192.0.2.1")
                for _ in range(MAX_ADDRESS_UPLOADS + 2)
            ]
            async with asyncio.timeout(UPLOAD_WINDOW_SECONDS / 2):  # before the slow ones end
                assert (await put(app, other, "one", b"text\ngood\n"))[0] == 204
            for number, connection in enumerate(held[:MAX_ADDRESS_UPLOADS]):
                answer = await asyncio.to_thread(connection.makefile("rb").read)
                assert b" 408 " in answer.splitlines()[0], number
                assert answer.endswith(b"bytes a second: try a faster line")
            for connection in held:  # the last two while their body is being read
                connection.close()

    alone(work())
    assert "Traceback" not in app.printed()


def test_a_session_holds_few_files_and_others_hold_their_own(app: Server) -> None:
    async def work() -> None:
        async with session(app.url) as first, session(app.url) as two:
            await first.open("release")
            await two.open("release")
            for number in range(MAX_SESSION_FILES):
                assert (await put(app, first, f"f{number}", b"x"))[0] == 204
            assert (await put(app, first, "f0", b"again"))[0] == 204  # in its own place
            status, message = await put(app, first, "more", b"x")
            assert status == 413
            assert b"remove a file" in message
            large = b"x" * ((MAX_UPLOAD_MEGABYTES - 1) * MEGABYTE)
            answers = [(await put(app, two, f"f{number}", large))[0] for number in range(4)]
            fit = MAX_SESSION_MEGABYTES * MEGABYTE // len(large)
            assert answers == [204] * fit + [413] * (4 - fit)
            right = await asyncio.to_thread(token, app)
            path = f"/_stcore/upload_file/{two.id}/f0"
            assert (await asyncio.to_thread(ask, app, "DELETE", path, right))[0] == 204
            assert (await put(app, two, "now", large))[0] == 204

    alone(work())
    assert "Traceback" not in app.printed()
