"""Limits on one visitor's requests: at once, and per second."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from dpcore import limits
from pages.shared.server import Pace

LEFT = {"type": "websocket.disconnect", "code": 1001}


async def never() -> Message:
    """Wait for what does not come."""
    await asyncio.Event().wait()
    return {}


def request(size: int) -> bytes:
    """A request of a page that is so many bytes long."""
    message = BackMsg()
    message.rerun_script.query_string = "a" * size
    while (more := message.ByteSize() - size) > 0:
        message.rerun_script.query_string = message.rerun_script.query_string[:-more]
    data = message.SerializeToString()
    assert len(data) == size
    return data


class Line:
    """A web socket as uvicorn hands it over, and an app that notes what it reads from it."""

    def __init__(self, guard: Pace, address: str = "192.0.2.1") -> None:
        self.guard, self.address = guard, address
        self.arriving: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[Message] = []

    def ask(self, *sizes: int) -> None:
        for size in sizes:
            self.arriving.put_nowait({"type": "websocket.receive", "bytes": request(size)})

    async def run(self) -> None:
        async def send(message: Message) -> None:
            self.sent.append(message)

        scope = {"type": "websocket", "client": (self.address, 1), "path": "/", "line": self}
        await self.guard(scope, self.arriving.get, send)


class App:
    """Reads all."""

    def __init__(self) -> None:
        self.read: dict[Line, list[float]] = {}
        self.ended: dict[Line, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        line = scope["line"]
        times = self.read.setdefault(line, [])
        while (message := await receive())["type"] == "websocket.receive":
            times.append(time.monotonic())
        self.ended[line] = message["code"]


@asynccontextmanager
async def open_lines(lines: Iterable[Line]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(line.run()) for line in lines]
    await asyncio.sleep(0.01)
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def run(work: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


@pytest.mark.parametrize("early", [0.0, 0.001])
def test_a_flood_is_read_at_the_pace_in_its_order_and_nothing_is_lost(
    early: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = asyncio.sleep

    async def wakes_early(seconds: float) -> None:
        """As uvloop may, whose timers count whole milliseconds."""
        await sleep(max(0.0, seconds - early))

    monkeypatch.setattr(asyncio, "sleep", wakes_early)

    async def work() -> None:
        app = App()
        line = Line(Pace(app))
        async with open_lines([line]):
            begin = time.monotonic()
            more = limits.REQUESTS_A_SECOND // 2
            line.ask(*[10] * (limits.MAX_REQUESTS_AT_ONCE + more))
            while len(app.read[line]) < limits.MAX_REQUESTS_AT_ONCE + more:
                await asyncio.sleep(0.01)
        # A clock that lags lets requests through later, never earlier.
        for number, moment in enumerate(app.read[line]):
            earliest = (number - limits.MAX_REQUESTS_AT_ONCE) / limits.REQUESTS_A_SECOND
            assert moment - begin >= earliest - 1e-6

    run(work())


def test_a_long_request_costs_as_several_and_a_longer_one_ends_the_tab() -> None:
    async def work() -> None:
        app = App()
        line = Line(Pace(app))
        async with open_lines([line]):
            begin = time.monotonic()
            line.ask(limits.MAX_REQUEST_BYTES, 10)
            while len(app.read[line]) < 2:
                await asyncio.sleep(0.01)
            cost = 1 + limits.MAX_REQUEST_BYTES / limits.REQUEST_BYTES
            debt = cost - limits.MAX_REQUESTS_AT_ONCE
            assert app.read[line][1] - begin >= debt / limits.REQUESTS_A_SECOND > 0
            line.ask(limits.MAX_REQUEST_BYTES + 1)
            while line not in app.ended:
                await asyncio.sleep(0.01)
        assert app.ended[line] == 1009
        assert {"type": "websocket.close", "code": 1009} in line.sent
        assert len(app.read[line]) == 2

    run(work())


def test_what_no_page_sends_is_left_out_or_ends_the_tab() -> None:
    async def work() -> None:
        app = App()
        line = Line(Pace(app))
        async with open_lines([line]):
            cleared = BackMsg(clear_cache=True).SerializeToString()
            line.arriving.put_nowait({"type": "websocket.receive", "bytes": cleared})
            line.ask(10)
            line.arriving.put_nowait({"type": "websocket.receive", "text": "hello"})
            while line not in app.ended:
                await asyncio.sleep(0.01)
        assert len(app.read[line]) == 1
        assert app.ended[line] == 1003
        assert {"type": "websocket.close", "code": 1003} in line.sent

    run(work())


@pytest.mark.parametrize("lost", [True, False])
def test_only_an_error_of_a_socket_that_is_over_is_silent(lost: bool) -> None:
    """Streamlit closes a lost socket again, which Starlette takes for an error."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if lost:
            with pytest.raises(OSError, match="gone"):
                await send({"type": "websocket.send", "bytes": b""})
        raise RuntimeError('Cannot call "send" once a close message has been sent.')

    async def gone(message: Message) -> None:
        raise OSError("gone")

    async def work() -> None:
        scope = {"type": "websocket", "client": ("192.0.2.1", 1), "path": "/"}
        await Pace(app)(scope, never, gone)

    if lost:
        run(work())
    else:
        with pytest.raises(RuntimeError, match="once a close"):
            run(work())


def test_more_tabs_than_a_process_serves_are_told_to_come_again() -> None:
    async def work() -> None:
        app = App()
        guard = Pace(app)
        tabs = [Line(guard) for _ in range(limits.MAX_ADDRESS_TABS + 1)]
        rest = limits.MAX_TABS - limits.MAX_ADDRESS_TABS
        others = [Line(guard, f"192.0.2.{n % 250}") for n in range(2, rest + 3)]
        async with open_lines(tabs), open_lines(others):
            refused = [line for line in [*tabs, *others] if line not in app.read]
            assert refused == [tabs[-1], others[-1]]
            for line in refused:
                assert line.sent[0]["type"] == "websocket.http.response.start"
                assert line.sent[0]["status"] == 503
            tabs[0].arriving.put_nowait(LEFT)
            await asyncio.sleep(0.05)
            again = Line(guard)
            async with open_lines([again]):
                assert again in app.read
        await asyncio.sleep(0)
        assert not guard._tabs

    run(work())
