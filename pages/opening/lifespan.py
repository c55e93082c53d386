"""Work of the server from its start, before the first visitor."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.starlette import App

from pages.shared.departure import keep_order
from pages.shared.log import keep_log_short
from pages.shared.process import AHEAD, give_memory_back, leave_routing_to_app
from pages.shared.received import keep_types
from pages.shared.server import bound_uploads


@asynccontextmanager
async def prepared(_: App) -> AsyncIterator[None]:
    """Change what this process needs changed, and warm caches so that nobody waits for them.

    Streamlit has started its runtime by now, but has no session yet.
    """
    keep_log_short()
    give_memory_back()
    leave_routing_to_app()
    keep_order()
    keep_types()
    if runtime.exists():
        bound_uploads(cast("MemoryUploadedFileManager", runtime.get_instance().uploaded_file_mgr))
    threading.Thread(target=_make_ready, name=AHEAD).start()
    yield


def _make_ready() -> None:
    from pages.opening.warmup import warm  # its caches need a running server

    warm()
