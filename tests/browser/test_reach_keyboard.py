"""The main path without a pointer: a sentence, ε, a word, the next page, a guess in the lesson."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Error, Locator, Page, expect

from tests.browser.pages import Watch, open_page, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]
MOST = 120  # stops of the Tab key; more would be a page that no one walks through
SOON = 10_000

# Looks of an element and its surroundings: a focus that changes nothing is not to be seen.
WATCH = """() => {
  const look = node => {
    const said = [];
    for (let up = node, i = 0; up && i < 8; up = up.parentElement, i++) {
      const s = getComputedStyle(up);
      said.push(s.outlineStyle === 'none' ? '' : s.outlineWidth + s.outlineColor, s.boxShadow,
        s.borderTopColor, s.backgroundColor, s.transform, s.opacity, s.clipPath, s.top);
    }
    return said.join('|');
  };
  window.__focused = () => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node;
  };
  window.__seen = () => window.__focused() === document.body
    || look(window.__focused()) !== window.__plain.get(window.__focused());
  window.__plain = new WeakMap();
  const roots = [document];
  for (const root of roots)
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) roots.push(node.shadowRoot);
      if (node.tabIndex >= 0 && node !== window.__focused()) window.__plain.set(node, look(node));
    }
}"""


# The page looks every 50 ms for what a key opened. On a busy machine it looks late: here, when the
# test says so.
HOLD_LOOKS = """() => {
  const later = window.setTimeout, held = [];
  window.setTimeout = (work, ms, ...given) => ms === 50
    ? later(() => held.push(() => work(...given))) : later(work, ms, ...given);
  window.__look = () => {
    window.setTimeout = later;
    for (const work of held) work();
    return held.length;
  };
}"""


def go_to(page: Page, wanted: str, key: str = "Tab") -> list[str]:
    """Press a key until the focus is on an element for which a script holds; every stop is seen.

    Args:
        wanted: JavaScript about `node`, the element that has the focus.
        key: that is pressed.
    """
    page.evaluate(WATCH)
    stops: list[str] = []
    for _ in range(MOST):
        page.keyboard.press(key)
        result, name = page.evaluate(
            f"""() => {{
              const node = window.__focused();
              const name = (node.ariaLabel || node.innerText || node.title || node.tagName);
              return [node !== document.body && Boolean({wanted}), name.slice(0, 50)];
            }}"""
        )
        stops.append(name)
        try:  # what is drawn at the next frame is seen at once, too
            page.wait_for_function("() => window.__seen()", timeout=SOON)
        except Error as error:
            raise AssertionError(f"nobody sees the focus on {name!r}, after {stops}") from error
        if result:
            return stops
    raise AssertionError(f"the key {key} does not lead there: {stops}")


def test_the_main_path_by_keyboard_alone(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, app_url)
    expect(page.locator(".changing .sentence")).to_be_visible(timeout=60_000)
    wait_idle(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the menu")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    # Past menu and sidebar.
    assert len(go_to(page, "node.matches('input[type=range]')")) <= 6
    before = page.locator(".changing .numbers b").first.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".changing .numbers b").first).not_to_have_text(before)
    go_to(page, "node.matches('button') && node.innerText.includes('Your own sentence')")
    page.keyboard.press("Enter")
    go_to(page, "node.matches('textarea')")
    page.keyboard.press("Control+A")
    page.keyboard.type("The old doctor bought a violin in winter.")
    page.keyboard.press("Control+Enter")
    wait_idle(page)
    page.keyboard.press("Escape")
    # A key leads out of the field, on to the page where every ε moves.
    go_to(page, "node.matches('a') && node.innerText.trim() === 'Rewrite'")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Rewrite – Word Privacy Lab", timeout=60_000)
    expect(page.locator(".grid .word").first).to_be_visible(timeout=60_000)
    wait_idle(page)
    expect(page.locator(".source .plain")).to_have_text("The old doctor bought a violin in winter.")
    go_to(page, "node.matches('[role=slider], input[type=range]')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**eps_metric=**")  # the server hears of it when the hand is off
    wait_idle(page)
    assert float(parse_qs(urlsplit(page.url).query)["eps_metric"][0]) < 12
    go_to(page, "node.matches('.word')")
    first = int(page.evaluate("window.__focused().dataset.place"))
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_idle(page)
    chosen = page.locator(".word[aria-pressed=true]")
    expect(chosen).to_be_focused()
    assert chosen.get_attribute("data-place") == str(first + 2)
    # Onward from the grid, and through the end of the page to the menu above.
    go_to(page, "node.getAttribute('role') === 'tab'")
    go_to(page, "node.matches('a') && node.innerText.trim() === 'Lesson'")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Lesson – Word Privacy Lab", timeout=60_000)
    wait_idle(page)
    go_to(page, "node.matches('input[type=number]')")
    page.keyboard.type("70")
    go_to(page, "node.matches('button') && node.innerText.includes('Check')")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 9 guesses made")).to_be_visible(timeout=60_000)
    assert not watch.page_errors


def test_the_menu_is_two_keys_away_and_a_folded_sidebar_none(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/rewrite")
    wait_idle(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Start")).to_be_focused()
    assert "Words" in go_to(page, "node.innerText.trim() === 'Words'")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Words – Word Privacy Lab", timeout=60_000)
    wait_idle(page)
    sidebar = page.get_by_test_id("stSidebar")
    assert sidebar.get_attribute("data-collapsed") == "true"
    assert not sidebar.get_by_role("button").count()
    assert not watch.page_errors


def test_on_a_phone_the_menu_does_not_cover_the_page_that_it_led_to(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    open_page(page, app_url)
    wait_idle(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Words").click()
    expect(page).to_have_title("Words – Word Privacy Lab", timeout=60_000)
    wait_idle(page)
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    expect(page.get_by_role("slider").first).to_be_in_viewport()
    assert not watch.page_errors


KEEP_SAID = """() => {
  window.__said = [];
  new MutationObserver(() => window.__said.push(told.dataset.said))
    .observe(told, { attributeFilter: ['data-said'] });
}"""

STEPS_DOWN = """async (dial, [steps, pause]) => {
  for (let step = 0; step < steps; step++) {
    dial.stepDown();
    for (const type of ['input', 'change'])
      dial.dispatchEvent(new Event(type, { bubbles: true, composed: type === 'input' }));
    await new Promise(resolve => setTimeout(resolve, pause));
  }
}"""
"""As a person presses a key who listens to each step; the page sets the time, not the test."""


@pytest.mark.parametrize(
    "address", ["", "rewrite", "tradeoff", "crowd", "words", "attacker", "release"]
)
def test_what_a_dial_changes_is_said_once_when_it_rests(
    app_url: str, new_page: NewPage, address: str
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, f"{app_url}/{address}")
    wait_idle(page)
    told = page.locator("#told")
    expect(told).to_have_attribute("data-page", f"/{address}")
    assert told.get_attribute("data-said") is None  # the first sentences are read with the page
    page.evaluate(KEEP_SAID)
    dial = page.locator(".dial input[type=range]").first
    start = int(dial.input_value())
    dial.evaluate(STEPS_DOWN, [6, 450])
    expect(dial).to_have_js_property("value", str(max(0, start - 6)))
    expect(told).to_have_attribute("data-said", re.compile("."))
    wait_idle(page)
    shown = page.locator(".finding, .numbers li, .caption[data-told], .head[data-told] .count")
    texts = [re.escape(" ".join(text.split())) for text in shown.all_inner_texts() if text.strip()]
    assert texts
    expect(told).to_have_attribute("data-said", re.compile("|".join(texts)))
    said = page.evaluate("window.__said")
    assert len(said) <= 2, said  # a page that is slow to follow may add what the server knows
    assert page.locator("[aria-live]").count() == 0
    assert not watch.page_errors


FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  const keys = [];
  for (let up = node; up; up = up.parentElement ?? up.getRootNode().host)
    keys.push(...[...up.classList].filter(name => name.startsWith('st-key-')));
  return { tag: node.tagName, text: node.ariaLabel || node.innerText || '', keys };
}"""


