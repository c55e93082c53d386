"""Every view of every page, once: axe in both themes, narrow windows, nothing cut, nothing moves.

The first views, and those behind a widget that a test of their page uses, are looked at by axe
there; here are all others, and the widths of all of them. 640 pixels are a window of 1,280 at a
zoom of 200 %, 320 the narrowest that WCAG 2.2 names (1.4.10).
"""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.legible import illegible, illegible_texts
from tests.browser.pages import (
    Watch,
    accessibility_faults,
    assert_accessible,
    open_page,
    settled,
    wait_idle,
)

NewPage = Callable[..., tuple[Page, Watch]]
WIDTHS = (640, 320)
COMPUTED = 180_000  # a fresh server trains its classifiers once
DRAWN = 300  # milliseconds in which a chart takes the width of a window

# Address, and the tabs that are opened there one after the other; the first one is open.
FEW = "sample=3&runs=20&curve_metric=tem"
VIEWS = {
    "": (),
    "rewrite": ("One word: strip and odds", "100 draws"),
    "tradeoff?part=Take+it+with+you": ("What the axes mean", "How is this computed?"),
    "tradeoff?learned=auc&level=20": (),
    "crowd?part=In+numbers": ("Count a word", "How is this computed?"),
    "crowd?crowd=agnews&group=1&guessed=33&texts=all": (),
    "lesson?step=names&explain=true&large=true": (),
    "lesson?step=draw": (),
    "lesson?step=crowd": (),
    "lesson?step=price": (),
    "lesson?step=together": (),
    "lesson?step=claim": (),
    "lesson?step=proof": (),
    "lesson?step=choose": (),
    f"curves?{FEW}&curve_log=&explain=true": (
        "Word by word",
        "Appendix C",
    ),
    "curves?figure=Xu+2021,+Figure+1+(IMDb)": (),
    f"curves?{FEW}&compare=calibrated:+equal+mean+Nw": (),
    "words?curve_metric=tem&curve_log=": (
        "Curves",
        "Facts",
        "Whole vocabulary",
        "True distances",
        "How the map can mislead",
    ),
    "words?curve_metric=tem&curve_log=&more=Whole+vocabulary&found=violin": (),
    "release": (),
    "release?aim=accuracy&explain=true": (),
    "papers?claim=gaussian-classical": (),
    "papers?claim=xu-theorem-1": (),
    "papers?claim=carvalho-theorem-2": (),
    "papers?experiment=teaching-corpus": (
        "Frontier",
        "Membership",
        "Solve for ε",
        "Examples",
        "How it was made",
    ),
    "papers?experiment=carvalho2021-figure-1": ("Paper against measurement",),
    "papers?experiment=huang2024-autoencoder-yelp": ("How it was made",),
    "attacker": ("Guess the word", "A sentence", "Least protected"),
    "attacker?view=A+sentence&about=A+person": (),
    "robustness": ("One picture", "The slides' condition", "Robust is private"),
    "robustness?robust_view=Words": ("One text", "Noise on the mean vector"),
    "robustness?robust_view=Attack": ("A sample of texts",),
    "robustness?robust_view=Training": None,
    "robustness?robust_view=Auto-encoders": None,
    "robustness?robust_view=Noise+in+networks": None,
}
"""None: all the tabs that the record has."""
FIRST = {address.partition("?")[0]: address for address in reversed(VIEWS)}.values()
"""The first view of each page, which is looked at before every change is accepted."""

OPEN_ALL = """() => document.querySelectorAll('.stMain details:not([open]) > summary')
  .forEach(summary => summary.click())"""

