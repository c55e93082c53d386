"""The security of the server: whom it answers, and what browsers may do with an answer."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from streamlit import config, file_util

from pages.shared.pace import Pace
from pages.shared.uploads import SAFE_METHODS, Uploads

if TYPE_CHECKING:
    from collections.abc import Sequence
    from urllib.parse import SplitResult

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PORTS = {"http": 80, "https": 443}
_HEALTH = "/_stcore/health"
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def guards() -> list[Middleware]:
    """What every request passes before Streamlit sees it, the outermost first.

    Whom the server answers is set where Streamlit sets it: `server.allowedHosts`, and
    `server.corsAllowedOrigins` for a proxy that does not pass the host on.
    """
    return [
        Middleware(BrowserRules, rules=browser_rules(Path(file_util.get_static_dir()))),
        Middleware(OwnHosts, allowed=config.get_option("server.allowedHosts")),
        Middleware(OwnOrigins, allowed=config.get_option("server.corsAllowedOrigins")),
        Middleware(Pace),
        Middleware(Uploads),
    ]


def browser_rules(static: Path) -> dict[str, str]:
    """Headers of every answer.

    Nothing comes from another server, and no other page may show the app in a frame. Scripts are
    Streamlit's files, the one script that stands in its page (by its hash), and our own components,
    which it loads as blobs. Styles are written into the page by Streamlit, Plotly and ourselves.

    Args:
        static: the folder of Streamlit's page.
    """
    scripts = _INLINE.findall((static / "index.html").read_bytes())
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
    name. Whether the server is up may also be asked on the machine itself, under no name.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._open = app
        names = [name.strip().rstrip(".") for name in allowed] or ["*"]
        self._named = TrustedHostMiddleware(app, allowed_hosts=names, www_redirect=False)
        loopback = ["localhost", "127.0.0.1", "[::1]"]
        self._health = TrustedHostMiddleware(app, [*names, *loopback], www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI)."""
        health = scope["type"] == "http" and scope["path"].endswith(_HEALTH)
        await (self._health if health else self._named)(scope, receive, send)


class OwnOrigins:
    """Lets no page of another origin open a session, or send anything but a plain request.

    Streamlit itself takes every port of this machine for its own, and asks a third party for the
    machine's address when it does not know an origin: so it is not asked, the header ends here.
    Programs that are no browsers send no origin and are let in.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._app = app
        self._allowed = {_authority(urlsplit(origin.strip())) for origin in allowed}

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
        given = urlsplit(origin)
        asked = urlsplit(f"{given.scheme}://{host}")  # behind a proxy the scheme is the browser's
        place = _authority(given)
        return place is not None and (place == _authority(asked) or place in self._allowed)


def _authority(address: SplitResult) -> tuple[str, str, int] | None:
    """Scheme, host and port; None of what is no origin of a page on the web."""
    try:
        port = address.port or _PORTS.get(address.scheme)
    except ValueError:  # no number
        return None
    if address.hostname is None or port is None or "@" in address.netloc:
        return None
    return address.scheme, address.hostname, port
