"""From page to page in a real Chromium: a choice goes along, and a link of it is whole."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, open_page, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]


def pressed(page: Page, name: str) -> bool:
    pill = page.get_by_role("button", name=name, exact=True)
    return pill.get_attribute("aria-pressed") == "true"


def test_mechanisms_are_kept_while_one_walks_and_in_the_link(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/rewrite")
    assert pressed(page, "madlib")
    page.get_by_role("button", name="madlib", exact=True).click()
    wait_idle(page)
    page.get_by_role("link", name="Neighbourhoods").click()
    expect(page).to_have_title("Neighbourhoods – Word Privacy Lab")
    wait_idle(page)
    assert not pressed(page, "madlib")
    assert pressed(page, "vickrey")
    linked = parse_qs(urlsplit(page.url).query)["curve_metric"]
    assert "madlib" not in " ".join(linked)
    page.get_by_role("button", name="mahalanobis", exact=True).click()
    wait_idle(page)
    page.get_by_role("link", name="Rewrite").click()
    expect(page).to_have_title("Rewrite – Word Privacy Lab")
    wait_idle(page)
    assert not pressed(page, "madlib")
    assert not pressed(page, "mahalanobis")
    link = page.url
    other, _ = new_page()
    open_page(other, link)
    assert not pressed(other, "madlib")
    assert pressed(other, "vickrey")
    assert not watch.page_errors
