"""Attackers who know more of a mechanism than one who repeats what comes out.

Where a column of the law is no closed form, `repeated` is what a trade-off measures. It is far from
what leaks where a mechanism often answers with a neighbour: then the word that was meant is another
one, and one can learn which. Both are too slow for a trade-off over any vocabulary: a law, or some
draws, of every word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.trade.ground import BAYES, LEARNED, REPEATS
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray
    from dpcore.attack.trade.ground import Amount
    from dpcore.mechanisms.mechanism import Mechanism

_TOGETHER = 64  # words whose rankings are made at a time
_DRAWN = 2_000  # words whose draws are made at a time
_NEIGHBOURS, _BLIND = 1.6, 2.0
"""Outputs that are near to the word, the word itself among them, over those that are the word: from
here on who repeats the output is taken for a poor attacker. Of noise that is added to vectors of
many dimensions it is 1.0 to 1.4 where two words of a hundred stay or more. And over what is near
of a word of which nothing is known: as long as it is less, there is nothing to learn."""


def poorly_attacked(rows: Sequence[Amount], before: Mapping[str, float]) -> frozenset[float]:
    """The ε at which a better attacker than one who repeats the output may guess far more.

    Args:
        rows: of one mechanism, as `dpcore.attack.trade.tradeoff.amounts` gives them.
        before: `Ground.before`.
    """
    shares = {
        name: {row.epsilon: row.value for row in rows if row.quantity == name}
        for name in ("word", "near")
    }
    return frozenset(
        row.epsilon
        for row in rows
        if _repeated(row)
        and shares["near"][row.epsilon] >= _NEIGHBOURS * shares["word"][row.epsilon]
        and shares["near"][row.epsilon] >= _BLIND * before["near"]
    )


def from_all_laws(
    mechanism: Mechanism, rows: Sequence[Amount], progress: Progress = silent
) -> list[Amount]:
    """The rows, with Bayes' share of the words in place of one who repeats; see `from_laws`."""
    epsilons = [row.epsilon for row in rows if _repeated(row)]
    if not epsilons:
        return list(rows)
    shares, error = from_laws(mechanism, np.asarray(epsilons), progress)
    better = {
        epsilon: (share, share - error, share + error)
        for epsilon, share in zip(epsilons, shares.tolist(), strict=True)
    }
    return _replaced(rows, better, BAYES, exact=True)


def from_draws(
    mechanism: Mechanism,
    rows: Sequence[Amount],
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> list[Amount]:
    """The rows, with the share of one who has learned wherever he guesses more; see `learned`."""
    epsilons = [row.epsilon for row in rows if _repeated(row)]
    if not epsilons:
        return list(rows)
    right = learned(mechanism, np.asarray(epsilons), draws, count, seed, progress)
    hits = right.sum(axis=0)
    low, high = Tally.counted(hits, count).interval()
    ends = zip((hits / count).tolist(), low.tolist(), high.tolist(), strict=True)
    return _replaced(rows, dict(zip(epsilons, ends, strict=True)), LEARNED, exact=False)


def _repeated(row: Amount) -> bool:
    return (row.quantity, row.attacker) == ("word", REPEATS)


def _replaced(
    rows: Sequence[Amount],
    better: dict[float, tuple[float, float, float]],
    attacker: str,
    *,
    exact: bool,
) -> list[Amount]:
    """Both are lower bounds, or the other is what they bound: the larger one is taken."""
    result = []
    for row in rows:
        if _repeated(row) and better[row.epsilon][0] > row.value:
            value, low, high = better[row.epsilon]
            row = replace(row, value=value, low=low, high=high, attacker=attacker, exact=exact)
        result.append(row)
    return result


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
