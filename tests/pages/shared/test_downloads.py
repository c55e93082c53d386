"""What the server says of downloads: faults, and not those who left."""

import asyncio
import logging

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

import pages.shared.downloads  # noqa: F401  its import sets the filter


def asked(manager: MediaFileManager, file_id: str) -> str:
    request = BackendOperationRequest()
    request.deferred_file.file_id = file_id
    answer = asyncio.run(DeferredFileHandler(lambda: manager).handle(request, "a"))
    return answer.error_msg


def test_a_table_of_a_page_that_was_left_is_no_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("streamlit"), "propagate", True)
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    assert asked(manager, "gone")
    assert not caplog.records


def test_a_table_that_cannot_be_made_is_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: str) -> str:
        raise ValueError("no such column")

    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(manager, "execute_deferred", broken)
    monkeypatch.setattr(logging.getLogger("streamlit"), "propagate", True)
    assert asked(manager, "there")
    assert "no such column" in str(caplog.records[0].exc_info)
