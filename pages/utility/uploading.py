"""The texts of a run: the teaching corpus, or a table that a person uploads for this session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.table import read_table
from dpcore.limits import (
    LIVE_TEXTS,
    LIVE_WORDS,
    MAX_CLASSES,
    MAX_LABELLED_BYTES,
    MAX_LABELLED_ROWS,
    MIN_CLASS_TEXTS,
)
from dpcore.study.live import shortened, table_texts, teaching_texts
from pages.shared.linking import choose_one
from pages.shared.messages import note, refuse
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.learn.table import Table

UPLOAD = "uploaded"
CORPORA = {
    "sentiment": "Teaching corpus: sentiment",
    "topic": "Teaching corpus: topic",
    UPLOAD: "A table of your own",
}
_SHOWN = 3
_START = 300


@dataclass(frozen=True, eq=False)
class Texts:
    """Labelled texts, and which they are.

    Attributes:
        texts: shortened to what a run has time for.
        corpus: key of `CORPORA`.
    """

    texts: LabelledTexts
    corpus: str


def choose_texts() -> Texts | None:
    """Draw the choice of the texts; None where there are none yet, and why has been said."""
    corpus = choose_one(
        st.segmented_control,
        "Texts",
        CORPORA,
        "use_corpus",
        required=True,
        help="The teaching corpus: 1,440 short reviews and messages that were written for this "
        "laboratory. A table of your own stays in this session's memory: it is not stored.",
    )
    most = st.slider(
        "Texts used, at most",
        100,
        LIVE_TEXTS,
        _START,
        step=50,
        key="use_texts",
        bind="query-params",
        help="Seven in ten train the classifier, three in ten test it. More texts take longer and "
        "give narrower intervals.",
    )
    if corpus != UPLOAD:
        return Texts(shortened(teaching_texts(corpus, most)), corpus)
    uploaded = _upload(most)
    return None if uploaded is None else Texts(uploaded, UPLOAD)


def _upload(most: int) -> LabelledTexts | None:
    file = st.file_uploader(
        "A CSV file with a column of texts and a column of labels",
        type=["csv", "tsv", "txt"],
        key="use_file",
        help=f"UTF-8, names of the columns in the first line, up to {MAX_LABELLED_BYTES:,} bytes "
        f"and {MAX_LABELLED_ROWS:,} rows, 2 to {MAX_CLASSES} classes with {2 * MIN_CLASS_TEXTS} "
        f"texts or more each. Of more texts a sample is taken, and the first {LIVE_WORDS} words of "
        "each text.",
    )
    if file is None:
        note(
            "The file stays in this session's memory and is forgotten with it; see the limits "
            "under the question mark."
        )
        return None
    try:
        table = read_table(file.read(MAX_LABELLED_BYTES + 1))
        file.seek(0)
        text, label = _columns(table)
        chosen = table_texts(table, text, label, most)
    except DpcoreError as error:
        refuse("This table cannot be used.", error)
        return None
    # st.text: what stands in a table is no Markdown.
    st.text(
        f"{chosen.rows:,} rows; left out: {chosen.incomplete:,} without text or label, "
        f"{chosen.repeated:,} repeated. Used: {len(chosen.texts):,} texts of "
        f"{len(chosen.texts.classes)} classes; always guessing the largest is right in "
        f"{chosen.texts.majority:.1%}."
    )
    return chosen.texts


def _columns(table: Table) -> tuple[str, str]:
    """Which columns are meant; by default the one with the longest entries is the text."""
    lengths = [sum(len(row[i]) for row in table.rows) for i in range(len(table.columns))]
    longest = lengths.index(max(lengths))
    # Labels repeat themselves: of the other columns the one with the fewest different entries.
    others = [i for i in range(len(table.columns)) if i != longest]
    fewest = min(others, key=lambda i: len({row[i] for row in table.rows}))
    places = list(range(len(table.columns)))
    with st.container(horizontal=True):
        text, label = (
            st.selectbox(
                title,
                places,
                index=start,
                format_func=lambda i: table.columns[i],
                key=f"use_column_{title}_{len(places)}",
                width=230,
                help=explained,
            )
            for title, start, explained in (
                ("Column of texts", longest, "What is rewritten."),
                ("Column of labels", fewest, "What the classifier learns to tell."),
            )
        )
    show_table(
        [dict(zip(table.columns, row, strict=True)) for row in table.rows[:_SHOWN]],
        "The first rows of the table",
    )
    return table.columns[text], table.columns[label]
