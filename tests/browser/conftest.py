"""Fixtures of the browser tests: a server of the app, Chromium, and a watched page."""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.browser.pages import WAIT_MS, Watch
from tests.browser.server import Server, serve
from tests.needs import ROOT, chromium

ARTIFACTS = ROOT / ".artifacts"
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    # Without a graphics card there is nothing to gain from drawing as if there were one.
    "--disable-gpu",
    "--disable-gpu-rasterization",
    # WebGL is drawn by software then; a newer Chromium does so only where it is asked to.
    "--enable-unsafe-swiftshader",
]
_outcome = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, so that its page is kept as a picture."""
    report = yield
    if report.when == "call":
        item.stash[_outcome] = report.failed
    return report


@pytest.fixture(scope="session")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start a fresh server: `start_server()` for the app, `start_server(script)` for another."""
    with ExitStack() as running:

        def start(script: Path = ROOT / "app.py", *options: str) -> Server:
            home = tmp_path_factory.mktemp("home")
            return running.enter_context(serve(script, home, *options))

        yield start


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Server]:
    """A server of the app for one test: what it would prepare for later visitors ends with it."""
    with serve(ROOT / "app.py", tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def app(start_server: Callable[..., Server]) -> Server:
    """The one server of the app that most tests share."""
    return start_server()


@pytest.fixture(scope="session")
def app_url(app: Server) -> str:
    """Address of the shared server, without a trailing slash."""
    return app.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    executable = chromium()
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_OPTIONS)
        yield instance
        instance.close()


@pytest.fixture
def new_page(
    browser: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[..., tuple[Page, Watch]]]:
    """A factory of pages in contexts of their own, each with what was wrong with it so far.

    Keyword arguments go to `Browser.new_context` (`color_scheme="dark"`, `viewport=…`,
    `has_touch=True`).
    """
    pages: list[Page] = []
    with ExitStack() as contexts:

        def make(**options: Any) -> tuple[Page, Watch]:
            settings: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, **options}
            context = contexts.enter_context(browser.new_context(**settings))
            context.set_default_timeout(WAIT_MS / 2)
            page = context.new_page()
            watch = Watch()
            watch.attach(page)
            pages.append(page)
            return page, watch

        yield make
        if request.node.stash.get(_outcome, False):
            _keep_pictures(request.node.name, pages)


@pytest.fixture
def page(new_page: Callable[..., tuple[Page, Watch]]) -> Iterator[Page]:
    """A desktop page in the light theme; the test fails if it was not clean at its end."""
    opened, watch = new_page(color_scheme="light")
    yield opened
    watch.assert_clean()


def _keep_pictures(name: str, pages: list[Page]) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    safe = "".join(letter if letter.isalnum() else "-" for letter in name)
    for number, page in enumerate(pages):
        try:
            page.screenshot(path=ARTIFACTS / f"{safe}-{number}.png", full_page=True)
        except Error:  # a page that crashed has no picture, and that is not the failure to report
            continue
