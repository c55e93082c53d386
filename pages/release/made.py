"""The private copy of this session: made once for a click, shown, and saved by its person."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.privatize.label import privacy_label
from dpcore.privatize.table import privatize_table
from pages.shared.downloads import file_button
from pages.shared.messages import note, refuse
from pages.shared.progress import Reporter
from pages.shared.reproducing import show_line
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.learn.table import Table
    from dpcore.privatize.label import Label
    from dpcore.privatize.order import Order
    from dpcore.privatize.table import PrivateCopy

_MADE, _TIMES = "release_made", "release_times"
_SHOWN = 3  # rows of the copy


@dataclass(frozen=True, eq=False)
class Made:
    """What there is to save.

    Attributes:
        copy: the private copy with its record.
        label: of it.
    """

    copy: PrivateCopy
    label: Label


def times_made(table: Table) -> int:
    """How many private copies of a table this session has made, whatever else was chosen."""
    times: dict[str, int] = st.session_state.get(_TIMES, {})
    return times.get(_digest(table), 0)


def made_before() -> Made | None:
    """The last copy that this session has made."""
    made: Made | None = st.session_state.get(_MADE)
    return made


def make_copy(order: Order, table: Table) -> bool:
    """Make a copy with noise of its own; a refusal is drawn where the page is.

    Returns:
        Whether there is one.
    """
    mechanism = order.mechanism
    try:
        with Reporter("Exchanging words", stop="release_stop") as progress:
            copy = privatize_table(order, table, progress=progress)
        today = datetime.now(UTC).date()
        label = privacy_label(copy.record, mechanism, recorded_curve(mechanism), today)
    except DpcoreError as error:
        refuse("No private copy was made.", error)
        return False
    st.session_state[_MADE] = Made(copy, label)
    st.session_state.setdefault(_TIMES, {})[_digest(table)] = times_made(table) + 1
    return True


def show_made(made: Made) -> None:
    """Draw a copy: its first rows, what it promises, and the files."""
    copy, label, record = made.copy, made.label, made.copy.record
    st.subheader("Your private copy", anchor=False)
    # st.text: what stands in a table is no Markdown.
    st.text(
        f"{record['documents']:,} texts, {record['protected_words']:,} protected words, by "
        f"{record['mechanism']} at ε = {record['epsilon']:.4g}."
    )
    if label.warning:
        st.text(label.warning)
    st.text(label.guesses)
    show_table(
        list(islice(csv.DictReader(io.StringIO(copy.csv, newline="")), _SHOWN)),
        "The first rows of the private copy",
    )
    with st.container(horizontal=True):
        file_button(
            "Private copy as CSV",
            "private.csv",
            lambda: copy.csv.encode(),
            "The texts with their words exchanged, and the columns that go along.",
            key="release_csv",
        )
        file_button(
            "Record as JSON",
            "private.csv.run.json",
            lambda: (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode(),
            "How the copy was made, and what is promised: keep it beside the copy.",
            key="release_record",
        )
        file_button(
            "Privacy label",
            "privacy-label.html",
            lambda: label.as_html().encode(),
            "A page for whoever gets the copy: what is protected, and what is not.",
            key="release_label",
        )
    note("To cite, in a paper or a letter:")
    show_line(label.citation)


def _digest(table: Table) -> str:
    return sha256(repr((table.columns, table.rows)).encode("utf-8", "surrogatepass")).hexdigest()
