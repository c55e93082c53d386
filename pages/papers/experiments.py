"""Recorded experiments, one row each: how near they come to their papers; which one is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.papers.agreement import Agreement, agreement
from dpcore.papers.comparison import compare
from dpcore.papers.studies import EXPERIMENTS, STUDIES
from dpcore.study.recorded import read_bundled, read_recorded
from pages.papers.listing import Row, listing
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.once import once

if TYPE_CHECKING:
    from dpcore.study.recorded import Entry

STUDY = "experiment"
_PAPER = {"adept2021": "habernal2021", "pixeldp": "lecuyer2019"}
"""Beginnings of names of experiments whose source has another key."""
_PAPERS = {"xu2021", "carvalho2021", "huang2024"}


def entries() -> dict[str, Entry]:
    """What is recorded, by name, in the order of the studies.

    Raises:
        DpcoreError: the record cannot be read.
    """
    there = {entry.name: entry for entry in read_bundled()}
    return {name: there[name] for name in (*EXPERIMENTS, *STUDIES) if name in there}


def paper_of(name: str) -> str:
    """Key of the source of an experiment in `dpcore.papers.overview.PAPERS`."""
    first = name.partition("-")[0]
    return _PAPER.get(first, first if first in _PAPERS else "ours")


def chosen_experiment(there: dict[str, Entry]) -> str:
    """Name of the experiment that is shown; it stands in the link.

    Args:
        there: what is recorded, at least one.
    """
    rewriting = [name for name in there if name in EXPERIMENTS and EXPERIMENTS[name].rewrites]
    ordered = sorted(rewriting, key=lambda name: paper_of(name) == "ours")
    usual = next(iter(ordered or there))
    linked = st.query_params.get(STUDY, usual)
    name = linked if linked in there else usual
    link.write(STUDY, name, usual)
    return name


def choose_experiment(there: dict[str, Entry], chosen: str) -> None:
    """Draw the rows.

    Args:
        there: what is recorded.
        chosen: name of the one that is shown.

    Raises:
        DpcoreError: a record cannot be read.
    """
    with st.spinner(say("Comparing the records with their papers…")):
        rows = [_row(name, entry) for name, entry in there.items()]
    listing(
        rows,
        chosen,
        _take,
        label=later("Experiments"),
        columns=(later("Agrees?"), later("Experiment"), later("Paper against measurement")),
    )


def comes_to(counts: Agreement) -> str:
    """How near an experiment comes to its paper, in a few words."""
    if not counts.rows:
        return say("measured here alone: no printed figure to compare with")
    if not counts.numbers:
        return say(
            "{count} figures side by side; none is a number beside an interval", count=counts.rows
        )
    return say(
        "{within} of {count} printed figures lie in our intervals; {more} more side by side",
        within=counts.within,
        count=counts.numbers,
        more=counts.rows - counts.numbers,
    )


def compare_ahead() -> None:
    """Compare all records with their papers, which takes some seconds, before anybody asks.

    Raises:
        DpcoreError: a record cannot be read.
    """
    for entry in entries().values():
        _agreement(entry)


def _agreement(entry: Entry) -> Agreement:
    return once(
        "agreement of a record",
        (entry.name, entry.sha256),
        # Read for this alone: the tables of all records are 35 MB that nobody looks at.
        lambda: agreement(compare(read_recorded(entry.name))),
    )


def _row(name: str, entry: Entry) -> Row:
    counts = _agreement(entry)
    sign, word = _judged(counts)
    return Row(
        key=name,
        paper=paper_of(name),
        sign=sign,
        word=word,
        says=entry.title,
        name=entry.source,
        figure=comes_to(counts),
    )


def _judged(counts: Agreement) -> tuple[str, str]:
    if not counts.rows:
        return "–", say("ours")
    if not counts.numbers:
        return "≈", say("compared")
    if counts.within == counts.numbers:
        return "✔", say("agrees")
    return ("◐", say("in part")) if counts.within else ("✘", say("differs"))


def _take(name: str) -> None:
    link.put({STUDY: [name]})
