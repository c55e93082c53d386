"""Typed words: their spelling in the lexicon, a field to choose one, error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from pages.shared import link
from pages.shared.language import say

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|:$~])")
_UNKNOWN, _LONGEST = "unknown_word", 40


def spelled(word: str, lexicon: Lexicon) -> str | None:
    """Return a word as it was typed, else in small letters; None if the lexicon holds neither."""
    return next((form for form in (word, word.lower()) if form in lexicon), None)


def plain_label(word: str) -> str:
    """Return a word as the label of a button, with Markdown characters escaped."""
    return _MARKDOWN.sub(r"\\\1", word)


def choose_word(
    label: str,
    key: str,
    chosen: str | None,
    words: Lexicon,
    take: Callable[[str], None],
    *,
    offered: Sequence[str],
    explained: str,
    clear: Callable[[], None] | None = None,
) -> None:
    """Draw the choice of one word; any word of the vocabulary can be typed.

    Args:
        label: label of the control.
        key: key of the control, in the session alone.
        chosen: the shown word.
        words: the vocabulary.
        take: called with the new word, as the lexicon spells it.
        offered: words that can be picked without typing, including the chosen one.
        explained: help.
        clear: called when the choice is cleared; None where a word must be chosen.
    """
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def changed() -> None:
        if key not in st.session_state:  # a change of a field that is gone
            return
        typed = str(st.session_state[key] or "").strip()
        word = spelled(typed, words)
        if word is not None:
            take(word)
        elif typed:
            st.session_state[_UNKNOWN] = typed[:_LONGEST]
        elif clear is not None:
            clear()

    may_be_empty: dict[str, Any] = (
        {} if clear is None else {"index": None, "placeholder": say("none")}
    )
    st.selectbox(
        label,
        list(dict.fromkeys(offered)),
        key=key,
        on_change=changed,
        accept_new_options=True,
        help=explained,
        **may_be_empty,
    )


def say_unknown(words: Lexicon) -> None:
    """Show one message about a word that is not in the vocabulary, once."""
    word = st.session_state.pop(_UNKNOWN, None)
    if word is not None:
        st.warning(say("This word could not be chosen."), icon=":material/search_off:")
        st.text(
            say(
                "{word!r} is not among the {count:,} words of lexicon {name!r}",
                word=word,
                count=len(words),
                name=words.name,
            )
        )


# The two words in focus, the same on every page: a click on one page selects the word on all.
#
# A word picked from the vocabulary is part of the link (`word=`, `other=`). A word of a typed
# sentence is kept in the session alone: typed text enters no address without a request.


WORD, OTHER = "word", "other_word"
"""The two slots, keys of the session state."""

_FIELDS = {WORD: "word", OTHER: "other"}
_TYPED = "pair_typed"  # slots whose word comes from a typed text


def chosen_pair(lexicon: Lexicon) -> tuple[str | None, str | None]:
    """Return the chosen words in this lexicon: of the session, else of the link, else None."""
    return _chosen(lexicon, WORD), _chosen(lexicon, OTHER)


def choose(slot: str, word: str, *, typed: bool = False) -> None:
    """Select a word on every page.

    Args:
        slot: `WORD` or `OTHER`.
        word: as the lexicon spells it.
        typed: True if it comes from a typed text; the link then leaves it out.
    """
    st.session_state[slot] = word
    others = st.session_state.get(_TYPED, frozenset()) - {slot}
    st.session_state[_TYPED] = others | {slot} if typed else others
    if typed:
        link.drop(_FIELDS[slot])


def exchange(first: str, second: str) -> None:
    """Swap two shown words; each keeps its privacy."""
    # Read before the first choice, which changes the set of typed words.
    swap = {WORD: OTHER, OTHER: WORD}
    typed = frozenset(swap[slot] for slot in st.session_state.get(_TYPED, frozenset()))
    choose(WORD, second, typed=WORD in typed)
    choose(OTHER, first, typed=OTHER in typed)


def write_pair(first: str, second: str, defaults: tuple[str, str]) -> None:
    """Put the shown words into the link, except those from a typed text.

    Args:
        first: the shown first word.
        second: the shown second word.
        defaults: the pair of a visit without these words in its link.
    """
    hidden = st.session_state.get(_TYPED, frozenset())
    for slot, word, default in zip((WORD, OTHER), (first, second), defaults, strict=True):
        link.write(_FIELDS[slot], default if slot in hidden else word, default)


def pair_is_typed() -> bool:
    """Return True if a chosen word comes from a typed text, so that the link leaves it out."""
    return bool(st.session_state.get(_TYPED))


def _chosen(lexicon: Lexicon, slot: str) -> str | None:
    word = st.session_state.get(slot)
    if word is None:
        word = st.query_params.get(_FIELDS[slot])
        if word is not None and word in lexicon:
            st.session_state[slot] = word  # the menu carries no address to another page
    return word if word is not None and word in lexicon else None
