"""Reader of text formats: a word and its numbers on each line (GloVe, word2vec, fastText .vec).

A first line of two whole numbers (rows, dimension) is a header where the second line has that
dimension. A first line of names of columns is left out. Only ASCII spaces and tabs separate: tokens
may hold no-break spaces (and some GloVe 840B tokens even ASCII spaces, so the numbers are counted
from the right; everything before a tab is the token).
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

import numpy as np

from dpcore.arrays import Float32Array
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import PACKED, brief
from dpcore.lexicon.progress import Progress
from dpcore.limits import (
    MAX_BLANK_LINES,
    MAX_DIMENSION,
    MAX_LEXICON_NUMBERS,
    MAX_VOCABULARY,
    MIN_SOUND_ROWS,
)

# Gathering an unknown number of rows without holding them twice.


# Above glibc's largest threshold for mapped blocks (32 MiB), so that freeing one gives its memory
# back at once.
_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class RawVectors:
    """The rows of a file.

    Attributes:
        words: as they were found, with repetitions.
        vectors: shape (len(words), d), float32, finite, read-only.
        format: the format, in words.
        undecodable: rows left out because their word is not UTF-8.
        malformed: rows left out because their numbers are missing or wrong.
    """

    words: list[str]
    vectors: Float32Array
    format: str
    undecodable: int = 0
    malformed: int = 0


def too_many(what: str) -> str:
    """Return the message for a file with too many numbers."""
    return (
        f"the file holds {what} numbers or more; at most {MAX_LEXICON_NUMBERS:,} are held: use a "
        "limit"
    )


class RowGatherer:
    """Collector of rows; `finish` joins them, freeing each part as it is copied."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._rows_per_block = max(1, _BLOCK_BYTES // (4 * dimension))
        self._blocks: list[Float32Array] = []
        self._used = self._rows_per_block
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Float32Array) -> None:
        """Append rows of shape (m, d).

        Raises:
            LexiconError: there are more numbers than the limit; a packed file may hold any number.
        """
        self._count += len(rows)
        if self._count * self._dimension > MAX_LEXICON_NUMBERS:
            raise LexiconError(too_many(f"{self._count:,} rows of {self._dimension}"))
        while len(rows):
            if self._used == self._rows_per_block:
                self._blocks.append(
                    np.empty((self._rows_per_block, self._dimension), dtype=np.float32)
                )
                self._used = 0
            room = min(len(rows), self._rows_per_block - self._used)
            self._blocks[-1][self._used : self._used + room] = rows[:room]
            self._used += room
            rows = rows[room:]

    def finish(self) -> Float32Array:
        """Return all rows as one read-only array, and clear the collector."""
        result = np.empty((self._count, self._dimension), dtype=np.float32)
        start = 0
        # Popped from the end, first block first, so that each is freed as soon as it is copied.
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            stop = min(start + len(block), self._count)
            result[start:stop] = block[: stop - start]
            start = stop
        self._used, self._count = self._rows_per_block, 0
        result.setflags(write=False)
        return result


