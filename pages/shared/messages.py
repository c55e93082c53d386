"""Short explanations, error messages that may repeat typed text, and signs of a status."""

from __future__ import annotations

import streamlit as st

from dpcore.audit.verdict import Outcome
from dpcore.guarantee import Status

SIGNS: dict[str, str] = {
    Status.PROVED: "✔",
    Status.CERTIFIED: "◉",
    Status.CONDITIONAL: "?",
    Status.REFUTED: "✘",
    Outcome.CHECKED: "◉",
    Outcome.DISAGREES: "⚠",
    Outcome.NOT_REFUTED: "○",
}
"""Status of a guarantee or outcome of an audit -> its sign; both can be proved or refuted."""


def note(text: str) -> None:
    """Draw a short explanation in full contrast (a caption of Streamlit is too pale).

    Args:
        text: our own fixed Markdown with numbers in it; never typed text.
    """
    st.markdown(f":small[{text}]")


def inform(text: str) -> None:
    """Explain why something is missing, and how to get it.

    Args:
        text: our own fixed Markdown, as for `note`.
    """
    st.info(text, icon=":material/info:")


def refuse(what: str, error: Exception) -> None:
    """Say what failed, with the engine's own sentence that says what to do.

    Args:
        what: our own fixed text.
        error: its message may repeat typed words, so it is not rendered as Markdown.
    """
    st.error(what, icon=":material/error:")
    st.text(str(error))
