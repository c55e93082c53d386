"""The Crowd page in a real Chromium: the dials move words and texts without the server."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Watch, assert_accessible, open_page, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]
GUESSED, TEXTS = "Guessed by frequency, of 100 content words", "Number of texts"


def opened(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".crowd .private").first).to_be_visible(timeout=30_000)
    wait_idle(page)


def test_the_dials_move_all_without_the_server_and_the_link_follows(
    app_url: str, page: Page
) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    opened(page, f"{app_url}/crowd")
    words, texts = page.locator(".crowd .word"), page.locator(".crowd .private")
    finding = page.locator(".crowd .finding")
    expect(finding).to_contain_text("10,000 texts: 18 words told apart")
    before, read = words.all_text_contents(), texts.all_text_contents()
    wide = page.locator(".crowd .interval").first.bounding_box()
    sent.clear()
    # Moved, and not yet let go: the dial tells the server when it rests.
    moved = "event => window.dispatchEvent(new CustomEvent('dpcore:dial', { detail: event }))"
    page.evaluate(moved, {"group": "crowd_texts", "step": 6, "rest": False})
    expect(finding).to_contain_text("49,582 texts: ")
    page.evaluate(moved, {"group": "crowd_guessed", "step": 4, "rest": False})
    # Drawn in the next frame, and twenty words are there already since the move before.
    expect(texts).not_to_have_text(read)
    expect(words).to_have_count(20)
    assert words.all_text_contents() != before
    wait_idle(page)
    narrow = page.locator(".crowd .interval").first.bounding_box()
    assert wide is not None
    assert narrow is not None
    assert narrow["width"] < wide["width"] / 3
    assert sent == []
    # By hand, and the link follows; a link that was made so shows the same.
    for name in (GUESSED, TEXTS):
        page.get_by_role("slider", name=name).focus()
        page.keyboard.press("End")
        wait_idle(page)
    page.wait_for_url("**guessed=50**")
    page.wait_for_url("**texts=all**")
    shown, said = words.all_text_contents(), finding.inner_text()
    opened(page, page.url)
    assert words.all_text_contents() == shown
    assert finding.inner_text() == said
    label = page.locator(".crowd svg").get_attribute("aria-label") or ""
    assert label.startswith(said.partition(" Shown")[0])
    assert f"more in praise: {shown[0]}, " in label


def test_what_is_said_below_follows_the_dials(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/crowd")
    page.get_by_text("Save and cite").click()
    cell = page.locator("code").filter(has_text="DrawnComparison")
    expect(cell).to_contain_text(", 10000, 2024, '0.1')")
    for name in (GUESSED, TEXTS):
        page.get_by_role("slider", name=name).focus()
        page.keyboard.press("End")
        wait_idle(page)
    expect(cell).to_contain_text(", 49582, 2024, '0.5')")
    expect(page.locator(".crowd .finding")).to_contain_text("49,582 texts")


def test_rows_are_in_the_places_of_their_numbers(app_url: str, page: Page) -> None:
    """A word that is more common in the first group is right of the line, the other left."""
    page.emulate_media(reduced_motion="reduce")
    opened(page, f"{app_url}/crowd?guessed=33&texts=all")
    zero = page.locator(".crowd .zero").bounding_box()
    assert zero is not None
    for kind, right in (("up", True), ("down", False)):
        for dot in page.locator(f".crowd .dot.{kind}").all():
            box = dot.bounding_box()
            assert box is not None
            assert (box["x"] + box["width"] / 2 > zero["x"]) == right
    assert page.locator(".crowd .truth").count() == page.locator(".crowd .dot").count() == 20


def test_where_nothing_is_told_the_picture_says_so(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/crowd?guessed=5&texts=100")
    expect(page.locator(".crowd svg .none")).to_have_text("100 texts: no word can be told apart.")
    assert page.locator(".crowd .word").count() == 0


def test_another_corpus_begins_where_the_dials_are(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/crowd?guessed=50&texts=all")
    page.get_by_role("combobox", name="Texts").click()
    page.get_by_role("option", name="Answers (Yahoo)").click()
    expect(page.locator(".crowd .finding")).to_contain_text("4,418 texts: ", timeout=30_000)
    wait_idle(page)
    page.wait_for_url("**crowd=yahoo**")
    assert "texts=all" in page.url
    expect(page.locator(".crowd .word").first).to_have_text("god")


@pytest.mark.full  # `test_reach.py` looks at its first views every time
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    opened(page, f"{app_url}/crowd?crowd=agnews&guessed=33")
    assert_accessible(page)
    for view in ("In numbers", "Count a word"):
        page.get_by_role("tab", name=view).click()
        wait_idle(page)
        assert_accessible(page)
    page.get_by_text("Original texts").click()
    page.get_by_text("Save and cite").click()
    expect(page.get_by_text("To cite")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    watch.assert_clean()


def test_german_is_german(app_url: str, page: Page) -> None:
    opened(page, f"{app_url}/crowd?lang=de")
    expect(page.locator(".crowd .finding")).to_contain_text("10.000 Texte: 18 Wörter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Niemand kann diese Texte lesen")
    for word in ("häufiger: Lob →", "← häufiger: Tadel", "Unterschied je 1.000 Wörter"):
        expect(page.locator(".crowd svg")).to_contain_text(word)


@pytest.mark.parametrize("name", ["SVG", pytest.param("PNG", marks=pytest.mark.full)])
def test_the_figure_downloads_as_it_stands(app_url: str, page: Page, name: str) -> None:
    opened(page, f"{app_url}/crowd")
    page.get_by_text("Save and cite").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Figure as {name}").click()
    content = download.value.path().read_bytes()
    assert download.value.suggested_filename == f"crowd.{name.lower()}"
    if name == "SVG":
        assert b"difference per 1,000 words" in content
    else:
        assert content.startswith(b"\x89PNG")
        assert len(content) > 20_000
