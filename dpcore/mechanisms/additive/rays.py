"""Rays through a vocabulary and the targets that can be nearest along them.

Three variants, each with the matrix product that suits it:

* `from_word`: many rays from one word: the vocabulary is sorted by distance first, so that the
  product comes out ready to be scanned;
* `from_words`: one ray from each of several words: one product for all;
* `Bundle`: the same rays from any word: the product does not depend on the word and is kept; a word
  then examines only its neighbourhood and the few targets that reach farthest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.lexicon.nearest_word import product_error
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.additive import rays
from dpcore.noise.samplers import (
    Radial,
    exponential_directions,
    exponential_ratio,
    exponents,
    shifts,
    sphere_ratio,
)

if TYPE_CHECKING:
    from dpcore.mechanisms.additive.additive import RadialMechanism


# The nearest word along a ray, for every length of the ray at once.
#
# For an origin c, a direction u and targets τ_y,
#
#     y(t) = argmin_y ‖c + t·u − τ_y‖² = argmin_y D_y² − 2t·a_y,   a_y = ⟨u, τ_y⟩ (+ a constant),
#
# is the lower envelope of n lines in t. A line is on it only if no target that is at least as near
# (D) reaches at least as far along u (a): walking through the targets by distance, only the running
# maxima of a can matter, about ln n of n. They are found in float32 with a tolerance that covers
# its rounding, and the few that remain are evaluated in float64, so that the result equals that of
# a float64 search.


_BLOCK = 32  # targets a block: large enough to skip work, small enough to search few
_GATHER = 1024  # vectors gathered at a time: they stay in cache
_PASSES = 4  # towards the hull: each halves the entries that are not on it


@dataclass(frozen=True, eq=False)
class Lines:
    """Candidate lines of each ray, padded: shape (rays, K), by ascending D.

    Padding has a = −inf, so that it never wins.
    """

    targets: IntArray
    squared: FloatArray
    reach: FloatArray


@dataclass(frozen=True, eq=False)
class Steps:
    """Nearest target as a step function of t ≥ 0, one row a ray.

    Attributes:
        thresholds: ascending t at which the target changes, padded with +inf, shape (rays, P).
        targets: targets[:, j] is nearest between thresholds j−1 and j, shape (rays, P+1).
    """

    thresholds: FloatArray
    targets: IntArray


def running_maxima(
    blocks: Iterable[Float32Array], tolerance: FloatArray, keep: int
) -> tuple[IntArray, IntArray, Float32Array]:
    """Return the entries of each column among its `keep` largest so far, up to tolerance.

    Args:
        blocks: consecutive rows, shape (m, rays) each, a ray a column; all rows by ascending
            distance. Each block is processed before the next one is requested.
        tolerance: slack of each ray, shape (rays,).
        keep: 1 for the nearest target, 2 for the two nearest.

    Returns:
        The ray, the row and the value of each such entry, sorted by ray and then by row.
    """
    # Only the maximum of each block of rows is checked first: about ln n of n entries are records,
    # so most blocks contain none. Blocks that may contain one are searched entry by entry.
    slack = tolerance.astype(np.float32)
    rays = slack.size
    largest = np.full(rays, -np.inf, dtype=np.float32)
    runner_up = largest  # a lower bound of the second largest
    entries: list[tuple[IntArray, IntArray, Float32Array]] = []
    start = 0
    for values in blocks:
        m = values.shape[0]
        tops = _tops(values)
        first = _maxima_before(largest, tops)
        # The smaller of a top and the largest before it is at most the second largest so far.
        second = _maxima_before(runner_up, np.minimum(tops, first[:-1])) if keep == 2 else first
        hit = np.flatnonzero(tops >= second[:-1] - slack)
        part, ray = np.divmod(hit, rays)
        row = part[:, None] * _BLOCK + np.arange(_BLOCK)
        # One index into the flat array is several times faster than a pair of them.
        inside = np.take(values, np.minimum(row, m - 1) * rays + ray[:, None])
        inside[row >= m] = -np.inf
        bar = _bar_inside(inside, np.take(first, hit), np.take(second, hit), keep)
        bar -= slack[ray, None]
        chosen, offset = np.nonzero((inside >= bar) & (inside > -np.inf))
        entries.append((ray[chosen], row[chosen, offset] + start, inside[chosen, offset]))
        largest, runner_up, start = first[-1], second[-1], start + m
    ray, row = (np.concatenate([part[i] for part in entries]) for i in (0, 1))
    value = np.concatenate([part[2] for part in entries])
    by_ray = np.argsort(ray, kind="stable")
    return ray[by_ray], row[by_ray], value[by_ray]


def _tops(values: Float32Array) -> Float32Array:
    """Return the maximum of every _BLOCK rows of each column, for many rays at once."""
    whole = len(values) - len(values) % _BLOCK
    tops = values[:whole].reshape(-1, _BLOCK, values.shape[1]).max(axis=1)
    if whole < len(values):
        tops = np.concatenate((tops, values[whole:].max(axis=0, keepdims=True)))
    return np.asarray(tops)


def _maxima_before(start: Float32Array, rows: Float32Array) -> Float32Array:
    """Return running maxima: row i over `start` and the rows before the i-th; one row more."""
    maxima = np.empty((len(rows) + 1, start.size), dtype=np.float32)
    maxima[0] = start
    for i, row in enumerate(rows):  # six times faster than np.maximum.accumulate along axis 0
        np.maximum(maxima[i], row, out=maxima[i + 1])
    return maxima


def _bar_inside(
    inside: Float32Array, first: Float32Array, second: Float32Array, keep: int
) -> Float32Array:
    """Return the value each entry of a block must reach, given the two largest before it."""
    largest = np.empty_like(inside)
    largest[:, 0], largest[:, 1:] = first, inside[:, :-1]
    np.maximum.accumulate(largest, axis=1, out=largest)
    if keep == 1:
        return largest
    runner_up = np.empty_like(inside)
    runner_up[:, 0] = second
    np.minimum(inside[:, :-1], largest[:, :-1], out=runner_up[:, 1:])
    np.maximum.accumulate(runner_up, axis=1, out=runner_up)
    return runner_up


def pad(rays: int, row: IntArray, *columns: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Return ragged columns (sorted by row) as rectangles; short rows repeat their last entry."""
    count = np.bincount(row, minlength=rays)
    start = np.concatenate(([0], np.cumsum(count)[:-1]))
    take = start[:, None] + np.minimum(np.arange(count.max())[None, :], count[:, None] - 1)
    return [column[take] for column in columns]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Lines that may matter, found in float32; arrays of one length, by ray and then by distance.

    Attributes:
        row: the ray of each candidate.
        targets: its target.
        squared: its squared distance from the ray's origin, float64.
        reach: its reach along the ray, float32.
    """

    row: IntArray
    targets: IntArray
    squared: FloatArray
    reach: Float32Array

    def on_the_hull(self, tolerance: FloatArray) -> Candidates:
        """Drop candidates that surely lie above the lower envelope at every length.

        A line of the envelope is a vertex of the upper hull of the points (D², a). A point below
        the chord of its two neighbours is not a vertex, even if the neighbours are dropped too. A
        few passes leave little more than the hull.

        Args:
            tolerance: bound on the rounding error of a difference of two reaches, shape (rays,).
        """
        row, targets, x, y = self.row, self.targets, self.squared, self.reach.astype(np.float64)
        for _ in range(_PASSES):
            if row.size < 3:
                break
            # Below the chord from the left to the right neighbour, cross-multiplied: x ascends, so
            # no sign flips and no difference that may be 0 is a divisor.
            rise = (y[2:] - y[:-2]) * (x[1:-1] - x[:-2])
            below = (y[1:-1] + tolerance[row[1:-1]] - y[:-2]) * (x[2:] - x[:-2]) < rise
            kept = np.ones(row.size, dtype=np.bool_)
            kept[1:-1] = ~(below & (row[2:] == row[:-2]))
            row, targets, x, y = row[kept], targets[kept], x[kept], y[kept]
        return Candidates(row, targets, x, y.astype(np.float32))


def lines(unit: FloatArray, targets: Float32Array, candidates: Candidates) -> Lines:
    """Return the candidates with their slopes in float64.

    Args:
        unit: directions, shape (rays, d).
        targets: shape (n, d).
        candidates: at least one on each ray.
    """
    row, chosen, squared = candidates.row, candidates.targets, candidates.squared
    reach = np.empty(row.size)
    step = min(_GATHER, row.size)
    ends, rays = np.empty((step, unit.shape[1])), np.empty((step, unit.shape[1]))
    for i in range(0, row.size, step):
        part = slice(i, i + step)
        size = reach[part].size
        ends[:size] = targets[chosen[part]]
        np.take(unit, row[part], axis=0, out=rays[:size], mode="clip")  # clip: no copy in between
        np.vecdot(ends[:size], rays[:size], out=reach[part])
    count = np.bincount(row, minlength=unit.shape[0])
    ids, d2, a = pad(unit.shape[0], row, chosen, squared, reach)
    a = np.where(np.arange(a.shape[1])[None, :] < count[:, None], a, -np.inf)
    return Lines(ids, d2, a)  # type: ignore[arg-type]


def crossings(candidates: Lines, current: IntArray) -> FloatArray:
    """Return the t at which each candidate overtakes the current line; +inf if it never does."""
    d2 = np.take_along_axis(candidates.squared, current[:, None], axis=1)
    a = np.take_along_axis(candidates.reach, current[:, None], axis=1)
    # D_y² − 2t·a_y = D_c² − 2t·a_c at t = (D_y² − D_c²)/(2(a_y − a_c)): only a line that reaches
    # farther along the ray ever comes below the current one.
    ahead = candidates.reach - a
    overtakes = ahead > 0
    t = np.full(ahead.shape, np.inf)
    np.divide(candidates.squared - d2, 2 * ahead, out=t, where=overtakes)
    return np.asarray(np.maximum(t, 0.0))


def farthest(candidates: Lines, mask: NDArray[np.bool_]) -> IntArray:
    """Return the marked candidate of each ray that reaches farthest (ties: the nearest)."""
    return np.asarray(np.where(mask, candidates.reach, -np.inf).argmax(axis=1))


def lower_envelope(candidates: Lines) -> Steps:
    """Find the steps of the nearest target, walking from line to line (gift wrapping)."""
    rays = candidates.reach.shape[0]
    everyone = np.arange(rays)
    # At t = 0 the nearest target wins; of equally near ones the one that wins just after.
    current = farthest(candidates, candidates.squared <= candidates.squared[:, :1])
    outputs = [candidates.targets[everyone, current]]
    thresholds: list[FloatArray] = []
    while True:
        t = crossings(candidates, current)
        soonest = t.min(axis=1)
        alive = np.isfinite(soonest)
        if not alive.any():
            break
        # Of lines that cross at the same t, the steepest is lowest beyond it.
        following = farthest(candidates, t <= soonest[:, None])
        current = np.where(alive, following, current)
        thresholds.append(soonest)
        outputs.append(candidates.targets[everyone, current])
    limits = np.stack(thresholds, axis=1) if thresholds else np.empty((rays, 0))
    return Steps(limits, np.stack(outputs, axis=1))


def integrate(
    steps: Steps, below: Callable[[float], FloatArray], values: FloatArray, words: int
) -> tuple[IntArray, FloatArray, float]:
    """Return a law: the mass of the length between the thresholds, summed by output.

    Args:
        steps: the output along each ray.
        below: maps a value to the distribution function of the length at the thresholds.
        values: one for each row of the law, shape (E,).
        words: number of targets.

    Returns:
        The outputs (m,), their probabilities (E, m), and the largest standard error.
    """
    count = steps.targets.shape[0]
    key = np.arange(count)[:, None] * np.int64(words) + steps.targets
    pairs, slot = np.unique(key, return_inverse=True)
    slot = slot.reshape(-1)
    outputs, column = np.unique(pairs % words, return_inverse=True)
    probabilities = np.empty((values.size, outputs.size))
    error = 0.0
    for e, value in enumerate(values.tolist()):
        # On a ray target k wins from one threshold to the next: differences of F.
        edges = np.concatenate((np.zeros((count, 1)), below(value), np.ones((count, 1))), axis=1)
        gains = np.maximum(np.diff(edges, axis=1), 0.0)  # computed by quadrature, F may fall by u
        mass = np.bincount(slot, gains.reshape(-1), minlength=pairs.size)
        mean = np.bincount(column, mass, minlength=outputs.size) / count
        square = np.bincount(column, mass**2, minlength=outputs.size) / count
        probabilities[e] = mean
        # Variance of a mean over rays. A word that no ray reaches has p = 0 and error 0, which
        # is why `Law.entry_error` is never below 1/N.
        variance = np.maximum(square - mean**2, 0.0) / (count - 1)
        error = max(error, float(np.sqrt(variance.max())))
    return outputs, probabilities, error


_FARTHEST = 256  # remembered targets a ray: with more, a word searches a smaller neighbourhood
_ENTRIES = 2_000_000  # entries of one matrix product: 8 MB, so that it is scanned in cache
_FEW_RAYS = 16  # enough for a mean over rays that need not be exact
_FEWEST = 256  # targets of one matrix product: fewer would slow it down


def largest_norm(vectors: Float32Array) -> float:
    """Return the largest Euclidean norm of a row, up to rounding."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return float(np.sqrt(squares.max()))


