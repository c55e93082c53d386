"""Links followed in a hurry, and the Back button: each page comes, and is as it was left."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.client import alone, session
from tests.browser.pages import WAIT_MS, Watch, open_page, wait_idle
from tests.browser.server import Server, serve

NewPage = Callable[..., tuple[Page, Watch]]
TYPED = "The old doctor bought a violin in winter."

# All within one task, so that nothing can be sent between the two.
WORD_THEN_LINK = """name => {
  const all = root => [...root.querySelectorAll('*')]
    .flatMap(node => node.shadowRoot ? [node, ...all(node.shadowRoot)] : [node]);
  all(document).find(node => node.matches('.word')).click();
  [...document.querySelectorAll('a')].find(node => node.innerText.trim() === name).click();
}"""

COMPUTING = """
import sys, time
from pathlib import Path
import streamlit as st
from pages.shared.departure import keep_order

def keep():
    st.session_state["kept"] = st.session_state["text"]

@st.fragment
def field():
    st.text_input("text", key="text", on_change=keep)

def one():
    field()
    st.page_link(last, label="two")
    end = time.monotonic() + 30 * st.checkbox("compute")
    st.text("computing" if end > time.monotonic() else "at rest")
    while time.monotonic() < end and not Path(sys.argv[1]).exists():
        time.sleep(0.01)

def two():
    st.text("kept " + st.session_state.get("kept", "nothing"))

