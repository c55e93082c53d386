"""How long a slider step of the Rewrite page takes: server, pixels, bytes.

Run: python -m tests.benchmarks.page_latency [steps]

It starts a fresh server, opens the page in Chromium and steps the metric slider by keyboard, one
step at a time. "Server" is the time from the last frame that the browser sent to the last frame
that it received for that step; "pixels" is the time from the key press to the first change of the
grid's words or readings, and holds the delay by which Streamlit's slider waits for further keys.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, WebSocket, sync_playwright

from tests.browser.conftest import CHROMIUM_OPTIONS
from tests.browser.pages import WAIT_MS, wait_idle
from tests.browser.server import serve
from tests.needs import ROOT, chromium

GOALS = {"server_ms": (30, 60), "pixels_ms": (150, 250)}
_WATCH = """() => {
  const host = [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]
    .find((node) => node.shadowRoot.querySelector('.grid'));
  new MutationObserver(() => { window.__changed ??= performance.now(); })
    .observe(host.shadowRoot, { childList: true, subtree: true, characterData: true });
  addEventListener('keydown', () => {
    window.__pressed = performance.now();
    window.__changed = undefined;
  }, true);
}"""


class Frames:
    """What passes through the page's web socket."""

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


def measure(page: Page, frames: Frames, steps: int) -> dict[str, list[float]]:
    """Step the slider to and fro."""
    page.evaluate(_WATCH)
    page.locator(".st-key-eps_metric").get_by_role("slider").focus()
    found: dict[str, list[float]] = {"server_ms": [], "pixels_ms": [], "kilobytes": []}
    for step in range(steps):
        frames.bytes = 0
        page.keyboard.press("ArrowLeft" if step % 8 < 4 else "ArrowRight")
        page.wait_for_function("window.__changed !== undefined", timeout=WAIT_MS)
        wait_idle(page)
        found["server_ms"].append(1000 * (frames.received - frames.sent))
        found["pixels_ms"].append(page.evaluate("window.__changed - window.__pressed"))
        found["kilobytes"].append(frames.bytes / 1000)
    return found


def main(steps: int) -> None:
    """Print start, first view and the medians and upper ends of a step."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        start = time.perf_counter()
        with serve(ROOT / "app.py", Path(home)) as server:
            healthy = time.perf_counter()
            browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
            for visit in ("first visit", "second visit"):
                page = browser.new_page()
                frames = Frames(page)
                opened = time.perf_counter()
                page.goto(server.url, timeout=WAIT_MS)
                page.locator(".grid .word").first.wait_for(timeout=WAIT_MS)
                print(f"{visit}: {time.perf_counter() - opened:.2f} s to the rewritten sentence")
            wait_idle(page)
            found = measure(page, frames, steps)
            print(f"server start to health: {healthy - start:.2f} s")
            for name, values in found.items():
                ordered = sorted(values)
                high = ordered[int(0.95 * (len(ordered) - 1))]
                goal = f" (goal {GOALS[name][0]} / {GOALS[name][1]})" if name in GOALS else ""
                print(f"{name}: p50 {statistics.median(values):.1f}, p95 {high:.1f}{goal}")
            browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
