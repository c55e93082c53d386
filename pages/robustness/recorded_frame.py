"""The frame of a recorded view: which record, its mark, its parts, its paper, its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError, StudyError
from dpcore.papers.studies import EXPERIMENTS
from dpcore.study.recorded import read_bundled
from pages.papers.experiment import takeaway
from pages.robustness.reproducing import recorded_mark
from pages.shared.language import later, say
from pages.shared.linking import choose_one
from pages.shared.messages import note, refuse
from pages.shared.recorded import made_view, papers_view, recorded, recorded_footer
from pages.shared.tabs import tabs
from pages.shared.taking import take_it_with_you

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.study.recorded import Recorded

    Parts = dict[str, Callable[[], None]]


def recorded_view(
    beginning: tuple[str, ...],
    field: str,
    parts: Callable[[Recorded], Parts],
    oneself: str,
) -> None:
    """Draw the choice of a record and its parts.

    Args:
        beginning: of the names of the experiments that are offered.
        field: beginning of the names in the link.
        parts: of a record, by title.
        oneself: how a person makes the like, fixed Markdown of ours.
    """
    try:
        there = {entry.name: entry.title for entry in read_bundled()}
        titles = {n: there[n] for n in EXPERIMENTS if n in there and n.startswith(beginning)}
        if not titles:
            raise StudyError(
                "this installation has no record of it; restore the folder data/results/experiments"
            )
        name = next(iter(titles))
        if len(titles) > 1:
            name = choose_one(
                st.selectbox,
                say("Record"),
                titles,
                f"{field}_record",
                help=say("Measured beforehand; nothing is computed when you look at it."),
            )
        record = recorded(name)
    except DpcoreError as error:
        refuse(say("The record could not be read; the views that are computed now work."), error)
        return
    entry = record.entry
    recorded_mark(entry.date)
    source = say("To be compared with {source}.", source=entry.source) if entry.source else ""
    numbers = ", ".join(str(seed) for seed in entry.plan["seeds"])
    note(" ".join(filter(None, (entry.sizes, source, say("Seeds: {numbers}.", numbers=numbers)))))
    views = parts(record)
    if entry.source:
        views |= {later("Paper against ours"): lambda: papers_view(record)}
    views |= {later("How it was made"): lambda: _made(record, oneself)}
    try:
        tabs(views, f"{field}_part")
    except DpcoreError as error:
        refuse(say("This part cannot be shown."), error)
    take_it_with_you(lambda: takeaway(record))
    recorded_footer(record)


def _made(record: Recorded, oneself: str) -> None:
    made_view(record)
    st.header(say("Do it yourself"), anchor=False)
    note(oneself)
