"""Request bodies: turns of an address, a least rate and a deadline."""

import asyncio
from collections.abc import Awaitable, Iterable

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from dpcore import limits
from pages.shared import server
from pages.shared.server import Uploads

SHORT = 0.2


async def never() -> Message:
    """Wait for a message that does not come."""
    await asyncio.Event().wait()
    return {}


class Reader:
    """An app that reads whole bodies and counts how many at a time."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.most_in_all = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = scope["client"][0]
        self.running[address] = self.running.get(address, 0) + 1
        self.most[address] = max(self.most.get(address, 0), self.running[address])
        self.most_in_all = max(self.most_in_all, sum(self.running.values()))
        try:
            while (await receive()).get("more_body"):
                pass
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.running[address] -= 1


async def put(guard: Uploads, address: str, receive: Receive) -> tuple[int, bytes]:
    """Status and text of the answer to an upload."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await guard({"type": "http", "method": "PUT", "client": (address, 1)}, receive, send)
    return sent[0]["status"], sent[-1].get("body", b"")


def body(parts: Iterable[bytes], pause: float = 0) -> Receive:
    """A body that comes in parts, each after a pause."""
    left = list(parts)

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return receive


def run(work: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_streamlit_still_keeps_any_number_of_files() -> None:
    manager = MemoryUploadedFileManager("/upload")
    for number in range(limits.MAX_SESSION_FILES + 1):
        manager.add_file("session", UploadedFileRec(f"f{number}", "name", "text/plain", b"x"))
    kept = len(manager.file_storage["session"])
    assert kept > limits.MAX_SESSION_FILES, "`server.bound_uploads` can go"


def test_slow_uploads_of_one_address_leave_the_others_their_turn() -> None:
    async def work() -> None:
        app = Reader()
        guard = Uploads(app)
        slow = limits.MAX_ADDRESS_UPLOADS + 5
        stalled = [asyncio.create_task(put(guard, "192.0.2.1", never)) for _ in range(slow)]
        await asyncio.sleep(0.01)
        assert (await put(guard, "192.0.2.2", body([b"x"])))[0] == 204
        assert app.most == {"192.0.2.1": limits.MAX_ADDRESS_UPLOADS, "192.0.2.2": 1}
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)
        assert not guard._lines
        assert not guard._shares

    run(work())


def test_all_addresses_together_take_turns() -> None:
    async def work() -> None:
        app = Reader()
        guard = Uploads(app)
        people = [f"192.0.2.{number}" for number in range(limits.MAX_UPLOADS + 5)]
        work = (put(guard, address, body([b"x"] * 3, 0.01)) for address in people)
        assert {status for status, _ in await asyncio.gather(*work)} == {204}
        assert app.most_in_all == limits.MAX_UPLOADS

    run(work())


def test_a_body_slower_than_the_least_rate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "UPLOAD_WINDOW_SECONDS", SHORT)

    async def work() -> None:
        app = Reader()
        guard = Uploads(app)
        status, text = await put(guard, "192.0.2.1", body([b"x"] * 1_000, SHORT / 10))
        assert status == 408
        assert b"5,000 bytes a second" in text
        assert not app.running["192.0.2.1"]
        # As many bytes as the window asks for, again and again, for longer than one window.
        enough = bytes(int(limits.UPLOAD_BYTES_A_SECOND * SHORT))
        assert (await put(guard, "192.0.2.1", body([enough] * 25, SHORT / 20)))[0] == 204

    run(work())


def test_no_upload_takes_longer_than_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_UPLOAD_SECONDS", SHORT)

    async def work() -> None:
        endless = body([bytes(limits.UPLOAD_BYTES_A_SECOND)] * 10_000, SHORT / 20)
        status, text = await put(Uploads(Reader()), "192.0.2.1", endless)
        assert status == 408
        assert b"longer than" in text

    run(work())


def test_whose_turn_does_not_come_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_UPLOAD_WAIT_SECONDS", SHORT)

    async def work() -> None:
        guard = Uploads(Reader())
        line = [
            asyncio.create_task(put(guard, "192.0.2.1", never))
            for _ in range(limits.MAX_ADDRESS_LINE)
        ]
        await asyncio.sleep(0.01)
        status, text = await put(guard, "192.0.2.1", never)  # at once
        assert (status, b"of this address" in text) == (429, True)
        done, waiting = await asyncio.wait(line, timeout=5 * SHORT)
        assert len(waiting) == limits.MAX_ADDRESS_UPLOADS
        assert {task.result()[0] for task in done} == {503}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not guard._lines

    run(work())


def test_a_plain_request_waits_for_no_turn() -> None:
    passed: list[str] = []

    async def ignore(_: Message) -> None:
        pass

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["method"])

    async def work() -> None:
        guard = Uploads(app)
        for method in ("GET", "HEAD", "OPTIONS"):
            await guard({"type": "http", "method": method}, never, ignore)
        assert passed == ["GET", "HEAD", "OPTIONS"]

    run(work())
