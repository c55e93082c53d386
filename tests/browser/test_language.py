"""The pages in German in a real Chromium: chosen, kept in links and on the way, on a phone."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shared.language import say, speaking
from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle
from tests.browser.test_reach import FAULTS, OFTEN, SELDOM, rest

NewPage = Callable[..., tuple[Page, Watch]]
WIDTHS = (390, 320)
FEW = "sample=3&runs=20&curve_metric=tem&curve_log="


def german(sentence: str) -> str:
    with speaking("de"):
        return say(sentence)


def link(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def spoken(page: Page) -> str:
    return str(page.evaluate("document.documentElement.lang"))


def aids(page: Page, name: str = "Reading aids") -> Locator:
    expand = page.get_by_test_id("stExpandSidebarButton")
    if expand.is_visible():  # folded away where a page needs the width
        expand.click()
    return page.get_by_test_id("stSidebarUserContent").get_by_text(name, exact=True)


def choose(page: Page, group: str, option: str) -> None:
    page.get_by_role("radiogroup", name=group).get_by_text(option, exact=True).click()
    wait_idle(page)


def test_german_is_chosen_and_kept_until_english_is(app_url: str, page: Page) -> None:
    open_page(page, f"{app_url}/lesson")
    assert spoken(page) == "en"
    aids(page).click()
    choose(page, "Language", "Deutsch")
    title = german("Private words in nine steps")
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    assert spoken(page) == "de"
    assert link(page)["lang"] == ["de"]
    assert_accessible(page)
    # Folded again: beside an open sidebar the last pages are behind a button of the menu.
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()

    page.get_by_role("link", name=german("Words"), exact=True).click()
    wait_idle(page)
    expect(page).to_have_title(f"{german('Words')} – Word Privacy Lab")
    assert link(page)["lang"] == ["de"]
    page.reload()
    wait_idle(page)
    expect(page).to_have_title(f"{german('Words')} – Word Privacy Lab")
    assert spoken(page) == "de"

    page.get_by_role("link", name=german("Lesson"), exact=True).click()
    wait_idle(page)
    aids(page, german("Reading aids")).click()
    choose(page, german("Language"), "English")
    expect(page.get_by_role("heading", name="Private words in nine steps")).to_be_visible()
    assert "lang" not in link(page)
    assert spoken(page) == "en"


def test_a_choice_in_german_is_the_same_choice_in_english(app_url: str, page: Page) -> None:
    open_page(page, f"{app_url}/curves?{FEW}&lang=de")
    rest(page)
    choose(page, german("Band around each mean"), german("± standard deviation"))
    assert link(page)["band"] == ["± standard deviation"]
    open_page(page, page.url.replace("lang=de", "lang=en"))
    rest(page)
    band = page.get_by_role("radiogroup", name="Band around each mean")
    expect(band.get_by_role("radio", name="± standard deviation")).to_be_checked()


@pytest.mark.parametrize(
    "address", [*SELDOM, *(pytest.param(address, marks=pytest.mark.full) for address in OFTEN)]
)
def test_no_german_word_is_cut_on_a_phone(app_url: str, new_page: NewPage, address: str) -> None:
    page, watch = new_page(viewport={"width": WIDTHS[0], "height": 844}, reduced_motion="reduce")
    open_page(page, f"{app_url}/{address}?lang=de")
    rest(page)
    assert spoken(page) == "de"
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        wait_idle(page)
        assert page.evaluate(FAULTS) == [], width
    assert not watch.page_errors
    assert not watch.foreign_requests


# As the translator of a browser does it: each text goes into an element of the translator's own,
# now and whenever one is added, but not where the page says that nothing is to be translated.
TRANSLATOR = """() => {
  let texts = 0, wrapped = 0;
  const wrap = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    for (const text of found) {
      const parent = text.parentElement;
      if (!text.data.trim() || !parent) continue;
      if (["SCRIPT", "STYLE", "FONT"].includes(parent.tagName)) continue;
      texts += 1;
      if (parent.closest("[translate=no], .notranslate")) continue;
      const font = document.createElement("font");
      font.textContent = text.data;
      text.replaceWith(font);
      wrapped += 1;
    }
  };
  wrap(document.body);
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      if (node.nodeType === 1 && node.tagName !== "FONT") wrap(node);
      else if (node.nodeType === 3 && node.parentElement) wrap(node.parentElement);
    }
  }).observe(document.body, { childList: true, subtree: true });
  return [texts, wrapped];
}"""
SHOWN = """() => {
  const main = document.querySelector("[data-testid=stMain]").cloneNode(true);
  // A table draws itself on a canvas, and says a moment later what it drew.
  for (const unseen of main.querySelectorAll("style, script, canvas")) unseen.remove();
  return main.textContent.replace(/\\s+/g, " ");
}"""


@pytest.mark.parametrize("spoken_in", [pytest.param("en", marks=pytest.mark.full), "de"])
def test_a_browser_that_translates_freezes_no_number(
    app_url: str, page: Page, spoken_in: str
) -> None:
    open_page(page, f"{app_url}/attacker?lang={spoken_in}")
    assert spoken(page) == spoken_in
    texts, wrapped = page.evaluate(TRANSLATOR)
    assert texts > 50
    assert wrapped == 0
    assert page.locator("meta[name=google]").get_attribute("content") == "notranslate"
    before = page.evaluate(SHOWN)
    dial = page.get_by_role("slider").first
    for _ in range(3):
        dial.focus()
        page.keyboard.press("ArrowRight")
        wait_idle(page)
    after = page.evaluate(SHOWN)
    assert after != before
    open_page(page, page.url)
    assert page.evaluate(SHOWN) == after
