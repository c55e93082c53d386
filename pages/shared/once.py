"""Public results that are computed once for all sessions, with progress where first needed.

`st.cache_resource` would record what a function draws, and a progress bar cannot be drawn in it.
Keys are names, fingerprints, settings and seeds; nothing that a person typed is ever part of one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import streamlit as st

from dpcore.lexicon.cache import only_in_memory
from pages.shared.memo import session_memo
from pages.shared.turn import under_a_lock

T = TypeVar("T")
_KEPT = 64
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


def once(name: str, key: Hashable, compute: Callable[[], T], kept: int = _KEPT) -> T:
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
