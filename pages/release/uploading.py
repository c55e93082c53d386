"""Source of the texts: the teaching corpus, or a file uploaded in this session.

Nothing in a private file is assumed to be public: the page shows its first line and asks about it,
and names of columns reach the copy, its record, its label and the commands only if the user agrees.
Without that, columns are called "column 1", "column 2" and so on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpcore.errors import DpcoreError
from dpcore.learn.corpus import LabelledTexts, teaching_corpus
from dpcore.learn.table import Table, read_table
from dpcore.limits import (
    LIVE_WORDS,
    MAX_CLASSES,
    MAX_LABELLED_BYTES,
    MAX_LABELLED_ROWS,
    MIN_CLASS_TEXTS,
    PAGE_RELEASE_ROWS,
    PAGE_RELEASE_WORDS,
)
from dpcore.plots.style import percent
from dpcore.study.live import shortened, table_texts, teaching_texts
from dpcore.tables.shape import AUTO, ENCODINGS, ENDS, SEPARATORS, Reading, numbered_columns
from pages.shared.language import later, say
from pages.shared.link import choose_one
from pages.shared.messages import note, refuse
from pages.shared.table import show_table

UPLOAD = "uploaded"
CORPORA = {
    "sentiment": later("Teaching corpus: sentiment"),
    "topic": later("Teaching corpus: topic"),
    UPLOAD: later("A file of your own"),
}
TEACHING_FILE = "teaching.csv"
"""File name of the teaching corpus."""
_CORPUS = "use_corpus"
_NONE = later("none: no accuracy test")
_FILE = "use_file_held"
"""The uploaded file of this session: the uploader forgets it when the page is left."""
_SHOWN = 3  # rows, and cells of the first line
_CELL = 60  # characters of a cell of the first line
_FIRST = {"yes": later("Names of columns"), "no": later("A text, like the lines below")}
_ENDS = [end.removeprefix(".") for end in (*ENDS, ".gz")]


@dataclass(frozen=True, eq=False)
class Source:
    """Table of texts.

    Attributes:
        corpus: key of `CORPORA`.
        name: name of the file.
        table: the whole table.
        text: the column of texts.
        label: the column of labels; None where there is none.
        identity: key of the texts in this session; it reveals nothing about them.
        asked: key of the field in which the user agrees that names of columns are released; empty
            where the names are ours.
    """

    corpus: str
    name: str
    table: Table
    text: str
    label: str | None
    identity: str
    asked: str = ""

    @property
    def own(self) -> bool:
        """True if it was uploaded."""
        return self.corpus == UPLOAD

    @property
    def public(self) -> bool:
        """True if names of columns may be released: the user agreed, or they are ours."""
        return not self.asked or bool(st.session_state.get(self.asked))

    @property
    def texts(self) -> list[str]:
        """Texts of all rows."""
        return self.table.column(self.text)

    def released(self, column: str) -> str:
        """Return the name of a column outside this session: its number if the name is private."""
        columns = self.table.columns
        return column if self.public else numbered_columns(len(columns))[columns.index(column)]


def choose_source() -> Source | None:
    """Draw the choice of the texts; if a table cannot be used, say why and return None."""
    if _FILE in st.session_state:
        st.session_state.setdefault(_CORPUS, UPLOAD)  # back on this page
    dropped = st.file_uploader(
        say("A file of texts: lines, CSV, JSON lines or parquet"),
        type=_ENDS,
        key="use_file",
        max_upload_size=MAX_LABELLED_BYTES // 1_000_000,
        # A file that is dropped is meant to be used: the choice below follows it.
        on_change=_take_upload,
        help=say(
            "Up to {bytes:,} bytes and {rows:,} rows; for a private copy here, {released_rows:,} "
            "rows and {released_words:,} words. A .txt file holds one text per line. A column of "
            "labels is used to measure accuracy: 2 to {classes} classes with at least {least} "
            "texts each.",
            bytes=MAX_LABELLED_BYTES,
            rows=MAX_LABELLED_ROWS,
            released_rows=PAGE_RELEASE_ROWS,
            released_words=PAGE_RELEASE_WORDS,
            classes=MAX_CLASSES,
            least=2 * MIN_CLASS_TEXTS,
        ),
    )
    if dropped is not None:
        st.session_state[_FILE] = dropped
    file: UploadedFile | None = st.session_state.get(_FILE)
    if file is not None and dropped is None:
        # st.text: the name of a file is not Markdown.
        st.text(say("Here since you left this page: {name}", name=file.name))
        st.button(
            say("Forget the file"),
            key="use_forget",
            on_click=_forget,
            help=say("Removes it from the memory of this session."),
        )
    corpus = choose_one(
        st.segmented_control,
        say("Texts"),
        CORPORA,
        _CORPUS,
        required=True,
        help=say(
            "The teaching corpus: 1,440 short reviews and messages that were written for this "
            "laboratory. A file of your own stays in this session's memory: it is not stored."
        ),
    )
    if corpus != UPLOAD:
        return _teaching(corpus)
    if file is None:
        note(
            say(
                "Drop a file above: it stays in this session's memory and is forgotten with it. "
                "Until then the page shows the teaching corpus."
            )
        )
        # Never an empty page: the first view works before there is a file.
        return _teaching("sentiment")
    st.button(
        say("Try it with the teaching corpus"),
        key="use_teaching",
        on_click=_take_teaching,
        help=say("Shows the texts of the laboratory in place of your file."),
    )
    data = file.read(MAX_LABELLED_BYTES + 1)
    # Streamlit hands out the same file in every run, at the place where it was left.
    file.seek(0)
    try:
        return _own(file, data)
    except DpcoreError as error:
        refuse(say("This file cannot be used."), error)
        return None


def awaits_file(source: Source) -> bool:
    """Return True if an uploaded file is chosen and there is none, so that `source` is ours."""
    return not source.own and st.session_state.get(_CORPUS) == UPLOAD


def labelled(source: Source, most: int) -> LabelledTexts:
    """Return texts and labels of a run, cut to the size that a run can process.

    Raises:
        CorpusError: the labels cannot be learned from.
    """
    if not source.own:
        return shortened(teaching_texts(source.corpus, most))
    chosen = table_texts(source.table, source.text, source.label or "", most)
    # st.text: the content of a table is not Markdown.
    st.text(
        say(
            "{rows:,} rows; left out: {incomplete:,} without text or label, {repeated:,} "
            "repeated. Used: {texts:,} texts of {classes} classes, the first {words} words of "
            "each; always guessing the largest is right in {share}.",
            rows=chosen.rows,
            incomplete=chosen.incomplete,
            repeated=chosen.repeated,
            texts=len(chosen.texts),
            classes=len(chosen.texts.classes),
            words=LIVE_WORDS,
            share=percent(chosen.texts.majority),
        )
    )
    if chosen.rare:
        st.text(
            say(
                "Texts left out of this test because their class has fewer than {least}: "
                "{rare:,}. The private copy keeps all rows.",
                rare=chosen.rare,
                least=2 * MIN_CLASS_TEXTS,
            )
        )
    return chosen.texts


def _take_upload() -> None:
    """Switch to the uploaded file when one is added, and back when it is removed."""
    # In a callback, before the field of this key is drawn.
    if st.session_state.get("use_file"):
        st.session_state[_CORPUS] = UPLOAD
    else:
        _forget()


def _forget() -> None:
    st.session_state.pop(_FILE, None)
    st.session_state[_CORPUS] = "sentiment"


def _take_teaching() -> None:
    st.session_state[_CORPUS] = "sentiment"


@cache
def _teaching(corpus: str) -> Source:
    texts = teaching_corpus()
    rows = tuple(zip(texts.texts, texts.sentiment, texts.topic, strict=True))
    table = Table(("text", "sentiment", "topic"), rows)
    return Source(corpus, TEACHING_FILE, table, "text", corpus, "teaching corpus")


def _likely_labels(table: Table, others: list[int]) -> int:
    """Return the place of the likely label column (fewest distinct values), or past the last.

    The guess selects what a classifier learns; no column is copied by a guess.
    """
    kinds = {i: len({row[i] for row in table.rows} - {""}) for i in others}
    # Classes recur; a column in which most cells differ holds names, dates or numbers.
    most = min(MAX_CLASSES, len(table.rows) // 2)
    likely = [i for i in others if 2 <= kinds[i] <= most]
    return others.index(min(likely, key=kinds.__getitem__)) if likely else len(others)


def _own(file: UploadedFile, data: bytes) -> Source:
    """Ask how to read a file, and which columns hold texts and labels.

    Raises:
        DpcoreError: the file cannot be read this way.
    """
    table, asked = _read(file, data)
    columns, count = table.columns, len(table.columns)
    lengths = [sum(len(row[i]) for row in table.rows) for i in range(count)]
    # Labels and dates are short: the texts are most likely the longest column.
    longest = lengths.index(max(lengths))
    with st.container(horizontal=True):
        text = st.selectbox(
            say("Column of texts"),
            range(count),
            index=longest,
            format_func=lambda i: columns[i],
            key=f"use_column_Column of texts_{count}",
            width=230,
            help=say("The texts that are rewritten."),
        )
        others = [i for i in range(count) if i != text]
        label = st.selectbox(
            say("Column of labels"),
            [*others, None],
            index=_likely_labels(table, others),
            format_func=lambda i: say(_NONE) if i is None else columns[i],
            # By the column of texts too: its choice decides what else can be a label.
            key=f"use_column_Column of labels_{count}_{text}",
            width=230,
            help=say(
                "The classes that a classifier learns to tell apart; used to measure accuracy, and "
                "not copied unless you say so."
            ),
        )
    show_table(
        [dict(zip(columns, row, strict=True)) for row in table.rows[:_SHOWN]],
        say("The first rows of the file"),
    )
    # Of the texts alone: the same texts under another name or layout would be released twice.
    digest = hashlib.sha256("\0".join(row[text] for row in table.rows).encode()).hexdigest()
    return Source(
        UPLOAD,
        file.name,
        table,
        columns[text],
        None if label is None else columns[label],
        digest,
        asked,
    )


def _read(file: UploadedFile, data: bytes) -> tuple[Table, str]:
    """Return the table of a file, read as the user says, and the key of `Source.asked`.

    Raises:
        DpcoreError: the file cannot be read this way.
    """
    # By upload: what was answered about one file must not be taken for another.
    key = f"use_reading_{file.file_id}"
    asked = st.container()
    with st.expander(say("Change how the file is read"), key=f"{key}_more"):
        separator = st.selectbox(
            say("Separator"),
            [AUTO, *SEPARATORS],
            key=f"{key}_separator",
            help=say("The character between two cells of CSV; auto takes the one that fits."),
        )
        encoding = st.selectbox(
            say("Encoding"),
            [AUTO, *ENCODINGS],
            key=f"{key}_encoding",
            help=say("How the file stores letters; auto tells UTF-8, UTF-16 and UTF-32 apart."),
        )
    # Read before its field is drawn: the question shows the first line as it is read now.
    header = st.session_state.get(f"{key}_header", AUTO)
    table = read_table(
        data,
        1,
        name=Path(file.name).name,
        reading=Reading(encoding=encoding, separator=separator, header=header or AUTO),
    )
    with asked:
        _ask_first_line(table, key)
    ours = table.shape.format == "text" or table.shape.header == "no"
    return table, "" if ours else f"{key}_public"


def _ask_first_line(table: Table, key: str) -> None:
    """Ask about the content of the first line."""
    # st.text: cells of the file are not Markdown.
    st.text(say("Read as {shape}.", shape=table.shape.sentence))
    if table.shape.first is not None:
        beginning = table.columns if table.shape.header == "yes" else table.rows[0]
        cells = [cell[:_CELL] for cell in beginning[:_SHOWN]]
        more = " | …" if len(beginning) > _SHOWN else ""
        st.text(say("Its first line: {cells}", cells=" | ".join(cells) + more))
        st.segmented_control(
            say("What does the first line hold?"),
            list(_FIRST),
            default=table.shape.header,
            format_func=lambda name: say(_FIRST[name]),
            required=True,
            key=f"{key}_header",
            help=say(
                "A text in the first line is counted and protected like all others. Names of "
                "columns are not texts: nothing protects them."
            ),
        )
