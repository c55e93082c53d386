"""Far words of the truncated Gumbel law on a uniform grid, for the term of the whole vocabulary.

A survival function depends on u − d alone. With the places u and the distances d of the far words
on one grid, both Σ_j ln S(u − c − d_j) and the integrals of all far words are convolutions, and
the kink at u = d lies on a grid point. The words on a grid are the same at every scale b, so
scales share grids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcore.mechanisms.gumbel.noise import FloatArray, Noise, parts, survivals

IntArray = NDArray[np.int64]

_WHOLE_DEPTH = 16.0  # e^−16 is 1e-7, for integrals of weight P(K = n)
_UNSEEN = 1e-9  # P(u_i | K = n) that counts as 0
# Gregory's weights at an end of a grid, and the derivatives at its first two points.
_END = np.array([251.0, 897.0, 633.0, 739.0]) / 720.0
_EDGE = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0]]) / 12.0


@lru_cache(maxsize=16)
def _groups(near: int, n: int) -> tuple[IntArray, FloatArray]:
    """Last words of groups of far words, each about an eighth of what is nearer; their sizes."""
    count = math.ceil(math.log(n / near) / math.log(1.125)) + 1
    ends = np.unique(np.geomspace(near, n, count).astype(np.int64))
    return ends[1:] - 1, np.diff(ends).astype(np.float64)


_STEPS = (np.arange(1, 41) / 40.0) ** 2


def whole_ends(noises: Sequence[Noise], d: FloatArray, near: int) -> list[float]:
    """For each noise the u from which on Π S over the far words is negligible, or a larger one."""
    last, counts = _groups(near, d.size)
    places = [(noise, d[near] + (noise.end - d[near]) * _STEPS) for noise in noises]
    survival = survivals(d[last], places)
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
        edges = self.step * np.arange(self.counts.size + 1, dtype=np.float64)
        return self.start + edges

    @cached_property
    def spread(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The words on the points of the grid: Σ_j φ(d_j) ≈ Σ_m V_m φ(δ_m) + D_m φ'(δ_m)·step.

        Cubic Hermite interpolation of φ in each cell, which keeps moments up to the third. The
        last array is the part of D that belongs to the cell at the right of its point.
        """
        counts, place = self.counts, self.place
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
        """c with Σ_j φ(d_j) ≈ Σ_m c_m φ(δ_m): `spread` with the derivatives of `_slopes`."""
        values, slopes, _ = self.spread
        found = values.copy()
        inner = slopes[2:-2] / 12.0
        found[3:-1] += 8.0 * inner
        found[1:-3] -= 8.0 * inner
        found[4:] -= inner
        found[:-4] += inner
        found[:5] += slopes[:2] @ _EDGE
        found[:-6:-1] -= slopes[:-3:-1] @ _EDGE
        return found

    def interpolated(self, values: FloatArray) -> FloatArray:
        """From the points of the grid to its first words, up to where they are negligible.

        Cubic in each cell.
        """
        seen = np.flatnonzero(values > _UNSEEN)
        cells = min(self.counts.size, int(seen[-1]) + 1) if seen.size else 0
        counts = self.counts[:cells]
        found = np.zeros(int(counts.sum()))
        place = self.place[: found.size]
        slopes = _slopes(values)
        rise = np.diff(values)
        third = slopes[:-1] + slopes[1:] - 2.0 * rise
        second = rise - slopes[:-1] - third
        cell = np.repeat(np.arange(cells), counts)
        for c in (third, second, slopes, values):
            found *= place
            found += c.take(cell)
        return found


def _slopes(values: FloatArray) -> FloatArray:
    """Derivatives at the points of a grid of step 1, to fourth order."""
    slopes = np.empty_like(values)
    slopes[2:-2] = (8.0 * (values[3:-1] - values[1:-3]) - values[4:] + values[:-4]) / 12.0
    slopes[:2] = _EDGE @ values[:5]
    slopes[-2:] = -(_EDGE @ values[:-6:-1])[::-1]
    return slopes


@lru_cache(maxsize=16)
def _gregory(cells: int) -> FloatArray:
    """Weights of the grid and of every other point of it, steps of 1, shape (cells + 1, 2)."""
    found = np.zeros((cells + 1, 2))
    for column, step in ((0, 1), (1, 2)):
        w = found[:, column]
        w[::step] = step
        # At both ends; where the product has vanished the last ones do nothing.
        w[: 4 * step : step] *= _END
        w[: -4 * step - 1 : -step][:4] *= _END
    found.setflags(write=False)
    return found


def far_integrals(
    noises: Sequence[Noise], d: FloatArray, near: int, grid: Grid
) -> list[tuple[FloatArray, FloatArray, float]]:
    """The integrals of K = n over u from the first far word to the end of the grid.

    Returns:
        For each noise those of the near words; those of words at the points of the grid; the
        largest change of one of the near words on a grid of half as many cells.
    """
    u, h, size = grid.points, grid.step, grid.counts.size + 1
    # A row more: the first far word stands at the start of the grid, its S is the kernel.
    survival, hazards = parts(d[: near + 1], [(noise, u) for noise in noises])
    kernels = np.log(survival[near])
    products = survival[:near].prod(axis=0)
    values, slopes, right = grid.spread
    weights = _gregory(size - 1)
    found = []
    for end in range(size, survival.shape[1] + 1, size):
        part = slice(end - size, end)
        hazard = hazards[near, part].copy()
        total = np.convolve(values, kernels[part])[:size]
        total += h * np.convolve(slopes, hazard)[:size]
        total -= (h * hazard[0]) * right  # a word right of u = d has no slope yet
        product = h * np.exp(np.minimum(total, 0.0, out=total), out=total) * products[part]
        both = hazards[:near, part] @ (product[:, None] * weights)
        product[:-5:-1] *= _END
        hazard[:4] *= _END
        integrals = np.convolve(product[::-1], hazard)[size - 1 :: -1]
        doubt = float(np.abs(both[:, 0] - both[:, 1]).max())
        found.append((both[:, 0], integrals, doubt))
    return found
