"""Which words are measured and how often: the controls at the top of the Deniability page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.limits import MAX_SEED, MAX_TEXT_CHARACTERS, PAGE_RUNS, PAGE_WORDS
from dpcore.measure import words as measured
from dpcore.noise.streams import generator
from pages.shared import link

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection

SAMPLE, LIST = "A sample of the vocabulary", "My own words"
WORDS = "words"
START_WORDS = "hospital doctor sister city heart money london happy"
START_SAMPLE = 12
START_RUNS = 200


@dataclass(frozen=True)
class Words:
    """Which words: a sample of `count`, or those in `text` if it is not None."""

    count: int
    text: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """The typed words, each once; separated by spaces, commas, semicolons or line ends."""
        return tuple(dict.fromkeys(word for word in re.split(r"[\s,;]+", self.text or "") if word))

    def selection(self, lexicon: Lexicon, seed: int) -> Selection:
        """The words in a lexicon; capitals are tried as typed, then small.

        Raises:
            DpcoreError: there are none, too many, or some that the lexicon does not hold.
        """
        if self.text is None:
            return measured.sample(lexicon, self.count, generator(seed, "sample of words"))
        if len(self.text) > MAX_TEXT_CHARACTERS or len(self.names) > PAGE_WORDS:
            raise ParameterError(
                f"at most {PAGE_WORDS} words ({MAX_TEXT_CHARACTERS:,} characters) are measured "
                f"here, got {len(self.names):,} words ({len(self.text):,} characters)"
            )
        names = [word if word in lexicon else word.lower() for word in self.names]
        return measured.named(lexicon, names)


def choose_words() -> Words:
    """Draw the choice of words. What is typed stays in the session and out of the link."""
    if WORDS not in st.session_state:
        given = st.query_params.get(WORDS)
        st.session_state[WORDS] = START_WORDS if given is None else given
    of = st.segmented_control(
        "Words to measure",
        [SAMPLE, LIST],
        default=SAMPLE,
        required=True,
        key="of",
        bind="query-params",
        help="A sample takes one word at random from each of N equal parts of the vocabulary, "
        "from frequent to rare, so that both are represented.",
    )
    if of == SAMPLE:
        count = st.slider(
            "Number of words in the sample",
            2,
            PAGE_WORDS,
            START_SAMPLE,
            key="sample",
            bind="query-params",
            help="More words take longer and give a steadier mean.",
        )
        return Words(int(count), None)
    text = st.text_area(
        "Your words",
        key=WORDS,
        height=80,
        on_change=_typed,
        persist_state="session",
        help=f"Up to {PAGE_WORDS} words, separated by spaces, commas or lines; then press "
        "Ctrl+Enter or leave the box. They stay in this browser session and are not put into "
        "the link.",
    )
    return Words(0, text)


def choose_runs() -> tuple[int, int]:
    """Draw R and the seed; return both."""
    with st.container(horizontal=True):
        runs = st.number_input(
            "Runs R",
            2,
            PAGE_RUNS,
            START_RUNS,
            key="runs",
            bind="query-params",
            width=150,
            help="Sw counts different outputs in R runs, so it depends on R (the papers take "
            "1,000). Where a law is not exact, R is also the number of noise directions or runs "
            "that it is estimated from.",
        )
        seed = st.number_input(
            "Seed",
            0,
            MAX_SEED,
            link.SEED,
            key="seed",
            bind="query-params",
            width=200,
            help="Of the sample and of the noise: the same seed gives everybody the same numbers.",
        )
    return int(runs), int(seed)


def _typed() -> None:
    """Words of an old link leave it once others are typed."""
    st.query_params.pop(WORDS, None)
