"""Long computations in the process of the pages: a few at a time, the others in their turn.

A computation takes its turn when it has lasted a moment, so that nobody waits to do something
short. What is made under a lock of `pages.shared.once` never waits in it: who is at work may be
waiting for that very result.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.jobs.turns import Turns
from dpcore.limits import MAX_PAGE_WORK
from pages.shared.language import say

if TYPE_CHECKING:
    from dpcore.jobs.turns import Turn

WORK = Turns(MAX_PAGE_WORK)
"""The line of this process."""

_PULSE_SECONDS = 0.25
_thread = threading.local()  # .turn: the turn that this script run holds; .locks: of `once`


@contextmanager
def under_a_lock() -> Iterator[None]:
    """A block that others may be waiting for."""
    _thread.locks = getattr(_thread, "locks", 0) + 1
    try:
        yield
    finally:
        _thread.locks -= 1


def take_turn(slot: Any = None) -> Turn | None:
    """Wait until it is this script run's turn, and say how many are before it.

    Args:
        slot: an empty place of the page; None for a new one.

    Returns:
        What is to be left when the work is done; None where this run has its turn already, or
        must not wait.
    """
    taken: Turn | None = getattr(_thread, "turn", lambda: None)()
    if getattr(_thread, "locks", 0) or (taken is not None and not taken.left):
        return None
    turn = WORK.join(threading.current_thread())
    _thread.turn = weakref.ref(turn)  # a computation that is interrupted forgets its turn
    place = None
    try:
        while not turn.wait(_PULSE_SECONDS):
            place = place or slot or st.empty()
            place.progress(
                0.0,
                text=say("{state}; long computations take turns.", state=waiting_text(turn.before)),
            )
    except BaseException:  # the person clicked elsewhere, or left
        turn.leave()
        raise
    if place is not None:
        place.empty()
    return turn


def waiting_text(before: int) -> str:
    """What is said to who waits.

    Args:
        before: how many come first; at 0 it begins now.
    """
    return say("Waiting: {before} before you", before=before) if before else say("Starting")
