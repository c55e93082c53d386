"""Gathering rows of an unknown number without holding them twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import Float32Array
from dpcore.errors import LexiconError
from dpcore.limits import MAX_LEXICON_NUMBERS

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
    """The sentence for a file of too many numbers."""
    return (
        f"the file holds {what} numbers or more; at most {MAX_LEXICON_NUMBERS:,} are held: use a "
        "limit"
    )


class RowGatherer:
    """Appends rows; `finish` joins them, freeing each part as it is copied."""

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
            LexiconError: there are more numbers than are held; a packed file may hold any number.
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
        """Return all rows as one read-only array, and forget them."""
        result = np.empty((self._count, self._dimension), dtype=np.float32)
        start = 0
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            stop = min(start + len(block), self._count)
            result[start:stop] = block[: stop - start]
            start = stop
        self._used, self._count = self._rows_per_block, 0
        result.setflags(write=False)
        return result
