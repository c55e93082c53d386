"""CSV files, read strictly: a row that may have swallowed others is refused with its number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from dpcore.errors import InputError
from dpcore.limits import MAX_DOCUMENT_BYTES, MAX_ROW_LINES, MAX_TABLE_COLUMNS
from dpcore.tables.files import ORIGINAL, Columns, Documents, Span, check_lengths, too_long
from dpcore.tables.shape import Shape, column_names, numbered_columns
from dpcore.tables.streams import File, decoded, plain
from dpcore.tables.text_files import Text

_ENDLESS = "unexpected end"
_BLANK = (b"\n", b"\r\n")
FORMULAS = "=+-@\t\r"
"""First characters of cells that a spreadsheet may run."""


class CommaSeparated(Text):
    """CSV with any separator of `SEPARATORS`."""

    def check(self, file: File, columns: Columns) -> None:
        """Check that each column is there, once."""
        columns.checked(self.shape, file)

    def cells(self, file: File) -> Iterator[list[str]]:
        """Yield the cells of each row; see `Format.cells`."""
        return (row for _, _, row in self._data(file))

    def spans(self, file: File, length: int) -> Iterator[Span]:
        """Yield ranges of bytes that end after a row: a cell in quotes may contain line feeds."""
        start = stop = -1
        first = 0
        for number, (begin, stop, _) in enumerate(self._data(file)):
            if start < 0:
                start, first = begin, number
            if stop - start >= length:
                yield Span(start, stop, first)
                start = -1
        if start >= 0:
            yield Span(start, stop, first)

    def _data(self, file: File) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the rows below the header with their bounds; a blank line is no row."""
        number, width = 0, len(self.shape.names)
        header = self.shape.header == "yes"
        for begin, stop, line, row in rows_of(file, self.shape):
            if header:
                header = False
                continue
            number += 1
            if len(row) != width:
                raise InputError(
                    f"row {number:,} (line {line:,}) of {file.name} has {len(row)} cells and the "
                    f"first line {width}: a cell with the separator ({self.shape.separator}) in "
                    "it must stand in quotation marks, and each of these needs its partner"
                )
            yield begin, stop, row

    def read(self, file: File, span: Span, columns: Columns) -> Documents:
        """Read a span; see `Format.read`."""
        text = io.StringIO(decoded(file, self.read_bytes(file, span), span.start), newline="")
        try:
            rows = [row for row in _reader(iter(text), self.shape.delimiter) if row]
        except csv.Error as error:
            raise InputError(_unreadable(file, span.first, 0, self.shape, str(error))) from None
        if any(len(row) != len(self.shape.names) for row in rows):
            raise InputError(f"{file.name} has rows of another number of cells than its first line")
        names = (columns.text, *columns.keep)
        place, *keep = (place for name in names if (place := self.shape.place(name)) is not None)
        if not self.shape.line_breaks:
            for number, row in enumerate(rows, start=span.first + 1):
                self._check_breaks(file, number, row, place, keep)
        texts: list[str | None] = [row[place] for row in rows]
        check_lengths(texts, span, file)
        return Documents(texts, [[row[i] for i in keep] for row in rows])

    def _check_breaks(
        self, file: File, number: int, row: list[str], place: int, keep: Sequence[int]
    ) -> None:
        """Refuse line ends in cells where a quotation mark may have swallowed rows.

        A valid file can do that too: two cells that each begin with an inch mark enclose all the
        rows between.
        """
        for i in keep:
            if "\n" in row[i] or "\r" in row[i]:
                raise InputError(
                    f"row {number:,} of {file.name} has a line end in column {i + 1}, which is to "
                    "be kept: a quotation mark may have swallowed the rows below it, with their "
                    "texts; correct the row, or say --allow-line-breaks if it is meant"
                )
        if "\n" in row[place] or "\r" in row[place]:
            for line in row[place].splitlines():
                if self._like_a_row(line, len(row)):
                    raise InputError(
                        f"row {number:,} of {file.name} has a text with a line in it that could "
                        "be a row of its own: a quotation mark may have made one text of several; "
                        "correct the row, or say --allow-line-breaks if it is meant"
                    )

    def _like_a_row(self, line: str, width: int) -> bool:
        """Return True if a line has the cells of a row; prose has a blank after its commas."""
        cells = line.split(self.shape.delimiter)
        return len(cells) == width and all(cell and not cell[0].isspace() for cell in cells[1:])

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: BinaryIO
    ) -> None:
        """Write the rows of a span; see `Format.write`."""
        rows = zip(private, documents.rows, documents.texts, strict=True)
        cells = (
            [new or "", *kept, *([old] if columns.original else [])] for new, kept, old in rows
        )
        out.write(self._lines(cells))

    def header(self, columns: Columns) -> bytes:
        """Return the header line: names that a person typed or confirmed, or numbers."""
        return self._lines([[columns.text, *columns.keep, *([ORIGINAL] * columns.original)]])

    def _lines(self, rows: Iterator[list[str]] | list[list[str]]) -> bytes:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.shape.delimiter, lineterminator="\n")
        # The apostrophe makes a spreadsheet show the cell as text.
        if self.shape.neutralise:
            rows = ([f"'{cell}" if is_formula(cell) else cell for cell in row] for row in rows)
        writer.writerows(rows)
        return text.getvalue().encode()


