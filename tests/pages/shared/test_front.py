"""The page before anything is drawn: described for a link, and left alone by translators."""

import asyncio
import re
from collections.abc import MutableMapping
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette

from pages.shared.contents import CONTENTS, MOVED, NAME, Content
from pages.shared.front import front_page, front_routes

ALL = {page.address: page for page in CONTENTS}
BY_ADDRESS = [*ALL.items(), ("", CONTENTS[0]), *((old, ALL[new]) for old, new in MOVED.items())]


def answer(path: str, host: str = "lab.test") -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request, without the package that Starlette's client needs."""
    sent: list[MutableMapping[str, Any]] = []
    paths: list[str] = []
    whole = asyncio.Event()

    async def receive() -> MutableMapping[str, Any]:
        if not paths:
            paths.append(path)
            return {"type": "http.request", "body": b""}
        await whole.wait()  # some answers look out for a client that leaves
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            whole.set()

    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "https",
        "path": unquote(path), "raw_path": path.encode(), "root_path": "", "query_string": b"",
        "headers": [(b"host", host.encode())], "server": ("lab.test", 443), "client": ("::1", 1),
    }  # fmt: skip
    asyncio.run(Starlette(routes=front_routes())(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return int(sent[0]["status"]), headers, body


@pytest.mark.parametrize(("address", "page"), BY_ADDRESS)
def test_a_link_shows_the_title_and_the_question_of_its_page(address: str, page: Content) -> None:
    html = front_page(address)
    found = dict(re.findall(r'<meta (?:name|property)="([a-z:_]+)" content="([^"]*)">', html))
    told = {name: unescape(value) for name, value in found.items()}
    assert told["og:title"] == f"{page.title} – {NAME}"
    assert told["og:site_name"] == NAME
    assert told["description"] == told["og:description"] == page.question


def test_a_browser_does_not_translate_it() -> None:
    assert front_page().count('<html lang="en" translate="no" class="notranslate">') == 1


@pytest.mark.parametrize(("address", "page"), BY_ADDRESS)
def test_a_link_shows_the_first_screen_of_its_page(address: str, page: Content) -> None:
    html = answer(f"/{address}", 'lab.test"x')[2].decode()
    (picture,) = re.findall(r'<meta property="og:image" content="([^"]*)">', html)
    url = unescape(picture)
    assert url.startswith("https://lab.test")
    assert url.endswith(f"/picture/{page.address}.png")
    _, headers, body = answer(f"/picture/{page.address}.png")
    assert headers["content-type"] == "image/png"
    assert 0 < len(body) < 300_000


@pytest.mark.parametrize("address", ["nothing", "..%2fcrowd", "%2e%2e%2f%2e%2e%2fREADME"])
def test_no_other_file_is_a_picture(address: str) -> None:
    assert answer(f"/picture/{address}.png")[0] == 404
