"""Truncated Gumbel noise in log space, and the panels and nodes of integrals against it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.noise.gumbel import log1mexp

FloatArray = NDArray[np.float64]

SEEN_DEPTH = 45.0
"""e^−45 is below 1e-19: an integrand that small does nothing."""
LOG_DEPTH = 700.0
"""e^−700 is next to underflow."""
_FULL_TAIL = 60.0  # where e^{−t/b} passes this, no survival function differs from 1
_MERGED = 1e-12  # kinks closer than this part of the widest panel are one kink


@dataclass(frozen=True)
class TruncatedNoise:
    """Gumbel(0, b) on [−C, C].

    Attributes:
        scale: b.
        bound: C.
    """

    scale: float
    bound: float

    @property
    def ratio(self) -> float:
        """C/b."""
        return self.bound / self.scale

    @property
    def kinked(self) -> bool:
        """Whether the jump of the density at −C, of size e^{−e^{C/b}}, can be seen."""
        return self.ratio < math.log(LOG_DEPTH)

    @property
    def bins(self) -> int:
        """Least number of bins of far words: fewer where the kink is faint, 0 without one."""
        if not self.kinked:
            return 0
        return 96 if self.ratio < math.log(8.0) else 24

    def log_parts(self, t: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ln S(t − d) and ln f(t − d), shape (T, m)."""
        b, c = self.scale, self.bound
        away = np.minimum(d / b, LOG_DEPTH)
        if self.ratio < 30.0:
            # z = e^{(d−t)/b} − e^{−C/b} as a sum of positive terms: accurate also for b ≫ C.
            p, q = np.expm1(away), np.expm1((c - t) / b)
            z = np.multiply.outer(q, p + 1.0)
            z += p
            z *= math.exp(-self.ratio)
            mass = float(log1mexp(np.asarray(2.0 * math.sinh(self.ratio))))
        else:
            z = np.multiply.outer(np.exp(-t / b), np.exp(away))
            mass = 0.0
        survival = np.log(-np.expm1(-z))
        survival -= mass
        density = np.subtract.outer(-t / b, -d / b)
        density -= z
        density -= math.log(b) + mass
        if self.kinked:
            before = t[:, None] < d - c
            survival[before] = 0.0
            density[before] = -math.inf
        return survival, density

    def window(self, farthest: float) -> tuple[float, float]:
        """Where an integrand of words up to this distance is not negligible."""
        low = -self.scale * math.log(_FULL_TAIL)
        high = farthest + SEEN_DEPTH * self.scale
        return max(-self.bound, low), min(self.bound, high)

    @property
    def widest(self) -> float:
        """The widest panel."""
        return min(0.5 * self.scale, 0.25 * self.bound)

    def panels(self, low: float, high: float, points: FloatArray) -> FloatArray:
        """Ascending panel ends from low to high, at every kink that can be seen."""
        kinks = points - self.bound if self.kinked else points[:0]
        gap = _MERGED * self.widest
        inside = np.unique(kinks[(kinks > low + gap) & (kinks < high - gap)])
        if inside.size:
            inside = inside[np.diff(inside, prepend=-math.inf) > gap]
        edges = np.concatenate(([low], inside, [high]))
        return divided(edges, np.ceil(np.diff(edges) / self.widest).astype(np.int64))


def divided(edges: FloatArray, pieces: NDArray[np.int64]) -> FloatArray:
    """Panel ends with panel i cut into pieces[i] equal ones."""
    start = np.repeat(edges[:-1], pieces)
    width = np.repeat(np.diff(edges) / pieces, pieces)
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(start + width * (np.arange(start.size) - first), edges[-1])


_RULES = [(h, np.polynomial.legendre.leggauss(m)) for h, m in ((0.05, 3), (0.3, 5), (9.9, 8))]


def panel_nodes(edges: FloatArray, hardness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights: 3, 5 or 8 in a panel, by how hard it is (0 to 1)."""
    width = np.diff(edges)
    nodes, weights = [], []
    easier = 0.0
    for limit, (x, w) in _RULES:
        chosen = (hardness >= easier) & (hardness < limit)
        easier = limit
        half = 0.5 * width[chosen]
        nodes.append((np.multiply.outer(half, x) + (edges[:-1][chosen] + half)[:, None]).ravel())
        weights.append(np.multiply.outer(half, w).ravel())
    return np.concatenate(nodes), np.concatenate(weights)


def log_sum(exponents: FloatArray, weights: FloatArray) -> FloatArray:
    """ln Σ_t w_t e^{exponents[t, i]} for each column."""
    top = exponents.max(axis=0)
    top[~np.isfinite(top)] = 0.0
    exponents -= top
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights @ np.exp(exponents, out=exponents)) + top)
