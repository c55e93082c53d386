"""Text files of documents: one document a line, and JSON lines."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Any, BinaryIO

from dpcore.errors import InputError
from dpcore.limits import MAX_DOCUMENT_BYTES
from dpcore.tables.files import (
    ORIGINAL,
    SPAN_BYTES,
    Columns,
    Documents,
    Span,
    check_lengths,
    too_long,
)
from dpcore.tables.shape import Shape
from dpcore.tables.streams import MARK, File, decoded, opened, plain, plain_size, read_at

_LINE_END = re.compile("\r\n?|\n")
_KEYED_ROWS = 1_000  # of JSON lines, whose keys are the columns


@dataclass(frozen=True)
class Text:
    """Base of text files: a span is a range of bytes that ends with a line."""

    shape: Shape

    def size(self, file: File) -> int:
        """Return the number of bytes."""
        return plain_size(file, self.shape)

    def kept(self, documents: Documents, columns: Columns) -> list[list[Any]]:
        """Return the kept cells of each row; see `Format.kept`."""
        return list(documents.rows) if columns.keep else []

    def read_bytes(self, file: File, span: Span) -> bytes:
        """Read the bytes of a span."""
        return read_at(file, self.shape, span.start, span.stop - span.start)

    def join(self, parts: Sequence[File], out: BinaryIO, file: File, columns: Columns) -> None:
        """Concatenate the parts, after the header."""
        out.write(self.header(columns))
        for part in parts:
            with opened(part) as source:
                shutil.copyfileobj(source, out)

    def header(self, columns: Columns) -> bytes:
        """Return no bytes."""
        return b""


class _Lines(Text):
    """Base of files with one document a line."""

    def spans(self, file: File, length: int) -> Iterator[Span]:
        """Yield ranges of bytes that end after a line feed."""
        with plain(file, self.shape) as stream:
            # A byte order mark belongs to the file, not to its first text.
            start = len(MARK) if stream.read(len(MARK)) == MARK else 0
            stream.seek(start)
            first = 0
            while data := stream.read(length):
                if not data.endswith(b"\n"):  # cut within a line: take the rest of it
                    rest = stream.readline(MAX_DOCUMENT_BYTES)
                    if len(rest) == MAX_DOCUMENT_BYTES and not rest.endswith(b"\n"):
                        raise too_long(file, f"document {first + self._count(data):,}")
                    data += rest
                yield Span(start, start + len(data), first)
                start += len(data)
                first += self._count(data)

    def _count(self, data: bytes) -> int:
        """Count the documents in some lines."""
        raise NotImplementedError

    def _lines(self, file: File, span: Span) -> list[str]:
        """Read the lines of a span, without their ends."""
        text = decoded(file, self.read_bytes(file, span), span.start)
        lines = _LINE_END.split(text)
        if lines and not lines[-1]:
            lines.pop()
        if "\0" in text:
            number = next(i for i, line in enumerate(lines) if "\0" in line)
            raise InputError(
                f"line {self._line(file, span, number):,} of {file.name} holds a zero byte: it is "
                "no text; of UTF-16 say --encoding utf-16-le or utf-16-be"
            )
        return lines

    def _line(self, file: File, span: Span, number: int) -> int:
        """Return the number of a line in the file, from 1, by its number in a span, from 0."""
        with plain(file, self.shape) as stream:
            before = stream.read(span.start)
        return number + 1 + len(_LINE_END.findall(before.decode("utf-8", "replace")))


class TextLines(_Lines):
    """One document a line; the lines of an experiment have the original after a tab."""

    def cells(self, file: File) -> Iterator[list[str]]:
        """Yield the cells of each row; see `Format.cells`."""
        for span in self.spans(file, SPAN_BYTES):
            yield from ([line] for line in self._lines(file, span))

    def check(self, file: File, columns: Columns) -> None:
        """Refuse columns to keep: there are none."""
        if columns.keep:
            raise InputError(f"{file.name} is a text file: it has no columns to --keep")

    def _count(self, data: bytes) -> int:
        # A carriage return alone ends a line as well, or rows would become one document.
        return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")

    def read(self, file: File, span: Span, columns: Columns) -> Documents:
        """Read a span; see `Format.read`."""
        lines = self._lines(file, span)
        check_lengths(lines, span, file)
        return Documents([*lines], lines)

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: BinaryIO
    ) -> None:
        """Write the rows of a span; see `Format.write`."""
        # A line may contain other characters that end one, such as U+2028.
        written = [(text or "").replace("\n", " ") for text in private]
        if columns.original:
            written = [
                f"{new}\t{old.replace(chr(9), ' ')}"
                for new, old in zip(written, documents.rows, strict=True)
            ]
        out.write("".join(f"{text}\n" for text in written).encode())


class _RowError(ValueError):
    """A refused row of JSON; its argument is the end of the sentence."""


class JsonLines(_Lines):
    """One JSON object a line; blank lines are skipped."""

    def cells(self, file: File) -> Iterator[list[str]]:
        """Yield the cells of each row; see `Format.cells`."""
        for span in self.spans(file, SPAN_BYTES):
            for row in self._rows(file, span, lambda row: [row.get(n) for n in self.shape.names]):
                yield [as_text(value) for value in row]

    def check(self, file: File, columns: Columns) -> None:
        """Check that each column occurs in the first rows."""
        columns.checked(self.shape, file)

    def _count(self, data: bytes) -> int:
        return sum(bool(line.strip()) for line in data.splitlines())

    def read(self, file: File, span: Span, columns: Columns) -> Documents:
        """Read a span; see `Format.read`."""
        text, *keep = self._keys(columns)

        def taken(row: dict[str, Any]) -> list[Any]:
            kept = (_finite(row.get(name)) for name in keep)
            return [_text_of(row.get(text), columns.text), *kept]

        rows = list(self._rows(file, span, taken))
        texts = [row[0] for row in rows]
        check_lengths(texts, span, file)
        return Documents(texts, [row[1:] for row in rows])

    def _rows(
        self, file: File, span: Span, take: Callable[[dict[str, Any]], list[Any]]
    ) -> Iterator[list[Any]]:
        """Yield a part of each object of a span."""
        for number, line in enumerate(self._lines(file, span)):
            if not line.strip():
                continue
            try:
                yield take(json_row(line))
            except _RowError as refused:
                line_number = self._line(file, span, number)
                raise InputError(f"line {line_number:,} of {file.name} {refused}") from None

    def _keys(self, columns: Columns) -> list[str]:
        """Return the keys in the file of the text and of the kept columns."""
        places = (self.shape.place(name) for name in (columns.text, *columns.keep))
        return [self.shape.names[place] for place in places if place is not None]

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: BinaryIO
    ) -> None:
        """Write the rows of a span; see `Format.write`."""
        for row, text, old in zip(documents.rows, private, documents.texts, strict=True):
            released = {columns.text: text} | dict(zip(columns.keep, row, strict=True))
            if columns.original:
                released[ORIGINAL] = old
            out.write(_json(released).encode() + b"\n")


def json_keys(file: File, shape: Shape) -> tuple[str, ...]:
    """Return the keys of the first rows of JSON lines, in the order in which they appear.

    Raises:
        InputError: a row is no JSON object.
    """
    keys: dict[str, None] = {}
    with plain(file, shape) as stream, io.TextIOWrapper(stream, "utf-8-sig", "replace") as text:
        lines = iter(lambda: text.readline(MAX_DOCUMENT_BYTES), "")
        filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        # Later rows may have other keys: a column must occur early, or it is refused.
        for number, line in islice(filled, _KEYED_ROWS):
            try:
                keys |= dict.fromkeys(json_row(line))
            except _RowError as refused:
                raise InputError(f"line {number:,} of {file.name} {refused}") from None
    if not keys:
        raise InputError(f"{file.name} holds no JSON object; JSON lines have one a line")
    return tuple(keys)


def json_row(line: str) -> dict[str, Any]:
    """Parse one row of JSON lines.

    Raises:
        _RowError: it is no object, or has a key twice.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) != len(pairs):
            raise _RowError("has a key twice in one object: which value is meant is not known")
        return row

    try:
        row = json.loads(line, object_pairs_hook=once)
    except _RowError:
        raise
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise _RowError("is not a JSON object; JSON lines have one object a line")
    return row


def as_text(value: object) -> str:
    """Return a value as a cell of text."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def _text_of(value: object, name: str) -> str | None:
    """Return a text, or None where there is none."""
    if value is None or isinstance(value, str):
        return value
    kinds = {list: "a list", dict: "an object", bool: "true or false"}
    kind = kinds.get(type(value), "a number")
    raise _RowError(f"has a {name[:60]!r} that is no text but {kind}: give one string a row")


def _finite(value: Any) -> Any:
    """Return a kept value, or refuse it if JSON cannot represent it."""
    if isinstance(value, float) and not isfinite(value):
        raise _RowError("has a number in a kept column that JSON cannot hold, NaN or infinite")
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            _finite(each)
    return value


def _json(row: dict[str, Any]) -> str:
    """Write one line; half a surrogate pair, which UTF-8 does not have, stays an escape."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        line = json.dumps(row, allow_nan=False)
    return line
