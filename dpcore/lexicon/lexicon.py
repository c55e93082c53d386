"""The lexicon: a public vocabulary, its vectors and the metric between them."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arguments import a_kind, describe
from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.display import card
from dpcore.errors import LexiconError, ParameterError, UnknownWordError
from dpcore.lexicon.extent import Extent, extent_of
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.lexicon.neighbours import NeighbourTable, stored_table, table_of
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_DIMENSION, MAX_VOCABULARY, NEIGHBOUR_TABLE_WIDTH

# Rows of a vector table: freezing, repeated rows, and the choice of rows that a lexicon keeps.


_BLOCK_ROWS = 4096
# Marks of models for the unknown word, the edge of a sentence, padding, a link, a person.
_SPECIAL = re.compile(
    r"</?[A-Za-z_|][\w|/-]*>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|unused\d+)\]|\*?UNK\*?"
)


@dataclass(frozen=True)
class DroppedRows:
    """Number of rows left out of a lexicon, for each reason."""

    duplicate_words: int = 0
    duplicate_rows: int = 0
    empty_words: int = 0
    undecodable: int = 0
    malformed: int = 0
    special: int = 0

    @property
    def total(self) -> int:
        """Number of all rows left out."""
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
    """Return the array as C-contiguous float32, read-only; copied only if necessary."""
    values = np.asarray(array)
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which the lexicon refuses
        frozen = np.ascontiguousarray(values, dtype=np.float32)
    if np.shares_memory(frozen, values) and values.flags.writeable:
        frozen = frozen.copy()
    frozen.setflags(write=False)
    return frozen


def first_not_finite(vectors: Float32Array) -> int | None:
    """Return the lowest row that holds NaN or infinity, or None."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        finite = np.isfinite(vectors[start : start + _BLOCK_ROWS]).all(axis=1)
        if not finite.all():
            return start + int(np.argmin(finite))
    return None


def row_hashes(vectors: Float32Array) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row; equal rows (0.0 and -0.0 are equal) have equal hashes."""
    n, d = vectors.shape
    # An odd factor has an inverse modulo 2^64: rows that differ in one coordinate never collide.
    # The factors are fixed by d, so that a row always has the same hash.
    rng = np.random.default_rng(d)
    odd = rng.integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _BLOCK_ROWS):
        block = np.asarray(vectors[start : start + _BLOCK_ROWS], dtype=np.float32)
        # −0.0 + 0.0 is 0.0: rows that are equal as numbers have equal bits.
        bits = (block + np.float32(0)).view(np.uint32)
        hashes[start : start + _BLOCK_ROWS] = np.einsum("ij,j->i", bits, odd)
    return hashes


def _repeats(vectors: Float32Array, rows: IntArray) -> list[int]:
    """Return the rows (ascending indices into vectors) that are equal to an earlier one of them."""
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


def keep_rows(vectors: Float32Array, kept: IntArray) -> Float32Array:
    """Move the kept rows (ascending) to the front of an array that dpcore owns, without a copy.

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
        Their indices, and the number of other rows for each reason.
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


ENGLISH = "en"
"""Default language of a lexicon."""

_CODE = re.compile(r"[a-z]{2,3}")
_CLOSE_WORD_POOL = 5_000
_STORED_NEAREST = 80  # of each word: more than a truncated Gumbel draw needs
_SHOWN = 8  # words in a notebook


