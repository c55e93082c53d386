"""Two words that are looked at one by one: the pinned one, and one to compare it with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import link
from pages.shared.language import later, say
from pages.shared.pair import OTHER, WORD, choose, chosen_pair, write_pair
from pages.shared.words import choose_word

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection

_FIELDS = {WORD: "pin_word", OTHER: "pin_other"}
_LABELS = {WORD: later("Pin a word"), OTHER: later("Compare with")}
_HELP = {
    WORD: later(
        "Its own curves are drawn bold, and the tables get a row for it. Choose one of the "
        "measured words, or type any other word of the vocabulary and press Enter."
    ),
    OTHER: later(
        "A second word, drawn bold and dotted. The same two words are chosen on the other pages."
    ),
}


def pin_words(lexicon: Lexicon, selection: Selection, public: bool) -> tuple[str, ...]:
    """Draw the two choices; return the words that are chosen, the pinned one first.

    Args:
        lexicon: its words can be chosen.
        selection: the measured words are offered.
        public: whether they are a public sample; else a chosen word stays out of the link.
    """
    pair = dict(zip((WORD, OTHER), chosen_pair(lexicon), strict=True))
    for slot, column in zip((WORD, OTHER), st.columns(2), strict=True):
        with column:
            _choice(slot, pair[slot], lexicon, selection, public)
    pair = dict(zip((WORD, OTHER), chosen_pair(lexicon), strict=True))
    write_pair(pair[WORD] or "", pair[OTHER] or "", ("", ""))
    return tuple(dict.fromkeys(word for word in pair.values() if word is not None))


def _choice(
    slot: str, chosen: str | None, lexicon: Lexicon, selection: Selection, public: bool
) -> None:
    def clear() -> None:
        st.session_state.pop(slot, None)
        link.drop("word" if slot == WORD else "other")

    choose_word(
        say(_LABELS[slot]),
        _FIELDS[slot],
        chosen,
        lexicon,
        partial(choose, slot, typed=not public),
        offered=[*selection.names, *([] if chosen is None else [chosen])],
        explained=say(_HELP[slot]),
        clear=clear,
    )
