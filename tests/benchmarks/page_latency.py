"""Latency of a step of a page (server, pixels, bytes), and of its first view.

Run: python -m tests.benchmarks.page_latency [steps] [PAGE], PAGE one of `PAGES`

It starts a fresh server, opens the page in Chromium and turns the dial by keyboard, one step at a
time; on the page Papers, which has none, it clicks on what mechanisms are compared at.
"Server" is the time from the last frame that the browser sent to the last frame
that it received for that step, as far as the browser's process reports them while it draws;
"pixels" is the time from the key press or click to the first change of what is moved: the grid's
words or readings, the marks on the curves, the map and the bars of noise, the icon array, or the
figures of utility. "Settled" is the time to the last change of the page. The first view of a warm
server is that of the later visits; each is a new browser context, whose cache is empty, so it holds
the download of Streamlit and of Plotly.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, WebSocket, sync_playwright

from tests.browser.conftest import CHROMIUM_OPTIONS
from tests.browser.pages import WAIT_MS, wait_idle
from tests.browser.server import serve
from tests.needs import ROOT, chromium

POLL_MS = 5
GOALS = {"server_ms": "p50 30, p95 60", "pixels_ms": "p50 150, p90 250", "kilobytes": "150"}


@dataclass(frozen=True)
class Visited:
    """A page: its path, what shows that its first view is there, and what a step changes."""

    path: str
    ready: str
    moving: str
    choices: str = ""  # what is clicked on in turn; empty where the dial is turned


PAGES = {
    "rewrite": Visited(
        "/rewrite",
        ".grid .word",
        """[...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]
          .map((node) => node.shadowRoot).filter((root) => root.querySelector('.grid'))""",
    ),
    "curves": Visited(
        "/curves",
        ".js-plotly-plot .main-svg",
        """[...document.querySelectorAll('.stMain [data-testid=stHtml]')]
          .map((node) => node.parentElement)""",
    ),
    "words": Visited(
        "/words",
        ".panes .caption",
        """[...document.querySelectorAll('[data-testid=stBidiComponent], .st-key-panes *')]
          .map((node) => node.shadowRoot).filter((root) => root?.querySelector('.panes'))""",
    ),
    "attacker": Visited(
        "/attacker",
        "[data-testid^=stBidiComponent] >> nth=1",
        """[...document.querySelectorAll('.stMain *')].map((node) => node.shadowRoot)
          .filter((root) => root && !root.querySelector('[type=range]'))""",
    ),
    "robustness": Visited(
        "/robustness?robust_view=Attack",
        ".st-key-figure_attack_steps .main-svg",
        "[document.querySelector('.st-key-figure_attack_steps').parentElement]",
    ),
    "papers": Visited(
        "/papers?look=experiments",
        ".js-plotly-plot .main-svg",
        "[document.querySelector('[role=tabpanel]')]",
        ".st-key-use_compare [role=radio]",
    ),
}
_WATCH = """() => {
  const all = { childList: true, subtree: true, characterData: true, attributes: true };
  const first = new MutationObserver(() => { window.__changed ??= performance.now(); });
  for (const root of MOVING) first.observe(root, all);
  new MutationObserver(() => { window.__last = performance.now(); })
    .observe(document.querySelector('.stMain'), all);
  const begin = () => {
    window.__pressed = performance.now();
    window.__changed = undefined;
  };
  for (const kind of ['keydown', 'click']) addEventListener(kind, begin, true);
}"""


class Frames:
    """Traffic of the page's web socket."""

    def __init__(self, page: Page) -> None:
        """Listen from the next socket on."""
        self.sent, self.received, self.bytes = 0.0, 0.0, 0
        page.on("websocket", self._attach)

    def _attach(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda _: self._send())
        socket.on("framereceived", self._receive)

    def _send(self) -> None:
        self.sent = time.perf_counter()

    def _receive(self, payload: str | bytes) -> None:
        self.received = time.perf_counter()
        self.bytes += len(payload)


def measure(page: Page, frames: Frames, visited: Visited, steps: int) -> dict[str, list[float]]:
    """Turn the dial to and fro, or choose one after the other."""
    page.evaluate(_WATCH.replace("MOVING", visited.moving))
    choices = page.locator(visited.choices) if visited.choices else None
    if choices is None:
        page.locator('[class*="st-key-dial_place"]').get_by_role("slider").first.focus()
    names = ("server_ms", "pixels_ms", "settled_ms", "kilobytes")
    times: dict[str, list[float]] = {name: [] for name in names}
    for step in range(steps):
        frames.bytes, frames.sent = 0, 0.0
        if choices is None:
            page.keyboard.press("ArrowLeft" if step % 8 < 4 else "ArrowRight")
        else:
            choices.nth((step + 1) % choices.count()).click()
        page.wait_for_function("() => window.__changed !== undefined", timeout=WAIT_MS)
        while not frames.sent:  # the server hears of a step of the dial when the hand is off
            page.wait_for_timeout(POLL_MS)
        wait_idle(page)
        times["server_ms"].append(1000 * (frames.received - frames.sent))
        times["pixels_ms"].append(page.evaluate("window.__changed - window.__pressed"))
        settled = page.evaluate("Math.max(window.__last ?? 0, window.__changed) - window.__pressed")
        times["settled_ms"].append(settled)
        times["kilobytes"].append(frames.bytes / 1000)
    return times


def main(steps: int, name: str) -> None:
    """Print start, first view and the medians and upper ends of a step."""
    visited = PAGES[name]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        start = time.perf_counter()
        with serve(ROOT / "app.py", Path(home)) as server:
            healthy = time.perf_counter()
            browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
            for visit in ("first visit", "second visit", "third visit"):
                page = browser.new_page()
                frames = Frames(page)
                opened = time.perf_counter()
                page.goto(server.url + visited.path, timeout=WAIT_MS)
                page.locator(visited.ready).first.wait_for(timeout=WAIT_MS)
                print(f"{visit}: {time.perf_counter() - opened:.2f} s to the first view")
                wait_idle(page)
            # The wait of a visitor who comes from another page: scripts are there already.
            page.goto(server.url, timeout=WAIT_MS)
            wait_idle(page)
            if "?" not in visited.path:  # the menu leads to the first view of a page
                opened = time.perf_counter()
                page.locator(f"a[href$='{visited.path}']").first.click()
                page.locator(visited.ready).first.wait_for(timeout=WAIT_MS)
                print(f"from the landing page: {time.perf_counter() - opened:.2f} s")
                wait_idle(page)
            measured = measure(page, frames, visited, steps)
            print(f"server start to health: {healthy - start:.2f} s")
            for what, values in measured.items():
                goal = f" (goal {GOALS[what]})" if what in GOALS else ""
                high, highest = (sorted(values)[int(q * (len(values) - 1))] for q in (0.9, 0.95))
                print(
                    f"{what}: p50 {statistics.median(values):.1f}, p90 {high:.1f}, "
                    f"p95 {highest:.1f}{goal}"
                )
            browser.close()


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 40,
        sys.argv[2] if len(sys.argv) > 2 else "rewrite",
    )
