"""Attackers who know more of a mechanism than one who repeats what comes out.

Where a column of the law is no closed form, `repeated` is what a trade-off measures. It is far from
what leaks where a mechanism often answers with a neighbour: then the word that was meant is another
one, and one can learn which. Both are too slow for a trade-off over any vocabulary: a law, or some
draws, of every word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray
    from dpcore.mechanisms.mechanism import Mechanism

_TOGETHER = 64  # words whose rankings are made at a time
_DRAWN = 2_000  # words whose draws are made at a time


def from_laws(
    mechanism: Mechanism, epsilons: FloatArray, progress: Progress = silent
) -> tuple[FloatArray, float]:
    """Share of the words that the Bayes attacker guesses, uniform prior: Σ_y max_w P(y | w)/n.

    Args:
        mechanism: with computed laws.
        epsilons: shape (E,).
        progress: called with (stage, done, total) in words.

    Returns:
        The shares, shape (E,), and a bound on their error.
    """
    n, vectors, error = len(mechanism.lexicon), mechanism.lexicon.vectors, 0.0
    likeliest = np.zeros((epsilons.size, n))
    for start in range(0, n, _TOGETHER):
        words = range(start, min(start + _TOGETHER, n))
        for word, ranking in zip(words, rank(vectors, vectors[words]), strict=True):
            law = mechanism.law(word, epsilons, ranking=ranking)
            best = np.maximum(likeliest[:, law.outputs], law.probabilities)
            likeliest[:, law.outputs] = best
            error = max(error, law.error)
        progress(f"laws of {mechanism.short}", words.stop, n)
    return likeliest.sum(axis=1) / n, error


def learned(
    mechanism: Mechanism,
    epsilons: FloatArray,
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> NDArray[np.bool_]:
    """Whether one who has seen some outputs of every word guesses the word behind a new one.

    For each output he names the word of which he saw it most often; if there are several, or none,
    the output itself before others. So the share that he guesses is at most that of the Bayes
    attacker.

    Args:
        mechanism: any.
        epsilons: shape (E,).
        draws: outputs of each word that he has seen.
        count: new pairs of a word, drawn uniformly, and its output.
        seed: of all drawing.
        progress: called with (stage, done, total) in words.

    Returns:
        Shape (count, E).
    """
    n = len(mechanism.lexicon)
    rng = generator(seed, "learned guesses", mechanism.key)
    pairs = []
    for start in range(0, n, _DRAWN):
        words = np.repeat(np.arange(start, min(start + _DRAWN, n)), draws)
        # Output first: sorted, the pairs of an output stand together.
        pairs.append(outputs_at(mechanism, rng, words, epsilons) * n + words[:, None])
        progress(f"draws of {mechanism.short}", min(start + _DRAWN, n), n)
    new = rng.integers(n, size=count)
    outputs = outputs_at(mechanism, rng, new, epsilons)
    right = np.empty(outputs.shape, dtype=np.bool_)
    for e, seen in enumerate(np.concatenate(pairs).T):
        kinds, times = np.unique(seen, return_counts=True)
        output, word = kinds // n, kinds % n
        order = np.lexsort((output == word, times, output))
        guesses = np.arange(n)
        guesses[output[order]] = word[order]  # of equal places the last one counts: the likeliest
        right[:, e] = guesses[outputs[:, e]] == new
    return right
