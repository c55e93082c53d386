"""Legend of the grid, folded away."""

from __future__ import annotations

import streamlit as st

from pages.shared.language import say


def reading_view() -> None:
    """Draw the meaning of the grid's signs."""
    with st.expander(say("How to read this"), icon=":material/help:"):
        st.markdown(
            say(
                "Chance decides what comes out for every word, the word itself or another: how "
                "much an output tells of its word has a limit, and ε sets it. **Changed words** "
                "are underlined and carry the sign ↻; choose a word to see what else it could "
                "have become. Mechanisms in one group mean the same kind of ε, and still differ "
                "in how many words they have to change for it."
            )
        )
