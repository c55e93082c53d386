"""Work of the server from its start, before the first visitor."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit.starlette import App

from pages.shared.log import keep_log_short
from pages.shared.process import AHEAD, give_memory_back, keep_theme
from pages.shared.received import keep_types


@asynccontextmanager
async def prepared(_: App) -> AsyncIterator[None]:
    """Warm caches at start-up so that the first visitor does not wait."""
    keep_log_short()
    give_memory_back()
    keep_theme()
    keep_types()
    threading.Thread(target=_make_ready, name=AHEAD).start()
    yield


def _make_ready() -> None:
    from pages.opening.warmup import warm  # its caches need a running server

    warm()
