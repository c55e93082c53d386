"""The two panes of the page Words in a real Chromium: numbers, ε, keyboard, touch, draws, files."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.pair import Pair
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_least, at_most
from pages.shared.dial import admissible_grid, group_of
from pages.shared.language import for_component
from pages.words.bench import PairBench
from pages.words.panes import PANES, pane_data
from tests.browser.pages import (
    Watch,
    assert_accessible,
    by_turns,
    open_page,
    wait_idle,
)
from tests.needs import ROOT as ROOT_FOLDER

NewPage = Callable[..., tuple[Page, Watch]]
FEW = "curve_metric=tem&curve_log=&more=Facts"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WORK = 180  # attributes and texts that a step of ε may set; 59 were the most of 40 steps

ROOT = """() => {
  const roots = [document];
  for (const root of roots)
    for (const node of root.querySelectorAll('*')) {
      if (node.classList.contains('panes')) return node;
      if (node.shadowRoot) roots.push(node.shadowRoot);
    }
}"""
SEEN = f"""() => {{
  const root = ({ROOT})();
  const area = node => Number(node.getAttribute('r')) ** 2 * Math.PI;
  return {{
    step: Number(root.dataset.step), changes: Number(root.dataset.changes),
    panes: [...root.querySelectorAll('.drawing')].map(svg => ({{
      areas: [...svg.querySelectorAll('.discs .disc')].map(area),
      places: [...svg.querySelectorAll('.dot')].map(n => ['cx', 'cy'].map(k => +n.getAttribute(k))),
      names: [...svg.querySelectorAll('.name')].filter(n => n.getAttribute('display') !== 'none')
        .map(n => {{ const b = n.getBoundingClientRect();
          return [n.textContent, b.left, b.top, b.right, b.bottom]; }}),
      noise: Number(svg.querySelector('.noise').getAttribute('r')),
      grains: svg.querySelectorAll('.grain').length,
    }})),
  }};
}}"""
DIAL = """detail => window.dispatchEvent(new CustomEvent('dpcore:dial', { detail }))"""


def open_panes(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".panes .caption")).to_be_visible(timeout=60_000)
    wait_idle(page)


def seen(page: Page) -> dict[str, Any]:
    view: dict[str, Any] = page.evaluate(SEEN)
    return view


def turn(page: Page, step: int, group: str = "metric") -> None:
    page.evaluate(DIAL, {"group": group, "step": step, "epsilon": 1.0, "rest": False})


def stays(page: Page) -> list[int]:
    return [int(re.findall(r"\d+", text)[0]) for text in page.locator(".guess").all_text_contents()]


def overlapping(names: list[list[Any]]) -> list[tuple[str, str]]:
    pairs = []
    for i, (one, *a) in enumerate(names):
        for other, *b in names[i + 1 :]:
            across = min(a[2], b[2]) - max(a[0], b[0])
            down = min(a[3], b[3]) - max(a[1], b[1])
            if across > 1 and down > 3:  # boxes of letters have air above and below
                pairs.append((one, other))
    return pairs


def test_areas_are_chances_and_an_event_moves_them_without_the_server(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_panes(page, f"{app_url}/words?eps_metric=3&{FEW}")
    before = seen(page)
    assert stays(page) == [70, 77]
    for pane, share in zip(before["panes"], (0.70, 0.77), strict=True):
        whole = pane["areas"][0] / share
        assert sum(pane["areas"]) / whole < 1.01
    first, second = (pane["areas"][0] for pane in before["panes"])
    assert first / second == pytest.approx(70 / 77, abs=0.01)
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", sent.append))
    turn(page, before["step"] + 3)
    after = seen(page)
    assert after["step"] == before["step"] + 3
    assert after["panes"][0]["areas"][0] > first
    assert [pane["places"] for pane in after["panes"]] == [p["places"] for p in before["panes"]]
    expect(page.locator(".panes .caption")).to_contain_text("tem, ε = 5: ")
    assert 0 < after["changes"] <= WORK
    for group, step in (("local", 2), ("metric", None), ("metric", 2.5)):
        page.evaluate(DIAL, {"group": group, "step": step})
        assert seen(page)["step"] == after["step"]
    turn(page, 10_000)
    assert seen(page)["step"] == 60
    assert not sent
    assert not watch.page_errors


def test_distances_are_true_in_one_scale(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_panes(page, f"{app_url}/words?{FEW}")
    nearest = []
    for pane in seen(page)["panes"]:
        places = np.array(pane["places"])
        far = np.hypot(*(places - places[0]).T)
        assert (np.diff(far[1:]) > -0.01).all()
        nearest.append(far[1])
    assert nearest[1] / nearest[0] == pytest.approx(5.783 / 2.416, rel=2e-3)


@pytest.mark.parametrize(
    ("width", "height", "mechanism"),
    by_turns([(1440, 900), (720, 450), (390, 844)], [("tem",), ("truncated-gumbel",)]),
)
def test_no_name_lies_on_another(
    app_url: str, new_page: NewPage, width: int, height: int, mechanism: str
) -> None:
    page, _ = new_page(viewport={"width": width, "height": height})
    open_panes(page, f"{app_url}/words?outputs_of={mechanism}&{FEW}")
    for step in (5, 30, 45):
        turn(page, step, "metric" if mechanism == "tem" else "log")
        for pane in seen(page)["panes"]:
            assert overlapping(pane["names"]) == []
            assert len(pane["names"]) >= (25 if width == 1440 else 8)
            assert all(left >= 0 and right <= width for _, left, _, right, _ in pane["names"])


@pytest.mark.parametrize("kind", ["UMAP", "densMAP"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (390, 844)])
def test_on_a_map_fifteen_neighbours_are_named(
    app_url: str, new_page: NewPage, kind: str, width: int, height: int
) -> None:
    page, watch = new_page(viewport={"width": width, "height": height})
    pair = "word=june&other=umbrella&outputs_of=madlib&eps_metric=14"
    open_panes(page, f"{app_url}/words?{pair}&drawn_as={kind}&{FEW}")
    view = seen(page)
    for pane in view["panes"]:
        assert overlapping(pane["names"]) == []
        assert len(pane["names"]) == 16  # and the word itself
        assert all(left >= 0 and right <= width for _, left, _, right, _ in pane["names"])
    kept = page.locator(".long").filter(has_text="of neighbours").all_text_contents()
    assert [re.fullmatch(r"keeps \d+% of neighbours", text) is not None for text in kept] == [1, 1]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert stays(page) == [25, 57]
    # One scale: the same disc for the same share, and places that no ε moves.
    areas = [pane["areas"][0] for pane in view["panes"]]
    assert areas[0] / areas[1] == pytest.approx(0.248 / 0.569, abs=0.005)
    turn(page, view["step"] + 2)
    after = seen(page)
    assert [pane["places"] for pane in after["panes"]] == [p["places"] for p in view["panes"]]
    page.get_by_role("button", name="A hundred").click()
    expect(page.locator(".panes [role=status]")).to_contain_text("Of 100 draws each: june stayed ")
    assert not watch.page_errors


def test_the_first_screen_is_the_picture(app_url: str, new_page: NewPage) -> None:
    for size, most in (((1440, 900), 300), ((390, 844), 420)):
        page, _ = new_page(viewport={"width": size[0], "height": size[1]})
        open_panes(page, f"{app_url}/words?{FEW}")
        box = page.locator(".drawing").first.bounding_box()
        assert box is not None
        assert box["y"] < most
        before = page.evaluate(
            """top => [...document.querySelectorAll('.stMain *')].filter(n => n.checkVisibility()
              && [...n.childNodes].some(c => c.nodeType === 3 && c.textContent.trim())
              && n.getBoundingClientRect().top < top).map(n => n.textContent).join(' ')""",
            box["y"],
        )
        assert len(before.split()) <= 60
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_keys_walk_from_word_to_word(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_panes(page, f"{app_url}/words?eps_metric=3&{FEW}")
    panes = page.locator(".drawing")
    active = (
        "node => node.querySelector('#' + node.getAttribute('aria-activedescendant')).ariaLabel"
    )
    page.get_by_role("slider", name="Metric privacy: ε per distance").focus()
    for _ in range(9):  # past what can be chosen
        page.keyboard.press("Tab")
        if panes.first.evaluate("node => node.getRootNode().activeElement === node"):
            break
    expect(panes.first).to_be_focused()
    assert panes.first.evaluate(active) == "monday, the word itself, 70 in 100"
    page.keyboard.press("ArrowRight")
    spoken = panes.first.evaluate(active)
    assert spoken.startswith("thursday, distance 2.42, 1 in ")
    expect(page.locator(".panes .card")).to_contain_text("thursday")
    page.keyboard.press("End")
    assert panes.first.evaluate(active).startswith("weekend, distance 5.02")
    turn(page, 50)
    assert panes.first.evaluate(active).endswith("practically never")
    page.keyboard.press("Escape")
    expect(page.locator(".panes .card")).to_be_hidden()
    page.keyboard.press("Tab")
    expect(panes.nth(1)).to_be_focused()
    for name in ("Try a less protected word", "One draw"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name)).to_be_focused()


def test_a_tap_tells_of_a_word_and_a_phone_has_room(app_url: str, new_page: NewPage) -> None:
    page, watch = new_page(**PHONE)
    open_panes(page, f"{app_url}/words?eps_metric=3&{FEW}")
    for pane, word in ((0, "saturday"), (1, "truck")):
        svg = page.locator(".drawing").nth(pane)
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        assert box is not None
        names = svg.locator(".name").all_text_contents()
        x, y = seen(page)["panes"][pane]["places"][names.index(word)]
        page.touchscreen.tap(box["x"] + x, box["y"] + y)
        expect(page.locator(".panes .card strong")).to_have_text(word)
        card = page.locator(".panes .card").bounding_box()
        assert card is not None
        assert 0 <= card["x"] <= card["x"] + card["width"] <= 390
    assert_accessible(page)
    assert not watch.page_errors


def test_a_hundred_draws_end_as_grains_and_a_step_clears_them(
    app_url: str, new_page: NewPage
) -> None:
    page, _ = new_page(reduced_motion="reduce")
    open_panes(page, f"{app_url}/words?eps_metric=3&{FEW}")
    page.get_by_role("button", name="A hundred").click()
    status = page.locator(".panes [role=status]")
    expect(status).to_contain_text("Of 100 draws each: monday stayed ")
    view = seen(page)
    assert [pane["grains"] for pane in view["panes"]] == [100, 100]
    stayed = int(re.findall(r"monday stayed (\d+)", status.inner_text())[0])
    # Who asked for no motion sees the end at once: as many grains in the disc as words that stayed.
    inside = page.evaluate(
        f"""() => {{ const svg = ({ROOT})().querySelector('.drawing');
          const [x, y] = ['cx', 'cy'].map(k => Number(svg.querySelector('.dot').getAttribute(k)));
          return [...svg.querySelectorAll('.grain')].filter(g =>
            Math.hypot(g.getAttribute('cx') - x, g.getAttribute('cy') - y) < 62).length; }}"""
    )
    assert inside == stayed
    turn(page, 20)
    assert [pane["grains"] for pane in seen(page)["panes"]] == [0, 0]
    expect(status).to_have_text("")
    page.get_by_role("button", name="One draw").click()
    expect(status).to_contain_text("monday ")
    expect(page.locator(".drawing").first.locator(".mark")).to_have_attribute("opacity", "1")


def test_noise_is_drawn_with_its_length(app_url: str, new_page: NewPage) -> None:
    page, _ = new_page()
    open_panes(page, f"{app_url}/words?outputs_of=madlib&eps_metric=30&{FEW}")
    assert seen(page)["panes"][0]["noise"] == 0  # it is outside
    expect(page.locator(".beyond").first).to_have_attribute("opacity", "1")
    expect(page.locator(".long").first).to_have_text("median noise: 9.99")
    page.get_by_role("button", name="One draw").click()
    expect(page.locator(".panes [role=status]")).to_contain_text(re.compile(r"noise [\d.]+ long"))
    turn(page, 42)  # ε = 70
    radius = seen(page)["panes"][0]["noise"]
    places = np.array(seen(page)["panes"][0]["places"])
    scale = math.hypot(*(places[1] - places[0])) / 2.416
    length = float(str(page.locator(".long").first.text_content()).split()[-1])
    assert radius / scale == pytest.approx(length, rel=5e-3)
    expect(page.locator(".beyond").first).to_have_attribute("opacity", "0")


def test_the_figure_is_saved_as_it_stands(app_url: str, new_page: NewPage, tmp_path: Path) -> None:
    page, watch = new_page(color_scheme="dark")
    open_panes(page, f"{app_url}/words?eps_metric=3&{FEW}")
    page.get_by_text("Save and cite").click()
    wait_idle(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figure as SVG").first.click()
    drawing = saved.value.path().read_text(encoding="utf-8")
    assert saved.value.suggested_filename == "words.svg"
    for part in (
        "thursday",
        "garage",
        "Nearly alike, guessed: 70 of 100",
        "#10161c",
    ):
        assert part in drawing or (part == "#10161c" and "rgb(16, 22, 28)" in drawing)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figure as PNG").first.click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    assert not watch.page_errors
    assert not watch.foreign_requests


def test_words_are_never_markup(new_page: NewPage) -> None:
    """Words of a lexicon that someone added: in the component alone, without a server."""
    names = tuple(f"<img src=x onerror=window.broken=1>{i}" for i in range(30))
    rows = np.random.default_rng(1).standard_normal((30, 5)).astype(np.float32)
    words = Lexicon("hostile", names, rows)
    bench = PairBench(Pair.of(words, names[0], names[1]), SharedDirections())
    mechanism = create("tem", words)
    group = group_of(mechanism.meaning)
    steps = admissible_grid(group, [mechanism])
    data = pane_data(bench, mechanism, group, steps) | {"step": 20, "map": None}
    data |= for_component(PANES)
    pages = ROOT_FOLDER / "pages"
    shared = ("shared/spoken.js", "shared/outwards.js")
    parts = (*shared, "words/pane.js", "words/play.js", "words/panes.js")
    code = "\n".join((pages / part).read_text("utf-8") for part in parts)
    page, watch = new_page(reduced_motion="reduce")
    page.set_content("<!doctype html><div id=here></div>")
    page.evaluate(
        """async ([code, data]) => {
          const address = `data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`;
          (await import(address)).default({ data, parentElement: document.querySelector('#here') });
        }""",
        [code, data],
    )
    page.get_by_role("button", name="One draw").click()
    page.get_by_role("button", name="A hundred").click()
    page.locator(".drawing").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".card strong")).to_contain_text("<img src=x")
    expect(page.locator(".caption")).to_contain_text("<img")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.broken") is None
    assert not watch.page_errors


def test_the_browser_rounds_a_bound_as_the_engine_does(new_page: NewPage) -> None:
    rng = np.random.default_rng(5)
    shares = [0.29, 0.2904, 0.07, 0.57, 0.994, 1.0, 1e-7, 0.0051, *rng.random(500).tolist()]
    shares += (10.0 ** rng.uniform(-6, 0, 500)).tolist()
    code = (ROOT_FOLDER / "pages/shared/outwards.js").read_text("utf-8")
    page, watch = new_page()
    said = page.evaluate(
        "([code, shares]) => new Function(code + 'return (shares) => shares.map("
        "(p) => [atMost(p, 3), atLeast(p, 3), percentAtMost(p)])')()(shares)",
        [code, shares],
    )
    for share, (most, least, percent) in zip(shares, said, strict=True):
        assert most == float(at_most(share, 3))
        assert least == float(at_least(share, 3))
        assert percent == float(at_most(share, times=100, places=0))
    assert not watch.page_errors


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panes_are_accessible(app_url: str, new_page: NewPage, scheme: str) -> None:
    page, watch = new_page(color_scheme=scheme)
    open_panes(page, f"{app_url}/words?outputs_of=madlib&{FEW}")
    page.locator(".panes summary").click()
    page.get_by_role("button", name="A hundred").click()
    page.locator(".drawing").first.focus()
    page.keyboard.press("ArrowRight")
    assert_accessible(page)
    assert not watch.page_errors
