"""Many people on one page at once: the server's time for a step, without a browser.

Run: python -m tests.benchmarks.page_load [PAGE] [sessions ...], PAGE one of `PAGES`

Each session is a web socket of its own that turns the dial once a second; on the page Papers, which
has none, it changes what the mechanisms are compared at. Its steps are timed from the
request to the end of the script run; the bytes are those of one step. The first view is the whole
page for a further session of the warm server.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.crowd import slide
from tests.browser.client import Answer, Session, session
from tests.browser.server import serve
from tests.needs import ROOT

STEPS, WARM_UP = 20, 2
SETTLE = 15.0  # seconds


PAGES = dict.fromkeys(("rewrite", "curves", "words", "attacker"), "") | {
    "papers": "look=experiments"
}
"""Pages to their links."""

COMPARED, AT = "use_compare", ("equal Nw", "equal attacker success", "nominal ε")


async def turn(visitor: Session, number: int) -> Answer:
    """Turn the dial of the page, or compare at another one of three, in the step of a number."""
    answer = await slide(visitor, random.Random(number))
    if answer is None:
        answer = await visitor.set(visitor.keyed(COMPARED), AT[number % len(AT)])
    return answer


async def person(
    url: str, page: str, number: int, answers: list[Answer], steps: int = WARM_UP + STEPS
) -> float:
    """Open the page, then step once a second; seconds to the first view."""
    async with session(url) as visitor:
        first = await visitor.open(page, PAGES[page])
        await asyncio.sleep((number % 10) / 10)
        for step in range(steps):
            start = time.perf_counter()
            result = await turn(visitor, step + number)
            if step >= WARM_UP:
                answers.append(result)
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - start)))
    return first.seconds


def memory_megabytes(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far (Linux), which does not wait for its neighbours."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def crowd(url: str, page: str, sessions: int) -> list[Answer]:
    """All sessions at once."""
    answers: list[Answer] = []
    await asyncio.gather(*(person(url, page, number, answers) for number in range(sessions)))
    return answers


def main(page: str, counts: list[int]) -> None:
    """Print the median and the 95th percentile for each number of sessions."""
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        url = server.url
        cold = asyncio.run(person(url, page, 0, [], steps=0))
        print(f"{page}: first view of a cold process {cold:.2f} s")
        time.sleep(SETTLE)  # what the server measures in advance is done by then
        warm = [asyncio.run(person(url, page, 0, [], steps=0)) for _ in range(5)]
        print(f"first view of a warm server: median {statistics.median(warm):.2f} s")
        for sessions in counts:
            before = cpu_seconds(server.pid)
            answers = asyncio.run(crowd(url, page, sessions))
            busy = 1000 * (cpu_seconds(server.pid) - before) / (len(answers) + sessions * WARM_UP)
            times = sorted(1000 * answer.seconds for answer in answers)
            size = statistics.median(answer.bytes for answer in answers) / 1000
            high = times[int(0.95 * (len(times) - 1))]
            middle = statistics.median(times)
            print(
                f"{sessions:3d} sessions, {len(times)} steps: p50 {middle:.0f} ms, "
                f"p95 {high:.0f} ms, {busy:.0f} ms of CPU (with the first views), "
                f"{size:.1f} kB a step, "
                f"{memory_megabytes(server.pid):.0f} MB resident"
            )


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument in PAGES]
    given = [int(argument) for argument in sys.argv[1:] if argument not in PAGES]
    main(names[0] if names else "rewrite", given or [1, 25, 50])
