"""Rays through a vocabulary: which lines can matter on each, for one word or for many.

Three shapes of the same question, each with the matrix product that suits it:

* `from_word`: many rays from one word: the vocabulary is put in its order of distance first, so
  that the product comes out ready to be scanned;
* `from_words`: one ray from each of several words: one product for all;
* `Bundle`: the same rays from any word: the product does not depend on the word and is kept; a
  word then looks only at its neighbourhood and at the few targets that reach farthest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.lexicon.nearest_word import product_error
from dpcore.lexicon.ranking import Ranking
from dpcore.mechanisms.additive.envelope import Candidates, Lines, lines, running_maxima

_FARTHEST = 256  # targets a ray that a bundle remembers: more make a word look less far
_ENTRIES = 2_000_000  # of one matrix product: 8 MB, so that it is scanned while it is in cache
_FEW_RAYS = 16  # enough for a mean over rays that need not be exact
_FEWEST = 256  # targets of one matrix product: fewer would slow it down


def largest_norm(vectors: Float32Array) -> float:
    """Largest Euclidean norm of a row, up to rounding."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return float(np.sqrt(squares.max()))


def tolerance(unit: FloatArray, norm: float) -> FloatArray:
    """Bound on the rounding error of a difference of two float32 reaches, shape (rays,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    # ‖τ‖·‖u‖ times the bound of a product, twice for a difference; and terms may underflow.
    underflow = 2.0 * unit.shape[1] * float(np.finfo(np.float32).smallest_subnormal)
    return np.asarray(2.0 * product_error(unit.shape[1]) * norm * lengths + underflow)


def _reaches(targets: Float32Array, unit: FloatArray, order: IntArray) -> Iterator[Float32Array]:
    """The reach of the targets along all rays, some targets of the order at a time: (m, rays).

    The array is overwritten by the next one: memory that has been touched is faster than new.
    """
    rays = unit.astype(np.float32).T
    step = min(max(_FEWEST, _ENTRIES // max(1, len(unit))), len(order))
    near = np.empty((step, targets.shape[1]), dtype=np.float32)
    reach = np.empty((step, len(unit)), dtype=np.float32)
    for start in range(0, len(order), step):
        part = order[start : start + step]
        np.take(targets, part, axis=0, out=near[: len(part)], mode="clip")  # clip: no copy
        yield np.matmul(near[: len(part)], rays, out=reach[: len(part)])


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
    slack = tolerance(unit, norm)
    row, column, reach = running_maxima(_reaches(targets, unit, ranking.order), slack, keep)
    squared = np.square(ranking.distances[column])
    candidates = Candidates(row, ranking.order[column], squared, reach)
    return _lines(unit, targets, slack, keep, candidates)


def from_words(
    unit: FloatArray,
    targets: Float32Array,
    rankings: Sequence[Ranking],
    *,
    keep: int = 1,
    norm: float,
) -> Lines:
    """Candidates of one ray from each of several origins: unit has one row for each ranking."""
    slack, narrow = tolerance(unit, norm), unit.astype(np.float32)
    rows, chosen, squared, reaches = [], [], [], []
    step = max(16, _ENTRIES // len(targets))
    for start in range(0, len(unit), step):
        part = slice(start, start + step)
        reach = targets @ narrow[part].T
        for i, ranking in enumerate(rankings[part]):
            reach[:, i] = reach[ranking.order, i]
        row, column, value = running_maxima([reach], slack[part], keep)
        ends = np.searchsorted(row, np.arange(reach.shape[1] + 1))
        for i, ranking in enumerate(rankings[part]):
            columns = column[ends[i] : ends[i + 1]]
            chosen.append(ranking.order[columns])
            squared.append(np.square(ranking.distances[columns]))
        rows.append(row + start)
        reaches.append(value)
    candidates = Candidates(*(np.concatenate(part) for part in (rows, chosen, squared, reaches)))
    return _lines(unit, targets, slack, keep, candidates)


def _lines(
    unit: FloatArray,
    targets: Float32Array,
    slack: FloatArray,
    keep: int,
    candidates: Candidates,
) -> Lines:
    """Candidates in float64; where only the nearest target matters, those near the hull."""
    return lines(unit, targets, candidates.on_the_hull(slack) if keep == 1 else candidates)


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
        """Reach of every target along every ray, shape (n, rays)."""
        return np.asarray(self.targets @ self.unit.astype(np.float32).T)

    @cached_property
    def centre(self) -> FloatArray:
        """Mean of the targets, shape (d,)."""
        return np.asarray(self.targets.mean(axis=0, dtype=np.float64))

    @cached_property
    def farthest(self) -> float:
        """How much farther than the mean target the farthest one reaches, mean over some rays."""
        unit = self.unit[:_FEW_RAYS]
        everyone = np.arange(len(self.targets))
        tops = [part.max(axis=0) for part in _reaches(self.targets, unit, everyone)]
        return float((np.max(tops, axis=0) - unit @ self.centre).mean())

    def shifted(
        self,
        ranking: Ranking,
        shift: FloatArray,
        amounts: FloatArray,
        lengths: FloatArray,
        *,
        keep: int = 1,
    ) -> tuple[FloatArray, Lines]:
        """Other rays, (unit + amount·shift)/length, and their candidates from one origin.

        Their reach is that of the kept rays plus a multiple of ⟨shift, target⟩.

        Args:
            ranking: the targets by distance from the origin.
            shift: common to all, shape (d,).
            amounts: of the first `len(amounts)` rays.
            lengths: of the same rays.
            keep: as for `from_word`.
        """
        count = amounts.size
        unit = (self.unit[:count] + amounts[:, None] * shift) / lengths[:, None]
        # The reaches that are compared are `lengths` times those of the rays: for each ray a
        # constant factor, which changes no order. Two products, rounded and added.
        slack = tolerance(self.unit[:count], self.norm)
        slack += amounts * tolerance(shift[None], self.norm)
        slack += tolerance(unit * lengths[:, None], self.norm)
        along = self.targets @ shift.astype(np.float32)
        moved = self._moved(ranking.order, along, amounts.astype(np.float32))
        row, column, reach = running_maxima(moved, slack, keep)
        squared = np.square(ranking.distances[column])
        candidates = Candidates(row, ranking.order[column], squared, reach)
        return unit, _lines(unit, self.targets, slack, keep, candidates)

    def _moved(
        self, order: IntArray, along: Float32Array, amounts: Float32Array
    ) -> Iterator[Float32Array]:
        """Kept reach + amount·along of the first rays, some targets of the order at a time."""
        kept = self.reach[:, : amounts.size]
        more = np.empty((min(_FEWEST, len(order)), amounts.size), dtype=np.float32)
        for start in range(0, len(order), _FEWEST):
            part = order[start : start + _FEWEST]
            values, extra = kept[part], more[: len(part)]
            np.multiply(along[part, None], amounts, out=extra)
            values += extra
            yield values

    @cached_property
    def _far(self) -> tuple[IntArray, Float32Array]:
        count = min(_FARTHEST, self.targets.shape[0])
        index = np.argpartition(self.reach, -count, axis=0)[-count:]
        reach = np.take_along_axis(self.reach, index, axis=0)
        return np.ascontiguousarray(index.T), np.ascontiguousarray(reach.T)

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
        # Of the remembered targets, those that reach farther than any forgotten one can, rounding
        # included. A forgotten target behind the nearest (`keep`-th nearest) of these never wins.
        complete = index.shape[1] == self.targets.shape[0]
        sure = reach > (reach.min(axis=1) + slack)[:, None]
        beyond = np.sort(np.where(sure, where, len(ranking) - 1), axis=1)[:, keep - 1]
        prefix = 0 if complete else int(beyond.max()) + 1
        # The neighbourhood and then the remembered targets behind it: ascending in distance.
        by_rank = np.argsort(where, axis=1)
        far = np.take_along_axis(where, by_rank, axis=1)
        far_reach = np.take_along_axis(reach, by_rank, axis=1)
        far_reach = np.where(far >= prefix, far_reach, np.float32(-np.inf))
        values = np.concatenate((self.reach[ranking.order[:prefix]], far_reach.T))
        row, column, value = running_maxima([values], slack, keep)
        near = column < prefix
        rank_of = np.where(near, column, far[row, np.maximum(column - prefix, 0)])
        squared = np.square(ranking.distances[rank_of])
        candidates = Candidates(row, ranking.order[rank_of], squared, value)
        return _lines(self.unit, self.targets, slack, keep, candidates)
