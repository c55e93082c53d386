"""The binary format of word2vec: a header line, then each word, a space and float32 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import LexiconError
from dpcore.lexicon.readers.rows import RawVectors, RowGatherer
from dpcore.lexicon.readers.text import header
from dpcore.limits import MAX_DIMENSION, MAX_VOCABULARY

if TYPE_CHECKING:
    from dpcore.lexicon.readers.stream import ByteSource

_WORD_LIMIT = 65_536
_CONTROL = bytes(set(range(32)) - {9, 10, 13})
_BATCH_ROWS = 4096


def looks_binary(start: bytes) -> bool:
    """Whether a file that begins like this is word2vec binary: a header line, then no text."""
    line, line_feed, rest = start[:100].partition(b"\n")
    head = header(line) if line_feed else None
    if head is None:
        return False
    sample = start[len(line) + 1 :][: 4 * head[1] + 1000]
    return bool(rest) and any(byte in _CONTROL for byte in sample)


def read_binary(source: ByteSource, limit: int | None = None) -> RawVectors:
    """Read a word2vec binary file; numbers are little-endian.

    Args:
        source: the open file.
        limit: read at most this many rows.

    Raises:
        LexiconError: the file ends early, or a row is malformed (its number is given).
    """
    label = source.label
    buffer = source.read()
    line, _, _ = buffer.partition(b"\n")
    head = header(line)
    if head is None:
        raise LexiconError(f"{label} has no word2vec header (rows and dimension)")
    promised, dimension = head
    if not (1 <= dimension <= MAX_DIMENSION and promised <= MAX_VOCABULARY):
        raise LexiconError(
            f"{label} promises {promised:,} rows of {dimension} numbers; allowed are "
            f"{MAX_VOCABULARY:,} and {MAX_DIMENSION}"
        )
    position, size = len(line) + 1, 4 * dimension
    wanted = promised if limit is None else min(promised, limit)
    words: list[str] = []
    undecodable = 0
    rows = RowGatherer(dimension)
    batch: list[bytes] = []
    for row in range(wanted):
        while True:
            space = buffer.find(b" ", position, position + _WORD_LIMIT)
            if space >= 0 and len(buffer) >= space + 1 + size:
                break
            if space < 0 and len(buffer) - position >= _WORD_LIMIT:
                raise LexiconError(f"{label}: row {row + 1} has no word; the file is damaged")
            more = source.read()
            if not more:
                raise LexiconError(
                    f"{label} ends in row {row + 1} of the {promised:,} that its header "
                    "promises: it was cut"
                )
            buffer, position, space = buffer[position:] + more, 0, -1
        word = buffer[position:space].lstrip(b"\n")
        position = space + 1 + size
        try:
            words.append(word.decode("utf-8"))
        except UnicodeDecodeError:
            undecodable += 1
        else:
            batch.append(buffer[space + 1 : position])
        if len(batch) == _BATCH_ROWS or row == wanted - 1:
            _flush(batch, rows, words, label)
    return RawVectors(words, rows.finish(), "word2vec binary", undecodable)


def _flush(batch: list[bytes], rows: RowGatherer, words: list[str], label: str) -> None:
    block = np.frombuffer(b"".join(batch), dtype="<f4").astype(np.float32, copy=False)
    if not len(block):
        return
    block = block.reshape(len(batch), -1)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        word = words[len(rows) + int(np.argmin(finite))]
        raise LexiconError(f"{label}: the vector of {word[:40]!r} holds NaN or infinity")
    rows.add(block)
    batch.clear()
