"""Rows of a vector table: freezing, repeated rows, and the choice of rows that a lexicon keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import Float32Array, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_BLOCK_ROWS = 4096
# What models write for the unknown word, the edge of a sentence, padding, a link, a person.
_SPECIAL = re.compile(
    r"</?[A-Za-z_|][\w|/-]*>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|unused\d+)\]|\*?UNK\*?"
)


@dataclass(frozen=True)
class DroppedRows:
    """How many rows were left out of a lexicon, for each reason."""

    duplicate_words: int = 0
    duplicate_rows: int = 0
    empty_words: int = 0
    undecodable: int = 0
    malformed: int = 0
    special: int = 0

    @property
    def total(self) -> int:
        """All rows left out."""
        return sum(vars(self).values())

    def __str__(self) -> str:
        """Return one phrase that names the reasons that occurred."""
        reasons = {
            "a repeated word": self.duplicate_words,
            "a repeated vector": self.duplicate_rows,
            "an empty word": self.empty_words,
            "a word that is not UTF-8": self.undecodable,
            "numbers that are missing or wrong": self.malformed,
            "a mark such as <unk> or [PAD], which is no word": self.special,
        }
        named = [f"{count:,} with {reason}" for reason, count in reasons.items() if count]
        return "rows dropped: " + ", ".join(named) if named else "no row dropped"


def freeze(array: ArrayLike) -> Float32Array:
    """Return the array as C-contiguous float32, read-only; copied only if it has to be."""
    values = np.asarray(array)
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which the lexicon refuses
        frozen = np.ascontiguousarray(values, dtype=np.float32)
    if np.shares_memory(frozen, values) and values.flags.writeable:
        frozen = frozen.copy()
    frozen.setflags(write=False)
    return frozen


def first_not_finite(vectors: Float32Array) -> int | None:
    """The lowest row that holds NaN or infinity, or None."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        finite = np.isfinite(vectors[start : start + _BLOCK_ROWS]).all(axis=1)
        if not finite.all():
            return start + int(np.argmin(finite))
    return None


def row_hashes(vectors: Float32Array) -> NDArray[np.uint64]:
    """A 64-bit hash of each row; equal rows (0.0 and -0.0 are equal) have equal hashes."""
    n, d = vectors.shape
    # An odd factor has an inverse modulo 2^64: rows that differ in one coordinate never collide.
    # The factors are fixed by d, so that a row always has the same hash.
    rng = np.random.default_rng(d)
    odd = rng.integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _BLOCK_ROWS):
        block = np.asarray(vectors[start : start + _BLOCK_ROWS], dtype=np.float32)
        # −0.0 + 0.0 is 0.0: rows that are equal as numbers have equal bits.
        bits = (block + np.float32(0)).view(np.uint32).astype(np.uint64)
        hashes[start : start + _BLOCK_ROWS] = bits @ odd
    return hashes


def _repeats(vectors: Float32Array, rows: IntArray) -> list[int]:
    """The rows (ascending indices into vectors) that are equal to an earlier one among them."""
    hashes = row_hashes(vectors)[rows] if len(rows) < len(vectors) else row_hashes(vectors)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    if not same.any():
        return []
    repeated: list[int] = []
    # Groups of one hash; inside a group every row is compared with the kept ones before it.
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    ends = np.append(starts[1:], len(order))
    for start, end in zip(starts, ends, strict=True):
        if end - start < 2:
            continue
        kept: dict[bytes, int] = {}
        for position in order[start:end]:
            row = int(rows[position])
            key = (np.asarray(vectors[row], dtype=np.float32) + np.float32(0)).tobytes()
            if key in kept:
                repeated.append(row)
            else:
                kept[key] = row
    return repeated


def has_repeated_rows(vectors: Float32Array) -> bool:
    """Tell whether two rows are equal, coordinate by coordinate."""
    return bool(_repeats(vectors, np.arange(len(vectors))))


def keep_rows(vectors: Float32Array, kept: IntArray) -> Float32Array:
    """Move the kept rows (ascending) to the front of an array of our own, without a copy of it.

    Returns:
        A read-only view of its first len(kept) rows.
    """
    vectors.setflags(write=True)
    for start in range(0, len(kept), _BLOCK_ROWS):
        # A kept row never lies before its new place, so nothing is overwritten too early.
        rows = kept[start : start + _BLOCK_ROWS]
        vectors[start : start + len(rows)] = vectors[rows]
    vectors.setflags(write=False)
    return vectors[: len(kept)]


def choose_rows(words: Sequence[str], vectors: Float32Array) -> tuple[IntArray, DroppedRows]:
    """Choose the rows that a lexicon keeps, in their order.

    Returns:
        Their indices, and the count of the others for each reason.
    """
    seen: set[str] = set()
    first: list[int] = []
    empty = special = 0
    for i, word in enumerate(words):
        if not word:
            empty += 1
        elif _SPECIAL.fullmatch(word):
            special += 1
        elif word not in seen:
            seen.add(word)
            first.append(i)
    rows = np.array(first, dtype=np.int64)
    repeated = _repeats(vectors, rows)
    kept = np.setdiff1d(rows, np.array(repeated, dtype=np.int64), assume_unique=True)
    dropped = DroppedRows(
        duplicate_words=len(words) - len(first) - empty - special,
        duplicate_rows=len(repeated),
        empty_words=empty,
        special=special,
    )
    return kept, dropped
