"""Greedy tours through the vocabulary: from each word to the nearest one that is left.

As github.com/sjmeis/Diffractor, src/diffractor/utils.py, makes them: the next word is the first of
the 50 nearest that is not on the tour yet, and if none is left, the first word that is not on it.
There each tour goes through vectors of its own; a lexicon has one set of vectors, so that here tour
l begins with the l-th word.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.metric import Metric

if TYPE_CHECKING:
    from dpcore.arrays import IntArray
    from dpcore.lexicon.lexicon import Lexicon

_NEAREST = 50


@lru_cache(maxsize=4)
def tours(lexicon: Lexicon, count: int) -> IntArray:
    """The word at each place of each tour, shape (count, n)."""
    n, name = len(lexicon), f"tours-{count}"
    known = recall(lexicon.fingerprint, name)
    if known is not None and known.arrays["tours"].shape == (count, n):
        return np.asarray(known.arrays["tours"], dtype=np.int64)
    near = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(min(_NEAREST, n)).indices.tolist()
    result = np.array([_tour(near, start % n) for start in range(count)])
    keep(lexicon.fingerprint, name, Kept({"tours": result}, {"count": count}))
    return result


def _tour(near: list[list[int]], start: int) -> list[int]:
    on, tour, first, word = [False] * len(near), [], 0, start
    while True:
        on[word] = True
        tour.append(word)
        if len(tour) == len(near):
            return tour
        word = next((other for other in near[word] if not on[other]), -1)
        if word < 0:
            while on[first]:
                first += 1
            word = first


@lru_cache(maxsize=4)
def places(lexicon: Lexicon, count: int) -> IntArray:
    """The place of each word on each tour, shape (count, n)."""
    return np.argsort(tours(lexicon, count), axis=1)
