"""Log of the server: one line per event, no user text, and no flood.

The text of an exception may hold typed text, and a message may hold data that a browser sent.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any

from streamlit import config
from streamlit.runtime.media_file_storage import MediaFileStorageError

from dpcore.limits import LOG_LINES, LOG_SECONDS, MAX_LOG_CHARACTERS, MAX_LOG_KINDS

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
