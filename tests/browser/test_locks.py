"""The door of the real app: foreign hosts and origins, tokens, paths, sizes, and its address."""

import asyncio
import http.client
import itertools
import json
import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from dpcore.limits import MAX_UPLOAD_MEGABYTES
from tests.browser.client import alone, session
from tests.browser.server import Server
from tests.needs import ROOT

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
LARGEST = MAX_UPLOAD_MEGABYTES * 2**20
ROUTES = [
    "/", "/curves", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics",
    "/_stcore/script-health-check", "/media/x.png", "/component/x/y.js", "/app/static/x",
    "/_stcore/bidi-components/x/y.js", "/static/js/x.js", "/pages/rewrite/page.py",
]  # fmt: skip


def ask(
    app: Server, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
) -> tuple[int, bytes, dict[str, str]]:
    """Send one request as it is written here; no library makes its path plain."""
    address = urlsplit(app.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=20)
    try:
        given = headers or {}
        connection.putrequest(
            method, path, skip_host="Host" in given, skip_accept_encoding="Accept-Encoding" in given
        )
        for name, value in given.items():
            connection.putheader(name, value)
        chunked = isinstance(body, list)
        if isinstance(body, bytes):
            connection.putheader("Content-Length", str(len(body)))
        elif chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        try:
            for part in body if chunked else [body or b""]:
                connection.send(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            if chunked:
                connection.send(b"0\r\n\r\n")
        except OSError:
            pass  # the server refused before all was sent; its answer says so
        answer = connection.getresponse()
        upgraded = answer.status == 101
        return answer.status, b"" if upgraded else answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil@localhost"]
)
def test_a_foreign_host_gets_no_session_and_no_data(app: Server, host: str) -> None:
    port = urlsplit(app.url).port
    for name in (host, f"{host}:{port}", host.upper()):
        headers = UPGRADE | {"Host": name, "Origin": f"http://{name}"}
        assert ask(app, "GET", "/_stcore/stream", headers)[:2] == (400, b"Invalid host header")
        assert ask(app, "PUT", "/_stcore/upload_file/a/b", {"Host": name}, b"")[0] == 400
        for route in ROUTES:
            assert ask(app, "GET", route, {"Host": name})[:2] == (400, b"Invalid host header")
    forwarded = {"X-Forwarded-Host": host, "Forwarded": f"host={host}"}
    assert host.encode() not in ask(app, "GET", "/", forwarded)[1]


def test_the_own_host_is_served(app: Server) -> None:
    for host in ("localhost", "127.0.0.1"):
        assert ask(app, "GET", "/_stcore/health", {"Host": host})[0] == 200


def test_every_answer_tells_browsers_what_they_may_do(app: Server) -> None:
    for route in [*ROUTES, "//twice", "/_stcore/stream"]:
        for headers in ({}, {"Host": "evil.example"}, {"Range": "bytes=9-1"}):
            _, _, answer = ask(app, "GET", route, headers)
            rules = {name.lower(): value for name, value in answer.items()}
            assert "default-src 'self'" in rules["content-security-policy"], route
            assert "frame-ancestors 'none'" in rules["content-security-policy"], route
            assert "'unsafe-eval'" not in rules["content-security-policy"]
            assert rules["x-frame-options"] == "DENY"
            assert rules["x-content-type-options"] == "nosniff"
            assert rules["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("https://evil.example:8501", 403),
        ("http://localhost:9999", 403),  # another program of this machine
        ("http://127.0.0.1:9999", 403),
        ("http://127.0.0.1", 403),
        ("null", 403),
        ("file://", 403),
        ("", 403),
        (None, 101),  # its own, with its port
    ],
)
def test_a_foreign_origin_gets_no_web_socket_and_sends_no_file(
    app: Server, origin: str | None, status: int
) -> None:
    given = {"Origin": app.url if origin is None else origin}
    assert ask(app, "GET", "/_stcore/stream", UPGRADE | given)[0] == status
    message = b"a page of another origin" if status == 403 else b"XSRF token missing or invalid"
    for method in ("PUT", "DELETE"):
        assert ask(app, method, "/_stcore/upload_file/a/b", given, b"")[:2] == (403, message)


def test_no_answer_may_be_read_by_a_foreign_page(app: Server) -> None:
    for route in ROUTES:
        _, _, headers = ask(app, "GET", route, {"Origin": "http://evil.example"})
        given = {name.lower(): value for name, value in headers.items()}
        allowed = given.get("access-control-allow-origin", "")
        assert allowed not in ("*", "http://evil.example"), route


def multipart(content: bytes, name: str = "own.csv") -> tuple[dict[str, str], bytes]:
    head = f'--b\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + b"\r\n--b--\r\n"
    return {"Content-Type": "multipart/form-data; boundary=b"}, body


def token(app: Server) -> dict[str, str]:
    """Headers that a browser sends once it has opened the app."""
    _, _, headers = ask(app, "GET", "/_stcore/health")
    cookies = " ".join(value for name, value in headers.items() if name.lower() == "set-cookie")
    match = re.search(r"_streamlit_xsrf=([^;]+)", cookies)
    assert match, headers
    return {"Cookie": f"_streamlit_xsrf={match[1]}", "X-Xsrftoken": match[1].strip('"')}


