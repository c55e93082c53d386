"""Saved files of a figure in a real Chromium: SVG and PNG with the marks, and the numbers."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.browser.pages import Watch, open_files, open_page, wait_idle

FEW = "curve_metric=tem&curve_log=&sample=3&runs=20"
SVG = "{http://www.w3.org/2000/svg}"
NewPage = Callable[..., tuple[Page, Watch]]


def open_figures(page: Page, url: str) -> None:
    open_page(page, url)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=60_000)
    wait_idle(page)


def saved(page: Page, button: Locator) -> Download:
    with page.expect_download() as download:
        button.press("Enter")  # by keyboard: Plotly's own menu could be reached by a pointer only
    return download.value


def shapes(page: Page, button: Locator, folder: Path) -> list[str]:
    """The paths of the marks in the SVG that a button saves."""
    there = folder / "figure.svg"
    saved(page, button).save_as(there)
    text = there.read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    groups = re.findall(r'<g class="shape-group".*?</g>', text)
    return [re.search(r' d="([^"]+)"', group)[1] for group in groups]


def test_the_mark_of_epsilon_is_in_the_saved_figure_and_moves(
    app_url: str, new_page: NewPage, tmp_path: Path
) -> None:
    page, watch = new_page()
    open_figures(page, f"{app_url}/curves?{FEW}")
    open_files(page, "nw_metric")
    button = page.get_by_role("button", name="Figure as SVG").first
    expect(button).to_be_visible()
    line, ring = shapes(page, button, tmp_path)
    plot = page.locator(".js-plotly-plot").first.bounding_box()
    over = page.locator(".st-key-still_nw_metric [aria-hidden] > div").first.bounding_box()
    x, top, x_again, bottom = (float(n) for n in re.findall(r"-?[\d.]+", line))
    assert x == x_again == pytest.approx(over["x"] + 1 - plot["x"], abs=0.6)
    begin = over["y"] - plot["y"]
    assert sorted((top, bottom)) == pytest.approx([begin, begin + over["height"]], abs=0.6)
    assert ring.count("A") == 2  # two arcs make a circle
    page.get_by_role("slider", name="Metric privacy: ε per distance").press("ArrowLeft")
    wait_idle(page)
    moved, _ = shapes(page, button, tmp_path)
    assert float(re.findall(r"-?[\d.]+", moved)[0]) < x
    # The figure on the page is as it was: the marks are drawn into what is saved alone.
    assert page.locator(".js-plotly-plot .shape-group").count() == 0
    assert not watch.page_errors


def test_bars_discs_and_arrows_of_the_noise_are_saved(
    app_url: str, new_page: NewPage, tmp_path: Path
) -> None:
    page, watch = new_page()
    open_figures(
        page, f"{app_url}/words?more=True+distances&curve_metric=madlib&curve_log=&eps_metric=12"
    )
    over = page.locator(".st-key-still_distances [aria-hidden] > div")
    expect(over.first).to_be_attached(timeout=60_000)
    open_files(page, "distances")
    button = page.locator(".st-key-files").get_by_role("button", name="Figure as SVG")
    assert len(shapes(page, button, tmp_path)) == over.count() >= 3
    page.get_by_role("slider", name="Metric privacy: ε per distance").press("Home")
    wait_idle(page)
    result = shapes(page, button, tmp_path)  # the noise is longer than the axis
    assert len(result) == over.count()
    assert any(path.count("L") == 2 and path.endswith("Z") for path in result)
    assert not watch.page_errors


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("curves?" + FEW, "nw_metric"),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                ("attacker", "odds"),
                ("papers?claim=adept-published", "adept_geometry"),
                ("papers?experiment=teaching-corpus", "teaching-corpus_accuracy_metric"),
                ("robustness", "digits_accuracy"),
                (f"?view={quote('One word: strip and odds')}", "epsilon-strip"),
            )
        ),
    ],
)
def test_every_figure_and_its_numbers_are_saved_under_one_name(
    app_url: str, new_page: NewPage, tmp_path: Path, address: str, name: str
) -> None:
    page, watch = new_page(color_scheme="dark")
    open_figures(page, f"{app_url}/{address}")
    files = page.locator(f".st-key-files, .st-key-files_{name}")
    open_files(page, name)
    for ending, begin in (("svg", b"<svg "), ("png", b"\x89PNG\r\n\x1a\n")):
        download = saved(page, files.get_by_role("button", name=f"Figure as {ending.upper()}"))
        assert download.suggested_filename == f"{name}.{ending}"
        download.save_as(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert content.startswith(begin)
    plot = page.locator(f".st-key-figure_{name} .js-plotly-plot").bounding_box()
    width, height = struct.unpack(">II", content[16:24])
    assert width == pytest.approx(3 * plot["width"], abs=3)
    # Below the figure are its finding and its address.
    assert 3 * 50 < height - 3 * plot["height"] < 3 * 150
    numbers = saved(page, page.locator(f".st-key-csv_{name}").get_by_role("button"))
    assert numbers.suggested_filename == f"{name}.csv"
    numbers.save_as(tmp_path / name)
    lines = (tmp_path / name).read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) > 1
    assert not watch.page_errors


def test_all_panels_of_a_figure_are_one_picture(
    app_url: str, new_page: NewPage, tmp_path: Path
) -> None:
    page, watch = new_page()
    open_figures(page, f"{app_url}/curves?figure={quote('Xu 2021, Figure 1 (IMDb)')}")
    open_files(page, "xu2021-figure-1-imdb_1")
    there = tmp_path / "figure.svg"
    saved(page, page.get_by_role("button", name="All panels as SVG")).save_as(there)
    sheet = ElementTree.fromstring(there.read_text(encoding="utf-8"))
    panels = sheet.findall(f"{SVG}svg")
    assert len(panels) == 5
    corners = {(float(panel.attrib["x"]), float(panel.attrib["y"])) for panel in panels}
    assert len(corners) == 5
    wide, high = float(sheet.attrib["width"]), float(sheet.attrib["height"])
    assert all(x < wide and y < high for x, y in corners)
    lines = [text.text or "" for text in sheet.findall(f"{SVG}text")]
    assert "Figure 1 (IMDb): Nw, Laplace (madlib)" in lines
    assert any(line.startswith("Words measured: sample of 600") for line in lines)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as .bib").press("Enter")
    entries = Path(download.value.path()).read_text(encoding="utf-8")
    assert "{xu2021gumbel," in entries
    assert not watch.page_errors


def test_a_file_is_of_the_figure_that_was_chosen_just_before(
    app_url: str, new_page: NewPage
) -> None:
    page, watch = new_page()
    open_figures(page, f"{app_url}/curves?figure={quote('Xu 2021, Figure 1 (IMDb)')}")
    open_files(page, "xu2021-figure-1-imdb_1")
    button = page.get_by_role("button", name="Figure as SVG").element_handle()
    for place in (3, 1, 4):
        page.get_by_role("combobox", name="Figure", exact=True).click()
        page.get_by_role("option").nth(place).click()
        download = saved(page, page.get_by_role("button", name="Figure as SVG"))
        assert download.suggested_filename == f"xu2021-figure-1-imdb_{place + 1}.svg"
        expect(page.locator(f".st-key-csv_xu2021-figure-1-imdb_{place + 1}")).to_be_visible()
        wait_idle(page)
        # A button that is replaced by the next figure's misses the click or key of that moment.
        assert button.evaluate("node => node.isConnected")
        assert button.evaluate("node => node.getRootNode().activeElement === node")
    assert not watch.page_errors
