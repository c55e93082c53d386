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
    MAX_TABS_AT_ONCE,
    MAX_UPLOAD_SECONDS,
    MAX_UPLOADS,
    REQUEST_BYTES,
    REQUESTS_A_SECOND,
    TABS_A_SECOND,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOO_BIG = 1009  # RFC 6455, 7.4.1
_RETRY = {"Retry-After": "5"}


class Bucket:
    """What may be spent at once, and comes back at a steady rate (a token bucket).

    Args:
        rate: that comes back, a second.
        most: that can be there.
    """

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most = rate, most
        self._left, self._then = most, time.monotonic()

    def _fill(self) -> float:
        now = time.monotonic()
        self._left = min(self._most, self._left + self._rate * (now - self._then))
        self._then = now
        return self._left

    @property
    def full(self) -> bool:
        """Whether nothing of it is spent."""
        return self._fill() >= self._most

    async def ready(self) -> None:
        """Wait until there is something to spend, or at least no debt."""
        await asyncio.sleep(max(0.0, -self._fill() / self._rate))

    def spend(self, amount: float) -> None:
        """Spend at once, into debt if need be: who comes next waits for it."""
        self._left = self._fill() - amount


class Pace:
    """Holds every visitor to a pace that leaves room for the others.

    A tab is a web socket. Its requests are read no faster than the pace allows, so they wait on
    their way in the network (nothing is dropped: the last value of a slider is the one that
    counts). One address may open so many tabs at once, and so many more each second, until as many
    are open as one process should serve.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tabs: Counter[str] = Counter()
        self._arrivals: dict[str, Bucket] = {}
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        self._tabs[address] += 1  # also while it waits
        try:
            arrivals = self._arrivals_of(address)
            arrivals.spend(1)
            await arrivals.ready()
            await self._app(scope, _paced(receive, send), send)
        finally:
            self._tabs[address] -= 1
            if not self._tabs[address]:
                del self._tabs[address]

    def _arrivals_of(self, address: str) -> Bucket:
        if len(self._arrivals) > MAX_TABS:  # those who came long ago are as good as new
            self._arrivals = {one: it for one, it in self._arrivals.items() if not it.full}
        return self._arrivals.setdefault(address, Bucket(TABS_A_SECOND, MAX_TABS_AT_ONCE))

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


def _paced(receive: Receive, send: Send) -> Receive:
    """Read from a web socket at the pace of one visitor, and nothing that is too long.

    Until a message is asked for, uvicorn reads no more from the connection.
    """
    requests = Bucket(REQUESTS_A_SECOND, MAX_REQUESTS_AT_ONCE)

    async def paced() -> Message:
        await requests.ready()
        message = await receive()
        size = len(message.get("bytes") or message.get("text") or "")
        if size > MAX_REQUEST_BYTES:
            await send({"type": "websocket.close", "code": _TOO_BIG})
            return {"type": "websocket.disconnect", "code": _TOO_BIG}
        requests.spend(1 + size / REQUEST_BYTES)
        return message

    return paced
