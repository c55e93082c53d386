"""Which words are measured: named ones, a stratified sample, or the tokens of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError, TextError, UnknownWordError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.counting import FloatArray, IntArray

_NAMED = 5  # unknown words named in a refusal


class Stratum(StrEnum):
    """By what the vocabulary is cut into strata before a sample is drawn."""

    FREQUENCY = "frequency"
    """The row in the lexicon: most frequent first."""
    DENSITY = "density"
    """δ(w), the distance to the nearest word (computes the table of neighbours)."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Words with weights; both arrays are read-only.

    Attributes:
        words: indices, distinct, shape (k,), k ≥ 1.
        names: the words themselves.
        weights: of each word in a mean: about 1, or its count in a corpus, shape (k,).
        description: how they were chosen.
        tokens: tokens of a corpus that a mechanism would fill, unknown ones included; else 0.
        unknown: how many of them the vocabulary does not hold; they are not measured.
    """

    words: IntArray
    names: tuple[str, ...]
    weights: FloatArray
    description: str
    tokens: int = 0
    unknown: int = 0

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.words.setflags(write=False)
        self.weights.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.names)


def _selection(
    lexicon: Lexicon, words: IntArray, description: str, weights: FloatArray | None = None
) -> Selection:
    names = tuple(lexicon.words[i] for i in words.tolist())
    return Selection(words, names, np.ones(words.size) if weights is None else weights, description)


def named(lexicon: Lexicon, names: Sequence[str]) -> Selection:
    """These words, each once, in their order.

    Raises:
        ParameterError: there are none.
        UnknownWordError: some are not in the vocabulary; the message names them.
    """
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted:
        raise ParameterError("the list of words is empty; at least one word is needed")
    missing = [name for name in wanted if name not in lexicon]
    if len(missing) > 1:
        shown = ", ".join(repr(name[:40]) for name in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
        raise UnknownWordError(
            f"{shown}{more} are not in lexicon {lexicon.name!r} ({len(lexicon):,} words)"
        )
    return _selection(lexicon, lexicon.indices(wanted), "named words")


def sample(
    lexicon: Lexicon,
    count: int,
    rng: np.random.Generator,
    by: Stratum | str = Stratum.FREQUENCY,
    progress: Progress = silent,
) -> Selection:
    """A stratified random sample: one word from each of `count` strata.

    The strata are equally large up to one word, and each word is weighted by the size of its
    stratum, so that the weighted mean is an unbiased estimate of the mean over the vocabulary;
    frequent and rare (or dense and sparse) words are represented in proportion. Words come in the
    order of the strata.

    Raises:
        ParameterError: count is not 1 to the number of words.
    """
    n = len(lexicon)
    if not 1 <= count <= n:
        raise ParameterError(f"a sample has 1 to {n:,} words (the vocabulary), got {count}")
    by = Stratum(by)
    order = np.arange(n, dtype=np.int64)
    if by is Stratum.DENSITY:
        from dpcore.measure.density import vocabulary_density

        order = np.argsort(vocabulary_density(lexicon, 1, progress).nearest, kind="stable")
    edges = np.arange(count + 1) * n // count
    sizes = np.diff(edges)
    chosen = order[edges[:-1] + rng.integers(sizes)]
    description = f"sample of {count:,}, stratified by {by}"
    return _selection(lexicon, chosen, description, sizes * (count / n))


def corpus(lexicon: Lexicon, text: str) -> Selection:
    """All tokens of a text that a mechanism would rewrite, weighted by frequency.

    Tokens are cut, looked up and split as `dpcore.rewrite` does; punctuation marks are none.
    Tokens outside the vocabulary are counted and left out.

    Raises:
        TextError: the text is empty, or too long, or holds no word of the vocabulary.
    """
    from dpcore.rewrite.sentence import prepare

    sentence = prepare(
        text, lexicon, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS
    )
    known = sentence.words[sentence.words >= 0]
    if not known.size:
        raise TextError(
            f"none of the words of the text is among the {len(lexicon):,} words of the lexicon"
        )
    words, counts = np.unique(known, return_counts=True)
    found = _selection(lexicon, words, "tokens of a corpus", counts.astype(np.float64))
    unknown = int(sentence.words.size - known.size)
    return Selection(
        found.words, found.names, found.weights, found.description, sentence.protected, unknown
    )


def corpus_file(lexicon: Lexicon, path: Path) -> Selection:
    """As `corpus`, for a UTF-8 text file.

    Raises:
        TextError: it cannot be read, is not UTF-8, or as `corpus`.
    """
    from dpcore.rewrite.checks import decode

    try:
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            msg = f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it"
            raise TextError(msg)
        data = path.read_bytes()
    except OSError as error:
        raise TextError(f"cannot read {path}: {error.strerror}") from None
    return corpus(lexicon, decode(data))
