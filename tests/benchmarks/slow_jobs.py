"""One person starts the slowest work of every page; how long others wait meanwhile.

Run: python -m tests.benchmarks.slow_jobs [JOB ...], JOB of `JOBS`

The others step the slider of ε on the Rewrite page once a second, as in `tests.benchmarks.crowd`.
CPU is the server's own, so that work in a process of its own is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tests.benchmarks.crowd import WORDS, quantile, saying
from tests.benchmarks.page_load import cpu_seconds, person
from tests.browser.client import Answer, Session, session
from tests.browser.server import Server, serve
from tests.needs import ROOT

OTHERS, STEPS, SETTLE = 5, 10, 20.0
LONG_TEXT = " ".join(WORDS * 16)


@dataclass(frozen=True)
class Job:
    """Slow work: the page and link that lead to it, and what begins it (None: the link itself)."""

    page: str
    query: dict[str, str]
    begin: Callable[[Session], Awaitable[object]] | None = None


def press(*labels: str) -> Callable[[Session], Awaitable[object]]:
    """Press what says so, one after the other: a choice, then a button."""

    async def begin(person: Session) -> None:
        for label in labels:
            kind = "button_group" if label is not labels[-1] else "button"
            await person.set(saying(person, kind, label), label)

    return begin


async def draw_long_text(person: Session) -> None:
    """Many draws of the longest text."""
    await person.set(person.find("text_area", "text"), LONG_TEXT)


JOBS = {
    "rewrite": Job("rewrite", {"view": "100 draws"}, draw_long_text),
    "deniability": Job("deniability", {"sample": "100", "runs": "2000"}),
    "maps": Job(
        "words", {"more": "Map", "word": "river", "other": "winter"}, press("Build this map")
    ),
    "release": Job("release", {}, press("Run")),
    "papers": Job(
        "papers",
        {"audit_words": "200", "claim": "xu-theorem-1"},
        press("Compute with these settings"),
    ),
    "attacker": Job("attacker", {}),
    "pictures": Job("robustness", {"robust_view": "Pictures", "digits_scale": "0.35"}),
    "words": Job("robustness", {"robust_view": "Words", "words_neighbours": "8"}),
    "attack": Job(
        "robustness",
        {"robust_view": "Attack", "attack_part": "A sample of texts", "sample_size": "200"},
        press("Attack the sample"),
    ),
}


async def others(url: str) -> list[float]:
    """Sorted milliseconds of the steps of some people."""
    answers: list[Answer] = []
    await asyncio.gather(
        *(person(url, "rewrite", number, answers, STEPS) for number in range(OTHERS))
    )
    return sorted(1000 * answer.seconds for answer in answers)


async def beside(server: Server, job: Job) -> tuple[list[float], float, bool]:
    """Times of the others while the job is at work, the CPU, and whether it outlasted them."""
    async with session(server.url, patience=300) as visitor:

        async def work() -> None:
            await visitor.open(job.page, urlencode(job.query))
            if job.begin is not None:
                await job.begin(visitor)

        slow = asyncio.create_task(work())
        before = cpu_seconds(server.pid)
        times = await others(server.url)
        lasted = not slow.done()
        slow.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await slow
        return times, cpu_seconds(server.pid) - before, lasted


def main(names: list[str]) -> None:
    """Print one line a job."""
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        asyncio.run(person(server.url, "rewrite", 0, [], steps=0))
        time.sleep(SETTLE)  # what the server prepares in advance is done by then
        calm = asyncio.run(others(server.url))
        print(
            f"{OTHERS} others alone: p50 {quantile(calm, 0.5):.0f} ms, "
            f"p95 {quantile(calm, 0.95):.0f} ms"
        )
        for name in names:
            times, cpu, lasted = asyncio.run(beside(server, JOBS[name]))
            print(
                f"beside {name}: p50 {quantile(times, 0.5):.0f} ms, "
                f"p95 {quantile(times, 0.95):.0f} ms, "
                f"{cpu:.0f} s of CPU{'' if lasted else ', done before they were'}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:] or list(JOBS))
