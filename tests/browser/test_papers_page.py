"""The Audit page in a real Chromium: deep link, a row, a live audit, phone, both themes, axe."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]
# The checkbox of the fifth row, in a table that is drawn on a canvas.
_ROW, _CHECKBOX = 38 + 35 * 4 + 17, 16


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/audit/_stcore/" not in entry]


def test_a_row_chooses_a_claim_and_the_button_computes_it(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/audit")
    expect(page).to_have_title("Audit – Word Privacy Lab")
    expect(page.get_by_text("✘ refuted: 5")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").first
    table.click(position={"x": _CHECKBOX, "y": _ROW})
    expect(page.get_by_role("heading", name="ADePT, as published")).to_be_visible(timeout=30_000)
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["claim"] == ["adept-published"]
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page.get_by_label("n", exact=True).fill("1")
    page.get_by_role("button", name="Compute with these settings").click()
    expect(page.get_by_role("heading", name="ADePT, as published: ✔ proved")).to_be_visible()
    wait_idle(page)
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


@pytest.mark.parametrize(("scheme", "options"), [("light", {}), ("dark", PHONE)])
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any]
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/audit?claim=adept-published")
    expect(page.locator(".js-plotly-plot")).to_have_count(2, timeout=60_000)
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
