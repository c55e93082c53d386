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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Float32Array = NDArray[np.float32]

_BLOCK = 32  # targets a block: large enough to skip work, small enough to look into few


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
    values: Float32Array, tolerance: FloatArray, keep: int
) -> tuple[IntArray, IntArray]:
    """The entries of each column that are among its `keep` largest so far, up to tolerance.

    Args:
        values: shape (m, rays), a ray a column; rows by ascending distance.
        tolerance: slack of each ray, shape (rays,).
        keep: 1 for the nearest target, 2 for the two nearest.

    Returns:
        The ray and the row of each such entry, sorted by ray and then by row.
    """
    m = values.shape[0]
    whole = m - m % _BLOCK
    # Down the columns, so that a block's maximum is taken for many rays at once.
    tops = values[:whole].reshape(-1, _BLOCK, values.shape[1]).max(axis=1)
    if whole < m:
        tops = np.concatenate((tops, values[whole:].max(axis=0, keepdims=True)))
    first = np.full_like(tops, -np.inf)  # largest in the blocks before
    np.maximum.accumulate(tops[:-1], axis=0, out=first[1:])
    second = np.full_like(tops, -np.inf)  # a lower bound of the second largest in them
    if keep == 2 and len(tops) > 2:
        np.maximum.accumulate(np.minimum(tops[1:-1], first[1:-1]), axis=0, out=second[2:])
    slack = tolerance.astype(np.float32)
    block, ray = np.nonzero(tops >= (first if keep == 1 else second) - slack)
    by_ray = np.argsort(ray, kind="stable")
    block, ray = block[by_ray], ray[by_ray]
    entry = block[:, None] * _BLOCK + np.arange(_BLOCK)
    inside = np.where(entry < m, values[np.minimum(entry, m - 1), ray[:, None]], -np.inf)
    bar = _bar_inside(inside, first[block, ray], second[block, ray], keep)
    chosen, offset = np.nonzero((inside >= bar - slack[ray, None]) & np.isfinite(inside))
    return ray[chosen], entry[chosen, offset]


def _bar_inside(
    inside: Float32Array, first: Float32Array, second: Float32Array, keep: int
) -> Float32Array:
    """What each entry of a block must reach, given the two largest before the block."""
    start = np.concatenate((first[:, None], inside[:, :-1]), axis=1)
    largest = np.maximum.accumulate(start, axis=1)
    if keep == 1:
        return largest
    runner_up = np.concatenate(
        (second[:, None], np.minimum(inside[:, :-1], largest[:, :-1])), axis=1
    )
    return np.asarray(np.maximum.accumulate(runner_up, axis=1))


def pad(rays: int, row: IntArray, *columns: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Ragged columns (sorted by row) as rectangles; short rows repeat their last entry."""
    count = np.bincount(row, minlength=rays)
    start = np.concatenate(([0], np.cumsum(count)[:-1]))
    take = start[:, None] + np.minimum(np.arange(count.max())[None, :], count[:, None] - 1)
    return [column[take] for column in columns]


def lines(
    unit: FloatArray,
    targets: Float32Array,
    row: IntArray,
    chosen: IntArray,
    squared: FloatArray,
) -> Lines:
    """Candidates with their slopes in float64.

    Args:
        unit: directions, shape (rays, d).
        targets: shape (n, d).
        row: the ray of each candidate, ascending.
        chosen: its target.
        squared: its squared distance from the ray's origin.
    """
    reach = np.empty(row.size)
    step = 4096  # keeps the gathered vectors in cache
    for i in range(0, row.size, step):
        part = slice(i, i + step)
        reach[part] = np.einsum(
            "ij,ij->i", targets[chosen[part]].astype(np.float64), unit[row[part]]
        )
    count = np.bincount(row, minlength=unit.shape[0])
    ids, d2, a = pad(unit.shape[0], row, chosen, squared, reach)
    a = np.where(np.arange(a.shape[1])[None, :] < count[:, None], a, -np.inf)
    return Lines(ids, d2, a)  # type: ignore[arg-type]


def crossings(candidates: Lines, current: IntArray) -> FloatArray:
    """The t at which each candidate overtakes the current line; +inf if it never does."""
    d2 = np.take_along_axis(candidates.squared, current[:, None], axis=1)
    a = np.take_along_axis(candidates.reach, current[:, None], axis=1)
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
    current = farthest(candidates, candidates.squared <= candidates.squared[:, :1])
    outputs = [candidates.targets[everyone, current]]
    thresholds: list[FloatArray] = []
    while True:
        t = crossings(candidates, current)
        soonest = t.min(axis=1)
        alive = np.isfinite(soonest)
        if not alive.any():
            break
        following = farthest(candidates, t <= soonest[:, None])
        current = np.where(alive, following, current)
        thresholds.append(soonest)
        outputs.append(candidates.targets[everyone, current])
    limits = np.stack(thresholds, axis=1) if thresholds else np.empty((rays, 0))
    return Steps(limits, np.stack(outputs, axis=1))
