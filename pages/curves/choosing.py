"""Controls at the top of the page Curves: the words to measure, and how often."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import (
    MAX_TEXT_CHARACTERS,
    PAGE_CORPUS_BYTES,
    PAGE_CORPUS_CHARACTERS,
    PAGE_RUNS,
    PAGE_WORDS,
)
from dpcore.measure import words as measured
from dpcore.measure.words import Selection, Stratum, corpus
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import decode
from pages.shared import link
from pages.shared.language import Waiting, later, say
from pages.shared.link import choose_seed, segments, whole_number
from pages.shared.messages import note
from pages.shared.once import latest
from pages.shared.session import of_lexicon
from pages.shared.words import spelled

# A text whose words are measured: pasted or uploaded, read once, kept in this session only.


@dataclass(frozen=True)
class TextInput:
    """Input of the user: a pasted text, or the bytes of a file, which take precedence.

    Of a file beyond the limit, only enough bytes are kept to show that it is too large.
    """

    text: str
    data: bytes | None


def choose_text() -> TextInput:
    """Draw the box and the upload."""
    text = st.text_area(
        say("Text"),
        key="corpus",
        height=110,
        # Under another choice the field is not drawn, and Streamlit would forget the text.
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
            "Plain text in UTF-8, up to {most:,} bytes. It replaces the text above and is "
            "forgotten when this browser session ends. For larger files see “Save and cite” "
            "below.",
            most=PAGE_CORPUS_BYTES,
        ),
    )
    return TextInput(text, None if file is None else file.read(PAGE_CORPUS_BYTES + 1))


def decode_file(data: bytes) -> str:
    """Decode an uploaded file.

    Raises:
        TextError: it is too large or not UTF-8.
    """
    if len(data) > PAGE_CORPUS_BYTES:
        raise TextError(
            # The command has no such limit.
            f"the file is larger than {PAGE_CORPUS_BYTES:,} bytes: take a part of it, or "
            "`python -m dpcore deniability --corpus FILE`"
        )
    return decode(data)


def selection_of(lexicon: Lexicon, text: str) -> Selection:
    """Count all words of a text; it is read again only when it changes.

    Raises:
        TextError: it is empty, too long, not plain text, or holds no word of the lexicon.
    """
    if not text.strip():
        raise TextError("there is no text yet; paste one or upload a file")

    def compute() -> Selection:
        with st.spinner(say("Reading the text…")):
            return corpus(lexicon, text, max_characters=PAGE_CORPUS_CHARACTERS)

    # One text at a time, in the session: it is private, and may be long.
    return latest("denying_text", (lexicon.fingerprint, text), compute)


def say_text(selection: Selection) -> None:
    """Note which part of a text is measured; nothing for words that do not come from a text."""
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


SAMPLE, LIST, TEXT = later("A sample"), later("My own words"), later("A text")
WORDS = "words"
START_WORDS = "hospital doctor sister city heart money london happy"
START_SAMPLE = 12
# Fewer than the papers' 1,000, so that a first visit does not wait.
START_RUNS = 200


@dataclass(frozen=True)
class Words:
    """Choice of the words.

    Attributes:
        source: SAMPLE, LIST or TEXT.
        count: size of the sample, or largest number of words of a text that are measured.
        by: stratification of the sample.
        text: the typed words, or the text; None for a sample.
        data: bytes of an uploaded file, which replaces the text.
    """

    source: str
    count: int = 0
    by: str = Stratum.FREQUENCY
    text: str | None = None
    data: bytes | None = None

    @property
    def public(self) -> bool:
        """True if the choice holds nothing typed or uploaded."""
        return self.source == SAMPLE

    @property
    def names(self) -> tuple[str, ...]:
        """Typed words without repetition, separated by spaces, commas, semicolons or line ends."""
        return tuple(dict.fromkeys(word for word in re.split(r"[\s,;]+", self.text or "") if word))

    def selection(self, lexicon: Lexicon, seed: int) -> Selection:
        """Return the words in a lexicon, tried as typed, then in small letters.

        Raises:
            DpcoreError: there are none, too many, or some that the lexicon does not hold.
        """
        if self.source == SAMPLE:
            return _sample(lexicon.fingerprint, self.count, self.by, seed, lexicon)
        if self.source == TEXT:
            text = self.text or "" if self.data is None else decode_file(self.data)
            # The same name of the stream as in the command and the cell, which must draw the same
            # words.
            rng = generator(seed, "words of a text")
            return measured.subsample(selection_of(lexicon, text), self.count, rng)
        if len(self.text or "") > MAX_TEXT_CHARACTERS or len(self.names) > PAGE_WORDS:
            raise ParameterError(
                f"at most {PAGE_WORDS} words ({MAX_TEXT_CHARACTERS:,} characters) are measured "
                f"here, got {len(self.names):,} words ({len(self.text or ''):,} characters)"
            )
        names = [spelled(word, lexicon) or word.lower() for word in self.names]
        return measured.select_words(lexicon, names)


def first_selection(lexicon: Lexicon) -> Selection:
    """Return the words that a new visit measures."""
    return Words(SAMPLE, START_SAMPLE).selection(lexicon, link.SEED)


@of_lexicon(max_entries=64, show_spinner=Waiting("Choosing the words of the sample…"))
def _sample(
    fingerprint: str,  # noqa: ARG001 - represents the lexicon in the key of the cache
    count: int,
    by: str,
    seed: int,
    _lexicon: Lexicon,
) -> Selection:
    return measured.sample(_lexicon, count, generator(seed, "sample of words"), by)


def choose_words() -> tuple[Words, int, int]:
    """Draw the choice of words, R and the seed; return all three.

    Typed text stays in the session and out of the link.
    """
    if WORDS not in st.session_state:
        # Only a link that its author made with these words has them; the field itself is not bound.
        linked = st.query_params.get(WORDS)
        st.session_state[WORDS] = START_WORDS if linked is None else linked
    by = str(Stratum.FREQUENCY)
    with st.container(horizontal=True):
        of = segments(
            say("Words to measure"),
            [SAMPLE, LIST, TEXT],
            "of",
            say(
                "A sample takes one random word from each of N equal parts of the vocabulary; "
                "in a text, each word counts as often as it occurs."
            ),
        )
        if of == SAMPLE:
            by = _strata()
    left, right = st.columns(2)
    with left:
        if of == LIST:
            words = Words(LIST, text=_list())
        elif of == TEXT:
            given = choose_text()
            words = Words(TEXT, _count(of), text=given.text, data=given.data)
        else:
            words = Words(SAMPLE, _count(of), by)
    with right:
        runs, seed = _runs()
    return words, runs, seed


def _strata() -> str:
    return str(
        segments(
            say("Parts of the vocabulary by"),
            # As text, which is what the link holds.
            [str(stratum) for stratum in Stratum],
            "by",
            say(
                "frequency: from frequent to rare words. density: from words with a near "
                "neighbour to isolated words. Either way, all parts are represented in "
                "proportion."
            ),
            start=str(Stratum.FREQUENCY),
        )
    )


def _count(of: str) -> int:
    return int(
        st.slider(
            say("Words in the sample") if of == SAMPLE else say("Words of the text, at most"),
            2,
            PAGE_WORDS,
            START_SAMPLE,
            key="sample",
            bind="query-params",
            help=say(
                "More words take longer and give a more precise mean. From a text with more "
                "different words, the most frequent are kept and the others sampled in "
                "proportion to their frequency, so that the mean is unbiased."
            ),
        )
    )


def _list() -> str:
    return st.text_area(
        say("Your words"),
        key=WORDS,
        height=80,
        on_change=_typed,
        persist_state="session",
        help=say(
            "Up to {most} words, separated by spaces, commas or lines; then press Ctrl+Enter or "
            "leave the box. They stay in this browser session and are not put into the link.",
            most=PAGE_WORDS,
        ),
    )


def _runs() -> tuple[int, int]:
    with st.container(horizontal=True):
        runs = whole_number(
            say("Runs R"),
            2,
            PAGE_RUNS,
            START_RUNS,
            "runs",
            say(
                "Sw counts different outputs in R runs, so it depends on R (the papers use "
                "1,000). Where a distribution is not exact, R is also the number of noise "
                "directions or runs used to estimate it."
            ),
            width=150,
        )
        seed = choose_seed(
            say("For the sample and the noise: the same seed gives everyone the same numbers.")
        )
    return runs, seed


def _typed() -> None:
    """Drop the words of an old link once others are typed."""
    link.drop(WORDS)
