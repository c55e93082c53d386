"""Whom the server answers, under which names and for which origins, and what it tells browsers."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.shared.server import (
    BrowserRules,
    OwnHosts,
    OwnMetrics,
    OwnOrigins,
    browser_rules,
    guards,
)


async def nothing() -> Message:
    """Empty request body."""
    return {}


def answer(guard: Callable[..., Any], **scope: Any) -> tuple[int, dict[str, Any]]:
    """Status of an answer, and the scope that got through (empty: none did)."""
    passed: dict[str, Any] = {}
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.update(scope)
        kind = "websocket." if scope["type"] == "websocket" else ""
        await send({"type": f"{kind}http.response.start", "status": 200, "headers": []})

    async def send(message: Message) -> None:
        messages.append(message)

    headers = [(k.lower().encode(), v.encode()) for k, v in scope.pop("headers", {}).items()]
    given = {"type": "http", "method": "GET", "path": "/", "headers": headers, **scope}
    if given["type"] == "websocket":
        given["extensions"] = {"websocket.http.response": {}}
    asyncio.run(guard(app)(given, nothing, send))
    return messages[0]["status"], passed


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("lab.example.org", "/", 200),
        ("LAB.example.org:8443", "/_stcore/metrics", 200),
        ("a.course.example", "/", 200),
        ("course.example", "/", 400),
        ("evil.example", "/", 400),
        ("evil.example", "/_stcore/health", 400),
        ("localhost:8501", "/", 400),
        ("localhost:8501", "/_stcore/metrics", 200),
        ("evil.example", "/_stcore/metrics", 400),
        ("localhost:8501", "/_stcore/metrics/x", 400),
        ("localhost:8501", "/_stcore/health", 200),
        ("127.0.0.1:8501", "/_stcore/health", 200),
        ("[::1]:8501", "/base/_stcore/health", 200),
        ("lab.example.org@evil.example", "/", 400),
        ("", "/", 400),
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_only_named_hosts_are_answered_and_health_on_the_machine_itself(
    host: str, path: str, status: int, kind: str
) -> None:
    def guard(app: Any) -> Any:
        return OwnHosts(app, ["lab.example.org", "*.course.example"])

    if kind == "websocket" and path.endswith(("health", "metrics")) and "lab" not in host.lower():
        status = 400  # no web socket is a question about health
    got, passed = answer(guard, type=kind, path=path, headers={"Host": host})
    assert got == status
    assert bool(passed) == (status == 200)


@pytest.mark.parametrize(
    ("client", "headers", "path", "status"),
    [
        ("127.0.0.1", {}, "/_stcore/metrics", 200),
        ("::1", {}, "/base/_stcore/metrics", 200),
        ("192.0.2.1", {}, "/_stcore/metrics", 403),
        ("192.0.2.1", {}, "/base/_stcore/metrics", 403),
        ("192.0.2.1", {}, "/_stcore/metrics\n", 403),  # which Starlette takes for the same
        ("", {}, "/_stcore/metrics", 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, "/_stcore/metrics", 403),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, "/_stcore/metrics", 403),
        ("127.0.0.1", {"Via": "1.1 proxy"}, "/_stcore/metrics", 403),
        ("127.0.0.1", {"Sec-Fetch-Site": "cross-site"}, "/_stcore/metrics", 403),
        ("192.0.2.1", {"X-Forwarded-For": "192.0.2.1"}, "/_stcore/health", 200),
    ],
)
def test_metrics_are_for_the_machine_itself(
    client: str, headers: dict[str, str], path: str, status: int
) -> None:
    given = {"path": path, "headers": headers, "client": (client, 1)}
    assert answer(OwnMetrics, **given)[0] == status


def test_the_start_of_the_server_passes_all_guards() -> None:
    """Without it Streamlit starts by itself, and none of our changes to the process are made."""
    passed: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope)

    async def ignore(_: Message) -> None:
        pass

    whole: ASGIApp = app
    for guard in reversed(guards()):
        whole = guard.cls(whole, *guard.args, **guard.kwargs)

    async def start() -> None:
        await whole({"type": "lifespan", "asgi": {}}, nothing, ignore)

    asyncio.run(start())
    assert passed == [{"type": "lifespan", "asgi": {}}]


def test_with_no_name_set_every_host_is_answered() -> None:
    assert answer(lambda app: OwnHosts(app, []), headers={"Host": "any.example"})[0] == 200


OWN = {
    ("http://127.0.0.1:8501", "127.0.0.1:8501"),
    ("https://lab.example.org", "lab.example.org"),
    ("https://lab.example.org", "lab.example.org:443"),
    ("https://Lab.example.org:8443", "lab.example.org:8443"),
    ("http://[::1]:8501", "[::1]:8501"),
    ("https://front.example", "127.0.0.1:8501"),  # named: a proxy that does not pass the host on
}
FOREIGN = {
    ("http://localhost:8501", "127.0.0.1:8501"),
    ("http://localhost:9999", "localhost:8501"),
    ("http://127.0.0.1", "127.0.0.1:8501"),
    ("https://lab.example.org:8443", "lab.example.org"),
    ("http://front.example", "127.0.0.1:8501"),
    ("https://front.example:444", "127.0.0.1:8501"),
    ("https://user@lab.example.org", "lab.example.org"),
    ("https://lab.example.org.evil.example", "lab.example.org"),
    ("http://127.0.0.1:x", "127.0.0.1:x"),
    ("null", "null"),
    ("file://", ""),
    ("", ""),
    ("ftp://127.0.0.1:21", "127.0.0.1:22"),
    ("http://[", "127.0.0.1:8501"),
    ("http://[", "["),
    ("http://127.0.0.1:8501", "["),
}


@pytest.mark.parametrize(("origin", "host"), sorted(OWN))
@pytest.mark.parametrize("scope", [{"type": "websocket"}, {"method": "PUT"}, {"method": "DELETE"}])
def test_an_own_origin_passes_and_nobody_else_judges_it(
    origin: str, host: str, scope: dict[str, Any]
) -> None:
    def guard(app: Any) -> Any:
        return OwnOrigins(app, ["https://front.example"])

    got, passed = answer(guard, headers={"Origin": origin, "Host": host}, **scope)
    assert got == 200
    assert passed["headers"] == [(b"host", host.encode())]


@pytest.mark.parametrize(("origin", "host"), sorted(FOREIGN))
@pytest.mark.parametrize("scope", [{"type": "websocket"}, {"method": "PUT"}, {"method": "DELETE"}])
def test_a_foreign_origin_is_refused(origin: str, host: str, scope: dict[str, Any]) -> None:
    def guard(app: Any) -> Any:
        return OwnOrigins(app, ["https://front.example"])

    got, passed = answer(guard, headers={"Origin": origin, "Host": host}, **scope)
    assert got == 403
    assert not passed


def test_programs_without_an_origin_and_plain_requests_pass() -> None:
    def guard(app: Any) -> Any:
        return OwnOrigins(app, [])

    assert answer(guard, type="websocket", headers={"Host": "a"})[0] == 200
    foreign = {"Host": "a", "Origin": "http://evil.example"}
    assert answer(guard, headers=foreign)[0] == 200  # its page cannot read the answer


def test_every_script_in_the_page_is_allowed_by_its_hash() -> None:
    page = "<script>one()</script><script src='x'></script>"
    policy = browser_rules(page)["Content-Security-Policy"]
    digest = b64encode(sha256(b"one()").digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256-") == 1
    scripts = policy.split("script-src ")[1].split(";")[0]
    assert "'unsafe-inline'" not in scripts
    assert "'unsafe-eval'" not in scripts


def test_rules_are_added_to_what_an_answer_says_itself() -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/plain"), (b"x-frame-options", b"ALLOWALL")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(BrowserRules(app, {"X-Frame-Options": "DENY"})({"type": "http"}, nothing, send))
    assert sent[0]["headers"] == [(b"content-type", b"text/plain"), (b"x-frame-options", b"DENY")]
    assert sent[1] == {"type": "http.response.body", "body": b""}
