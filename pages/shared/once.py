"""Public results that are computed once for all sessions, with progress where first needed.

`st.cache_resource` would record what a function draws, and a progress bar cannot be drawn in it.
Keys are names, fingerprints, settings and seeds; nothing that a person typed is ever part of one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")
_KEPT = 64
_LOCK = threading.Lock()
_ABSENT = object()


@st.cache_resource(max_entries=32, show_spinner=False)
def _shelf(name: str) -> dict[Hashable, Any]:  # noqa: ARG001 - the key of the cache
    return {}


def is_there(name: str, key: Hashable) -> bool:
    """Whether a result is only a look-up."""
    return key in _shelf(name)


def once(name: str, key: Hashable, compute: Callable[[], T], kept: int = _KEPT) -> T:
    """The result under a key; two sessions that ask at the same time may both compute it.

    Args:
        name: of the kind of result.
        key: of this one.
        compute: makes it; may draw progress.
        kept: results of this kind; past it the oldest go first.
    """
    shelf = _shelf(name)
    found: T | object = shelf.get(key, _ABSENT)  # one look: another session may take it off
    if found is not _ABSENT:
        return cast("T", found)
    made = compute()
    with _LOCK:
        while len(shelf) >= kept:
            shelf.pop(next(iter(shelf)))
        shelf[key] = made
    return made
