"""The link of a view and the command that prints its numbers, folded away below it."""

from __future__ import annotations

import streamlit as st

from pages.shared import link
from pages.shared.messages import note


def link_and_command(command: str | None, said: str, *, typed: bool) -> None:
    """Draw the link of the present view and a command.

    Args:
        command: the command line; None for a view without one.
        said: what the command prints, or where else its numbers are; fixed Markdown of ours.
        typed: whether the view shows what a person typed, which the link leaves out.
    """
    with st.expander("Link and command"):
        st.code(link.permalink(), language=None, wrap_lines=True)
        if typed:
            note(
                "What you typed is not in the link: whoever opens it sees what a fresh visit "
                "begins with in its place."
            )
        if command is not None:
            st.code(command, language=None, wrap_lines=True)
        note(said)
