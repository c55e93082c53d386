"""The map of the whole vocabulary in a real Chromium, whose WebGL is drawn by software."""

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from dpcore.lexicon.catalogue import load
from dpcore.lexicon.neighbours import rank
from dpcore.measure.maps.fit import vocabulary_map
from dpcore.plots.maps.panes import DARK, LIGHT
from tests.browser.pages import Watch, assert_accessible, open_page, settled, wait_idle

NewPage = Callable[..., tuple[Page, Watch]]
URL = "/words?curve_metric=tem&curve_log=&more=Whole+vocabulary"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LEVELS = "18"
PACKET = 300_000  # bytes: a message of this size holds the points

# What was written on the canvas since it was last wiped: text, middle, baseline, width.
NAMES = """() => {
  const own = CanvasRenderingContext2D.prototype, { fillText, clearRect } = own;
  window.written = [];
  own.clearRect = function (...given) { window.written = []; return clearRect.apply(this, given); };
  own.fillText = function (text, x, y) {
    window.written.push([text, x, y, this.measureText(text).width]);
    return fillText.call(this, text, x, y);
  };
}"""
NO_WEBGL = """() => {
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return kind === 'webgl' ? null : getContext.call(this, kind, ...more);
  };
}"""

# What share of a picture's pixels is within 45 of 255 of each colour, in red, green and blue.
SHARES = """async ([picture, colours]) => {
  const bytes = Uint8Array.from(atob(picture), letter => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
  pen.drawImage(bitmap, 0, 0);
  const { data } = pen.getImageData(0, 0, bitmap.width, bitmap.height);
  return colours.map(colour => {
    const tone = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      count += tone.every((part, k) => Math.abs(data[i + k] - part) <= 45);
    return 4 * count / data.length;
  });
}"""


def open_map(page: Page, url: str, more: str = "") -> Locator:
    """Open the map and wait until its points are drawn and its names are placed."""
    page.add_init_script(f"({NAMES})()")
    open_page(page, f"{url}{URL}{more}")
    return placed(page)


def placed(page: Page) -> Locator:
    root = page.locator(".vocabulary")
    expect(root).to_have_attribute("data-placed", LEVELS, timeout=60_000)
    stage = root.locator(".stage")
    # Below the dial, which stays in sight.
    stage.evaluate("node => node.scrollIntoView({ block: 'end' })")
    settled(page, "window.written")
    return stage


def find(page: Page, word: str) -> None:
    field = page.get_by_role("combobox", name="Find a word by its beginning")
    field.fill(word)
    field.press("Enter")
    expect(page.locator(".vocabulary .told .near li")).to_have_count(10, timeout=30_000)
    wait_idle(page)


def shares(stage: Locator, *colours: str) -> list[float]:
    """The shares of the pixels of the map that have these colours, or nearly."""
    picture = base64.b64encode(stage.screenshot()).decode()
    result: list[float] = stage.page.evaluate(SHARES, [picture, colours])
    return result


def names(page: Page) -> list[list[Any]]:
    written: list[list[Any]] = settled(page, "window.written")
    return written


def nearer(page: Page, times: int) -> None:
    for _ in range(times):
        page.get_by_role("button", name="Zoom in").click()


@pytest.mark.parametrize(
    ("scheme", "colours"), [("light", LIGHT), pytest.param("dark", DARK, marks=pytest.mark.full)]
)
def test_webgl_draws_every_class_in_its_colour_and_nothing_is_amiss(
    app_url: str, new_page: NewPage, scheme: Any, colours: tuple[str, ...]
) -> None:
    page, watch = new_page(color_scheme=scheme)
    stage = open_map(page, app_url)
    expect(page.locator(".vocabulary")).to_have_attribute("data-painter", "webgl")
    assert min(shares(stage, *colours)) > 1e-3
    # The ground is seen too: the points do not fill the paper.
    assert shares(stage, "#FFFFFF" if scheme == "light" else "#10161C")[0] > 0.3
    assert_accessible(page)
    find(page, "violin")
    assert_accessible(page)
    watch.assert_clean()


