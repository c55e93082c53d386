"""Security of the server: messages, rate limits, uploads, hosts, origins, and headers (CSP)."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.state.session_state import Serialized, Value, WStates
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from dpcore.limits import (
    MAX_ADDRESS_LINE,
    MAX_ADDRESS_TABS,
    MAX_ADDRESS_UPLOADS,
    MAX_REQUEST_BYTES,
    MAX_REQUESTS_AT_ONCE,
    MAX_SESSION_FILES,
    MAX_SESSION_MEGABYTES,
    MAX_TABS,
    MAX_UPLOAD_SECONDS,
    MAX_UPLOAD_WAIT_SECONDS,
    MAX_UPLOADS,
    REQUEST_BYTES,
    REQUESTS_A_SECOND,
    UPLOAD_BYTES_A_SECOND,
    UPLOAD_WINDOW_SECONDS,
)
from pages.shared.front import front_page

# Messages of a browser: the kinds that are read, and the values that a field may be given.


NOT_BINARY, MALFORMED = 1003, 1002
"""Codes with which a web socket is closed (RFC 6455, 7.4.1)."""

_KINDS = frozenset(
    {
        "rerun_script",
        "stop_script",
        "file_urls_request",
        "app_heartbeat",
        "backend_operation_request",
    }
)
"""Kinds of messages that pages need.

The others are for developers of an app: `clear_cache`, which any browser may send, empties the
caches of all sessions (Streamlit 1.67; `test_streamlit_still_lets_any_browser_empty_all_caches`).
"""

_NAME = re.compile(r"[0-9a-zA-Z_-]{0,64}")
"""Hash of a page, or id of a fragment."""

_FIELD = re.compile(r"\$\$(STREAMLIT_INTERNAL_KEY_\$\$)?ID-[0-9a-f]+-[^\x00-\x1f]{0,200}")
"""Id of a field."""

_NUMBERS = {"int_value", "double_value"}

_read = WStates.__getitem__


def judge(message: bytes | str) -> int | bool:
    """Decide about one message of a browser.

    Returns:
        True to pass it on, False to leave it out, or the code to close its web socket with: no
        browser sends such a message.
    """
    if isinstance(message, str):
        return NOT_BINARY
    parsed = BackMsg()
    try:
        parsed.ParseFromString(message)
    except Exception:
        return MALFORMED
    kind = parsed.WhichOneof("type")
    if kind is None or (kind == "rerun_script" and not _plausible(parsed.rerun_script)):
        return MALFORMED
    return kind in _KINDS


def _plausible(state: ClientState) -> bool:
    """Return True for ids that Streamlit makes: others are logged, or break a session."""
    fields = (widget.id for widget in state.widget_states.widgets)
    names = (state.page_script_hash, state.fragment_id)
    return all(map(_NAME.fullmatch, names)) and all(map(_FIELD.fullmatch, fields))


def keep_types() -> None:
    """Make a field keep its first value if it is given a value of another type.

    Streamlit 1.67 passes any value of a message to the field, and so to the page: every run of that
    session then ends in an error, with three to thirteen kilobytes of the log. The test
    `test_streamlit_still_gives_a_field_a_value_of_any_type` fails when it checks the type itself.
    """
    WStates.__getitem__ = _typed  # type: ignore[method-assign]


def _typed(states: WStates, name: str) -> Any:
    state, field = states.states.get(name), states.widget_metadata.get(name)
    if not isinstance(state, Serialized) or field is None:
        return _read(states, name)
    given = state.value.WhichOneof("value")
    # A field of whole numbers is declared as one of `double_value`, and sent as the other.
    if given in (None, field.value_type) or {given, field.value_type} == _NUMBERS:
        try:
            return _read(states, name)
        except Exception:  # noqa: S110 - a value that a field of Streamlit's cannot read
            pass
    first = field.deserializer(None)
    states.states[name] = Value(first)  # so that the next look does not meet the same value
    return first


# Rate of requests per visitor: excess requests wait, so that other visitors need not.


_TOO_BIG = 1009  # RFC 6455, 7.4.1
_RETRY = {"Retry-After": "5"}


class Pace:
    """Rate limit per visitor, so that room is left for the others.

    A tab is a web socket. Waiting messages are not read, so they wait in the network; nothing is
    dropped, since the last value of a slider is the one that counts. How often an address may open
    tabs is for a proxy to limit: a class behind one address opens fifty at once.
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
            # Streamlit closes a socket a second time if it was lost while sending; the recipient
            # has gone.
            if not tab.over:
                raise
        finally:
            self._tabs[address] -= 1
            self._tabs += Counter()  # drops addresses without tabs


class Tab:
    """One web socket, read at a person's pace.

    Args:
        receive: returns its next message; until it is called, uvicorn reads no more.
        send: sends a message to it.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.over = False
        """True once one of the two ends has closed it, or it was lost."""
        # The balance may fall below 0 by one long message; the next message waits until it
        # recovers.
        self._left, self._then = float(MAX_REQUESTS_AT_ONCE), time.monotonic()

    async def receive(self) -> Message:
        """Return the next message, once this tab may send another request (a token bucket).

        A long message is read at once, and the messages after it wait. A message that no page sends
        is left out, or ends the tab.
        """
        while True:
            await asyncio.sleep(0)  # other tabs, even where this one need not wait
            while (owed := -self._refilled()) > 0:  # uvloop's timers may wake a millisecond early
                await asyncio.sleep(owed / REQUESTS_A_SECOND)
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


# Uploads: how many are received at a time, how slowly, and how much of them a session holds.


def bound_uploads(manager: MemoryUploadedFileManager) -> None:
    """Make the server refuse files beyond a session's limits.

    Streamlit 1.67 limits the size of a file, but not the files of a session, which it keeps in
    memory. The test `test_streamlit_still_keeps_any_number_of_files` fails when it has a limit.

    Args:
        manager: the server's store of uploaded files.
    """
    add = manager.add_file

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

    manager.add_file = add_file  # type: ignore[method-assign]


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods whose requests have no body that is read."""

