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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.mechanisms.gumbel.grid import Grid, far_integrals, whole_ends
from dpcore.mechanisms.gumbel.noise import FloatArray, Noise, nodes, noise_of, parts

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
    share = float(weights[-1])
    heads = list(_near_integrals(noises, d, weights[:used], near))
    found: list[FastLaw | None] = [
        FastLaw(few + share * whole, share, d[:0], None) for few, whole in heads
    ]
    far = [i for i, noise in enumerate(noises) if near < d.size and d[near] < noise.end]
    if not (far and share > 0):
        return found
    stops = whole_ends([noises[i] for i in far], d, near)
    todo = [(i, *_cells(s - float(d[near]), noises[i])) for i, s in zip(far, stops, strict=True)]
    while todo:
        again = []
        for (step, cells), chosen in _alike(todo).items():
            grid = Grid.of(d, near, step, cells)
            results = far_integrals([noises[i] for i in chosen], d, near, grid)
            for i, (head, values, change) in zip(chosen, results, strict=True):
                few, before = heads[i]
                whole = before + head
                astray = abs(float(whole.sum()) + float(grid.multiplicities @ values) - 1.0)
                if share * change < _DOUBT and share * astray < _ASTRAY:
                    found[i] = FastLaw(few + share * whole, share, values, grid)
                elif 4 * cells > _MOST:
                    found[i] = None
                else:
                    again.append((i, step / 4.0, 4 * cells))
        todo = again
    return found


def grouped_laws(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> tuple[FloatArray, FloatArray] | None:
    """Probabilities p and multiplicities c, for sums over the law: Σ_y φ(P(y)) = Σ c·φ(p).

    Words near by come first, each by itself, as in `fast_laws`; words far away, whose
    probability is a smooth function of the distance, are taken together, and their multiplicities
    are no whole numbers. Words that cannot be seen are missing: φ(0) must be 0.

    Args:
        d: sorted distances, d[0] = 0, shape (n,).
        weights: P(K = k) for k = 1..n, shape (n,).
        scales: noise scales b, (E,) of them.
        bound: C, at least d[-1].

    Returns:
        Both of shape (E, m), filled up with zeros; None if the fast route does not vouch for a
        law, and only all words one by one will do.
    """
    rows = [None if law is None else law.grouped() for law in fast_laws(d, weights, scales, bound)]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    found = np.zeros((2, len(known), max(p.size for p, _ in known)))
    for i, (p, c) in enumerate(known):
        found[0, i, : p.size] = p
        found[1, i, : c.size] = c
    return found[0], found[1]


def _cells(length: float, noise: Noise) -> tuple[float, int]:
    """Step and number of cells for this length, at least: a power of 2, so that scales agree."""
    most = max(length / (_CELL * noise.scale), _FEWEST)
    cells = 2 ** math.ceil(math.log2(most))
    return 2.0 ** math.ceil(math.log2(length / cells)), cells


def _alike(todo: list[tuple[int, float, int]]) -> dict[tuple[float, int], list[int]]:
    """Which scales share a grid."""
    found: dict[tuple[float, int], list[int]] = {}
    for i, step, cells in todo:
        found.setdefault((step, cells), []).append(i)
    return found


def _quadrature(noise: Noise, d: FloatArray, near: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the near words."""
    first = min(float(d[near]), noise.end) if near < d.size else noise.end
    kinks = d[1:near] if noise.kinked else d[:0]
    if near == d.size:  # behind the last kink the product of all falls steeply
        kinks = np.append(kinks, d[-1] + (first - d[-1]) * _STEEP)
    ends = [first, noise.end] if first < noise.end else [first]
    return nodes(noise, np.concatenate(([0.0], kinks[kinks < first], ends)), d[:near])


def _near_integrals(
    noises: Sequence[Noise], d: FloatArray, weights: FloatArray, near: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The terms of K < n, and the integral of K = n up to the first far word, for each noise.

    Both of shape (near,).
    """
    known: dict[tuple[bool, float, float], tuple[FloatArray, FloatArray]] = {}
    first = float(d[near]) if near < d.size else math.inf
    used = weights.size
    step = max(1, _BLOCK // (150 * near))
    for start in range(0, len(noises), step):
        block = noises[start : start + step]
        rules = []
        for noise in block:
            key = (noise.kinked, noise.widest, noise.end)
            if key not in known:
                known[key] = _quadrature(noise, d, near)
            rules.append(known[key])
        u = [places for places, _ in rules]
        survival, hazard = parts(d[:near], list(zip(block, u, strict=True)))
        products = np.cumprod(survival, axis=0, out=survival)
        every = products[-1].copy()
        terms = products[:used]
        terms *= weights[:, None]
        np.cumsum(terms[::-1], axis=0, out=terms[::-1])
        terms *= hazard[:used]
        end = 0
        for places, w in rules:
            part = slice(end, end := end + w.size)
            few = np.zeros(near)
            few[:used] = terms[:, part] @ w
            yield few, hazard[:, part] @ (w * every[part] * (places < first))