def test_without_webgl_the_points_are_drawn_with_a_sentence(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(color_scheme="light")
    page.add_init_script(f"({NO_WEBGL})()")
    stage = open_map(page, app_url)
    expect(page.locator(".vocabulary")).to_have_attribute("data-painter", "canvas")
    expect(page.get_by_text("This browser offers no WebGL")).to_be_visible()
    assert min(shares(stage, *LIGHT)) > 1e-3
    assert not watch.page_errors


def test_a_lost_context_is_replaced(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(color_scheme="light")
    stage = open_map(page, app_url)
    stage.locator(".under").evaluate(
        "node => node.getContext('webgl').getExtension('WEBGL_lose_context').loseContext()"
    )
    expect(page.locator(".vocabulary")).to_have_attribute("data-painter", "canvas")
    assert min(shares(stage, *LIGHT)) > 1e-3
    assert not watch.page_errors


def test_a_word_is_found_by_its_beginning_without_the_server(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    stage = open_map(page, app_url)
    wait_idle(page)
    sent.clear()
    field = page.get_by_role("combobox", name="Find a word by its beginning")
    field.press_sequentially("VIOL")
    offers = page.locator(".vocabulary .offers li")
    expect(offers).to_have_count(8)
    lexicon = load()
    begin = [word for word in lexicon.words if word.startswith("viol")][:8]
    assert offers.all_text_contents() == begin
    assert not sent
    # The second one by keyboard, as for a screen reader.
    field.press("ArrowDown")
    field.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == "offer1"
    expect(offers.nth(1)).to_have_attribute("aria-selected", "true")
    field.press("Enter")
    told = page.locator(".vocabulary .told")
    expect(told.locator("strong")).to_have_text(begin[1])
    expect(told.locator(".near li")).to_have_count(10, timeout=30_000)
    row = lexicon.index(begin[1])
    true = rank(lexicon.vectors, lexicon.vectors[[row]])[0].order[1:11]
    near = told.locator(".near li button span:first-child").all_text_contents()
    assert near == [lexicon.words[i] for i in true.tolist()]
    expect(told).to_contain_text(f"Word {row + 1:,} of 25,000 by frequency")
    wait_idle(page)
    # It is in the middle, with its name.
    box = stage.bounding_box()
    assert box is not None
    (x,) = (x for text, x, *_ in names(page) if text == begin[1])
    assert abs(x - box["width"] / 2) < 2
    assert f"found={begin[1]}" in page.url
    # A neighbour is a button that leads on.
    told.locator(".near button").first.click()
    expect(told.locator("strong")).to_have_text(near[0])
    field.fill("qqzzyyxx")
    expect(page.get_by_text("No word on this map contains that")).to_be_visible()
    assert not watch.page_errors


def test_names_appear_as_one_comes_nearer_and_none_lies_on_another(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page(reduced_motion="reduce")
    stage = open_map(page, app_url)
    box = stage.bounding_box()
    assert box is not None
    before: dict[str, list[Any]] = {}
    for step in range(7):
        written = names(page)
        shown = {text: place for text, *place in written}
        assert len(written) >= 15
        for i, (one, x, y, wide) in enumerate(written):
            for other, x2, y2, wide2 in written[i + 1 :]:
                meets = abs(x - x2) < (wide + wide2) / 2 - 1 and abs(y - y2) < 11
                assert not meets, (step, one, other)
        # Of what was in the middle before, all that is still in sight keeps its name.
        for text, (x, y, _) in before.items():
            inside = [
                abs(place - size / 2) < 0.55 * size / 2 / 1.6
                for place, size in ((x, box["width"]), (y, box["height"]))
            ]
            if all(inside):
                assert text in shown, (step, text)
        assert not before or set(shown) - set(before)
        before = shown
        nearer(page, 1)
    # The middle of the map may hold no word, a found one is in the middle.
    find(page, "river")
    nearer(page, 6)
    assert len(names(page)) >= 1


def test_regions_have_names_that_go_first(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(reduced_motion="reduce")
    open_map(page, app_url, "&projection=UMAP")
    lexicon = load("default")
    widest = [
        lexicon.words[row] for row in vocabulary_map(lexicon, "umap").regions[:20, 0].tolist()
    ]
    written = {text for text, *_ in names(page)}
    # Two names may want one place, and the words of the panes have theirs.
    assert len(written & set(widest)) >= 12


def test_a_tap_looks_and_a_button_chooses_the_word_of_the_page(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page(reduced_motion="reduce")
    stage = open_map(page, app_url)
    find(page, "truck")
    page.locator(".vocabulary .near button").first.click()
    told = page.locator(".vocabulary .told strong")
    expect(told).not_to_have_text("truck")
    wait_idle(page)
    stage = placed(page)
    box = stage.bounding_box()
    assert box is not None
    # Its own point is in the middle now; a tap elsewhere on a named word looks at that.
    other = next(
        (text, x, y)
        for text, x, y, wide in names(page)
        if 80 < abs(x - box["width"] / 2) < box["width"] / 3
        and 60 < abs(y - box["height"] / 2) < box["height"] / 3
    )
    page.mouse.click(box["x"] + 1 + other[1], box["y"] + 1 + other[2] + 7)
    expect(told).to_have_text(other[0])
    wait_idle(page)
    page.get_by_role("button", name="Make it the second word").click()
    expect(page.locator(".panes .middle").nth(1)).to_have_text(other[0], timeout=30_000)
    wait_idle(page)
    assert f"other={other[0]}" in page.url
    expect(page.get_by_role("button", name="Make it the first word")).to_be_disabled()
    assert not watch.page_errors


def test_points_are_sent_once_whatever_moves(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page()
    received: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))),
    )
    open_map(page, app_url)
    assert len([size for size in received if size > PACKET]) == 1
    received.clear()
    page.get_by_role("radio", name="PCA", exact=True).click()
    expect(page.locator(".vocabulary")).to_have_attribute("data-map", "pca", timeout=30_000)
    expect(page.get_by_text("this PCA map keeps")).to_be_visible()
    page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
    page.keyboard.press("ArrowRight")
    wait_idle(page)
    find(page, "river")
    assert max(received) < 150_000
    # Another tab and back: the browser has the points still.
    page.get_by_role("tab", name="Facts").click()
    wait_idle(page)
    page.get_by_role("tab", name="Whole vocabulary").click()
    placed(page)
    assert max(received) < 150_000
    # A browser that has lost them asks.
    page.get_by_role("tab", name="Facts").click()
    wait_idle(page)
    page.evaluate("window.dpcoreVocabulary = undefined")
    page.get_by_role("tab", name="Whole vocabulary").click()
    placed(page)
    assert len([size for size in received if size > PACKET]) == 1
    assert not watch.page_errors


def test_the_first_page_of_the_app_is_not_given_the_map(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    received: list[Any] = []
    page.on(
        "websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(frame))
    )
    open_page(page, app_url)
    assert received
    for frame in received:
        data = frame if isinstance(frame, bytes) else str(frame).encode()
        assert b"webglPainter" not in data


def test_keys_move_zoom_and_look(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(reduced_motion="reduce")
    stage = open_map(page, app_url)
    whole = names(page)
    stage.focus()
    for key in ("+", "+", "+"):
        page.keyboard.press(key)
    near = names(page)
    assert {text for text, *_ in near} != {text for text, *_ in whole}
    text, x, *_ = max(near, key=lambda name: -abs(name[1] - 600))
    page.keyboard.press("ArrowRight")  # the map goes to the left under the eye
    moved = {name: place for name, place, *_ in names(page)}
    assert moved[text] < x - 20
    page.keyboard.press("Enter")
    expect(page.locator(".vocabulary .told .near li")).to_have_count(10, timeout=30_000)
    page.keyboard.press("0")
    wait_idle(page)
    again = {text: place for text, *place, _ in names(page)}
    places = [(place, again[text]) for text, *place, _ in whole if text in again]
    assert len(places) > 0.7 * len(whole)  # some give way to the words in focus
    for old, new in places:
        assert new == pytest.approx(old, abs=6)  # a name in focus is higher
    expect(stage).to_have_attribute("aria-label", re.compile("Arrow keys move the map"))
    assert not watch.page_errors


def test_a_phone_taps_drags_and_pinches(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(**PHONE, reduced_motion="reduce")
    stage = open_map(page, app_url)
    box = stage.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    # The whole map lets a thumb scroll the page past it.
    assert stage.evaluate("node => node.style.touchAction") == "pan-y"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[float, float]) -> None:
        given = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})

    before = {text for text, *_ in names(page)}
    fingers("touchStart", (x - 20, y), (x + 20, y))
    for gap in (30, 50, 80, 110):
        fingers("touchMove", (x - gap, y), (x + gap, y))
    fingers("touchEnd")
    assert {text for text, *_ in names(page)} - before
    assert stage.evaluate("node => node.style.touchAction") == "none"
    start = {text: (px, py) for text, px, py, _ in names(page)}
    fingers("touchStart", (x, y))
    for far in (10, 25, 40):
        fingers("touchMove", (x + far, y + far))
    fingers("touchEnd")
    end = {text: (px, py) for text, px, py, _ in names(page)}
    moves = [np.subtract(end[text], start[text]) for text in set(start) & set(end)]
    assert np.median(moves, axis=0) == pytest.approx([40, 40], abs=12)
    text, px, py, _ = min(
        (name for name in names(page) if 70 < name[2] < box["height"] - 30),
        key=lambda name: abs(name[1] - box["width"] / 2),
    )
    page.touchscreen.tap(box["x"] + 1 + px, box["y"] + 1 + py + 7)
    expect(page.locator(".vocabulary .told strong")).to_have_text(text)
    expect(page.locator(".vocabulary .told .near li")).to_have_count(10, timeout=30_000)
    wait_idle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert_accessible(page)
    assert not watch.page_errors


def test_what_is_in_sight_is_saved_as_lines(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page(reduced_motion="reduce")
    open_map(page, app_url)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save this view as SVG").click()
    # Names of regions, which a view of a single word no longer has.
    assert 'font-style="italic"' in waiting.value.path().read_text(encoding="utf-8")
    find(page, "violin")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save this view as SVG").click()
    text = waiting.value.path().read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert ">violin</text>" in text
    assert text.count("h0") > 50
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save this view as PNG").click()
    picture = waiting.value.path().read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") > 1_000  # its width
