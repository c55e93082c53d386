"""Text files of documents, UTF-8: one document a line, CSV, and JSON lines."""

from __future__ import annotations

import codecs
import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, Any, TextIO

from dpcore.errors import InputError, TextError
from dpcore.limits import MAX_DOCUMENT_BYTES
from dpcore.privatize.files import ORIGINAL, Documents, Span, check_lengths, too_long
from dpcore.rewrite.checks import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dpcore.privatize.files import Columns


class _Text:
    """What the three have in common: a span is a range of bytes that ends with a line."""

    def size(self, path: Path) -> int:
        """Bytes."""
        return path.stat().st_size

    def spans(self, path: Path, length: int) -> Iterator[Span]:
        """Ranges of bytes that end after a line feed."""
        with path.open("rb") as file:
            # A byte order mark, as spreadsheets write it, is no part of the first document.
            mark = file.read(len(codecs.BOM_UTF8))
            start = len(mark) if mark == codecs.BOM_UTF8 else 0
            file.seek(start)
            first = 0
            while data := file.read(length):
                if not data.endswith(b"\n"):  # cut within a line: take the rest of it
                    rest = file.readline(MAX_DOCUMENT_BYTES)
                    if len(rest) == MAX_DOCUMENT_BYTES and not rest.endswith(b"\n"):
                        line = first + data.count(b"\n") + 1
                        raise too_long(path, f"line {line:,}")
                    data += rest
                yield Span(start, start + len(data), first)
                start += len(data)
                first += data.count(b"\n")

    def _lines(self, path: Path, span: Span) -> list[str]:
        """The lines of a span, without their ends."""
        with path.open("rb") as file:
            file.seek(span.start)
            data = file.read(span.stop - span.start)
        lines = _decoded(path, data, span.start).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return [line.removesuffix("\r") for line in lines]

    def join(self, parts: Sequence[Path], out: Path, path: Path, columns: Columns) -> None:
        """One after the other, behind the header."""
        with out.open("wb") as file:
            file.write(self._header(columns).encode())
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, file)

    def _header(self, columns: Columns) -> str:
        return ""


class TextLines(_Text):
    """One document a line; the lines of an experiment have the original behind a tab."""

    name = "text lines"
    suffixes: tuple[str, ...] = (".txt", ".text")

    def check(self, path: Path, columns: Columns) -> None:
        """There are no columns to keep."""
        if columns.keep:
            raise InputError(f"{path.name} is a text file: it has no columns to --keep")

    def read(self, path: Path, span: Span, columns: Columns) -> Documents:
        """See `Format.read`."""
        lines = self._lines(path, span)
        texts: list[str | None] = [*lines]
        check_lengths(texts, span, path)
        return Documents(texts, lines)

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: Path
    ) -> None:
        """See `Format.write`."""
        # A line may hold other characters that end one, such as U+2028.
        written = [(text or "").replace("\n", " ") for text in private]
        if columns.original:
            written = [
                f"{new}\t{old.replace(chr(9), ' ')}"
                for new, old in zip(written, documents.rows, strict=True)
            ]
        with out.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{text}\n" for text in written)


class JsonLines(_Text):
    """One JSON object a line."""

    name = "JSON lines"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")

    def check(self, path: Path, columns: Columns) -> None:
        """The first object must have the columns."""
        with path.open("rb") as file:
            line = file.readline(MAX_DOCUMENT_BYTES)
        rows = self._rows(path, [_decoded(path, line).strip()], 0)
        columns.checked(list(rows[0]), path)

    def _rows(self, path: Path, lines: list[str], first: int) -> list[dict[str, Any]]:
        rows = []
        for number, line in enumerate(lines, start=first + 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise InputError(
                    f"line {number:,} of {path.name} is not a JSON object; JSON lines have one "
                    "object a line"
                )
            rows.append(row)
        return rows

    def read(self, path: Path, span: Span, columns: Columns) -> Documents:
        """See `Format.read`."""
        rows = self._rows(path, self._lines(path, span), span.first)
        texts: list[str | None] = []
        for number, row in enumerate(rows, start=span.first + 1):
            missing = [name for name in (columns.text, *columns.keep) if name not in row]
            text = row.get(columns.text)
            if missing or not isinstance(text, str | None):
                what = f"no {missing[0]!r}" if missing else f"a {columns.text!r} that is no text"
                raise InputError(f"line {number:,} of {path.name} has {what}")
            texts.append(text)
        check_lengths(texts, span, path)
        return Documents(texts, rows)

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: Path
    ) -> None:
        """See `Format.write`."""
        with out.open("w", encoding="utf-8", newline="\n") as file:
            for row, text in zip(documents.rows, private, strict=True):
                released = {columns.text: text} | {name: row[name] for name in columns.keep}
                if columns.original:
                    released[ORIGINAL] = row[columns.text]
                file.write(_json(released) + "\n")