def tolerance(unit: FloatArray, norm: float) -> FloatArray:
    """Bound the rounding error of a difference of two float32 reaches, shape (rays,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    # ‖τ‖·‖u‖ times the bound of a product, twice for a difference; and terms may underflow.
    underflow = 2.0 * unit.shape[1] * float(np.finfo(np.float32).smallest_subnormal)
    return np.asarray(2.0 * product_error(unit.shape[1]) * norm * lengths + underflow)


def _reaches(targets: Float32Array, unit: FloatArray, order: IntArray) -> Iterator[Float32Array]:
    """Yield the reach of some targets of the order along all rays, shape (m, rays).

    The array is overwritten by the next one: memory that has been touched is faster than new.
    """
    rays = unit.astype(np.float32).T
    step = min(max(_FEWEST, _ENTRIES // max(1, len(unit))), len(order))
    near = np.empty((step, targets.shape[1]), dtype=np.float32)
    reach = np.empty((step, len(unit)), dtype=np.float32)
    for start in range(0, len(order), step):
        part = order[start : start + step]
        np.take(targets, part, axis=0, out=near[: len(part)], mode="clip")  # clip: no copy
        yield np.matmul(near[: len(part)], rays, out=reach[: len(part)])


def from_word(
    unit: FloatArray, targets: Float32Array, ranking: Ranking, *, keep: int = 1, norm: float
) -> Lines:
    """Return candidates of many rays from one origin.

    Args:
        unit: directions, shape (rays, d).
        targets: shape (n, d).
        ranking: the targets by distance from the origin.
        keep: 1 for the nearest target along the ray, 2 for the two nearest.
        norm: the largest norm of a target.
    """
    slack = tolerance(unit, norm)
    row, column, reach = running_maxima(_reaches(targets, unit, ranking.order), slack, keep)
    squared = np.square(ranking.distances[column])
    candidates = Candidates(row, ranking.order[column], squared, reach)
    return _lines(unit, targets, slack, keep, candidates)


def from_words(
    unit: FloatArray,
    targets: Float32Array,
    rankings: Sequence[Ranking],
    *,
    keep: int = 1,
    norm: float,
) -> Lines:
    """Return candidates of one ray from each of several origins; `unit` has one row a ranking."""
    slack, narrow = tolerance(unit, norm), unit.astype(np.float32)
    rows, chosen, squared, reaches = [], [], [], []
    step = max(16, _ENTRIES // len(targets))
    for start in range(0, len(unit), step):
        part = slice(start, start + step)
        reach = targets @ narrow[part].T
        for i, ranking in enumerate(rankings[part]):
            reach[:, i] = reach[ranking.order, i]
        row, column, value = running_maxima([reach], slack[part], keep)
        ends = np.searchsorted(row, np.arange(reach.shape[1] + 1))
        for i, ranking in enumerate(rankings[part]):
            columns = column[ends[i] : ends[i + 1]]
            chosen.append(ranking.order[columns])
            squared.append(np.square(ranking.distances[columns]))
        rows.append(row + start)
        reaches.append(value)
    candidates = Candidates(*(np.concatenate(part) for part in (rows, chosen, squared, reaches)))
    return _lines(unit, targets, slack, keep, candidates)


def _lines(
    unit: FloatArray,
    targets: Float32Array,
    slack: FloatArray,
    keep: int,
    candidates: Candidates,
) -> Lines:
    """Return candidates in float64; where only the nearest target matters, those near the hull."""
    return lines(unit, targets, candidates.on_the_hull(slack) if keep == 1 else candidates)


@dataclass(frozen=True, eq=False)
class Bundle:
    """Rays that all words share, with their common product with the targets.

    Attributes:
        unit: directions, shape (rays, d), float64.
        targets: shape (n, d), float32.
    """

    unit: FloatArray
    targets: Float32Array

    @cached_property
    def norm(self) -> float:
        """Largest norm of a target."""
        return largest_norm(self.targets)

    @cached_property
    def reach(self) -> Float32Array:
        """Reach of every target along every ray, shape (n, rays)."""
        return np.asarray(self.targets @ self.unit.astype(np.float32).T)

    @cached_property
    def centre(self) -> FloatArray:
        """Mean of the targets, shape (d,)."""
        return np.asarray(self.targets.mean(axis=0, dtype=np.float64))

    @cached_property
    def farthest(self) -> float:
        """Excess of the farthest target's reach over the mean target's, averaged over some rays."""
        unit = self.unit[:_FEW_RAYS]
        everyone = np.arange(len(self.targets))
        tops = [part.max(axis=0) for part in _reaches(self.targets, unit, everyone)]
        return float((np.max(tops, axis=0) - unit @ self.centre).mean())

    def shifted(
        self,
        ranking: Ranking,
        shift: FloatArray,
        amounts: FloatArray,
        lengths: FloatArray,
        *,
        keep: int = 1,
    ) -> tuple[FloatArray, Lines]:
        """Return other rays, (unit + amount·shift)/length, and their candidates from one origin.

        Their reach is that of the kept rays plus a multiple of ⟨shift, target⟩.

        Args:
            ranking: the targets by distance from the origin.
            shift: common to all, shape (d,).
            amounts: multiples of the shift for the first `len(amounts)` rays.
            lengths: lengths of the same rays.
            keep: as for `from_word`.
        """
        count = amounts.size
        unit = (self.unit[:count] + amounts[:, None] * shift) / lengths[:, None]
        # The compared reaches are `lengths` times those of the rays: a constant factor for each
        # ray, which changes no order. Two products, rounded and added.
        slack = tolerance(self.unit[:count], self.norm)
        slack += amounts * tolerance(shift[None], self.norm)
        slack += tolerance(unit * lengths[:, None], self.norm)
        along = self.targets @ shift.astype(np.float32)
        moved = self._moved(ranking.order, along, amounts.astype(np.float32))
        row, column, reach = running_maxima(moved, slack, keep)
        squared = np.square(ranking.distances[column])
        candidates = Candidates(row, ranking.order[column], squared, reach)
        return unit, _lines(unit, self.targets, slack, keep, candidates)

    def _moved(
        self, order: IntArray, along: Float32Array, amounts: Float32Array
    ) -> Iterator[Float32Array]:
        """Yield kept reach + amount·along of the first rays, some targets at a time."""
        kept = self.reach[:, : amounts.size]
        more = np.empty((min(_FEWEST, len(order)), amounts.size), dtype=np.float32)
        for start in range(0, len(order), _FEWEST):
            part = order[start : start + _FEWEST]
            values, extra = kept[part], more[: len(part)]
            np.multiply(along[part, None], amounts, out=extra)
            values += extra
            yield values

    @cached_property
    def _far(self) -> tuple[IntArray, Float32Array]:
        count = min(_FARTHEST, self.targets.shape[0])
        index = np.argpartition(self.reach, -count, axis=0)[-count:]
        reach = np.take_along_axis(self.reach, index, axis=0)
        return np.ascontiguousarray(index.T), np.ascontiguousarray(reach.T)

    def from_word(self, ranking: Ranking, *, keep: int = 1) -> Lines:
        """Return candidates of every ray from one origin.

        A target outside the farthest-reaching ones matters only if it is nearer than all (for
        `keep` = 2: than all but one) of those that surely reach farther.
        """
        index, reach = self._far
        slack = tolerance(self.unit, self.norm)
        position = np.empty(len(ranking), dtype=np.int64)
        position[ranking.order] = np.arange(len(ranking))
        where = position[index]
        # Remembered targets that reach farther than any forgotten one can, rounding included. A
        # forgotten target behind the nearest (`keep`-th nearest) of these never wins.
        complete = index.shape[1] == self.targets.shape[0]
        sure = reach > (reach.min(axis=1) + slack)[:, None]
        beyond = np.sort(np.where(sure, where, len(ranking) - 1), axis=1)[:, keep - 1]
        prefix = 0 if complete else int(beyond.max()) + 1
        # The neighbourhood and then the remembered targets behind it: ascending in distance.
        by_rank = np.argsort(where, axis=1)
        far = np.take_along_axis(where, by_rank, axis=1)
        far_reach = np.take_along_axis(reach, by_rank, axis=1)
        far_reach = np.where(far >= prefix, far_reach, np.float32(-np.inf))
        values = np.concatenate((self.reach[ranking.order[:prefix]], far_reach.T))
        row, column, value = running_maxima([values], slack, keep)
        near = column < prefix
        rank_of = np.where(near, column, far[row, np.maximum(column - prefix, 0)])
        squared = np.square(ranking.distances[rank_of])
        candidates = Candidates(row, ranking.order[rank_of], squared, value)
        return _lines(self.unit, self.targets, slack, keep, candidates)


# Rays towards a target, for an event that few rays of the noise lead to.
#
# Few rays of the noise meet a rare output, so that the mean over rays is 0 for a probability of
# 10⁻⁴. Here some rays are drawn towards the word (`dpcore.noise.samplers`), at two strengths,
# beside the plain ones, and every ray counts with the weight
#
#     1 / Σ_k α_k·ρ_k,     ρ_k the density of tilt k relative to the noise, ρ_0 = 1,
#
# α_k the share of the rays that were drawn with tilt k (the balance heuristic: Veach and Guibas
# 1995, Section 9.2.2; Owen and Zhou 2000, Section 4, deterministic mixture). No weight exceeds
# 1/α_0: where plain rays do well, little is lost.
#
# The strengths are shares of the number of standard deviations that the projection of the noise on
# the aim needs before a target this far out reaches as far as the farthest: measured on some rays,
# so that they suit any vocabulary. The aim is the target seen from the middle of all targets.


_STRENGTHS = np.array([0.45, 0.75])
_LEAST = 50  # rays drawn towards a target, if there are as many plain ones
_PLAIN = 2  # plain rays for each of them, where there are more,
_PLAIN_LAPLACE = 4  # and for the family whose rays need a separate product with the vocabulary


@dataclass(frozen=True, eq=False)
class Towards:
    """Rays towards one target, and the weights of these and of the plain rays.

    Attributes:
        steps: the output along each ray towards the target, M rays.
        weights: of these rays, shape (M,).
        plain: weights of the plain rays, shape (N,).
    """

    steps: Steps
    weights: FloatArray
    plain: FloatArray


def rays_towards(
    mechanism: RadialMechanism,
    bundle: rays.Bundle,
    ranking: Ranking,
    target: int,
    rng: np.random.Generator,
    *,
    kept: bool = True,
) -> Towards | None:
    """Draw rays from one origin towards a target, to be weighted together with a bundle's.

    Args:
        mechanism: its noise is that of the bundle.
        bundle: N plain rays.
        ranking: the targets by distance from the origin.
        target: index.
        rng: source of randomness.
        kept: True if the product of the bundle may be used, which is then kept.

    Returns:
        None where there is no aim: the target lies in the middle of all.
    """
    plain = bundle.unit.shape[0]
    laplace = mechanism.family is Radial.LAPLACE
    count = min(plain, max(_LEAST, plain // (_PLAIN_LAPLACE if laplace else _PLAIN)))
    away = bundle.targets[target] - bundle.centre
    aim = mechanism.shaped(away[None])[0]
    length = float(np.sqrt(aim @ aim))
    if not length > 1e-6 * bundle.norm:
        return None
    dimension = mechanism.dimension
    # ⟨noise, away⟩ has standard deviation length/√d for a noise of length 1 on the sphere.
    spread = length / np.sqrt(dimension)
    if laplace:
        spread *= np.sqrt(2.0 / dimension)
    strengths = _STRENGTHS * bundle.farthest / spread
    # The strengths alternate, so that their shares are fixed: the balance heuristic needs the
    # shares, and fixed ones have no variance.
    which = np.arange(count) % strengths.size
    shares = np.bincount(which, minlength=strengths.size) / plain
    if laplace:
        theta = exponents(strengths, aim / length)
        unit = exponential_directions(rng, theta[which])
        ratios = exponential_ratio(theta, np.concatenate((bundle.unit, unit)))
        lines = _lines_towards(mechanism, bundle, ranking, unit)
    else:
        a = shifts(strengths, dimension)
        amounts, along = a[which], bundle.unit @ away / length
        lengths = np.sqrt(1.0 + amounts * (2.0 * along[:count] + amounts))
        shift = mechanism.shaped(aim[None])[0] / length
        cosines = np.concatenate((along, (along[:count] + amounts) / lengths))
        ratios = sphere_ratio(a, cosines, dimension)
        if kept:
            unit, lines = bundle.shifted(ranking, shift, amounts, lengths, keep=mechanism.keep)
        else:
            unit = (bundle.unit[:count] + amounts[:, None] * shift) / lengths[:, None]
            lines = _lines_towards(mechanism, bundle, ranking, unit)
    # Weights are relative: N plain rays and the rays of each tilt, over N.
    weights = 1.0 / (1.0 + shares @ ratios)
    return Towards(mechanism.steps(rng, lines, unit), weights[plain:], weights[:plain])


def _lines_towards(
    mechanism: RadialMechanism, bundle: rays.Bundle, ranking: Ranking, unit: FloatArray
) -> Lines:
    return rays.from_word(unit, bundle.targets, ranking, keep=mechanism.keep, norm=bundle.norm)
