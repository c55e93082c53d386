"""A file of one's own and its private copy: what goes along, the button, and what there is to save.

The file and the copy are in this session's memory alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import Status
from dpcore.learn.table import read_table
from dpcore.limits import (
    MAX_LABELLED_BYTES,
    MAX_LABELLED_COLUMNS,
    PAGE_RELEASE_ROWS,
    PAGE_RELEASE_WORDS,
)
from dpcore.privatize.files import Columns
from dpcore.privatize.order import Order
from dpcore.privatize.table import check_size
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from pages.release.made import made_before, make_copy, show_made, times_made
from pages.release.takeaway import takeaway
from pages.shared.epsilon_dial import epsilon_dial
from pages.shared.groups import group_of
from pages.shared.messages import note, refuse
from pages.shared.taking import take_it_with_you

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.guarantee import Guarantee
    from dpcore.learn.table import Table
    from dpcore.mechanisms.mechanism import Mechanism

SOURCE, OUT = Path("FILE.csv"), Path("PRIVATE.csv")
"""Names of the file and of its copy in commands and in the record's place; nothing opens them."""


def copy_view(mechanism: Mechanism, lexicon: str, dial_place: DeltaGenerator) -> None:
    """Draw the view.

    Args:
        mechanism: what rewrites.
        lexicon: its name in the catalogue.
        dial_place: where the dial stands, a block of the page.
    """
    with dial_place:
        epsilon = epsilon_dial(group_of(mechanism.meaning), [mechanism])
    table = _uploaded()
    columns = Columns() if table is None else _columns(table)
    order = Order(SOURCE, OUT, mechanism, epsilon, columns, DEFAULT_TREATMENT)
    try:
        guarantee = mechanism.guarantee(epsilon)
    except DpcoreError as error:
        refuse("Nothing can be promised with these settings.", error)
    else:
        st.text(guarantee.statement)
        if table is not None:
            _making(order, table, guarantee)
    take_it_with_you(lambda: takeaway(order, lexicon))


def _uploaded() -> Table | None:
    """The table of the file; None where there is none yet, and why has been said."""
    file = st.file_uploader(
        "A CSV file with a column of texts",
        type=["csv", "tsv", "txt"],
        key="release_file",
        help=f"UTF-8, two columns or more with their names in the first line, up to "
        f"{MAX_LABELLED_BYTES:,} bytes, {PAGE_RELEASE_ROWS:,} rows, {MAX_LABELLED_COLUMNS} columns "
        f"and {PAGE_RELEASE_WORDS:,} words. The command below takes a file of any size.",
    )
    if file is None:
        note("The file stays in this session's memory and is forgotten with it.")
        return None
    try:
        table = read_table(file.read(MAX_LABELLED_BYTES + 1))
        file.seek(0)
    except DpcoreError as error:
        refuse("This table cannot be used.", error)
        return None
    return table


def _columns(table: Table) -> Columns:
    """Which columns are meant; by default the one with the longest entries is the text."""
    lengths = [sum(len(row[i]) for row in table.rows) for i in range(len(table.columns))]
    names = "\n".join(table.columns)  # fields of another file begin anew
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.selectbox(
            "Column of texts",
            table.columns,
            index=lengths.index(max(lengths)),
            key=f"release_text_{names}",
            width=230,
            help="Its words are exchanged; this column is what becomes private.",
        )
        keep = st.multiselect(
            "Columns that go along, unchanged",
            [name for name in table.columns if name != text],
            key=f"release_keep_{names}_{text}",
            width=360,
            placeholder="None",
            help="They are released as they are, with no protection at all. All others stay "
            "behind.",
        )
    if keep:
        note("The columns that go along are released as they are: nothing protects them.")
    return Columns(text, tuple(keep))


def _making(order: Order, table: Table, guarantee: Guarantee) -> None:
    """What must be known before, the button, and the copy."""
    ready = True
    try:
        check_size(table, order.columns.text)
    except DpcoreError as error:
        refuse("This table is too large for this page.", error)
        ready = False
    if guarantee.status is Status.REFUTED:
        st.warning("The promise of this mechanism is refuted.", icon=":material/warning:")
        st.text(guarantee.reason)
        ready &= st.checkbox(
            "I know that this promise is false",
            key=f"release_refuted_{order.mechanism.key}",
            help="Without this tick no copy is made.",
        )
    if times := times_made(table):
        st.warning(
            "You have a private copy of this file. A second one spends ε twice: whoever sees both "
            "learns from both.",
            icon=":material/warning:",
        )
        ready &= st.checkbox(
            "Make another one all the same",
            key=f"release_again_{times}",
            help="Better keep the first copy, and use it from now on.",
        )
    place = st.container()
    if st.button(
        "Make the private copy",
        key="release_make",
        icon=":material/lock:",
        disabled=not ready,
        help="Every word gets fresh noise of the operating system, which nobody can draw again.",
    ):
        with place:
            made = make_copy(order, table)
        if made:
            st.rerun()  # the next one needs a tick
    copy = made_before()
    if copy is not None:
        show_made(copy)
