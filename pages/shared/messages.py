"""Messages that may hold what a person typed: shown as plain text, never as Markdown."""

from __future__ import annotations

import streamlit as st


def refuse(what: str, error: Exception) -> None:
    """Say what could not be done, and the engine's own sentence that says what to do.

    Args:
        what: fixed text of ours.
        error: its message may repeat typed words, so it is not rendered.
    """
    st.error(what, icon=":material/error:")
    st.text(str(error))