def press(page: Page, button: Locator) -> None:
    """Press a button by key, as a person whose last input was a key."""
    button.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")


def expect_focus(page: Page, holds: str) -> dict[str, Any]:
    """Wait until the element that has the focus, `f` as in `FOCUSED`, is as wanted."""
    page.wait_for_function(f"() => {{ const f = ({FOCUSED})(); return {holds}; }}")
    return page.evaluate(FOCUSED)


def test_the_focus_stays_where_something_was_replaced(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, f"{app_url}/lesson")
    field = page.locator("input[type=number]").first
    field.focus()
    page.keyboard.type("70")
    press(page, page.get_by_role("button", name="Check").first)
    expect_focus(page, "f.tag !== 'BODY' && f.text.includes('Take a guess')")
    assert not watch.page_errors


def test_the_focus_follows_the_game(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, f"{app_url}/attacker?view=Guess+the+word")
    press(page, page.locator(".st-key-game_guesses").get_by_role("button").first)
    # The block with the verdict; the button, where it came at once.
    expect_focus(page, "f.tag !== 'BODY' && f.text.includes('Next word')")
    press(page, page.get_by_role("button", name="Next word"))
    expect_focus(page, "f.tag !== 'BODY' && f.text.includes('Round 2')")
    assert not watch.page_errors


