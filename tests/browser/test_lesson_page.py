"""The lesson in a real Chromium: a guess by keyboard, phone, both themes, axe."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import WAIT_MS, Watch, assert_accessible, by_turns, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def test_a_guess_by_keyboard_and_the_way_to_a_page(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/lesson")
    field = page.get_by_role("spinbutton")
    field.focus()
    page.keyboard.type("70")
    page.keyboard.press("Tab")
    wait_idle(page)
    button = page.get_by_role("button", name="Check")
    button.focus()
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page.get_by_text("In 77% of all cases", exact=False)).to_be_visible()
    expect(page.get_by_text("1 of 9 guesses made, 1 correct.")).to_be_visible()
    page.get_by_role("button", name="Next step").click()
    wait_idle(page)
    title = page.get_by_role("heading", name="2. One word, one draw of noise")
    expect(title).to_be_in_viewport()
    expect(title).to_be_focused()
    assert title.bounding_box()["y"] >= 56  # below the bar of the app
    assert "step=draw" in page.url
    page.get_by_role("button", name="Back").click()
    wait_idle(page)
    page.get_by_role("link", name="Take a letter with names").click()
    expect(page).to_have_title("Rewrite – Word Privacy Lab")
    wait_idle(page)
    assert "preset=letter" in page.url
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value(re.compile("Anna"))
    assert not watch.page_errors
    assert not watch.foreign_requests


@pytest.mark.parametrize(
    ("step", "scheme", "options"),
    by_turns([("names",), ("odds",)], [("light", {}), ("dark", PHONE)]),
)
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any], step: str
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/lesson?step={step}&large=true&explain=true")
    page.get_by_text("The formula").click()
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
    assert not watch.foreign_requests


def test_large_letters_cut_no_name_and_enlarge_charts(app_url: str, page: Page) -> None:
    open_page(page, f"{app_url}/attacker?large=true&mechanism=tem")
    letters = page.locator(".js-plotly-plot .xtick text").first
    expect(letters).to_have_css("font-size", "16px", timeout=WAIT_MS)
    open_page(page, f"{app_url}/rewrite?large=true")
    wait_idle(page)
    cut = page.locator("#stSidebar button p").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    )
    assert cut == []


def test_large_letters_on_a_projector_keep_bars_and_slider_in_sight(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page(viewport={"width": 1280, "height": 720})
    open_page(page, f"{app_url}/lesson?step=odds&large=true")
    tracks = page.locator(".turning .bars .track")
    expect(tracks.first).to_be_visible(timeout=WAIT_MS)
    assert tracks.first.bounding_box()["width"] > 300
    open_page(page, f"{app_url}/start?large=true")
    dial = page.locator(".dial:not(.sweeping)")
    dial.wait_for(timeout=WAIT_MS)
    box = dial.bounding_box()
    assert box["y"] + box["height"] <= 720


def test_a_draw_is_drawn_and_a_slider_turns_without_the_server(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    open_page(page, f"{app_url}/lesson?step=draw")
    expect(page.locator(".turning .noise")).to_have_count(0)
    button = page.get_by_role("button", name="Draw", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".turning .noise")).to_have_count(1)
    expect(page.locator(".turning .finding")).to_contain_text("The noise moved “doctor”")
    page.keyboard.press("Enter")
    expect(page.locator(".turning .bars")).to_contain_text("of 2 draws")
    open_page(page, f"{app_url}/lesson?step=claim")
    slider = page.get_by_role("slider", name="Numbers that sum up a text")
    expect(slider).to_have_attribute("aria-valuetext", "4 numbers", timeout=WAIT_MS)
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".turning .finding")).to_have_text(
        "With 16 of them, the true ε is 4 times the claimed one."
    )
    page.keyboard.press("End")
    expect(page.locator(".turning .bars")).to_contain_text("?")
    page.wait_for_url("**at=5**")
    open_page(page, page.url)
    slider = page.get_by_role("slider", name="Numbers that sum up a text")
    expect(slider).to_have_attribute("aria-valuetext", "1,024 numbers", timeout=WAIT_MS)
    assert not watch.page_errors
    assert not watch.foreign_requests
