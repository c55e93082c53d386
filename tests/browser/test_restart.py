"""A fresh server: its first visitor may come by any link; an open tab outlives its server."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, WebSocket, expect

from pages.shared.contents import CONTENTS, NAME
from tests.browser.pages import WAIT_MS, Watch, open_page, wait_idle
from tests.browser.server import serve
from tests.needs import ROOT

LINK = "/rewrite?eps_metric=5&seed=3"


def seen(page: Page) -> tuple[str, list[str]]:
    """The value of the slider, and the words of the grid."""
    words = page.locator(".grid .word")
    expect(words.first).to_be_visible(timeout=WAIT_MS)
    slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
    return slider.get_attribute("aria-valuetext") or "", words.all_inner_texts()


@pytest.mark.parametrize(
    "link", ["/rewrite?eps_metric=7&seed=4", pytest.param("/papers", marks=pytest.mark.full)]
)
def test_the_first_visitor_of_a_fresh_server_may_come_by_a_link(
    new_page: Callable[..., tuple[Page, Watch]], tmp_path: Path, link: str
) -> None:
    """Not by Streamlit's older router, which finds no page in pages/."""
    page, watch = new_page()
    with serve(ROOT / "app.py", tmp_path) as server:
        open_page(page, server.url + link)
        expect(page.get_by_role("heading", level=1)).to_have_count(1, timeout=WAIT_MS)
        (content,) = (entry for entry in CONTENTS if link.startswith(f"/{entry.address}"))
        expect(page).to_have_title(f"{content.title} – {NAME}")
        for other in (entry for entry in CONTENTS if entry.listed):  # the menu
            expect(page.get_by_test_id("stTopNavLink").filter(has_text=other.title)).to_be_visible()
        expect(page.get_by_text("not found")).to_have_count(0)
        for part in link.partition("?")[2].split("&"):
            assert part in page.url
        if "eps_metric" in link:
            assert "7" in seen(page)[0]
        assert "Traceback" not in server.printed()
        assert "ScriptRunContext" not in server.printed()  # what is computed ahead draws nothing
    assert not watch.page_errors


def test_the_open_tab_goes_on_and_a_link_shows_the_same(
    new_page: Callable[..., tuple[Page, Watch]], tmp_path: Path
) -> None:
    page, watch = new_page()
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    with serve(ROOT / "app.py", tmp_path) as first:
        open_page(page, first.url + LINK)
        before = seen(page)
        os.kill(first.pid, signal.SIGKILL)
    assert "5" in before[0]
    assert len(before[1]) > 12
    with serve(ROOT / "app.py", tmp_path, fixed_port=urlsplit(first.url).port) as second:
        deadline = time.monotonic() + 2 * WAIT_MS / 1000
        while len(sockets) < 2:
            assert time.monotonic() < deadline, "the tab has not found the server by itself"
            page.wait_for_timeout(100)
        wait_idle(page)
        assert seen(page) == before
        page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
        page.keyboard.press("ArrowRight")
        wait_idle(page)
        assert seen(page)[0] != before[0]  # and what is done in it is answered
        open_page(page, first.url + LINK)
        assert seen(page) == before
        assert "Traceback" not in second.printed()
    assert not watch.page_errors
