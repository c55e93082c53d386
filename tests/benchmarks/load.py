"""A class at once on a fresh server: speed, bytes, memory, whose text goes where, and a crash.

Run: python -m tests.benchmarks.load [--quick] [sessions ...]

Every session is a web socket of its own that does one thing a second on pages of the menu: mostly
it moves a slider, sometimes it types a sentence that nobody else types, sometimes it goes to
another page. A step is timed from the request to the end of the script run. No frame that reaches
a session may hold another's sentence. `--quick` does little of everything: to try the script.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from tests.benchmarks.page_load import memory_megabytes
from tests.browser.client import Answer, Session, Shown, session
from tests.browser.server import Server, serve
from tests.needs import ROOT

SLIDE, TYPE, SWITCH = "slider", "sentence", "page"
SHARES = {SLIDE: 0.75, TYPE: 0.12, SWITCH: 0.13}
GOALS = {1: (30, 60), 10: None, 25: (50, 250), 50: (150, 600)}  # ms, p50 and p95 of a slider step
LINE_PAGE_KB, ANY_PAGE_KB = 15, 150
LEAST_PATIENCE = 30.0  # seconds for one answer of a crowd
WORDS = "good money city doctor happy sister river train winter music green little".split()
OWN_RUN = "A run of your own"
DEEP = {"of": "A sample", "eps_metric": "5", "curve_log": "tem", "sample": "8"}


@dataclass(frozen=True)
class Size:
    """How much is done."""

    sessions: tuple[int, ...]
    seconds: float  # of each crowd
    reruns: int
    settle: float  # seconds for what the server prepares in advance


FULL = Size((1, 10, 25, 50), 15.0, 2_000, 10.0)
QUICK = Size((1, 4), 4.0, 60, 1.0)


@dataclass
class Found:
    """What was measured of a crowd: answers by what was done; and what went wrong."""

    answers: dict[str, list[tuple[str, Answer]]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)

    def milliseconds(self, what: str, page: str | None = None) -> list[float]:
        """Sorted times of one kind of step."""
        return sorted(
            1000 * answer.seconds for one, answer in self.answers[what] if page in (None, one)
        )


def at(values: list[float], share: float) -> float:
    """A quantile of sorted values; NaN of none."""
    return values[round(share * (len(values) - 1))] if values else float("nan")


def sentence(number: int, turn: int, rng: random.Random) -> str:
    """Twelve words, one of which only this person types."""
    words = rng.choices(WORDS, k=11)
    words.insert(rng.randrange(12), f"own{number}own{turn}own")
    return " ".join(words)


class Listener:
    """Looks for sentences of others in what a session receives."""

    def __init__(self, number: int, found: Found) -> None:
        """Listen for one person."""
        self._own, self._found = number, found

    def __call__(self, data: bytes) -> None:
        """Look through a frame."""
        for other in re.findall(rb"own(\d+)own\d+own", data):
            if int(other) != self._own:
                self._found.wrong.append(f"session {self._own} received text of {int(other)}")


def sliders(person: Session) -> list[Shown]:
    """The sliders of the page that have more than one value; those of ε if there are any."""
    every = [one for one in person.all("slider") if not one.message.disabled]
    return [one for one in every if one.key.startswith("eps_")] or every


async def slide(person: Session, rng: random.Random) -> Answer | None:
    """Move a slider to another place; None where the page has none."""
    there = sliders(person)
    if not there:
        return None
    chosen = rng.choice(there)
    options = list(chosen.message.options)
    if options:
        middle = options[len(options) // 3 : 2 * len(options) // 3 + 1]
        return await person.set(chosen, rng.choice(middle))
    low, high, step = chosen.message.min, chosen.message.max, chosen.message.step or 1
    return await person.set(chosen, low + step * rng.randint(0, int((high - low) / step)))


async def act(person: Session, page: str, number: int, turn: int, rng: random.Random, found: Found):
    """One step of one person; the page that is open after it."""
    (what,) = rng.choices(list(SHARES), list(SHARES.values()))
    boxes = [one for one in person.all("text_area") if one.key == "text"]
    if what == TYPE and boxes:
        answer = await person.set(boxes[0], sentence(number, turn, rng))
    elif what == SLIDE and (moved := await slide(person, rng)) is not None:
        answer = moved
    else:
        what = SWITCH
        page = rng.choice([one for one in person.pages if one not in (page, "rewrite")])
        answer = await person.switch(page)
    found.answers[what].append((page, answer))
    found.wrong += [f"an exception on the page {page!r}" for _ in person.all("exception")]
    return page


async def someone(url: str, number: int, seconds: float, found: Found) -> None:
    """Open a page and do one thing a second."""
    rng = random.Random(number)
    async with session(url, raw=Listener(number, found), patience=LEAST_PATIENCE * 4) as person:
        page = ""
        found.answers["first view"].append(("", await person.open()))
        await asyncio.sleep(rng.random())
        until, turn = time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            begin = time.perf_counter()
            page = await act(person, page, number, turn, rng, found)
            turn += 1
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - begin)))


async def crowd(url: str, sessions: int, seconds: float, first: int = 0) -> Found:
    """Many people for some seconds."""
    found = Found()
    people = (someone(url, first + number, seconds, found) for number in range(sessions))
    for error in await asyncio.gather(*people, return_exceptions=True):
        if isinstance(error, BaseException):
            found.wrong.append(f"a session ended: {type(error).__name__}: {error}"[:200])
    return found


async def walk(url: str) -> dict[str, float]:
    """Seconds to the first view of every page of the menu, one after the other, as on day one."""
    seconds = {}
    async with session(url, patience=600) as person:
        seconds[""] = (await person.open()).seconds
        for page in [one for one in person.pages if one not in ("", "rewrite")]:
            seconds[page] = (await person.switch(page)).seconds
    return seconds


async def many_reruns(server: Server, reruns: int) -> tuple[float, float, int]:
    """Memory before and after so many steps of sliders over all pages; and how many were made."""
    rng, made, before = random.Random(1), 0, 0.0
    warm = max(10, reruns // 5)
    async with session(server.url) as person:
        await person.open()
        pages = [one for one in person.pages if one not in ("rewrite", "robustness")]
        while made < warm + reruns:
            if made >= warm and not before:
                before = memory_megabytes(server.pid)
            if made % 25 == 0:
                await person.switch(pages[made // 25 % len(pages)])
            elif await slide(person, rng) is None:
                await person.rerun()
            made += 1
    return before, memory_megabytes(server.pid), made - warm


def saying(person: Session, kind: str, text: str) -> Shown:
    """The first element of a kind that says something.

    Raises:
        LookupError: there is none.
    """
    for shown in person.all(kind):
        if text.encode() in shown.message.SerializeToString():
            return shown
    failed = [str(one.message)[:300] for one in person.all("exception")]
    raise LookupError(f"no {kind} says {text!r}; exceptions: {failed}")


async def slow_job(url: str, seconds: float) -> tuple[Found, Found, list[str]]:
    """Others before and during a live run of two sessions; what the page says to the second."""
    before = await crowd(url, 5, seconds, first=1000)
    async with session(url, patience=300) as one, session(url, patience=300) as two:
        for person in (one, two):
            await person.open("utility")
            await person.set(saying(person, "button_group", OWN_RUN), OWN_RUN)
            await person.set(saying(person, "button", "Run"), True)
        during = await crowd(url, 5, seconds, first=2000)
        await two.rerun()
        said = [shown.message.body for shown in two.all("text") if "run" in shown.message.body]
        said += [shown.message.text for shown in two.all("progress")]
        for person in (two, one):
            with contextlib.suppress(LookupError):
                await person.set(saying(person, "button", "Stop"), True)
    return before, during, said


async def deep_link(url: str) -> str:
    """Open a link in the first session of a server; what the slider of ε stands at."""
    async with session(url) as person:
        await person.open("deniability", urlencode(DEEP))
        return str(person.find("slider", "eps_metric").message.raw_value[0])


def report(what: str, measured: str, goal: str = "") -> None:
    """One line of the table."""
    print(f"{what:<46} {measured:<38} {goal}", flush=True)


def report_crowd(sessions: int, found: Found) -> None:
    """The lines of a crowd."""
    goal = GOALS.get(sessions)
    times = found.milliseconds(SLIDE)
    report(
        f"{sessions} sessions: slider p50/p95",
        f"{at(times, 0.5):.0f} / {at(times, 0.95):.0f} ms of {len(times)} steps",
        f"{goal[0]} / {goal[1]} ms" if goal else "",
    )
    for what in (TYPE, SWITCH):
        times = found.milliseconds(what)
        report(
            f"{sessions} sessions: {what} p50/p95",
            f"{at(times, 0.5):.0f} / {at(times, 0.95):.0f} ms of {len(times)}",
            "150 ms" if what == TYPE and sessions == 1 else "",
        )
    sizes = defaultdict(list)
    for page, answer in found.answers[SLIDE]:
        sizes[page].append(answer.bytes / 1000)
    for page, values in sorted(sizes.items()):
        if sessions == max(GOALS) or len(values) >= 20:
            times = found.milliseconds(SLIDE, page)
            report(
                f"   {page or 'rewrite'}",
                f"{at(times, 0.5):.0f} / {at(times, 0.95):.0f} ms, "
                f"{statistics.median(values):.1f} kB a step",
                f"{LINE_PAGE_KB} kB (line page), {ANY_PAGE_KB} kB",
            )


def measure(server: Server, size: Size) -> list[str]:
    """Everything on one server; what went wrong."""
    wrong: list[str] = []
    for page, seconds in asyncio.run(walk(server.url)).items():
        goal = "3 s" if not page else ""
        report(f"first view ever, {page or 'rewrite'}", f"{seconds:.2f} s", goal)
    time.sleep(size.settle)
    report("memory, all pages visited", f"{memory_megabytes(server.pid):.0f} MB", "500 MB")
    for sessions in size.sessions:
        found = asyncio.run(crowd(server.url, sessions, size.seconds))
        report_crowd(sessions, found)
        wrong += found.wrong
    before, after, made = asyncio.run(many_reruns(server, size.reruns))
    report(
        f"memory over {made:,} reruns",
        f"{before:.0f} → {after:.0f} MB ({100 * (after / before - 1):+.1f} %)",
        "1 %",
    )
    calm, busy, said = asyncio.run(slow_job(server.url, size.seconds))
    for name, found in (("before", calm), ("beside two live runs", busy)):
        times = found.milliseconds(SLIDE)
        report(
            f"5 sessions {name}: slider p50/p95", f"{at(times, 0.5):.0f} / {at(times, 0.95):.0f} ms"
        )
        wrong += found.wrong
    report("what the second run says", "; ".join(said)[:120] or "nothing")
    wrong += ["a traceback in the log"] if "Traceback" in server.printed() else []
    typed = re.findall(r"own\d+own\d+own", server.printed())
    return wrong + [f"typed text in the log: {one}" for one in typed[:3]]


def main(size: Size) -> None:
    """Print the table; end with an error if a session saw another's text, or something broke."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        with serve(ROOT / "app.py", Path(home)) as server:
            report("server start to health", f"{time.perf_counter() - start:.2f} s", "2 s")
            wrong = measure(server, size)
            held = [path for path in Path(home).rglob("*") if path.is_file() and _holds(path)]
            wrong += [f"typed text in {path.name}" for path in held]
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


def _holds(path: Path) -> bool:
    return re.search(rb"own\d+own\d+own", path.read_bytes()) is not None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("sessions", nargs="*", type=int)
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    if given.sessions:
        size = Size(tuple(given.sessions), size.seconds, size.reruns, size.settle)
    main(size)
