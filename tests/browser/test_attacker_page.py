"""The Attacker page in a real Chromium: link, game by keyboard, phone, both themes, axe."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
VIEWS = ("Guess the word", "A sentence", "Least protected")
PREPARED = 120_000  # a fresh server weighs all words once
NewPage = Callable[..., tuple[Page, Watch]]


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/attacker/_stcore/" not in entry]


def open_output(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".believed .title")).to_be_visible(timeout=PREPARED)
    wait_idle(page)


def open_view(page: Page, view: str) -> None:
    page.get_by_role("tab", name=view).click()
    wait_idle(page)


def test_a_deep_link_shows_the_odds_and_a_step_by_keyboard_moves_them(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_output(page, f"{app_url}/attacker?seen=doctor&eps_metric=3")
    expect(page).to_have_title("Attacker – Word Privacy Lab")
    expect(page.get_by_text("“doctor” came out of tem at ε = 3.")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    card = page.locator(".believed .numbers")
    before = card.inner_text()
    page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("“doctor” came out of tem at ε = 2.5.")).to_be_visible()
    wait_idle(page)
    assert card.inner_text() != before
    named = page.locator(".believed svg")
    assert "Of 100 cases, before:" in str(named.get_attribute("aria-label"))
    find = page.get_by_role("combobox", name="This word came out")
    find.fill("Hospital")
    find.press("Enter")
    expect(page.get_by_text("“hospital” came out of tem")).to_be_visible(timeout=30_000)
    wait_idle(page)
    assert parse_qs(urlsplit(page.url).query)["seen"] == ["hospital"]
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors


def test_the_squares_follow_the_thumb_without_the_server(app_url: str, new_page: NewPage) -> None:
    """Every step is there: the card is as the server says it, while the server is away."""
    page, watch = new_page()
    open_output(page, f"{app_url}/attacker?eps_metric=3")
    slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
    shown = page.locator(".believed")
    slider.focus()
    page.context.set_offline(True)
    title, squares = shown.locator(".title"), shown.locator("svg rect")
    for _ in range(12):
        before = title.inner_text()
        page.keyboard.press("ArrowLeft")
        expect(title).not_to_have_text(before)  # it names its ε
        assert squares.count() == 200
    page.context.set_offline(False)
    moved = shown.inner_text()
    wait_idle(page)
    assert shown.inner_text() == moved
    assert not watch.page_errors


def outputs(page: Page) -> list[str]:
    """The words that came out in the round."""
    return (
        page.locator(".st-key-game_outputs_shown").get_by_test_id("stMetricValue").all_inner_texts()
    )


def test_the_game_is_played_by_keyboard_and_its_link_plays_the_same(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/attacker?view=Guess+the+word&seed=7")
    expect(page.get_by_text("Which word was it?")).to_be_visible(timeout=PREPARED)
    wait_idle(page)
    # The address names what the view was opened with: a later visit under it is the same.
    assert {"attacked", "eps_metric"} <= set(parse_qs(urlsplit(page.url).query))
    rounds = []
    for number in (1, 2):
        expect(page.get_by_text(f"Round {number}.")).to_be_visible()
        rounds.append(outputs(page))
        page.get_by_role("button", name="glasgow").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("You said “glasgow”")).to_be_visible(timeout=PREPARED)
        expect(page.locator(".js-plotly-plot")).to_have_count(1, timeout=30_000)
        wait_idle(page)
        page.get_by_role("button", name="Next word").focus()
        page.keyboard.press("Enter")
        wait_idle(page)
    expect(page.get_by_text("Score in 2 rounds")).to_be_visible()
    assert all(len(shown) == 3 for shown in rounds)
    line = page.get_by_test_id("stCode").inner_text()
    assert line.startswith("Seed 7, 2 played: I guessed ")
    # The rounds are those of the link; the score is of this session.
    other, _ = new_page()
    open_page(other, app_url + line[line.index("/attacker?") :].strip())
    expect(other.get_by_text("Score in 0 rounds")).to_be_visible(timeout=30_000)
    wait_idle(other)
    assert outputs(other) == rounds[0]
    assert not watch.page_errors


def test_the_game_has_rules_of_its_own(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_output(page, f"{app_url}/attacker?eps_metric=3")
    open_view(page, "Guess the word")
    expect(page.get_by_text("went through madlib at ε = 10.")).to_be_visible(timeout=PREPARED)
    open_view(page, "One output")
    expect(page.get_by_text("“garage” came out of tem at ε = 3.")).to_be_visible(timeout=30_000)
    wait_idle(page)
    assert page.get_by_role("slider", name="Metric privacy: ε per distance").is_visible()
    assert not watch.page_errors


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize(("scheme", "options"), [("light", {}), ("dark", PHONE)])
def test_every_view_is_accessible_and_fits(
    app_url: str, new_page: NewPage, scheme: str, options: dict[str, Any]
) -> None:
    page, watch = new_page(color_scheme=scheme, **options)
    open_output(page, f"{app_url}/attacker")
    assert_accessible(page)
    for view in VIEWS:
        open_view(page, view)
        if view == "Guess the word":
            page.get_by_role("button", name="glasgow").click()
            expect(page.get_by_text("You said “glasgow”")).to_be_visible(timeout=PREPARED)
            wait_idle(page)
        assert_accessible(page)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= page.viewport_size["width"]
    assert own_faults(watch) == []
    assert not watch.page_errors


def test_nonsense_is_refused_as_text(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_output(page, f"{app_url}/attacker?prior=A+list+of+my+own")
    box = page.get_by_role("textbox", name="Possible words")
    for typed in ("<b>x</b>", "garage=0.5, monday=0.4"):
        box.fill(typed)
        box.press("Control+Enter")
        expect(page.get_by_text("The attacker cannot work with this.")).to_be_visible()
        wait_idle(page)
        assert page.locator(".stMain b").count() == 0
        assert "x" not in parse_qs(urlsplit(page.url).query).get("prior_list", [])
    expect(page.get_by_text("must sum to 1, got 0.9")).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
    assert not watch.page_errors
