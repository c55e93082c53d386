"""Progress with the time left, for anything that may take more than a second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

import streamlit as st

T = TypeVar("T")
_SILENT_SECONDS = 0.4


def timed(label: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items; show how many are done and the time left once it has taken a moment.

    Args:
        label: fixed text of ours.
        items: the steps; each may be interrupted by the next click, and what is done stays.
    """
    slot, start = None, time.monotonic()
    for done, item in enumerate(items):
        spent = time.monotonic() - start
        if done and spent > _SILENT_SECONDS:
            slot = slot or st.empty()
            left = spent / done * (len(items) - done)
            text = f"{label}: {done} of {len(items)}, about {max(1, round(left))} s left"
            slot.progress(done / len(items), text=text)
        yield item
    if slot is not None:
        slot.empty()
