"""The Deniability page in a real Chromium: menu, deep link, slider, stop, phone, accessibility."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle
from tests.browser.server import Server

FEW = "sample=3&runs=20"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def open_curves(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=30_000)
    wait_idle(page)


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/deniability/_stcore/" not in entry]


def test_a_deep_link_on_a_fresh_server_gets_the_frame(
    start_server: Callable[..., Server], new_page: NewPage
) -> None:
    server = start_server()
    page, watch = new_page()
    open_curves(
        page, f"{server.url}/deniability?eps_metric=5&seed=7&curve_metric=tem&curve_log=&{FEW}"
    )
    expect(page).to_have_title("Deniability – Word Privacy Lab")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    expect(page.get_by_text("at ε = 5. tem: mean").first).to_be_visible()
    assert page.locator(".js-plotly-plot").count() == 2
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors
    assert "Traceback" not in server.printed()


def test_the_menu_leads_there_and_back(app_url: str, page: Page) -> None:
    open_page(page, app_url)
    page.get_by_role("link", name="Deniability").click()
    expect(page.locator(".js-plotly-plot")).to_have_count(4, timeout=30_000)
    wait_idle(page)
    seed = page.get_by_role("spinbutton", name="Seed")
    seed.fill("7")
    seed.press("Enter")
    expect(page.get_by_text("· seed 7 ·")).to_be_visible(timeout=30_000)
    wait_idle(page)
    # The mechanisms of the other page have not come along.
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    expect(page.get_by_text("vickrey: mean")).to_have_count(0)
    page.get_by_role("link", name="Rewrite").click()
    expect(page.locator(".grid .words").first).to_be_visible()
    wait_idle(page)
    expect(page.locator(".grid .words")).to_have_count(6)
    expect(page.locator(".grid .changed").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_curves(
        page,
        f"{app_url}/deniability?curve_local=gaussian&curve_local=laplace&curve_metric=tem&{FEW}",
    )
    for summary in page.locator("details summary").all():
        summary.click()
    assert_accessible(page)
    for view in ("Word by word", "Link and command"):
        page.get_by_role("tab", name=view).click()
        wait_idle(page)
        assert_accessible(page)
    page.get_by_role("radio", name="My own words").click()
    expect(page.get_by_role("textbox", name="Your words")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    assert own_faults(watch) == []
    assert not watch.page_errors


def test_a_slider_step_by_keyboard_moves_the_mark_and_the_link(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page()
    open_curves(page, f"{app_url}/deniability?curve_metric=tem&curve_log=&{FEW}")
    page.locator(".st-key-eps_metric").get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    wait_idle(page)
    (value,) = parse_qs(urlsplit(page.url).query)["eps_metric"]
    assert float(value) < 12
    expect(page.get_by_text(f"at ε = {value}. tem: mean").first).to_be_visible()
    mark = page.evaluate("document.querySelector('.js-plotly-plot').layout.shapes[0].x0")
    assert mark == float(value)


def test_a_long_measurement_can_be_stopped_and_keeps_what_is_there(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    page.goto(
        f"{app_url}/deniability?curve_metric=tem&curve_log=&curve_local=trlaplace&sample=100&runs=50"
    )
    expect(page.get_by_text("s left")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Stop and show what is there").click()
    expect(page.get_by_text("Stopped: not all words are measured.")).to_be_visible(timeout=30_000)
    wait_idle(page)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_role("button", name="Go on measuring")).to_be_visible()
    assert not watch.page_errors


def test_a_phone_has_no_sideways_scrolling(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(**PHONE)
    open_curves(page, f"{app_url}/deniability?{FEW}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    edges = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')]"
        ".map(plot => plot.getBoundingClientRect().right)"
    )
    assert max(edges) <= 390
