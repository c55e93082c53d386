"""Many people on one page at once: the server's time for a step, without a browser.

Run: python -m tests.benchmarks.page_load [PAGE] [sessions ...], PAGE one of `PAGES`

Each session is a web socket of its own that steps the metric slider once a second; on the Utility
page, which has none, it changes what the mechanisms are compared at. Its steps are timed from the
request to the end of the script run; the bytes are those of one step. The first view is the whole
page for a further session of the warm server.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.server import serve
from tests.needs import ROOT

STEPS, WARM_UP = 20, 2
SETTLE = 15.0  # seconds
EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN  # another run follows by itself


@dataclass(frozen=True)
class Control:
    """What is stepped: the key of a widget, and values that are all different from its first."""

    key: str = "eps_metric"
    values: tuple[str, ...] = ("9", "10", "12", "14", "16", "18", "20")


PAGES = dict.fromkeys(("rewrite", "deniability", "neighbourhoods", "attacker"), Control()) | {
    "utility": Control("use_compare", ("equal Nw", "equal attacker success", "nominal ε"))
}


class Session:
    """One person: a socket, and what it learned of the page."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        """Wrap an open socket."""
        self.socket = socket
        self.control, self.fragment, self.page = "", "", ""

    async def run(self, message: BackMsg, key: str = "") -> tuple[float, int]:
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
                widget = getattr(element, element.WhichOneof("type") or "", None)
                if key and getattr(widget, "id", "").endswith(f"-{key}"):
                    self.control, self.fragment = widget.id, forward.delta.fragment_id
            elif kind == "script_finished" and forward.script_finished != EARLY:
                return time.perf_counter() - start, size

    async def open(self, page: str) -> None:
        """Load the page."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        message.rerun_script.page_name = page
        key = PAGES[page].key
        await self.run(message, key)
        if not self.control:
            raise RuntimeError(f"no control {key} on the page {page}")

    async def step(self, value: str) -> tuple[float, int]:
        """Move the control."""
        message = BackMsg()
        state = message.rerun_script.widget_states.widgets.add()
        state.id = self.control
        state.string_array_value.data.append(value)
        message.rerun_script.fragment_id = self.fragment
        message.rerun_script.page_script_hash = self.page
        return await self.run(message)


async def person(
    url: str, page: str, number: int, found: list[tuple[float, int]], steps: int = WARM_UP + STEPS
) -> float:
    """Open the page, then step once a second; seconds to the first view."""
    async with websockets.connect(
        url, subprotocols=["streamlit"], max_size=None, origin=url.replace("ws", "http", 1)[:-17]
    ) as socket:
        session = Session(socket)
        start = time.perf_counter()
        await session.open(page)
        first = time.perf_counter() - start
        await asyncio.sleep((number % 10) / 10)
        for step in range(steps):
            start = time.perf_counter()
            values = PAGES[page].values
            result = await session.step(values[(step + number) % len(values)])
            if step >= WARM_UP:
                found.append(result)
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - start)))
    return first


def memory_megabytes(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def crowd(url: str, page: str, sessions: int) -> list[tuple[float, int]]:
    """All sessions at once."""
    found: list[tuple[float, int]] = []
    await asyncio.gather(*(person(url, page, number, found) for number in range(sessions)))
    return found


def main(page: str, counts: list[int]) -> None:
    """Print the median and the 95th percentile for each number of sessions."""
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        url = server.url.replace("http", "ws", 1) + "/_stcore/stream"
        cold = asyncio.run(person(url, page, 0, [], steps=0))
        print(f"{page}: first view of a cold process {cold:.2f} s")
        time.sleep(SETTLE)  # what the server measures in advance is done by then
        warm = [asyncio.run(person(url, page, 0, [], steps=0)) for _ in range(5)]
        print(f"first view of a warm server: median {statistics.median(warm):.2f} s")
        for sessions in counts:
            found = asyncio.run(crowd(url, page, sessions))
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
    names = [argument for argument in sys.argv[1:] if argument in PAGES]
    given = [int(argument) for argument in sys.argv[1:] if argument not in PAGES]
    main(names[0] if names else "rewrite", given or [1, 25, 50])
