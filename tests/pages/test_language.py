"""The pages in another language: its catalogue is whole, and every page speaks it and stays itself."""

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

import pytest
from babel.messages.catalog import Message
from google.protobuf.message import Message as Proto
from streamlit.testing.v1 import AppTest

from dpcore.papers.written import Filled
from pages.shared.contents import CONTENTS
from pages.shared.language import (
    ENGLISH,
    LANGUAGE,
    LANGUAGES,
    Waiting,
    language,
    numeral,
    say,
    speaking,
    translated,
)
from tests import rules
from tests.needs import ROOT
from tests.pages.app import open_link
from tests.translations import catalogue, compiled, read, sentences

OTHERS = [name for name in LANGUAGES if name != ENGLISH]
MARKS = ("**", "](", ":small[", ":material", "$", "\n\n", "\n- ", "<", ">", "`", "←", "→")
"""Of Markdown and of drawings: a translation has as many of each as its sentence."""


def entries(spoken: str) -> list[Message]:
    """What a catalogue translates."""
    return [entry for entry in read(spoken) if entry.id]


def gaps(sentence: str) -> list[tuple[str, str | None, str | None]] | None:
    """The places of a sentence with how they are written; None for one that cannot be filled."""
    try:
        parts = list(Formatter().parse(sentence))
    except ValueError:  # a brace that stands for itself
        return None
    return sorted((name, form or "", how or "") for _, name, form, how in parts if name is not None)


@pytest.mark.parametrize("spoken", OTHERS)
def test_a_catalogue_has_the_sentences_of_the_code_and_no_other(spoken: str) -> None:
    ours, code = {entry.id for entry in entries(spoken)}, set(sentences())
    assert not code - ours, "run python -m tests.translations, then translate"
    assert not ours - code, "run python -m tests.translations"
    assert len(code) > 1000


@pytest.mark.parametrize("spoken", OTHERS)
def test_every_sentence_is_translated_with_its_places_and_marks(spoken: str) -> None:
    for entry in entries(spoken):
        sentence, translation = str(entry.id), str(entry.string)
        assert translation, f"not translated: {sentence}"
        assert not entry.fuzzy, sentence
        assert gaps(sentence) == gaps(translation), sentence
        for mark in MARKS:
            assert sentence.count(mark) == translation.count(mark), (mark, sentence)
        assert sentence[0].isspace() == translation[0].isspace(), sentence
        assert sentence[-1].isspace() == translation[-1].isspace(), sentence


@pytest.mark.parametrize("spoken", OTHERS)
def test_what_gettext_reads_is_what_translators_wrote(spoken: str) -> None:
    assert catalogue(spoken).with_suffix(".mo").read_bytes() == compiled(read(spoken))
    for entry in entries(spoken):
        assert translated(str(entry.id), spoken) == entry.string


def test_no_page_shows_a_sentence_past_the_catalogue() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py")}
    breaches = [
        f"{path.relative_to(ROOT)}:{breach}"
        for path, source in sources.items()
        for breach in rules.unsaid(source)
    ]
    assert not breaches


@pytest.mark.parametrize(
    "source",
    [
        'st.button("Draw again", key="again")',
        'st.button(say("Draw again"), help="Takes fresh noise.")',
        'place.markdown(f"**{count} words** were read")',
        'choose_one(st.selectbox, "Goal", titles, "aim")',
        'note("Nothing is stored." if empty else say("Stored."))',
        'show_table(table, alt="The words")',
        'st.text("All of " + name)',
    ],
)
def test_the_rule_finds_a_sentence_past_the_catalogue(source: str) -> None:
    assert rules.unsaid(source)


def test_the_rule_allows_what_every_language_has() -> None:
    assert not rules.unsaid(
        'st.button(say("Draw"), key="again"); st.markdown(f":small[{left}]"); st.code("import x");'
        'choose_one(st.selectbox, say("Goal"), titles, "aim"); st.page_link("pages/x/page.py")'
    )


def test_numbers_are_written_as_the_language_does() -> None:
    told = {
        spoken: [written() for written in _WRITTEN]
        for spoken in (ENGLISH, "de")
        for _ in [None]
        if _speaks(spoken)
    }
    assert told
