"""Progress with the time left, for anything that may take more than a second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import streamlit as st

from dpcore.jobs.background import Turn
from dpcore.lexicon.progress import Progress
from pages.shared.language import say
from pages.shared.once import take_turn

T = TypeVar("T")
_SILENT_SECONDS = 0.4
_PULSE_SECONDS = 0.2


def timed(label: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items; show how many are done and the time left once it has taken a moment.

    From then on it takes turns with other long computations. Its place exists from the start, since
    the elements after it must keep their position whether it took a moment or not: Streamlit names
    a fragment after its position, and drops an event of a fragment with another name.

    Args:
        label: our own fixed text.
        items: the steps; each may be interrupted by the next click, and finished steps stay.
    """
    slot, filled, turn, start = st.empty(), False, None, time.monotonic()
    try:
        for done, item in enumerate(items):
            spent = time.monotonic() - start
            if done and spent > _SILENT_SECONDS:
                filled = True
                if turn is None and (turn := take_turn(slot)) is not None:
                    start = time.monotonic() - spent  # waiting does not count as work
                left = spent / done * (len(items) - done)
                text = say(
                    "{label}: {done} of {count}, about {seconds} s left",
                    label=label,
                    done=done,
                    count=len(items),
                    seconds=max(1, round(left)),
                )
                slot.progress(done / len(items), text=text)
            yield item
    finally:
        if turn is not None:
            turn.leave()
    if filled:
        slot.empty()


class Reporter:
    """Progress reports of the engine with the time left, shown once the work has taken a moment.

    From then on the work takes turns with other long computations. It draws inside its own place,
    which is emptied at the end of its block. With a key there is a button that ends the work: its
    click interrupts the script at the next report.

    Args:
        label: our own fixed text.
        stop: key of the button; None for none.
    """

    def __init__(self, label: str, *, stop: str | None = None) -> None:
        """Reserve the place."""
        self._label, self._stop = label, stop
        self._place = st.empty()
        self._bar: Any = None
        self._turn: Turn | None = None
        self._stage, self._start = "", time.monotonic()
        self._told = self._start

    def __enter__(self) -> Progress:
        """Return the engine's callback (stage, done, total); the time left is of the stage."""
        return self._report

    def __exit__(self, *_: object) -> None:
        """Remove the drawing, and leave the turn."""
        if self._turn is not None:
            self._turn.leave()
        self._place.empty()

    def _report(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._start = stage, now
        if now - self._told < (_PULSE_SECONDS if self._bar is not None else _SILENT_SECONDS):
            return
        self._told = now
        if self._bar is None:
            with self._place.container():
                if self._stop is not None:
                    st.button(
                        say("Stop this computation"),
                        key=self._stop,
                        icon=":material/stop_circle:",
                        help=say("Ends this computation and keeps earlier results."),
                    )
                self._bar = st.empty()
            self._turn = take_turn(self._bar)
            waited = time.monotonic() - now  # waiting does not count as work
            self._start, now = self._start + waited, now + waited
        text = f"{self._label}: {say(stage)}"
        if not total:
            self._bar.progress(0.0, text=f"{text} {done}")
            return
        left = (now - self._start) / max(done, 1) * (total - done)
        self._bar.progress(
            min(done / total, 1.0),
            text=say(
                "{text}, {done:,} of {total:,}, about {seconds} s left",
                text=text,
                done=done,
                total=total,
                seconds=max(1, round(left)),
            ),
        )
