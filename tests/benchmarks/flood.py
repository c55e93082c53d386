"""One session asks for all that it can; how long others wait meanwhile.

Run: python -m tests.benchmarks.flood [PAGE]

The others step the slider of ε once a second, as in `tests.benchmarks.page_load`. The flood comes
from a process of its own, over one web socket and for a bounded time, and asks for the cheapest
that there is: the page again, as it stands.
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

from tests.benchmarks.crowd import at
from tests.benchmarks.page_load import PAGES
from tests.browser.client import Session, session
from tests.browser.server import serve
from tests.needs import ROOT

GOAL = 600.0  # ms, the 95th percentile of the others' steps
OTHERS, STEPS, SETTLE = 5, 10, 15.0
FLOODS = (2_000, 14_000)  # requests a second
PIECE = 0.01  # seconds


@dataclass(frozen=True)
class Others:
    """Sorted times of the others' steps in ms, and how many requests left the flooding session."""

    times: list[float]
    sent: int = 0

    @property
    def high(self) -> float:
        """The 95th percentile."""
        return at(self.times, 0.95)


async def _flood(url: str, page: str, rate: float, seconds: float, begun: Event) -> int:
    message = BackMsg()
    message.rerun_script.page_name = page
    data = message.SerializeToString()
    sent = 0
    async with session(url, keep=False) as flooder:
        await flooder.open(page)

        async def swallow() -> None:
            async for _ in flooder.socket:
                pass

        answers = asyncio.create_task(swallow())
        begun.set()
        begin = time.perf_counter()
        with contextlib.suppress(websockets.ConnectionClosed, TimeoutError):
            async with asyncio.timeout(seconds):
                while True:  # until the time is over; a server that does not read holds it up
                    due = int(rate * (time.perf_counter() - begin + PIECE)) - sent
                    for _ in range(due):
                        await flooder.socket.send(data)
                        sent += 1
                    await asyncio.sleep(PIECE)
        answers.cancel()
        flooder.socket.transport.abort()  # without a farewell, which would wait behind all the rest
    return sent


def flood(url: str, page: str, rate: float, seconds: float, begun: Event, sent: Synchronized) -> None:
    """Send so many requests a second, or as many as are taken, and count them."""
    sent.value = asyncio.run(_flood(url, page, rate, seconds, begun))


async def _steps(one: Session, page: str, number: int) -> list[float]:
    """Step once a second; ms of each step."""
    control, values = one.keyed(PAGES[page].key), PAGES[page].values
    times = []
    for step in range(STEPS):
        answer = await one.set(control, values[(step + number) % len(values)])
        times.append(1000 * answer.seconds)
        await asyncio.sleep(max(0.0, 1.0 - answer.seconds))
    return times


async def others(url: str, page: str, rate: float = 0.0) -> Others:
    """Some people on a page while one session floods, or while none does."""
    context = multiprocessing.get_context("spawn")
    begun, sent = context.Event(), context.Value("q", 0)
    work = (url, page, rate, STEPS + 1.0, begun, sent)
    flooding = context.Process(target=flood, args=work, daemon=True)
    async with contextlib.AsyncExitStack() as stack:
        people = [await stack.enter_async_context(session(url)) for _ in range(OTHERS)]
        for one in people:
            await one.open(page)
        if rate:
            flooding.start()
            await asyncio.to_thread(begun.wait, 60)
        each = await asyncio.gather(*(_steps(one, page, n) for n, one in enumerate(people)))
        if rate:
            await asyncio.to_thread(flooding.join, 60)
    return Others(sorted(time for times in each for time in times), sent.value)


def main(page: str) -> None:
    """Print the others' times without and with a flood; end with an error past the goal."""
    late = []
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        asyncio.run(others(server.url, page))
        time.sleep(SETTLE)  # what the server measures in advance is done by then
        for rate in (0, *FLOODS):
            result = asyncio.run(others(server.url, page, rate))
            print(
                f"{rate:6,} requests a second: the steps of {OTHERS} others p50 "
                f"{at(result.times, 0.5):.0f} ms, p95 {result.high:.0f} ms (goal {GOAL:.0f}), "
                f"longest {result.times[-1]:.0f} ms; {result.sent:,} sent",
                flush=True,
            )
            late += [rate] if not result.high < GOAL else []
    if late:
        raise SystemExit(f"others waited too long at {late} requests a second")


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument in PAGES]
    main(names[0] if names else "rewrite")
