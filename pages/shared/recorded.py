"""A recorded experiment on a page: read once, what its paper says, and how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

import dpcore
from dpcore.errors import DpcoreError
from dpcore.papers.comparison import compare
from dpcore.study.provenance import provenance as how_made
from dpcore.study.recorded import read_recorded
from pages.shared.compared import show_compared
from pages.shared.footer import provenance
from pages.shared.messages import note, refuse

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.study.recorded import Recorded


@st.cache_resource(max_entries=16, show_spinner=False)
def recorded(name: str) -> Recorded:
    """A recorded experiment, read once for all sessions.

    Raises:
        DpcoreError: it is not there, or damaged.
    """
    return read_recorded(name)


@st.cache_resource(max_entries=16, show_spinner="Comparing with the paper…")
def _compared(digest: str, _found: Recorded) -> tuple[Row, ...]:  # noqa: ARG001 - a key
    return compare(_found)


def papers_view(found: Recorded) -> None:
    """Draw what the paper says beside what is measured."""
    try:
        rows = _compared(found.entry.sha256, found)
    except DpcoreError as error:
        refuse("The comparison could not be made.", error)
        return
    if not rows:
        note("This experiment is on our own texts: there is no paper to compare it with.")
    for row in rows:
        show_compared(row)


def made_view(found: Recorded) -> None:
    """Draw the command that makes it again, and how it was made."""
    st.subheader("Command", anchor=False)
    st.code(found.entry.command, language=None, wrap_lines=True)
    if found.entry.version != dpcore.__version__:
        note(
            f"Recorded with version {found.entry.version}; this is {dpcore.__version__}, whose "
            "draws under the same seeds may differ: its numbers then agree within their noise."
        )
    st.subheader("How it was made", anchor=False)
    st.text("\n".join(how_made(found.entry)))


def recorded_footer(found: Recorded) -> None:
    """Draw from what a recorded view is, and what does not leave it."""
    entry = found.entry
    seeds = len(entry.plan["seeds"])
    parts = [entry.title, *(one["title"] for one in entry.lexicons)]
    parts += ["1 trial" if seeds == 1 else f"{seeds} trials", f"recorded {entry.date}"]
    provenance(" · ".join(parts))
