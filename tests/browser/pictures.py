"""The first screen of every page, for README and links: `python -m tests.browser.pictures`."""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from pages.shared.contents import CONTENTS
from tests.browser.conftest import CHROMIUM_OPTIONS
from tests.browser.pages import WAIT_MS, open_page, wait_idle
from tests.browser.server import serve
from tests.needs import ROOT, chromium

SIZE = {"width": 1440, "height": 900}


def draw(folder: Path) -> None:
    """Write a picture of each page of the menu."""
    with (
        tempfile.TemporaryDirectory() as home,
        serve(ROOT / "app.py", Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
        for content in CONTENTS:
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
            page.set_default_timeout(WAIT_MS)
            open_page(page, f"{server.url}/{content.address}")
            wait_idle(page)
            page.screenshot(path=folder / f"{content.address}.png")
            page.close()


if __name__ == "__main__":
    draw(ROOT / "data/pictures")
