"""The page Papers in a real Chromium: rows by click and keyboard, a live audit, records, axe."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from dpcore.papers.claims import CLAIMS
from tests.browser.pages import (
    WAIT_MS,
    Watch,
    accessibility_faults,
    assert_accessible,
    by_turns,
    open_page,
    wait_idle,
)

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def chosen(page: Page) -> str | None:
    """Selection that the address names."""
    return parse_qs(urlsplit(page.url).query).get("claim", [None])[0]


def test_a_row_chooses_a_claim_and_the_button_computes_it(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/audit")  # an old address
    expect(page).to_have_title("Papers – Word Privacy Lab")
    options = page.get_by_role("option")
    expect(options).to_have_count(len(CLAIMS), timeout=WAIT_MS)
    refuted = options.filter(has_text="✘ refuted").count()
    expect(page.get_by_text(f"{refuted} refuted")).to_be_visible()
    page.get_by_role("option", name="ADePT, as published").click()
    expect(page.get_by_role("heading", name="ADePT, as published")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert chosen(page) == "adept-published"
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page.get_by_text("How is this verdict computed?").click()
    page.get_by_label("n", exact=True).fill("1")
    page.get_by_role("button", name="Compute with these settings").click()
    expect(page.get_by_role("heading", name="ADePT, as published: ✔ proved")).to_be_visible()
    wait_idle(page)
    watch.assert_clean()


def test_the_keyboard_alone_chooses_a_row(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/papers")
    rows = page.get_by_role("listbox", name="Claims")
    rows.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        rows.press(key)
    expect(page.get_by_role("heading", name="TEM, Theorem 2")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert chosen(page) == "carvalho-theorem-2"
    expect(page.locator("[aria-selected=true][role=option]")).to_have_count(1)
    rows.press("End")
    rows.press(" ")
    last = "Randomised response on the model's tokens"
    expect(page.get_by_role("heading", name=last)).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("option", name="TEM, calibrated").click()
    expect(page.get_by_role("heading", name="TEM, calibrated")).to_be_visible(timeout=WAIT_MS)
    watch.assert_clean()


def test_a_record_opens_and_its_views_change(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/papers?experiment=carvalho2021-figure-1")
    expect(page.locator(".js-plotly-plot")).to_have_count(2, timeout=WAIT_MS)
    page.get_by_role("tab", name="Membership").click()
    expect(page.get_by_text("no information below a false-positive rate")).to_be_visible()
    wait_idle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query["use_view"] == ["membership"]
    page.get_by_role("tab", name="Paper against measurement").click()
    expect(page.get_by_text("The paper: ").first).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    page.get_by_role("option", name="Yelp: rewriting quality").click()
    expect(page.get_by_role("heading", name="Yelp: rewriting quality")).to_be_visible()
    wait_idle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query["experiment"] == ["huang2024-tables-yelp"]
    page.get_by_role("radio", name="Claims").click()
    expect(page.get_by_role("listbox", name="Claims")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert "experiment" not in page.url
    watch.assert_clean()


def test_the_link_of_a_choice_brings_it_back(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_page(page, f"{app_url}/papers?experiment=carvalho2021-figure-1")
    page.get_by_role("button", name="Nw: share of words that stay").click(timeout=WAIT_MS)
    wait_idle(page)
    page.get_by_role("radio", name="equal attacker success").click()
    wait_idle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query["use_drawn"] == ["accuracy,auc,nw"]
    assert query["use_compare"] == ["auc"]
    again, _ = new_page()
    open_page(again, page.url)
    expect(again.get_by_role("radio", name="equal attacker success")).to_be_checked()
    expect(again.locator(".js-plotly-plot")).to_have_count(page.locator(".js-plotly-plot").count())


def test_the_leaderboard_changes_its_sense_and_shows_the_line(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/papers?experiment=benchmark")
    expect(page.get_by_text("where 5 of 100 content words are guessed").first).to_be_visible(
        timeout=WAIT_MS
    )
    expect(page.get_by_test_id("stDataFrame")).to_have_count(1)
    page.get_by_role("radio", name="25 of 100").click()
    expect(page.get_by_text("where 25 of 100 content words are guessed").first).to_be_visible()
    page.get_by_role("tab", name="No curve crosses").click()
    expect(page.locator(".js-plotly-plot")).to_have_count(1, timeout=WAIT_MS)
    page.get_by_role("radio", name="between any two words").click()
    wait_idle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query["use_view"] == ["line"]
    assert query["board_bounds"] == ["local"]
    watch.assert_clean()


@pytest.mark.full
@pytest.mark.parametrize(
    ("view", "scheme", "options"),
    by_turns([("board",), ("line",)], [("light", {}), ("dark", PHONE)]),
)
def test_the_leaderboard_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any], view: str
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/papers?experiment=benchmark&use_view={view}")
    expect(page.get_by_role("tab", name="Leaderboard")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert accessibility_faults(page, RULES) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors


@pytest.mark.full
@pytest.mark.parametrize(
    ("view", "scheme", "options"),
    by_turns(
        [("claim=adept-published",), ("experiment=carvalho2021-figure-1",)],
        [("light", {}), ("dark", PHONE)],
    ),
)
def test_it_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any], view: str
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_page(page, f"{app_url}/papers?{view}")
    expect(page.locator(".js-plotly-plot")).to_have_count(2, timeout=WAIT_MS)
    wait_idle(page)
    assert accessibility_faults(page, RULES) == []
    page.get_by_text("Save and cite").click()
    expect(page.get_by_text("To cite")).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert_accessible(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert not watch.page_errors
