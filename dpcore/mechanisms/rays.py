"""Rays through a vocabulary: which lines can matter on each, for one word or for many.

Three shapes of the same question, each with the matrix product that suits it:

* `from_word`: many rays from one word: the vocabulary is put in its order of distance first, so
  that the product comes out ready to be scanned;
* `from_words`: one ray from each of several words: one product for all;
* `Bundle`: the same rays from any word: the product does not depend on the word and is kept; a
  word then looks only at its neighbourhood and at the few targets that reach farthest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.lexicon.nearest import product_error
from dpcore.lexicon.ranking import Ranking
from dpcore.mechanisms.envelope import (
    Float32Array,
    FloatArray,
    IntArray,
    Lines,
    lines,
    running_maxima,
)

_FARTHEST = (
    256  # targets a ray whose reach is remembered by a bundle: more make a word look less far
)


def largest_norm(vectors: Float32Array) -> float:
    """Largest Euclidean norm of a row, up to rounding."""
    return float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max()))


def tolerance(unit: FloatArray, norm: float) -> FloatArray:
    """Bound on the rounding error of a difference of two float32 reaches, shape (rays,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    return np.asarray(2.0 * product_error(unit.shape[1]) * norm * lengths)


def from_word(
    unit: FloatArray, targets: Float32Array, ranking: Ranking, *, keep: int = 1, norm: float
) -> Lines:
    """Candidates of many rays from one origin.

    Args:
        unit: directions, shape (rays, d).
        targets: shape (n, d).
        ranking: the targets by distance from the origin.
        keep: 1 for the nearest target along the ray, 2 for the two nearest.
        norm: the largest norm of a target.
    """
    reach = unit.astype(np.float32) @ targets[ranking.order].T
    row, column = running_maxima(reach, tolerance(unit, norm), keep)
    return lines(unit, targets, row, ranking.order[column], np.square(ranking.distances[column]))


def from_words(
    unit: FloatArray,
    targets: Float32Array,
    rankings: Sequence[Ranking],
    *,
    keep: int = 1,
    norm: float,
) -> Lines:
    """Candidates of one ray from each of several origins: unit has one row for each ranking."""
    reach = unit.astype(np.float32) @ targets.T
    for i, ranking in enumerate(rankings):
        reach[i] = reach[i, ranking.order]
    row, column = running_maxima(reach, tolerance(unit, norm), keep)
    chosen = np.empty(row.size, dtype=np.int64)
    squared = np.empty(row.size)
    for i, ranking in enumerate(rankings):
        part = slice(*np.searchsorted(row, [i, i + 1]))
        chosen[part] = ranking.order[column[part]]
        squared[part] = np.square(ranking.distances[column[part]])
    return lines(unit, targets, row, chosen, squared)


@dataclass(frozen=True, eq=False)
class Bundle:
    """Rays that are shared by all words, with what their common product says.

    Attributes:
        unit: directions, shape (rays, d), float64.
        targets: shape (n, d), float32.
    """

    unit: FloatArray
    targets: Float32Array

    @cached_property
    def norm(self) -> float:
        """Largest norm of a target."""
        return largest_norm(self.targets)

    @cached_property
    def reach(self) -> Float32Array:
        """Reach of every target along every ray, shape (rays, n)."""
        return self.unit.astype(np.float32) @ self.targets.T

    @cached_property
    def _far(self) -> tuple[IntArray, Float32Array]:
        count = min(_FARTHEST, self.targets.shape[0])
        index = np.argpartition(self.reach, -count, axis=1)[:, -count:]
        return index, np.take_along_axis(self.reach, index, axis=1)

    def from_word(self, ranking: Ranking, *, keep: int = 1) -> Lines:
        """Candidates of every ray from one origin.

        A target outside the farthest-reaching ones matters only if it is nearer than all (for
        `keep` = 2: than all but one) of those that surely reach farther than it does.
        """
        index, reach = self._far
        slack = tolerance(self.unit, self.norm)
        position = np.empty(len(ranking), dtype=np.int64)
        position[ranking.order] = np.arange(len(ranking))
        where = position[index]
        complete = index.shape[1] == self.targets.shape[0]
        sure = reach > (reach.min(axis=1) + slack)[:, None]
        beyond = np.sort(np.where(sure, where, len(ranking) - 1), axis=1)[:, keep - 1]
        prefix = 0 if complete else int(beyond.max()) + 1
        by_rank = np.argsort(where, axis=1)
        far = np.take_along_axis(where, by_rank, axis=1)
        far_reach = np.take_along_axis(reach, by_rank, axis=1)
        far_reach = np.where(far >= prefix, far_reach, np.float32(-np.inf))
        values = np.concatenate((self.reach[:, ranking.order[:prefix]], far_reach), axis=1)
        row, column = running_maxima(values, slack, keep)
        near = column < prefix
        rank_of = np.where(near, column, far[row, np.maximum(column - prefix, 0)])
        return lines(
            self.unit,
            self.targets,
            row,
            ranking.order[rank_of],
            np.square(ranking.distances[rank_of]),
        )
