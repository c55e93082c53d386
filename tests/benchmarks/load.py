"""A class at once on a fresh server: speed, bytes, memory, mixed-up texts, and a crash.

Run: python -m tests.benchmarks.load [--quick] [--processes N] [sessions ...]

What a person does is in `tests.benchmarks.crowd`. `--quick` does little of everything: to try the
script. `--processes` measures crowds alone, at several processes as behind a proxy.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tests.benchmarks.crowd import (
    OPEN,
    SLIDE,
    SWITCH,
    TYPE,
    TYPED,
    Found,
    crowd,
    dial,
    quantile,
    saying,
    slide,
)
from tests.benchmarks.page_load import cpu_seconds, memory_megabytes
from tests.browser.client import session
from tests.browser.server import Server, serve
from tests.needs import ROOT

GOALS = {1: (30, 60), 10: None, 25: (50, 250), 50: (150, 600)}  # ms, p50 and p95 of a slider step
LINE_PAGE_KB, ANY_PAGE_KB = 15, 150
DEEP = {"of": "A sample", "eps_metric": "5", "curve_log": "tem", "sample": "8"}


@dataclass(frozen=True)
class Size:
    """Amount of work."""

    sessions: tuple[int, ...]
    seconds: float  # of each crowd
    reruns: int


FULL = Size((1, 10, 25, 50), 15.0, 2_000)
QUICK = Size((1, 4), 4.0, 60)


async def walk(url: str) -> dict[str, float]:
    """Seconds to the first view of every page of the menu, one after the other, as on day one."""
    seconds = {}
    async with session(url, patience=600) as person:
        seconds[""] = (await person.open()).seconds
        for page in [page for page in person.pages if page]:
            seconds[page] = (await person.switch(page)).seconds
    return seconds


async def many_reruns(server: Server, reruns: int) -> tuple[float, float, int]:
    """Memory before and after so many steps of sliders over all pages; and how many were made."""
    rng, count, before = random.Random(1), 0, 0.0
    warm = max(10, reruns // 5)
    async with session(server.url) as person:
        await person.open()
        pages = [page for page in person.pages if page]
        while count < warm + reruns:
            if count >= warm and not before:
                before = memory_megabytes(server.pid)
            if count % 25 == 0:
                await person.switch(pages[count // 25 % len(pages)])
            elif await slide(person, rng) is None:
                await person.rerun()
            count += 1
    return before, memory_megabytes(server.pid), count - warm


async def slow_job(url: str, seconds: float) -> tuple[Found, Found, list[str]]:
    """Others before and during a live run of two sessions; what the page says to the second."""
    before = await crowd(url, 5, seconds, first=1000)
    async with session(url, patience=300) as first, session(url, patience=300) as two:
        for person in (first, two):
            await person.open("release")
            await person.set(saying(person, "button", "Start the test"), True)
        during = await crowd(url, 5, seconds, first=2000)
        await two.rerun()
        said = [shown.message.body for shown in two.all("text")]
        progress = [text for text in said if text.startswith(("Waiting", "Starting"))]
        progress += [shown.message.text for shown in two.all("progress")]
        for person in (two, first):
            with contextlib.suppress(LookupError):
                await person.set(saying(person, "button", "Stop"), True)
    return before, during, progress


async def deep_link(url: str) -> str:
    """Open a link in the first session of a server; return the ε of the dial."""
    async with session(url) as person:
        await person.open("curves", urlencode(DEEP))
        shown = dial(person)
        if shown is None:
            return "nothing: the page has no dial"
        stands = json.loads(shown.message.json)
        return f"{stands['epsilons'][stands['step']]:g}"


def report(what: str, measured: str, goal: str = "") -> None:
    """One line of the table."""
    print(f"{what:<46} {measured:<38} {goal}", flush=True)


def report_crowd(sessions: int, answers: Found, cpu: float) -> None:
    """The lines of a crowd; the CPU is in ms a step, whatever else the machine does."""
    goal = GOALS.get(sessions)
    times = answers.milliseconds(SLIDE)
    report(
        f"{sessions} sessions: slider p50/p95",
        f"{quantile(times, 0.5):.0f} / {quantile(times, 0.95):.0f} ms of {len(times)}, "
        f"CPU {cpu:.0f} ms a step",
        f"{goal[0]} / {goal[1]} ms" if goal else "",
    )
    for what in (OPEN, TYPE, SWITCH):
        times = answers.milliseconds(what)
        report(
            f"{sessions} sessions: {what} p50/p95",
            f"{quantile(times, 0.5):.0f} / {quantile(times, 0.95):.0f} ms of {len(times)}",
            "150 ms" if what == TYPE and sessions == 1 else "",
        )
    sizes = defaultdict(list)
    for page, answer in answers.answers[SLIDE]:
        sizes[page].append(answer.bytes / 1000)
    for page, values in sorted(sizes.items()):
        if sessions == max(GOALS) or len(values) >= 20:
            times = answers.milliseconds(SLIDE, page)
            report(
                f"   {page or 'start'}",
                f"{quantile(times, 0.5):.0f} / {quantile(times, 0.95):.0f} ms, "
                f"{statistics.median(values):.1f} kB a step",
                f"{LINE_PAGE_KB} kB (line page), {ANY_PAGE_KB} kB",
            )


def measure(server: Server, size: Size) -> list[str]:
    """Everything on one server; what went wrong."""
    wrong: list[str] = []
    for page, seconds in asyncio.run(walk(server.url)).items():
        goal = "3 s" if not page else ""
        report(f"first view ever, {page or 'start'}", f"{seconds:.2f} s", goal)
    _rest(server)
    report("memory, all pages visited", f"{memory_megabytes(server.pid):.0f} MB", "500 MB")
    for sessions in size.sessions:
        used = cpu_seconds(server.pid)
        longer = 4 if sessions < 10 else 1  # few people do few things
        answers = asyncio.run(crowd(server.url, sessions, longer * size.seconds))
        used = cpu_seconds(server.pid) - used
        report_crowd(sessions, answers, 1000 * used / max(1, answers.steps))
        report(f"{sessions} sessions: memory", f"{memory_megabytes(server.pid):.0f} MB")
        wrong += answers.wrong
    before, after, reruns = asyncio.run(many_reruns(server, size.reruns))
    report(
        f"memory over {reruns:,} reruns",
        f"{before:.0f} → {after:.0f} MB ({100 * (after / before - 1):+.1f} %)",
        "1 %",
    )
    calm, busy, progress = asyncio.run(slow_job(server.url, size.seconds))
    for name, answers in (("before", calm), ("beside two live runs", busy)):
        times = answers.milliseconds(SLIDE)
        report(
            f"5 sessions {name}: slider p50/p95",
            f"{quantile(times, 0.5):.0f} / {quantile(times, 0.95):.0f} ms",
        )
        wrong += answers.wrong
    report("what the second run says", "; ".join(progress)[:120] or "nothing")
    wrong += ["a traceback in the log"] if "Traceback" in server.printed() else []
    typed = TYPED.findall(server.printed().encode())
    return wrong + [f"typed text in the log: {text}" for text in typed[:3]]


def main(size: Size) -> None:
    """Print the table; end with an error if a session saw another's text, or something broke."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        with serve(ROOT / "app.py", Path(home)) as server:
            report("server start to health", f"{time.perf_counter() - start:.2f} s", "2 s")
            wrong = measure(server, size)
            files = [path for path in Path(home).rglob("*") if path.is_file() and _holds(path)]
            wrong += [f"typed text in {path.name}" for path in files]
            os.kill(server.pid, signal.SIGKILL)
        start = time.perf_counter()
        with serve(ROOT / "app.py", Path(home)) as server:
            value = asyncio.run(deep_link(server.url))
            report("killed, restarted, deep link drawn", f"{time.perf_counter() - start:.2f} s")
            wrong += [] if value == DEEP["eps_metric"] else [f"the link's ε became {value}"]
            wrong += ["a traceback after the restart"] if "Traceback" in server.printed() else []
    report("texts of others, exceptions, tracebacks", str(len(wrong)), "0")
    print(f"in {time.perf_counter() - begin:.0f} s")
    if wrong:
        raise SystemExit("\n".join(dict.fromkeys(wrong)))


