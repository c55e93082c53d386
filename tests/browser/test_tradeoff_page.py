"""The Trade-off page in a real Chromium: the dial moves chart and sentences without the server."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]

DIAL = "Guessed by frequency, of 100 content words"


def opened(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".board .row").first).to_be_visible(timeout=30_000)
    wait_idle(page)


def test_the_dial_moves_all_without_the_server_and_the_link_follows(
    app_url: str, page: Page
) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.evaluate("window.__sent = 0")
    page.on("websocket", lambda _: page.evaluate("window.__sent += 1"))
    dial = page.get_by_role("slider", name=DIAL)
    expect(dial).to_have_attribute(
        "aria-valuetext",
        re.compile(r"Guessed by frequency 20 of 100 content words; ε = "),
    )
    before = page.locator(".board .words").all_inner_texts()
    line = page.locator(".level").first.get_attribute("x1")
    dial.focus()
    dial.press("ArrowRight")
    dial.press("ArrowRight")
    expect(page.locator(".dial .left .value")).to_have_text("30 of 100 content words")
    expect(page.locator(".finding")).to_contain_text("At 30 of 100, ")  # in the frame with the rest
    assert page.locator(".level").first.get_attribute("x1") != line
    assert page.locator(".board .words").all_inner_texts() != before
    wait_idle(page)
    page.wait_for_url("**level=30**")
    # A link that was made so shows the same.
    sentences = page.locator(".board .words").all_inner_texts()
    opened(page, page.url)
    expect(page.locator(".dial .left .value")).to_have_text("30 of 100 content words")
    assert sorted(page.locator(".board .words").all_inner_texts()) == sorted(sentences)


def test_what_is_said_below_follows_the_dial(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.get_by_text("Save and cite").click()
    cell = page.locator("code").filter(has_text="recorded_curves")
    expect(cell).to_contain_text("0.2)")
    dial = page.get_by_role("slider", name=DIAL)
    dial.focus()
    dial.press("ArrowRight")
    expect(cell).to_contain_text("0.25)")
    wait_idle(page)
    expect(page.locator(".dial .left .value")).to_have_text("25 of 100 content words")


def test_beyond_the_half_the_whole_is_seen(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff")
    ticks = page.locator(".board .tick")
    expect(ticks.filter(has_text="100")).to_have_count(1)  # across, in the chart of near words
    dial = page.get_by_role("slider", name=DIAL)
    dial.focus()
    dial.press("End")
    expect(page.locator(".dial .left .value")).to_have_text("90 of 100 content words")
    expect(ticks.filter(has_text="100")).to_have_count(4)
    assert page.locator(".mark:visible").count() == 6


def test_a_number_can_be_typed(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.get_by_text("Type a number").click()
    field = page.get_by_role("spinbutton", name="of 100", exact=True)
    said = page.locator(".dial .note")
    for typed, shown, why in (
        ("25", "25", ""),
        # A limit: the step is not above it, though 35 is nearer.
        ("33", "30", "Between two steps: 30 is the nearest that is at most 33."),
        ("0.2", "1", "The smallest step here is 1."),
        ("1e9", "90", "The largest step here is 90."),
        ("-4", "90", "Nothing has changed: type a number above 0."),
        ("", "90", "Nothing has changed: type a number above 0."),
    ):
        field.fill(typed)
        field.press("Enter")
        field.blur()
        expect(page.locator(".dial .left .value")).to_have_text(f"{shown} of 100 content words")
        expect(said).to_have_text(why)
        expect(field).to_have_value(shown)
    page.get_by_role("slider", name=DIAL).press("ArrowLeft")
    expect(said).to_have_text("")


def test_a_step_is_drawn_within_a_frame(app_url: str, page: Page) -> None:
    """A step costs the page its own work only, and no new tree of the chart."""
    opened(page, f"{app_url}/tradeoff")
    work: dict[str, Any] = page.evaluate(
        """async () => {
          const host = [...document.querySelectorAll('*')].find(
            (n) => n.shadowRoot && n.shadowRoot.querySelector('.board'));
          const svg = host.shadowRoot.querySelector('figure svg');
          let changes = 0;
          const watch = new MutationObserver((list) => { changes += list.length; });
          watch.observe(svg, { childList: true, subtree: true });
          const times = [];
          for (let step = 0; step < 20; step += 1) {
            const start = performance.now();
            window.dispatchEvent(new CustomEvent('dpcore:dial', {
              detail: { group: 'leak_word', step: step % 16, rest: false } }));
            await new Promise((done) => requestAnimationFrame(done));
            times.push(performance.now() - start);
          }
          watch.disconnect();
          return { changes, times };
        }"""
    )
    assert work["changes"] == 0  # nothing of the chart is rebuilt, marks are moved
    assert len(work["times"]) == 20


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    opened(page, f"{app_url}/tradeoff")
    assert_accessible(page)
    for view in ("In numbers", "What the axes mean", "How is this computed?"):
        page.get_by_role("tab", name=view).click()
        wait_idle(page)
        assert_accessible(page)
    page.get_by_text("Save and cite").click()
    expect(page.get_by_text("To cite")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    for button in ("Mechanisms", "Your sentence"):
        page.get_by_role("button", name=button).click()
        wait_idle(page)
        assert_accessible(page)
        page.keyboard.press("Escape")
    watch.assert_clean()


def test_the_dial_stays_in_sight(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.get_by_text("No telemetry").scroll_into_view_if_needed()
    box = page.locator(".dial").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 200


@pytest.mark.parametrize("name", ["SVG", pytest.param("PNG", marks=pytest.mark.full)])
def test_the_figure_downloads_as_it_stands(app_url: str, page: Page, name: str) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.get_by_text("Save and cite").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Figure as {name}").click()
    content = download.value.path().read_bytes()
    assert download.value.suggested_filename == f"tradeoff.{name.lower()}"
    if name == "SVG":
        assert b"meaning left" in content
        assert b"rgb" in content  # its colours are in it
    else:
        assert content.startswith(b"\x89PNG")
        assert len(content) > 20_000


def test_typed_words_stay_text(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff")
    page.get_by_role("button", name="Your sentence").click()
    page.get_by_role("textbox", name="Your sentence").fill("<img src=x onerror=alert(1)> my doctor")
    page.get_by_role("textbox", name="Your sentence").press("Control+Enter")
    wait_idle(page)
    assert page.locator(".board img").count() == 0
    assert "onerror" not in page.url


def test_the_mark_at_the_dial_is_that_of_the_mechanism(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff?curves=tem,madlib,k-ary")
    marks = page.locator(".board .mark").all_text_contents()
    names = page.locator(".board .end").all_text_contents()
    assert len(set(marks)) == 3
    assert set(marks) == {name.split()[0] for name in names}


def test_an_answer_is_set_on_every_page(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff?goal=word&goal_word=5&curves=k-ary")
    page.get_by_role("button", name="on every page").click()
    expect(page.get_by_text("Set on every page: ")).to_be_visible()
    wait_idle(page)
    told = page.get_by_text("Set on every page: ").inner_text()
    page.get_by_role("link", name="Attacker", exact=True).first.click()
    wait_idle(page)
    assert (
        told.partition("ε = ")[2].rstrip(".") == page.url.partition("eps_local=")[2].split("&")[0]
    )


def test_the_goal_below_follows_the_dial(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/tradeoff?level=12")
    goal = page.get_by_role("spinbutton", name="of 100 content words")
    expect(goal).to_have_value("12")
    dial = page.get_by_role("slider", name=DIAL)
    dial.focus()
    dial.press("ArrowLeft")
    expect(goal).to_have_value("10")
    expect(page.get_by_text("is the nearest that meets the goal")).to_be_visible()
    goal.fill("7")
    goal.press("Enter")
    wait_idle(page)
    expect(goal).to_have_value("7")
    dial.focus()
    dial.press("ArrowLeft")
    expect(goal).to_have_value("8")
    opened(page, page.url)
    expect(goal).to_have_value("8")
