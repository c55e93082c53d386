"""Helpers of browser tests: open a page, wait until it rests, look for faults."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, Response, expect

WAIT_MS = 60_000
REST_MS = 250
SCHEMES = ["light", pytest.param("dark", marks=pytest.mark.full)]
"""Colour schemes of a test that looks at every view: `test_reach.py` and `test_frame.py` look at
each page in both."""


def by_turns(*lists: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return all combinations for `parametrize`, of which a release alone tests most.

    Every change is tested with as many as the longest list has: each element of each list comes
    there at least once.

    Args:
        lists: elements, each a tuple of the arguments that it stands for.
    """
    every = range(max(map(len, lists)))
    always = {tuple(turn % len(each) for each in lists) for turn in every}
    return [
        pytest.param(
            *(value for each, place in zip(lists, places, strict=True) for value in each[place]),
            marks=() if places in always else pytest.mark.full,
        )
        for places in itertools.product(*(range(len(each)) for each in lists))
    ]


LOOPBACK = {"127.0.0.1", "localhost"}
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# A script run starts a moment after the click that causes it, so one look is not enough: the app
# must have been at rest for a while, and in that while the browser must have had nothing to do
# several times. On a busy machine it may need longer than the while to draw, and what it has still
# to send waits behind that. Both are counted in the page, and again from the start at each rerun.
# A dial tells the server a while after it was last moved (a quarter of a second, like the rest
# here), so until then nothing is at rest; one that was taken away while it moved counts no more.
_AT_REST = """rest => {
  const app = document.querySelector('[data-testid=stApp]');
  const resting = app && app.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale=true], [data-testid=stSkeleton]')
    && !(performance.now() - window.__dialMoved < 1000);
  if (!resting) { window.__calm = undefined; return false; }
  if (!window.__calm) {
    const calm = window.__calm = { since: performance.now(), turns: 0 };
    const idle = () => requestIdleCallback(() => { if (++calm.turns < 4) setTimeout(idle, 10); });
    idle();
  }
  return window.__calm.turns >= 4 && performance.now() - window.__calm.since >= rest;
}"""


def wait_idle(page: Page, timeout_ms: float = WAIT_MS) -> None:
    """Return once the app has run its script and nothing has moved for a quarter of a second."""
    page.evaluate("window.__calm = undefined")
    page.wait_for_function(_AT_REST, arg=REST_MS, timeout=timeout_ms)


def settled(page: Page, look: str) -> Any:
    """Return the value of a JavaScript expression once six frames in a row have the same."""
    return page.evaluate(
        f"""async () => {{
          let seen, same = 0;
          while (same < 6) {{
            await new Promise(requestAnimationFrame);
            const now = JSON.stringify({look});
            [seen, same] = [now, now === seen ? same + 1 : 0];
          }}
          return JSON.parse(seen);
        }}"""
    )


def open_page(page: Page, url: str) -> None:
    """Go to `url` and wait until the app has drawn it."""
    page.goto(url, timeout=WAIT_MS)
    wait_idle(page)


# Chromium does not print every breach of the Content-Security-Policy.
_TELL_BREACHES = """document.addEventListener('securitypolicyviolation', breach =>
  console.error(`not allowed: ${breach.effectiveDirective} ${breach.blockedURI}`));"""

_FOLLOW_DIALS = """window.addEventListener('dpcore:dial', event => {
  window.__dialMoved = event.detail.rest ? undefined : performance.now();
});"""

_PROBED = re.compile(r"//[^/]+/\w+/_stcore/[\w-]+$")
"""Where a page that is opened by its own address first looks for its server; it is found then."""


@dataclass
class Watch:
    """Faults of a page that are not visible on the screen, collected while it is used."""

    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    bad_responses: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Listen to `page` from now on."""
        page.add_init_script(_TELL_BREACHES)
        page.add_init_script(_FOLLOW_DIALS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        page.on("response", self._response)
        page.on("request", self._request)

    def assert_clean(self) -> None:
        """Fail with all that was collected, if anything was."""
        faults = {name: entries for name, entries in asdict(self).items() if entries}
        assert not faults, f"the page was not clean: {faults}"

    def _console(self, message: ConsoleMessage) -> None:
        address = message.location.get("url", "")
        if message.type == "error" and not _PROBED.search(address):
            self.console_errors.append(f"{message.text} ({address})")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not _PROBED.search(response.url):
            self.bad_responses.append(f"{response.status} {response.url}")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.hostname not in LOOPBACK:
            self.foreign_requests.append(request.url)


def accessibility_faults(page: Page, rules: Sequence[str] = AXE_RULES) -> list[str]:
    """Return the faults that axe-core finds against WCAG 2.2 A and AA and good practice: headings,
    landmarks, names. One line a rule, with the first elements."""
    # What lies under the dial, which stays in sight, is no smaller for that.
    page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)")
    options = {"runOnly": list(rules), "resultTypes": ["violations"]}
    results = Axe().run(page, options=options).response
    for rule in results["violations"]:
        rule["nodes"] = [node for node in rule["nodes"] if not _of_streamlit(rule["id"], node)]
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}; "
        + "; ".join(node["html"][:160] for node in rule["nodes"][:3])
        for rule in results["violations"]
        if rule["nodes"]
    ]


def _of_streamlit(rule: str, node: dict[str, str]) -> bool:
    """Return True for a fault that is Streamlit's own and cannot be mended here.

    empty-table-header: a table whose rows can be chosen begins with a column of boxes, to whose
    header Streamlit gives no name. presentation-role-conflict: the place where a file is dropped
    has a name although it is there for the mouse alone; the button in it is what is read out.
    """
    own = {
        "empty-table-header": 'aria-colindex="1" tabindex="-1"></th>',
        "presentation-role-conflict": 'data-testid="stFileUploaderDropzone"',
    }
    return own.get(rule, "\0") in node["html"]


def assert_accessible(page: Page) -> None:
    """Fail with the faults that axe-core finds on the page now."""
    faults = accessibility_faults(page)
    assert not faults, "\n".join(["accessibility:", *faults])


def unfold(page: Page) -> None:
    """Open the sidebar, which is folded away on pages whose picture needs the width."""
    unfolding = page.get_by_test_id("stExpandSidebarButton")
    if unfolding.is_visible():
        unfolding.click()
        wait_idle(page)


def open_files(page: Page, name: str) -> None:
    """Unfold the drawer of the page, and choose a figure in it.

    Args:
        page: on which the figure is.
        name: of the figure.
    """
    finding = page.locator(f".st-key-finding_{name}").inner_text(timeout=WAIT_MS)
    drawer = page.locator(".st-key-taking summary")
    drawer.scroll_into_view_if_needed()
    drawer.click()
    expect(page.locator("[class*=st-key-csv_]").first).to_be_visible(timeout=WAIT_MS)
    choice = page.locator(".st-key-figure_to_take").get_by_role("combobox")
    if choice.count() and choice.input_value() != finding:
        choice.fill(finding)
        choice.press("Enter")
    expect(page.locator(f".st-key-csv_{name}")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
