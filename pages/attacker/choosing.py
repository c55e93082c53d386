"""Choice of the observed output, and of two words to tell apart."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.words import OTHER, WORD, choose, choose_word, write_pair
from pages.words.session import default_words, shown_words

START_OUTPUT = "garage"
_EXAMPLES = ("garage", "monday", "doctor", "hospital", "cancer", "christian", "money", "london")
_OUTPUT = "seen"
_ANY = later("Pick one, or type any word of the vocabulary and press Enter.")

_PAIR = later(
    "One of the two words that this output is to tell apart, whatever the prior; the same two are "
    "chosen on the other pages."
)


def choose_output(words: Lexicon) -> int:
    """Draw the choice of the output word and return its index; the choice is part of the link."""
    default, chosen = _default_output(words), output_now(words)

    def take(word: str) -> None:
        st.session_state[_OUTPUT] = word

    choose_word(
        say("This word came out"),
        "find_seen",
        chosen,
        words,
        take,
        offered=[chosen, *_known([default, *shown_words(words), *_EXAMPLES], words)],
        explained=f"{say('What the attacker sees.')} {say(_ANY)}",
    )
    st.session_state[_OUTPUT] = chosen
    link.write(_OUTPUT, chosen, default)
    return words.index(chosen)


def output_now(words: Lexicon) -> str:
    """Return the output word: the last choice, else that of the link, else the default."""
    chosen = st.session_state.get(_OUTPUT, st.query_params.get(_OUTPUT))
    return chosen if chosen is not None and chosen in words else _default_output(words)


def _default_output(words: Lexicon) -> str:
    return START_OUTPUT if START_OUTPUT in words else words.words[0]


def _known(names: list[str], words: Lexicon) -> list[str]:
    return [name for name in names if name in words]


def choose_pair(words: Lexicon) -> tuple[int, int]:
    """Draw the choice of the two words to tell apart, the same on every page."""
    shown = shown_words(words)
    titles = (say("Was it this word"), say("or that one?"))
    for slot, title, word in zip((WORD, OTHER), titles, shown, strict=True):
        choose_word(
            title,
            f"find_{slot}",
            word,
            words,
            partial(choose, slot),
            offered=[word, *_known([*shown, *default_words(words), *_EXAMPLES], words)],
            explained=f"{say(_PAIR)} {say(_ANY)}",
        )
    write_pair(*shown, default_words(words))
    first, second = shown
    return words.index(first), words.index(second)
