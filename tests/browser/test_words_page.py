"""The page Words in a real Chromium: deep link, click, search, slider, phone, axe."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, settled, wait_idle
from tests.browser.server import Server

FEW = "curve_metric=tem&curve_log="
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
NewPage = Callable[..., tuple[Page, Watch]]


def open_pair(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".panes .caption")).to_be_visible(timeout=60_000)
    wait_idle(page)


def words(page: Page) -> list[str]:
    return page.locator(".panes .middle").all_text_contents()


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_on_a_low_window_nothing_overprints_below_the_panes(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page(viewport={"width": 1280, "height": 720})
    open_pair(page, f"{app_url}/words?curve_metric=tem&curve_log=truncated-gumbel")
    expect(page.locator(".dial")).to_have_count(2)
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    drawer, footer = page.locator(".st-key-taking"), page.get_by_text("No telemetry")
    lower = drawer.bounding_box()
    assert lower["y"] + lower["height"] <= footer.bounding_box()["y"]
    dials = page.locator(".dial")
    top = dials.first.bounding_box()
    assert dials.last.bounding_box()["y"] < top["y"]  # scrolled away below the one that stays
    assert page.evaluate(
        "([x, y]) => !!document.elementFromPoint(x, y).closest('[class*=dial_place_metric]')",
        [top["x"] + top["width"] / 2, top["y"] + 8],
    )


def own_faults(watch: Watch) -> list[str]:
    """Bad answers, without those where Streamlit looks for itself below the page's path."""
    return [entry for entry in watch.bad_responses if "/_stcore/" not in entry]


