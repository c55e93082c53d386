"""Words that a person types: how the lexicon spells them, a field to choose one, and refusals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.lexicon.lexicon import Lexicon

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|:$~])")
_UNKNOWN, _LONGEST = "unknown_word", 40


def spelled(word: str, lexicon: Lexicon) -> str | None:
    """A word as it was typed, else in small letters; None if the lexicon holds neither."""
    return next((form for form in (word, word.lower()) if form in lexicon), None)


def plain_label(word: str) -> str:
    """A word as the label of a button, each sign of Markdown taken literally."""
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
        label: of the control.
        key: of the control, in the session alone.
        chosen: the word that is shown.
        words: the vocabulary.
        take: called with the new word, as the lexicon spells it.
        offered: words that can be picked without typing, the chosen one among them.
        explained: help.
        clear: called when no word is chosen any more; None where one must be.
    """
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def changed() -> None:
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
    """One sentence on a word that is not in the vocabulary, once."""
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
