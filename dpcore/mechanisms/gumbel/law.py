"""The output law of the truncated Gumbel mechanism in probabilities, many noise scales at a time.

With d_1 ≤ … ≤ d_n the sorted distances, g_j i.i.d. noise with density f and survival function S,
and π_k = P(K = k), the output is u_i, the minimiser of d_j + g_j over j ≤ K, with probability

    P(u_i) = ∫ f(t − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j) dt.

With the hazard g = f/S the factor j = i comes back into the product, which is then the same for
all i, and with u = t + c (`noise`) every integral begins at the kink u = d_i:

    P(u_i) = ∫ g(u − c − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k} S(u − c − d_j) du,    u > d_i.

The counts k < n involve a few nearest words only. The term of the whole vocabulary has weight
π_n ≈ 1/n, so it bears a larger error. Up to the first far word it shares the nodes of the other
terms; from there on it is computed on a grid (`far_words`), refined until half as many cells would
do and the probabilities sum to 1. Where that does not succeed, or where logarithms of probabilities
are wanted that may underflow, `log_law` takes over.

All functions here take the same: d, the sorted distances, d[0] = 0, shape (n,); `weights`,
P(K = k) for k = 1..n, shape (n,); noise scales b; `bound`, C ≥ d[-1], ∞ allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms.gumbel.far_words import Grid, far_integrals, whole_ends
from dpcore.mechanisms.gumbel.log_law import log_law_from_distances
from dpcore.mechanisms.gumbel.noise import Noise, columns, nodes, noise_of, parts
from dpcore.noise.gumbel import check_truncated

ABSOLUTE_ERROR = 1e-9
"""Bound on the error of a probability of `law_from_distances`, verified by the tests."""

_LEFT_OUT = 4e-12  # mass of the counts that are left out: far below the error of the integrals
_MOST_CANDIDATES = 80  # ln n is 11 for 50,000 words, and a count of 80 rarer than 1e-12
_NEAR = 40  # words that are not put on the grid, at least
# And more in a smaller vocabulary, where K = n is likelier and its term must be more exact: up to
# 223 words there is no grid at all.
_NEAR_TIMES_WORDS = 50_000
# A word on the grid is moved by cubic interpolation, which leaves h⁴/384 of the fourth derivative:
# 7e-9 at h = 0.04 of a scale, times a share of P(K = n) ≈ 1/n.
_CELL = 0.04  # width of a grid cell in units of b, at most
_FEWEST, _MOST = 128, 8192  # cells, powers of 2
_DOUBT = 2e-10  # by how much a probability may change from cells of twice the width
_ASTRAY = 1e-8  # by how much the sum of the probabilities may differ from 1
# Where all words are near, the product of all S falls steeply behind the last kink: panels that
# become wider from there, as parts of what is left.
_STEEP = np.array([1 / 128, 1 / 32, 1 / 12, 1 / 4])
_BLOCK = 60_000  # entries of an array of words and nodes, for the processor's cache


@dataclass(frozen=True, eq=False)
class CompactLaw:
    """P(u_i) of near words one by one, and of far words as a function of the distance."""

    near: FloatArray
    """Probabilities of the nearest words, in the order of their distances."""
    share: float
    """P(K = n), the weight of what follows."""
    far: FloatArray
    """P(u | K = n) of a word at each point of the grid; empty without far words."""
    grid: Grid | None

    def dense(self, n: int) -> FloatArray:
        """P(u_i) of all n words, 0 for those that cannot be seen."""
        law = np.zeros(n)
        law[: self.near.size] = self.near
        if self.grid is not None:
            far = self.grid.interpolated(self.far)
            np.maximum(far, 0.0, out=far)  # a cubic may dip below 0 where the law vanishes
            np.multiply(self.share, far, out=law[self.near.size : self.near.size + far.size])
        return law

    def grouped(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities p and multiplicities c: Σ_y φ(P(y)) = Σ c·φ(p) over the seen words.

        The near words come first, with multiplicity 1. Those of far words are no whole numbers:
        they interpolate φ(P) between the points of the grid.
        """
        if self.grid is None:
            return self.near, np.ones(self.near.size)
        counts = np.append(np.ones(self.near.size), self.grid.multiplicities)
        return np.concatenate((self.near, self.share * self.far)), counts


def law_from_distances(d: FloatArray, weights: FloatArray, b: float, bound: float) -> FloatArray:
    """P(u_i), shape (n,), in the order of the distances; error below `ABSOLUTE_ERROR`.

    Raises:
        ParameterError: b or C is not positive.
    """
    return next(laws_from_distances(d, weights, [b], bound))


