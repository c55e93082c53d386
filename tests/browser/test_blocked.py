"""A page whose scripts or web sockets are blocked says so, and whom to ask."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from playwright.sync_api import Page

from pages.shared.front import BLOCKED, NO_SCRIPT, TITLE
from pages.shared.language import LANGUAGES, say, speaking
from tests.browser.pages import Watch
from tests.browser.server import Server


class Gate:
    """A proxy that refuses web sockets, or never answers them, until it is opened.

    Attributes:
        open: whether web sockets come through as well.
        url: where it listens.
    """

    def __init__(self, app: Server, *, silent: bool) -> None:
        self._origin, self._silent = urlsplit(app.url), silent
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._sockets[0].getsockname()[1]}"
        self.open = False

    def __enter__(self) -> "Gate":
        self._begin(self._listen, self._sockets[0])
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()

    def _begin(self, work: Callable[..., None], *given: socket.socket) -> None:
        self._threads.append(threading.Thread(target=work, args=given))
        self._threads[-1].start()

    def _listen(self, door: socket.socket) -> None:
        with suppress(OSError):  # the test is over
            while True:
                browser, _ = door.accept()
                self._sockets.append(browser)
                self._begin(self._pass_on, browser)

    def _pass_on(self, browser: socket.socket) -> None:
        with suppress(OSError):
            head = browser.recv(65_536)
            upgrade = b"upgrade: websocket" in head.lower()
            if upgrade and not self.open:
                if not self._silent:
                    browser.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                    browser.shutdown(socket.SHUT_RDWR)
                return
            if not upgrade:  # each request comes by a connection of its own
                head = head.replace(b"Connection: keep-alive", b"Connection: close")
            server = socket.create_connection((self._origin.hostname, self._origin.port))
            self._sockets.append(server)
            server.sendall(head)
            self._begin(self._copy, server, browser)
            self._copy(browser, server)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # one of the two has gone
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


_COLOURS = """() => {
  const style = getComputedStyle(document.getElementById('blocked'))
  return [style.color, style.backgroundColor].map((c) => c.match(/\\d+/g).map(Number))
}"""


def contrast(one: list[int], two: list[int]) -> float:
    """The ratio of two colours (WCAG 2.2)."""

    def light(colour: list[int]) -> float:
        parts = [part / 255 for part in colour]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    high, low = sorted((light(one), light(two)), reverse=True)
    return high / low


def said(spoken: str, address: str) -> list[str]:
    """The title and sentences of a page that cannot connect."""
    with speaking(spoken):
        sentences = [say(sentence) for sentence in (TITLE, *BLOCKED)]
    return [sentence.replace("{address}", address) for sentence in sentences]


def test_after_ten_seconds_a_page_says_what_is_blocked_and_goes_on_by_itself(
    app: Server, new_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """A door that refuses and one that never answers, in the same ten seconds."""
    with Gate(app, silent=False) as refusing, Gate(app, silent=True) as silent:
        visits = [
            (refusing, *asked(new_page, refusing.url, "/", "light"), "en"),
            (silent, *asked(new_page, silent.url, "/rewrite?lang=de", "dark"), "de"),
        ]
        for gate, page, other, spoken in visits:
            alert = page.get_by_role("alert")
            alert.wait_for(timeout=60_000)
            assert page.evaluate("performance.now()") > 10_000
            shown = alert.inner_text().split("\n")
            assert [line for line in shown if line] == said(spoken, urlsplit(gate.url).netloc)
            assert contrast(*page.evaluate(_COLOURS)) >= 7
            assert alert.locator("div:visible").get_attribute("lang") == spoken
            assert other.locator("body").inner_text().strip() in ("", "Skip to main content")
        for gate, page, _, _ in visits:
            gate.open = True
            if gate is silent:
                page.reload()
            page.get_by_role("heading", level=1).first.wait_for(timeout=60_000)
            page.get_by_role("alert").wait_for(state="hidden")


def asked(
    new_page: Callable[..., tuple[Page, Watch]], url: str, path: str, scheme: str
) -> tuple[Page, Page]:
    """Open a page behind a gate, and beside it one that is Streamlit's own."""
    page, _ = new_page(color_scheme=scheme, locale="en-GB")
    other = page.context.new_page()
    page.goto(f"{url}{path}")
    other.goto(f"{url}/elsewhere")  # where it speaks, ours can go
    return page, other


def test_a_page_without_scripts_says_that_it_needs_them(
    app: Server, new_page: Callable[..., tuple[Page, Watch]]
) -> None:
    page, _ = new_page(java_script_enabled=False)
    page.goto(f"{app.url}/words")
    shown = page.locator("body").inner_text().split("\n")
    wanted = []
    for spoken in LANGUAGES:
        with speaking(spoken):
            wanted.append(say(NO_SCRIPT))
    assert [line for line in shown if line] == wanted
