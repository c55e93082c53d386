"""Public results that are computed once for all sessions, with progress where first needed.

`st.cache_resource` would record what a function draws, and a progress bar cannot be drawn in it.
Keys are names, fingerprints, settings and seeds; nothing that a person typed is ever part of one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import streamlit as st

from dpcore.jobs.background import Turn, Turns
from dpcore.lexicon.cache import only_in_memory
from dpcore.limits import MAX_PAGE_WORK
from pages.shared.language import say

# What was computed is kept and looked up: in a table, or under a name of one session.


K = TypeVar("K")
V = TypeVar("V")

_KEEPING = threading.Lock()
_KEPT = 200  # entries of a table; the oldest goes first


def memo(known: dict[K, V], key: K, compute: Callable[[], V], kept: int = _KEPT) -> V:
    """The value under a key, computed if it is not known; past `kept` the oldest go first."""
    with suppress(KeyError):  # not asked first whether it is there: it may go meanwhile
        return known[key]
    value = compute()
    with _KEEPING:
        while len(known) >= kept:
            known.pop(next(iter(known)))
        # Of two sessions that computed it at once, both show the value of the first.
        return known.setdefault(key, value)


def session_memo(slot: str, key: Hashable, compute: Callable[[], V], kept: int = _KEPT) -> V:
    """The same in this session alone: what a person typed may be part of the key.

    Args:
        slot: name of the table in the session state.
        key: of the value.
        compute: makes it.
        kept: values in the table.
    """
    known: dict[Hashable, V] = st.session_state.setdefault(slot, {})
    return memo(known, key, compute, kept)


def latest(slot: str, identity: object, compute: Callable[[], V]) -> V:
    """One value of this session, computed anew when what it is of has changed.

    Args:
        slot: its name in the session state, which holds the pair of identity and value.
        identity: of what it is made.
        compute: makes it.
    """
    pair = st.session_state.get(slot)
    if pair is None or pair[0] != identity:
        pair = st.session_state[slot] = (identity, compute())
    value: V = pair[1]
    return value


# Long computations in the process of the pages: a few at a time, the others in their turn.
#
# A computation takes its turn when it has lasted a moment, so that nobody waits to do something
# short. What is made under a lock of `pages.shared.once` never waits in it: who is at work may be
# waiting for that very result.


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


T = TypeVar("T")
_KEPT_ONCE = 64
_LOCK = threading.Lock()
_ABSENT = object()


@dataclass(eq=False)
class _Shelf:
    """Results of one kind, and a lock for each that is being computed."""

    results: dict[Hashable, Any] = field(default_factory=dict)
    making: dict[Hashable, threading.Lock] = field(default_factory=dict)


_SHELVES: dict[str, _Shelf] = {}
"""By kind, of which there are some thirty."""


def _shelf(name: str) -> _Shelf:
    return _SHELVES.get(name) or _SHELVES.setdefault(name, _Shelf())


def is_there(name: str, key: Hashable) -> bool:
    """Whether a result is only a look-up."""
    if _of_ones_own(key):
        return key in st.session_state.get(f"own {name}", {})
    return key in _shelf(name).results


def _of_ones_own(key: object) -> bool:
    """Whether a result is of vectors that a person uploaded: those are of that session alone."""
    if isinstance(key, tuple):
        return any(map(_of_ones_own, key))
    if isinstance(key, (int, float)):
        return False
    lexicon = getattr(key, "lexicon", None)
    fingerprint = getattr(lexicon, "fingerprint", key)
    return isinstance(fingerprint, str) and only_in_memory(fingerprint)


def once(name: str, key: Hashable, compute: Callable[[], T], kept: int = _KEPT_ONCE) -> T:
    """The result under a key; who asks while it is being computed waits for that.

    Args:
        name: of the kind of result.
        key: of this one.
        compute: makes it; may draw progress, and may be interrupted by it.
        kept: results of this kind; past it the oldest go first.
    """
    if _of_ones_own(key):
        return session_memo(f"own {name}", key, compute, kept)
    shelf = _shelf(name)
    known: T | object = shelf.results.get(key, _ABSENT)
    if known is not _ABSENT:  # a page asks hundreds of times
        return cast("T", known)
    with _LOCK:
        making = shelf.making.setdefault(key, threading.Lock())
    # Two keys are computed side by side; who asks for the same one waits here, and computes it only
    # if the first was interrupted.
    with making, under_a_lock():
        known = shelf.results.get(key, _ABSENT)
        if known is not _ABSENT:
            return cast("T", known)
        result = compute()
        _keep(shelf, key, result, kept)
    return result


def _keep(shelf: _Shelf, key: Hashable, result: object, kept: int) -> None:
    with _LOCK:
        while len(shelf.results) >= kept:
            oldest = next(iter(shelf.results))
            del shelf.results[oldest]
            shelf.making.pop(oldest, None)
        shelf.results[key] = result
