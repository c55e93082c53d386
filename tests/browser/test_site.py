"""The lab without a server: a folder of pages, opened as files with the network off."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.claims import CLAIMS
from pages import site
from pages.lesson.steps import STEPS
from pages.shared.contents import CONTENTS
from pages.shared.language import LANGUAGES
from tests.browser.pages import accessibility_faults, open_page, wait_idle
from tests.browser.server import Server

PAGES = ["start", "tradeoff", "crowd", "words"]
MOVING = {
    "start": [".changing", ".dial"],
    "tradeoff": [".board", ".dial"],
    "crowd": [".crowd", ".dial"],
    "words": [".panes", ".dial"],
}
"""Page -> what follows its dials, and the dials."""
PLACES = (0.2, 0.5, 0.8)
RANGE, BOX = ".dial input[type=range]", ".dial input[type=number]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site.write_site(folder, PAGES, ["en"])
    site.write_site(folder, ["lesson"], ["de"])
    return folder


@pytest.fixture
def alone(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page of a browser without a network, and what it asked for or complained of."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: requests.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: requests.append(str(error)))
    yield page, requests
    context.close()


def numbers(page: Page, parts: list[str]) -> list[list[str]]:
    """The numbers that each part shows, in order."""
    texts = [text for part in parts for text in page.locator(part).all_inner_texts()]
    return [re.findall(r"\d[\d.,]*", text) for text in texts]


def turned(dial: Locator, place: float) -> None:
    """Move a dial to a place between its ends, and let go of it."""
    most = int(dial.get_attribute("max") or 0)
    dial.evaluate(
        """(dial, to) => {
          dial.value = to;
          for (const what of ["input", "change"]) dial.dispatchEvent(new Event(what));
        }""",
        round(place * most),
    )


def typed(box: Locator, text: str) -> None:
    """Type a number into a box of a dial, and press Enter."""
    box.fill(text)
    box.press("Enter")


@pytest.mark.parametrize("name", PAGES)
def test_every_dial_shows_the_same_numbers(
    name: str, folder: Path, alone: tuple[Page, list[str]], app: Server, page: Page
) -> None:
    file, requests = alone
    file.goto((folder / f"{name}.html").as_uri())
    open_page(page, f"{app.url}/{name}")
    seen = set()

    def compare() -> None:
        wait_idle(page)
        figures = numbers(file, MOVING[name])
        assert all(figures)
        assert figures == numbers(page, MOVING[name])
        seen.add(str(figures))

    expect(page.locator(RANGE).first).to_be_visible()
    for each in (file, page):
        for summary in each.locator(".dial summary").all():
            summary.click()
    dials, boxes = file.locator(RANGE).count(), file.locator(BOX).count()
    assert page.locator(RANGE).count() == dials
    assert page.locator(BOX).count() == boxes
    for number in range(dials):
        for place in PLACES:
            for each in (file, page):
                turned(each.locator(RANGE).nth(number), place)
            compare()
    for number in range(boxes):
        for text in ("7", "1.5"):
            for each in (file, page):
                typed(each.locator(BOX).nth(number), text)
            compare()
    assert len(seen) >= len(PLACES) * dials + boxes
    assert all(line.startswith("file://") for line in requests), requests


def test_draws_of_a_pane_end_at_the_same_words(
    folder: Path, alone: tuple[Page, list[str]], app: Server, page: Page
) -> None:
    file, _ = alone
    file.goto((folder / "words.html").as_uri())
    open_page(page, f"{app.url}/words")
    seen = []
    for button in ("One draw", "One draw", "A hundred"):
        for each in (file, page):
            each.locator(".panes").get_by_role("button", name=button).click()
        says = [each.locator(".panes .status").inner_text() for each in (file, page)]
        assert says[0]
        assert says[0] == says[1]
        seen.append(says[0])
    assert re.search(r"\d", seen[-1])
    assert seen[0] != seen[1]


@pytest.mark.parametrize("step", [step.key for step in STEPS])
def test_a_step_of_the_lesson_says_the_same_in_german(
    step: str, folder: Path, alone: tuple[Page, list[str]], app: Server, page: Page
) -> None:
    file, requests = alone
    file.goto((folder / f"lesson-{step}-de.html").as_uri())
    open_page(page, f"{app.url}/lesson?lang=de&step={step}")
    expect(file.locator(".turning")).to_be_visible()
    ranges, buttons = (
        file.locator(".turning").locator(what) for what in ("[type=range]", "button")
    )
    assert ranges.count() + buttons.count() > 0
    for place in PLACES:
        for each in (file, page):
            for part in each.locator(".turning input[type=range]").all():
                turned(part, place)
            for part in each.locator(".turning button").all():
                part.click()
        texts = [each.locator(".turning").inner_text() for each in (file, page)]
        assert texts[0]
        assert texts[0] == texts[1]
    assert all(line.startswith("file://") for line in requests), requests


def test_a_claim_that_is_chosen_says_what_it_says_in_the_lab(
    tmp_path: Path,
    alone: tuple[Page, list[str]],
    app: Server,
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, requests = alone
    first, claim = next(iter(CLAIMS)), "huang-theorem-3"
    monkeypatch.setitem(site._PARTS, "papers", ("claim", (first, claim)))
    site.write_site(tmp_path, ["papers"], ["en"])
    file.goto((tmp_path / "papers.html").as_uri())
    file.locator(f".listing [data-key={claim}]").click()
    expect(file).to_have_url(re.compile(f"papers-{claim}.html$"))
    open_page(page, f"{app.url}/papers?claim={claim}")
    wait_idle(page)
    whole = " ".join(page.locator("[data-testid=stMain]").inner_text().split())
    paragraphs = [" ".join(each.split()) for each in file.locator("main p").all_inner_texts()]
    about = [each for each in paragraphs[:-1] if re.search(r"\d", each)]
    assert len(about) > 2
    for each in about:
        assert each in whole
    assert all(line.startswith("file://") for line in requests), requests


def test_every_word_of_a_pane_says_the_same(
    folder: Path, alone: tuple[Page, list[str]], app: Server, page: Page
) -> None:
    file, _ = alone
    file.goto((folder / "words.html").as_uri())
    open_page(page, f"{app.url}/words")
    for pane in range(2):
        for _ in range(8):
            cards = []
            for each in (file, page):
                each.locator(".panes svg[tabindex]").nth(pane).press("ArrowRight")
                cards.append(each.locator(".panes .card").inner_text())
            assert re.search(r"\d", cards[0])
            assert cards[0] == cards[1]


@pytest.mark.full
def test_captions_and_marks_of_curves_follow_their_dials(
    tmp_path: Path, alone: tuple[Page, list[str]], app: Server, page: Page
) -> None:
    file, requests = alone
    site.write_site(tmp_path, ["curves"], ["en"])
    file.goto((tmp_path / "curves.html").as_uri())
    open_page(page, f"{app.url}/curves")
    for place in PLACES:
        for each in (file, page):
            for dial in each.locator(".dial input[type=range]").all():
                turned(dial, place)
        wait_idle(page)
        captions, marks = file.locator(".text"), file.locator(".follows [style*=dotted]")
        expect(captions.filter(has_text="At ")).to_have_count(4)
        for caption in captions.filter(has_text="At ").all_inner_texts():
            expect(page.get_by_text(caption, exact=True)).to_be_visible()
        places = [mark.get_attribute("style") for mark in marks.all()]
        assert len(places) == 4
        for number, style in enumerate(places):
            mark = page.locator("[data-testid=stHtml] [style*=dotted]").nth(number)
            expect(mark).to_have_attribute("style", style or "")
    assert all(line.startswith("file://") for line in requests), requests


def test_what_follows_the_dial_elsewhere_is_left_out(folder: Path) -> None:
    first = (folder / "start.html").read_text("utf-8")
    moved = site.run_page("start", "en", {"guessed": "60"}).main
    usual = site.run_page("start", "en", {}).main
    texts = [
        {element.proto.body for _, element in site._places(each) if element.type in TEXTS}
        for each in (usual, moved)
    ]
    for text in texts[0] ^ texts[1]:
        assert text not in first
    assert texts[0] & texts[1]


TEXTS = {"markdown", "text"}


def test_a_button_of_the_engine_says_what_it_needs(
    folder: Path, alone: tuple[Page, list[str]]
) -> None:
    page, _ = alone
    page.goto((folder / "words.html").as_uri())
    page.get_by_role("button", name="protected word").click()
    expect(page.locator(".needs")).to_contain_text("needs the laboratory")


def agrees(text: str, true: float, off: float) -> bool:
    """Return True if a number of the page is so near, or its bound holds but for so much."""
    if text.startswith("< "):
        return true <= float(text[2:]) + off
    return abs(float(text) - true) <= off


LAWS = {"tem", "tem-calibrated", "santext", "truncated-gumbel-repaired", "k-ary"}
WORDS = ("doctor", "Monday", "thunder", "the", "april", "umbrella", "of", "green", "river", "he")


def test_any_word_has_its_neighbours_and_its_laws(
    folder: Path, alone: tuple[Page, list[str]]
) -> None:
    page, requests = alone
    page.goto((folder / "words.html").as_uri())
    place = page.locator("[data-explorer]")
    settings = json.loads(place.get_attribute("data-explorer") or "")
    about = place.locator(".small").inner_text()
    apart = float(re.findall(r"at most ([\d.e-]+) from", about)[0])
    shares = dict(re.findall(r"([\w-]+) ([\d.e-]*\d)", about.partition("at most: ")[2]))
    assert apart < 0.2
    assert shares.keys() == settings["laws"].keys() == LAWS
    lexicon = load()
    for short, word in zip(sorted(LAWS) * 2, WORDS, strict=True):
        share, law = float(shares[short]), settings["laws"][short]
        assert share < 5
        place.get_by_role("combobox").select_option(short)
        place.get_by_role("textbox").fill(word)
        place.get_by_role("textbox").press("Enter")
        status = place.get_by_role("status")
        expect(status).to_contain_text(f"Under {short} at")
        expect(status).to_contain_text(word.lower())
        index = lexicon.index(word.lower())
        chances = create(short, lexicon, {}).law(index, law["epsilons"]).probabilities
        distances = lexicon.nearest_words(np.array([index]), 40)
        true = dict(zip(*(part[0].tolist() for part in distances), strict=True))
        for step in (3, len(law["epsilons"]) // 2, len(law["epsilons"]) - 1):
            turn = "(dial, to) => { dial.value = to; dial.dispatchEvent(new Event('input')); }"
            place.get_by_role("slider").evaluate(turn, step)
            stays = re.findall(r"in ((?:< )?[\d.e-]+) of 100", status.inner_text())[0]
            # As told for words that were tried, with room for one that was not, and for rounding.
            off = 1.5 * share + 0.1
            assert agrees(stays, 100 * chances[step, index], off)
            rows = place.locator("tbody tr").all_inner_texts()
            assert len(rows) == settings["shown"]
            for row in rows:
                name, far, chance = row.split("\t")
                other = lexicon.index(name)
                assert agrees(far, true[other], 1.5 * apart + 0.005)
                assert agrees(chance, 100 * chances[step, other], off)
    place.get_by_role("textbox").fill("nosuchword<b>")
    place.get_by_role("textbox").press("Enter")
    expect(status).to_contain_text("not among the 25,000")
    assert all(line.startswith("file://") for line in requests), requests


@pytest.mark.full
def test_all_of_it_is_small(tmp_path: Path) -> None:
    files = site.write_site(tmp_path / "site", list(site._VIEWS), list(LANGUAGES))
    assert len(files) > 140
    whole = sum(path.stat().st_size for path in tmp_path.rglob("*.*"))
    assert whole < 12_000_000


def test_a_step_of_the_lesson_has_its_answer_and_leads_on(
    folder: Path, alone: tuple[Page, list[str]]
) -> None:
    page, requests = alone
    page.goto((folder / "lesson-crowd-de.html").as_uri())
    expect(page.locator(".turning")).to_contain_text("?")
    page.get_by_text("Die Antwort").click()
    expect(page.locator(".turning")).not_to_contain_text("?")
    expect(page.locator("details[open] p").last).to_contain_text(re.compile(r"\d"))
    page.get_by_role("listitem").nth(4).get_by_role("link").click()
    expect(page.locator("h2").first).to_contain_text("5.")
    assert page.locator("html").get_attribute("lang") == "de"
    assert all(line.startswith("file://") for line in requests), requests


def test_the_first_view_is_small(folder: Path) -> None:
    first = (folder / "start.html").read_text("utf-8")
    files = [
        folder / "start.html",
        *(folder / name for name in re.findall(r'"(assets/[^"]+)"', first)),
    ]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert all(path.is_file() for path in files)


@pytest.mark.parametrize("name", PAGES)
def test_it_reaches_everybody(name: str, folder: Path, alone: tuple[Page, list[str]]) -> None:
    page, _ = alone
    page.goto((folder / f"{name}.html").as_uri())
    expect(page.locator(".dial").first).to_be_visible()
    assert accessibility_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def test_data_cannot_end_a_script(tmp_path: Path) -> None:
    writer = site.Writer(site.Site(tmp_path), "start", "")
    writer.data.append(json.dumps({"word": "</script><b>"}))
    page = site._whole_page(CONTENTS[0], "en", "", writer, "")
    assert "</script><b>" not in page


@pytest.mark.parametrize("arguments", [[], ["--help"], ["a", "b"]])
def test_a_wrong_call_says_how(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert site.main(arguments) == 2
    assert "usage: python -m pages.site OUT/" in capsys.readouterr().err


def test_a_folder_that_holds_something_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert site.main([str(tmp_path)]) == 2
    assert "is not empty: name another folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
