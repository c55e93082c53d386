"""The Utility page in a real Chromium: deep link, views, an upload, phone, both themes, axe."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]
OWN = "use_source=A+run+of+your+own"


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/utility/_stcore/" not in entry]


def test_a_deep_link_opens_a_record_and_the_views_change(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/utility?experiment=carvalho2021-figure-1")
    expect(page).to_have_title("Utility – Word Privacy Lab")
    expect(page.locator(".js-plotly-plot")).to_have_count(2, timeout=60_000)
    page.get_by_role("tab", name="Membership").click()
    expect(page.get_by_text("nothing is seen below a false-positive rate")).to_be_visible()
    wait_idle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query["use_view"] == ["Membership"]
    assert query["experiment"] == ["carvalho2021-figure-1"]
    page.get_by_role("tab", name="Paper against measurement").click()
    expect(page.get_by_text("The paper: ").first).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_an_uploaded_table_is_run_stopped_and_never_markup(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/utility?{OWN}&use_trials=5")
    page.get_by_role("radio", name="A table of your own").click()
    wait_idle(page)
    picture = "![x](http://example.org/x.png)"
    rows = "".join(f"{picture} good number {i},<b>{i % 2}</b>\n" for i in range(60))
    upload = page.get_by_test_id("stFileUploaderDropzoneInput")
    upload.set_input_files(
        {"name": "own.csv", "mimeType": "text/csv", "buffer": f"words,kind\n{rows}".encode()}
    )
    expect(page.get_by_text("Used: 60 texts of 2 classes")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    stop = page.get_by_role("button", name="Stop and keep what is there")
    expect(stop).to_be_visible()
    stop.click()
    expect(page.get_by_text("Stopped after")).to_be_visible(timeout=60_000)
    wait_idle(page)
    assert page.locator("img[src*='example.org']").count() == 0
    assert "example.org" not in page.url
    assert not watch.foreign_requests
    assert not watch.page_errors


@pytest.mark.parametrize(("scheme", "options"), [("light", {}), ("dark", PHONE)])
@pytest.mark.parametrize("view", ["experiment=carvalho2021-figure-1", OWN])
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, object], view: str
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/utility?{view}")
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
