"""Process-wide changes by the pages: speed and memory, and the private places of Streamlit.

Speed and memory on two cores; the first two rows at the commits that made the change, the others
measured again with Streamlit 1.67 while the machine had other work too:

| change | without | with |
|---|---|---|
| uvloop, which sets TCP_NODELAY (asyncio does not on Streamlit's socket) | a step of a slider in a browser 48 ms, a change of page 50 ms | 21 ms, 12 to 37 ms |
| `prepared` and `hurried` | the first page of a process 3.5 to 4.1 s | 2.1 to 2.7 s |
| `settle`, in place of Streamlit's collection after each run | 50 ms of the processor for a step, ten people | 18 ms |
| `freeze` | a full collection by Python with all pages visited 159 ms | 48 ms |
| `give_memory_back` | 658 MB for a process that has shown all pages, 816 MB after 25 people | 501 to 503 MB, 567 MB |
| `one_thread_each` | 212 ms of the processor for a sentence under six mechanisms | 146 ms |

Private places of Streamlit that are changed or relied upon, as seen in version 1.67. The
requirement excludes 1.68 as long as one is left. Each test named runs Streamlit without the change
and fails when it is no longer needed: `python -m pytest tests/pages/shared -k streamlit_still`.

| place | used by | fault | test: `test_streamlit_still_…` |
|---|---|---|---|
| `PagesManager.uses_pages_directory` | `process.leave_routing_to_app` | the first visitor who follows a link to a page is told that there is none | `denies_a_page_where_there_is_a_folder_pages` |
| `AppSession.request_rerun` | `departure.keep_order` | an event undoes a change of page, | `goes_back_for_an_event` |
| | | or is forgotten, | `forgets_an_event_before_a_link` |
| | | or deletes unsent output | `drops_unsent_output_when_an_event_arrives` |
| `AppSession._clear_queue` | `departure.keep_order` | a fragment that runs again leaves holes | `removes_messages_that_others_build_on` |
| `SafeSessionState.__init__` | `departure.keep_order` | two runs change one state at once | `gives_each_run_of_a_session_a_lock_of_its_own` |
| `ScriptRunContext.yield_check` | `fragments.fragment` | a stopped run declares a fragment | `declares_a_fragment_in_a_run_that_was_stopped` |
| `ScriptRunContext.fragment_ids_this_run` | `fragments.run_parts` | a changed field is ignored | `ignores_a_field_that_changes_when_a_fragment_is_requested` |
| `WStates.__getitem__` | `server.keep_types` | a field takes a value of any type | `gives_a_field_a_value_of_any_type` |
| `BackMsg` | `server.judge` | any browser can empty all caches | `lets_any_browser_empty_all_caches` |
| `MemoryUploadedFileManager.add_file` | `server.bound_uploads` | a session fills the memory | `keeps_any_number_of_files` |
| `MediaFileStorageError` | `process.keep_log_short` | an ordinary event is logged as an error | `logs_an_error_for_a_table_of_a_page_that_was_left` |
| `QueryParams._send_query_param_msg` | `link.put` | a parameter that a field is bound to cannot be removed | `refuses_a_parameter_that_a_field_is_bound_to` |

In the browser, `departure.js` and `front.js` rely on names in Streamlit's page; their tests are
`tests/browser/test_departure.py`, `test_healing.py` and `test_blocked.py`.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from streamlit import config
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.pages_manager import PagesManager

from dpcore.limits import LOG_LINES, LOG_SECONDS, MAX_LOG_CHARACTERS, MAX_LOG_KINDS

AHEAD = "ahead"
"""Name of the threads that compute ahead of the first request."""

_OPTIONS = {-8: 2, -3: 2**21, -1: 2**22}
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


def leave_routing_to_app() -> None:
    """Turn off Streamlit's older router before the first session.

    In Streamlit 1.67 it serves the first session of a process, since there is a folder pages/, and
    tells a visitor who follows a link that there is no such page: it looks for scripts directly in
    that folder alone. The test `test_streamlit_still_denies_a_page_where_there_is_a_folder_pages`
    fails when it does not.
    """
    PagesManager.uses_pages_directory = False


def give_memory_back() -> None:
    """Make the C library return freed memory; without glibc nothing is done.

    Every script run is a thread of its own, and glibc keeps up to eight heaps for each core in
    which arrays of passing runs leave holes. So there are two heaps, whose holes go back at the
    next `freeze`, and arrays from two megabytes on are taken from the system one by one. A lower
    limit costs more than it saves: an array of a tile of a matrix product is a megabyte, and the
    system clears all its pages each time (from 256 kB on, 50 people waited 751 ms in place of 399
    for the slowest twentieth of their steps, to save 1 % of the memory). The end of a heap stays up
    to twice the size of the largest array in it, which is glibc's own rule: with a limit of one
    megabyte it went back each time that a tile there was freed (312 to 448 ms in place of 226 to
    267, to save half a percent of the memory). Arrow, which reads this when it is imported, takes
    its memory from there too: its own pool keeps freed memory.
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


