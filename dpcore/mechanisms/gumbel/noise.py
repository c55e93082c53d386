"""Truncated Gumbel noise as tables of S and g = f/S, and the nodes of integrals against it.

Places are u = t + c, where −c is the place below which no survival function differs from 1: all
integrals of the law start at u = 0, and the word at distance d has its kink at u = d.

With X = e^{−t/b} the noise t is a unit exponential number conditioned to [e^{−C/b}, e^{C/b}], so
with z = e^{−t/b} − e^{−C/b} and the kept mass μ = 1 − e^{−z(−C)}

    S = (1 − e^{−z})/μ,    f = X·e^{−z}/(b·μ),    g = f/S = X/b·(1/(1 − e^{−z}) − 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpcore.arrays import FloatArray, IntArray

# Where X passes 32 the survival function differs from 1 by e^−32 = 1e-14: integrals begin there,
# and a kink that lies still lower is not visible.
_FULL_TAIL = 32.0
# At t = 26b X is e^−26 = 5e-12, and S is no larger: integrals end there.
_DEPTH = 26.0
_FLATTEST = 1e13  # b/C from which on the law is that of uniform noise
_STABLE = 0.01  # below this C/b, z is so small that 1 − e^−z and X − e^{−C/b} would cancel
_FARTHEST = 600.0  # d/b beyond it would overflow; S at such a word is 1 long before
_LEAST = 1e-200  # S is never 0, so that it may divide and have a logarithm

# Panels narrower than this part of the widest are empty: equal distances make equal kinks.
_EMPTY = 1e-12
# Gauss–Legendre rules by the hardness of a panel, see `nodes`. Two nodes leave h⁵/4320 of the
# fourth derivative, 7e-13 at h = 0.02 scales; the others are better still up to their limits, which
# leaves room for products of many S.
_RULES = tuple(
    (limit, *np.polynomial.legendre.leggauss(m))
    for limit, m in ((0.02, 2), (0.12, 4), (0.5, 7), (math.inf, 11))
)
# The product of k survival functions has k times the slope of one: after so many words a panel is
# twice as hard.
_CROWD = 100.0

Rules = Sequence[tuple[float, FloatArray, FloatArray]]
"""Limits of the hardness, ascending, and the nodes and weights on [−1, 1] up to each."""


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
        """True if the jump of the density at −C, of size e^{−e^{C/b}}, is visible."""
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
        """μ, the probability that plain Gumbel noise is above −C, given that it is below C."""
        return -math.expm1(-self.most)

    @cached_property
    def widest(self) -> float:
        """Widest panel: at most b and C/2.

        Scales with visible kinks share a few values of it, so that they can share their nodes.
        """
        if self.kinked:
            return 2.0 * self.bound / max(4, math.ceil(2.0 * self.ratio))
        return min(self.scale, 0.5 * self.bound)

    @cached_property
    def flat(self) -> bool:
        """True if differences would cancel."""
        return self.ratio < _STABLE

    def fill(self, d: FloatArray, u: FloatArray, z: FloatArray) -> None:
        """Put z at u − c − d into an array of shape (m, T)."""
        t = u - self.reach
        away = np.minimum(d / self.scale, _FARTHEST)
        # e^{(d−t)/b} is a product of two vectors: m + T exponentials and not m·T.
        if self.flat:
            # e^{−C/b}·((e^{d/b} − 1)·e^{(C−t)/b} + (e^{(C−t)/b} − 1)): no term is negative.
            np.multiply.outer(np.expm1(away), np.exp((self.bound - t) / self.scale), out=z)
            z += np.expm1((self.bound - t) / self.scale)
            z *= self.lowest
        else:
            np.multiply.outer(np.exp(away), np.exp(-t / self.scale), out=z)
            z -= self.lowest


@lru_cache(maxsize=256)
def noise_of(b: float, bound: float) -> Noise:
    """Return the noise with this scale and bound, cached with its constants."""
    return Noise(min(b, _FLATTEST * bound), bound)


Places = Sequence[tuple[Noise, FloatArray]]
"""Several noises, each with the places u where it is evaluated."""


def columns(places: Places) -> Iterator[tuple[Noise, FloatArray, slice]]:
    """Yield each noise, its places, and its columns in a table of all of them."""
    end = 0
    for noise, u in places:
        yield noise, u, slice(end, end := end + u.size)


def parts(d: FloatArray, places: Places) -> tuple[FloatArray, FloatArray]:
    """Return S and g at u − c − d, shape (m, ΣT): one group of columns for each noise."""

    def each(constants: list[float]) -> FloatArray:
        """Return a constant of the noise for every column."""
        return np.repeat(constants, [u.size for _, u in places])

    # All noises in one table: a call of NumPy costs as much as the few hundred numbers of one.
    z = np.empty((d.size, sum(u.size for _, u in places)))
    survival = np.empty_like(z)
    for noise, u, part in columns(places):
        noise.fill(d, u, z[:, part])
    np.exp(np.negative(z, out=survival), out=survival)
    np.subtract(1.0, survival, out=survival)
    for noise, _, part in columns(places):
        if noise.flat:
            survival[:, part] = -np.expm1(-z[:, part])
    mass = each([noise.mass for noise, _ in places])
    np.maximum(survival, _LEAST * mass, out=survival)
    kinked = any(noise.kinked for noise, _ in places)
    hazard = np.divide(1.0, survival)
    hazard -= 1.0
    if kinked:
        # Left of the kink z is above its value at −C, and the density is 0. At the kink itself it
        # is not: integrals begin there.
        hazard[z > each([noise.most for noise, _ in places]) * (1.0 + 1e-12)] = 0.0
    z += each([noise.lowest for noise, _ in places])
    hazard *= z
    hazard *= 1.0 / each([noise.scale for noise, _ in places])
    if kinked:  # from S·μ to S, 1 left of the kink; without one μ is 1
        survival *= 1.0 / mass
        np.minimum(survival, 1.0, out=survival)
    return survival, hazard


# -- panels and nodes ---------------------------------------------------------------------------


def divided(edges: FloatArray, pieces: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return starts and widths of panels; the one between edges i and i + 1 gives pieces[i].

    The pieces are equal.
    """
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = np.repeat(np.diff(edges) / pieces, pieces)
    return np.repeat(edges[:-1], pieces) + width * (np.arange(first.size) - first), width


