"""Small explanations, and refusals that may repeat what a person typed."""

from __future__ import annotations

import streamlit as st


def note(text: str) -> None:
    """A small explanation of ours, in full contrast (a caption of Streamlit is too pale).

    Args:
        text: fixed Markdown of ours with numbers in it; never what a person typed.
    """
    st.markdown(f":small[{text}]")


def inform(text: str) -> None:
    """Say why something is not there, and what to do for it.

    Args:
        text: fixed Markdown of ours, as for `note`.
    """
    st.info(text, icon=":material/info:")


def refuse(what: str, error: Exception) -> None:
    """Say what could not be done, and the engine's own sentence that says what to do.

    Args:
        what: fixed text of ours.
        error: its message may repeat typed words, so it is not rendered.
    """
    st.error(what, icon=":material/error:")
    st.text(str(error))
