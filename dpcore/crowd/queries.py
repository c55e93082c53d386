"""Queries: what is counted, as a number for each word of a lexicon."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.kinds import UNKNOWN, kinds_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_QUERIES


@dataclass(frozen=True, eq=False)
class Queries:
    """Numbers g(w) of words w; the sum of g over the words of private texts is what is wanted.

    Attributes:
        names: what each query is called, m of them.
        size: n, the number of words of the lexicon.
        places: words with a number other than 0, for each query.
        numbers: these numbers, in the same order.
    """

    names: tuple[str, ...]
    size: int
    places: tuple[IntArray, ...]
    numbers: tuple[FloatArray, ...]

    def __post_init__(self) -> None:
        """Refuse none, or too many."""
        if not 1 <= len(self.names) <= MAX_QUERIES:
            raise ParameterError(
                f"1 to {MAX_QUERIES:,} things are counted at a time, got {len(self.names):,}"
            )

    def __len__(self) -> int:
        return len(self.names)

    def matrix(self) -> FloatArray:
        """Return g, shape (n, m)."""
        result = np.zeros((self.size, len(self)))
        for column, (places, numbers) in enumerate(zip(self.places, self.numbers, strict=True)):
            result[places, column] = numbers
        return result

    @cached_property
    def binary(self) -> bool:
        """True if every number is 0 or 1: then what is counted is words."""
        return all(bool(np.all(numbers == 1.0)) for numbers in self.numbers)

    @cached_property
    def ranges(self) -> FloatArray:
        """Least and largest number of each query, 0 included, shape (m, 2)."""
        return np.array(
            [
                (min(0.0, numbers.min(initial=0.0)), max(0.0, numbers.max(initial=0.0)))
                if places.size < self.size
                else (numbers.min(), numbers.max())
                for places, numbers in zip(self.places, self.numbers, strict=True)
            ]
        )

    @property
    def digest(self) -> bytes:
        """SHA-256 of the numbers, without the names."""
        digest = hashlib.sha256()
        for places, numbers in zip(self.places, self.numbers, strict=True):
            for array in (np.array([places.size]), places.astype(np.int64), numbers):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def parts(self, count: int) -> Iterator[Queries]:
        """Yield the queries in groups of at most `count`, all of one kind."""
        for start in range(0, len(self), count):
            yield self.only(np.arange(start, min(start + count, len(self))))

    def only(self, columns: IntArray) -> Queries:
        """Return some of the queries, in this order."""
        some = columns.tolist()
        return Queries(
            tuple(self.names[i] for i in some),
            self.size,
            tuple(self.places[i] for i in some),
            tuple(self.numbers[i] for i in some),
        )

    def and_then(self, others: Queries) -> Queries:
        """Return these queries and others over the same lexicon."""
        return Queries(
            self.names + others.names,
            self.size,
            self.places + others.places,
            self.numbers + others.numbers,
        )


def of_words(lexicon: Lexicon, words: Sequence[str]) -> Queries:
    """Ask for each of some words.

    Raises:
        UnknownWordError: the lexicon does not hold one of them; the message names it.
    """
    names = tuple(dict.fromkeys(words))
    return of_indices(lexicon, np.asarray(lexicon.indices(list(names))))


def of_typed(lexicon: Lexicon, words: Any) -> Queries:
    """Ask for one word, or for each of several, as a caller gives them.

    Raises:
        ParameterError: they are neither.
        UnknownWordError: as `of_words`.
    """
    names: list[Any]
    try:
        names = [words] if isinstance(words, str) else list(words)
    except TypeError:
        names = [None]
    if isinstance(words, bytes | dict) or not all(isinstance(name, str) for name in names):
        raise ParameterError("words are one word, several, or queries of dpcore.crowd.queries")
    return of_words(lexicon, names)


def of_indices(lexicon: Lexicon, indices: IntArray) -> Queries:
    """Ask for each of some words, by their index."""
    one = np.ones(1)
    return Queries(
        tuple(lexicon.words[index] for index in indices.tolist()),
        len(lexicon),
        tuple(np.array([index]) for index in indices.tolist()),
        (one,) * indices.size,
    )


def of_lists(lexicon: Lexicon, lists: Mapping[str, Sequence[str]]) -> Queries:
    """Ask how many words are of each list.

    Args:
        lexicon: words and vectors.
        lists: words by the name of their list; a word that is named twice counts once.

    Raises:
        UnknownWordError: the lexicon does not hold one of the words; the message names it.
        ParameterError: a list is empty.
    """
    if empty := [name for name, words in lists.items() if not words]:
        raise ParameterError(f"the list {empty[0][:40]!r} holds no word")
    places = [np.unique(lexicon.indices(list(words))) for words in lists.values()]
    return Queries(
        tuple(lists), len(lexicon), tuple(places), tuple(np.ones(each.size) for each in places)
    )


def of_kinds(lexicon: Lexicon) -> Queries:
    """Ask how many words are of each kind of WordNet (`dpcore.lexicon.kinds`).

    Raises:
        ParameterError: no kinds are known for this language.
    """
    kinds = kinds_of(lexicon)
    if kinds.none:
        raise ParameterError(
            f"no kinds of words are known for the language {lexicon.language!r}: name words"
        )
    kind_places = [
        (name, np.flatnonzero(kinds.codes == code))
        for code, name in enumerate(kinds.names)
        if name != UNKNOWN
    ]
    kind_places = [(name, places) for name, places in kind_places if places.size]
    return Queries(
        tuple(name for name, _ in kind_places),
        len(lexicon),
        tuple(places for _, places in kind_places),
        tuple(np.ones(places.size) for _, places in kind_places),
    )


def of_near(lexicon: Lexicon, word: str, count: int = 10) -> Queries:
    """Ask how many words are one word or among the nearest to it, `count` in all.

    Raises:
        UnknownWordError: the lexicon does not hold the word.
        ParameterError: the number is out of range.
    """
    if not 1 <= count <= len(lexicon):
        raise ParameterError(f"1 to {len(lexicon):,} words are near, got {count}")
    near = lexicon.nearest_words(np.array([lexicon.index(word)]), count)[0][0]
    places = np.sort(near.astype(np.int64))
    return Queries((f"near {word}",), len(lexicon), (places,), (np.ones(places.size),))


def of_numbers(lexicon: Lexicon, names: Sequence[str], numbers: FloatArray) -> Queries:
    """Ask for sums of any numbers of the words: coordinates, a direction, weights of a classifier.

    Args:
        lexicon: words and vectors.
        names: what each sum is called.
        numbers: shape (n, m), finite.

    Raises:
        ParameterError: the shape is another, or a number is not finite.
    """
    values = np.asarray(numbers, dtype=np.float64)
    if values.shape != (len(lexicon), len(names)) or not np.isfinite(values).all():
        raise ParameterError(
            f"{len(names):,} sums over {len(lexicon):,} words take as many finite numbers, in "
            f"columns, got an array of the shape {values.shape}"
        )
    every = np.arange(len(lexicon))
    return Queries(
        tuple(names), len(lexicon), (every,) * len(names), tuple(np.ascontiguousarray(values.T))
    )


def of_direction(lexicon: Lexicon, towards: str, away: str) -> Queries:
    """Ask for the sum along the direction from one word to another, of length 1.

    Raises:
        UnknownWordError: the lexicon does not hold one of them.
        ParameterError: they lie at one place.
    """
    vectors = lexicon.vectors.astype(np.float64)
    direction = vectors[lexicon.index(towards)] - vectors[lexicon.index(away)]
    length = float(np.linalg.norm(direction))
    if not length > 0:
        raise ParameterError(f"{towards} and {away} lie at one place: there is no direction")
    return of_numbers(lexicon, [f"{away} to {towards}"], (vectors @ direction / length)[:, None])


def of_coordinates(lexicon: Lexicon) -> Queries:
    """Ask for the sum of every coordinate of the vectors."""
    names = [f"coordinate {number}" for number in range(1, lexicon.dimension + 1)]
    return of_numbers(lexicon, names, lexicon.vectors.astype(np.float64))
