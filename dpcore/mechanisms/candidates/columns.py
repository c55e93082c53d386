"""Columns P(y | ·) of laws whose normalisers have no closed form: one pass over all pairs, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.distance_blocks import near_distances

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.lexicon import Lexicon

ERROR = 1e-9
"""Relative error of the logarithms: that of `near_distances`, times exponents up to 100."""
_BLOCK = 512  # words whose distances are held at a time


def log_normalisers(
    lexicon: Lexicon, outputs: IntArray, exponents: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """ln Σ_y exp(exponents(d(w, y))) of every word w, shape (n,).

    Args:
        lexicon: words and vectors.
        outputs: the y, shape (m,).
        exponents: of Euclidean distances, shape (k, m), none above 0; may change its argument.
    """
    n, targets = len(lexicon), lexicon.vectors[outputs]
    result = np.empty(n)
    for start in range(0, n, _BLOCK):
        rows = lexicon.vectors[start : start + _BLOCK].astype(np.float64)
        apart = near_distances(rows, targets, Metric.EUCLIDEAN)
        logs = exponents(apart)
        top = logs.max(axis=1)
        sums = np.exp(logs - top[:, None]).sum(axis=1)
        result[start : start + _BLOCK] = top + np.log(sums)
    return result
