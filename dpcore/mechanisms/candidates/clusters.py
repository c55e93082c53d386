"""Public structures of a vocabulary: clusters of k words, normalisers and tours.

The clusters are gathered around the most frequent word left, as in CusText's "conservative" mapping
(github.com/sai4july/CusText, CusText/sst2/utils.py at commit 1578196), but in the public order of
the lexicon; the published code uses the order of the private corpus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.cache import CacheEntry, keep, recall
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.mechanisms.distances import RELATIVE_ERROR, near_distances

_TOGETHER = 128  # words whose distances are one product


@dataclass(frozen=True, eq=False)
class Clusters:
    """Partition of the vocabulary.

    Attributes:
        of: the set of each word, shape (n,).
        seeds: the word that each set was gathered around, shape (m,).
        members: the words of all sets, one set after the other, shape (n,).
        starts: set i is members[starts[i] : starts[i + 1]], shape (m + 1,).
    """

    of: IntArray
    seeds: IntArray
    members: IntArray
    starts: IntArray

    def __len__(self) -> int:
        """Return the number of sets."""
        return int(self.seeds.size)

    def set_of(self, word: int) -> IntArray:
        """Return the words of this word's set, itself included."""
        place = int(self.of[word])
        return self.members[self.starts[place] : self.starts[place + 1]]


@lru_cache(maxsize=4)
def clusters(lexicon: Lexicon, k: int) -> Clusters:
    """Return sets of k words; the last one may be smaller.

    Args:
        lexicon: words in their public order, and vectors.
        k: size of a set, at least 1.
    """
    n, name = len(lexicon), f"clusters-{k}"
    known = recall(lexicon.fingerprint, name)
    if known is not None and known.arrays["of"].shape == (n,):
        return _partition(np.asarray(known.arrays["of"], dtype=np.int64), known.arrays["seeds"])
    of = np.full(n, -1, dtype=np.int64)
    seeds: list[int] = []
    while (left := np.flatnonzero(of < 0)).size:
        # The first words that are left, as many as one product is worth.
        rows, block = lexicon.vectors[left], left[:_TOGETHER]
        rough = near_distances(rows[: block.size].astype(np.float64), rows, Metric.EUCLIDEAN)
        for seed, row in zip(block.tolist(), rough, strict=True):
            if of[seed] < 0:
                row[of[left] >= 0] = math.inf
                near = _nearest(lexicon, seed, left, row, k)
                of[near] = len(seeds)
                seeds.append(seed)
    keep(lexicon.fingerprint, name, CacheEntry({"of": of, "seeds": np.array(seeds)}, {"k": k}))
    return _partition(of, np.array(seeds))


def _nearest(lexicon: Lexicon, seed: int, words: IntArray, rough: FloatArray, k: int) -> IntArray:
    """Return the k nearest of some words, ties by the first; `rough` is ∞ for taken words."""
    open_words = int(np.isfinite(rough).sum())
    if open_words <= k:
        return np.asarray(words[np.isfinite(rough)])
    margin = 1.0 + 2.5 * (RELATIVE_ERROR + distance_error(lexicon.dimension))
    inside = words[rough <= np.partition(rough, k - 1)[k - 1] * margin]
    exact = distances(lexicon.vectors[inside], lexicon.vectors[[seed]])[0]
    return np.asarray(inside[np.argsort(exact, kind="stable")[:k]])


def _partition(of: IntArray, seeds: IntArray) -> Clusters:
    members = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[members], np.arange(seeds.size + 1))
    return Clusters(of, np.asarray(seeds, dtype=np.int64), members, starts)


# Greedy tours through the vocabulary: from each word to the nearest one that is left.
#
# As in github.com/sjmeis/Diffractor, src/diffractor/utils.py: the next word is the first of the 50
# nearest that is not on the tour yet, and if none is left, the first word that is not on it. There
# each tour uses its own vectors; a lexicon has one set of vectors, so here tour l begins with the
# l-th word.


_NEAREST = 50


@lru_cache(maxsize=4)
def tours(lexicon: Lexicon, count: int) -> IntArray:
    """Return the word at each place of each tour, shape (count, n)."""
    n, name = len(lexicon), f"tours-{count}"
    known = recall(lexicon.fingerprint, name)
    if known is not None and known.arrays["tours"].shape == (count, n):
        return np.asarray(known.arrays["tours"], dtype=np.int64)
    near = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(min(_NEAREST, n)).indices.tolist()
    result = np.array([_tour(near, start % n) for start in range(count)])
    keep(lexicon.fingerprint, name, CacheEntry({"tours": result}, {"count": count}))
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
    """Return the place of each word on each tour, shape (count, n)."""
    return np.argsort(tours(lexicon, count), axis=1)