_CLOSE = {"Connection": "close"}  # otherwise the rest of a refused body would be read
_LATER = {**_CLOSE, "Retry-After": "30"}


class Uploads:
    """Reception of request bodies in turns: a share for each address, a least rate, a deadline.

    The address is the one that uvicorn trusts: that of the connection, or the one that a proxy of
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
        """Wait in the queue of this address, then in the common one; yield False on a timeout."""
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
        """Pass a request on; return a refusal if its body came too slowly."""
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
                return None  # uvicorn closes the connection of an incomplete response
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


_PORTS = {"http": 80, "https": 443}
_HEALTH = "/_stcore/health"
_METRICS = "/_stcore/metrics"
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PASSED_ON = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-real-ip",
    "sec-fetch-site",
)
"""Headers that proxies add, and the one that browsers add to the requests of a page."""
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def guards() -> list[Middleware]:
    """Return the middleware in front of Streamlit, the outermost first.

    The allowed clients are configured where Streamlit configures them: `server.allowedHosts`, and
    `server.corsAllowedOrigins` for a proxy that does not pass the host on.
    """
    return [
        Middleware(BrowserRules, rules=browser_rules(front_page())),
        Middleware(OwnHosts, allowed=config.get_option("server.allowedHosts")),
        Middleware(OwnOrigins, allowed=config.get_option("server.corsAllowedOrigins")),
        Middleware(OwnMetrics),
        Middleware(Pace),
        Middleware(Uploads),
    ]


def browser_rules(page: str) -> dict[str, str]:
    """Return the headers of every response.

    Nothing comes from another server, and no other page may show the app in a frame. Scripts are
    Streamlit's files, the inline scripts of the page (by their hash), and our own components, which
    it loads as blobs. Styles are written into the page by Streamlit, Plotly and ourselves.

    Args:
        page: the page that browsers load first.
    """
    scripts = [script.encode() for script in _INLINE.findall(page)]
    hashes = [f"'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in scripts]
    policy = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *hashes]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-src": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }


class BrowserRules:
    """Security headers in every response."""

    def __init__(self, app: ASGIApp, rules: dict[str, str]) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""

        async def ruled(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                MutableHeaders(scope=message).update(self._rules)
            await send(message)

        await self._app(scope, receive, ruled)


class OwnHosts:
    """Restriction to the configured host names, so that no foreign name leads to the server.

    A page of a foreign site whose name suddenly resolves to this machine (DNS rebinding) sends
    requests under that name. The health check and the metrics may also be requested on the machine
    itself.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._open = app
        names = [name.strip().rstrip(".") for name in allowed] or ["*"]
        self._named = TrustedHostMiddleware(app, allowed_hosts=names, www_redirect=False)
        self._here = TrustedHostMiddleware(app, [*names, *_LOOPBACK], www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        here = _asks_for(scope, _HEALTH) or _asks_for(scope, _METRICS)
        await (self._here if here else self._named)(scope, receive, send)


class OwnMetrics:
    """Restriction of the process metrics to their operator: the machine itself, without a proxy.

    To gather them, Streamlit walks the data of all sessions.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        if _asks_for(scope, _METRICS) and not _direct(scope):
            refusal = PlainTextResponse("metrics are for the machine itself", status_code=403)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _asks_for(scope: Scope, path: str) -> bool:
    """Return True for a request for a path, under any base (Starlette drops a line end)."""
    return scope["type"] == "http" and str(scope["path"]).rstrip("\n").endswith(path)


def _direct(scope: Scope) -> bool:
    """Return True if a program on this machine asks, not a proxy or a page of a browser."""
    headers = Headers(scope=scope)
    passed_on = any(name in headers for name in _PASSED_ON)
    address = (scope.get("client") or ("",))[0]
    try:
        return ip_address(address).is_loopback and not passed_on
    except ValueError:  # not an internet address
        return False


class OwnOrigins:
    """Restriction of sessions, and of all but plain requests, to pages of the own origin.

    Streamlit itself trusts every port of this machine, and asks a third party for the machine's
    address when it does not know an origin: so the header is removed here before Streamlit sees it.
    Programs other than browsers send no origin and are let in.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._app = app
        self._allowed = {_authority(origin.strip()) for origin in allowed}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        if scope["type"] == "websocket" or scope.get("method", "GET") not in SAFE_METHODS:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and not self._own(origin, headers.get("host", "")):
                refusal = PlainTextResponse("a page of another origin", status_code=403)
                await refusal(scope, receive, send)
                return
            kept = [pair for pair in scope["headers"] if pair[0] != b"origin"]
            scope = {**scope, "headers": kept}
        await self._app(scope, receive, send)

    def _own(self, origin: str, host: str) -> bool:
        place = _authority(origin)
        if place is None:
            return False
        asked = _authority(f"{place[0]}://{host}")  # behind a proxy the scheme is the browser's
        return place == asked or place in self._allowed


def _authority(origin: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None if the address is not the origin of a page on the web."""
    try:
        address = urlsplit(origin)
        port = address.port or _PORTS.get(address.scheme)
    except ValueError:  # an unmatched bracket, or a port that is not a number
        return None
    if address.hostname is None or port is None or "@" in address.netloc:
        return None
    return address.scheme, address.hostname, port