def several(processes: int, size: Size) -> None:
    """Crowds at several processes by turns; end with an error if something went wrong."""
    wrong: list[str] = []
    with contextlib.ExitStack() as stack:
        homes = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(processes)]
        servers = [stack.enter_context(serve(ROOT / "app.py", home)) for home in homes]
        urls = [server.url for server in servers]
        for url in urls:
            asyncio.run(walk(url))
        for server in servers:
            _rest(server)
        for sessions in size.sessions:
            used = sum(cpu_seconds(server.pid) for server in servers)
            answers = asyncio.run(crowd(urls, sessions, size.seconds))
            used = sum(cpu_seconds(server.pid) for server in servers) - used
            report_crowd(sessions, answers, 1000 * used / max(1, answers.steps))
            wrong += answers.wrong
    if wrong:
        raise SystemExit("\n".join(dict.fromkeys(wrong)))


def _rest(server: Server) -> None:
    """Wait until a server has prepared what it does in advance."""
    used = 0.0
    while (now := cpu_seconds(server.pid)) > used + 0.05:
        used = now
        time.sleep(1.0)


def _holds(path: Path) -> bool:
    return TYPED.search(path.read_bytes()) is not None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("sessions", nargs="*", type=int)
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    if given.sessions:
        size = Size(tuple(given.sessions), size.seconds, size.reruns)
    if given.processes > 1:
        several(given.processes, size)
    else:
        main(size)
