"""Selections of words to measure: named ones, a stratified sample, or the tokens of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError, TextError, UnknownWordError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS
from dpcore.measure.density import NEIGHBOURS, vocabulary_density
from dpcore.rewrite.sentence import decode, file_bytes, prepare

_NAMED = 5  # unknown words named in a refusal


class Stratum(StrEnum):
    """Criterion by which the vocabulary is divided into strata before a sample is drawn."""

    FREQUENCY = "frequency"
    """Row in the lexicon: most frequent first."""
    DENSITY = "density"
    """δ(w), the distance to the nearest word (computes the table of neighbours)."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Words with weights; both arrays are read-only.

    Attributes:
        words: indices, distinct, shape (k,), k ≥ 1.
        names: the words themselves.
        weights: of each word in a mean: about 1, or its count in a corpus, shape (k,).
        description: how the words were chosen.
        tokens: tokens of a corpus that a mechanism would fill, unknown ones included; else 0.
        unknown: number of them outside the vocabulary; they are not measured.
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


def select_words(lexicon: Lexicon, names: Sequence[str]) -> Selection:
    """Return the selection of these words, each once, in their order.

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
    """Draw a stratified random sample: one word from each of `count` strata.

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
        k = min(NEIGHBOURS, n - 1)  # of as many the density is bundled, nearest words among them
        order = np.argsort(vocabulary_density(lexicon, k, progress).nearest, kind="stable")
    # Stratum j holds the places from ⌊j·n/count⌋ to before ⌊(j + 1)·n/count⌋ of the order.
    edges = np.arange(count + 1) * n // count
    sizes = np.diff(edges)
    chosen = order[edges[:-1] + rng.integers(sizes)]
    description = f"sample of {count:,}, stratified by {by}"
    # A word represents its stratum; the weights add up to the number of words drawn.
    return _selection(lexicon, chosen, description, sizes * (count / n))


def corpus(lexicon: Lexicon, text: str, *, max_characters: int = MAX_FILE_CHARACTERS) -> Selection:
    """Select all tokens of a text that a mechanism would rewrite, weighted by frequency.

    Tokens are cut, looked up and split as in `dpcore.rewrite`; punctuation marks are not counted.
    Tokens outside the vocabulary are counted and left out.

    Raises:
        TextError: the text is empty, or too long, or contains no word of the vocabulary.
    """
    sentence = prepare(text, lexicon, max_characters=max_characters, max_tokens=MAX_FILE_TOKENS)
    known = sentence.words[sentence.words >= 0]
    if not known.size:
        raise TextError(
            f"none of the words of the text is among the {len(lexicon):,} words of the lexicon"
        )
    words, counts = np.unique(known, return_counts=True)
    selection = _selection(lexicon, words, "tokens of a corpus", counts.astype(np.float64))
    unknown = int(sentence.words.size - known.size)
    return replace(selection, tokens=sentence.protected, unknown=unknown)


def subsample(selection: Selection, count: int, rng: np.random.Generator) -> Selection:
    """Return at most `count` words of a selection, drawn in proportion to their weights.

    Systematic sampling with unequal probabilities (Madow 1949, On the theory of systematic sampling
    II, Ann. Math. Statist. 20:333–354): a word with a weight of at least one sampling step is
    always taken and keeps its weight; of the others, in their order, those are taken on which the
    points u, u + step, u + 2 step, … of the cumulated weight fall, and each represents one step.
    Every word is drawn with probability weight / new weight and the new weights add up to the old
    total, so the weighted mean over the drawn words is an unbiased estimate of the mean over the
    selection. Quantiles and the worst word are those of the drawn words.

    Args:
        selection: words with weights, such as the tokens of a corpus.
        count: largest number of words that is kept; all are if there are no more.
        rng: of the one uniform number u.

    Raises:
        ParameterError: count is below 1.
    """
    if not count >= 1:
        raise ParameterError(f"at least 1 word must be kept, got {count}")
    if len(selection) <= count:
        return selection
    places, weights = _systematic(selection.weights, count, float(rng.random()))
    return replace(
        selection,
        words=selection.words[places],
        names=tuple(selection.names[i] for i in places.tolist()),
        weights=weights,
        description=f"{count:,} of the {len(selection):,} different words of: "
        f"{selection.description}",
    )


def _systematic(weights: FloatArray, count: int, start: float) -> tuple[IntArray, FloatArray]:
    """Return sampled places and new weights; `start` in [0, 1) is the first point in steps."""
    order = np.argsort(-weights, kind="stable")
    falling = weights[order]
    left = falling.sum() - np.concatenate(([0.0], np.cumsum(falling)[:-1]))
    # Taking the heaviest for certain only lengthens the step of the rest, so the first word lighter
    # than a step ends it.
    steps = left / np.maximum(count - np.arange(weights.size), 1)
    certain = int(np.argmax(falling < steps)) if (falling < steps).any() else count
    certain = min(certain, count)
    sure = np.sort(order[:certain])
    if certain == count:
        return sure, weights[sure]
    rest = np.sort(order[certain:])
    # Madow's points: one at random in the first step of the cumulated weight, then one a step.
    ends = np.cumsum(weights[rest])
    step = ends[-1] / (count - certain)
    points = (start + np.arange(count - certain)) * step
    # Rounding may put the last point at the very end of the cumulated weight, or beyond.
    drawn = rest[np.minimum(np.searchsorted(ends, points, side="right"), rest.size - 1)]
    places = np.concatenate((sure, drawn))
    new = np.concatenate((weights[sure], np.full(drawn.size, step)))
    back = np.argsort(places, kind="stable")
    return places[back], new[back]


def corpus_file(lexicon: Lexicon, path: Path, column: str | None = None) -> Selection:
    """Select words as `corpus` does, from a UTF-8 text file or one column of a CSV file.

    Args:
        lexicon: the vocabulary.
        path: the file.
        column: for a table with a header: the column with the texts.

    Raises:
        TextError: it cannot be read, is not UTF-8, has no such column, or as `corpus`.
        CorpusError: a column is named and the file is not a table.
    """
    data = file_bytes(path)
    if column is None:
        return corpus(lexicon, decode(data))
    from dpcore.learn.table import read_table  # slow to import, and few read a file

    table = read_table(data, least=1, name=path.name, typed=(column,))
    if column not in table.columns:
        raise TextError(
            f"{path} has no column {column[:40]!r}; it has {len(table.columns)}, whose names are "
            "not shown, since they may be private"
        )
    return corpus(lexicon, "\n".join(table.column(column)))
