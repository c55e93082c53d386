"""What was computed is kept and looked up: in a table, or under a name of one session."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

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
