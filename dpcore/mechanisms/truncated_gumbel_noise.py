"""Survival function and hazard of truncated Gumbel noise as tables, and nodes to integrate them.

Places are u = t + c, where −c is the place below which no survival function differs from 1: all
integrals of the law start at u = 0, and the word at distance d has its kink at u = d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_FULL_TAIL = 32.0  # where e^{−t/b} passes this, S = 1 − e^−32
_DEPTH = 26.0  # e^−26 is below 6e-12: where integrals end
_FLATTEST = 1e13  # b/C from which on the law is that of uniform noise
_STABLE = 0.01  # below this C/b, 1 − e^−z would cancel
_CROWD = 100.0  # words after which panels must be half as wide
_RULES = [
    (h, np.polynomial.legendre.leggauss(m))
    for h, m in ((0.02, 2), (0.12, 4), (0.5, 7), (math.inf, 11))
]


@dataclass(frozen=True)
class Noise:
    """Gumbel(0, b) on [−C, C]."""

    scale: float
    bound: float

    @cached_property
    def ratio(self) -> float:
        """C/b."""
        return self.bound / self.scale

    @cached_property
    def reach(self) -> float:
        """c: S is 1 below −c."""
        return min(self.bound, self.scale * math.log(_FULL_TAIL))

    @cached_property
    def kinked(self) -> bool:
        """Whether the jump of the density at −C, of size e^{−e^{C/b}}, can be seen."""
        return self.reach == self.bound

    @cached_property
    def end(self) -> float:
        """Largest u: beyond, the survival function of the word itself is negligible."""
        return self.reach + min(self.bound, _DEPTH * self.scale)

    @cached_property
    def lowest(self) -> float:
        """e^{−C/b}."""
        return math.exp(-self.ratio)

    @cached_property
    def most(self) -> float:
        """z at −C, ∞ without a kink."""
        return 2.0 * math.sinh(self.ratio) if self.kinked else math.inf

    @cached_property
    def mass(self) -> float:
        """The probability that plain Gumbel noise is above −C, given that it is below C."""
        return -math.expm1(-self.most)

    def parts(self, d: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """S and g at u − c − d, shape (m, T)."""
        t = u - self.reach
        away = np.minimum(d / self.scale, 600.0)
        # z = e^{(d−t)/b} − e^{−C/b}, f = e^{(d−t)/b − z}/(b·mass), S = (1 − e^−z)/mass.
        if self.ratio < _STABLE:
            p = np.expm1(away)[:, None]
            z = p * np.exp((self.bound - t) / self.scale)
            z += np.expm1((self.bound - t) / self.scale)
            z *= self.lowest
            survival = np.expm1(-z)
            np.negative(survival, out=survival)
        else:
            z = np.multiply.outer(np.exp(away), np.exp(-t / self.scale))
            z -= self.lowest
            survival = np.exp(-z)
            np.subtract(1.0, survival, out=survival)
        np.maximum(survival, 1e-200 * self.mass, out=survival)
        hazard = z + self.lowest
        hazard *= 1.0 / survival - 1.0
        hazard *= 1.0 / self.scale
        if self.kinked:
            hazard[z > self.most * (1.0 + 1e-12)] = 0.0
            survival *= 1.0 / self.mass
            np.minimum(survival, 1.0, out=survival)
        return survival, hazard


@lru_cache(maxsize=256)
def noise_of(b: float, bound: float) -> Noise:
    """The noise with this scale and bound; what depends on them alone is computed once."""
    return Noise(min(b, _FLATTEST * bound), bound)


def nodes(noise: Noise, edges: FloatArray, words: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights between ascending edges.

    More of them in a wider panel, and where many of these words multiply their S.
    """
    width = np.diff(edges)
    widest = min(noise.scale, 0.5 * noise.bound)
    pieces = np.maximum(np.ceil(width / widest), 1.0).astype(np.int64)
    if pieces.max() > 1:
        first = np.repeat(np.cumsum(pieces) - pieces, pieces)
        start, width = np.repeat(edges[:-1], pieces), np.repeat(width / pieces, pieces)
        start = start + width * (np.arange(start.size) - first)
    else:
        start = edges[:-1]
    half = 0.5 * width
    middle = start + half
    relative = width / widest
    if noise.kinked:
        relative *= 1.0 + np.searchsorted(words, start, side="right") / _CROWD
    points, weights = [start[:0]], [start[:0]]
    easier = 1e-12
    for limit, (x, w) in _RULES:
        chosen = np.flatnonzero((relative >= easier) & (relative < limit))
        easier = limit
        if chosen.size:
            part = half[chosen]
            points.append((np.multiply.outer(part, x) + middle[chosen][:, None]).ravel())
            weights.append(np.multiply.outer(part, w).ravel())
    return np.concatenate(points), np.concatenate(weights)
