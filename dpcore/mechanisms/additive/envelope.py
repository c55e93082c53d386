"""The nearest word along a ray, for every length of the ray at once.

For an origin c, a direction u and targets τ_y,

    y(t) = argmin_y ‖c + t·u − τ_y‖² = argmin_y D_y² − 2t·a_y,   a_y = ⟨u, τ_y⟩ (+ a constant),

is the lower envelope of n lines in t. A line is on it only if no target that is at least as near
(D) reaches at least as far along u (a): walking through the targets by distance, only the
running maxima of a can matter, about ln n of n. They are found in float32 with a tolerance that
covers its rounding, and the few that remain are evaluated in float64, so that the result is that
of a float64 search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray

_BLOCK = 32  # targets a block: large enough to skip work, small enough to look into few
_GATHER = 1024  # vectors gathered at a time: they stay in cache
_PASSES = 4  # towards the hull: each halves what is not on it


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
    """The nearest target as a step function of t ≥ 0, one row a ray.

    Attributes:
        thresholds: ascending t at which the target changes, padded with +inf, shape (rays, P).
        targets: targets[:, j] is nearest between thresholds j−1 and j, shape (rays, P+1).
    """

    thresholds: FloatArray
    targets: IntArray


def running_maxima(
    blocks: Iterable[Float32Array], tolerance: FloatArray, keep: int
) -> tuple[IntArray, IntArray, Float32Array]:
    """The entries of each column that are among its `keep` largest so far, up to tolerance.

    Args:
        blocks: consecutive rows, shape (m, rays) each, a ray a column; all rows by ascending
            distance. A block is looked at before the next one is asked for.
        tolerance: slack of each ray, shape (rays,).
        keep: 1 for the nearest target, 2 for the two nearest.

    Returns:
        The ray, the row and the value of each such entry, sorted by ray and then by row.
    """
    # Per block of rows only its maximum is looked at: about ln n of n entries are records, so most
    # blocks hold none. Blocks that may hold one are looked into entry by entry.
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
    """The maximum of every _BLOCK rows of each column; taken for many rays at once."""
    whole = len(values) - len(values) % _BLOCK
    tops = values[:whole].reshape(-1, _BLOCK, values.shape[1]).max(axis=1)
    if whole < len(values):
        tops = np.concatenate((tops, values[whole:].max(axis=0, keepdims=True)))
    return np.asarray(tops)


def _maxima_before(start: Float32Array, rows: Float32Array) -> Float32Array:
    """Row i: the maximum of `start` and of the rows before the i-th; one row more than `rows`."""
    maxima = np.empty((len(rows) + 1, start.size), dtype=np.float32)
    maxima[0] = start
    for i, row in enumerate(rows):  # six times faster than np.maximum.accumulate along axis 0
        np.maximum(maxima[i], row, out=maxima[i + 1])
    return maxima


def _bar_inside(
    inside: Float32Array, first: Float32Array, second: Float32Array, keep: int
) -> Float32Array:
    """What each entry of a block must reach, given the two largest before the block."""
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
    """Ragged columns (sorted by row) as rectangles; short rows repeat their last entry."""
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
        """Without those that surely lie above the lower envelope, whatever the length.

        A line of the envelope is a vertex of the upper hull of the points (D², a). A point below
        the chord of its two neighbours is none, also when these are dropped with it. Few passes
        leave little more than the hull.

        Args:
            tolerance: bound on the rounding error of a difference of two reaches, shape (rays,).
        """
        row, targets, x, y = self.row, self.targets, self.squared, self.reach.astype(np.float64)
        for _ in range(_PASSES):
            if row.size < 3:
                break
            # Below the chord from the left to the right neighbour, cross-multiplied: x ascends, so
            # no sign flips and nothing is divided by a difference that may be 0.
            rise = (y[2:] - y[:-2]) * (x[1:-1] - x[:-2])
            below = (y[1:-1] + tolerance[row[1:-1]] - y[:-2]) * (x[2:] - x[:-2]) < rise
            kept = np.ones(row.size, dtype=np.bool_)
            kept[1:-1] = ~(below & (row[2:] == row[:-2]))
            row, targets, x, y = row[kept], targets[kept], x[kept], y[kept]
        return Candidates(row, targets, x, y.astype(np.float32))


def lines(unit: FloatArray, targets: Float32Array, candidates: Candidates) -> Lines:
    """Candidates with their slopes in float64.

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
    """The t at which each candidate overtakes the current line; +inf if it never does."""
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
    """Among the marked candidates of each ray, the one that reaches farthest (ties: nearest)."""
    return np.asarray(np.where(mask, candidates.reach, -np.inf).argmax(axis=1))


def lower_envelope(candidates: Lines) -> Steps:
    """The steps of the nearest target, by walking from line to line (gift wrapping)."""
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
        # Of lines that cross at the same t the steepest lies lowest beyond it.
        following = farthest(candidates, t <= soonest[:, None])
        current = np.where(alive, following, current)
        thresholds.append(soonest)
        outputs.append(candidates.targets[everyone, current])
    limits = np.stack(thresholds, axis=1) if thresholds else np.empty((rays, 0))
    return Steps(limits, np.stack(outputs, axis=1))