def test_an_upload_needs_a_token_and_a_session(app: Server) -> None:
    async def opened() -> None:
        async with session(app.url) as visitor:
            await visitor.open("release")
            path = f"/_stcore/upload_file/{visitor.id}/one"
            kind, body = multipart(b"text,label\na,b\n")
            right = await asyncio.to_thread(token, app)
            cookie, header = {"Cookie": right["Cookie"]}, {"X-Xsrftoken": right["X-Xsrftoken"]}
            wrong = {"Cookie": right["Cookie"], "X-Xsrftoken": "2|00000000|00000000|1700000000"}
            for given in ({}, cookie, header, wrong):
                for method in ("PUT", "DELETE"):
                    answer = await asyncio.to_thread(ask, app, method, path, kind | given, body)
                    assert answer[0] == 403, (method, given)
            other = "/_stcore/upload_file/nobody/one"
            assert (await asyncio.to_thread(ask, app, "PUT", other, kind | right, body))[0] == 400
            assert (await asyncio.to_thread(ask, app, "PUT", path, kind | right, body))[0] == 204
            kind, body = multipart(b"x" * (LARGEST + 1))
            parts = [body[i : i + 2**18] for i in range(0, len(body), 2**18)] * 2
            for sent in (body, parts):  # with its length, and in chunks that do not tell it
                answer = await asyncio.to_thread(ask, app, "PUT", path, kind | right, sent)
                assert answer[0] == 413

    alone(opened())


SECRETS = [ROOT / "app.py", ROOT / "pyproject.toml", ROOT / "pages/rewrite/page.py"]
CLIMBS = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "..\\", "....//", "%252e%252e%252f"]
ROOMS = [
    "/", "/static/", "/app/static/", "/media/", "/component/", "/component/x/", "/pages/",
    "/_stcore/bidi-components/", "/_stcore/bidi-components/x/", "/_stcore/upload_file/",
    "/curves/", "/~/", "//", "/static/js/",
]  # fmt: skip


def test_no_path_leads_out(app: Server) -> None:
    # Ours at the addresses of pages, Streamlit's own at all others.
    shells = [ask(app, "GET", path)[1] for path in ("/", "/nowhere")]
    signs = [path.read_text(encoding="utf-8").splitlines()[0].encode() for path in SECRETS]
    signs += [b"root:x:0", b"[server]", b"headless"]
    deep = ROOT.relative_to("/").as_posix()
    targets = ["app.py", "pyproject.toml", "pages/rewrite/page.py", ".streamlit/config.toml"]
    wanted = [*targets, "etc/passwd", f"{deep}/app.py", quote(f"{ROOT}/app.py", safe="")]
    for room, target in itertools.product(ROOMS, wanted):
        climbs = [""] + [climb * count for climb in CLIMBS for count in (1, 4, 12)]
        for climb in climbs if target in ("app.py", "etc/passwd") else climbs[:6]:
            status, body, _ = ask(app, "GET", f"{room}{climb}{target}")
            leaked = [sign for sign in signs if sign in body]
            assert not leaked, (room, climb, target, leaked)
            assert status in (301, 302, 307, 308, 400, 403, 404) or body in shells, (room, climb)
    for path in (ROOT / "app.py", "/etc/passwd"):
        status, body, _ = ask(app, "GET", f"file://{path}")
        assert not any(sign in body for sign in signs), status


def test_what_is_said_of_the_server_is_harmless(app: Server) -> None:
    config = json.loads(ask(app, "GET", "/_stcore/host-config")[1])
    assert config["allowedOrigins"] == [] or all(
        "streamlit" in origin or "devel" in origin for origin in config["allowedOrigins"]
    )
    home = str(app.log.parent).encode()
    for route in ("/", "/_stcore/metrics", "/_stcore/health", "/_stcore/host-config", "/nowhere"):
        body = ask(app, "GET", route)[1]
        assert home not in body, route
        assert str(ROOT).encode() not in body, route


def test_metrics_are_told_to_the_machine_itself_alone(app: Server) -> None:
    status, body, _ = ask(app, "GET", "/_stcore/metrics")
    assert status == 200
    assert body.endswith(b"# EOF\n")
    for path in ("/_stcore/metrics", "/_stcore/metrics%0a", "/_stcore/metric%73?families=x"):
        status, body, _ = ask(app, "GET", path, {"X-Forwarded-For": "192.0.2.1"})
        assert (status, body) == (403, b"metrics are for the machine itself"), path


def listening(pid: int) -> set[str]:
    """Addresses at which a process and its children wait for connections (Linux)."""
    inodes = set()
    for child in [pid, *children(pid)]:
        for link in Path(f"/proc/{child}/fd").iterdir():
            try:
                match = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
            except OSError:
                continue
            inodes |= {match[1]} if match else set()
    addresses = set()
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                packed = bytes.fromhex(fields[1].split(":")[0])
                words = [packed[i : i + 4][::-1] for i in range(0, len(packed), 4)]
                addresses.add(socket.inet_ntop(family, b"".join(words)))
    return addresses


def children(pid: int) -> list[int]:
    pids = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return pids + [inner for child in pids for inner in children(child)]


def test_nothing_listens_beyond_this_machine(app: Server) -> None:
    assert listening(app.pid) == {"127.0.0.1"}


def test_no_other_way_of_driving_the_app_is_open(app: Server) -> None:
    for route in ("interact", "mcp"):
        status, body, _ = ask(app, "POST", f"/_stcore/agent/{route}", {}, b"{}")
        assert status >= 400, route
        assert b"does not serve the agent API" in body


def test_what_is_asked_is_not_printed(app: Server) -> None:
    ask(app, "GET", "/nowhere/unmistakablepath?text=unmistakablequery")
    assert "unmistakable" not in app.printed()
    assert "Traceback" not in app.printed()
