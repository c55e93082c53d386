"""The log of the server: short lines, no text of a person, no flood."""

import asyncio
import io
import logging
from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.runtime import backend_operation_handler
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from dpcore import limits
from pages.shared.process import _Short, keep_log_short

SECRET = "unmistakable5"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Output of a logger while the log is kept short."""
    plain, rich = logging.getLogRecordFactory(), config.get_option("logger.enableRich")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    LOGGER.addHandler(handler)
    keep_log_short()
    keep_log_short()  # once is enough
    yield stream
    LOGGER.removeHandler(handler)
    logging.setLogRecordFactory(plain)
    config.set_option("logger.enableRich", rich)


LOGGER = logging.getLogger("test_log")
LOGGER.propagate = False


def fail() -> None:
    """Raise an error whose text is private."""
    raise KeyError(SECRET)


def note() -> None:
    """Log such an error, as Streamlit logs those of a script."""
    try:
        fail()
    except KeyError as error:
        LOGGER.error("Uncaught app execution", exc_info=error)


def test_an_error_is_logged_with_its_place_and_without_its_text(written: io.StringIO) -> None:
    note()
    text = written.getvalue()
    assert SECRET not in text
    assert text.startswith("Uncaught app execution\nTraceback (most recent call last):")
    assert "in fail" in text
    assert text.endswith("\nKeyError\n")
    assert not config.get_option("logger.enableRich")


def test_a_message_is_one_short_line(written: io.StringIO) -> None:
    LOGGER.warning("no part %s", "a\nb\x1b[31m\u2028" + "c" * 10_000)
    text = written.getvalue()
    assert text.startswith("no part a b [31m c")
    assert len(text.splitlines()) == 1
    assert len(text) <= limits.MAX_LOG_CHARACTERS + 2


def test_what_is_said_again_and_again_is_left_out_and_counted(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr("pages.shared.process.time.monotonic", lambda: now)
    for number in range(limits.LOG_LINES + 1_500):
        LOGGER.warning("refused %s", number)
        note()
    lines = written.getvalue().splitlines()
    assert sum(line.startswith("refused") for line in lines) == limits.LOG_LINES
    assert sum(line == "KeyError" for line in lines) == limits.LOG_LINES
    now += limits.LOG_SECONDS
    for _ in range(2):
        note()
    counted = [line for line in written.getvalue().splitlines() if "1,500 times before" in line]
    assert len(counted) == 1


def test_few_kinds_are_remembered(written: io.StringIO) -> None:
    factory = logging.getLogRecordFactory()
    for number in range(limits.MAX_LOG_KINDS + 10):
        factory("a", logging.WARNING, "file", number, "said", None, None)
    assert isinstance(factory, _Short)
    assert len(factory._kinds) == limits.MAX_LOG_KINDS


def test_who_asks_for_all_is_told_all(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = logging.getLogRecordFactory()
    monkeypatch.setattr("pages.shared.process.config.get_option", lambda _: "debug")
    keep_log_short()
    assert logging.getLogRecordFactory() is plain


def ask(manager: MediaFileManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press the button of a table that is made then."""
    monkeypatch.setattr(backend_operation_handler, "_LOGGER", LOGGER)
    request = BackendOperationRequest()
    request.deferred_file.file_id = "a"
    handler = backend_operation_handler.DeferredFileHandler(lambda: manager)
    assert asyncio.run(handler.handle(request, "session")).error_msg


def test_streamlit_still_logs_an_error_for_a_table_of_a_page_that_was_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LOGGER, "propagate", True)
    ask(MediaFileManager(MemoryMediaFileStorage("/media")), monkeypatch)
    assert any(record.levelno == logging.ERROR for record in caplog.records), "`_is_late` can go"


def test_a_table_of_a_page_that_was_left_is_no_fault(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(MediaFileManager(MemoryMediaFileStorage("/media")), monkeypatch)
    assert not written.getvalue()


def test_a_table_that_cannot_be_made_is_one(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: str) -> str:
        raise ValueError(SECRET)

    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(manager, "execute_deferred", broken)
    ask(manager, monkeypatch)
    assert "ValueError" in written.getvalue()
    assert SECRET not in written.getvalue()