# Words that reach beyond the window or are cut off, and words that overlap.
FAULTS = """() => {
  const faults = [], boxes = [], window_ = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > window_) faults.push('scrolls sideways');
  for (const node of document.querySelectorAll('.stMain *')) {
    const own = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const seen = node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (!own || !seen) continue;
    const box = node.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) continue;
    const words = node.textContent.trim().slice(0, 60);
    const around = [];
    for (let up = node; up; up = up.parentElement) around.push(getComputedStyle(up));
    const rolls = around.some(s => ['auto', 'scroll'].includes(s.overflowX));
    if (!rolls && (box.right > window_ + 1 || box.left < -1)) faults.push('beyond: ' + words);
    const hides = ['hidden', 'clip'].includes(around[0].overflowX);
    if (hides && around[0].display !== 'inline'
      && node.scrollWidth > node.clientWidth + 1) faults.push('cut off: ' + words);
    if (!rolls && !node.closest('svg')) boxes.push([node, box, words]);
  }
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, one, said] = boxes[i], [b, other, heard] = boxes[j];
      if (a.contains(b) || b.contains(a)) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 3 && down > 3) faults.push(`overlap: ${said} / ${heard}`);
    }
  return [...new Set(faults)].slice(0, 9);
}"""

# Letters of charts are no HTML, so axe does not weigh them against the page (WCAG 1.4.3).
FAINT = """() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = rgb => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(parts(getComputedStyle(
    document.querySelector('[data-testid=stApp]')).backgroundColor));
  const faint = new Set();
  for (const text of document.querySelectorAll(
    '.js-plotly-plot :is([class*=tick], [class*=title], .legend, .annotation) text')) {
    const own = light(parts(getComputedStyle(text).fill));
    const ratio = (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
    if (ratio < 4.5) faint.add(`${text.textContent.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...faint].slice(0, 5);
}"""

# Durations in seconds; a chart of Plotly's has none of its own.
MOVING = """() => {
  const roots = [document], slow = new Set();
  for (const root of roots)
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) roots.push(node.shadowRoot);
      const style = getComputedStyle(node);
      for (const long of [style.transitionDuration, style.animationDuration])
        if (Math.max(...long.split(',').map(parseFloat)) > 0.01)
          slow.add(`${node.tagName} ${node.dataset?.testid ?? node.className} ${long}`);
    }
  for (const plot of document.querySelectorAll('.js-plotly-plot'))
    if (plot._fullLayout?.transition?.duration) slow.add('a chart');
  return [...slow].slice(0, 9);
}"""


def rest(page: Page) -> None:
    """Wait for the end of what is computed too."""
    working = page.locator("[data-testid=stSpinner], [data-testid=stProgress]")
    wait_idle(page, COMPUTED)
    if working.count():
        expect(working).to_have_count(0, timeout=COMPUTED)
        wait_idle(page, COMPUTED)


def look(page: Page, scheme: str) -> str:
    """Fail with what is wrong with the open view, which is in this theme; return the other one."""
    page.evaluate(OPEN_ALL)
    rest(page)
    assert_accessible(page)
    assert illegible_texts(page) == []
    faint = page.evaluate(FAINT)
    other: Literal["light", "dark"] = "light" if scheme == "dark" else "dark"
    page.emulate_media(color_scheme=other, reduced_motion="reduce")
    rest(page)
    assert faint + accessibility_faults(page, ["color-contrast"]) + page.evaluate(FAINT) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(DRAWN)
        assert page.evaluate(FAULTS) == [], width
    assert page.evaluate(MOVING) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    return other


def glance(page: Page) -> None:
    """Fail with what is wrong with the open view in its theme, and in the narrowest window."""
    page.evaluate(OPEN_ALL)
    rest(page)
    assert_accessible(page)
    assert illegible_texts(page) == []
    page.set_viewport_size({"width": min(WIDTHS), "height": 844})
    page.wait_for_timeout(DRAWN)
    assert page.evaluate(FAULTS) == []
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("address", FIRST)
def test_the_first_views_reach_everybody(app_url: str, new_page: NewPage, address: str) -> None:
    """And a glance at the tabs behind them."""
    page, watch = new_page(color_scheme="light", reduced_motion="reduce")
    open_page(page, f"{app_url}/{address}")
    rest(page)
    look(page, "light")
    for tab in VIEWS[address] or ():
        page.get_by_role("tab", name=tab, exact=True).click()
        glance(page)
    assert not watch.page_errors
    assert not watch.foreign_requests


