"""Draws of the truncated Gumbel mechanism among few candidates, as array work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.noise.gumbel import truncated_from_uniform

if TYPE_CHECKING:
    from dpcore.lexicon.ranking import Ranking

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK_ENTRIES = 30_000  # noise of one block stays in the processor's cache
_RECTANGLE = 2_000_000  # numbers of one rectangle of noise: 16 MB
_FEW = 64  # candidates that may be padded


def choose_among_few(
    rng: np.random.Generator,
    near: tuple[IntArray, FloatArray],
    rows: IntArray,
    counts: IntArray,
    b: float,
    bound: float,
) -> IntArray:
    """One output per draw, shape (k,): the smallest noisy distance among its candidates.

    Args:
        rng: source of randomness.
        near: nearest words and their distances of each distinct input, shape (m, K) each.
        rows: the distinct input of each draw, shape (k,).
        counts: its number of candidates, 1..K, shape (k,).
        b: noise scale.
        bound: truncation bound.
    """
    outputs = np.empty(rows.size, dtype=np.int64)
    by_count = np.argsort(counts, kind="stable")
    uniform = rng.random(int(counts.sum()))
    outputs[by_count] = smallest_sums(near, rows[by_count], counts[by_count], uniform, b, bound)
    return outputs


def smallest_sums(
    near: tuple[IntArray, FloatArray],
    rows: IntArray,
    counts: IntArray,
    uniform: FloatArray,
    b: float,
    bound: float,
) -> IntArray:
    """As `choose_among_few`, the uniform number behind the noise of each candidate given in a row.

    Args:
        near: as there.
        rows: as there.
        counts: as there.
        uniform: shape (Σ counts,).
        b: noise scale.
        bound: truncation bound.
    """
    order, distance = near
    outputs = np.empty(rows.size, dtype=np.int64)
    begin = np.concatenate(([0], np.cumsum(counts)[:-1]))
    # Draws with the same number of candidates form one rectangle.
    by_count = np.argsort(counts, kind="stable")
    ends = np.searchsorted(counts[by_count], np.arange(1, int(counts.max()) + 2))
    for k in range(1, int(counts.max()) + 1):
        members = by_count[ends[k - 1] : ends[k]]
        step = max(1, _BLOCK_ENTRIES // k)
        for start in range(0, members.size, step):
            part = members[start : start + step]
            noisy = truncated_from_uniform(uniform[begin[part, None] + np.arange(k)], b, bound)
            noisy += distance[rows[part], :k]
            outputs[part] = order[rows[part], noisy.argmin(axis=1)]
    return outputs


def look(distance: FloatArray, uniform: FloatArray, scales: list[float], bound: float) -> IntArray:
    """The column of the smallest noisy distance at each of E noise scales, shape (k, E).

    Args:
        distance: distances of the candidates, shape (k, K); +inf where there is none.
        uniform: the uniform number behind the noise of each, shape (k, K).
        scales: E values of b.
        bound: truncation bound.
    """
    columns = [
        (distance + truncated_from_uniform(uniform, b, bound)).argmin(axis=1) for b in scales
    ]
    return np.stack(columns, axis=1)


def look_among_few(
    few: list[tuple[int, FloatArray, Ranking]], scales: list[float], bound: float
) -> tuple[list[int], IntArray]:
    """Outputs at each scale of draws with few candidates.

    Args:
        few: position, one uniform number per candidate, and the ranking of each draw.
        scales: E values of b.
        bound: truncation bound.

    Returns:
        The positions (k,), and the outputs as word indices, shape (k, E).
    """
    shape = (len(few), max(uniform.size for _, uniform, _ in few))
    noise = np.full(shape, 0.5)
    distance = np.full(shape, math.inf)
    order = np.zeros(shape, dtype=np.int64)
    for row, (_, uniform, ranking) in enumerate(few):
        k = uniform.size
        noise[row, :k] = uniform
        distance[row, :k] = ranking.distances[:k]
        order[row, :k] = ranking.order[:k]
    chosen = look(distance, noise, scales, bound)
    return [i for i, _, _ in few], np.take_along_axis(order, chosen, axis=1)


def rectangles(counts: IntArray) -> list[IntArray]:
    """Positions of draws that share one rectangle of noise: by number of candidates, in blocks."""
    order = np.argsort(counts, kind="stable")
    parts: list[IntArray] = []
    while order.size:
        # A draw over all words is wide, and it is alone but for others of its kind.
        alike = int((counts[order] <= 2 * counts[order[0]] + _FEW).sum())
        size = min(alike, max(1, _RECTANGLE // int(counts[order[alike - 1]])))
        parts.append(order[:size])
        order = order[size:]
    return parts