def test_no_focus_is_given_to_someone_with_a_mouse(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, f"{app_url}/lesson")
    page.locator("input[type=number]").first.fill("70")
    page.get_by_role("button", name="Check").first.click()
    expect(page.get_by_text("1 of 9 guesses made")).to_be_visible()
    wait_idle(page)
    page.wait_for_timeout(3_000)
    assert page.evaluate(FOCUSED)["tag"] == "BODY"
    assert not watch.page_errors


def test_a_link_leads_to_the_title_of_its_page_which_is_said(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, app_url)
    expect(page.locator("#told")).to_have_attribute("data-page", "/")
    page.keyboard.press("Tab")
    press(page, page.get_by_role("link", name="Compare all methods"))
    expect(page).to_have_title("Trade-off – Word Privacy Lab", timeout=60_000)
    expect_focus(page, "f.tag === 'H1'")
    said = re.compile("Trade-off – Word Privacy Lab")
    expect(page.locator("#told")).to_have_attribute("data-said", said)
    # And past the end of a scrolled page the link to its content leads to its top.
    page.get_by_test_id("stMain").evaluate("node => node.scrollTo(0, 9999)")
    page.get_by_test_id("stSkipToContent").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")
    assert not watch.page_errors


def test_a_popover_that_a_key_opened_takes_the_focus_and_gives_it_back(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, app_url)
    button = page.get_by_role("button", name="Your own sentence")
    press(page, button)
    expect_focus(page, "f.keys.includes('st-key-preset')")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect_focus(page, "f.keys.includes('st-key-preset')")
    page.keyboard.press("Shift+Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect_focus(page, "f.keys.includes('st-key-preset')")
    stops = go_to(page, "node.matches('button') && node.innerText.includes('Draw again')")
    assert any("Your sentence" in stop for stop in stops)
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    assert not watch.page_errors


def test_a_popover_does_not_take_the_focus_from_the_field_that_was_reached_meanwhile(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, app_url)
    page.evaluate(HOLD_LOOKS)
    press(page, page.get_by_role("button", name="Your own sentence"))
    expect(page.get_by_role("textbox", name="Your sentence")).to_be_visible()
    wait_idle(page)
    go_to(page, "node.matches('textarea')")
    page.keyboard.press("Control+A")
    page.keyboard.type("A violin")
    assert page.evaluate("() => window.__look()")  # it had been looking
    page.keyboard.type(" in winter")
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value("A violin in winter")
    assert not watch.page_errors


def test_escape_leaves_a_table_that_fills_the_screen(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_page(page, f"{app_url}/robustness")
    table = page.get_by_test_id("stDataFrame").first
    leave = page.get_by_role("button", name="Close fullscreen")
    for searched in (False, True):
        page.get_by_role("button", name="Fullscreen:").first.press("Enter")
        expect(leave).to_be_visible()
        table.click(position={"x": 300, "y": 55})
        if searched:
            page.get_by_role("button", name="Search:").first.press("Enter")
            search = table.get_by_role("textbox")
            expect(search).to_be_focused()
            page.keyboard.press("Escape")
            expect(search).to_have_count(0)
            expect(leave).to_be_visible()
        page.keyboard.press("Escape")
        expect(leave).to_have_count(0)


def test_after_an_upload_the_focus_is_in_the_popover_still(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    # A listener is announced to the browser without waiting for it: announced just before the key
    # that opens the chooser, it may come after that.
    page.on("filechooser", lambda _: None)
    open_page(page, f"{app_url}/release")
    # The first sentences are read with the page: only later ones are said.
    expect(page.locator("#told")).to_have_attribute("data-page", "/release")
    page.evaluate(KEEP_SAID)
    press(page, page.get_by_role("button", name="Your file"))
    expect_focus(page, "f.keys.includes('st-key-use_file')")
    go_to(page, "node.innerText?.includes('Upload')")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    rows = "".join(f"{label},the food was {label} today\n" for label in ("good", "bad") * 30)
    chooser.value.set_files(
        {"name": "reviews.csv", "mimeType": "text/csv", "buffer": f"label,text\n{rows}".encode()}
    )
    expect_focus(page, "f.tag !== 'BODY' && f.text.includes('reviews.csv')")
    # Not always the last: where the page rests before all of its answer is there, more follows.
    page.wait_for_function("() => window.__said.some(each => each.includes('reviews.csv'))")
    assert not watch.page_errors


def test_the_sidebar_over_a_small_page_takes_the_focus_and_gives_it_back(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(viewport={"width": 640, "height": 360}, reduced_motion="reduce")
    open_page(page, f"{app_url}/release")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the button that opens the menu")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expand = page.get_by_test_id("stExpandSidebarButton")
    collapse = page.get_by_role("button", name="Collapse sidebar")
    sidebar = page.get_by_test_id("stSidebar")
    expect(expand).to_be_focused()
    for close in ("Escape", "Enter"):
        page.keyboard.press("Enter")
        expect(collapse).to_be_focused()
        page.keyboard.press(close)
        expect(expand).to_be_focused()
        expect(sidebar).to_have_attribute("data-collapsed", "true")
    page.keyboard.press("Enter")
    expect(collapse).to_be_focused()
    go_to(page, "node.matches('a') && node.innerText.trim() === 'Words'")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Words – Word Privacy Lab", timeout=60_000)
    expect_focus(page, "f.tag === 'H1'")
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    assert not watch.page_errors


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_no_bar_hides_what_has_the_focus(
    app_url: str, new_page: NewPage, size: tuple[int, int]
) -> None:
    page, watch = new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    open_page(page, app_url)
    page.get_by_test_id("stMain").evaluate("node => node.scrollTo(0, 9999)")
    page.get_by_role("link", name="Lesson").last.focus()
    hidden = """() => {
      let node = document.activeElement;
      while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
      const { x, y, width, height } = node.getBoundingClientRect();
      let top = document.elementFromPoint(x + width / 2, y + height / 2);
      while (top?.shadowRoot) top = top.shadowRoot.elementFromPoint(x + width / 2, y + height / 2);
      return node.matches('main') || top?.contains(node) || node.contains(top)
        || node.closest('.stPopover') ? '' : node.innerText;
    }"""
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        if page.evaluate("document.activeElement.matches('main')"):
            break
        assert not page.evaluate(hidden)
    assert not watch.page_errors
