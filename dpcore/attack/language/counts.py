"""Counts of words and of neighbouring words, and their file format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.arrays import IntArray
from dpcore.lexicon.cache import replacing

FILE = "bigrams.npz"
LARGEST = 65_535
"""Largest stored count of a pair."""


@dataclass(frozen=True)
class CountPlan:
    """Settings of the counts.

    Attributes:
        everyday: weight of an occurrence outside the encyclopedia.
        least: a pair of words with a smaller count is left out.
        discount: discount of the model for every count of a pair.
    """

    everyday: int = 8
    least: int = 2
    discount: float = 0.75


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts over n words and the boundary of a sentence, which has the number n.

    Attributes:
        words: occurrences of each word, shape (n,).
        contexts: occurrences before a known word or the end, shape (n + 1,).
        continuations: number of different words before each word or the end, shape (n + 1,).
        first: first word of each stored pair, ascending, shape (P,).
        second: second word, ascending within one first word, shape (P,).
        pairs: count of each stored pair, shape (P,).
    """

    words: IntArray
    contexts: IntArray
    continuations: IntArray
    first: IntArray
    second: IntArray
    pairs: IntArray


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts to a small file: rows of words as gaps, all integers."""
    n = counts.words.size
    rows = np.bincount(counts.first, minlength=n + 1)
    # Second words ascend within a row: their gaps are small numbers, which compress well. A row
    # begins with the word itself.
    gaps = np.diff(counts.second, prepend=0)
    starts = np.cumsum(rows) - rows
    begins = starts[rows > 0]
    gaps[begins] = counts.second[begins]
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            words=counts.words.astype(np.uint32),
            contexts=counts.contexts.astype(np.uint32),
            continuations=counts.continuations.astype(np.uint32),
            rows=rows.astype(np.uint16),
            gaps=gaps.astype(np.uint16),
            pairs=counts.pairs.astype(np.uint16),
        )


def read_counts(path: Path) -> Counts:
    """Read a file of `write_counts`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name].astype(np.int64) for name in stored.files}
    rows = arrays["rows"]
    first = np.repeat(np.arange(rows.size), rows)
    total = np.cumsum(arrays["gaps"])
    begins = np.cumsum(rows) - rows
    before = np.concatenate(([0], total))[begins]
    return Counts(
        words=arrays["words"],
        contexts=arrays["contexts"],
        continuations=arrays["continuations"],
        first=first,
        second=total - np.repeat(before, rows),
        pairs=arrays["pairs"],
    )
