"""Labelled texts from a CSV file that a stranger gives: read strictly, refused with a reason."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from dpcore.errors import CorpusError, TextError
from dpcore.learn.labelled import LabelledTexts
from dpcore.limits import (
    MAX_CLASSES,
    MAX_LABELLED_BYTES,
    MAX_LABELLED_COLUMNS,
    MAX_LABELLED_ENTRY,
    MAX_LABELLED_ROWS,
    MIN_CLASS_TEXTS,
)
from dpcore.rewrite.checks import decode

_SEPARATORS = ",;\t"
_SHOWN = 40  # characters of a name or label in a message


@dataclass(frozen=True)
class Table:
    """A CSV file with a header.

    Attributes:
        columns: different names.
        rows: one entry a column.
        separator: what stood between two entries.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    separator: str = ","


def read_table(data: bytes, least: int = 2) -> Table:
    """Read a CSV file: UTF-8, a header, commas, semicolons or tabs between the columns.

    Args:
        data: the file.
        least: columns that it must have: two where texts have labels, one where they need none.

    Raises:
        CorpusError: it is empty, too large, not UTF-8, not a table with so many columns, or a row
            has another number of entries than the header.
    """
    if len(data) > MAX_LABELLED_BYTES:
        raise CorpusError(
            f"the file is larger than {MAX_LABELLED_BYTES:,} bytes; take a part of its rows"
        )
    try:
        text = decode(data)
    except TextError as error:
        raise CorpusError(str(error)) from None
    if "\0" in text:
        raise CorpusError("the file holds zero bytes: it is no CSV file; save the table as CSV")
    if not text.strip():
        raise CorpusError("the file is empty; a header and at least one row are needed")
    header = text.lstrip().split("\n", 1)[0]
    separator = max(_SEPARATORS, key=header.count)
    csv.field_size_limit(MAX_LABELLED_ENTRY)  # of the whole process: another may have raised it
    lines = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=separator)
    rows: list[tuple[str, ...]] = []
    try:
        columns = tuple(name.strip() for name in next(lines))
        _check_columns(columns, least)
        for line in lines:
            if not line:
                continue
            if len(line) != len(columns):
                raise CorpusError(
                    f"line {lines.line_num:,} has {len(line)} entries and the header has "
                    f"{len(columns)}; put texts that hold the separator into quotation marks"
                )
            rows.append(tuple(line))
            if len(rows) > MAX_LABELLED_ROWS:
                raise CorpusError(
                    f"the table has more than {MAX_LABELLED_ROWS:,} rows; take a part of them"
                )
    except csv.Error as error:
        raise CorpusError(
            f"line {lines.line_num:,} cannot be read as CSV ({error}); texts that hold quotation "
            "marks or the separator stand in quotation marks"
        ) from None
    if not rows:
        raise CorpusError("the table has a header and no rows; at least one row is needed")
    return Table(columns, tuple(rows), separator)


def _check_columns(columns: tuple[str, ...], least: int) -> None:
    if len(columns) < least:
        raise CorpusError(
            "the first line must name at least two columns, one of texts and one of labels, "
            f"separated by a comma, a semicolon or a tab; got {columns[0][:_SHOWN]!r}"
        )
    if len(columns) > MAX_LABELLED_COLUMNS:
        raise CorpusError(
            f"the first line names {len(columns):,} columns; at most {MAX_LABELLED_COLUMNS} are "
            "read: leave out those that are neither texts nor labels"
        )
    if "" in columns or len(set(columns)) != len(columns):
        raise CorpusError(
            "every column needs a name of its own in the first line; a name is missing or stands "
            "twice"
        )


@dataclass(frozen=True)
class Chosen:
    """What became of a table.

    Attributes:
        texts: those that are used.
        rows: of the table.
        incomplete: rows left out because text or label is empty.
        repeated: rows left out because the same text stands above.
    """

    texts: LabelledTexts
    rows: int
    incomplete: int
    repeated: int


def labelled_pairs(table: Table, text: str, label: str) -> tuple[list[tuple[str, str]], int, int]:
    """Every text with its label, each text once, under the first label that it has.

    Returns:
        The pairs, the rows left out because text or label is empty, and those whose text stands
        above.

    Raises:
        CorpusError: a column is missing, or both are one.
    """
    for name in (text, label):
        if name not in table.columns:
            raise CorpusError(
                f"there is no column {name[:_SHOWN]!r}; the columns are: "
                + ", ".join(column[:_SHOWN] for column in table.columns[:20])
            )
    if text == label:
        raise CorpusError("texts and labels must stand in two different columns")
    i, j = table.columns.index(text), table.columns.index(label)
    pairs = [(row[i].strip(), row[j].strip()) for row in table.rows]
    whole = [(words, name) for words, name in pairs if words and name]
    once = dict(reversed(whole))  # the first label of a text that stands twice
    kept = [(words, once.pop(words)) for words, _ in whole if words in once]
    return kept, len(pairs) - len(whole), len(whole) - len(kept)


def choose_columns(
    table: Table, text: str, label: str, most: int, rng: np.random.Generator
) -> Chosen:
    """Texts and labels of a table; of more than `most` texts a sample, each class in its share.

    Args:
        table: as read.
        text: name of the column of texts.
        label: name of the column of labels.
        most: texts that are used.
        rng: draws the sample.

    Raises:
        CorpusError: a column is missing, or the labels cannot be learned from.
    """
    kept, incomplete, repeated = labelled_pairs(table, text, label)
    names = [name for _, name in kept]
    _check_labels(names, len(table.rows))
    texts = LabelledTexts.of([words for words, _ in kept], names)
    if len(texts) > most:
        texts = _sample(texts, most, rng)
    return Chosen(texts, len(table.rows), incomplete, repeated)


def _sample(texts: LabelledTexts, most: int, rng: np.random.Generator) -> LabelledTexts:
    """About `most` of the texts, each class in its share, rare ones with what they need."""
    rows: list[int] = []
    for label in range(len(texts.classes)):
        places = rng.permutation(np.flatnonzero(texts.labels == label))
        wanted = max(2 * MIN_CLASS_TEXTS, round(most * places.size / len(texts)))
        rows += places[:wanted].tolist()
    return texts.part(rng.permutation(rows))


def _check_labels(names: list[str], rows: int) -> None:
    """Refuse what no classifier can be trained and tested on."""
    # Not more labels are counted than it takes to refuse them: a column may hold a million.
    counts = {name: names.count(name) for name in list(dict.fromkeys(names))[: MAX_CLASSES + 1]}
    if len(counts) > MAX_CLASSES:
        raise CorpusError(
            f"the column of labels holds more than {MAX_CLASSES} different labels; choose the "
            "column that names the class of each text"
        )
    if len(counts) < 2:
        only = f" ({next(iter(counts))[:_SHOWN]!r})" if counts else ""
        raise CorpusError(
            "a classifier needs at least two classes to tell apart, and the labels of the "
            f"{rows:,} rows have {len(counts)}{only}; choose another column of labels"
        )
    rare = min(counts, key=lambda name: counts[name])
    if counts[rare] < 2 * MIN_CLASS_TEXTS:
        raise CorpusError(
            f"every class needs at least {2 * MIN_CLASS_TEXTS} different texts, half of them to "
            f"train on and half to test on; {rare[:_SHOWN]!r} has {counts[rare]:,} of "
            f"{len(names):,}; add texts, or leave rare classes out"
        )
