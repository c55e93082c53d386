"""Text formats: a word and its numbers on each line (GloVe, word2vec text, fastText .vec).

A first line of two whole numbers (rows, dimension) is a header where the second line has that
dimension. Only the ASCII space separates: tokens hold no-break spaces (and some GloVe 840B tokens
even ASCII spaces, so the numbers are counted from the right).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import Float32Array
from dpcore.errors import LexiconError
from dpcore.lexicon.readers.rows import RawVectors, RowGatherer
from dpcore.limits import MAX_BLANK_LINES, MAX_DIMENSION, MAX_VOCABULARY

if TYPE_CHECKING:
    from dpcore.lexicon.readers.stream import ByteSource

_HEADER = re.compile(rb"(\d{1,9}) (\d{1,6})")
_BLANK = b" \r\t"


def read_text(source: ByteSource, limit: int | None = None) -> RawVectors:
    """Read a text file of vectors.

    Args:
        source: the open file.
        limit: read at most this many rows.

    Raises:
        LexiconError: a line is short, long, not numeric or not finite (its number is given), too
            many are blank, the file ends before its header says, or it holds no vector at all.
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
    """Rows and dimension, if the line may be a header."""
    match = _HEADER.fullmatch(line.rstrip(_BLANK))
    return (int(match[1]), int(match[2])) if match else None


def is_number(text: bytes) -> bool:
    """Whether a field is a decimal number (or NaN or infinity, which are refused later)."""
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


class _Parser:
    def __init__(self, label: str, lines: list[bytes], limit: int | None) -> None:
        self.label = label
        self.limit = limit
        self.number = 0  # of the last line taken
        self.words: list[str] = []
        self.undecodable = 0
        self.blank = 0
        self.promised: int | None = None
        self.skip = 0
        filled = [line.rstrip(_BLANK) for line in lines[:8]]
        filled = [line for line in filled if line]
        if not filled:
            raise LexiconError(f"{label} is empty: it holds no word vectors")
        head = header(filled[0])
        counted = filled[0].count(b" ")
        if head and (len(filled) == 1 or filled[1].count(b" ") != 1 or head[1] == 1):
            self.promised, self.dimension = head
            self.skip = 1
        else:
            self.dimension = counted
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise LexiconError(
                f"{label}: line 1 has {self.dimension} numbers after its first word; a vector has "
                f"1 to {MAX_DIMENSION} (is this a file of word vectors?)"
            )
        self.rows = RowGatherer(self.dimension)

    @property
    def seen(self) -> int:
        """Rows read."""
        return len(self.words) + self.undecodable

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
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
            if tail.count(b" ") != self.dimension - 1 or not tail:
                word, tail = self._split(stripped)
            words.append(word)
            numbers.append(tail)
            line_of.append(self.number)
        if words:
            self._append(words, self._parse(numbers, line_of))

    def _skip_blank(self) -> None:
        self.blank += 1
        if self.blank > MAX_BLANK_LINES:
            raise LexiconError(
                f"{self.label}: line {self.number:,} is the {self.blank:,}th blank one; at most "
                f"{MAX_BLANK_LINES:,} are skipped: is this a file of word vectors?"
            )

    def _split(self, line: bytes) -> tuple[bytes, bytes]:
        """Split a line that has not exactly one space for each number."""
        first, *rest = line.split(b" ")
        fields = [part for part in rest if part]
        extra = len(fields) - self.dimension
        if extra < 0 or (extra > 0 and all(is_number(part) for part in fields[:extra])):
            raise LexiconError(
                f"{self.label}: line {self.number} has {len(fields)} numbers where "
                f"{self.dimension} are expected (another dimension, or a file that was cut)"
            )
        return b" ".join([first, *fields[:extra]]), b" ".join(fields[extra:])

    def _parse(self, numbers: list[bytes], line_of: list[int]) -> Float32Array:
        try:
            with np.errstate(over="ignore"):
                flat = np.fromstring(b" ".join(numbers), dtype=np.float32, sep=" ")
        except ValueError:
            flat = np.empty(0, dtype=np.float32)
        if flat.size != len(numbers) * self.dimension:
            self._blame(numbers, line_of)
        rows = flat.reshape(-1, self.dimension)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            line = line_of[int(np.argmin(finite))]
            raise LexiconError(
                f"{self.label}: line {line} holds NaN, infinity or a number beyond float32"
            )
        return rows

    def _blame(self, numbers: list[bytes], line_of: list[int]) -> None:
        for tail, line in zip(numbers, line_of, strict=True):
            for part in tail.split(b" "):
                if not is_number(part):
                    shown = part[:20].decode("utf-8", "replace")
                    raise LexiconError(
                        f"{self.label}: line {line} holds {shown!r} where a number is expected"
                    )
        raise LexiconError(f"{self.label}: lines {line_of[0]} to {line_of[-1]} are not numeric")

    def _append(self, words: list[bytes], rows: Float32Array) -> None:
        kept: list[int] = []
        for i, word in enumerate(words):
            try:
                self.words.append(word.decode("utf-8"))
            except UnicodeDecodeError:
                self.undecodable += 1
            else:
                kept.append(i)
        self.rows.add(rows if len(kept) == len(words) else rows[kept])

    def finish(self) -> RawVectors:
        if self.promised is not None and self.seen != self.promised and not self.full:
            raise LexiconError(
                f"{self.label} promises {self.promised:,} rows in its header but holds "
                f"{self.seen:,}: it was cut or edited"
            )
        if not self.seen:
            raise LexiconError(f"{self.label} is empty: it holds no word vectors")
        kind = "text without header (GloVe)" if self.promised is None else "text with header"
        return RawVectors(self.words, self.rows.finish(), kind, self.undecodable)