_HEADER = re.compile(rb"(\d{1,9}) (\d{1,6})")
_BLANK = b" \r\t"
_LOOKED_AT = 32  # lines that determine the dimension
_SPARSE = re.compile(rb"\d+:[-+.\deE]+")
_COMMA = re.compile(rb"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


def read_text(source: ByteSource, limit: int | None = None) -> RawVectors:
    """Read a text file of vectors.

    Args:
        source: the open file.
        limit: read at most this many rows.

    Raises:
        LexiconError: too many lines are short, long, not numeric or not finite (the number of the
            first is given) or blank, the file ends before its header says, or it holds no vector.
    """
    parser: _Parser | None = None
    for lines in source.lines():
        if parser is None:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            parser = _Parser(source.label, lines, limit)
        parser.take(lines)
        if parser.full:
            break
    if parser is None:
        raise LexiconError(f"{source.label} is empty: it holds no word vectors")
    return parser.finish()


def header(line: bytes) -> tuple[int, int] | None:
    """Return rows and dimension if the line may be a header."""
    match = _HEADER.fullmatch(line.rstrip(_BLANK))
    return (int(match[1]), int(match[2])) if match else None


def is_number(text: bytes) -> bool:
    """Return True for a decimal number (or NaN or infinity, which are refused later)."""
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


def _numbers(line: bytes) -> list[bytes]:
    """Return the fields after the first one, which may be empty."""
    return [part for part in line.split(b" ")[1:] if part]


def _looks_numeric(field: bytes) -> bool:
    return is_number(field) or bool(_COMMA.fullmatch(field))


def _names_columns(first: bytes, second: bytes) -> bool:
    """Return True if the first line names the columns of the second."""
    names, numbers = _numbers(first), _numbers(second)
    return (
        len(names) == len(numbers) > 0
        and not any(map(_looks_numeric, names))
        and all(map(_looks_numeric, numbers))
    )


def _dimension(lines: list[bytes]) -> int:
    """Return the number of numbers at the end of most lines, or in doubt of the first one.

    A word may be several, the first one too: "new york 0.1 0.2".
    """
    first = _numbers(lines[0]) if lines else []
    ends: Counter[int] = Counter()
    for line in lines:
        fields = _numbers(line)
        wrong = [place for place, field in enumerate(fields, 1) if not _looks_numeric(field)]
        ends[len(fields) - max(wrong, default=0)] += 1
    [(usual, count)] = ends.most_common(1) or [(0, 0)]
    return usual if 0 < usual < len(first) and count > 1 else len(first)


class _Parser:
    def __init__(self, label: str, lines: list[bytes], limit: int | None) -> None:
        self.label = label
        self.limit = limit
        self.number = 0  # of the last line taken
        self.words: list[str] = []
        self.undecodable = 0
        self.malformed = 0
        self.reason = ""  # of the first malformed row
        self.blank = 0
        self.promised: int | None = None
        self.skip = 0
        filled = [line.rstrip(_BLANK).replace(b"\t", b" ") for line in lines[:_LOOKED_AT]]
        filled = [line for line in filled if line]
        if not filled:
            raise LexiconError(f"{label} is empty: it holds no word vectors")
        head = header(filled[0])
        self.columns = False
        # A first line of two whole numbers is a header, unless rows of one number follow: then it
        # is a word and its number.
        if head and (len(filled) == 1 or len(_numbers(filled[1])) != 1 or head[1] == 1):
            self.promised, self.dimension = head
            self.skip = 1
        else:
            self.columns = len(filled) > 1 and _names_columns(*filled[:2])
            self.skip = int(self.columns)
            self.dimension = _dimension(filled[self.skip :])
        self._check_kind(filled[-1])
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise LexiconError(
                f"{label}: line 1 has {self.dimension} numbers after its first word; a vector has "
                f"1 to {MAX_DIMENSION} (is this a file of word vectors?)"
            )
        self.rows = RowGatherer(self.dimension)

    def _check_kind(self, line: bytes) -> None:
        fields = _numbers(line)
        if fields and all(_SPARSE.fullmatch(field) for field in fields):
            raise LexiconError(
                f"{self.label} holds sparse rows (index:number); each line needs all its numbers"
            )
        if not fields and line.count(b",") > 1:
            raise LexiconError(
                f"{self.label} is separated by commas; a word and its numbers are separated by "
                "spaces or tabs"
            )

    @property
    def seen(self) -> int:
        """Number of rows read."""
        return len(self.words) + self.undecodable + self.malformed

    @property
    def full(self) -> bool:
        """True if the limit is reached."""
        return self.limit is not None and self.seen >= self.limit

    def take(self, lines: list[bytes]) -> None:
        words: list[bytes] = []
        numbers: list[bytes] = []
        line_of: list[int] = []
        room = MAX_VOCABULARY if self.limit is None else self.limit
        for line in lines:
            self.number += 1
            stripped = line.rstrip(_BLANK)
            if not stripped:
                self._skip_blank()
                continue
            if self.skip:
                self.skip = 0
                continue
            if self.seen + len(words) == room:
                if self.limit is None:
                    raise LexiconError(
                        f"{self.label} holds more than {MAX_VOCABULARY:,} words: use a limit"
                    )
                break
            word, _, tail = stripped.partition(b" ")
            # The usual row is recognised by counting its blanks; only others are split.
            if tail.count(b" ") != self.dimension - 1 or not tail or b"\t" in stripped:
                split = self._split(stripped)
                if split is None:
                    continue
                word, tail = split
            words.append(word)
            numbers.append(tail)
            line_of.append(self.number)
        if words:
            self._append(words, numbers, line_of)

    def _skip_blank(self) -> None:
        self.blank += 1
        if self.blank > MAX_BLANK_LINES:
            raise LexiconError(
                f"{self.label}: line {self.number:,} is the {self.blank:,}th blank one; at most "
                f"{MAX_BLANK_LINES:,} are skipped: is this a file of word vectors?"
            )

    def _leave_out(self, reason: str) -> None:
        """Count a malformed row; a large file may have a few.

        Raises:
            LexiconError: There are too many to be slips; the message describes the first.
        """
        self.malformed += 1
        self.reason = self.reason or reason
        if self.malformed > 1 + (self.seen + MIN_SOUND_ROWS) // 100:
            raise LexiconError(self.reason)

    def _split(self, line: bytes) -> tuple[bytes, bytes] | None:
        """Split a line without exactly one space for each number; None if it is malformed."""
        word, tab, tail = line.partition(b"\t")
        if tab and len(numbers := tail.split()) == self.dimension:
            return word.rstrip(b" "), b" ".join(numbers)
        first, *rest = line.replace(b"\t", b" ").split(b" ")
        fields = [part for part in rest if part]
        extra = len(fields) - self.dimension
        if extra < 0 or (extra > 0 and all(is_number(part) for part in fields[:extra])):
            self._leave_out(
                f"{self.label}: line {self.number} has {len(fields)} numbers where "
                f"{self.dimension} are expected (another dimension, or a file that was cut)"
            )
            return None
        return b" ".join([first, *fields[:extra]]), b" ".join(fields[extra:])

    def _parsed(self, numbers: list[bytes]) -> Float32Array | None:
        """Return the rows, or None if some are not numeric."""
        try:
            with np.errstate(over="ignore"):
                flat = np.fromstring(b" ".join(numbers), dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
        # Before numpy 2.3 it only warned, and read "2,5" at the very end as 2.
        whole = flat.size == len(numbers) * self.dimension and is_number(numbers[-1].split()[-1])
        return flat.reshape(-1, self.dimension) if whole else None

    def _blame(self, tail: bytes, line: int) -> bool:
        """Leave out a row with a field that is no number; return False for any other."""
        for part in tail.split(b" "):
            if not is_number(part):
                shown = part[:20].decode("utf-8", "replace")
                comma = ", with a decimal comma: write a point" if _COMMA.fullmatch(part) else ""
                self._leave_out(
                    f"{self.label}: line {line} holds {shown!r} where a number is expected{comma}"
                )
                return True
        return False

    def _append(self, words: list[bytes], numbers: list[bytes], line_of: list[int]) -> None:
        rows = self._parsed(numbers)
        if rows is None:
            sound = [
                i
                for i, (tail, line) in enumerate(zip(numbers, line_of, strict=True))
                if not self._blame(tail, line)
            ]
            # No field is to blame, and still the block is not numeric.
            if len(sound) == len(words):
                raise LexiconError(
                    f"{self.label}: lines {line_of[0]} to {line_of[-1]} are not numeric"
                )
            if sound:
                self._append(
                    [words[i] for i in sound],
                    [numbers[i] for i in sound],
                    [line_of[i] for i in sound],
                )
            return
        kept: list[int] = []
        wrong = set(np.nonzero(~np.isfinite(rows))[0].tolist())
        for i, word in enumerate(words):
            if i in wrong:
                self._leave_out(
                    f"{self.label}: line {line_of[i]} holds NaN, infinity or a number beyond "
                    "float32"
                )
                continue
            try:
                self.words.append(word.decode("utf-8"))
            except UnicodeDecodeError:
                self.undecodable += 1
            else:
                kept.append(i)
        self.rows.add(rows if len(kept) == len(words) else rows[kept])

    def finish(self) -> RawVectors:
        if self.promised is not None and self.seen != self.promised and not self.full:
            why = "the file was cut, or the" if self.seen < self.promised else "the"
            raise LexiconError(
                f"{self.label} promises {self.promised:,} rows in its header but holds "
                f"{self.seen:,}: {why} header is wrong; if these are all its rows, remove the "
                "first line"
            )
        if self.malformed and self.seen < MIN_SOUND_ROWS * self.malformed:
            raise LexiconError(self.reason)
        if not self.seen:
            raise LexiconError(f"{self.label} is empty: it holds no word vectors")
        kind = "text without header (GloVe)" if self.promised is None else "text with header"
        if self.columns:
            kind = "text with names of columns"
        return RawVectors(self.words, self.rows.finish(), kind, self.undecodable, self.malformed)


# Bytes of a plain or packed file, with progress and one kind of error.


BLOCK_BYTES = 4 * 2**20
# The longest possible line: 4,096 numbers of some 30 characters.
_LINE_LIMIT = 2**20
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and empty


class ByteSource:
    """A plain, gzip or zip file as a stream of bytes.

    Args:
        path: the file.
        member: the member of a zip archive; may be empty if there is one only.
        progress: called with ("reading", bytes of the file read, its size).
        data: content to read in place of the file, of which only the name is used then.

    Raises:
        LexiconError: the archive is damaged or the member is not in it.
        OSError: the file cannot be opened.
    """

    def __init__(
        self, path: Path, member: str, progress: Progress, data: bytes | None = None
    ) -> None:
        self.label = f"{path.name}::{member}" if member else path.name
        self._progress = progress
        self._file: IO[bytes] = path.open("rb") if data is None else io.BytesIO(data)
        self._total = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        self._ahead = b""
        self._stream: IO[bytes] = self._file
        try:
            self._unpack(member)
        except BaseException:
            self._file.close()
            raise

    def _unpack(self, member: str) -> None:
        magic = self._file.read(4)
        self._file.seek(0)
        if magic in _ZIP_STARTS:
            try:
                archive = zipfile.ZipFile(self._file)
                self._stream = archive.open(self._choose(archive, member))
            except PACKED as error:
                raise self._damaged(error) from None
        elif member:
            raise LexiconError(f"{self.label}: only a zip archive has members")
        elif magic[:2] == b"\x1f\x8b":
            self._stream = cast("IO[bytes]", gzip.GzipFile(fileobj=self._file))

    def _choose(self, archive: zipfile.ZipFile, member: str) -> str:
        names = [
            name
            for name in archive.namelist()  # a damaged directory may name one with nothing
            if name and not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if member in names:
            return member
        if not member and len(names) == 1:
            return names[0]
        listed = ", ".join(ascii(name)[1:-1][:40] for name in names[:8]) or "nothing"
        wanted = f"has no member {member[:40]!r}" if member else f"holds {len(names)} files"
        raise LexiconError(
            f"{self.label} {wanted}: name one as ARCHIVE.zip::MEMBER; it holds {listed}"
        )

    @property
    def packed(self) -> bool:
        """True if the file is unpacked while it is read, and so may be far larger than it looks."""
        return self._stream is not self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._file.close()

    def _damaged(self, error: Exception) -> LexiconError:
        return LexiconError(f"{self.label} is cut or damaged ({brief(error)})")

    def read(self) -> bytes:
        """Read the next few megabytes; empty at the end.

        Raises:
            LexiconError: the packed data is cut or damaged.
        """
        if self._ahead:
            block, self._ahead = self._ahead, b""
            return block
        try:
            block = self._stream.read(BLOCK_BYTES)
        except PACKED as error:
            raise self._damaged(error) from None
        self._progress("reading", min(self._file.tell(), self._total), self._total)
        return block

    def peek(self) -> bytes:
        """Return the bytes that the next `read` will give."""
        self._ahead = self.read()
        return self._ahead

    def lines(self) -> Iterator[list[bytes]]:
        """Yield lists of lines without their line feeds; split at the line feed and nothing else.

        Raises:
            LexiconError: the data is damaged or a line is too long to be one.
        """
        rest = b""
        while block := self.read():
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > _LINE_LIMIT:
                raise LexiconError(
                    f"{self.label} is not a text file of vectors: a line is longer than "
                    f"{_LINE_LIMIT:,} bytes"
                )
            if lines:
                yield lines
        if rest:
            yield [rest]
