"""Utterances as rows of word numbers, for an auto-encoder with a vocabulary of its own."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import CorpusError, ParameterError, TextError
from dpcore.rewrite.tokens import Kind, bare, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.arrays import IntArray


PAD, END, UNKNOWN = 0, 1, 2
"""Numbers that are no words: an empty place, the end, a word outside the vocabulary."""
_SPECIAL = 3
_UNKNOWN_TEXT = "…"


def words_of(text: str) -> list[str]:
    """The words of an utterance in lower case, without marks and symbols that touch a word."""
    words: list[str] = []
    for token in tokenize(text):
        if token.kind in {Kind.WORD, Kind.NUMBER}:
            words += bare(token.text.lower())
        elif token.kind is not Kind.PUNCTUATION:
            words.append(token.text.lower())
    return words


@dataclass(frozen=True)
class WordList:
    """The words that an auto-encoder knows, and the longest utterance that it reads.

    Attributes:
        words: distinct, the most frequent first; word i has the number i + 3.
        longest: words of an utterance that are read, its first ones.
    """

    words: tuple[str, ...]
    longest: int

    def __post_init__(self) -> None:
        """Check both."""
        if not (self.words and len(set(self.words)) == len(self.words)):
            raise ParameterError(
                f"a vocabulary is one word or more, none of them twice, got {len(self.words):,}"
            )
        if not 1 <= self.longest <= 1_000:
            raise ParameterError(f"an utterance has 1 to 1,000 words, got {self.longest}")

    @property
    def size(self) -> int:
        """How many numbers there are: words and those that are none."""
        return len(self.words) + _SPECIAL

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words in their order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: place + _SPECIAL for place, word in enumerate(self.words)}

    def rows(self, texts: Sequence[str]) -> IntArray:
        """Each utterance as its word numbers, then END, then PAD: shape (k, longest + 1).

        Raises:
            TextError: an utterance holds no word.
        """
        rows = np.full((len(texts), self.longest + 1), PAD, dtype=np.int64)
        for row, text in zip(rows, texts, strict=True):
            words = words_of(text)[: self.longest]
            if not words:
                raise TextError("an utterance needs at least one word to be rewritten; type one")
            row[: len(words)] = [self._numbers.get(word, UNKNOWN) for word in words]
            row[len(words)] = END  # there is always room: a row is one longer than an utterance
        return rows

    def written(self, rows: IntArray) -> list[str]:
        """The words of each row up to its END, with single spaces between."""
        texts = []
        for row in rows.tolist():
            end = row.index(END) if END in row else len(row)
            known = (
                self.words[i - _SPECIAL] if i >= _SPECIAL else _UNKNOWN_TEXT for i in row[:end]
            )
            texts.append(" ".join(known))
        return texts


def word_list(texts: Sequence[str], most: int, longest: int) -> WordList:
    """The most frequent words of public utterances; equally frequent ones in alphabetical order.

    Args:
        texts: public; the vocabulary is released with every rewritten text.
        most: words that are kept at most.
        longest: words of an utterance that are read.

    Raises:
        CorpusError: the texts hold no word.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    if not counts:
        raise CorpusError("the texts hold no word to learn from")
    # Alphabetical where counts are equal: the list must not depend on the order of the texts.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return WordList(tuple(ranked[:most]), longest)
