"""First screens of the pages that begin with a picture, against the limits of the house.

Where the main picture begins, how many words stand before it, how many controls are in sight.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import WAIT_MS, Watch, by_turns, open_page, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]
DESKTOP: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
PICTURES = {
    "start": ".changing .sentence",
    "tradeoff": ".board figure svg",
    "crowd": ".crowd figure svg",
    "words": ".panes svg",
    "attacker": ".st-key-attack_card",
    "rewrite": ".grid .row",
    "lesson": ".turning",
    "papers": ".listing .option",
    "release": ".offers .offer",
    "curves": ".js-plotly-plot",
    "robustness": ".painting svg",
}
"""Address, and the main picture."""
LIMITS = [(DESKTOP, 300), (PHONE, 420)]
WORDS, CONTROLS = 60, 8

# What is written above the picture, and what can be worked with in the window; the menu is apart.
_LOOK = """selector => {
  const every = (root) => [...root.querySelectorAll("*")].flatMap(
    (part) => part.shadowRoot ? [part, ...every(part.shadowRoot)] : [part]);
  const parts = every(document.querySelector("[data-testid=stMain]"));
  const picture = parts.find((part) => part.matches(selector));
  const top = picture.getBoundingClientRect().top;
  const seen = (part) => {
    const box = part.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && part.checkVisibility(
      { visibilityProperty: true, opacityProperty: true });
  };
  const words = parts
    .filter((part) => seen(part) && part.getBoundingClientRect().bottom <= top + 1)
    .flatMap((part) => [...part.childNodes].filter((child) => child.nodeType === 3))
    .flatMap((text) => text.textContent.split(/\\s+/))
    .filter((word) => /[\\p{L}\\p{N}]/u.test(word));
  const kinds = "button, input, select, textarea, summary, a[href], [role=slider], [role=tab]";
  // The words of the grid and their promises are the picture itself.
  const controls = parts.filter((part) => part.matches(kinds) && seen(part)
    && !part.closest(".grid")
    && !/^(Help|Open|Scroll tabs)/.test(part.getAttribute("aria-label") || "")
    && part.getBoundingClientRect().top < window.innerHeight - 4);
  return { top, words: words.length, controls: controls.map(
    (part) => part.getAttribute("aria-label") || part.textContent.trim() || part.tagName) };
}"""


@pytest.mark.parametrize(
    ("page_address", "options", "most"), by_turns([(each,) for each in PICTURES], LIMITS)
)
def test_the_picture_comes_first(
    app_url: str, new_page: NewPage, page_address: str, options: dict[str, Any], most: float
) -> None:
    page, watch = new_page(**options)
    open_page(page, f"{app_url}/{page_address}")
    selector = PICTURES[page_address]
    expect(page.locator(selector).first).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    look = page.evaluate(_LOOK, selector)
    assert look["top"] < most
    assert look["words"] <= WORDS
    assert len(look["controls"]) <= CONTROLS, look["controls"]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    watch.assert_clean()
