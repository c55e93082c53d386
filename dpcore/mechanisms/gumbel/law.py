"""Output law of the truncated Gumbel mechanism in probabilities, many noise scales at a time.

With d_1 ≤ … ≤ d_n the sorted distances, g_j i.i.d. noise with density f and survival function S,
and π_k = P(K = k), the output is u_i, the minimiser of d_j + g_j over j ≤ K, with probability

    P(u_i) = ∫ f(t − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k, j ≠ i} S(t − d_j) dt.

With the hazard g = f/S the factor j = i returns into the product, which is then the same for all i,
and with u = t + c (`noise`) every integral begins at the kink u = d_i:

    P(u_i) = ∫ g(u − c − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k} S(u − c − d_j) du,    u > d_i.

The counts k < n involve a few nearest words only. The term of the whole vocabulary has weight π_n ≈
1/n, so it tolerates a larger error. Up to the first far word it shares the nodes of the other
terms; from there on it is computed on a grid (`Grid`), refined until half as many cells would
suffice and the probabilities sum to 1. Where that does not succeed, or where logarithms of
probabilities are needed that may underflow, `log_law` is used.

All functions here take the same arguments: d, the sorted distances, d[0] = 0, shape (n,);
`weights`, P(K = k) for k = 1..n, shape (n,); noise scales b; `bound`, C ≥ d[-1], ∞ allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms.gumbel.log_law import log_law_from_distances
from dpcore.mechanisms.gumbel.noise import Noise, columns, nodes, noise_of, parts
from dpcore.noise.samplers import check_truncated

# Far words as a grid, for the term of the truncated Gumbel law with the whole vocabulary.
#
# A survival function depends on u − d alone, so thousands of distances may be replaced by a few
# weighted points that keep their moments.
#
# The points are a uniform grid. With the places u and the distances d of the far words on it, both
# Σ_j ln S(u − c − d_j) and the integrals of all far words are convolutions, and the kink at u = d
# lies on a grid point, so that no panel has to end there. The words on a grid are the same at every
# scale b, so scales share grids.

_WHOLE_DEPTH = 16.0  # e^−16 is 1e-7, for integrals of weight P(K = n)
_UNSEEN = 1e-9  # P(u_i | K = n) that counts as 0
# Gregory's end weights up to third differences: with them a sum over a grid integrates cubics
# exactly from an end, however the integrand begins there. They are the same at either end.
_END = np.array([251.0, 897.0, 633.0, 739.0]) / 720.0
# Derivatives at the first two points of a grid from its first five, to fourth order; at the last
# two by reflection, with the other sign.
_EDGE = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0]]) / 12.0
# Where the product of the far words is evaluated to find its end, as parts of the way; it falls
# first slowly, then ever faster, and an end that is too far costs only cells.
_STEPS = (np.arange(1, 41) / 40.0) ** 2


@lru_cache(maxsize=16)
def _groups(near: int, n: int) -> tuple[IntArray, FloatArray]:
    """Return the last words of groups of far words, an eighth of the nearer words each; sizes."""
    count = math.ceil(math.log(n / near) / math.log(1.125)) + 1
    ends = np.unique(np.geomspace(near, n, count).astype(np.int64))
    return ends[1:] - 1, np.diff(ends).astype(np.float64)


def whole_ends(noises: Sequence[Noise], d: FloatArray, near: int) -> list[float]:
    """Return for each noise u from which on Π S over the far words is negligible.

    It may be too large, because every word of a group counts as the last, the one with the largest
    S.
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
    """Grid from the first far word on, and the words on it."""

    start: float
    step: float
    counts: IntArray
    """Number of words of each cell."""
    place: FloatArray
    """Position of each word in its cell, 0 to 1."""

    @classmethod
    def of(cls, d: FloatArray, near: int, step: float, cells: int) -> Grid:
        """Return the grid with the words d[near:] that these cells cover."""
        start = float(d[near])
        edges = step * np.arange(cells + 1, dtype=np.float64)
        counts = np.diff(np.searchsorted(d[near:], start + edges))
        place = d[near : near + int(counts.sum())] - start
        place -= np.repeat(edges[:-1], counts)
        place *= 1.0 / step
        return cls(start, step, counts, place)

    @property
    def points(self) -> FloatArray:
        """Points of the grid, shape (cells + 1,)."""
        return self.start + self.step * np.arange(self.counts.size + 1, dtype=np.float64)

    @cached_property
    def spread(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Words on the points of the grid: Σ_j φ(d_j) ≈ Σ_m V_m φ(δ_m) + D_m φ'(δ_m)·step.

        Cubic Hermite interpolation of φ in each cell, which keeps moments up to the third: with x
        the place of a word in its cell, its two ends get 1 − 3x² + 2x³ and 3x² − 2x³ of φ, and x −
        2x² + x³ and x³ − x² of φ'. So only the moments Σ 1, x, x², x³ of every cell are needed of
        its words. The last array is the part of D that belongs to the cell at the right of its
        point.
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
        """Interpolate from the grid points to the first words, up to where they are negligible.

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
    """Return the derivatives at the points of a grid of step 1, to fourth order."""
    slopes = np.empty_like(values)
    slopes[2:-2] = (8.0 * (values[3:-1] - values[1:-3]) - values[4:] + values[:-4]) / 12.0
    slopes[:2] = _EDGE @ values[:5]
    slopes[-2:] = -(_EDGE @ values[:-6:-1])[::-1]
    return slopes


@lru_cache(maxsize=16)
def _gregory(cells: int) -> FloatArray:
    """Return weights of the grid and of every other point of it, steps of 1, (cells + 1, 2)."""
    weights = np.zeros((cells + 1, 2))
    for column, step in ((0, 1), (1, 2)):
        w = weights[:, column]
        w[::step] = step
        # At both ends; where the product has vanished the last ones have no effect.
        w[: 4 * step : step] *= _END
        w[: -4 * step - 1 : -step][:4] *= _END
    weights.setflags(write=False)
    return weights


def far_integrals(
    noises: Sequence[Noise], d: FloatArray, near: int, grid: Grid
) -> list[tuple[FloatArray, FloatArray, float]]:
    """Return the integrals of K = n over u from the first far word to the end of the grid.

    Returns:
        For each noise the integrals of the near words; those of words at the points of the grid;
        the largest change of one of the near words on a grid of half as many cells.
    """
    u, h, size = grid.points, grid.step, grid.counts.size + 1
    places = [(noise, u) for noise in noises]
    # One more row: the first far word is at the start of the grid. A word at the point m has the
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
        # The full grid and every other point: the difference shows if the grid is too coarse.
        both = hazards[:near, part] @ (product[:, None] * weights)
        doubt = float(np.abs(both[:, 0] - both[:, 1]).max())
        # ∫ over u from δ_m to the end of product(u)·g(u − δ_m), with end weights on either side,
        # for all m at once: a correlation.
        product[:-5:-1] *= _END
        hazard[:4] *= _END
        integrals = np.convolve(product[::-1], hazard)[size - 1 :: -1]
        results.append((both[:, 0], integrals, doubt))
    return results


ABSOLUTE_ERROR = 1e-9
"""Bound on the error of a probability of `law_from_distances`, verified by the tests."""

_LEFT_OUT = 4e-12  # omitted mass of the counts: far below the error of the integrals
_MOST_CANDIDATES = 80  # ln n is 11 for 50,000 words, and a count of 80 rarer than 1e-12
_NEAR = 40  # words that are not put on the grid, at least
# More in a smaller vocabulary, where K = n is likelier and its term must be more exact: up to 223
# words there is no grid at all.
_NEAR_TIMES_WORDS = 50_000
# A word on the grid is moved by cubic interpolation, which leaves h⁴/384 of the fourth derivative:
# 7e-9 at h = 0.04 of a scale, times a share of P(K = n) ≈ 1/n.
_CELL = 0.04  # width of a grid cell in units of b, at most
_FEWEST, _MOST = 128, 8192  # cells, powers of 2
_DOUBT = 2e-10  # allowed change of a probability from cells of twice the width
_ASTRAY = 1e-8  # allowed difference of the sum of the probabilities from 1
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
    """P(K = n), the weight of `far`."""
    far: FloatArray
    """P(u | K = n) of a word at each point of the grid; empty without far words."""
    grid: Grid | None

    def dense(self, n: int) -> FloatArray:
        """Return P(u_i) of all n words, 0 where negligible."""
        law = np.zeros(n)
        law[: self.near.size] = self.near
        if self.grid is not None:
            far = self.grid.interpolated(self.far)
            np.maximum(far, 0.0, out=far)  # a cubic may dip below 0 where the law vanishes
            np.multiply(self.share, far, out=law[self.near.size : self.near.size + far.size])
        return law

    def grouped(self) -> tuple[FloatArray, FloatArray]:
        """Return probabilities p and multiplicities c: Σ_y φ(P(y)) = Σ c·φ(p) over visible words.

        The near words come first, with multiplicity 1. Those of far words are not whole numbers:
        they interpolate φ(P) between the points of the grid.
        """
        if self.grid is None:
            return self.near, np.ones(self.near.size)
        counts = np.append(np.ones(self.near.size), self.grid.multiplicities)
        return np.concatenate((self.near, self.share * self.far)), counts


def law_from_distances(d: FloatArray, weights: FloatArray, b: float, bound: float) -> FloatArray:
    """Return P(u_i), shape (n,), in the order of the distances; error below `ABSOLUTE_ERROR`.

    Raises:
        ParameterError: b or C is not positive.
    """
    return next(laws_from_distances(d, weights, [b], bound))


def laws_from_distances(
    d: FloatArray, weights: FloatArray, scales: Sequence[float], bound: float
) -> Iterator[FloatArray]:
    """Yield `law_from_distances` at each noise scale, faster than one by one.

    Where `compact_laws` cannot bound the error (for example for weights other than the mechanism's)
    this is the exponential of `log_law_from_distances`.
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
    """Return probabilities p and multiplicities c, for sums over the law: Σ_y φ(P(y)) = Σ c·φ(p).

    Near words come first, one by one; far words, whose probability is a smooth function of the
    distance, are grouped, and their multiplicities are not whole numbers. Words of negligible
    probability are missing: φ(0) must be 0.

    Returns:
        Both of shape (E, m), padded with zeros; None if `compact_laws` cannot bound the error of a
        law, so that all words are needed one by one.
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
    """Return the law at each scale; None where no small error is certain."""
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
                # Two independent checks: the near words on a coarser grid, and the sum of all,
                # which the far words enter by their multiplicities.
                astray = abs(float(whole.sum()) + float(grid.multiplicities @ values) - 1.0)
                if share * change < _DOUBT and share * astray < _ASTRAY:
                    laws[i] = CompactLaw(few + share * whole, share, values, grid)
                elif 4 * cells > _MOST:
                    laws[i] = None
                else:
                    todo.append((i, step / 4.0, 4 * cells))
    return laws


def _candidates(weights: FloatArray) -> int:
    """Return the number of nearest words in the counts below n, or −1 if there are too many."""
    # Half of the omitted mass may lie behind the largest count tried, half before it.
    head = weights[: min(_MOST_CANDIDATES, weights.size - 1)]
    if float(weights[head.size : -1].sum()) > 0.5 * _LEFT_OUT:
        return -1
    return int((np.cumsum(head[::-1]) > 0.5 * _LEFT_OUT).sum())


def _cells(length: float, noise: Noise) -> tuple[float, int]:
    """Return the step and the number of cells for at least this length: powers of 2.

    So scales agree.
    """
    most = max(length / (_CELL * noise.scale), _FEWEST)
    # Steps that are powers of 2 as well: scales that differ a little get the very same grid.
    cells = 2 ** math.ceil(math.log2(most))
    return 2.0 ** math.ceil(math.log2(length / cells)), cells


def _quadrature(noise: Noise, d: FloatArray, near: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for the near words: panels end at every visible kink."""
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
    """Yield for each noise the terms of K < n, and K = n up to the first far word.

    Both of shape (near,).
    """
    rules: dict[tuple[bool, float, float], tuple[FloatArray, FloatArray]] = {}
    first = float(d[near]) if near < d.size else math.inf
    candidates = weights.size
    step = max(1, _BLOCK // (150 * near))  # mostly 100 to 170 nodes a scale
    for start in range(0, len(noises), step):
        chosen = []
        for noise in noises[start : start + step]:
            key = (noise.kinked, noise.widest, noise.end)  # all that `_quadrature` depends on
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
