"""Far words of the truncated Gumbel law on a uniform grid, for the term of the whole vocabulary.

A survival function depends on u − d alone. With the places u and the distances d of the far words
on one grid, both Σ_j ln S(u − c − d_j) and the integrals of all far words are convolutions, and
the kink at u = d lies on a grid point.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcore.mechanisms.truncated_gumbel_noise import FloatArray, Noise

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


def whole_end(noise: Noise, d: FloatArray, near: int) -> float:
    """u from which on Π S over the far words is negligible (at most too large)."""
    last, counts = _groups(near, d.size)
    u = d[near] + (noise.end - d[near]) * (np.arange(1, 41) / 40.0) ** 2
    survival, _ = noise.parts(d[last], u)
    fallen = np.flatnonzero(counts @ np.log(survival) < -_WHOLE_DEPTH)
    return float(u[fallen[0]]) if fallen.size else noise.end


def _spread(
    place: FloatArray, counts: IntArray, h: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Far words on the points of the grid: Σ_j φ(d_j) ≈ Σ_m V_m φ(δ_m) + D_m φ'(δ_m).

    Cubic Hermite interpolation of φ in each cell, which keeps moments up to the third. The last
    array is the part of D that belongs to the cell at the right of its point.
    """
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
    right[:-1] = h * (m3 - 2.0 * m2 + m1)
    slopes[:] = right
    slopes[1:] += h * (m3 - m2)
    return values, slopes, right


def far_integrals(
    noise: Noise, d: FloatArray, near: int, stop: float, cells: int
) -> tuple[FloatArray, FloatArray, float]:
    """The integrals of K = n over u from the first far word to `stop`.

    Returns:
        Those of the near words; those of the first far words, up to where they are negligible;
        the largest change of one of the near words on a grid of half as many cells.
    """
    start = float(d[near])
    h = (stop - start) / cells
    steps = h * np.arange(cells + 1, dtype=np.float64)
    counts = np.diff(np.searchsorted(d[near:], start + steps))
    place = d[near : near + int(counts.sum())] - start
    place -= np.repeat(steps[:-1], counts)
    place *= 1.0 / h
    values, slopes, right = _spread(place, counts, h)
    survival, hazard = noise.parts(np.zeros(1), steps)
    kernel, hazard = np.log(survival[0]), hazard[0]
    total = np.convolve(values, kernel)[: cells + 1]
    total += np.convolve(slopes, hazard)[: cells + 1]
    total -= right * hazard[0]  # a word right of u = d has no slope yet
    survival, hazards = noise.parts(d[:near], start + steps)
    product = survival.prod(axis=0)
    product *= np.exp(np.minimum(total, 0.0), out=total)
    # The ends of the grid; where the product has vanished the last ones do nothing.
    weights, coarse = np.full(cells + 1, h), np.zeros(cells + 1)
    coarse[::2] = 2.0 * h
    for w, step in ((weights, 1), (coarse, 2)):
        w[: 4 * step : step] *= _END
        w[: -4 * step - 1 : -step][:4] *= _END
    both = hazards @ (product * np.stack((weights, coarse))).T
    product *= h
    product[:-5:-1] *= _END
    hazard[:4] *= _END
    integrals = np.convolve(product[::-1], hazard)[cells::-1]
    doubt = float(np.abs(both[:, 0] - both[:, 1]).max())
    return both[:, 0], _interpolated(integrals, counts, place), doubt


def _interpolated(values: FloatArray, counts: IntArray, place: FloatArray) -> FloatArray:
    """Interpolation from the points of the grid to the words, cubic in each cell."""
    seen = np.flatnonzero(values > _UNSEEN)
    cells = min(counts.size, int(seen[-1]) + 1) if seen.size else 0
    counts = counts[:cells]
    found = np.zeros(int(counts.sum()))
    place = place[: found.size]
    slopes = np.empty_like(values)
    slopes[2:-2] = (8.0 * (values[3:-1] - values[1:-3]) - values[4:] + values[:-4]) / 12.0
    slopes[:2] = _EDGE @ values[:5]
    slopes[-2:] = -(_EDGE @ values[:-6:-1])[::-1]
    rise = np.diff(values)
    third = slopes[:-1] + slopes[1:] - 2.0 * rise
    second = rise - slopes[:-1] - third
    cell = np.repeat(np.arange(cells), counts)
    for c in (third, second, slopes, values):
        found *= place
        found += c.take(cell)
    return found