def check_language(code: str) -> None:
    """Refuse a string that is no language code.

    Raises:
        LexiconError: it does not consist of two or three small letters.
    """
    if not (isinstance(code, str) and _CODE.fullmatch(code)):
        shown = repr(code[:40]) if isinstance(code, str) else describe(code)
        raise LexiconError(
            "a language is given by its code of two or three small letters, such as 'en' or 'de', "
            f"got {shown}"
        )


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words, their vectors and a metric; immutable, and identified by its fingerprint.

    The vocabulary, the vectors and everything computed from them are public and fixed before any
    private text is read.

    Attributes:
        name: for display.
        words: the words, n distinct non-empty strings without a line feed, most frequent first.
        vectors: shape (n, d), float32, C-contiguous, read-only, finite, rows distinct. An array
            that is writeable when it is passed in is copied.
        language: of the words, by its code of ISO 639 such as "de": two or three small letters. It
            determines how texts are read and written (`dpcore.rewrite.languages`).
        metric: the metric of `extent`; a mechanism has its own parameter for the metric it uses.

    Raises:
        LexiconError: a condition above does not hold.
    """

    name: str
    words: tuple[str, ...]
    vectors: Float32Array
    metric: Metric = Metric.EUCLIDEAN
    language: str = ENGLISH

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "vectors", freeze(self.vectors))
        object.__setattr__(self, "metric", Metric.parse(self.metric))
        check_language(self.language)
        self._check_shape()
        self._check_words()
        bad = first_not_finite(self.vectors)
        if bad is not None:
            raise LexiconError(
                f"lexicon {self.name!r}: the vector of word {bad + 1} holds NaN or infinity; "
                "every coordinate must be finite"
            )
        if _repeats(self.vectors, np.arange(len(self.vectors))):
            raise LexiconError(
                f"lexicon {self.name!r}: two words have the same vector; rows must be distinct "
                "(Lexicon.build drops the later one)"
            )
        if self.metric is Metric.ANGULAR and not self.vectors.any(axis=1).all():
            raise LexiconError(
                f"lexicon {self.name!r}: a word has the zero vector, which has no angle; use "
                "another metric"
            )

    def _check_shape(self) -> None:
        if self.vectors.ndim != 2 or not 1 <= self.vectors.shape[1] <= MAX_DIMENSION:
            raise LexiconError(
                f"lexicon {self.name!r}: vectors must have shape (n, d) with d from 1 to "
                f"{MAX_DIMENSION}, got {self.vectors.shape}"
            )
        if len(self.words) != len(self.vectors):
            raise LexiconError(
                f"lexicon {self.name!r}: {len(self.words)} words but {len(self.vectors)} vectors"
            )
        if not 2 <= len(self.words) <= MAX_VOCABULARY:
            raise LexiconError(
                f"lexicon {self.name!r}: a lexicon has 2 to {MAX_VOCABULARY:,} words, got "
                f"{len(self.words)}"
            )

    def _check_words(self) -> None:
        if not all(isinstance(word, str) and word and "\n" not in word for word in self.words):
            raise LexiconError(
                f"lexicon {self.name!r}: every word must be a non-empty string without a line feed"
            )
        try:
            "".join(self.words).encode()
        except UnicodeEncodeError:
            raise LexiconError(
                f"lexicon {self.name!r}: a word holds half of a surrogate pair, which UTF-8 cannot "
                "write; its file was decoded wrongly"
            ) from None
        if len(self._positions) != len(self.words):
            raise LexiconError(
                f"lexicon {self.name!r}: a word stands twice; words must be distinct "
                "(Lexicon.build keeps the first)"
            )

    @classmethod
    def build(
        cls,
        name: str,
        words: Sequence[str],
        vectors: Float32Array,
        metric: Metric = Metric.EUCLIDEAN,
        language: str = ENGLISH,
    ) -> tuple[Lexicon, DroppedRows]:
        """Build from raw rows, dropping those that a lexicon cannot hold.

        Dropped are empty words, marks such as <unk>, a repeated word (the first one stays) and a
        row whose vector is repeated (the lowest index stays).

        Returns:
            The lexicon, and the number of rows dropped for each reason.

        Raises:
            LexiconError: as the constructor, for the remaining rows.
        """
        array = np.asarray(vectors)
        if array.ndim != 2 or len(words) != len(array):
            raise LexiconError(
                f"lexicon {name!r}: vectors must have shape ({len(words)}, d), got {array.shape}"
            )
        kept, dropped = choose_rows(words, array)
        if len(kept) == len(words):
            return cls(name, tuple(words), array, metric, language), dropped
        words = tuple(words[i] for i in kept)
        return cls(name, words, freeze(array[kept]), metric, language), dropped

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        """Return one line: the name and the sizes, not the words."""
        size = f"{len(self):,} words, {self.dimension} dimensions"
        language = "" if self.language == ENGLISH else f", {self.language}"
        return f"Lexicon({self.name!r}, {size}, {self.metric}{language})"

    def __deepcopy__(self, _memo: object) -> Lexicon:
        """Return the lexicon itself: immutable, it needs no copy (30 MB for the bundled words)."""
        return self

    def _repr_html_(self) -> str:
        """Return the card of a lexicon, with its most frequent words."""
        return card(
            f"Lexicon “{self.name}”",
            f"{len(self):,} words, {self.dimension} dimensions, {self.metric} metric",
            f"most frequent: {', '.join(self.words[:_SHOWN])}, …",
        )

    def __contains__(self, word: object) -> bool:
        """Return True if this word is in the vocabulary, in exactly this spelling."""
        return word in self._positions

    @property
    def dimension(self) -> int:
        """Number of coordinates of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def index(self, word: str) -> int:
        """Return the index of a word.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message offers up to three
                close ones.
        """
        index = self._positions.get(word)
        if index is None:
            raise UnknownWordError(self._unknown(word))
        return index

    def indices(self, words: Iterable[str]) -> IntArray:
        """Return the indices of words, shape (k,).

        Raises:
            UnknownWordError: as `index`, for the first word that is not there.
        """
        return np.array([self.index(word) for word in words], dtype=np.int64)

    def _unknown(self, word: str) -> str:
        shown = repr(word if len(word) <= 40 else word[:39] + "…")
        message = f"{shown} is not in lexicon {self.name!r} ({len(self):,} words)"
        if word.lower() in self._positions:
            return f"{message}; did you mean {word.lower()!r}?"
        pool: list[str] = []
        for candidate in self.words:
            if abs(len(candidate) - len(word)) <= 2 and candidate[:1] == word[:1].lower():
                pool.append(candidate)
                if len(pool) == _CLOSE_WORD_POOL:
                    break
        close = get_close_matches(word[:40], pool, n=3, cutoff=0.7)
        if not close:
            return message
        return f"{message}; did you mean {', '.join(repr(w) for w in close)}?"

    def with_metric(self, metric: Metric | str) -> Lexicon:
        """Return the same words and vectors under another metric (its fingerprint differs)."""
        parsed = Metric.parse(metric)
        return self if parsed is self.metric else dataclasses.replace(self, metric=parsed)

    def with_language(self, language: str) -> Lexicon:
        """Return the same words and vectors with another language (its fingerprint differs).

        Raises:
            LexiconError: it is no code of a language.
        """
        same = language == self.language
        return self if same else dataclasses.replace(self, language=language)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) over metric, shape, words, vectors, and a language not English."""
        # The shape precedes the words, and no word holds a line feed: no two lexicons have one
        # input.
        digest = hashlib.sha256()
        n, d = self.vectors.shape
        # Texts are read by the language: the same words in two languages are two lexicons.
        language = "" if self.language == ENGLISH else f" {self.language}"
        digest.update(f"dpcore lexicon 1\n{self.metric.value}{language}\n{n} {d}\n".encode())
        digest.update("\n".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(b"\n\n")
        little_endian = np.ascontiguousarray(self.vectors, dtype="<f4")
        digest.update(little_endian.data)
        return digest.hexdigest()

    @cached_property
    def largest_norm(self) -> float:
        """Largest Euclidean norm of a row, rounded up.

        It is at least the true norm and at least any float64 sum of squares' root, in any
        order of summation, so clipping at it changes no vector.
        """
        # Converted by einsum, a buffer at a time: a copy takes ten times as long to be allocated.
        squares = np.einsum("ij,ij->i", self.vectors, self.vectors, dtype=np.float64)
        largest = float(squares.max())
        # 4(d + 4)u: several times the rounding of two such sums and of their roots, γ_d/2 + u each.
        return float(np.sqrt(largest) * (1.0 + (self.dimension + 4) * 2.0**-51))

    @cached_property
    def extent(self) -> Extent:
        """Diameter Δ and separation Δ₀ under `metric`; from the cache, else computed and cached.

        Above `limits.MAX_EXACT_EXTENT_WORDS` words it is a pair of rigorous bounds
        (`Extent.exact` is False) unless the exact values were built on request before
        (`python -m dpcore lexicon build`).
        """
        return extent_of(self.vectors, self.metric, self.fingerprint)

    @cached_property
    def _nearest_search(self) -> NearestSearch:
        return NearestSearch(self.vectors)

    def nearest_words(self, words: IntArray, count: int) -> tuple[IntArray, FloatArray]:
        """Return the words nearest to given words, Euclidean: `NearestSearch.of_words`."""
        return self._nearest_search.of_words(words, count, self._stored_nearest)

    @cached_property
    def _stored_nearest(self) -> NDArray[np.int32] | None:
        """Nearest words of every word, shape (n, w), where `neighbours` has cached them before."""
        if self.metric is not Metric.EUCLIDEAN:
            return None
        table = stored_table(self.fingerprint, len(self))
        return None if table is None else table.indices[:, :_STORED_NEAREST].copy()

    def words_within(
        self, words: IntArray, reach: float
    ) -> list[tuple[IntArray, FloatArray]] | None:
        """Return the words within a Euclidean distance of given words: `NearestSearch.within`."""
        return self._nearest_search.within(words, reach)

    def nearest(self, queries: ArrayLike) -> IntArray:
        """Return each query's nearest word under `metric`: `dpcore.lexicon.nearest_word.nearest`.

        Args:
            queries: points, shape (k, d).

        Returns:
            Indices of shape (k,), int64; of equally near words the lowest index.
        """
        return self._nearest_search(queries, self.metric)

    def neighbours(
        self, count: int = NEIGHBOUR_TABLE_WIDTH, progress: Progress | None = None
    ) -> NeighbourTable:
        """Return exact Euclidean neighbours of every word; cached, else computed and cached.

        Args:
            count: neighbours of each word, itself included; at most 128.
            progress: called with (stage, done, total).

        Returns:
            The table, with min(count, n) columns.

        Raises:
            ParameterError: count is out of range, or the metric is not Euclidean.
        """
        if self.metric is not Metric.EUCLIDEAN:
            raise ParameterError(f"the neighbour table is Euclidean, not {self.metric.value}")
        return table_of(self.vectors, self.fingerprint, count, progress or silent)


def check_lexicon(lexicon: object) -> Lexicon:
    """Return a lexicon unchanged, or refuse any other object.

    Raises:
        LexiconError: it is none, such as the name of one.
    """
    return a_kind(
        lexicon, Lexicon, "a lexicon is needed, as dp.lexicon() returns one", LexiconError
    )
