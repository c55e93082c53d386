"""Tables of texts from an untrusted file, in memory: read strictly, refused with a reason."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dpcore.errors import CorpusError, InputError
from dpcore.learn.corpus import LabelledTexts
from dpcore.limits import (
    MAX_CLASSES,
    MAX_LABELLED_BYTES,
    MAX_LABELLED_COLUMNS,
    MAX_LABELLED_ENTRY,
    MAX_LABELLED_ROWS,
    MIN_CLASS_TEXTS,
)
from dpcore.tables.detection import find_shape, format_with
from dpcore.tables.shape import SEPARATORS, Reading, Shape, packed_name
from dpcore.tables.streams import GZIP, Uploaded, beginning

_SHOWN = 40  # characters of a name or label in a message
_NAME = "table.csv"


@dataclass(frozen=True)
class Table:
    """A table in memory.

    Attributes:
        columns: different names; "column 1" and so on where a person confirmed none.
        rows: one entry per column, as text; empty for an empty cell.
        given: the file and its shape; None for a table that was made in memory.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    given: tuple[Uploaded, Shape] | None = field(default=None, repr=False)

    @cached_property
    def _file(self) -> tuple[Uploaded, Shape]:
        if self.given is not None:
            return self.given
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        shape = Shape("csv", separator="comma", header="yes", names=self.columns, confirmed=True)
        return Uploaded(_NAME, text.getvalue().encode()), shape

    @property
    def file(self) -> Uploaded:
        """File that holds the table."""
        return self._file[0]

    @property
    def shape(self) -> Shape:
        """Shape by which the file is read."""
        return self._file[1]

    @property
    def separator(self) -> str:
        """Character between two entries."""
        return SEPARATORS[self.shape.separator or "comma"]

    def place(self, name: str) -> int:
        """Return the index of a column, by its name or as "column N".

        Raises:
            CorpusError: there is no such column.
        """
        place = self.shape.place(name)
        if place is None:
            raise CorpusError(
                f"there is no column {name[:_SHOWN]!r} in the table; it has {len(self.columns)}, "
                "whose names are not shown, since they may be private"
            )
        return place

    def column(self, name: str) -> list[str]:
        """Return the entries of a column.

        Raises:
            CorpusError: as `place`.
        """
        place = self.place(name)
        return [row[place] for row in self.rows]

    def written(self, *, line_breaks: bool, neutralise: bool) -> Table:
        """Return the same table, released under these choices of `Reading`."""
        shape = replace(self.shape, line_breaks=line_breaks, neutralise=neutralise)
        return replace(self, given=(self.file, shape))


def read_table(
    data: bytes,
    least: int = 2,
    *,
    name: str = _NAME,
    reading: Reading | None = None,
    typed: Sequence[str] = (),
) -> Table:
    """Read a table: text lines, CSV, JSON lines or parquet, packed with gzip or not.

    The first line of CSV holds names if `reading` or a typed name says so, or if it looks like
    names and neither says anything; else the columns are called "column 1" and so on.

    Args:
        data: the file.
        least: minimum number of columns: two where texts have labels, one where they need none.
        name: of the file, whose extension gives the format.
        reading: choices that a person made for it.
        typed: names of columns that a person typed.

    Raises:
        CorpusError: it is empty, too large, not a table with so many columns, or a row is damaged;
            the message has its number and none of its cells.
    """
    if len(data) > MAX_LABELLED_BYTES:
        raise CorpusError(
            f"the file is larger than {MAX_LABELLED_BYTES:,} bytes; take a part of its rows"
        )
    if not data.strip():
        raise CorpusError("the file is empty; at least one row is needed")
    file, reading = Uploaded(name, data), reading or Reading()
    try:
        # Before anything is read: a few kilobytes can unpack to gigabytes.
        if packed_name(name) and data.startswith(GZIP):
            _check_unpacked(file)
        shape = find_shape(file, reading, typed)
        # Nobody is asked here: a first line that looks like names is taken for names.
        if reading.header == "auto" and shape.first and shape.first.looks == "names":
            shape = find_shape(file, replace(reading, header="yes"), typed)
        return _table_of(file, shape, least)
    except InputError as error:
        raise CorpusError(str(error)) from None


def _check_unpacked(file: Uploaded) -> None:
    """Refuse a packed file that is too large, without unpacking more than the limit."""
    if len(beginning(file, True, MAX_LABELLED_BYTES + 1)) > MAX_LABELLED_BYTES:
        raise CorpusError(
            f"the file holds more than {MAX_LABELLED_BYTES:,} bytes once it is unpacked; take a "
            "part of its rows"
        )


