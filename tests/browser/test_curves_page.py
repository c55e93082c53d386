"""The page Curves in a real Chromium: menu, deep link, dial, stop, phone, accessibility."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle
from tests.browser.server import Server

FEW = "sample=3&runs=20"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def open_curves(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=30_000)
    wait_idle(page)


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/curves/_stcore/" not in entry]


@pytest.mark.full
def test_a_deep_link_on_a_fresh_server_gets_the_frame(
    fresh_server: Server, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_curves(
        page,
        f"{fresh_server.url}/curves?eps_metric=5&seed=7&curve_metric=tem&curve_log=&{FEW}",
    )
    expect(page).to_have_title("Curves – Word Privacy Lab")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    expect(page.get_by_text("At ε = 5, a word stays with a mean chance of")).to_be_visible()
    assert page.locator(".js-plotly-plot").count() == 2
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors
    assert "Traceback" not in fresh_server.printed()


def test_trade_off_leads_there_and_the_menu_on(app_url: str, page: Page) -> None:
    open_page(page, f"{app_url}/tradeoff")
    page.get_by_role("link", name="Nw and Sw over ε").click()
    expect(page.locator(".js-plotly-plot")).to_have_count(4, timeout=30_000)
    wait_idle(page)
    seed = page.get_by_role("spinbutton", name="Seed")
    seed.fill("7")
    seed.press("Enter")
    expect(page.get_by_text("· seed 7 ·")).to_be_visible(timeout=30_000)
    wait_idle(page)
    # No one chose the mechanisms of the other page, so they have not come along.
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    expect(page.get_by_text("vickrey: mean")).to_have_count(0)
    page.get_by_role("link", name="Rewrite").click()
    expect(page.locator(".grid .words").first).to_be_visible()
    wait_idle(page)
    expect(page.locator(".grid .words")).to_have_count(6)
    expect(page.locator(".grid .changed").first).to_be_visible()


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_curves(
        page,
        f"{app_url}/curves?curve_local=gaussian&curve_local=laplace&curve_metric=tem&{FEW}",
    )
    drawers = page.locator("details summary")
    for summary in drawers.filter(has_not_text="Save and cite").all():
        summary.click()
    assert_accessible(page)
    page.get_by_text("Save and cite").click()  # a second click would close it
    expect(page.get_by_text("To cite")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    page.get_by_role("radio", name="calibrated: equal mean Nw").click()
    expect(page.get_by_role("combobox", name="Reference")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    for source, box in (("My own words", "Your words"), ("A text", "Text")):
        page.get_by_role("radio", name=source).click()
        expect(page.get_by_role("textbox", name=box, exact=True)).to_be_visible()
        wait_idle(page)
        assert_accessible(page)
    assert own_faults(watch) == []
    assert not watch.page_errors


MARK = ".stMain [data-testid=stHtml] [aria-hidden] div"


def test_a_turn_of_the_dial_by_keyboard_moves_the_mark_and_the_link_and_no_curve(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page()
    open_curves(page, f"{app_url}/curves?curve_metric=tem&curve_log=&{FEW}")
    before = page.locator(MARK).first.bounding_box()
    page.evaluate(
        """() => {
          window.__drawn = 0;
          for (const plot of document.querySelectorAll('.js-plotly-plot'))
            plot.on('plotly_afterplot', () => { window.__drawn += 1; });
        }"""
    )
    page.get_by_role("slider", name="Metric privacy: ε per distance").press("ArrowLeft")
    page.wait_for_url("**eps_metric=**")
    wait_idle(page)
    (value,) = parse_qs(urlsplit(page.url).query)["eps_metric"]
    expect(page.get_by_text(f"At ε = {value}, a word stays with a mean chance")).to_be_visible()
    after = page.locator(MARK).first.bounding_box()
    assert after["x"] < before["x"]
    assert (after["y"], after["height"]) == (before["y"], before["height"])
    assert page.evaluate("window.__drawn") == 0


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.full)])
def test_the_mark_lies_on_the_axes_of_the_figure(
    app_url: str, new_page: NewPage, width: int
) -> None:
    page, _ = new_page(viewport={"width": width, "height": 900})
    open_curves(page, f"{app_url}/curves?curve_metric=tem&curve_log=&eps_metric=1000&{FEW}")
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    line = page.locator(MARK).first.bounding_box()
    assert line["y"] == pytest.approx(area["y"], abs=1.5)
    assert line["height"] == pytest.approx(area["height"], abs=1.5)
    assert line["x"] == pytest.approx(area["x"] + area["width"], abs=2)


def test_choose_epsilon_leads_to_the_one_solver(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_curves(page, f"{app_url}/curves?curve_metric=tem&curve_log=&{FEW}")
    page.get_by_role("link", name="Choose ε").click()
    page.wait_for_url("**/tradeoff?**")
    expect(page.get_by_role("combobox", name="Goal", exact=True)).to_be_visible(timeout=30_000)
    expect(page.get_by_role("combobox", name="Goal", exact=True)).to_have_value(
        "Nw of your own words, at most"
    )
    assert not watch.page_errors


def test_the_dials_stay_in_sight(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_curves(page, f"{app_url}/curves?{FEW}")
    dials = page.locator("[class*=st-key-dial_place]")
    expect(dials).to_have_count(2)
    left, right = (dials.nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    page.get_by_role("tab", name="Appendix C").scroll_into_view_if_needed()
    for i in range(2):
        expect(dials.nth(i)).to_be_in_viewport()


def test_a_text_file_and_a_typed_word(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/curves?of=A+text&curve_metric=tem&curve_log=&{FEW}")
    expect(page.get_by_text("there is no text yet")).to_be_visible()
    upload = page.locator("[data-testid=stFileUploader] input[type=file]")
    upload.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"stra\xdfe"})
    expect(page.get_by_text("is not UTF-8 text")).to_be_visible()
    wait_idle(page)
    text = b"The doctor saw the city."
    upload.set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": text})
    expect(page.get_by_text("5 words, of which 5 are in the vocabulary")).to_be_visible()
    box = page.get_by_role("combobox", name="Pin a word")
    box.fill("hospital")
    box.press("Enter")
    expect(page.get_by_text("Drawn bold: hospital solid.").first).to_be_visible(timeout=30_000)
    wait_idle(page)
    assert "hospital" not in page.url
    assert own_faults(watch) == []
    assert not watch.page_errors


def test_a_long_measurement_can_be_stopped_and_keeps_what_is_there(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    page.goto(
        f"{app_url}/curves?curve_metric=tem&curve_log=&curve_local=trlaplace&sample=100&runs=50"
    )
    expect(page.get_by_text("s left")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Stop and show results so far").click()
    expect(page.get_by_text("Stopped: not all words are measured.")).to_be_visible(timeout=30_000)
    wait_idle(page)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_role("button", name="Continue measuring")).to_be_visible()
    assert not watch.page_errors


@pytest.mark.full
def test_a_phone_has_no_sideways_scrolling(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(**PHONE)
    open_curves(page, f"{app_url}/curves?{FEW}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    edges = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')]"
        ".map(plot => plot.getBoundingClientRect().right)"
    )
    assert max(edges) <= 390