_passing = threading.Lock()
_next_pass = time.monotonic() + _PASS_SECONDS


def settle() -> None:
    """Collect unreachable objects at the end of a run, but not at every one.

    Every run would be too often, since a collection walks the objects of all sessions.
    """
    global _next_pass
    with _passing:  # runs of several sessions may end at once
        now = time.monotonic()
        if now < _next_pass:
            return
        _next_pass = now + _PASS_SECONDS
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


# Log of the server: one line per event, no user text, and no flood.
#
# The text of an exception may hold typed text, and a message may hold data that a browser sent.

_DROPPED = -1
"""A level below that of every handler."""

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), 8232, 8233), " ")


def keep_log_short() -> None:
    """Make every logger of this process write short lines; `--logger.level debug` has all."""
    plain = logging.getLogRecordFactory()
    if not isinstance(plain, _Short) and config.get_option("logger.level") != "debug":
        config.set_option("logger.enableRich", False)  # it would print values past the log
        logging.setLogRecordFactory(_Short(plain))


class _Short:
    """Factory of one-line log records that drops frequent repetitions."""

    def __init__(self, plain: Callable[..., logging.LogRecord]) -> None:
        self._plain = plain
        # Place in the code -> start of its window, and number of its messages since.
        self._kinds: OrderedDict[tuple[Any, ...], tuple[float, int]] = OrderedDict()

    def __call__(self, *given: Any, **named: Any) -> logging.LogRecord:
        """Make a record, as `logging.LogRecord` is made."""
        record = self._plain(*given, **named)
        if record.levelno < logging.INFO:
            return record
        said = record.getMessage().translate(_CONTROLS).strip()
        if len(said) > MAX_LOG_CHARACTERS:
            said = f"{said[:MAX_LOG_CHARACTERS]}…"
        kind: tuple[Any, ...] = (record.pathname, record.lineno)
        if record.exc_info and record.exc_info[0] is not None:
            error, raised, trace = record.exc_info
            if _is_late(raised):
                record.levelno = _DROPPED
            record.exc_text = without_text(error, trace)
            kind = (*kind, error, _place(trace))
        record.exc_info = None
        count, left_out = self._count(kind)
        if count > LOG_LINES:
            record.levelno = _DROPPED
        elif left_out:
            said = f"{said} (and {left_out:,} times before, which were left out)"
        record.msg, record.args = said, None
        return record

    def _count(self, kind: tuple[Any, ...]) -> tuple[int, int]:
        """Count this message in the present window; return it with the number left out before."""
        now = time.monotonic()
        begin, count = self._kinds.pop(kind, (now, 0))
        left_out = 0
        if now - begin >= LOG_SECONDS:
            begin, count, left_out = now, 0, max(0, count - LOG_LINES)
        self._kinds[kind] = begin, count + 1
        if len(self._kinds) > MAX_LOG_KINDS:
            self._kinds.popitem(last=False)
        return count + 1, left_out


def _is_late(error: BaseException | None) -> bool:
    """Return True for a request for the table of a page that was left; the browser reports it.

    Streamlit 1.67 logs it as an error
    (`test_streamlit_still_logs_an_error_for_a_table_of_a_page_that_was_left`).
    """
    return isinstance(error, MediaFileStorageError) and str(error).endswith("not found")


def without_text(error: type[BaseException], trace: TracebackType | None) -> str:
    """Format a traceback with the type of its exception but not its text."""
    frames = "".join(traceback.format_tb(trace)).rstrip("\n")
    return f"Traceback (most recent call last):\n{frames}\n{error.__name__}"


def _place(trace: TracebackType | None) -> tuple[str, int] | None:
    """Return file and line where an exception was raised."""
    frames = traceback.extract_tb(trace)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else None
