"""Far words taken together, for the term of the truncated Gumbel law with the whole vocabulary.

A survival function depends on u − d alone, so thousands of distances may be replaced by a few
weighted points that keep their moments.

The points are a uniform grid. With the places u and the distances d of the far words on it, both
Σ_j ln S(u − c − d_j) and the integrals of all far words are convolutions, and the kink at u = d
lies on a grid point, so that no panel has to end there. The words on a grid are the same at every
scale b, so scales share grids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms.gumbel.noise import Noise, columns, parts

_WHOLE_DEPTH = 16.0  # e^−16 is 1e-7, for integrals of weight P(K = n)
_UNSEEN = 1e-9  # P(u_i | K = n) that counts as 0
# Gregory's end weights up to third differences: with them a sum over a grid integrates cubics
# exactly from an end, however the integrand begins there. They are the same at either end.
_END = np.array([251.0, 897.0, 633.0, 739.0]) / 720.0
# Derivatives at the first two points of a grid from its first five, to fourth order; at the last
# two by reflection, with the other sign.
_EDGE = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0]]) / 12.0
# Where the product of the far words is looked at for its end, as parts of the way; it falls
# first slowly, then ever faster, and an end that is too far costs only cells.
_STEPS = (np.arange(1, 41) / 40.0) ** 2


@lru_cache(maxsize=16)
def _groups(near: int, n: int) -> tuple[IntArray, FloatArray]:
    """Last words of groups of far words, each about an eighth of what is nearer; their sizes."""
    count = math.ceil(math.log(n / near) / math.log(1.125)) + 1
    ends = np.unique(np.geomspace(near, n, count).astype(np.int64))
    return ends[1:] - 1, np.diff(ends).astype(np.float64)


def whole_ends(noises: Sequence[Noise], d: FloatArray, near: int) -> list[float]:
    """For each noise the u from which on Π S over the far words is negligible, or a larger one.

    Larger, because every word of a group counts as the last, the one with the largest S.
    """
    last, counts = _groups(near, d.size)
    places = [(noise, d[near] + (noise.end - d[near]) * _STEPS) for noise in noises]
    survival, _ = parts(d[last], places)
    fallen = (counts @ np.log(survival, out=survival)).reshape(len(noises), -1) < -_WHOLE_DEPTH
    return [
        float(u[row.argmax()]) if row.any() else noise.end
        for (noise, u), row in zip(places, fallen, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid from the first far word on, and the words on it."""

    start: float
    step: float
    counts: IntArray
    """Words of each cell."""
    place: FloatArray
    """Where in its cell each word is, 0 to 1."""

    @classmethod
    def of(cls, d: FloatArray, near: int, step: float, cells: int) -> Grid:
        """The words d[near:] as far as these cells reach."""
        start = float(d[near])
        edges = step * np.arange(cells + 1, dtype=np.float64)
        counts = np.diff(np.searchsorted(d[near:], start + edges))
        place = d[near : near + int(counts.sum())] - start
        place -= np.repeat(edges[:-1], counts)
        place *= 1.0 / step
        return cls(start, step, counts, place)

    @property
    def points(self) -> FloatArray:
        """The points of the grid, shape (cells + 1,)."""
        return self.start + self.step * np.arange(self.counts.size + 1, dtype=np.float64)

    @cached_property
    def spread(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The words on the points of the grid: Σ_j φ(d_j) ≈ Σ_m V_m φ(δ_m) + D_m φ'(δ_m)·step.

        Cubic Hermite interpolation of φ in each cell, which keeps moments up to the third: with
        x the place of a word in its cell, its two ends get 1 − 3x² + 2x³ and 3x² − 2x³ of φ, and
        x − 2x² + x³ and x³ − x² of φ'. So the moments Σ 1, x, x², x³ of every cell are all that is
        needed of its words. The last array is the part of D that belongs to the cell at the right
        of its point.
        """
        counts, place = self.counts, self.place
        # `reduceat` cannot sum over an empty range: only cells with words take part.
        full = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[full]
        moments = np.zeros((4, counts.size))
        moments[0] = counts
        power = place
        for row in moments[1:]:
            row[full] = np.add.reduceat(power, starts)
            power = power * place
        m0, m1, m2, m3 = moments
        values, slopes, right = np.zeros((3, counts.size + 1))
        rising = 3.0 * m2 - 2.0 * m3
        values[:-1] = m0 - rising
        values[1:] += rising
        right[:-1] = m3 - 2.0 * m2 + m1
        slopes[:] = right
        slopes[1:] += m3 - m2
        return values, slopes, right

    @cached_property
    def multiplicities(self) -> FloatArray:
        """c with Σ_j φ(d_j) ≈ Σ_m c_m φ(δ_m): `spread` with the derivatives of `_derivatives`.

        D·(A φ) = (Aᵀ D)·φ, so this applies the transpose of that difference formula to D.
        """
        # −1/12, 8/12, −8/12, 1/12 inside, as in `_derivatives`, and `_EDGE` at either end.
        values, slopes, _ = self.spread
        counts = values.copy()
        inner = slopes[2:-2] / 12.0
        counts[3:-1] += 8.0 * inner
        counts[1:-3] -= 8.0 * inner
        counts[4:] -= inner
        counts[:-4] += inner
        counts[:5] += slopes[:2] @ _EDGE
        counts[:-6:-1] -= slopes[:-3:-1] @ _EDGE
        return counts

    def interpolated(self, values: FloatArray) -> FloatArray:
        """From the points of the grid to its first words, up to where they are negligible.

        Cubic in each cell.
        """
        seen = np.flatnonzero(values > _UNSEEN)
        cells = min(self.counts.size, int(seen[-1]) + 1) if seen.size else 0
        cell = np.repeat(np.arange(cells), self.counts[:cells])
        place = self.place[: cell.size]
        # value + slope·x + second·x² + third·x³ with values and slopes of both ends of a cell.
        slopes = _derivatives(values)
        rise = np.diff(values)
        third = slopes[:-1] + slopes[1:] - 2.0 * rise
        second = rise - slopes[:-1] - third
        words = np.zeros(cell.size)
        for coefficient in (third, second, slopes, values):  # Horner's rule
            words *= place
            words += coefficient.take(cell)
        return words


def _derivatives(values: FloatArray) -> FloatArray:
    """Derivatives at the points of a grid of step 1, to fourth order."""
    slopes = np.empty_like(values)
    slopes[2:-2] = (8.0 * (values[3:-1] - values[1:-3]) - values[4:] + values[:-4]) / 12.0
    slopes[:2] = _EDGE @ values[:5]
    slopes[-2:] = -(_EDGE @ values[:-6:-1])[::-1]
    return slopes


@lru_cache(maxsize=16)
def _gregory(cells: int) -> FloatArray:
    """Weights of the grid and of every other point of it, steps of 1, shape (cells + 1, 2)."""
    weights = np.zeros((cells + 1, 2))
    for column, step in ((0, 1), (1, 2)):
        w = weights[:, column]
        w[::step] = step
        # At both ends; where the product has vanished the last ones do nothing.
        w[: 4 * step : step] *= _END
        w[: -4 * step - 1 : -step][:4] *= _END
    weights.setflags(write=False)
    return weights


def far_integrals(
    noises: Sequence[Noise], d: FloatArray, near: int, grid: Grid
) -> list[tuple[FloatArray, FloatArray, float]]:
    """The integrals of K = n over u from the first far word to the end of the grid.

    Returns:
        For each noise those of the near words; those of words at the points of the grid; the
        largest change of one of the near words on a grid of half as many cells.
    """
    u, h, size = grid.points, grid.step, grid.counts.size + 1
    places = [(noise, u) for noise in noises]
    # A row more: the first far word stands at the start of the grid. A word at the point m has the
    # same S and g, m points later, so this row is the kernel of both convolutions.
    survival, hazards = parts(d[: near + 1], places)
    kernels = np.log(survival[near])
    nearer = survival[:near].prod(axis=0)
    values, slopes, right = grid.spread
    weights = _gregory(size - 1)
    results = []
    for _, _, part in columns(places):
        hazard = hazards[near, part].copy()
        # ln Π S over the far words, from `spread`: d/dd of ln S(u − d) is the hazard there.
        total = np.convolve(values, kernels[part])[:size]
        total += h * np.convolve(slopes, hazard)[:size]
        # At u = d the slope has two values: 0 for words at the right, whose S is still 1, and the
        # hazard for those at the left. The convolution took the hazard for both.
        total -= (h * hazard[0]) * right
        product = h * np.exp(np.minimum(total, 0.0, out=total), out=total) * nearer[part]
        # The full grid and every other point of it: the difference tells if the grid is too coarse.
        both = hazards[:near, part] @ (product[:, None] * weights)
        doubt = float(np.abs(both[:, 0] - both[:, 1]).max())
        # ∫ over u from δ_m to the end of product(u)·g(u − δ_m), with end weights on either side,
        # for all m at once: a correlation.
        product[:-5:-1] *= _END
        hazard[:4] *= _END
        integrals = np.convolve(product[::-1], hazard)[size - 1 :: -1]
        results.append((both[:, 0], integrals, doubt))
    return results
