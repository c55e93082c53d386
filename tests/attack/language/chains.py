"""Small bigram models."""

import numpy as np

from dpcore.attack.language.language import Bigram, Counts

N = 5
END = N


def random_bigram(seed: int) -> Bigram:
    """A bigram model from random counts, some pairs of which are missing."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(1.5, (N + 1, N + 1))
    table[rng.random((N + 1, N + 1)) < 0.4] = 0
    table[:, 0] += 1
    first, second = np.nonzero(table)
    counts = Counts(
        words=table.sum(axis=0)[:N],
        contexts=table.sum(axis=1),
        continuations=(table > 0).sum(axis=0),
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        pairs=table[first, second].astype(np.int32),
    )
    return Bigram.of(counts, 0.75)
