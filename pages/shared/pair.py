"""The two words in focus, the same on every page: a click on one page selects the word on all.

A word that was picked out of the vocabulary stands in the link (`word=`, `other=`). A word of a
sentence that a person typed is kept in the session alone: typed text enters no address unasked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import link

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

WORD, OTHER = "word", "other_word"
"""The two slots, keys of the session state."""

_FIELDS = {WORD: "word", OTHER: "other"}
_TYPED = "pair_typed"  # slots whose word comes from a typed text


def chosen_pair(lexicon: Lexicon) -> tuple[str | None, str | None]:
    """The chosen words that this lexicon holds: of the session, else of the link, else None."""
    return _chosen(lexicon, WORD), _chosen(lexicon, OTHER)


def choose(slot: str, word: str, *, typed: bool = False) -> None:
    """Select a word on every page.

    Args:
        slot: `WORD` or `OTHER`.
        word: as the lexicon spells it.
        typed: whether it comes from a text that a person typed; then it leaves the link.
    """
    st.session_state[slot] = word
    others = st.session_state.get(_TYPED, frozenset()) - {slot}
    st.session_state[_TYPED] = others | {slot} if typed else others
    if typed:
        link.drop(_FIELDS[slot])


def exchange(first: str, second: str) -> None:
    """Select two words that are shown in each other's place; each keeps its privacy."""
    # Read before the first choice, which changes what is typed.
    swap = {WORD: OTHER, OTHER: WORD}
    typed = frozenset(swap[slot] for slot in st.session_state.get(_TYPED, frozenset()))
    choose(WORD, second, typed=WORD in typed)
    choose(OTHER, first, typed=OTHER in typed)


def write_pair(first: str, second: str, defaults: tuple[str, str]) -> None:
    """Put the shown words into the link, except those from a typed text.

    Args:
        first: the shown first word.
        second: the shown second word.
        defaults: what a visit without these words in its link shows.
    """
    hidden = st.session_state.get(_TYPED, frozenset())
    for slot, word, default in zip((WORD, OTHER), (first, second), defaults, strict=True):
        link.write(_FIELDS[slot], default if slot in hidden else word, default)


def pair_is_typed() -> bool:
    """Whether a chosen word comes from a typed text, so that the link leaves it out."""
    return bool(st.session_state.get(_TYPED))


def _chosen(lexicon: Lexicon, slot: str) -> str | None:
    word = st.session_state.get(slot)
    if word is None:
        word = st.query_params.get(_FIELDS[slot])
        if word is not None and word in lexicon:
            st.session_state[slot] = word  # the menu takes no address along to another page
    return word if word is not None and word in lexicon else None
