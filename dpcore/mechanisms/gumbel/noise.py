"""Survival function and hazard of truncated Gumbel noise as tables, and nodes to integrate them.

Places are u = t + c, where −c is the place below which no survival function differs from 1: all
integrals of the law start at u = 0, and the word at distance d has its kink at u = d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    @cached_property
    def widest(self) -> float:
        """Widest panel: at most b and C/2. Scales with visible kinks share a few values."""
        if self.kinked:
            return 2.0 * self.bound / max(4, math.ceil(2.0 * self.ratio))
        return min(self.scale, 0.5 * self.bound)

    def fill(self, d: FloatArray, u: FloatArray, z: FloatArray) -> None:
        """Put z at u − c − d into an array of shape (m, T)."""
        t = u - self.reach
        away = np.minimum(d / self.scale, 600.0)
        # z = e^{(d−t)/b} − e^{−C/b}, f = e^{(d−t)/b − z}/(b·mass), S = (1 − e^−z)/mass.
        if self.flat:
            np.multiply.outer(np.expm1(away), np.exp((self.bound - t) / self.scale), out=z)
            z += np.expm1((self.bound - t) / self.scale)
            z *= self.lowest
        else:
            np.multiply.outer(np.exp(away), np.exp(-t / self.scale), out=z)
            z -= self.lowest

    @cached_property
    def flat(self) -> bool:
        """Whether 1 − e^−z would cancel."""
        return self.ratio < _STABLE


Places = Sequence[tuple[Noise, FloatArray]]
"""Several noises, each with the places u where it is looked at."""


def _unscaled(d: FloatArray, places: Places) -> tuple[FloatArray, FloatArray]:
    """S·mass and z at u − c − d, shape (m, ΣT), also where S is 1."""
    z = np.empty((d.size, sum(u.size for _, u in places)))
    survival = np.empty_like(z)
    end = 0
    for noise, u in places:
        part = slice(end, end := end + u.size)
        noise.fill(d, u, z[:, part])
    np.exp(np.negative(z, out=survival), out=survival)
    np.subtract(1.0, survival, out=survival)
    end = 0
    for noise, u in places:
        part = slice(end, end := end + u.size)
        if noise.flat:
            survival[:, part] = -np.expm1(-z[:, part])
    np.maximum(survival, 1e-200 * _columns(places, "mass"), out=survival)
    return survival, z


def _scale(survival: FloatArray, places: Places) -> None:
    """From S·mass to S."""
    if any(noise.kinked for noise, _ in places):
        survival *= 1.0 / _columns(places, "mass")
        np.minimum(survival, 1.0, out=survival)


def survivals(d: FloatArray, places: Places) -> FloatArray:
    """S at u − c − d, shape (m, ΣT): one group of columns for each noise."""
    survival, _ = _unscaled(d, places)
    _scale(survival, places)
    return survival


def parts(d: FloatArray, places: Places) -> tuple[FloatArray, FloatArray]:
    """S and g at u − c − d, shape (m, ΣT): one group of columns for each noise."""
    survival, z = _unscaled(d, places)
    hazard = np.divide(1.0, survival)
    hazard -= 1.0
    if any(noise.kinked for noise, _ in places):
        hazard[z > _columns(places, "most") * (1.0 + 1e-12)] = 0.0
    z += _columns(places, "lowest")
    hazard *= z
    hazard *= 1.0 / _columns(places, "scale")
    _scale(survival, places)
    return survival, hazard


def _columns(places: Places, name: str) -> FloatArray:
    """A constant of the noise for every column."""
    return np.repeat([getattr(noise, name) for noise, _ in places], [u.size for _, u in places])


@lru_cache(maxsize=256)
def noise_of(b: float, bound: float) -> Noise:
    """The noise with this scale and bound; what depends on them alone is computed once."""
    return Noise(min(b, _FLATTEST * bound), bound)


def nodes(noise: Noise, edges: FloatArray, words: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights between ascending edges.

    More of them in a wider panel, and where many of these words multiply their S.
    """
    width = np.diff(edges)
    widest = noise.widest
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