class CommaSeparated(_Text):
    """CSV with a header, or with tabs in place of commas."""

    def __init__(self, delimiter: str = ",") -> None:
        """Take what stands between two fields."""
        self._delimiter = delimiter
        self.name = "CSV" if delimiter == "," else "tab-separated values"
        self.suffixes: tuple[str, ...] = (".csv",) if delimiter == "," else (".tsv",)

    def check(self, path: Path, columns: Columns) -> None:
        """The header must have the columns, each once."""
        columns.checked(self._names(path), path)

    def _reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        csv.field_size_limit(MAX_DOCUMENT_BYTES)  # 131,072 unless told otherwise
        return csv.reader(lines, delimiter=self._delimiter)

    def _names(self, path: Path) -> list[str]:
        for _, _, row in self._rows(path):
            if row:
                return row
        raise InputError(f"{path.name} is empty; CSV begins with the names of the columns")

    def _rows(self, path: Path) -> Iterator[tuple[int, int, list[str]]]:
        """Where each row begins and ends, and its fields."""
        position = 0

        def lines() -> Iterator[str]:
            nonlocal position
            with path.open("rb") as file:
                while line := file.readline(MAX_DOCUMENT_BYTES):
                    if len(line) == MAX_DOCUMENT_BYTES and not line.endswith(b"\n"):
                        raise too_long(path, f"the line at byte {position + 1:,}")
                    text = _decoded(path, line, position)
                    position += len(line)
                    yield text

        begin, number = 0, 0
        rows = self._reader(lines())
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                raise InputError(f"{path.name}, row {number:,}: {error}") from None
            if row is None:
                return
            yield begin, position, row
            begin, number = position, number + 1

    def spans(self, path: Path, length: int) -> Iterator[Span]:
        """Ranges of bytes that end after a row: a field in quotes may hold line feeds."""
        start = first = stop = -1
        documents = -1  # the first row is the header
        for begin, stop, row in self._rows(path):
            documents += bool(row)  # a blank line is no document
            if not row or documents == 0:
                continue
            if start < 0:
                start, first = begin, documents - 1
            if stop - start >= length:
                yield Span(start, stop, first)
                start = -1
        if start >= 0:
            yield Span(start, stop, first)

    def read(self, path: Path, span: Span, columns: Columns) -> Documents:
        """See `Format.read`."""
        names = self._names(path)
        with path.open("rb") as file:
            file.seek(span.start)
            data = file.read(span.stop - span.start)
        text = io.StringIO(_decoded(path, data, span.start), newline="")
        rows = [row for row in self._reader(iter(text)) if row]
        for number, row in enumerate(rows, start=span.first + 1):
            if len(row) != len(names):
                raise InputError(
                    f"row {number:,} of {path.name} has {len(row)} fields and the header "
                    f"{len(names)}; a text with {'tabs' if self._delimiter != ',' else 'commas'} "
                    "must stand in quotes"
                )
        place = names.index(columns.text)
        keep = [names.index(name) for name in columns.keep]
        texts: list[str | None] = [row[place] for row in rows]
        check_lengths(texts, span, path)
        return Documents(texts, [[row[i] for i in keep] for row in rows])

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: Path
    ) -> None:
        """See `Format.write`."""
        with out.open("w", encoding="utf-8", newline="") as file:
            self._write(documents, private, columns, file)

    def whole(self, documents: Documents, private: list[str | None], columns: Columns) -> str:
        """The whole file as a text, with its header."""
        file = io.StringIO(newline="")
        file.write(self._header(columns))
        self._write(documents, private, columns, file)
        return file.getvalue()

    def _write(
        self, documents: Documents, private: list[str | None], columns: Columns, file: TextIO
    ) -> None:
        writer = csv.writer(file, delimiter=self._delimiter, lineterminator="\n")
        rows = zip(private, documents.rows, documents.texts, strict=True)
        for new, kept, old in rows:
            writer.writerow([new, *kept, *([old] if columns.original else [])])

    def _header(self, columns: Columns) -> str:
        line = io.StringIO()
        original = (ORIGINAL,) if columns.original else ()
        writer = csv.writer(line, delimiter=self._delimiter, lineterminator="\n")
        writer.writerow((columns.text, *columns.keep, *original))
        return line.getvalue()


def _json(row: dict[str, Any]) -> str:
    """One line; half a surrogate pair, which UTF-8 does not have, stays an escape."""
    line = json.dumps(row, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        line = json.dumps(row)
    return line


def _decoded(path: Path, data: bytes, first: int = 0) -> str:
    """Bytes of a file as text; the refusal names the file."""
    try:
        return decode(data, first=first)
    except TextError as error:
        raise InputError(f"{path.name}: {error}") from None
