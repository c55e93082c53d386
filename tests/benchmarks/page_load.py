"""Many people on the Rewrite page at once: the server's time for a slider step, without a browser.

Run: python -m tests.benchmarks.page_load [sessions ...]

Each session is a web socket of its own that steps the metric slider once a second. Its steps are
timed from the request to the end of the script run; the bytes are those of one step.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.server import serve
from tests.needs import ROOT

STEPS, WARM_UP = 20, 2
VALUES = ["9", "10", "12", "14", "16", "18", "20"]


class Session:
    """One person: a socket, and what it learned of the page."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        """Wrap an open socket."""
        self.socket = socket
        self.slider, self.fragment, self.page = "", "", ""

    async def run(self, message: BackMsg) -> tuple[float, int]:
        """Send a request and wait for the end of its script run: seconds and bytes."""
        start, size = time.perf_counter(), 0
        await self.socket.send(message.SerializeToString())
        while True:
            raw = await self.socket.recv()
            size += len(raw)
            forward = ForwardMsg.FromString(raw)
            kind = forward.WhichOneof("type")
            if kind == "new_session":
                self.page = forward.new_session.page_script_hash
            elif kind == "delta":
                element = forward.delta.new_element
                if element.slider.query_param_key == "eps_metric":
                    self.slider, self.fragment = element.slider.id, forward.delta.fragment_id
            elif kind == "script_finished":
                return time.perf_counter() - start, size

    async def open(self) -> None:
        """Load the page; the first run may ask for a second one."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        await self.run(message)
        while not self.slider:
            await self.run(BackMsg())

    async def step(self, value: str) -> tuple[float, int]:
        """Move the slider."""
        message = BackMsg()
        state = message.rerun_script.widget_states.widgets.add()
        state.id = self.slider
        state.string_array_value.data.append(value)
        message.rerun_script.fragment_id = self.fragment
        message.rerun_script.page_script_hash = self.page
        return await self.run(message)


async def person(
    url: str, number: int, found: list[tuple[float, int]], steps: int = WARM_UP + STEPS
) -> None:
    """Open the page, then step once a second."""
    async with websockets.connect(
        url, subprotocols=["streamlit"], max_size=None, origin=url.replace("ws", "http", 1)[:-17]
    ) as socket:
        session = Session(socket)
        await session.open()
        await asyncio.sleep((number % 10) / 10)
        for step in range(steps):
            start = time.perf_counter()
            result = await session.step(VALUES[(step + number) % len(VALUES)])
            if step >= WARM_UP:
                found.append(result)
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - start)))


def memory_megabytes(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def crowd(url: str, sessions: int) -> list[tuple[float, int]]:
    """All sessions at once."""
    found: list[tuple[float, int]] = []
    await asyncio.gather(*(person(url, number, found) for number in range(sessions)))
    return found


def main(counts: list[int]) -> None:
    """Print the median and the 95th percentile for each number of sessions."""
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        url = server.url.replace("http", "ws", 1) + "/_stcore/stream"
        start = time.perf_counter()
        asyncio.run(person(url, 0, [], steps=0))
        print(f"first script run of a cold process: {time.perf_counter() - start:.2f} s")
        for sessions in counts:
            found = asyncio.run(crowd(url, sessions))
            times = sorted(1000 * seconds for seconds, _ in found)
            size = statistics.median(size for _, size in found) / 1000
            high = times[int(0.95 * (len(times) - 1))]
            middle = statistics.median(times)
            print(
                f"{sessions:3d} sessions, {len(times)} steps: p50 {middle:.0f} ms, "
                f"p95 {high:.0f} ms, {size:.1f} kB a step, "
                f"{memory_megabytes(server.pid):.0f} MB resident"
            )


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [1, 25, 50])
