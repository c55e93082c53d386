"""Results of a measurement: Nw, Sw and the effective number, word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.neighbours import Ranking

_RANKED = 4_000_000  # words of the vocabulary ranked at a time, over all words measured: 64 MB


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of k words at E values of ε, all read-only.

    Attributes:
        nw: probability that the word stays, shape (k, E).
        sw: distinct outputs in R runs, or their expectation, shape (k, E).
        effective: inverse Simpson index of the outputs, shape (k, E); ∞ if no two runs agree.
        nw_error: standard error of `nw`, shape (k, E); 0 if exact. It is meaningless where the word
        hardly ever stayed.
        nw_low: lower end of an interval for the truth, of level 95 %, shape (k, E); `nw` if exact.
        nw_high: upper end.
        sw_error: standard error of `sw`, an upper one; 0 if exact.
        effective_error: standard error of `effective`, to first order; 0 if exact.
        nw_mean_error: standard error of the weighted mean of `nw` over the words, shape (E,).
        nw_mean_low: lower end of an interval for that mean, of level 95 %; the mean if exact.
        nw_mean_high: upper end.
        sw_mean_error: standard error of the weighted mean of `sw` over the words, shape (E,).
        numerical_error: bound on the error of a computed probability; else 0.
        detail: closed form, quadrature, 1,000 runs, directions, …
    """

    nw: FloatArray
    sw: FloatArray
    effective: FloatArray
    nw_error: FloatArray
    nw_low: FloatArray
    nw_high: FloatArray
    sw_error: FloatArray
    effective_error: FloatArray
    nw_mean_error: FloatArray
    nw_mean_low: FloatArray
    nw_mean_high: FloatArray
    sw_mean_error: FloatArray
    numerical_error: float
    detail: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        seal(self)


def seal(record: Any) -> None:
    """Make all arrays of a dataclass read-only, because cached records are shared."""
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)


def independent_mean_error(errors: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the standard error of a weighted mean over words with independent noise.

    Shape (k, E) to (E,).
    """
    return np.asarray(np.sqrt(np.square(weights) @ np.square(errors)) / weights.sum())


def shared_mean_error(errors: FloatArray, weights: FloatArray) -> FloatArray:
    """Return an upper standard error of that mean if the words share noise.

    Full correlation is assumed.
    """
    return np.asarray(weights @ errors / weights.sum())


def ranked(
    words: IntArray, vocabulary: int, rankings: Callable[[IntArray], Sequence[Ranking]]
) -> Iterator[tuple[int, Ranking]]:
    """Yield each word with the vocabulary ranked from it.

    Args:
        words: shape (k,).
        vocabulary: number of words that are ranked.
        rankings: computes the rankings of several words, together because that is faster; as many
            words at a time as fit into memory.
    """
    step = max(1, _RANKED // vocabulary)
    for start in range(0, words.size, step):
        block = words[start : start + step]
        yield from zip(block.tolist(), rankings(block), strict=True)
