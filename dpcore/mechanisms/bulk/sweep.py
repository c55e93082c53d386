"""What one draw a word makes of many words at several ε: for experiments, never for release.

An experiment needs each document at every ε of a grid. Its outputs at different ε may share their
noise, since each alone has the mechanism's law; so the costly part (a matrix product, or the law
of a distinct word) is paid once and not once for each ε. Two columns of the result together give
the words away (`dpcore.mechanisms.path`), and the float32 search may decide a near tie otherwise
than `Mechanism.sample` does: what is released comes from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.bulk.documents import BATCH
from dpcore.mechanisms.distance_blocks import by_word

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.mechanisms.mechanism import Mechanism

_TOGETHER = 64  # distinct words whose distances are computed at a time


def outputs_at(
    mechanism: Mechanism,
    rng: np.random.Generator,
    words: IntArray | Sequence[int],
    epsilons: FloatArray | Sequence[float],
    progress: Progress = silent,
) -> IntArray:
    """One draw per entry of `words` and its output at each ε.

    Each column has the law of `Mechanism.sample` at its ε, independently over the entries; the
    columns of an entry share their noise.

    Args:
        mechanism: any of the registry.
        rng: source of randomness.
        words: word indices, shape (k,).
        epsilons: in any order, shape (E,).
        progress: called with (stage, done, total).

    Returns:
        Word indices, shape (k, E).

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: an index is not of the vocabulary.
    """
    entries, values = mechanism.check_words(words), mechanism.check_epsilons(epsilons)
    if not entries.size:
        return np.empty((0, values.size), dtype=np.int64)
    return mechanism.sweep(rng, entries, values, progress)


def by_law(
    mechanism: Mechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """Inversion of the exact law, one uniform number an entry, one law a distinct word."""
    uniform = rng.random(entries.size)
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    distinct, places = by_word(entries)
    vectors = mechanism.lexicon.vectors
    for start in range(0, len(distinct), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        rankings = rank(vectors, vectors[distinct[part]])
        for word, members, ranking in zip(distinct[part], places[part], rankings, strict=True):
            law = mechanism.law(word, epsilons, ranking=ranking)
            for e, probabilities in enumerate(law.probabilities):
                ladder = np.cumsum(probabilities)
                # A product that rounds up to the last step must not leave the vocabulary.
                rung = np.searchsorted(ladder, uniform[members] * ladder[-1], side="right")
                outputs[members, e] = law.outputs[np.minimum(rung, ladder.size - 1)]
        progress(mechanism.short, min(start + _TOGETHER, len(distinct)), len(distinct))
    return outputs


def by_paths(
    mechanism: Mechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """The ε-path of each entry, looked at on the grid."""
    order = np.argsort(epsilons, kind="stable")
    outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
    for start in range(0, entries.size, BATCH):
        part = slice(start, start + BATCH)
        paths = mechanism.paths(rng, entries[part], epsilons=epsilons[order])
        outputs[part, order] = paths.at(epsilons[order])
        progress(mechanism.short, min(start + BATCH, entries.size), entries.size)
    return outputs
