"""The truncated Gumbel law in probabilities, many scales of one word at a time.

The integrals of `truncated_gumbel_law` with u = t + c, where −c is the place below which no
survival function differs from 1, and with the hazard g = f/S:

    P(u_i) = ∫ g(u − c − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k} S(u − c − d_j) du,    u > d_i.

The counts k < n involve a few nearest words only. The term of the whole vocabulary has weight
π_n ≈ 1/n, so it bears a larger error. Up to the first far word it shares the nodes of the other
terms; from there on it is computed on a grid (`truncated_gumbel_grid`), refined until half as
many cells would do and the probabilities sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.mechanisms.truncated_gumbel_grid import Grid, far_integrals, whole_ends
from dpcore.mechanisms.truncated_gumbel_noise import FloatArray, Noise, nodes, noise_of, parts

_LEFT_OUT = 4e-12  # mass of the counts that are left out
_MOST_CANDIDATES = 80
_NEAR = 40  # words that are not put on the grid, at least
_NEAR_TIMES_WORDS = 50_000  # and more in a smaller vocabulary
_CELL = 0.04  # width of a grid cell in units of b, at most
_FEWEST, _MOST = 128, 8192  # cells, powers of 2
_DOUBT = 2e-10  # by how much a probability may change from cells of twice the width
_ASTRAY = 1e-8  # by how much the sum of the probabilities may differ from 1
_STEEP = np.array([1 / 128, 1 / 32, 1 / 12, 1 / 4])  # panels behind the last kink of all words
_BLOCK = 60_000  # entries of an array of words and nodes, for the processor's cache


@dataclass(frozen=True, eq=False)
class FastLaw:
    """P(u_i) of near words one by one, and of far words as a function of the distance."""

    near: FloatArray
    """Probabilities of the nearest words, in the order of their distances."""
    share: float
    """P(K = n), the weight of what follows."""
    far: FloatArray
    """P(u | K = n) of a word at each point of the grid; empty without far words."""
    grid: Grid | None

    def dense(self, n: int) -> FloatArray:
        """P(u_i) of all n words."""
        law = np.zeros(n)
        law[: self.near.size] = self.near
        if self.grid is not None:
            far = self.grid.interpolated(self.far)
            np.maximum(far, 0.0, out=far)
            np.multiply(self.share, far, out=law[self.near.size : self.near.size + far.size])
        return law

    def grouped(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities p and multiplicities c: Σ_y φ(P(y)) = Σ c·φ(p) over the seen words.

        The near words come first, with multiplicity 1. Those of far words are no whole numbers:
        they interpolate φ(P) between the points of the grid.
        """
        if self.grid is None:
            return self.near, np.ones(self.near.size)
        counts = np.ones(self.near.size + self.far.size)
        counts[self.near.size :] = self.grid.multiplicities
        return np.concatenate((self.near, self.share * self.far)), counts


def _candidates(weights: FloatArray) -> int:
    """How many nearest words the counts below n involve, −1 if too many."""
    head = weights[: min(_MOST_CANDIDATES, weights.size - 1)]
    if float(weights[head.size : -1].sum()) > 0.5 * _LEFT_OUT:
        return -1
    return int((np.cumsum(head[::-1]) > 0.5 * _LEFT_OUT).sum())


def fast_laws(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> list[FastLaw | None]:
    """The law at each scale; None where this route cannot vouch for its error.

    Args:
        d: sorted distances, d[0] = 0, shape (n,).
        weights: P(K = k) for k = 1..n, shape (n,).
        scales: noise scales b.
        bound: C, at least d[-1].
    """
    used = _candidates(weights)
    if used < 0:
        return [None] * len(scales)
    near = min(max(_NEAR, used, _NEAR_TIMES_WORDS // d.size), d.size)
    noises = [noise_of(b, bound) for b in scales]
    quadrature = _quadrature(noises, d, near)
    share = float(weights[-1])
    heads, wholes = _near_integrals(noises, quadrature, d, weights, near, used)
    far = [i for i, noise in enumerate(noises) if near < d.size and d[near] < noise.end]
    found: list[FastLaw | None] = [
        FastLaw(head + share * whole, share, d[:0], None)
        for head, whole in zip(heads, wholes, strict=True)
    ]
    if not (far and share > 0):
        return found
    stops = whole_ends([noises[i] for i in far], d, near)
    todo = [
        (i, *_cells(stop - float(d[near]), noises[i])) for i, stop in zip(far, stops, strict=True)
    ]
    grids: dict[tuple[float, int], Grid] = {}
    while todo:
        again = []
        for (step, cells), chosen in _alike(todo, _BLOCK // near).items():
            pass
    return found