def _table_of(file: Uploaded, shape: Shape, least: int) -> Table:
    columns = shape.names
    if len(columns) < least:
        raise CorpusError(
            "the table needs at least two columns, one of texts and one of labels, with a comma, a "
            "semicolon or a tab between; it has one"
        )
    if len(columns) > MAX_LABELLED_COLUMNS:
        raise CorpusError(
            f"the table has {len(columns):,} columns; at most {MAX_LABELLED_COLUMNS} are read: "
            "leave out those that are neither texts nor labels"
        )
    if len(set(columns)) != len(columns):
        raise CorpusError("every column needs a name of its own, and one stands twice")
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(format_with(shape).cells(file), start=1):
        if number > MAX_LABELLED_ROWS:
            raise CorpusError(
                f"the table has more than {MAX_LABELLED_ROWS:,} rows; take a part of them"
            )
        if max(map(len, row)) > MAX_LABELLED_ENTRY:
            raise CorpusError(
                f"row {number:,} has an entry of more than {MAX_LABELLED_ENTRY:,} characters; "
                "perhaps a quotation mark has no partner"
            )
        rows.append(tuple(row))
    if not rows:
        raise CorpusError("the table has a header and no rows; at least one row is needed")
    return Table(columns, tuple(rows), (file, shape))


@dataclass(frozen=True)
class UsableTexts:
    """Texts of a table that are used, and the number of rows left out.

    Attributes:
        texts: those that are used.
        rows: number of rows of the table.
        incomplete: rows left out because text or label is empty.
        repeated: rows left out because the same text occurs above.
        rare: rows left out because their class has too few texts to train and test on.
    """

    texts: LabelledTexts
    rows: int
    incomplete: int
    repeated: int
    rare: int


def labelled_pairs(table: Table, text: str, label: str) -> tuple[list[tuple[str, str]], int, int]:
    """Return every text with its label, each text once, under its first label.

    Returns:
        The pairs, the number of rows left out because text or label is empty, and the number left
        out because the text occurs above.

    Raises:
        CorpusError: a column is missing, or both are one.
    """
    if table.place(text) == table.place(label):
        raise CorpusError("texts and labels must stand in two different columns")
    both = zip(table.column(text), table.column(label), strict=True)
    pairs = [(words.strip(), name.strip()) for words, name in both]
    whole = [(words, name) for words, name in pairs if words and name]
    once = dict(reversed(whole))  # the first label of a repeated text
    kept = [(words, once.pop(words)) for words, _ in whole if words in once]
    return kept, len(pairs) - len(whole), len(whole) - len(kept)


def choose_columns(
    table: Table, text: str, label: str, most: int, rng: np.random.Generator
) -> UsableTexts:
    """Return texts and labels of a table; of more than `most` texts a sample, stratified by class.

    Texts of a class that is too small to train and test on are left out, and counted.

    Args:
        table: as read.
        text: name of the column of texts.
        label: name of the column of labels.
        most: maximum number of texts to use.
        rng: draws the sample.

    Raises:
        CorpusError: a column is missing, or fewer than two classes have texts enough to train and
            test on.
    """
    kept, incomplete, repeated = labelled_pairs(table, text, label)
    classes = _classes([name for _, name in kept], len(table.rows))
    used = [(words, name) for words, name in kept if name in classes]
    texts = LabelledTexts.of([words for words, _ in used], [name for _, name in used])
    if len(texts) > most:
        texts = _sample(texts, most, rng)
    return UsableTexts(texts, len(table.rows), incomplete, repeated, len(kept) - len(used))


def _sample(texts: LabelledTexts, most: int, rng: np.random.Generator) -> LabelledTexts:
    """Sample about `most` of the texts, each class in its share, rare ones with their minimum."""
    rows: list[int] = []
    for label in range(len(texts.classes)):
        places = rng.permutation(np.flatnonzero(texts.labels == label))
        # A rare class keeps what `_classes` demands: half to train on, half to test on.
        wanted = max(2 * MIN_CLASS_TEXTS, round(most * places.size / len(texts)))
        rows += places[:wanted].tolist()
    return texts.part(rng.permutation(rows))


def _classes(names: list[str], rows: int) -> set[str]:
    """Return the classes with enough texts to train and test on; refuse fewer than two of them."""
    counts = Counter(names)
    large = {name for name, count in counts.items() if count >= 2 * MIN_CLASS_TEXTS}
    if len(large) > MAX_CLASSES or (len(counts) > MAX_CLASSES and len(large) < 2):
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
    if len(large) < 2:
        rare = min(counts, key=lambda name: counts[name])
        raise CorpusError(
            f"each of two classes needs at least {2 * MIN_CLASS_TEXTS} different texts, half of "
            f"them to train on and half to test on; {rare[:_SHOWN]!r} has {counts[rare]:,} of "
            f"{len(names):,}; add texts, or choose another column of labels"
        )
    return large
