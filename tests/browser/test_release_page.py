"""The Release page in a real Chromium: dial, table, a private copy, a run, phone, themes, axe."""

import csv
import io
import json
import re
import time
from collections import Counter
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
    open_page(page, f"{app.url}/release?use_texts=300&use_trials=5&use_metric=madlib&use_local=")
    page.get_by_role("button", name="Start the test", exact=True).click(timeout=WAIT_MS)
    told = page.get_by_test_id("stProgress")
    seen: dict[str, float] = {}
    end = time.monotonic() + 3 * WAIT_MS / 1000  # the worker leaves all others their time
    while page.locator(".js-plotly-plot").count() < 2 and time.monotonic() < end:
        if told.count():
            seen.setdefault(told.inner_text(), time.monotonic())
        page.wait_for_timeout(100)
    # A quick machine is through with a part of 150 texts between two reports.
    within = Counter(text.partition(":")[0] for text in seen if "(madlib, " in text)
    assert max(within.values()) >= 2, seen  # it moves within a part
    assert any(text.startswith("Part 1 of 10 (baseline") for text in seen)
    assert any("words rewritten" in text or "values of ε begun" in text for text in seen)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)  # after the first mechanism
    assert workers(app)
    page.get_by_role("button", name="Stop and keep results so far").click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    assert workers(app) == []
    expect(page.get_by_role("button", name="Test again")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    assert not watch.page_errors


def test_the_ends_of_epsilon_stand_in_the_link(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_page(page, f"{app_url}/release")
    page.get_by_text("Test settings").click()
    ends = page.get_by_role("slider", name="Metric privacy: ε per distance, from and to")
    ends.first.press("Home")
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["use_ends_metric"] == ["0.1", "20"]


PICTURE = "![x](http://example.org/x.png)"
TABLE = "words,kind\n" + "".join(
    f"{PICTURE} a good day number {i},<b>{i % 2}</b>\n" for i in range(60)
)


def drop(page: Page) -> None:
    """Upload a file to the page."""
    page.get_by_role("button", name="Your file").click(timeout=WAIT_MS)
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": "<b>own.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    )
    wait_idle(page)
    page.keyboard.press("Escape")
    wait_idle(page)


def test_an_uploaded_table_is_run_stopped_and_never_markup(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/release?use_trials=5")
    drop(page)
    page.get_by_text("Test settings").click()
    expect(page.get_by_text("Used: 60 texts of 2 classes")).to_be_visible()
    page.get_by_role("button", name="Start the test", exact=True).click(timeout=WAIT_MS)
    stop = page.get_by_role("button", name="Stop and keep results so far")
    expect(stop).to_be_visible(timeout=WAIT_MS)
    stop.click()
    expect(page.get_by_text("Stopped after")).to_be_visible(timeout=60_000)
    wait_idle(page)
    assert page.locator("img[src*='example.org']").count() == 0
    assert "example.org" not in page.url
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_a_private_copy_is_made_and_saved_once(app: Server, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app.url}/release")
    drop(page)
    keep = page.get_by_role("combobox", name="Columns to copy unchanged (not protected)")
    keep.click()
    page.get_by_role("option", name="kind").click()
    page.keyboard.press("Escape")
    wait_idle(page)
    page.get_by_role("button", name="Make the private copy").click()
    expect(page.get_by_role("heading", name="Privacy label")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert workers(app) == []  # and the secret with it
    saved = {}
    for title in ("Private copy", "Record as JSON", "Label as HTML", "Label as JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=title, exact=True).click()
        saved[title] = waiting.value.path().read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(saved["Private copy"], newline="")))
    assert [row["column 2"] for row in rows] == [f"<b>{i % 2}</b>" for i in range(60)]
    assert "example.org" not in saved["Private copy"]
    record = json.loads(saved["Record as JSON"])
    assert record["kind"] == "release"
    assert json.loads(saved["Label as JSON"])["run"] == record["run"]
    assert record["run"] in saved["Label as HTML"]
    expect(page.get_by_role("button", name="Make the private copy")).to_be_disabled()
    assert_accessible(page)
    watch.assert_clean()


def test_the_names_of_the_copy_are_seen_and_chosen_before_it_is_made(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/release?offer=k-ary")
    drop(page)
    expect(page.get_by_text("Counting: 60 texts are")).to_be_visible()
    page.get_by_role("combobox", name="Columns to copy unchanged (not protected)").click()
    page.get_by_role("option", name="kind").click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Columns of the copy: column 1, column 2")).to_be_visible()
    page.get_by_text("Use the names of your columns in the private copy").click()
    expect(page.get_by_text("Columns of the copy: words, kind")).to_be_visible()
    page.get_by_role("button", name="Make the private copy").click()
    told = page.get_by_text("No difference between the groups is certain: 60 texts are too few")
    expect(told).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    page.get_by_role("link", name="Words").first.click()
    expect(page).to_have_url(re.compile("/words"))
    wait_idle(page)
    page.go_back()
    # The uploader has forgotten the file, the session has not.
    page.get_by_role("button", name="Your file").click()
    expect(page.get_by_text("Here since you left this page: ")).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("button", name="Forget the file").click()
    wait_idle(page)
    expect(page.get_by_text("Here since you left this page: ")).to_have_count(0)
    expect(page.get_by_text("teaching.csv").first).to_be_visible()
    watch.assert_clean()


def test_the_label_is_a_page_of_its_own(app_url: str, new_page: NewPage, tmp_path: Path) -> None:
    page, watch = new_page(**PHONE)
    open_page(page, f"{app_url}/release?use_metric=tem")
    page.get_by_role("button", name="Make the private copy").click(timeout=WAIT_MS)
    expect(page.get_by_role("heading", name="Privacy label")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Label as HTML").click()
    waiting.value.save_as(tmp_path / "label.html")
    watch.assert_clean()
    label = page.context.new_page()
    label.goto((tmp_path / "label.html").as_uri())
    expect(label.get_by_role("heading", name="What is not protected")).to_be_visible()
    assert_accessible(label)
    assert label.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_dial_moves_the_table_without_the_server(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/release")
    row = page.locator(".offer[data-key=tem]")
    expect(row).to_have_attribute("aria-selected", "true")
    expect(row).to_contain_text(re.compile(r"ε = [\d.]+ per distance"))
    page.get_by_role("slider", name="Guessed by frequency, at most").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(row).to_contain_text("15 of 100")
    expect(page).to_have_url(re.compile("aim_guess=15"))
    wait_idle(page)
    expect(page.get_by_text("Chosen: tem, ε = ")).to_contain_text(
        row.locator(".value").first.inner_text().strip()
    )
    expect(page.locator(".offers .finding")).to_contain_text("A classifier is right on")
    watch.assert_clean()


def test_a_row_is_chosen_by_a_click_and_by_keys(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/release")
    page.locator(".offer[data-key=optimal]").click()
    expect(
        page.get_by_text(re.compile(r"Chosen: optimal, ε = 1\.\d+ per distance\."))
    ).to_be_visible()
    expect(page).to_have_url(re.compile("offer=optimal"))
    wait_idle(page)
    page.locator(".offer[data-key=optimal]").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Chosen: madlib")).to_be_visible()
    expect(page).to_have_url(re.compile("offer=madlib"))
    again, _ = new_page()
    open_page(again, page.url)
    expect(again.locator(".offer[data-key=madlib]")).to_have_attribute("aria-selected", "true")
    watch.assert_clean()


def test_an_old_link_leads_on(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/utility?use_source=own&use_trials=2")
    expect(page.get_by_role("heading", level=1)).to_have_text("What can you release?")
    assert "use_trials=2" in page.url
    open_page(page, f"{app_url}/utility?experiment=carvalho2021-figure-1&use_view=membership")
    expect(page.get_by_role("heading", level=1)).to_have_text("Is the guarantee true?")
    wait_idle(page)
    assert "experiment=carvalho2021-figure-1" in page.url
    assert not watch.page_errors


@pytest.mark.full
@pytest.mark.parametrize(("scheme", "options"), [("light", {}), ("dark", PHONE)])
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any]
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/release")
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