@pytest.mark.full
def test_a_deep_link_on_a_fresh_server_gets_the_frame(
    fresh_server: Server, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_pair(
        page,
        f"{fresh_server.url}/words?word=violin&other=doctor&eps_metric=3&projection=PCA&more=Map&{FEW}",
    )
    expect(page).to_have_title("Words – Word Privacy Lab")
    assert words(page) == ["violin", "doctor"]
    expect(page.locator(".panes .caption")).to_contain_text("tem, ε = 3: “violin” and “doctor” are")
    # A link to the former tab of maps.
    expect(page.locator(".panes .key")).to_contain_text("PCA of both neighbourhoods")
    assert own_faults(watch) == []
    assert not watch.foreign_requests
    assert not watch.page_errors
    assert "Traceback" not in fresh_server.printed()


def test_an_example_is_one_choice_and_stays_on_every_page(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_pair(page, f"{app_url}/words?{FEW}")
    assert words(page) == ["monday", "garage"]
    example = page.get_by_role("combobox", name="Another example")
    example.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # a list closes as the page scrolls
    example.click()
    page.get_by_role("option", name="june and insulin, madlib at 16").click()
    caption = page.locator(".panes .caption")
    said = "madlib, ε = 16: “insulin” stands alone, guessed in 75 of 100 outputs"
    expect(caption).to_contain_text(said, timeout=30_000)
    wait_idle(page)
    given = query(page)
    assert (given["word"], given["other"]) == (["june"], ["insulin"])
    assert (given["outputs_of"], given["eps_metric"]) == (["madlib"], ["16"])
    page.get_by_role("link", name="Rewrite").click()
    wait_idle(page)
    page.get_by_role("link", name="Words").click()
    expect(caption).to_contain_text(said, timeout=30_000)
    assert not watch.page_errors


def test_it_opens_from_the_menu_where_most_is_seen(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    open_page(page, app_url)
    wait_idle(page)
    page.get_by_role("link", name="Words", exact=True).click()
    expect(page.locator(".panes .caption")).to_have_text(
        "madlib, ε = 14: “umbrella” stands alone, guessed in 57 of 100 outputs; “june”, in a "
        "crowd, in 25.",
        timeout=60_000,
    )
    assert not watch.page_errors


def test_a_word_of_the_text_is_the_word_here_and_not_in_the_link(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_page(page, f"{app_url}/rewrite?metric=tem&log=&local=&preset=hospital")
    # What comes out for "medicine" is a draw: the place of the word is there at every ε.
    page.locator("[data-id='tem.v1/13']").wait_for(timeout=60_000)
    wait_idle(page)
    page.locator("[data-id='tem.v1/1']").click()
    wait_idle(page)
    page.get_by_role("link", name="Words").click()
    expect(page.locator(".panes .middle").first).to_have_text("doctor", timeout=30_000)
    wait_idle(page)
    assert "word" not in query(page)
    assert "doctor" not in page.url
    find = page.get_by_role("textbox", name="First word")
    find.fill("hospital")
    find.press("Enter")
    expect(page.locator(".panes .middle").first).to_have_text("hospital", timeout=30_000)
    wait_idle(page)
    assert query(page)["word"] == ["hospital"]
    page.get_by_role("link", name="Rewrite").click()
    place = page.locator("[data-id='tem.v1/5']")
    expect(place).to_have_attribute("aria-pressed", "true", timeout=30_000)
    assert not watch.page_errors


def test_a_slider_step_by_keyboard_moves_the_discs_and_the_address(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page()
    open_pair(page, f"{app_url}/words?eps_metric=4&{FEW}")
    page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".panes .caption")).to_contain_text("tem, ε = 3.5: ", timeout=30_000)
    # The server hears of it when the hand is off.
    expect(page).to_have_url(re.compile(r"eps_metric=3\.5(&|$)"))


@pytest.mark.parametrize("kind", ["UMAP", "densMAP"])
def test_an_old_link_to_a_map_leads_to_the_panes(
    app_url: str, new_page: NewPage, kind: str
) -> None:
    page, watch = new_page()
    drawn = "" if kind == "densMAP" else f"&projection={kind}"
    open_pair(page, f"{app_url}/words?more=Map{drawn}&{FEW}")
    expect(page.get_by_role("radio", name=kind, exact=True)).to_be_checked()
    expect(page.locator(".panes .key")).to_contain_text(f"{kind} of both neighbourhoods")
    assert query(page)["drawn_as"] == [kind]
    assert "more" not in query(page)
    assert words(page) == ["monday", "garage"]
    page.get_by_role("radio", name="True distances").click()
    expect(page.locator(".panes .key")).to_contain_text("Rings are true distances")
    assert not watch.page_errors


def test_an_open_drawer_follows_the_dial_beside_a_view_that_does_not(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page()
    open_pair(page, f"{app_url}/words?eps_metric=4&more=Facts&{FEW}")
    page.get_by_text("Save and cite").click()
    link = page.locator("code").filter(has_text="/words?")
    expect(link).to_contain_text("eps_metric=4&")
    page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
    page.keyboard.press("ArrowLeft")
    expect(link).to_contain_text("eps_metric=3.5")


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_pair(page, f"{app_url}/words?curve_local=gaussian&{FEW}")
    assert_accessible(page)
    for view in ("How the map can mislead", "Facts"):
        page.get_by_role("tab", name=view).click()
        wait_idle(page)
        assert_accessible(page)
    page.get_by_role("tab", name="Whole vocabulary").click()
    expect(page.get_by_text("this densMAP map keeps")).to_be_visible(timeout=30_000)
    find = page.get_by_role("textbox", name="First word")
    find.fill("hospit")
    find.press("Enter")
    expect(page.get_by_text("Words containing it")).to_be_visible(timeout=30_000)
    wait_idle(page)
    assert_accessible(page)
    assert own_faults(watch) == []
    assert not watch.page_errors


@pytest.mark.full
@pytest.mark.parametrize("scope", ["&more=Curves", "&more=Map&scope=Whole+vocabulary"])
def test_a_phone_has_no_sideways_scrolling(app_url: str, new_page: NewPage, scope: str) -> None:
    page, _ = new_page(**PHONE)
    open_pair(page, f"{app_url}/words?{FEW}{scope}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    edges = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot, .st-key-vocabulary_map')]"
        ".map(plot => plot.getBoundingClientRect().right)"
    )
    assert max(edges) <= 390


@pytest.mark.full
@pytest.mark.parametrize("bad", ["word=%3Cb%3E&other=qqzzyyxx", "projection=x&scope=y&radius=-3"])
def test_a_broken_link_falls_back(app_url: str, new_page: NewPage, bad: str) -> None:
    page, watch = new_page()
    open_pair(page, f"{app_url}/words?{bad}&{FEW}")
    assert words(page) == ["monday", "garage"]
    assert page.get_by_test_id("stException").count() == 0
    assert not watch.page_errors


def test_an_old_link_leads_to_the_new_place_with_all_it_says(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    asked = "word=violin&other=doctor&eps_metric=3&outputs_of=madlib&curve_metric=tem"
    open_pair(page, f"{app_url}/neighbourhoods?{asked}&curve_metric=madlib&curve_log=&more=Facts")
    assert urlsplit(page.url).path == "/words"
    assert words(page) == ["violin", "doctor"]
    assert query(page)["eps_metric"] == ["3"]
    assert query(page)["outputs_of"] == ["madlib"]
    assert query(page)["curve_metric"] == ["tem", "madlib"]
    expect(page).to_have_title("Words – Word Privacy Lab")
    assert not watch.page_errors


def test_every_mechanism_can_be_chosen_by_hand(app_url: str, new_page: NewPage) -> None:
    """The address leaves the default out: it must not be taken for an arrival by the menu."""
    page, _ = new_page()
    open_pair(page, f"{app_url}/words?{FEW}&outputs_of=madlib")
    box = page.get_by_role("combobox", name="Mechanism")
    for chosen in ("tem", "vickrey", "tem"):
        box.click()
        page.get_by_role("option", name=chosen, exact=True).click()
        expect(box).to_have_value(chosen)
        wait_idle(page)
        expect(box).to_have_value(chosen)
        expect(page.locator(".dial").first).to_contain_text(chosen)


def test_a_less_protected_word_takes_the_second_place_and_the_verdict_is_in_sight(
    app_url: str, new_page: NewPage
) -> None:
    """From the opening view: a word is typed, the button is pressed, the verdict is read."""
    page, watch = new_page(**PHONE)
    open_pair(page, f"{app_url}/words")
    button = page.get_by_role("button", name="Try a less protected word")
    caption, status = page.locator(".panes .caption"), page.locator(".panes [role=status]")

    def in_sight() -> bool:
        boxes = [node.bounding_box() for node in (caption, button)]
        return all(0 < box["y"] < 844 - box["height"] for box in boxes)

    def type_first(word: str) -> None:
        field = page.get_by_role("textbox", name="First word")
        field.tap()
        field.press_sequentially(word)
        field.press("Enter")
        expect(page.locator(".panes .middle").first).to_have_text(word, timeout=30_000)
        wait_idle(page)
        assert in_sight()

    def press() -> str:
        shown = words(page)
        button.tap()
        expect(page.locator(".panes .middle").nth(1)).not_to_have_text(shown[1], timeout=30_000)
        wait_idle(page)
        first, second = words(page)
        assert first == shown[0]
        expect(caption).to_contain_text(f"“{second}” stands alone, guessed in ")
        assert in_sight()
        return second

    type_first("tuesday")
    assert press() != press()
    # A lonely word: under madlib hardly any word is guessed more often, so the page says where.
    type_first("doctor")
    button.tap()
    expect(status).to_contain_text("choose truncated-gumbel, under which some are", timeout=30_000)
    wait_idle(page)
    box = status.bounding_box()
    assert 0 < box["y"] < 845 - box["height"]
    mechanism = page.get_by_role("combobox", name="Mechanism")
    mechanism.tap()
    mechanism.press_sequentially("truncated-gumbel")
    page.get_by_role("option", name="truncated-gumbel", exact=True).tap()
    expect(caption).to_contain_text("truncated-gumbel, ln ε = 3.5", timeout=30_000)
    expect(status).to_have_text("")
    wait_idle(page)
    press()
    assert not watch.page_errors


def test_where_no_word_is_less_protected_a_sentence_says_so_until_something_changes(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_pair(page, f"{app_url}/words?{FEW}&word=doctor&other=violin&outputs_of=k-ary")
    button = page.get_by_role("button", name="Try a less protected word")
    status = page.locator(".panes [role=status]")
    sentence = (
        "No other common word that was tried is guessed clearly more often than “doctor” here"
    )

    def ask() -> None:
        button.click()
        expect(status).to_contain_text(sentence, timeout=30_000)
        wait_idle(page)
        assert words(page) == ["doctor", "violin"]

    def turn() -> None:
        page.get_by_role("slider").first.focus()
        page.keyboard.press("ArrowRight")

    def swap_mechanism() -> None:
        box = page.get_by_role("combobox", name="Mechanism")
        box.click()
        page.get_by_role("option", name="tem", exact=True).click()

    for change in (turn, swap_mechanism):
        ask()
        change()
        expect(status).to_have_text("", timeout=30_000)
        wait_idle(page)
        expect(status).to_have_text("")
        # The sentence comes again for a click where it was before.
        if change is turn:
            page.keyboard.press("ArrowLeft")
            wait_idle(page)
            expect(status).to_have_text("")
    assert not watch.page_errors


def test_a_swipe_over_the_slider_scrolls_and_sets_nothing(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(**PHONE, is_mobile=True)
    open_pair(page, f"{app_url}/words?{FEW}")
    slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
    before = slider.input_value()
    box = slider.bounding_box()
    x, y = box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"]
    touch = page.context.new_cdp_session(page)

    def finger(kind: str, *points: tuple[float, float]) -> None:
        touch.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": at, "y": down} for at, down in points]},
        )

    finger("touchStart", (x, y))
    for step in range(1, 16):
        finger("touchMove", (x, y - 20 * step))
        page.wait_for_timeout(16)
    finger("touchEnd")
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    page.wait_for_function(f"() => {scrolled} > 100")
    settled(page, scrolled)
    assert slider.input_value() == before
    # Along the slider it is a drag.
    box = slider.bounding_box()
    y = box["y"] + 0.5 * box["height"]
    finger("touchStart", (box["x"] + 0.5 * box["width"], y))
    for step in range(1, 8):
        finger("touchMove", (box["x"] + (0.5 + 0.05 * step) * box["width"], y))
    finger("touchEnd")
    expect(slider).not_to_have_value(before)
