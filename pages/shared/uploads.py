"""How much one session may hold in uploaded files: Streamlit bounds a file, not their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dpcore.limits import MAX_SESSION_FILES, MAX_SESSION_MEGABYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec


def bound_uploads() -> None:
    """Have the server refuse a file that is too much for its session; without a server nothing."""
    from streamlit import runtime

    if not runtime.exists():
        return
    manager = cast("MemoryUploadedFileManager", runtime.get_instance().uploaded_file_mgr)
    manager.add_file = _bounded(manager, manager.add_file)  # type: ignore[assignment, method-assign]


def _bounded(
    manager: MemoryUploadedFileManager, add: Callable[[str, UploadedFileRec], None]
) -> Callable[[str, UploadedFileRec], None]:
    from starlette.exceptions import HTTPException

    def add_file(session_id: str, file: UploadedFileRec) -> None:
        files = dict(manager.file_storage.get(session_id, {}))
        files[file.file_id] = file
        size = sum(len(each.data) for each in files.values())
        if len(files) > MAX_SESSION_FILES or size > MAX_SESSION_MEGABYTES * 2**20:
            raise HTTPException(
                status_code=413,
                detail=f"One session holds at most {MAX_SESSION_FILES} files and "
                f"{MAX_SESSION_MEGABYTES} MB of uploads: remove a file, then upload this one again",
            )
        add(session_id, file)

    return add_file
