"""A page that is empty or broken in a browser while nothing runs comes back; the log says so."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.util import calc_hash

from tests.browser.pages import WAIT_MS, Watch, open_page, wait_idle
from tests.browser.server import Server

NewPage = Callable[..., tuple[Page, Watch]]
HEALED_MS = 5_000  # three seconds, and what a machine at work adds


class Line:
    """The line between a browser and its server, which can spoil what it carries."""

    def __init__(self, page: Page) -> None:
        """Sit between a page that is not yet open and its server."""
        self.spoil: Callable[[ForwardMsg], bytes | None] | None = None
        self.deaf_to = ""  # hash of the page for which the next request is lost
        self.begun = self.ended = 0  # runs that the browser was notified of
        page.route_web_socket("**/_stcore/stream", self._carry)

    def _carry(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def pass_on(data: str | bytes) -> None:
            forward = ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode())
            self.begun += forward.WhichOneof("type") == "new_session"
            told = data if self.spoil is None else self.spoil(forward)
            if told is not None:
                browser.send(told)
            done = forward.WhichOneof("type") == "script_finished"
            self.ended += done and forward.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY

        def ask(data: str | bytes) -> None:
            asked = BackMsg.FromString(data if isinstance(data, bytes) else data.encode())
            if self.deaf_to and asked.rerun_script.page_script_hash == self.deaf_to:
                self.deaf_to = ""
            else:
                server.send(data)

        server.on_message(pass_on)
        browser.on_message(ask)


def is_of_main(forward: ForwardMsg) -> bool:
    return forward.WhichOneof("type") == "delta" and forward.metadata.delta_path[0] == 0


def lose(forward: ForwardMsg) -> bytes | None:
    """All of the main area is lost on the way."""
    return None if is_of_main(forward) else forward.SerializeToString()


def misplace(forward: ForwardMsg) -> bytes | None:
    """The whole main area is at a position that the browser does not have."""
    if is_of_main(forward):
        forward.metadata.delta_path[-1] += 7
    return forward.SerializeToString()


@pytest.mark.parametrize("spoil", [lose, misplace])
def test_a_page_that_came_to_nothing_is_asked_for_once_more(
    app: Server, new_page: NewPage, spoil: Callable[[ForwardMsg], bytes | None]
) -> None:
    page, _ = new_page()
    line, before = Line(page), len(app.printed())
    open_page(page, f"{app.url}/papers")
    line.spoil, ended = spoil, line.ended
    page.get_by_role("link", name="Lesson", exact=True).first.click()
    # Between the click and the run the page before is gone too: that is no fault yet.
    end = time.monotonic() + WAIT_MS / 1_000
    app_there = page.locator("[data-testid=stApp]")
    while line.ended == ended and app_there.count():  # else the frontend has ended before the run
        assert time.monotonic() < end
        page.wait_for_timeout(20)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stMain] h1')"
        " && document.querySelector('[data-test-script-state=notRunning], .stAlert') !== null"
        " || !document.querySelector('[data-testid=stApp]')",
        timeout=WAIT_MS,
    )
    line.spoil, begun = None, line.begun
    end = time.monotonic() + HEALED_MS / 1_000
    while line.begun == begun:  # its run takes as long as the machine lets it
        assert time.monotonic() < end
        page.wait_for_timeout(20)
    expect(page.locator("[data-testid=stMain] h1")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert page.url.startswith(f"{app.url}/lesson")
    end = time.monotonic() + WAIT_MS / 1_000
    while "in a browser while nothing ran" not in app.printed()[before:]:
        assert time.monotonic() < end
        page.wait_for_timeout(100)
    assert "Traceback" not in app.printed()[before:]


def test_a_page_that_stays_empty_says_so_and_is_not_asked_for_again_and_again(
    app: Server, new_page: NewPage
) -> None:
    page, _ = new_page()
    line = Line(page)
    open_page(page, f"{app.url}/papers")
    line.spoil = lose
    page.get_by_role("link", name="Lesson", exact=True).first.click()
    told = page.get_by_role("alert").filter(has_text="This page could not be shown.")
    expect(told).to_be_visible(timeout=WAIT_MS)
    begun = line.begun
    page.wait_for_timeout(5_000)
    assert line.begun == begun
    line.spoil = None
    told.get_by_role("link", name="Load it again").click()
    expect(page.locator("[data-testid=stMain] h1")).to_be_visible(timeout=WAIT_MS)
    expect(told).to_have_count(0, timeout=WAIT_MS)


def test_a_link_that_led_nowhere_is_followed_once_more(app: Server, new_page: NewPage) -> None:
    page, _ = new_page()
    line, before = Line(page), len(app.printed())
    open_page(page, f"{app.url}/papers")
    line.deaf_to = calc_hash("lesson")
    page.get_by_role("link", name="Lesson", exact=True).first.click()
    expect(page).to_have_title("Lesson – Word Privacy Lab", timeout=WAIT_MS)
    wait_idle(page)
    assert page.url.startswith(f"{app.url}/lesson")
    assert not line.deaf_to
    end = time.monotonic() + WAIT_MS / 1_000
    while "A link led nowhere in a browser" not in app.printed()[before:]:
        assert time.monotonic() < end
        page.wait_for_timeout(100)
