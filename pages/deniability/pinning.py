"""Two words that are looked at one by one: the pinned one, and one to compare it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.pair import OTHER, WORD, choose, chosen_pair, write_pair

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection

_FIELDS = {WORD: "pin_word", OTHER: "pin_other"}
_LABELS = {WORD: "Pin a word", OTHER: "Compare with"}
_HELP = {
    WORD: "Its own curves are drawn bold, and the tables get a row for it. Choose one of the "
    "measured words, or type any other word of the vocabulary and press Enter.",
    OTHER: "A second word, drawn bold and dotted. The same two words are chosen on the other "
    "pages.",
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
    key = _FIELDS[slot]
    options = list(dict.fromkeys([*selection.names, *([] if chosen is None else [chosen])]))
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def take() -> None:
        said = st.session_state[key]
        if said is None:
            st.session_state.pop(slot, None)
            st.query_params.pop("word" if slot == WORD else "other", None)
            return
        word = said if said in lexicon else str(said).lower()
        if word in lexicon:
            choose(slot, word, typed=not public)
        else:
            st.session_state["pin_unknown"] = str(said)[:40]

    st.selectbox(
        _LABELS[slot],
        options,
        index=None,
        key=key,
        on_change=take,
        accept_new_options=True,
        placeholder="none",
        help=_HELP[slot],
    )


def say_unknown(lexicon: Lexicon) -> None:
    """One sentence on a word that is not in the vocabulary, once."""
    said = st.session_state.pop("pin_unknown", None)
    if said is not None:
        st.warning("This word could not be chosen.", icon=":material/search_off:")
        st.text(f"{said!r} is not among the {len(lexicon):,} words of lexicon {lexicon.name!r}")
