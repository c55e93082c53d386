"""The start page in a real Chromium: light, rewritten, and its sentence and links go along."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, Response, expect

from tests.browser.pages import WAIT_MS, Watch, assert_accessible, by_turns, open_page, wait_idle
from tests.browser.server import Server

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]
MEGABYTES = 3
OWN = "My secret violin came from Berlin."


def grid(page: Page) -> None:
    page.locator(".grid .word").first.wait_for(timeout=WAIT_MS)
    wait_idle(page)


def sentence(page: Page) -> None:
    page.locator(".changing .sentence").wait_for(timeout=WAIT_MS)
    page.locator(".dial:not(.sweeping)").wait_for(timeout=WAIT_MS)
    wait_idle(page)


def test_a_fresh_server_shows_it_without_a_chart_and_in_few_bytes(
    fresh_server: Server, new_page: NewPage
) -> None:
    page, watch = new_page()
    loaded: list[Response] = []
    page.on("response", lambda response: loaded.append(response))  # Playwright takes no builtin
    open_page(page, fresh_server.url)
    sentence(page)
    expect(page).to_have_title("Start – Word Privacy Lab", timeout=WAIT_MS)
    expect(page.locator(".changing .changed").first).to_be_visible(timeout=WAIT_MS)
    expect(page.locator(".changing .numbers b")).to_have_text(["40 of 100", "42 of 100"])
    assert not [response.url for response in loaded if "plotly" in response.url.lower()]
    sizes = sorted(
        (len(response.body()), response.url.rsplit("/", 1)[-1])
        for response in loaded
        if response.ok
    )
    assert sum(size for size, _ in sizes) < MEGABYTES * 1e6, sizes
    watch.assert_clean()
    assert "Traceback" not in fresh_server.printed()


@pytest.mark.full
@pytest.mark.parametrize(
    ("scheme", "options"), by_turns([("light",), ("dark",)], [({},), (PHONE,)])
)
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any]
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/start?explain=true")
    sentence(page)
    expect(page.get_by_text("A text without names is not private").first).to_be_visible(
        timeout=WAIT_MS
    )
    page.get_by_text("claims that were not refuted").click()
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
    assert not watch.foreign_requests


@pytest.mark.slow
def test_a_sentence_goes_along_and_stays_out_of_every_link(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, app_url)
    sentence(page)
    before = page.locator(".changing .sentence").inner_text()
    page.get_by_role("button", name="Your own sentence").click()
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill(OWN)
    box.press("Control+Enter")
    wait_idle(page)
    expect(page.locator(".changing .sentence")).not_to_have_text(before, timeout=WAIT_MS)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Rewrite", exact=True).first.click()
    expect(page).to_have_title("Rewrite – Word Privacy Lab", timeout=WAIT_MS)
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value(OWN, timeout=WAIT_MS)
    expect(page.locator(".grid .words")).to_have_count(6, timeout=WAIT_MS)
    wait_idle(page)
    expect(page.locator(".grid .source")).to_contain_text("violin", timeout=WAIT_MS)
    assert "violin" not in page.url
    page.get_by_role("link", name="Start", exact=True).first.click()
    expect(page).to_have_title("Start – Word Privacy Lab", timeout=WAIT_MS)
    sentence(page)
    page.get_by_role("button", name="Your own sentence").click()
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value(OWN, timeout=WAIT_MS)
    assert "violin" not in page.url
    assert not watch.page_errors


@pytest.mark.slow
def test_two_claims_after_one_another_and_a_step_of_the_lesson(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, app_url)
    sentence(page)
    for claim, key in (("ADePT, as published", "adept-published"), ("TrLaplace, Theorem 3", "")):
        if not page.get_by_role("link", name=claim).is_visible():
            page.get_by_text("claims that were refuted").click()
        page.get_by_role("link", name=claim).click()
        expect(page.get_by_role("heading", name=f"{claim}: ✘ refuted")).to_be_visible(
            timeout=WAIT_MS
        )
        wait_idle(page)
        assert key in parse_qs(urlsplit(page.url).query)["claim"][0]
        page.get_by_role("link", name="Start", exact=True).click()
        sentence(page)
    page.get_by_role("link", name="7. A guarantee can be false").click()
    expect(page.get_by_role("heading", name="7. A guarantee can be false")).to_be_visible(
        timeout=WAIT_MS
    )
    assert not watch.page_errors


@pytest.mark.slow
def test_an_old_link_of_the_first_page_opens_rewrite(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/?metric=tem&log=&local=&eps_metric=5&preset=letter&seed=7")
    grid(page)
    expect(page).to_have_title("Rewrite – Word Privacy Lab", timeout=WAIT_MS)
    expect(page.locator(".grid .words")).to_have_count(1, timeout=WAIT_MS)
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7", timeout=WAIT_MS)
    slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("ε = 5 "))
    assert not watch.page_errors


@pytest.mark.slow
@pytest.mark.parametrize("page_before", ["rewrite", "curves"])
def test_the_menu_leads_to_the_first_page_whatever_is_taken_along(
    app_url: str, new_page: NewPage, page_before: str
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/{page_before}?eps_metric=2.5&metric=madlib&preset=letter")
    for _ in range(2):  # at once, and when its fields have been read
        page.get_by_role("link", name="Start", exact=True).first.click()
        expect(page).to_have_title("Start – Word Privacy Lab", timeout=WAIT_MS)
        sentence(page)
        wait_idle(page)
        expect(page).to_have_title("Start – Word Privacy Lab", timeout=1)
        page.go_back()
        expect(page).not_to_have_title("Start – Word Privacy Lab", timeout=WAIT_MS)
        wait_idle(page)
    assert not watch.page_errors


@pytest.mark.slow
def test_an_untouched_sentence_goes_along(app_url: str, page: Page) -> None:
    open_page(page, app_url)
    sentence(page)
    page.get_by_role("link", name="Rewrite", exact=True).first.click()
    expect(page).to_have_title("Rewrite – Word Privacy Lab", timeout=WAIT_MS)
    grid(page)
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value(
        "My doctor in the city hospital said that my sister needs a new heart medicine."
    )


def test_the_dial_changes_the_sentence_without_the_server(app_url: str, page: Page) -> None:
    open_page(page, app_url)
    sentence(page)
    dial = page.get_by_role("slider", name="Content words guessed, of 100")
    before = page.locator(".changing .sentence").inner_text()
    dial.focus()
    dial.press("Home")
    expect(page.locator(".changing .numbers b").first).to_have_text("2 of 100")
    assert page.locator(".changing .sentence").inner_text() != before
    page.wait_for_url("**guessed=2")
    wait_idle(page)
    expect(page.locator(".changing .numbers b").first).to_have_text("2 of 100")


def test_the_dial_sweeps_once_and_not_where_motion_is_unwanted(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    page.add_init_script(
        "window.steps = [];"
        "addEventListener('dpcore:dial', ({ detail }) => window.steps.push(detail.step))"
    )
    open_page(page, app_url)
    sentence(page)
    steps = page.evaluate("window.steps")
    low = steps.index(0)
    assert steps[low:] == sorted(steps[low:])
    assert len(set(steps[low:])) > 3
    assert steps[0] == steps[-1]  # it ends where it was at first
    watch.assert_clean()
    calm, _ = new_page(reduced_motion="reduce")
    open_page(calm, app_url)
    calm.locator(".changing .sentence").wait_for(timeout=WAIT_MS)
    assert not calm.locator(".dial.sweeping").count()


def test_the_sentence_can_be_saved_as_a_picture(
    app_url: str, new_page: NewPage, tmp_path: Path
) -> None:
    page, watch = new_page()
    open_page(page, app_url)
    sentence(page)
    page.get_by_text("Save and cite").click()
    wait_idle(page)
    parts = page.locator(".changing .sentence :is(.was, .now > span)").all_text_contents()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    download.value.save_as(tmp_path / "sentence.svg")
    root = ElementTree.parse(tmp_path / "sentence.svg").getroot()
    picture_words = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "".join(picture_words) == "".join(parts)
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    download.value.save_as(tmp_path / "sentence.png")
    assert (tmp_path / "sentence.png").read_bytes().startswith(b"\x89PNG")
    watch.assert_clean()
