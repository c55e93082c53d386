"""The page before anything is drawn: described for a link, and left alone by translators."""

import re
from html import unescape

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.shared.contents import CONTENTS, MOVED, NAME, Content
from pages.shared.front import front_page, front_routes

ALL = {page.address: page for page in CONTENTS}
BY_ADDRESS = [*ALL.items(), ("", CONTENTS[0]), *((old, ALL[new]) for old, new in MOVED.items())]


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
    client = TestClient(Starlette(routes=front_routes()), base_url='https://lab.test"x')
    html = client.get(f"/{address}").text
    (picture,) = re.findall(r'<meta property="og:image" content="([^"]*)">', html)
    url = unescape(picture)
    assert url.startswith("https://lab.test")
    assert url.endswith(f"/picture/{page.address}.png")
    shown = client.get(f"/picture/{page.address}.png")
    assert shown.headers["content-type"] == "image/png"
    assert len(shown.content) < 300_000


@pytest.mark.parametrize("address", ["nothing", "..%2fcrowd", "%2e%2e%2f%2e%2e%2fREADME"])
def test_no_other_file_is_a_picture(address: str) -> None:
    client = TestClient(Starlette(routes=front_routes()))
    assert client.get(f"/picture/{address}.png").status_code == 404
