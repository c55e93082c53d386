"""How much one visitor may ask of the server: what is too much waits, so that others need not."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse

from dpcore.limits import (
    MAX_ADDRESS_TABS,
    MAX_REQUEST_BYTES,
    MAX_REQUESTS_AT_ONCE,
    MAX_TABS,
    REQUEST_BYTES,
    REQUESTS_A_SECOND,
)
from pages.shared.received import judge

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOO_BIG = 1009  # RFC 6455, 7.4.1
_RETRY = {"Retry-After": "5"}


class Pace:
    """Holds every visitor to a pace that leaves room for the others.

    A tab is a web socket. What waits is not read, so it waits on its way in the network; nothing
    is dropped, since the last value of a slider is the one that counts. How often an address may
    open tabs is for a proxy to limit: a class that sits behind one address opens fifty at once.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tabs: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        if scope["type"] == "websocket":
            await self._tab(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _tab(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = (scope.get("client") or ("",))[0]
        if self._tabs.total() >= MAX_TABS or self._tabs[address] >= MAX_ADDRESS_TABS:
            refusal = PlainTextResponse("too many tabs are open", 503, headers=_RETRY)
            await refusal(scope, receive, send)
            return
        self._tabs[address] += 1
        tab = Tab(receive, send)
        try:
            await self._app(scope, tab.receive, tab.send)
        except RuntimeError:
            # Streamlit closes a socket once more that was lost while it sent; who should hear of it
            # has gone.
            if not tab.over:
                raise
        finally:
            self._tabs[address] -= 1
            self._tabs += Counter()  # keeps no address with no tab


class Tab:
    """One web socket, read at the pace of a person.

    Args:
        receive: its next message; until it is asked for, uvicorn reads no more.
        send: a message to it.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.over = False
        """Whether one of the two ends has closed it, or it was lost."""
        # What is left may fall below 0 by one long message, which is then waited off.
        self._left, self._then = float(MAX_REQUESTS_AT_ONCE), time.monotonic()

    async def receive(self) -> Message:
        """The next message, once this tab may ask for something again (a token bucket).

        A long message is read at once, and what follows waits for it. A message that no page
        sends is left out, or ends the tab.
        """
        while True:
            await asyncio.sleep(max(0.0, -self._refilled() / REQUESTS_A_SECOND))
            message = await self._receive()
            if message["type"] != "websocket.receive":
                self.over = message["type"] == "websocket.disconnect"
                return message
            content = message.get("bytes") or message.get("text") or b""
            size = len(content)
            self._left = self._refilled() - 1 - size / REQUEST_BYTES
            verdict = _TOO_BIG if size > MAX_REQUEST_BYTES else judge(content)
            if verdict is True:
                return message
            if verdict:
                await self.send({"type": "websocket.close", "code": verdict})
                return {"type": "websocket.disconnect", "code": verdict}

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        try:
            await self._send(message)
        except OSError:
            self.over = True
            raise
        self.over = self.over or message["type"] == "websocket.close"

    def _refilled(self) -> float:
        now = time.monotonic()
        back = REQUESTS_A_SECOND * (now - self._then)
        self._left, self._then = min(MAX_REQUESTS_AT_ONCE, self._left + back), now
        return self._left
