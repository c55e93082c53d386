"""The frame under all browser tests, tried on a small script with known properties."""

import http.client
import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, accessibility_faults, assert_accessible, open_page, wait_idle
from tests.browser.server import Server

SCRIPT = """
import time
import streamlit as st
st.set_page_config(page_title="Frame")
st.title("A small script")
st.markdown("Text with [a link](#a-small-script).")
words = st.slider("Words", 0, 10, 3)
time.sleep(0.4)
st.text(f"seen {words}")
st.button("Draw")
if st.button("Fail"):
    raise ValueError("the secret word")
"""


@pytest.fixture(scope="module")
def small(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    script = tmp_path_factory.mktemp("script") / "small.py"
    script.write_text(SCRIPT, encoding="utf-8")
    return start_server(script)


def test_wait_idle_sees_the_value_after_a_rerun(small: Server, page: Page) -> None:
    open_page(page, small.url)
    expect(page.get_by_text("seen 3")).to_be_visible(timeout=1)
    page.get_by_role("slider").press("ArrowRight")
    wait_idle(page)
    expect(page.get_by_text("seen 4")).to_be_visible(timeout=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_and_has_contrast(
    small: Server, new_page: Callable[..., tuple[Page, Watch]], scheme: str
) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_page(page, small.url)
    background = page.evaluate(
        "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    red, green, blue = (int(part) for part in re.findall(r"\d+", background)[:3])
    assert (red + green + blue > 600) == (scheme == "light")
    assert_accessible(page)
    watch.assert_clean()


def test_axe_finds_what_is_wrong(small: Server, page: Page) -> None:
    open_page(page, small.url)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\">')")
    assert any(fault.startswith("image-alt") for fault in accessibility_faults(page))


def test_the_watch_sees_console_page_and_foreign(
    small: Server, new_page: Callable[..., tuple[Page, Watch]]
) -> None:
    page, watch = new_page()
    open_page(page, small.url)
    watch.assert_clean()
    with page.expect_event("pageerror"):
        page.evaluate("console.error('one'); setTimeout(() => { throw new Error('two') })")
    page.evaluate("fetch('http://nowhere.invalid/').catch(() => null)")
    assert any("one" in entry for entry in watch.console_errors)
    assert any("two" in entry for entry in watch.page_errors)
    assert watch.foreign_requests == ["http://nowhere.invalid/"]
    with pytest.raises(AssertionError, match="not clean"):
        watch.assert_clean()


def test_an_error_does_not_show_its_text(small: Server, page: Page) -> None:
    open_page(page, small.url)
    page.get_by_role("button", name="Fail").click()
    wait_idle(page)
    expect(page.get_by_test_id("stException")).to_be_visible(timeout=1)
    assert "secret" not in page.content()
    assert "the secret word" in small.printed()


@pytest.mark.parametrize(
    ("host", "status"), [(None, 101), ("localhost", 101), ("evil.example", 403)]
)
def test_a_foreign_host_header_is_refused(small: Server, host: str | None, status: int) -> None:
    address = urlsplit(small.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
    try:
        connection.request(
            "GET",
            "/_stcore/stream",
            headers={
                "Host": f"{host or address.hostname}:{address.port}",
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            },
        )
        assert connection.getresponse().status == status
    finally:
        connection.close()
