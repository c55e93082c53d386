"""The Rewrite page in a real Chromium: links, keyboard, phone, dark mode, hostile text."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shared.session import DEFAULT_PRESET, PRESETS
from tests.browser.pages import (
    SCHEMES,
    WAIT_MS,
    Watch,
    assert_accessible,
    open_files,
    open_page,
    wait_idle,
)
from tests.browser.server import Server

WORD_VIEW = "One word: strip and odds"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def open_grid(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".grid .word").first).to_be_visible()
    wait_idle(page)


def row(page: Page, key: str) -> str:
    """The displayed words of one mechanism."""
    return page.locator(f".words:has([data-id^='{key}/'])").inner_text()


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def dial(page: Page) -> Locator:
    """The dial of the first group."""
    return page.get_by_role("slider", name="Metric privacy: ε per distance")


def press(page: Page, key: str, times: int = 1) -> None:
    """Turn the dial of the first group; the page has answered when this returns."""
    before = query(page).get("eps_metric", [None])[0]
    dial(page).focus()
    for _ in range(times):
        page.keyboard.press(key)
    page.wait_for_function(
        "before => new URLSearchParams(location.search).get('eps_metric') !== before", arg=before
    )
    wait_idle(page)


def open_view(page: Page, name: str) -> None:
    """Open a view and wait for what it computes: on a busy machine its run may begin so late that
    the page seems to rest before."""
    page.get_by_role("tab", name=name).click()
    panel = page.get_by_role("tabpanel", name=name)
    content = panel.locator(".js-plotly-plot, [data-testid=stDataFrame]").first
    expect(content).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)


def open_drawer(page: Page) -> None:
    page.locator(".st-key-taking summary").click()
    expect(page.get_by_text("To cite")).to_be_visible()
    wait_idle(page)


def write_text(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill(text)
    box.press("Control+Enter")
    wait_idle(page)


@pytest.mark.full
def test_a_deep_link_on_a_fresh_server_gets_the_frame(
    fresh_server: Server, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_grid(page, f"{fresh_server.url}/rewrite?eps_metric=5&place=3&via=tem&seed=7")
    expect(page).to_have_title("Rewrite – Word Privacy Lab")
    expect(dial(page)).to_have_attribute("aria-valuetext", re.compile(r"ε = 5 "))
    expect(page.locator("[data-id='tem.v1/3']")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    # Streamlit looks for itself below the page's own path first.
    failed = [entry for entry in watch.bad_responses if "/rewrite/_stcore/" not in entry]
    assert failed == []
    assert not watch.foreign_requests
    assert "Traceback" not in fresh_server.printed()


def test_it_opens_rewritten_and_needs_no_chart_library(app_url: str, page: Page) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    open_grid(page, f"{app_url}/rewrite")
    expect(page.locator(".source .plain")).to_have_text(PRESETS[DEFAULT_PRESET])
    assert page.locator(".grid .changed").count() > 5
    assert not any("plotly" in url.lower() for url in loaded)
    page.get_by_role("tab", name=WORD_VIEW).click()
    wait_idle(page)  # a fresh server still looks ahead for other pages
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert any("plotly" in url.lower() for url in loaded)


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_grid(page, f"{app_url}/rewrite?local=gaussian&local=trlaplace")
    drawers = page.locator("details summary").filter(has_not_text="Save and cite")
    for summary in drawers.locator("visible=true").all():
        summary.click()
    page.locator("[data-id='tem.v1/5']").hover()
    expect(page.locator(".card td").first).to_be_visible()
    assert_accessible(page)
    for view in (WORD_VIEW, "100 draws"):
        open_view(page, view)
        assert_accessible(page)
    open_drawer(page)
    assert_accessible(page)
    watch.assert_clean()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_redactor_stands_beside_them_with_the_kinds_on_its_blocks(
    app_url: str, new_page: NewPage, scheme: str
) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_grid(page, f"{app_url}/rewrite?preset=letter")
    expect(page.locator(".grid .block")).to_have_count(0)
    page.locator(".st-key-redactors button", has_text="rules").click()
    blocks = page.locator(".grid .block")
    expect(blocks).to_have_text(["name", "name", "date"])
    expect(page.get_by_role("img", name="blacked out: date")).to_be_visible()
    line = page.get_by_role("group", name="Rules of a redactor: what it leaves of the text")
    expect(line).to_contain_text("and works for a small bank there.")
    expect(page.get_by_text("no ε: nothing is guaranteed about what stays")).to_be_visible()
    wait_idle(page)
    assert query(page)["redactors"] == ["rules"]
    blocks.first.hover()  # under the pointer a pill of Streamlit's own is paler
    expect(page.locator(".st-key-redactors button:hover")).to_have_count(0)
    page.wait_for_timeout(300)  # while its colour fades
    assert_accessible(page)
    press(page, "ArrowLeft")
    expect(blocks).to_have_count(3)  # the dial is not theirs
    open_drawer(page)
    expect(page.get_by_text("python -m dpcore redact --redactor rules")).to_be_visible()
    watch.assert_clean()


def test_a_slider_step_by_keyboard_moves_words_and_link(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite")
    before = row(page, "madlib.v1")
    press(page, "ArrowLeft", 4)
    after = row(page, "madlib.v1")
    assert after != before
    (value,) = query(page)["eps_metric"]
    assert float(value) < 12
    expect(page.locator("h2", has_text=f"ε = {value}")).to_have_count(1)
    open_grid(page, page.url)
    assert row(page, "madlib.v1") == after


def test_words_by_keyboard_card_and_choice(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite")
    page.locator("[data-id='madlib.v1/0']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-id='madlib.v1/1']")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-id='mahalanobis.v1/1']")).to_be_focused()
    card = page.get_by_role("tooltip")
    expect(card.locator("tbody tr")).to_have_count(5)
    expect(card).to_contain_text("estimated")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("Enter")
    wait_idle(page)
    chosen = page.locator("[data-id='mahalanobis.v1/1']")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_be_focused()
    expect(page.locator(".strip")).to_have_count(6)
    link = page.url
    open_grid(page, link)
    expect(chosen).to_have_attribute("aria-pressed", "true")


def test_the_guarantee_stays_open_while_the_slider_moves(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite")
    promise = page.locator("details.promise").first
    promise.locator("summary").click()
    expect(promise).to_contain_text("e^(12·d)")
    press(page, "ArrowRight")
    expect(promise).to_have_attribute("open", "")
    expect(promise).to_contain_text("e^(14·d)")


@pytest.mark.full
def test_hostile_text_is_shown_as_it_stands(app_url: str, page: Page) -> None:
    text = (
        "<img src=x onerror=document.title='caught'> is <b>bold</b> "
        "![x](http://nowhere.invalid/p.png) and [y](javascript:alert(1)) "
        "שלום world 👩\u200d👩\u200d👧 Grüße"
    )
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    open_grid(page, f"{app_url}/rewrite")
    write_text(page, text)
    expect(page.locator(".source .plain")).to_have_text(text)
    for view in (WORD_VIEW, "100 draws"):
        open_view(page, view)
    open_drawer(page)
    assert page.locator("img[src='x'], b").count() == 0
    expect(page).not_to_have_title("caught")
    assert "text" not in query(page)


def test_bad_texts_say_what_to_do(app: Server, page: Page) -> None:
    open_grid(page, f"{app.url}/rewrite")
    for text, message in [("", "empty"), ("secretive " * 5000, "2,000")]:
        write_text(page, text)
        expect(page.get_by_text("This could not be rewritten.")).to_be_visible()
        expect(page.get_by_text(message).first).to_be_visible()
    write_text(page, "a good sentence")
    expect(page.locator(".source .plain")).to_have_text("a good sentence")
    assert "secretive" not in app.printed()


def test_nothing_typed_reaches_the_terminal(app: Server, page: Page) -> None:
    open_grid(page, f"{app.url}/rewrite")
    write_text(page, "the unmistakableword was typed")
    page.get_by_role("tab", name=WORD_VIEW).click()
    wait_idle(page)
    assert "unmistakableword" not in app.printed()


def test_a_link_holds_the_text_only_if_asked(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite?seed=11")
    open_drawer(page)
    write_text(page, "my own words & more")
    codes = page.get_by_test_id("stCode")
    assert "own+words" not in codes.first.inner_text()
    page.get_by_text("Put my text into the link").click()
    wait_idle(page)
    expect(page.get_by_text("This link contains your text.")).to_be_visible()
    link = codes.first.inner_text().replace("\n", "")
    words = row(page, "madlib.v1")
    open_grid(page, link)
    expect(page.locator(".source .plain")).to_have_text("my own words & more")
    assert row(page, "madlib.v1") == words
    write_text(page, "something else")
    assert "text" not in query(page)


@pytest.mark.parametrize(
    "bad",
    [
        "preset=unheard&lexicon=../../etc/passwd&unknown=publish&case=x&view=none",
        *(
            pytest.param(bad, marks=pytest.mark.full)
            for bad in (
                "eps_metric=-5&eps_log=abc&eps_local=1e99",
                "metric=nonsense&log=x&local=",
                "seed=-1&draw=99999999999&place=999999&via=nobody",
            )
        ),
    ],
)
def test_a_broken_link_falls_back(app: Server, page: Page, bad: str) -> None:
    open_grid(page, f"{app.url}/rewrite?{bad}")
    assert page.locator(".grid .changed").count() > 5
    assert page.get_by_test_id("stException").count() == 0
    assert "Traceback" not in app.printed()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_fits_a_phone(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme, **PHONE)
    open_grid(page, f"{app_url}/rewrite")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    for box in [word.bounding_box() for word in page.locator(".word").all()[:40]]:
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.locator("[data-id='tem.v1/5']").tap()
    expect(page.get_by_role("tooltip").locator("tbody tr")).to_have_count(5)
    card = page.get_by_role("tooltip").bounding_box()
    assert card is not None
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= 390
    assert_accessible(page)
    watch.assert_clean()


def test_numbers_and_figures_download(app_url: str, page: Page, tmp_path: Path) -> None:
    open_grid(page, f"{app_url}/rewrite?view={quote(WORD_VIEW)}")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    open_files(page, "epsilon-strip")
    with page.expect_download() as csv:
        page.get_by_role("button", name="Numbers as CSV").first.click()
    csv.value.save_as(tmp_path / "strip.csv")
    lines = (tmp_path / "strip.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("mechanism,title,meaning,word,from_epsilon")
    assert len(lines) > 6
    with page.expect_download() as svg:
        page.get_by_role("button", name="Figure as SVG").first.click()
    svg.value.save_as(tmp_path / "strip.svg")
    assert re.match(r"<svg ", (tmp_path / "strip.svg").read_text(encoding="utf-8"))


def test_draw_again_is_in_the_link(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite")
    before = row(page, "madlib.v1")
    page.get_by_role("button", name="Draw again").click()
    wait_idle(page)
    after = row(page, "madlib.v1")
    assert after != before
    assert query(page)["draw"] == ["1"]
    open_grid(page, page.url)
    assert row(page, "madlib.v1") == after


def test_the_first_dial_stays_in_sight(app_url: str, new_page: NewPage) -> None:
    for options in ({"viewport": {"width": 1440, "height": 900}}, PHONE):
        page, watch = new_page(**options)
        open_grid(page, f"{app_url}/rewrite")
        page.get_by_role("tab", name=WORD_VIEW).scroll_into_view_if_needed()
        expect(dial(page)).to_be_in_viewport()
        watch.assert_clean()


def test_one_dial_gives_every_row_the_same_leakage(app_url: str, page: Page) -> None:
    open_grid(page, f"{app_url}/rewrite")
    expect(page.get_by_role("slider")).to_have_count(3)
    before = row(page, "madlib.v1")
    page.get_by_role("radio", name="same leakage").click()
    expect(page.get_by_role("slider")).to_have_count(1)
    wait_idle(page)
    assert query(page)["compared"] == ["same leakage"]
    expect(page.get_by_text("not measured below 47 of 100")).to_be_visible()
    leakage = page.get_by_role("slider")
    leakage.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => new URLSearchParams(location.search).get('level') === '90'")
    wait_idle(page)
    assert row(page, "madlib.v1") != before
    page.get_by_role("radio", name="same ε").click()
    expect(page.get_by_role("slider")).to_have_count(3)
    wait_idle(page)
    assert row(page, "madlib.v1") == before


def test_the_dials_leave_a_phone_to_the_rows(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(**PHONE)
    open_grid(page, f"{app_url}/rewrite")
    boxes = [each.bounding_box() for each in page.locator("[class*=st-key-dial_place]").all()]
    heights = [box["height"] for box in boxes if box is not None]
    assert len(heights) == 3
    assert sum(heights) < 844 / 4


def test_the_grid_is_saved_as_a_picture_in_which_typed_text_is_no_markup(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_grid(page, f"{app_url}/rewrite")
    write_text(page, "A <b>bold</b> & brave doctor")
    open_drawer(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figure as SVG").first.click()
    root = ElementTree.parse(saved.value.path()).getroot()
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    picture_text = " ".join(texts)
    assert "A <b>bold</b> & brave doctor" in picture_text
    first = page.locator(".grid .words").nth(1).locator(".word").all_text_contents()
    assert len(first) > 2
    assert all(word in texts for word in first)
    assert not watch.page_errors
