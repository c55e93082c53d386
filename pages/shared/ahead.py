"""What fresh visits will ask for, computed in the background of the start, one after the other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError
from pages.shared.process import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AHEAD = "ahead"
"""Name of the thread."""
_BEGUN = threading.Event()


def look_ahead(jobs: Sequence[Callable[[], object]]) -> threading.Thread | None:
    """Run jobs on public data in a thread, once in a process; None if that was begun before.

    A session that needs what is just being computed waits for it.

    Args:
        jobs: the most wanted first. One that meets an error of ours is left out: the page meets
            the same error and says what to do.
    """
    if _BEGUN.is_set():
        return None
    _BEGUN.set()

    def run() -> None:
        for job in jobs:
            try:
                job()
            except DpcoreError:
                continue
        settle()

    thread = threading.Thread(target=run, name=AHEAD, daemon=True)
    thread.start()
    return thread
