"""True losses of crafted vocabularies, in numbers with far more digits than float64."""

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.noise.samplers import candidate_weights, whole_vocabulary_weight

WIDE = np.longdouble


def wide_distances(lexicon: Lexicon) -> NDArray[np.longdouble]:
    """Euclidean distances of all pairs, longdouble; float32 coordinates are exact in it."""
    rows = lexicon.vectors.astype(WIDE)
    return np.stack([np.sqrt(np.square(rows - row).sum(axis=1)) for row in rows])


def largest_loss(logs: NDArray[np.longdouble], apart: NDArray[np.longdouble]) -> np.longdouble:
    """max over pairs and outputs of ln P(y|w) − ln P(y|w′) by distance."""
    worst = WIDE(0)
    for w, row in enumerate(logs):
        loss = (row - logs).max(axis=1)
        loss[w] = 0
        worst = max(worst, (loss / np.where(np.arange(len(logs)) == w, 1, apart[w])).max())
    return worst


def tem_loss(lexicon: Lexicon, eta: float, cap: float) -> np.longdouble:
    """ε_eff of weights exp(−min(η·D, c))."""
    apart = wide_distances(lexicon)
    exponents = -np.minimum(WIDE(eta) * apart, WIDE(cap))
    logs = exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))
    return largest_loss(logs, apart)


def repaired_loss(lexicon: Lexicon, strength: float) -> np.longdouble:
    """The largest loss of the repaired truncated Gumbel mechanism."""
    apart, n = wide_distances(lexicon), len(lexicon)
    weights, last = candidate_weights(n).astype(WIDE), WIDE(whole_vocabulary_weight(n))
    logs = np.empty((n, n), WIDE)
    for row, distance in zip(logs, apart, strict=True):
        order = np.argsort(distance, kind="stable")
        exponents = -WIDE(strength) * distance[order]
        sums = np.cumsum(np.exp(exponents))
        factors = np.zeros(n, WIDE)
        factors[: weights.size] = np.cumsum((weights / sums[: weights.size])[::-1])[::-1]
        row[order] = exponents + np.log(factors + last / sums[-1])
    return largest_loss(logs, apart)
