"""How the process of the pages gives memory back, and what it never looks through for that."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import time

_OPTIONS = {-8: 2, -3: 2**18, -1: 2**18}
"""glibc's M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (malloc.h, mallopt(3))."""


def give_memory_back() -> None:
    """Have the C library return what is freed; elsewhere than with glibc nothing is done.

    Every script run is a thread of its own, and glibc keeps up to eight heaps for each core in
    which arrays of passing runs leave holes. With two heaps, and arrays from a quarter of a
    megabyte on taken from the system one by one, all pages visited take 30 % less.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        for option, value in _OPTIONS.items():
            library.mallopt(option, value)


_PASS_SECONDS = 20.0


class _Passes:
    """When everything was last looked through for what can be given back."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._at = -_PASS_SECONDS

    def due(self) -> bool:
        """Whether it is time for another one, which the caller then makes."""
        with self._busy:
            now = time.monotonic()
            if now < self._at + _PASS_SECONDS:
                return False
            self._at = now
            return True


_PASSES = _Passes()


def settle() -> None:
    """At the end of a run, now and then: give back what nobody can reach any more.

    What stays is frozen: the collections that Python makes by itself walk only what is newer. Every
    run would be too often, since it is what all sessions hold that is walked here.
    """
    if not _PASSES.due():
        return
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