def gauss(
    start: FloatArray, width: FloatArray, hardness: FloatArray, rules: Rules
) -> tuple[FloatArray, FloatArray]:
    """Return Gauss–Legendre nodes and weights, the rule of each panel chosen by its hardness."""
    half = 0.5 * width
    middle = start + half
    points, weights = [start[:0]], [start[:0]]
    easier = _EMPTY
    for limit, x, w in rules:
        chosen = np.flatnonzero((hardness >= easier) & (hardness < limit))
        easier = limit
        if chosen.size:
            points.append((np.multiply.outer(half[chosen], x) + middle[chosen][:, None]).ravel())
            weights.append(np.multiply.outer(half[chosen], w).ravel())
    return np.concatenate(points), np.concatenate(weights)


def nodes(noise: Noise, edges: FloatArray, words: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights between ascending edges.

    More nodes in a wider panel, and where many of these words multiply their S: left of its kink
    the S of a word is 1, so only those to the left of the panel count.
    """
    # The widest panel has hardness 1, for which the rule of 11 nodes is meant.
    pieces = np.maximum(np.ceil(np.diff(edges) / noise.widest), 1.0).astype(np.int64)
    start, width = divided(edges, pieces)
    hardness = width / noise.widest
    if noise.kinked:
        hardness *= 1.0 + np.searchsorted(words, start, side="right") / _CROWD
    return gauss(start, width, hardness, _RULES)
