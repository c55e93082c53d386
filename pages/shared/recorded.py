"""A recorded experiment on a page: read once, what its paper says, and how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

import dpcore
from dpcore.errors import DpcoreError
from dpcore.papers.comparison import compare
from dpcore.study.provenance import provenance as how_made
from dpcore.study.provenance import seeds
from dpcore.study.recorded import read_recorded
from pages.shared.footer import provenance
from pages.shared.language import Waiting, say
from pages.shared.messages import note, refuse
from pages.shared.reproducing import show_line

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.study.recorded import Recorded


@st.cache_resource(max_entries=32, show_spinner=False)
def recorded(name: str) -> Recorded:
    """A recorded experiment, read once for all sessions.

    Raises:
        DpcoreError: it is not there, or damaged.
    """
    return read_recorded(name)


@st.cache_resource(max_entries=32, show_spinner=Waiting("Comparing with the paper…"))
def _compared(digest: str, _experiment: Recorded) -> tuple[Row, ...]:  # noqa: ARG001 - a key
    return compare(_experiment)


def compared_rows(experiment: Recorded) -> tuple[Row, ...]:
    """Paper against measurement, compared once for all sessions; empty if there is no paper.

    Raises:
        DpcoreError: a curve that is compared is not in the record.
    """
    return _compared(experiment.entry.sha256, experiment)


def show_compared(row: Row) -> None:
    """Draw numbers, and beside them (on a phone below them) the reason.

    No table: its columns would be too narrow for the reasons.
    """
    numbers = [
        say("The paper: {figure}", figure=row.in_paper),
        say("Measured here: {figure}", figure=row.ours),
    ]
    if row.difference:
        numbers.append(say("Difference: {difference}", difference=row.difference))
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{row.quantity}** ({row.figure})")
        left, right = st.columns([2, 3])
        left.text("\n".join(numbers))
        right.text(row.reason)


def papers_view(experiment: Recorded) -> None:
    """Draw what the paper says beside what is measured."""
    try:
        rows = compared_rows(experiment)
    except DpcoreError as error:
        refuse(say("The comparison could not be made."), error)
        return
    if not rows:
        note(say("This experiment is on our own texts: there is no paper to compare it with."))
    for row in rows:
        show_compared(row)


def made_view(experiment: Recorded) -> None:
    """Draw the command that makes it again, and how it was made."""
    st.header(say("Command"), anchor=False)
    show_line(experiment.entry.command)
    version = experiment.entry.version
    if version != dpcore.__version__:
        note(
            say(
                "Recorded with version {version}; this is {present}, whose draws under the "
                "same seeds may differ: its numbers then agree within their noise.",
                version=version,
                present=dpcore.__version__,
            )
        )
    st.header(say("How it was made"), anchor=False)
    st.text("\n".join(how_made(experiment.entry)))


def recorded_footer(experiment: Recorded) -> None:
    """Draw from what a recorded view is, and what does not leave it."""
    entry = experiment.entry
    parts = [entry.title, *(lexicon["title"] for lexicon in entry.lexicons)]
    if not entry.of_words:
        trials = len(seeds(entry))
        parts.append(say("1 trial") if trials == 1 else say("{seeds} trials", seeds=trials))
    provenance(" · ".join((*parts, say("recorded {date}", date=entry.date))))
