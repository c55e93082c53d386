"""The Robustness page in a real Chromium: deep link, keyboard, typed text, phone, themes, axe."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from dpcore.learn.pixeldp.digits import digits
from tests.browser.pages import Watch, assert_accessible, by_turns, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
TRAINED = 120_000  # a fresh server trains its classifiers once
RADIUS = r"Certified up to [\d.]+ L2: one pixel by [\d.]+ %; noise of scale "
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
    open_view(
        page, f"{app_url}/robustness?digits_part=One+picture&digits_picture=5", "Certified up to"
    )
    expect(page).to_have_title("Robustness – Word Privacy Lab")
    expect(page.get_by_text("computed now")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3, timeout=TRAINED)
    wait_idle(page)
    slider = page.locator(".st-key-digits_picture").get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    six = re.compile(f"A {int(digits().test_labels[6])} of")
    board = page.locator(".painting svg")
    expect(board).to_have_attribute("aria-label", six, timeout=TRAINED)
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["digits_picture"] == ["6"]
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_the_dial_moves_the_certified_radius(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_view(page, f"{app_url}/robustness?digits_scale=0.2", "Certified up to")
    finding = page.locator(".painting .finding")
    expect(finding).to_contain_text("Read as")
    dial = page.get_by_role("slider", name="Scale of the noise")
    expect(dial).to_have_attribute("aria-valuetext", re.compile(RADIUS + "0.2$"))
    radius = page.locator(".painting svg text", has_text="certified")
    before = radius.inner_html()
    dial.focus()
    page.keyboard.press("ArrowRight")
    expect(radius).not_to_have_text(before, timeout=TRAINED)
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query).get("digits_scale", ["0.25"]) == ["0.25"]
    certified = re.compile(
        r"Certified up to [\d.]+ L2: one pixel by [\d.]+ %; noise of scale 0.25$"
    )
    expect(dial).to_have_attribute("aria-valuetext", certified)
    assert not watch.page_errors


def test_pixels_are_painted_by_mouse_and_keyboard_until_the_vote_flips(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_view(page, f"{app_url}/robustness", "Certified up to")
    finding, pixels = page.locator(".painting .finding"), page.get_by_role("gridcell")
    expect(finding).to_contain_text("Read as 4, correctly")
    pixels.first.click()
    expect(finding).to_contain_text("Within the certified radius")
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["painted"][0].startswith("4")
    page.keyboard.press("Space")
    expect(finding).to_contain_text("You have left the certified radius")
    # Strokes of the mouse through three lines, until nothing darkens any more.
    for _ in range(4):
        for line in range(3):
            first, last = (pixels.nth(8 * line + i).bounding_box() for i in (1, 6))
            assert first is not None
            assert last is not None
            page.mouse.move(first["x"] + 9, first["y"] + 9)
            page.mouse.down()
            page.mouse.move(last["x"] + 9, last["y"] + 9, steps=15)
            page.mouse.up()
    expect(finding).to_contain_text("Flipped")
    page.get_by_role("button", name="Restore the digit").click()
    expect(finding).to_contain_text("Read as 4, correctly")
    expect(pixels.first).to_have_attribute("aria-label", "line 1, column 1: 0 % black")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator(".painting .changed")).to_have_count(1)
    page.keyboard.press("Backspace")
    expect(page.locator(".painting .changed")).to_have_count(0)
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_a_finger_paints_in_a_link_that_was_shared(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(color_scheme="dark", **PHONE)
    white = "0" * 64
    open_view(page, f"{app_url}/robustness?painted={white}", "Certified up to")
    pixels = page.get_by_role("gridcell")
    expect(page.locator(".painting .finding")).to_contain_text(re.compile("Flipped|have left"))
    pixels.nth(9).tap()
    expect(pixels.nth(9)).to_have_attribute("aria-label", re.compile(r"25 % black"))
    assert_accessible(page)
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
