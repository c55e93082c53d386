"""From page to page in a real Chromium: a choice goes along, and a link of it is whole."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import WAIT_MS, Watch, open_page, unfold, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]


def pressed(page: Page, name: str) -> bool:
    unfold(page)
    pill = page.get_by_role("button", name=name, exact=True)
    return pill.get_attribute("aria-pressed") == "true"


@pytest.mark.slow
def test_mechanisms_are_kept_while_one_walks_and_in_the_link(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/rewrite")
    assert pressed(page, "madlib")
    page.get_by_role("button", name="madlib", exact=True).click()
    wait_idle(page)
    page.get_by_role("link", name="Words").click()
    expect(page).to_have_title("Words – Word Privacy Lab", timeout=WAIT_MS)
    wait_idle(page)
    assert not pressed(page, "madlib")
    assert pressed(page, "vickrey")
    linked = parse_qs(urlsplit(page.url).query)["curve_metric"]
    assert "madlib" not in " ".join(linked)
    unfold(page)
    page.get_by_role("button", name="mahalanobis", exact=True).click()
    wait_idle(page)
    page.get_by_role("link", name="Rewrite").click()
    expect(page).to_have_title("Rewrite – Word Privacy Lab", timeout=WAIT_MS)
    wait_idle(page)
    assert not pressed(page, "madlib")
    assert not pressed(page, "mahalanobis")
    link = page.url
    other, _ = new_page()
    open_page(other, link)
    assert not pressed(other, "madlib")
    assert pressed(other, "vickrey")
    assert not watch.page_errors


@pytest.mark.slow
def test_what_a_link_chose_is_there_on_the_very_next_page_and_in_its_link(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    chosen = {"eps_metric": "3", "seed": "7", "metric": "vickrey", "preset": "letter"}
    open_page(page, f"{app_url}/rewrite?log=&local=&{urlencode(chosen)}")
    page.locator(".grid .word").first.wait_for(timeout=WAIT_MS)
    wait_idle(page)
    for name in ("Words", "Rewrite"):
        page.get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} – Word Privacy Lab", timeout=WAIT_MS)
        slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("ε = 3 "), timeout=WAIT_MS)
        wait_idle(page)
        assert pressed(page, "vickrey")
        assert not pressed(page, "tem")
        linked = parse_qs(urlsplit(page.url).query)
        assert linked["eps_metric"] == ["3"]
        if name != "Words":  # whose laws are always drawn from one seed
            assert linked["seed"] == ["7"]
            expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7", timeout=WAIT_MS)
    expect(page.get_by_role("textbox", name="Your sentence")).to_have_value(
        re.compile("Anna"), timeout=WAIT_MS
    )
    assert not watch.page_errors


@pytest.mark.parametrize("spoken", ["en", "de"])
def test_a_link_that_is_kept_names_the_defaults_too(
    app_url: str, new_page: NewPage, spoken: str
) -> None:
    """So it shows the same view when a default changes."""
    page, watch = new_page()
    open_page(page, f"{app_url}/tradeoff?lang={spoken}&draw=3")
    page.locator(".st-key-taking summary").click()
    line = page.locator(".st-key-taking [data-testid=stCode]").first
    expect(line).to_contain_text("draw=3", timeout=60_000)
    kept = line.inner_text()
    settings = parse_qs(urlsplit(kept).query)
    assert settings["learned"] == ["counts-word"]
    assert settings["seed"] == ["2024"]
    assert settings["part"] == ["Choose ε"]
    assert not {"explain", "large"} & set(settings)  # reading aids
    finding = page.locator(".board .finding").inner_text()
    open_page(page, kept)
    expect(page.locator(".board .finding")).to_have_text(finding, timeout=60_000)
    assert not watch.page_errors