@pytest.mark.full
@pytest.mark.parametrize("address", VIEWS)
def test_every_view_reaches_everybody(app_url: str, new_page: NewPage, address: str) -> None:
    page, watch = new_page(color_scheme="light", reduced_motion="reduce")
    open_page(page, f"{app_url}/{address}")
    rest(page)
    tabs: tuple[str, ...] | None = VIEWS[address]
    if tabs is None:
        tabs = tuple(page.locator(".stMain [role=tab]").all_inner_texts())[1:]
    scheme = look(page, "light")
    for tab in tabs:
        page.get_by_role("tab", name=tab, exact=True).click()
        scheme = look(page, scheme)
    assert not watch.page_errors
    assert not watch.foreign_requests


OFTEN = ("", "words")
SELDOM = (
    "tradeoff",
    "release",
    "robustness",
    "rewrite",
    "crowd",
    "attacker",
    "papers",
    "lesson",
    "curves",
)


@pytest.mark.parametrize(
    "address", [*OFTEN, *(pytest.param(address, marks=pytest.mark.full) for address in SELDOM)]
)
def test_large_letters_at_twice_the_size_need_no_scrolling_sideways(
    app_url: str, new_page: NewPage, address: str
) -> None:
    """A window of 1,440 by 900 pixels at a zoom of 200 %."""
    page, watch = new_page(viewport={"width": 720, "height": 450}, reduced_motion="reduce")
    open_page(page, f"{app_url}/{address}?large=true")
    rest(page)
    assert page.evaluate(FAULTS) == []
    assert page.evaluate(MOVING) == []
    assert accessibility_faults(page) == []
    assert not watch.page_errors


def test_a_page_of_scrolling_is_what_is_in_sight_below_the_dial(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    open_page(page, f"{app_url}/release")
    rest(page)
    main = page.get_by_test_id("stMain")
    main.focus()
    page.keyboard.press("PageDown")
    dial = page.locator("[class*=st-key-dial_place]").first
    padding = main.evaluate("main => parseFloat(main.style.scrollPaddingTop)")
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    page.wait_for_function(f"() => {scrolled} > 0")
    settled(page, scrolled)
    box = dial.bounding_box()
    assert padding >= box["y"] + box["height"] - 1
    assert 0 < main.evaluate("main => main.scrollTop") <= 720 - padding


def test_numbers_that_no_one_reads_are_found() -> None:
    assert illegible("ε = 0.0123, 34.5 % of 25,000 words; 1 in 4,000; version 0.2") == []
    assert illegible("P = 0.1234") == ["0.1234"]
    assert illegible("99.998 in 100, not 99.1234 in 100") == ["99.1234"]
    assert illegible("2.5e-04 or 1e+03") == ["2.5e-04", "1e+03"]
    assert illegible("odds of 3.1·10²²") == ["1·10²²"]
    assert illegible("smallest distance Δ₀ = 1.5625; fingerprint 5de5") == []


def test_the_faults_are_found(page: Page) -> None:
    """Every fault that the checks above look for, on one page."""
    page.set_content(
        "<!doctype html><body style='margin:0'>"
        "<div data-testid=stApp class=stMain style='background:#fff'>"
        "<p style='width:40px;overflow:hidden;white-space:nowrap'>a very long sentence</p>"
        "<p style='position:absolute;left:1270px;width:60px'>outside</p>"
        "<p style='position:absolute;top:300px'>one</p>"
        "<p style='position:absolute;top:305px'>two</p>"
        "<p style='transition:color 1s'>moves</p>"
        "<svg class=js-plotly-plot><g class=xtick><text style='fill:#808495'>9</text></g></svg>"
    )
    faults = " ".join(page.evaluate(FAULTS))
    for fault in ("scrolls sideways", "cut off: a very", "beyond: outside", "overlap: one / two"):
        assert fault in faults
    assert page.evaluate(FAINT) == ["9: 3.72"]
    assert page.evaluate(MOVING) == ["P  1s"]
