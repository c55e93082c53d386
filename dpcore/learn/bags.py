"""Documents as bags of lexicon words: what a classifier of private text sees of a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.lexicon.lexicon import Lexicon


@dataclass(frozen=True, eq=False)
class Bags:
    """The protected places of k documents, one after the other.

    Attributes:
        words: lexicon index of each place, −1 for a word outside the vocabulary, shape (t,).
        offsets: document i holds words[offsets[i]:offsets[i + 1]], shape (k + 1,).
        vocabulary: number of words n of the lexicon.
    """

    words: NDArray[np.int64]
    offsets: NDArray[np.int64]
    vocabulary: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.words.setflags(write=False)
        self.offsets.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.offsets.size - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Protected places of each document, shape (k,)."""
        return np.diff(self.offsets)

    def with_words(self, words: ArrayLike) -> Bags:
        """The same documents with other words in their places."""
        return Bags(np.array(words, dtype=np.int64), self.offsets, self.vocabulary)

    def part(self, rows: ArrayLike) -> Bags:
        """Some of the documents, in the order of `rows`."""
        places = np.asarray(rows, dtype=np.int64)
        pieces = [self.words[self.offsets[i] : self.offsets[i + 1]] for i in places.tolist()]
        offsets = np.concatenate(([0], np.cumsum([piece.size for piece in pieces], dtype=np.int64)))
        words = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        return Bags(words, offsets, self.vocabulary)

    def inputs(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """What a mechanism rewrites: an unknown word has a uniformly random stand-in, shape (t,).

        As `dpcore.rewrite.vocabulary.Encoding.draw` under the policy REPLACE.
        """
        words = self.words.copy()
        absent = words < 0
        words[absent] = rng.integers(self.vocabulary, size=int(absent.sum()))
        return words

    def counts(self) -> Any:
        """Occurrences of each word in each document: sparse, shape (k, n); unknown words left out.

        Returns:
            A `scipy.sparse.csr_array` of float64, counted once and kept: not to be changed.
        """
        return self._counts

    @cached_property
    def _counts(self) -> Any:
        from scipy.sparse import csr_array

        # Duplicates of a row and column are added up: so occurrences are counted.
        row = np.repeat(np.arange(len(self)), self.lengths)
        known = self.words >= 0
        ones = np.ones(int(known.sum()))
        shape = (len(self), self.vocabulary)
        return csr_array((ones, (row[known], self.words[known])), shape=shape)


def bags_of(texts: Iterable[str], lexicon: Lexicon, most: int | None = None) -> Bags:
    """Read texts as a mechanism would (`dpcore.rewrite.documents.encode_all`).

    Args:
        texts: any; line breaks of HTML are white space.
        lexicon: the vocabulary.
        most: protected places of a document that are kept, its first ones; None keeps all.
    """
    from dpcore.rewrite.documents import encode_all

    plain = (text.replace("<br />", " ") for text in texts)
    read = encode_all(plain, lexicon, for_text=False)
    words, offsets = read.words, read.offsets
    if most is not None:
        # The number of each place within its document.
        place = np.arange(words.size) - np.repeat(offsets[:-1], np.diff(offsets))
        words = words[place < most]
        offsets = np.concatenate(([0], np.cumsum(np.minimum(np.diff(offsets), most))))
    return Bags(words, offsets, len(lexicon))
