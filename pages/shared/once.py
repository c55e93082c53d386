"""Public results that are computed once for all sessions, with progress where first needed.

`st.cache_resource` would record the drawing of a function, and a progress bar cannot be drawn in
it. Keys are names, fingerprints, settings and seeds; typed text is never part of one.
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

# Caches of results: in a table, or under a name of one session.


K = TypeVar("K")
V = TypeVar("V")

_KEEPING = threading.Lock()
_KEPT = 200  # entries of a table; the oldest is dropped first


def memo(known: dict[K, V], key: K, compute: Callable[[], V], kept: int = _KEPT) -> V:
    """Return the value under a key, computed if missing; beyond `kept` the oldest are dropped."""
    with suppress(KeyError):  # no check beforehand, since the entry may be dropped in between
        return known[key]
    value = compute()
    with _KEEPING:
        while len(known) >= kept:
            known.pop(next(iter(known)))
        # If two sessions computed it at once, both show the value of the first.
        return known.setdefault(key, value)


def session_memo(slot: str, key: Hashable, compute: Callable[[], V], kept: int = _KEPT) -> V:
    """Do the same within this session: typed text may be part of the key.

    Args:
        slot: name of the table in the session state.
        key: key of the value.
        compute: computes it.
        kept: number of values in the table.
    """
    known: dict[Hashable, V] = st.session_state.setdefault(slot, {})
    return memo(known, key, compute, kept)


def latest(slot: str, identity: object, compute: Callable[[], V]) -> V:
    """Return one value of this session, computed again when its identity has changed.

    Args:
        slot: its name in the session state, which holds the pair of identity and value.
        identity: everything that the value depends on.
        compute: computes it.
    """
    pair = st.session_state.get(slot)
    if pair is None or pair[0] != identity:
        pair = st.session_state[slot] = (identity, compute())
    value: V = pair[1]
    return value


# Long computations in the process of the pages: a few at a time, the others in their turn.
#
# A computation takes its turn once it has lasted a moment, so that short work never waits. Work
# under a lock of `pages.shared.once` never waits for a turn: a running computation may be waiting
# for that very result.


WORK = Turns(MAX_PAGE_WORK)
"""Queue of this process."""

_PULSE_SECONDS = 0.25
_thread = threading.local()  # .turn: the turn that this script run holds; .locks: of `once`


@contextmanager
def under_a_lock() -> Iterator[None]:
    """Mark a block that others may be waiting for."""
    _thread.locks = getattr(_thread, "locks", 0) + 1
    try:
        yield
    finally:
        _thread.locks -= 1


def take_turn(slot: Any = None) -> Turn | None:
    """Wait for this script run's turn, and show how many are before it.

    Args:
        slot: an empty place of the page; None for a new one.

    Returns:
        The turn, to be left when the work is done; None where this run has its turn already, or
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
    except BaseException:  # the user clicked elsewhere, or left
        turn.leave()
        raise
    if place is not None:
        place.empty()
    return turn


def waiting_text(before: int) -> str:
    """Return the message for a waiting user.

    Args:
        before: number of turns before this one; at 0 the work is starting.
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
"""Shelves by kind; there are some thirty kinds."""


def _shelf(name: str) -> _Shelf:
    return _SHELVES.get(name) or _SHELVES.setdefault(name, _Shelf())


def is_there(name: str, key: Hashable) -> bool:
    """Return True if a result is cached."""
    if _of_ones_own(key):
        return key in st.session_state.get(f"own {name}", {})
    return key in _shelf(name).results


def _of_ones_own(key: object) -> bool:
    """Return True if a key involves uploaded vectors, whose results belong to one session."""
    if isinstance(key, tuple):
        return any(map(_of_ones_own, key))
    if isinstance(key, (int, float)):
        return False
    lexicon = getattr(key, "lexicon", None)
    fingerprint = getattr(lexicon, "fingerprint", key)
    return isinstance(fingerprint, str) and only_in_memory(fingerprint)


def once(name: str, key: Hashable, compute: Callable[[], T], kept: int = _KEPT_ONCE) -> T:
    """Return the result under a key; concurrent callers wait for a computation in progress.

    Args:
        name: kind of the result.
        key: key of this result.
        compute: computes it; may draw progress, and may be interrupted by it.
        kept: number of results of this kind; beyond it the oldest are dropped.
    """
    if _of_ones_own(key):
        return session_memo(f"own {name}", key, compute, kept)
    shelf = _shelf(name)
    known: T | object = shelf.results.get(key, _ABSENT)
    if known is not _ABSENT:  # fast path: a page asks hundreds of times
        return cast("T", known)
    with _LOCK:
        making = shelf.making.setdefault(key, threading.Lock())
    # Different keys are computed side by side; a second caller of the same key waits here, and
    # computes it only if the first was interrupted.
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
