"""The Robustness page in a real Chromium: deep link, keyboard, typed text, phone, themes, axe."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, by_turns, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
TRAINED = 120_000  # a fresh server trains its classifiers once
NewPage = Callable[..., tuple[Page, Watch]]


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/robustness/_stcore/" not in entry]


def open_view(page: Page, url: str, text: str) -> None:
    open_page(page, url)
    expect(page.get_by_text(text).first).to_be_visible(timeout=TRAINED)
    wait_idle(page)


def test_a_deep_link_shows_one_picture_and_the_arrow_keys_go_on(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_view(page, f"{app_url}/robustness?digits_part=One+picture&digits_picture=5", "Picture 5,")
    expect(page).to_have_title("Robustness – Word Privacy Lab")
    expect(page.get_by_text("computed now")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3, timeout=TRAINED)
    wait_idle(page)
    slider = page.locator(".st-key-digits_picture").get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Picture 6,")).to_be_visible()
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["digits_picture"] == ["6"]
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_the_dial_moves_the_picture_and_its_radius(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_view(page, f"{app_url}/robustness?digits_scale=0.2", "Certified radius")
    radius = page.get_by_test_id("stMetricValue")
    dial = page.get_by_role("slider", name="Scale of the noise")
    expect(dial).to_have_attribute("aria-valuetext", f"certified up to {radius.inner_text()} L2; "
                                   "noise of scale 0.2")  # fmt: skip
    before = radius.inner_text()
    dial.focus()
    page.keyboard.press("ArrowRight")
    expect(radius).not_to_have_text(before, timeout=TRAINED)
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query).get("digits_scale", ["0.25"]) == ["0.25"]
    expect(dial).to_have_attribute("aria-valuetext", f"certified up to {radius.inner_text()} L2; "
                                   "noise of scale 0.25")  # fmt: skip
    assert not watch.page_errors


def test_a_typed_text_is_no_markup_and_no_part_of_the_address(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_view(page, f"{app_url}/robustness?robust_view=Attack", "Read as")
    page.get_by_role("radio", name="my own").click()
    wait_idle(page)
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill("![x](http://example.org/x.png) the <b>worst</b> waiter and terrible food")
    box.press("Control+Enter")
    expect(page.get_by_text("Read as negative")).to_be_visible()
    wait_idle(page)
    assert page.locator("img[src*='example.org']").count() == 0
    assert page.locator("b", has_text="worst").count() == 0
    assert "waiter" not in page.url
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


VIEWS = {
    "robust_view=Words&words_part=One+text": "Smallest margin",
    "robust_view=Attack": "Read as",
    "robust_view=Training": "recorded",
    "robust_view=Auto-encoders": "recorded",
    "robust_view=Noise+in+networks": "recorded",
}


@pytest.mark.parametrize(
    ("view", "scheme", "options"),
    by_turns([(view,) for view in VIEWS], [("light", {}), ("dark", PHONE)]),
)
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any], view: str
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_view(page, f"{app_url}/robustness?{view}", VIEWS[view])
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
