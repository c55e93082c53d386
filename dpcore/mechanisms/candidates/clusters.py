"""The vocabulary cut into sets of k words: who is nearest to the most frequent word left.

As CusText's "conservative" mapping makes them (github.com/sai4july/CusText, CusText/sst2/utils.py
at commit 1578196), but in the public order of the lexicon: there the order is that of the private
corpus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.mechanisms.distance_blocks import RELATIVE_ERROR, near_distances

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.lexicon import Lexicon

_TOGETHER = 128  # words whose distances are one product


@dataclass(frozen=True, eq=False)
class Clusters:
    """A partition of the vocabulary.

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
        """How many sets there are."""
        return int(self.seeds.size)

    def set_of(self, word: int) -> IntArray:
        """The words that stand in one set with this one, itself included."""
        place = int(self.of[word])
        return self.members[self.starts[place] : self.starts[place + 1]]


@lru_cache(maxsize=4)
def clusters(lexicon: Lexicon, k: int) -> Clusters:
    """Sets of k words; the last one may be smaller.

    Args:
        lexicon: words in their public order, and vectors.
        k: words of a set, at least 1.
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
    keep(lexicon.fingerprint, name, Kept({"of": of, "seeds": np.array(seeds)}, {"k": k}))
    return _partition(of, np.array(seeds))


def _nearest(lexicon: Lexicon, seed: int, words: IntArray, rough: FloatArray, k: int) -> IntArray:
    """The k nearest of some words, of equally near ones the first; `rough` is ∞ for those gone."""
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
