"""Recorded experiments: which one is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.studies import EXPERIMENTS
from dpcore.study.recorded import read_bundled
from pages.shared import link
from pages.shared.messages import note, refuse
from pages.shared.recorded import recorded
from pages.utility.evidence import Rows

if TYPE_CHECKING:
    from dpcore.study.recorded import Recorded

STUDY = "experiment"


@st.cache_resource(max_entries=8, show_spinner=False)
def recorded_rows(name: str) -> Rows:
    """Its rows, with what was computed of them for anybody.

    Raises:
        DpcoreError: as `recorded`.
    """
    return Rows(recorded(name).table)


def choose_recorded() -> Recorded | None:
    """Draw the choice; return what was recorded, or None if that was refused."""
    try:
        titles = {entry.name: entry.title for entry in read_bundled()}
        names = [name for name, plan in EXPERIMENTS.items() if plan.rewrites and name in titles]
        if STUDY not in st.session_state:
            linked = st.query_params.get(STUDY, "")
            st.session_state[STUDY] = linked if linked in names else names[0]
        name = st.selectbox(
            "Recorded experiment",
            names,
            format_func=titles.__getitem__,
            key=STUDY,
            help="Measured beforehand, as a paper did it or on our teaching corpus; nothing is "
            "computed when you look at it. It stands in the link.",
        )
        link.write(STUDY, name, names[0])
        record = recorded(name)
    except (DpcoreError, IndexError) as error:
        refuse("The recorded experiments could not be read; a run of your own works.", error)
        return None
    note(f"{record.entry.sizes} {_source(record)}")
    return record


def _source(record: Recorded) -> str:
    source = record.entry.source
    return (
        f"To be compared with {source}." if source else "Our own texts: no paper to compare with."
    )
