"""A text whose words are measured: pasted or uploaded, read once, kept in this session alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import TextError
from dpcore.limits import PAGE_CORPUS_BYTES, PAGE_CORPUS_CHARACTERS
from dpcore.measure.words import corpus
from dpcore.rewrite.checks import decode
from pages.shared.language import say
from pages.shared.memo import latest
from pages.shared.messages import note

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection


@dataclass(frozen=True)
class Given:
    """What a person gave: a pasted text, or the bytes of a file, which go before it.

    A file beyond the limit is represented by as many bytes as show that it is.
    """

    text: str
    data: bytes | None


def choose_text() -> Given:
    """Draw the box and the upload."""
    text = st.text_area(
        say("Text"),
        key="corpus",
        height=110,
        persist_state="session",
        placeholder=say("Paste a text here, or upload a file below."),
        help=say(
            "Up to {most:,} characters; then press Ctrl+Enter or leave the box. The text stays "
            "in this browser session and is never put into the link.",
            most=PAGE_CORPUS_CHARACTERS,
        ),
    )
    file = st.file_uploader(
        say("or a text file"),
        type=["txt"],
        key="corpus_file",
        help=say(
            "Plain text in UTF-8, up to {most:,} bytes. It takes the place of the text above "
            "and is forgotten when this browser session ends. For larger files see “Take it "
            "with you” below.",
            most=PAGE_CORPUS_BYTES,
        ),
    )
    return Given(text, None if file is None else file.read(PAGE_CORPUS_BYTES + 1))


def read(data: bytes) -> str:
    """The text of an uploaded file.

    Raises:
        TextError: it is too large or not UTF-8.
    """
    if len(data) > PAGE_CORPUS_BYTES:
        raise TextError(
            f"the file is larger than {PAGE_CORPUS_BYTES:,} bytes: take a part of it, or "
            "`python -m dpcore deniability --corpus FILE`"
        )
    return decode(data)


def selection_of(lexicon: Lexicon, text: str) -> Selection:
    """All words of a text, counted; read again only when it changes.

    Raises:
        TextError: it is empty, too long, no plain text, or holds no word of the lexicon.
    """
    if not text.strip():
        raise TextError("there is no text yet; paste one or upload a file")

    def compute() -> Selection:
        with st.spinner(say("Reading the text…")):
            return corpus(lexicon, text, max_characters=PAGE_CORPUS_CHARACTERS)

    return latest("denying_text", (lexicon.fingerprint, text), compute)


def say_text(selection: Selection) -> None:
    """What of a text is measured; nothing for words that are not from a text."""
    if selection.tokens:
        known = selection.tokens - selection.unknown
        note(
            say(
                "{count:,} words, of which {known:,} are in the vocabulary and counted. "
                "Measured: {description}.",
                count=selection.tokens,
                known=known,
                description=selection.description,
            )
        )
