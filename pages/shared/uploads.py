"""Uploads: how many are received at a time, how slowly, and how much of them a session holds."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

from dpcore.limits import (
    MAX_ADDRESS_LINE,
    MAX_ADDRESS_UPLOADS,
    MAX_SESSION_FILES,
    MAX_SESSION_MEGABYTES,
    MAX_UPLOAD_SECONDS,
    MAX_UPLOAD_WAIT_SECONDS,
    MAX_UPLOADS,
    UPLOAD_BYTES_A_SECOND,
    UPLOAD_WINDOW_SECONDS,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send
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


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods whose requests have no body that anything reads."""

_CLOSE = {"Connection": "close"}  # else what still comes of a refused body would be read
_LATER = {**_CLOSE, "Retry-After": "30"}


class Uploads:
    """Receives request bodies in turns: a share for each address, a least rate, a deadline.

    The address is the one that uvicorn trusts: of the connection, or the one that a proxy of
    `FORWARDED_ALLOW_IPS` forwards. Until its turn comes a body is not read, and so waits in the
    network.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._room = asyncio.Semaphore(MAX_UPLOADS)
        self._shares: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MAX_ADDRESS_UPLOADS)
        )
        self._lines: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        refusal: PlainTextResponse | None = None
        if self._lines[address] >= MAX_ADDRESS_LINE:
            many = "too many uploads of this address are waiting: try again in a minute"
            refusal = PlainTextResponse(many, 429, headers=_LATER)
        else:
            async with self._turn(address) as came:
                if came:
                    refusal = await self._receive(scope, receive, send)
                else:
                    busy = "too many uploads at once: try again in a minute"
                    refusal = PlainTextResponse(busy, 503, headers=_LATER)
        if refusal is not None:
            await refusal(scope, receive, send)

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[bool]:
        """A place in the line of this address, then in the one of all; False if none came up."""
        self._lines[address] += 1
        share, taken = self._shares[address], []
        try:
            try:
                async with asyncio.timeout(MAX_UPLOAD_WAIT_SECONDS):
                    for room in (share, self._room):
                        await room.acquire()
                        taken.append(room)
            except TimeoutError:
                yield False
            else:
                yield True
        finally:
            for room in taken:
                room.release()
            self._lines[address] -= 1
            if not self._lines[address]:
                del self._lines[address], self._shares[address]

    async def _receive(
        self, scope: Scope, receive: Receive, send: Send
    ) -> PlainTextResponse | None:
        """Pass a request on; returns a refusal if its body came too slowly."""
        begun = lost = False

        async def watched(message: Message) -> None:
            nonlocal begun, lost
            begun = True
            try:
                await send(message)
            except Exception:  # uvicorn has refused the rest of the body itself, by a 400
                lost = True
                raise

        clock = asyncio.get_running_loop().time
        end = clock() + MAX_UPLOAD_SECONDS
        try:
            async with asyncio.timeout_at(end) as deadline:
                await self._app(scope, _in_time(receive, deadline, end), watched)
        except TimeoutError:
            if begun:
                return None  # uvicorn closes the connection of an answer that was not completed
            slow = f"the upload took longer than {MAX_UPLOAD_SECONDS} seconds"
            if clock() < end:
                slow = f"the upload brought less than {UPLOAD_BYTES_A_SECOND:,} bytes a second"
            return PlainTextResponse(f"{slow}: try a faster line", 408, headers=_CLOSE)
        except ClientDisconnect:  # a tab that was closed meanwhile
            return None
        except Exception:
            if not lost:
                raise
        return None


def _in_time(receive: Receive, deadline: asyncio.Timeout, end: float) -> Receive:
    """Wrap `receive` so that the deadline of a body moves on with each part that came in time."""
    clock = asyncio.get_running_loop().time
    part = UPLOAD_BYTES_A_SECOND * UPLOAD_WINDOW_SECONDS
    missing = part
    deadline.reschedule(min(end, clock() + UPLOAD_WINDOW_SECONDS))

    async def receive_in_time() -> Message:
        nonlocal missing
        message = await receive()
        missing -= len(message.get("body", b""))
        if not message.get("more_body", False):
            deadline.reschedule(end)
        elif missing <= 0:
            missing = part
            deadline.reschedule(min(end, clock() + UPLOAD_WINDOW_SECONDS))
        return message

    return receive_in_time
