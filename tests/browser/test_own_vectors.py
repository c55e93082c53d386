"""Uploaded vectors in a real Chromium: sent, checked, used on several pages, forgotten."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import assert_accessible, open_page, unfold, wait_idle

WORDS = ["the", "doctor", "nurse", "city", "london", "heart", *(f"word{i}" for i in range(40))]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(5).normal(size=(len(WORDS), 6))
    path = tmp_path / "mine.vec"
    lines = [f"{w} {' '.join(f'{x:.4f}' for x in v)}" for w, v in zip(WORDS, vectors, strict=True)]
    path.write_text(f"{len(WORDS)} 6\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def send(page: Page, file: Path) -> None:
    unfold(page)
    page.get_by_role("button", name="Your own vectors").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").last.set_input_files(file)


def test_they_are_checked_used_and_forgotten(app_url: str, page: Page, file: Path) -> None:
    open_page(page, f"{app_url}/attacker")
    send(page, file)
    expect(page.get_by_text("46 words of 6 dimensions kept")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Lexicon").click()
    page.get_by_role("option", name="yours").click()
    wait_idle(page)
    expect(page.get_by_text("Lexicon yours: 46 words, 6 dimensions")).to_be_visible()
    page.get_by_role("link", name="Rewrite", exact=True).first.click()
    wait_idle(page)
    expect(page.get_by_text("Lexicon yours: 46 words, 6 dimensions")).to_be_visible()
    unfold(page)
    page.get_by_role("button", name="Your own vectors").click()
    page.get_by_role("button", name="Forget these vectors").click()
    wait_idle(page)
    expect(page.get_by_text("Lexicon yours")).to_have_count(0)


def test_other_files_are_refused(app_url: str, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("<b>sun</b> 1 2\nmoon one two\n", encoding="utf-8")
    open_page(page, f"{app_url}/attacker")
    send(page, path)
    expect(page.get_by_text("These vectors cannot be used.")).to_be_visible()
    expect(page.get_by_text("line 2 holds 'one'")).to_be_visible()
