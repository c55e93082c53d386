"""The Utility page in a real Chromium: a run, an upload, phone, both themes, axe."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import WAIT_MS, Watch, assert_accessible, open_page, wait_idle
from tests.browser.server import Server

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def workers(server: Server) -> list[str]:
    """Processes that the server started for runs (Linux)."""
    result = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_text()
        except (OSError, ValueError):
            continue  # it has just ended
        if parent == server.pid and "dpcore.jobs.worker" in command:
            result.append(status.parent.name)
    return result


def test_a_run_moves_within_its_parts_shows_them_and_stops_at_once(
    app: Server, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app.url}/utility?use_texts=150&use_trials=5&use_metric=madlib")
    page.get_by_role("button", name="Run", exact=True).click(timeout=WAIT_MS)
    told = page.get_by_test_id("stProgress")
    seen: dict[str, float] = {}
    end = time.monotonic() + 3 * WAIT_MS / 1000  # the worker leaves all others their time
    while page.locator(".js-plotly-plot").count() < 2 and time.monotonic() < end:
        if told.count():
            seen.setdefault(told.inner_text(), time.monotonic())
        page.wait_for_timeout(100)
    within = [text for text in seen if text.startswith("Part 2 of 10 (madlib, trial 1): ")]
    assert len(within) >= 2, seen  # it moves within a part
    assert any(text.startswith("Part 1 of 10 (baseline") for text in seen)
    assert any("words rewritten" in text or "values of ε begun" in text for text in seen)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)  # after the first mechanism
    assert workers(app)
    page.get_by_role("button", name="Stop and keep what is there").click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    assert workers(app) == []
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    assert not watch.page_errors


def test_the_ends_of_epsilon_stand_in_the_link(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_page(page, f"{app_url}/utility")
    ends = page.get_by_role("slider", name="Metric privacy: ε per distance, from and to")
    ends.first.press("Home")
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["use_ends_metric"] == ["0.1", "20"]


def test_an_uploaded_table_is_run_stopped_and_never_markup(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/utility?use_trials=5")
    page.get_by_role("radio", name="A table of your own").click()
    wait_idle(page)
    picture = "![x](http://example.org/x.png)"
    rows = "".join(f"{picture} good number {i},<b>{i % 2}</b>\n" for i in range(60))
    upload = page.get_by_test_id("stFileUploaderDropzoneInput")
    upload.set_input_files(
        {"name": "own.csv", "mimeType": "text/csv", "buffer": f"words,kind\n{rows}".encode()}
    )
    expect(page.get_by_text("Used: 60 texts of 2 classes")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click(timeout=WAIT_MS)
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
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any]
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/utility")
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
