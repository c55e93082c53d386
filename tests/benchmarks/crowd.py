"""A crowd: people with a web socket each, who do one thing a second on pages of the menu.

All open the start page at once. Then a person mostly moves a slider, sometimes types a sentence
that no one else types, sometimes goes to another page; where there is nothing to move or to type,
that second is for reading. A step is timed from the request to the end of the script run. No frame
that reaches a session may hold the sentence of another.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.browser.client import Answer, Session, Shown, session

OPEN, SLIDE, TYPE, SWITCH = "first view", "slider", "sentence", "page"
SHARES = {SLIDE: 0.75, TYPE: 0.12, SWITCH: 0.13}
PATIENCE = 120.0  # seconds for one answer
WORDS = "good money city doctor happy sister river train winter music green little".split()
TYPED = re.compile(rb"own(\d+)own\d+own")
"""Text that a visitor typed; the number says which visitor."""


@dataclass
class Found:
    """Measurements of a crowd: answers by kind of request, and failures."""

    answers: dict[str, list[tuple[str, Answer]]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Number of answers, of any kind."""
        return sum(map(len, self.answers.values()))

    def milliseconds(self, what: str, page: str | None = None) -> list[float]:
        """Sorted times of one kind of step."""
        return sorted(
            1000 * answer.seconds for place, answer in self.answers[what] if page in (None, place)
        )


def quantile(values: list[float], share: float) -> float:
    """A quantile of sorted values; NaN of none."""
    return values[round(share * (len(values) - 1))] if values else float("nan")


def sentence(number: int, turn: int, rng: random.Random) -> str:
    """Twelve words, one of which only this person types."""
    words = rng.choices(WORDS, k=11)
    words.insert(rng.randrange(12), f"own{number}own{turn}own")
    return " ".join(words)


class Listener:
    """Looks for sentences of others in what a session receives."""

    def __init__(self, number: int, answers: Found) -> None:
        """Listen for one person."""
        self._own, self._found = number, answers

    def __call__(self, data: bytes) -> None:
        """Look through a frame."""
        for other in TYPED.findall(data):
            if int(other) != self._own:
                self._found.wrong.append(f"session {self._own} received text of {int(other)}")


def saying(person: Session, kind: str, text: str) -> Shown:
    """The first element of a kind that says something.

    Raises:
        LookupError: there is none.
    """
    for shown in person.all(kind):
        if text.encode() in shown.message.SerializeToString():
            return shown
    failed = [str(element.message)[:300] for element in person.all("exception")]
    raise LookupError(f"no {kind} says {text!r}; exceptions: {failed}")


def sliders(person: Session) -> list[Shown]:
    """The sliders of the page that have more than one value; those of ε if there are any."""
    every = [element for element in person.all("slider") if not element.message.disabled]
    return [element for element in every if element.key.startswith("eps_")] or every


def dial(person: Session) -> Shown | None:
    """The dial of the page, if it has one."""
    components = person.all("bidi_component")
    return next((shown for shown in components if shown.key.startswith("dial_")), None)


async def slide(person: Session, rng: random.Random) -> Answer | None:
    """Move the dial, else a slider, to another place; None where the page has neither."""
    turned = dial(person)
    if turned is not None:
        steps = len(json.loads(turned.message.json)["steps"])
        step = rng.randint(steps // 3, 2 * steps // 3)
        return await person.set(turned, ("rest", {"step": step}))
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


async def act(
    person: Session, page: str, number: int, turn: int, rng: random.Random, answers: Found
) -> str:
    """One step of one person; the page that is open after it."""
    (what,) = rng.choices(list(SHARES), list(SHARES.values()))
    boxes = [element for element in person.all("text_area") if element.key == "text"]
    answer = None
    if what == TYPE and boxes:
        answer = await person.set(boxes[0], sentence(number, turn, rng))
    elif what == SLIDE:
        answer = await slide(person, rng)
    elif what == SWITCH:
        page = rng.choice([other for other in person.pages if other != page])
        answer = await person.switch(page)
    if answer is None:
        return page
    answers.answers[what].append((page, answer))
    answers.wrong += [f"an exception on the page {page!r}" for _ in person.all("exception")]
    return page


async def someone(
    url: str, number: int, seconds: float, answers: Found, all_open: asyncio.Barrier
) -> None:
    """Open a page, wait for the others, and do one thing a second."""
    rng = random.Random(number)
    async with session(url, raw=Listener(number, answers), patience=PATIENCE) as person:
        page = ""
        try:
            answers.answers[OPEN].append(("", await person.open()))
            await all_open.wait()
        except BaseException:
            await all_open.abort()
            raise
        await asyncio.sleep(rng.random())
        until, turn = time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            begin = time.perf_counter()
            page = await act(person, page, number, turn, rng, answers)
            turn += 1
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - begin)))


async def crowd(url: str | Sequence[str], sessions: int, seconds: float, first: int = 0) -> Found:
    """Many people for some seconds, at one process of the app or at several by turns."""
    urls = [url] if isinstance(url, str) else url
    answers, all_open = Found(), asyncio.Barrier(sessions)
    people = (
        someone(urls[number % len(urls)], first + number, seconds, answers, all_open)
        for number in range(sessions)
    )
    for error in await asyncio.gather(*people, return_exceptions=True):
        if isinstance(error, BaseException):
            answers.wrong.append(f"a session ended: {type(error).__name__}: {error}"[:200])
    return answers
