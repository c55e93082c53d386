"""The proxies of docs/serving/, as they are, in front of two processes of the app."""

import asyncio
import gzip
import http.client
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.benchmarks.crowd import OPEN, crowd
from tests.browser import proxies
from tests.browser.client import alone, session
from tests.browser.pages import Watch, open_page
from tests.browser.server import Server, serve
from tests.browser.test_locks import UPGRADE, ask, multipart, token
from tests.needs import ROOT

PEOPLE, SECONDS = 50, 5.0
FIRST_DOWNLOAD = 3_000_000
"""Bytes of the start page and all that it needs, for a browser that has seen none of it."""
VISITORS = 20
"""Of two processes without stickiness, all their files would meet their sessions once in 2^20."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        homes = [tmp_path_factory.mktemp("process") for _ in range(2)]
        servers = [stack.enter_context(serve(ROOT / "app.py", home)) for home in homes]
        for server in servers:
            alone(_first_visit(server.url))
        yield servers


async def _first_visit(url: str) -> None:
    async with session(url) as person:
        await person.open("rewrite")


@pytest.fixture(
    scope="module",
    params=[proxies.nginx, pytest.param(proxies.caddy, marks=pytest.mark.full)],
    ids=["nginx", "caddy"],
)
def proxy(
    request: pytest.FixtureRequest, servers: list[Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("proxy")
    with request.param(folder, servers) as url:
        yield Server(url, folder / "proxy.log", 0)


def test_scripts_arrive_compressed(proxy: Server, servers: list[Server]) -> None:
    page = ask(proxy, "GET", "/")[1].decode()
    script = re.search(r'src="\.(/static/js/index[^"]+)"', page)[1]
    plain = ask(servers[0], "GET", script)[1]
    status, packed, headers = ask(proxy, "GET", script, {"Accept-Encoding": "gzip"})
    assert status == 200
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert len(packed) < 0.5 * len(plain)


def test_the_first_download_of_the_start_page_is_small(
    proxy: Server, new_page: Callable[..., tuple[Page, Watch]]
) -> None:
    page, watch = new_page()
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    received: list[float] = []
    wire.on("Network.loadingFinished", lambda end: received.append(end["encodedDataLength"]))
    wire.on(
        "Network.webSocketFrameReceived",
        lambda frame: received.append(len(frame["response"]["payloadData"])),
    )
    open_page(page, proxy.url)
    assert 100_000 < sum(received) < FIRST_DOWNLOAD
    assert not watch.page_errors


def test_what_the_app_refuses_is_refused_behind_it(proxy: Server) -> None:
    status, body, _ = ask(proxy, "GET", "/_stcore/health", {"Host": "evil.example"})
    assert status == 400 or body == b""  # Caddy asks no one when the name is not its own
    for origin in ("http://evil.example", "http://127.0.0.1:1", "http://127.0.0.1"):
        assert ask(proxy, "GET", "/_stcore/stream", UPGRADE | {"Origin": origin})[0] == 403
    upgrade = UPGRADE | {"Origin": proxy.url}
    assert ask(proxy, "GET", "/_stcore/stream", upgrade)[0] == 101
    _, _, headers = ask(proxy, "GET", "/")
    rules = {name.lower(): value for name, value in headers.items()}
    assert "frame-ancestors 'none'" in rules["content-security-policy"]


def sticky(proxy: Server) -> str:
    """The cookie that a proxy gives to a new visitor."""
    address = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=20)
    connection.request("GET", "/")
    cookies = connection.getresponse().headers.get_all("Set-Cookie")
    connection.close()
    return next(cookie.split(";")[0] for cookie in cookies if cookie.startswith("lab="))


def test_what_a_visitor_sends_meets_the_own_session(proxy: Server, servers: list[Server]) -> None:
    async def visit() -> None:
        cookie = sticky(proxy)
        async with session(proxy.url, cookie=cookie) as person:
            await person.open("start")
            kind, body = multipart(b"text,label\ngood,a\n")
            right = token(proxy)
            headers = kind | right | {"Cookie": f"{right['Cookie']}; {cookie}"}
            path = f"/_stcore/upload_file/{person.id}/one"
            assert (await asyncio.to_thread(ask, proxy, "PUT", path, headers, body))[0] == 204

    for _ in range(VISITORS):
        alone(visit())


@pytest.mark.undisturbed  # they fill the machine
def test_fifty_people_work_through_it(proxy: Server, servers: list[Server]) -> None:
    result = alone(crowd(proxy.url, PEOPLE, SECONDS))
    assert not result.wrong, result.wrong[:5]
    assert len(result.answers[OPEN]) == PEOPLE
    assert result.steps > PEOPLE  # and then they did something
    assert all("Traceback" not in server.printed() for server in servers)


def test_nginx_limits_what_one_address_asks_for(servers: list[Server], tmp_path: Path) -> None:
    with proxies.nginx(tmp_path, servers) as url:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=20)
        statuses = []
        for _ in range(1_500):  # many times faster than the 20 a second that come back
            connection.request("GET", "/_stcore/health")
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
            if answer.status == 429:
                break
        connection.close()
    assert statuses.count(200) >= 400  # what a class may ask at once
    assert statuses[-1] == 429