def laws_from_distances(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> Iterator[FloatArray]:
    """`law_from_distances` at each noise scale, faster than one by one.

    Where `compact_laws` does not vouch for the error (for weights that are not those of the
    mechanism, say) this is the exponential of `log_law_from_distances`.
    """
    for b in scales:
        check_truncated(b, bound)
    for b, law in zip(scales, compact_laws(d, weights, scales, bound), strict=True):
        if law is None:
            yield np.exp(log_law_from_distances(d, weights, b, bound))
        else:
            yield law.dense(d.size)


def grouped_laws(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> tuple[FloatArray, FloatArray] | None:
    """Probabilities p and multiplicities c, for sums over the law: Σ_y φ(P(y)) = Σ c·φ(p).

    Words near by come first, each by itself; words far away, whose probability is a smooth
    function of the distance, are taken together, and their multiplicities are no whole numbers.
    Words that cannot be seen are missing: φ(0) must be 0.

    Returns:
        Both of shape (E, m), filled up with zeros; None if `compact_laws` does not vouch for a
        law, and only all words one by one will do.
    """
    laws = compact_laws(d, weights, scales, bound)
    groups = [law.grouped() for law in laws if law is not None]
    if len(groups) < len(laws):
        return None
    table = np.zeros((2, len(groups), max(p.size for p, _ in groups)))
    for i, (p, counts) in enumerate(groups):
        table[0, i, : p.size] = p
        table[1, i, : p.size] = counts
    return table[0], table[1]


def compact_laws(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> list[CompactLaw | None]:
    """The law at each scale; None where its error is not known to be small."""
    # Three parts: counts k < n and K = n up to the first far word share nodes; K = n beyond has the
    # grid, whose step is divided by 4 until both checks hold.
    candidates = _candidates(weights)
    if candidates < 0:
        return [None] * len(scales)
    near = min(max(_NEAR, candidates, _NEAR_TIMES_WORDS // d.size), d.size)
    noises = [noise_of(b, bound) for b in scales]
    share = float(weights[-1])
    heads = list(_near_integrals(noises, d, weights[:candidates], near))
    laws: list[CompactLaw | None] = [
        CompactLaw(few + share * whole, share, d[:0], None) for few, whole in heads
    ]
    far = [i for i, noise in enumerate(noises) if near < d.size and d[near] < noise.end]
    if not (far and share > 0):
        return laws
    stops = whole_ends([noises[i] for i in far], d, near)
    todo = [(i, *_cells(s - float(d[near]), noises[i])) for i, s in zip(far, stops, strict=True)]
    while todo:
        shared: dict[tuple[float, int], list[int]] = {}  # which scales have the same grid
        for i, step, cells in todo:
            shared.setdefault((step, cells), []).append(i)
        todo = []
        for (step, cells), chosen in shared.items():
            grid = Grid.of(d, near, step, cells)
            results = far_integrals([noises[i] for i in chosen], d, near, grid)
            for i, (tail, values, change) in zip(chosen, results, strict=True):
                few, whole = heads[i][0], heads[i][1] + tail
                # Two checks that do not know each other: the near words on a coarser grid, and
                # the sum of all, which the far words enter by their multiplicities.
                astray = abs(float(whole.sum()) + float(grid.multiplicities @ values) - 1.0)
                if share * change < _DOUBT and share * astray < _ASTRAY:
                    laws[i] = CompactLaw(few + share * whole, share, values, grid)
                elif 4 * cells > _MOST:
                    laws[i] = None
                else:
                    todo.append((i, step / 4.0, 4 * cells))
    return laws


def _candidates(weights: FloatArray) -> int:
    """How many nearest words the counts below n involve, −1 if too many."""
    # Half of what may be left out lies behind the most that is looked at, half before it.
    head = weights[: min(_MOST_CANDIDATES, weights.size - 1)]
    if float(weights[head.size : -1].sum()) > 0.5 * _LEFT_OUT:
        return -1
    return int((np.cumsum(head[::-1]) > 0.5 * _LEFT_OUT).sum())


def _cells(length: float, noise: Noise) -> tuple[float, int]:
    """Step and number of cells for this length, at least: a power of 2, so that scales agree."""
    most = max(length / (_CELL * noise.scale), _FEWEST)
    # Steps that are powers of 2 as well: scales that differ a little get the very same grid.
    cells = 2 ** math.ceil(math.log2(most))
    return 2.0 ** math.ceil(math.log2(length / cells)), cells


def _quadrature(noise: Noise, d: FloatArray, near: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the near words: panels end at every kink that can be seen."""
    first = min(float(d[near]), noise.end) if near < d.size else noise.end
    kinks = d[1:near] if noise.kinked else d[:0]
    if near == d.size:
        kinks = np.append(kinks, d[-1] + (first - d[-1]) * _STEEP)
    # Beyond the first far word only the counts k < n are integrated here: no kinks are left.
    ends = [first, noise.end] if first < noise.end else [first]
    return nodes(noise, np.concatenate(([0.0], kinks[kinks < first], ends)), d[:near])


def _near_integrals(
    noises: Sequence[Noise], d: FloatArray, weights: FloatArray, near: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The terms of K < n, and the integral of K = n up to the first far word, for each noise.

    Both of shape (near,).
    """
    rules: dict[tuple[bool, float, float], tuple[FloatArray, FloatArray]] = {}
    first = float(d[near]) if near < d.size else math.inf
    candidates = weights.size
    step = max(1, _BLOCK // (150 * near))  # mostly 100 to 170 nodes a scale
    for start in range(0, len(noises), step):
        chosen = []
        for noise in noises[start : start + step]:
            key = (noise.kinked, noise.widest, noise.end)  # all that `_quadrature` looks at
            if key not in rules:
                rules[key] = _quadrature(noise, d, near)
            chosen.append(rules[key])
        places = list(zip(noises[start : start + step], (u for u, _ in chosen), strict=True))
        survival, hazard = parts(d[:near], places)
        products = np.cumprod(survival, axis=0, out=survival)
        whole = products[-1].copy()
        # Σ_{k ≥ i} π_k Π_{j ≤ k} S_j for every i, from the last candidate backwards.
        terms = products[:candidates]
        terms *= weights[:, None]
        np.cumsum(terms[::-1], axis=0, out=terms[::-1])
        terms *= hazard[:candidates]
        for (_, u, part), (_, w) in zip(columns(places), chosen, strict=True):
            few = np.zeros(near)
            few[:candidates] = terms[:, part] @ w
            yield few, hazard[:, part] @ (w * whole[part] * (u < first))
