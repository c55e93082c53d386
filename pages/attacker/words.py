"""Choosing words of the vocabulary: the one that came out, and the two that are compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.lexicon.lexicon import Lexicon

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|:$~])")
_UNKNOWN = "attack_unknown"


def plain_label(word: str) -> str:
    """A word as the label of a button, each sign of Markdown taken literally."""
    return _MARKDOWN.sub(r"\\\1", word)


def choose_word(
    label: str,
    key: str,
    chosen: str,
    words: Lexicon,
    take: Callable[[str], None],
    *,
    offered: list[str],
    explained: str,
) -> None:
    """Draw the choice of one word; any word of the vocabulary can be typed.

    Args:
        label: of the control.
        key: of the control, in the session alone.
        chosen: the word that is shown.
        words: the vocabulary.
        take: called with the new word, as the lexicon spells it.
        offered: words that can be picked without typing.
        explained: one sentence of help.
    """
    options = list(dict.fromkeys([chosen, *(word for word in offered if word in words)]))
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def changed() -> None:
        said = str(st.session_state[key] or "").strip()
        word = said if said in words else said.lower()
        if word in words:
            take(word)
        elif said:
            st.session_state[_UNKNOWN] = said[:40]

    st.selectbox(
        label,
        options,
        key=key,
        on_change=changed,
        accept_new_options=True,
        help=f"{explained} Pick one, or type any word of the vocabulary and press Enter.",
    )


def say_unknown(words: Lexicon) -> None:
    """One sentence on a word that is not in the vocabulary, once."""
    said = st.session_state.pop(_UNKNOWN, None)
    if said is not None:
        st.warning("This word could not be chosen.", icon=":material/search_off:")
        st.text(f"{said!r} is not among the {len(words):,} words of lexicon {words.name!r}")
