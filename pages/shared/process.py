"""Process-wide changes by the pages, the gain of each, and where it applies.

All numbers are of the commits that made the change, on two cores, with Chromium on the machine.

| change | without | with |
|---|---|---|
| `send_at_once` | a step of a slider 48 ms, a change of page 50 ms | 21 ms, 12 to 37 ms |
| `give_memory_back` | memory of a process that has shown all pages | 30 % less, and Arrow's \
another 13 % |
| `prepared` and `hurried` | the first page of a process 3.5 to 4.1 s | 2.1 to 2.7 s |
| `settle`, in place of Streamlit's collection after each run | fifty people: 690 ms, one in \
twenty 1,822 ms | 15 ms, 45 ms |
| `settle` freezes what stays | a step with all pages visited 26 ms | 14 ms |
| uvloop, where it is installed, and `keep_theme` | 25 people: 87 to 138 ms, one in twenty 906 to \
1,215 ms | 22 to 40 ms, 208 to 355 ms |
| `one_thread_each` | a sentence costs two threads' time of the processor | one thread's, and it \
takes as long |
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from streamlit.proto.NewSession_pb2 import CustomThemeConfig

AHEAD = "ahead"
"""Name of the threads that compute ahead of the first request."""

_OWN_FILES = "/dev/fd"  # Linux and macOS
_OPTIONS = {-8: 2, -3: 2**18, -1: 2**18}
"""glibc's M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (malloc.h, mallopt(3))."""
_PASS_SECONDS = 20.0


def leave_with_the_process() -> None:
    """End this computing thread when the process is ending; called between two steps.

    Such a thread is not a daemon: Python would stop it in the middle of native code whose library
    is being torn down, which occasionally causes a segmentation fault. So the process waits for it,
    and each step should be short.
    """
    if not threading.main_thread().is_alive():
        raise SystemExit  # ends a thread silently


_HURRIED: set[int] = set()
"""Threads that compute a page for a waiting user."""
_PATIENCE_SECONDS = 2.0


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Run a block to which threads that compute ahead give way, between two steps."""
    mine = threading.get_ident()
    _HURRIED.add(mine)
    try:
        yield
    finally:
        _HURRIED.discard(mine)


def give_way() -> None:
    """Let waiting pages go first, and end with the process; called between steps of work ahead.

    Python computes one thread at a time: two that compute side by side both end late.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while _HURRIED and time.monotonic() < end:
        time.sleep(0.01)
    leave_with_the_process()


def send_at_once() -> None:
    """Make TCP connections of this process send without waiting for acknowledgements.

    A response of the server is several small frames. By default the second waits until the browser
    has acknowledged the first, which browsers delay by 40 ms and more. Connections inherit the
    option from the listening socket, which Streamlit opens without it. On systems other than Linux
    and macOS nothing is done.
    """
    try:
        files = [int(file.name) for file in Path(_OWN_FILES).iterdir()]
    except OSError:
        return
    for file in files:
        try:
            copy = os.dup(file)
        except OSError:  # closed meanwhile: the list itself was one of them
            continue
        try:
            connection = socket.socket(fileno=copy)
        except OSError:  # not a socket
            os.close(copy)
            continue
        with connection, contextlib.suppress(OSError):
            internet = connection.family in {socket.AF_INET, socket.AF_INET6}
            if internet and connection.type == socket.SOCK_STREAM:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def leave_routing_to_app() -> None:
    """Turn off Streamlit's older router before the first session.

    It would serve the first session of a process, since there is a folder pages/, and tell a
    visitor who follows a link that there is no such page: it looks for scripts directly in that
    folder alone.
    """
    from streamlit.runtime.pages_manager import PagesManager

    PagesManager.uses_pages_directory = False


def keep_theme() -> None:
    """Make Streamlit read the theme, which is the same for everyone, once and not in every run.

    Reading it walks all settings for each of its six parts: 2 ms, a fourth of a step on Start.
    """
    from streamlit.runtime import app_session

    read = getattr(app_session, "_populate_theme_msg", None)
    if read is not None and not isinstance(read, _Theme):
        app_session._populate_theme_msg = _Theme(read)  # type: ignore[assignment]


class _Theme:
    """Theme that fills the parts of a message from the first reading."""

    def __init__(self, read: Callable[[CustomThemeConfig, str], None]) -> None:
        self._read = read
        self.kept: dict[str, CustomThemeConfig] = {}

    def __call__(self, message: CustomThemeConfig, section: str = "theme") -> None:
        """Fill one part of a message."""
        if section not in self.kept:
            part = type(message)()
            self._read(part, section)
            self.kept[section] = part
        if self.kept[section].ByteSize():  # otherwise the part would be present, but empty
            message.MergeFrom(self.kept[section])


def give_memory_back() -> None:
    """Make the C library return freed memory; without glibc nothing is done.

    Every script run is a thread of its own, and glibc keeps up to eight heaps for each core in
    which arrays of passing runs leave holes. So there are two heaps, and arrays from a quarter of a
    megabyte on are taken from the system one by one. Arrow, which reads this when it is imported,
    takes its memory from there too: its own pool keeps freed memory.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        for option, value in _OPTIONS.items():
            library.mallopt(option, value)


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Import modules in this block so that matrix products and FAISS use one thread each.

    A class of users has to share the processor: the time that one sentence gains by a second
    thread, another one loses.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by FAISS when it is imported
    from threadpoolctl import threadpool_limits

    yield
    threadpool_limits(1, user_api="blas")  # of the libraries that are loaded by now


class _Passes:
    """Time of the last garbage collection."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._last = time.monotonic()

    def due(self) -> bool:
        """Return True if another collection is due, which the caller then makes."""
        with self._busy:
            now = time.monotonic()
            if now < self._last + _PASS_SECONDS:
                return False
            self._last = now
            return True


_PASSES = _Passes()


def settle() -> None:
    """Collect unreachable objects at the end of a run, but not at every one.

    Every run would be too often, since a collection walks the objects of all sessions.
    """
    if _PASSES.due():
        freeze()


def freeze() -> None:
    """Collect unreachable objects, and freeze the others.

    Python's automatic collections then walk only newer objects.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
