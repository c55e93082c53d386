"""TEM at several ε from one uniform number a word: float32 distances, one product for many words.

For experiments, as `dpcore.mechanisms.bulk.sweep`, which calls it: a distance is right to about
1e-5, so a draw at the very edge of two words may fall on the other one. Releases come from
`Mechanism.sample`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.distance_blocks import by_word

if TYPE_CHECKING:
    from dpcore.arrays import Float32Array, FloatArray, IntArray
    from dpcore.mechanisms.exponential.tem import TruncatedExponential

_TOGETHER = 64  # distinct words whose distances are one product
_BLOCK = 128  # words whose weights are added up before a draw is placed among them


def outputs_by_distance(
    mechanism: TruncatedExponential,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress = silent,
) -> IntArray:
    """Inversion of exp(−min(ε·D/2, c)), first to a block of words and then to a word of it.

    Args:
        mechanism: with the Euclidean metric.
        rng: one uniform number an entry.
        entries: word indices, shape (k,).
        epsilons: shape (E,).
        progress: called with (stage, done, total) in distinct words.

    Returns:
        Word indices, shape (k, E).
    """
    uniform = rng.random(entries.size)
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    distinct, places = by_word(entries)
    rates = [np.float32(-0.5 * mechanism.nominal(float(value))) for value in epsilons]
    lowest, n = np.float32(-mechanism.cap), len(mechanism.lexicon)
    vectors = mechanism.lexicon.vectors
    squares = np.einsum("ij,ij->i", vectors, vectors)
    weights = np.zeros((-(-n // _BLOCK), _BLOCK), dtype=np.float32)
    flat = weights.reshape(-1)[:n]
    for start in range(0, len(distinct), _TOGETHER):
        rows = euclidean(vectors, squares, np.array(distinct[start : start + _TOGETHER]))
        for members, row in zip(places[start : start + _TOGETHER], rows, strict=True):
            for e, rate in enumerate(rates):
                np.multiply(row, rate, out=flat)
                np.maximum(flat, lowest, out=flat)
                np.exp(flat, out=flat)
                outputs[members, e] = _placed(weights, uniform[members], n)
        progress(mechanism.short, min(start + _TOGETHER, len(distinct)), len(distinct))
    return outputs


def euclidean(vectors: Float32Array, squares: Float32Array, words: IntArray) -> Float32Array:
    """Distances of some words to all, shape (k, n), in float32; of a word to itself exactly 0.

    Args:
        vectors: of all words, shape (n, d).
        squares: their squared norms, shape (n,).
        words: indices, shape (k,).
    """
    rows = vectors[words] @ vectors.T
    rows *= -2.0
    rows += squares
    rows += squares[words][:, None]
    np.maximum(rows, 0.0, out=rows)
    np.sqrt(rows, out=rows)
    rows[np.arange(words.size), words] = 0.0
    return np.asarray(rows)


def _placed(weights: Float32Array, uniform: FloatArray, n: int) -> IntArray:
    """The words at these shares of the total weight; `weights` in blocks, zero beyond n."""
    ends = np.cumsum(weights.sum(axis=1), dtype=np.float64)
    aim = uniform * ends[-1]
    # A product that rounds up to the last step must not leave the vocabulary.
    block = np.minimum(np.searchsorted(ends, aim, side="right"), ends.size - 1)
    before = np.where(block > 0, ends[block - 1], 0.0)
    inner = np.cumsum(weights[block], axis=1, dtype=np.float64)
    passed = (inner <= (aim - before)[:, None]).sum(axis=1)
    return np.asarray(np.minimum(block * _BLOCK + np.minimum(passed, _BLOCK - 1), n - 1))