keep_order()
first, last = st.Page(one, default=True), st.Page(two)
st.navigation([first, last]).run()
"""
"""A page that computes without drawing until a file is there, and a field in a part of it."""


def menu(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()


def rests_on(page: Page, name: str, heading: str) -> None:
    expect(page).to_have_title(f"{name} – Word Privacy Lab", timeout=WAIT_MS)
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    assert page.title() == f"{name} – Word Privacy Lab"
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible(timeout=1)


def on_rewrite(page: Page, app_url: str, link: str = "") -> None:
    open_page(page, f"{app_url}/rewrite{link}")
    expect(page.locator(".grid .word").first).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)


def test_a_word_and_a_link_at_once(app: Server, new_page: NewPage) -> None:
    page, watch = new_page()
    for _ in range(3):
        on_rewrite(page, app.url)
        page.evaluate(WORD_THEN_LINK, "Papers")
        rests_on(page, "Papers", "Is the guarantee true?")
    assert not watch.page_errors


@pytest.mark.parametrize("touch", [False, True])
def test_a_link_straight_from_the_text_is_followed_and_the_text_is_kept(
    app: Server, new_page: NewPage, touch: bool
) -> None:
    page, watch = new_page(has_touch=touch)
    on_rewrite(page, app.url)
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill(TYPED)
    link = page.get_by_role("link", name="Papers", exact=True).first
    link.tap() if touch else link.click()
    rests_on(page, "Papers", "Is the guarantee true?")
    menu(page, "Rewrite")
    rests_on(page, "Rewrite", "How does each mechanism rewrite your words?")
    expect(box).to_have_value(TYPED, timeout=WAIT_MS)
    expect(page.locator(".source .plain")).to_have_text(TYPED, timeout=WAIT_MS)
    assert not watch.page_errors


def test_a_text_is_kept_that_was_left_by_a_link_while_the_page_computes(
    tmp_path: Path, new_page: NewPage
) -> None:
    script, end = tmp_path / "app.py", tmp_path / "end"
    script.write_text(COMPUTING, encoding="utf-8")
    with serve(script, tmp_path, "--", str(end)) as server:
        page, watch = new_page()
        page.goto(server.url, timeout=WAIT_MS)
        expect(page.get_by_text("at rest")).to_be_visible(timeout=WAIT_MS)
        page.get_by_text("compute", exact=True).click()
        expect(page.get_by_text("computing")).to_be_visible()
        page.get_by_role("textbox", name="text").fill(TYPED)
        page.get_by_role("textbox", name="text").press("Tab")
        menu(page, "two")
        expect(page.get_by_text("kept ")).to_have_text(f"kept {TYPED}")
        end.touch()
        wait_idle(page)
        expect(page.get_by_text("kept ")).to_have_text(f"kept {TYPED}")
        assert not watch.page_errors


def test_a_link_straight_from_a_slider_takes_its_value_along(app: Server, page: Page) -> None:
    on_rewrite(page, app.url)
    slider = page.get_by_role("slider", name="Metric privacy: ε per distance")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    moved = re.search("ε = (\\S+) ", slider.get_attribute("aria-valuetext") or "")
    assert moved is not None
    assert moved[1] != "12"
    menu(page, "Words")
    expect(page).to_have_title("Words – Word Privacy Lab", timeout=WAIT_MS)
    wait_idle(page)
    expect(slider).to_have_attribute(
        "aria-valuetext", re.compile(f"ε = {moved[1]} "), timeout=WAIT_MS
    )
    assert parse_qs(urlsplit(page.url).query)["eps_metric"] == [moved[1]]


def test_of_two_links_at_once_the_second_counts(app: Server, page: Page) -> None:
    on_rewrite(page, app.url)
    for name in ("Papers", "Rewrite", "Lesson", "Papers"):
        menu(page, name)
    rests_on(page, "Papers", "Is the guarantee true?")


def test_the_back_button_leads_from_page_to_page_each_as_it_was_left(
    app: Server, page: Page
) -> None:
    on_rewrite(page, app.url, "?seed=7&via=tem")
    first = page.evaluate("history.length")
    draw = page.get_by_role("spinbutton", name="Draw")
    for number in ("1", "2"):
        page.get_by_role("button", name="Draw again").click()
        expect(draw).to_have_value(number, timeout=WAIT_MS)
    word = page.locator(".grid .word").nth(3)
    word.click()
    expect(word).to_have_attribute("aria-pressed", "true", timeout=WAIT_MS)
    wait_idle(page)
    left = page.locator(".grid .words").all_text_contents()
    address = parse_qs(urlsplit(page.url).query)
    assert {"draw": ["2"], "seed": ["7"]}.items() <= address.items()
    menu(page, "Papers")
    rests_on(page, "Papers", "Is the guarantee true?")
    menu(page, "Lesson")
    expect(page).to_have_title("Lesson – Word Privacy Lab", timeout=WAIT_MS)
    wait_idle(page)
    assert page.evaluate("history.length") == first + 2
    page.go_back()
    rests_on(page, "Papers", "Is the guarantee true?")
    page.go_back()
    rests_on(page, "Rewrite", "How does each mechanism rewrite your words?")
    expect(page.locator(".grid .word").first).to_be_visible(timeout=WAIT_MS)
    assert address.items() <= parse_qs(urlsplit(page.url).query).items()
    expect(draw).to_have_value("2", timeout=WAIT_MS)
    words = page.locator(".grid .words")
    expect(words, f"not as it was left: {left}").to_have_text(left, timeout=WAIT_MS)
    page.go_forward()
    rests_on(page, "Papers", "Is the guarantee true?")
    assert page.evaluate("history.length") == first + 2


def test_an_old_link_does_not_catch_the_back_button(app: Server, page: Page) -> None:
    open_page(page, f"{app.url}/lesson")
    before = page.url
    open_page(page, f"{app.url}/?eps_metric=3")
    rests_on(page, "Rewrite", "How does each mechanism rewrite your words?")
    page.go_back()
    wait_idle(page)
    if page.url != before:  # the old link was sent on before the browser could be told
        rests_on(page, "Start", "Could anyone tell what you wrote?")
        page.go_back()
    expect(page).to_have_title("Lesson – Word Privacy Lab", timeout=WAIT_MS)
    assert page.url == before


def test_a_message_is_never_named_in_place_of_being_sent(app: Server) -> None:
    """A browser that says what it has kept may have forgotten it before the answer is there."""
    seen: set[str] = set()
    kinds: list[str | None] = []

    def look(data: bytes) -> None:
        forward = ForwardMsg.FromString(data)
        seen.add(forward.hash)
        kinds.append(forward.WhichOneof("type"))

    async def ask() -> None:
        async with session(app.url) as person:
            person.raw = look
            await person.open("curves")  # with a figure of more than 10 kB
            again = BackMsg()
            again.rerun_script.page_script_hash = person.pages["curves"]
            again.rerun_script.cached_message_hashes.extend(sorted(seen - {""}))
            await person.run(again)

    alone(ask())
    assert "delta" in kinds
    assert "ref_hash" not in kinds