def is_formula(cell: object) -> bool:
    """Return True if a spreadsheet may run a cell: it begins like a formula, and is no number."""
    if not isinstance(cell, str) or not cell or cell[0] not in FORMULAS:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def csv_names(file: File, shape: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in the first row of CSV, and numbers for as many columns.

    Raises:
        InputError: there is no row, or it cannot be read.
    """
    for _, _, _, row in rows_of(file, shape):
        if len(row) > MAX_TABLE_COLUMNS:
            raise InputError(
                f"the first row of {file.name} has {len(row):,} cells, and at most "
                f"{MAX_TABLE_COLUMNS:,} are read: it is no table, or has another separator"
            )
        return column_names(row), numbered_columns(len(row))
    raise InputError(f"{file.name} has no row: CSV needs at least one")


def rows_of(file: File, shape: Shape) -> Iterator[tuple[int, int, int, list[str]]]:
    """Yield rows of CSV that are not blank: begin, end, line number from 1, cells.

    Raises:
        InputError: a quotation mark has no partner, or a line holds a zero byte or is too long.
    """
    position = number = begin = first_line = count = 0
    between = True  # two rows, and not within a cell

    def lines() -> Iterator[str]:
        nonlocal position, number, begin, first_line, between
        with plain(file, shape) as stream:
            while line := stream.readline(MAX_DOCUMENT_BYTES):
                start, position = position, position + len(line)
                number += 1
                if between and line in _BLANK:  # a file may have millions of them
                    continue
                if between:
                    begin, first_line = start, number
                if len(line) == MAX_DOCUMENT_BYTES and not line.endswith(b"\n"):
                    raise too_long(file, f"line {number:,}")
                if b"\0" in line:
                    raise InputError(
                        f"line {number:,} of {file.name} holds a zero byte: it is no CSV; of "
                        "UTF-16 say --encoding utf-16-le or utf-16-be"
                    )
                # A quotation mark without partner would make one cell of the rest of the file.
                if number - first_line > MAX_ROW_LINES:
                    raise InputError(_unreadable(file, count, first_line, shape, _ENDLESS))
                if number > shape.skipped:
                    between = False
                    try:  # a cell may have millions of lines
                        text = line.decode() if start else decoded(file, line)
                    except UnicodeDecodeError:
                        text = decoded(file, line, start)
                    yield text

    rows = _reader(lines(), shape.delimiter)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InputError(_unreadable(file, count, first_line, shape, str(error))) from None
        if row is None:
            return
        between = True
        if row:
            count += 1
            yield begin, position, first_line, row


def _unreadable(file: File, rows: int, line: int, shape: Shape, error: str) -> str:
    """Say why a row cannot be read, without quoting its cells."""
    number = rows + 1 - (shape.header == "yes")
    at = f" (line {line:,})" if line else ""
    where = f"row {number:,}{at} of {file.name}" if number > 0 else f"the first line of {file.name}"
    if "new-line" in error:
        return (
            f"{where} has a carriage return within a cell: save the file with one kind of line end"
        )
    if _ENDLESS in error or "field larger" in error:
        return (
            f"{where} opens a quotation mark that has no partner: all rows below it would be one "
            "cell; close it, or write it twice within quotation marks"
        )
    return (
        f"{where} has a quotation mark within a cell that stands in quotation marks: write it "
        "twice, or give the one that opens the cell its partner"
    )


def _reader(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_DOCUMENT_BYTES)  # the default is 131,072
    return csv.reader(lines, delimiter=delimiter, strict=True)
