"""Detection of a table's format, encoding, separator and header, from its first bytes and rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from dpcore.errors import InputError
from dpcore.tables.csv_files import CommaSeparated, csv_names
from dpcore.tables.files import Format
from dpcore.tables.parquet_files import Parquet, parquet_names
from dpcore.tables.shape import (
    AUTO,
    ENDS,
    FORMATS,
    SEPARATORS,
    TEXT,
    FirstLine,
    Reading,
    Shape,
    column_names,
    format_by_name,
    packed_name,
)
from dpcore.tables.streams import GZIP, File, beginning, opened
from dpcore.tables.text_files import JsonLines, TextLines, json_keys

_SAMPLE = 2**16  # bytes that are looked at
_ROWS, _COLUMNS = 100, 200  # the first ones, which are looked at
_PARQUET = b"PAR1"
_OTHERS = {
    b"PK\x03\x04": "a zip archive, or a workbook (.xlsx): save the table as CSV",
    b"\xd0\xcf\x11\xe0": "a workbook or document of an old office program: save it as CSV",
    b"%PDF": "a PDF: save its text as .txt",
    b"{\\rtf": "rich text: save it as plain text",
    b"BZh": "packed with bzip2: unpack it first",
    b"\xfd7zXZ": "packed with xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it first",
    _PARQUET: "a parquet file: give it the end .parquet",
}
_MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_ZERO_SHARE = 0.4  # of the bytes at odd or even places, at or above which they are halves of UTF-16
_SEPARATOR_LINE = re.compile(r'\ufeff?"?sep=([,;\t|])"?\s*')
# Names that tables of texts commonly have: public words, none of them the name of a person.
_COMMON = frozenset(
    "text texts label labels id index review reviews comment comments message messages body title "
    "content sentence sentences document documents category class sentiment topic author date "
    "stars rating score target language source user name email mail age city country gender "
    "note notes question answer words kind type number n".split()
)
_DATUM = re.compile(r"[-+]?[\d.,:/%-]+\Z|.*@.*|https?:.*")
_MANY_WORDS, _LONG = 5, 40


def find_shape(file: File, reading: Reading | None = None, typed: Sequence[str] = ()) -> Shape:
    """Find how to read a table, wherever a person has not said it.

    Args:
        file: the table.
        reading: choices of a person.
        typed: names of columns that a person typed: one of them in the first line of CSV confirms
            that the line is a header.

    Raises:
        InputError: the file is of no known kind, or another than its name says.
    """
    reading = reading or Reading()
    kind = reading.format if reading.format != AUTO else format_by_name(file.name)
    if kind is None:
        raise InputError(
            f"{file.name} has a name of no known format; there are: "
            f"{', '.join(f'*{end}' for end in ENDS)}, packed as *.gz or not; or say --format"
        )
    packed = _is_packed(file)
    sample = beginning(file, packed, _SAMPLE)
    if kind == "parquet":
        if packed:
            raise InputError(
                f"{file.name} is packed with gzip: unpack it, parquet is packed itself"
            )
        names = parquet_names(file)
        return Shape(kind, encoding="", names=names, confirmed=reading.header == "yes")
    for start, what in _OTHERS.items():
        if sample.startswith(start):
            raise InputError(f"{file.name} is not {FORMATS[kind]} but {what}")
    encoding = reading.encoding if reading.encoding != AUTO else _encoding(sample)
    line_end = "\r" if _no_line_feed(sample, encoding) else "\n"
    shape = Shape(
        kind, packed, encoding, line_end,
        confirmed=reading.header == "yes",
        line_breaks=reading.line_breaks, neutralise=reading.neutralise,
    )  # fmt: skip
    if kind == "text":
        return replace(shape, names=(TEXT,), confirmed=True)
    if kind == "jsonl":
        return replace(shape, names=json_keys(file, shape))
    return _csv_shape(file, shape, reading, typed, _text_of(sample, encoding))


def _is_packed(file: File) -> bool:
    """Return True if a file is packed; refuse it if its name does not agree."""
    with opened(file) as raw:
        packed = raw.read(len(GZIP)) == GZIP
    if packed == packed_name(file.name):
        return packed
    if packed:
        raise InputError(
            f"{file.name} is packed with gzip, though its name does not say so: call it "
            f"{file.name}.gz, or unpack it"
        )
    raise InputError(f"{file.name} is called .gz and is not packed with gzip: leave out that end")


def _encoding(sample: bytes) -> str:
    """Detect the byte order mark, or the zero bytes that UTF-16 has at every second place."""
    for mark, encoding in _MARKS.items():
        if sample.startswith(mark):
            return encoding
    even, odd = (sample[place::2].count(0) / max(1, len(sample) // 2) for place in (0, 1))
    if odd >= _ZERO_SHARE and even < odd / 10:
        return "utf-16-le"
    if even >= _ZERO_SHARE and odd < even / 10:
        return "utf-16-be"
    return "utf-8"


def _text_of(sample: bytes, encoding: str) -> str:
    return sample.decode(encoding, "replace").removeprefix("\ufeff")


def _no_line_feed(sample: bytes, encoding: str) -> bool:
    text = _text_of(sample, encoding)
    return "\n" not in text and "\r" in text


def _csv_shape(
    file: File, shape: Shape, reading: Reading, typed: Sequence[str], sample: str
) -> Shape:
    said = _SEPARATOR_LINE.match(sample)
    if said and said.end() < len(sample) and sample[said.end() - 1] in "\r\n":
        shape = replace(shape, skipped=1)
        sample = sample[said.end() :]
    by_name = "tab" if ".tsv" in file.name.lower() else None
    if reading.separator != AUTO:
        separator = reading.separator
    elif said:
        separator = next(word for word, mark in SEPARATORS.items() if mark == said[1])
    else:
        separator = _separator(sample, by_name)
    shape = replace(shape, separator=separator)
    names, numbers = csv_names(file, shape)
    rows = sampled_rows(sample, shape.delimiter)
    first = _first_line(rows)
    header = reading.header
    if header == AUTO:
        header = "yes" if any(name in names for name in typed) else "no"
    return replace(shape, header=header, names=names if header == "yes" else numbers, first=first)


def sampled_rows(sample: str, delimiter: str) -> list[list[str]]:
    """Return the first rows of a sample, without the last line, which may be cut."""
    text = sample.replace("\r\n", "\n").replace("\r", "\n")
    text = text[: text.rfind("\n") + 1] or text
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) > _ROWS:
                break
    except csv.Error:
        pass  # the reader of all rows reports the place
    return rows


def _separator(sample: str, by_name: str | None) -> str:
    """Return the separator that gives all first rows one number of cells, and more than one."""
    best, most = by_name or "comma", (False, 1)
    order = sorted(SEPARATORS, key=lambda word: word != by_name)
    for word in order:
        rows = sampled_rows(sample, SEPARATORS[word])
        if not rows or len(rows[0]) < 2:
            continue
        found = (all(len(row) == len(rows[0]) for row in rows), len(rows[0]))
        if found > most:
            best, most = word, found
    return best


def _first_line(rows: list[list[str]]) -> FirstLine:
    """Judge whether the first line looks like names or like data."""
    if not rows:
        return FirstLine("unsure", ("there is no row to judge by",))
    first, below = column_names(rows[0][:_COLUMNS]), rows[1:]
    data: list[str] = []
    for number, cell in enumerate(rows[0][:_COLUMNS], start=1):
        cell = cell.strip()
        if _DATUM.match(cell):
            data.append(f"cell {number} is a number, a date or an address")
        elif len(cell.split()) >= _MANY_WORDS or len(cell) > _LONG:
            data.append(f"cell {number} is as long as a text")
        elif cell and any(len(row) >= number and row[number - 1].strip() == cell for row in below):
            data.append(f"cell {number} stands below the first line too")
    if len(set(first)) < len(first):
        data.append("a cell stands twice in it")
    if data:
        return FirstLine("data", tuple(data))
    names = [
        f"column {number} holds numbers below it"
        for number in range(1, len(first) + 1)
        if below and all(len(row) >= number and _is_number(row[number - 1]) for row in below)
    ]
    if any(name.lower() in _COMMON for name in first):
        names.append("a cell is a common name of a column")
    if names:
        return FirstLine("names", tuple(names))
    return FirstLine("unsure", ("its cells are short, and nothing tells them from data",))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


# The format of a table of known shape.


_FORMATS: dict[str, Callable[[Shape], Format]] = {
    "text": TextLines, "csv": CommaSeparated, "jsonl": JsonLines, "parquet": Parquet,
}  # fmt: skip


def format_of(file: File, reading: Reading | None = None, typed: Sequence[str] = ()) -> Format:
    """Find the shape of a file, and return its reader.

    Args:
        file: the table.
        reading: choices of a person.
        typed: names of columns that a person typed.

    Raises:
        InputError: as `find_shape`.
    """
    return format_with(find_shape(file, reading, typed))


def format_with(shape: Shape) -> Format:
    """Return the reader and writer of tables of this shape."""
    return _FORMATS[shape.format](shape)
