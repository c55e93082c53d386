"""One visitor asks for all that is to be had; how long others wait meanwhile.

Run: python -m tests.benchmarks.flood [PAGE]

The others turn the dial once a second, as in `tests.benchmarks.page_load`. The flood comes
from a process of its own, for a bounded time, and asks for the cheapest that there is: the page
again, unchanged. It keeps to one web socket, or opens a new one for every forty requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.benchmarks.crowd import quantile
from tests.benchmarks.page_load import PAGES, turn
from tests.browser.client import Session, session
from tests.browser.server import serve
from tests.needs import ROOT

GOAL = 600.0  # ms, the 95th percentile of the others' steps
OTHERS, STEPS, SETTLE = 5, 10, 15.0
PIECE = 0.01  # seconds


@dataclass(frozen=True)
class Flood:
    """So many requests a second, and at most so many over one web socket."""

    rate: float
    a_socket: int = sys.maxsize


FLOODS = {
    "2,000 requests a second": Flood(2_000),
    "14,000 requests a second": Flood(14_000),
    "forty requests a web socket": Flood(14_000, 40),
}


@dataclass(frozen=True)
class Others:
    """Sorted times of the others' steps in ms, and how many requests left the flooding session."""

    times: list[float]
    sent: int = 0

    @property
    def high(self) -> float:
        """The 95th percentile."""
        return quantile(self.times, 0.95)


async def _flood(url: str, flood: Flood, page: str, seconds: float, begun: Event) -> int:
    message = BackMsg()
    message.rerun_script.page_name = page
    data = message.SerializeToString()
    sent, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        try:
            async with session(url, keep=False) as flooder:
                if not begun.is_set():
                    await flooder.open(page)
                    begun.set()
                    begin = time.perf_counter()
                answers = asyncio.create_task(_swallow(flooder))
                most = sent + flood.a_socket
                try:
                    async with asyncio.timeout(max(0.0, begin + seconds - time.perf_counter())):
                        while sent < most:  # a server that does not read holds it up
                            due = int(flood.rate * (time.perf_counter() - begin + PIECE)) - sent
                            for _ in range(min(due, most - sent)):
                                await flooder.socket.send(data)
                                sent += 1
                            await asyncio.sleep(PIECE)
                finally:
                    answers.cancel()
                    flooder.socket.transport.abort()  # a farewell would wait behind all the rest
        except (websockets.WebSocketException, TimeoutError):  # refused, closed, or the end
            await asyncio.sleep(PIECE)
    return sent


async def _swallow(flooder: Session) -> None:
    with contextlib.suppress(websockets.ConnectionClosed):
        async for _ in flooder.socket:
            pass


def drown(
    url: str, flood: Flood, page: str, seconds: float, begun: Event, sent: Synchronized[int]
) -> None:
    """Flood for some seconds, and count what was sent."""
    sent.value = asyncio.run(_flood(url, flood, page, seconds, begun))


async def _steps(member: Session, number: int) -> list[float]:
    """Step once a second; ms of each step."""
    times = []
    for step in range(STEPS):
        answer = await turn(member, step + number)
        times.append(1000 * answer.seconds)
        await asyncio.sleep(max(0.0, 1.0 - answer.seconds))
    return times


async def others(url: str, page: str, flood: Flood | None = None) -> Others:
    """Some people on a page while one visitor floods, or while none does."""
    context = multiprocessing.get_context("spawn")
    begun, sent = context.Event(), context.Value("q", 0)
    work = (url, flood, page, STEPS + 1.0, begun, sent)
    flooding = context.Process(target=drown, args=work, daemon=True)
    async with contextlib.AsyncExitStack() as stack:
        people = [await stack.enter_async_context(session(url)) for _ in range(OTHERS)]
        for member in people:
            await member.open(page, PAGES[page])
        if flood:
            flooding.start()
            await asyncio.to_thread(begun.wait, 60)
        each = await asyncio.gather(*(_steps(member, n) for n, member in enumerate(people)))
        if flood:
            await asyncio.to_thread(flooding.join, 60)
    return Others(sorted(time for times in each for time in times), sent.value)


def main(page: str) -> None:
    """Print the others' times without and with a flood; end with an error past the goal."""
    late = []
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        asyncio.run(others(server.url, page))
        time.sleep(SETTLE)  # what the server measures in advance is done by then
        for name, flood in {"no flood": None, **FLOODS}.items():
            result = asyncio.run(others(server.url, page, flood))
            print(
                f"{name}: the steps of {OTHERS} others p50 {quantile(result.times, 0.5):.0f} ms, "
                f"p95 {result.high:.0f} ms (goal {GOAL:.0f}), longest {result.times[-1]:.0f} ms; "
                f"{result.sent:,} sent",
                flush=True,
            )
            late += [name] if not result.high < GOAL else []
    if late:
        raise SystemExit(f"others waited too long: {', '.join(late)}")


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument in PAGES]
    main(names[0] if names else "rewrite")
