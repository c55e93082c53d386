"""How much one visitor may ask of the server: what is too much waits, so that others need not."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from dpcore.limits import (
    LEFT_SECONDS,
    MAX_ADDRESS_TABS,
    MAX_OPENING,
    MAX_REQUEST_BYTES,
    MAX_REQUESTS_AT_ONCE,
    MAX_TABS,
    MAX_UPLOAD_SECONDS,
    MAX_UPLOADS,
    OPENING_SECONDS,
    REQUEST_BYTES,
    REQUESTS_A_SECOND,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOO_BIG = 1009  # RFC 6455, 7.4.1
_RETRY = {"Retry-After": "5"}


class Pace:
    """Holds every visitor to a pace that leaves room for the others.

    A tab is a web socket. What waits is not read, so it waits on its way in the network; nothing
    is dropped, since the last value of a slider is the one that counts. A class that sits behind
    one address opens its tabs a few at a time, which takes no longer than all at once.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tabs: Counter[str] = Counter()
        self._opening: dict[str, asyncio.Semaphore] = {}
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        if scope["type"] == "websocket":
            await self._tab(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            await self._upload(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _tab(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = (scope.get("client") or ("",))[0]
        if self._tabs.total() >= MAX_TABS or self._tabs[address] >= MAX_ADDRESS_TABS:
            refusal = PlainTextResponse("too many tabs are open", 503, headers=_RETRY)
            await refusal(scope, receive, send)
            return
        if len(self._opening) > MAX_TABS:  # those of whom nobody is here
            self._opening = {who: turn for who, turn in self._opening.items() if self._tabs[who]}
        opening = self._opening.setdefault(address, asyncio.Semaphore(MAX_OPENING))
        tab = Tab(receive, send, opening)
        self._tabs[address] += 1
        try:
            await self._app(scope, tab.receive, tab.send)
        finally:
            tab.leave()
            self._tabs[address] -= 1
            self._tabs += Counter()  # keeps no address with no tab

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async with self._uploads:
            try:
                async with asyncio.timeout(MAX_UPLOAD_SECONDS):
                    await self._app(scope, receive, watched)
            except TimeoutError:
                if begun:
                    raise
                slow = f"an upload took more than {MAX_UPLOAD_SECONDS} seconds: try a faster line"
                await PlainTextResponse(slow, 408)(scope, receive, send)


class Tab:
    """One web socket, read at the pace of a person.

    Args:
        receive: its next message; until it is asked for, uvicorn reads no more.
        send: a message to it.
        opening: what its first request waits for, and holds until the first page is drawn.
    """

    def __init__(self, receive: Receive, send: Send, opening: asyncio.Semaphore) -> None:
        self._receive, self._send, self._opening = receive, send, opening
        self._left, self._then = float(MAX_REQUESTS_AT_ONCE), time.monotonic()
        self._next: asyncio.Task[Message] | None = None
        self._asked = self._drawn = False

    async def receive(self) -> Message:
        """The next message, once this tab may ask for something again (a token bucket).

        A long message is read at once, and what follows waits for it.
        """
        await asyncio.sleep(max(0.0, -self._refilled() / REQUESTS_A_SECOND))
        message = await (self._next or self._receive())
        self._next = None
        if message["type"] != "websocket.receive":
            return message
        size = len(message.get("bytes") or message.get("text") or "")
        if size > MAX_REQUEST_BYTES:
            await self._send({"type": "websocket.close", "code": _TOO_BIG})
            return {"type": "websocket.disconnect", "code": _TOO_BIG}
        self._left = self._refilled() - 1 - size / REQUEST_BYTES
        return message if self._asked else await self._first(message)

    def _refilled(self) -> float:
        now = time.monotonic()
        back = REQUESTS_A_SECOND * (now - self._then)
        self._left, self._then = min(MAX_REQUESTS_AT_ONCE, self._left + back), now
        return self._left

    async def _first(self, message: Message) -> Message:
        """The first request when its turn has come, or what says that the tab did not wait."""
        self._next = asyncio.ensure_future(self._receive())
        turn = asyncio.ensure_future(self._opening.acquire())
        await asyncio.wait([turn, self._next], return_when=asyncio.FIRST_COMPLETED)
        if not turn.done() and self._next.result()["type"] == "websocket.disconnect":
            turn.cancel()
            return self._next.result()
        await turn
        self._asked = True
        asyncio.get_running_loop().call_later(OPENING_SECONDS, self._draw)
        return message

    async def send(self, message: Message) -> None:
        """Pass a message on; the one that ends the first run of the page is noticed."""
        await self._send(message)
        if self._asked and not self._drawn and message.get("bytes"):
            kind = ForwardMsg.FromString(message["bytes"]).WhichOneof("type")
            if kind == "script_finished":
                self._draw()

    def leave(self) -> None:
        """The tab is closed; a page that is not drawn yet goes on being computed for a while."""
        if self._next is not None:
            self._next.cancel()
        if self._asked:
            asyncio.get_running_loop().call_later(LEFT_SECONDS, self._draw)

    def _draw(self) -> None:
        if not self._drawn:
            self._drawn = True
            self._opening.release()
