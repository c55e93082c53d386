"""The security of the server: whom it answers, and what browsers may do with an answer."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from streamlit import config

from pages.shared.front import front_page
from pages.shared.pace import Pace
from pages.shared.uploads import SAFE_METHODS, Uploads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
"""Headers that proxies add, and the one that browsers add to what a page asks for."""
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def guards() -> list[Middleware]:
    """What every request passes before Streamlit sees it, the outermost first.

    Whom the server answers is set where Streamlit sets it: `server.allowedHosts`, and
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
    """Headers of every answer.

    Nothing comes from another server, and no other page may show the app in a frame. Scripts are
    Streamlit's files, the scripts that stand in the page (by their hash), and our own components,
    which it loads as blobs. Styles are written into the page by Streamlit, Plotly and ourselves.

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
    """Says to browsers what they may do with what they get, in every answer."""

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
    """Answers under the names that it was told alone, so that no foreign name leads to it.

    A page of a foreign site whose name suddenly means this machine (DNS rebinding) asks under that
    name. Whether the server is up, and its metrics, may also be asked for on the machine itself.
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
    """Keeps the metrics of the process for its operator: the machine itself, without a proxy.

    To gather them Streamlit walks all that all sessions hold.
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
    """Whether this is a request for a path, under whatever base (Starlette drops a line end)."""
    return scope["type"] == "http" and str(scope["path"]).rstrip("\n").endswith(path)


def _direct(scope: Scope) -> bool:
    """Whether a program of this machine asks, and neither a proxy nor a page of a browser."""
    headers = Headers(scope=scope)
    passed_on = any(name in headers for name in _PASSED_ON)
    address = (scope.get("client") or ("",))[0]
    try:
        return ip_address(address).is_loopback and not passed_on
    except ValueError:  # no address of the internet
        return False


class OwnOrigins:
    """Lets no page of another origin open a session, or send anything but a plain request.

    Streamlit itself takes every port of this machine for its own, and asks a third party for the
    machine's address when it does not know an origin: so it is not asked, the header ends here.
    Programs that are no browsers send no origin and are let in.
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
    """Scheme, host and port; None of an address that is no origin of a page on the web."""
    try:
        address = urlsplit(origin)
        port = address.port or _PORTS.get(address.scheme)
    except ValueError:  # a bracket without its partner, a port that is no number
        return None
    if address.hostname is None or port is None or "@" in address.netloc:
        return None
    return address.scheme, address.hostname, port
