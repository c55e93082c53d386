"""The upper envelope of one Gumbel-max draw of TEM, as a step function of ε.

score_y(ε) = max(−ε·D_y/2, −c) + G_y, so the maximum over y is the upper envelope, for ε > 0, of
the falling lines −ε·D_y/2 + G_y and of the constant −c + max_y G_y, whose word is argmax_y G_y:
max_y max(a_y, b_y) = max(max_y a_y, max_y b_y). A line can be on the envelope only if every
nearer word has a smaller intercept; walking through the vocabulary by distance these are the
running maxima of G, about ln n of n.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray, IntArray


def _candidates(
    orders: IntArray, distances: FloatArray, noise: FloatArray, cap: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Word, distance and intercept of the lines that can matter, shape (m, R), padded.

    The last running maximum is the largest of all, so the constant gets its word. Padding has
    an intercept of −∞.
    """
    # A line that starts lower than a nearer word's and falls faster is never on top.
    sorted_noise = np.take_along_axis(noise, orders, axis=1)
    highest = np.maximum.accumulate(sorted_noise, axis=1)
    record = np.ones(noise.shape, dtype=bool)
    record[:, 1:] = sorted_noise[:, 1:] > highest[:, :-1]
    row, column = np.nonzero(record)
    counts = np.bincount(row, minlength=noise.shape[0])
    first = np.cumsum(counts) - counts
    place = np.arange(row.size) - first[row] + 1
    shape = (noise.shape[0], int(counts.max()) + 1)
    words = np.zeros(shape, dtype=np.int64)
    distance = np.full(shape, math.inf)
    intercept = np.full(shape, -math.inf)
    words[row, place] = orders[row, column]
    distance[row, place] = distances[row, column]
    intercept[row, place] = sorted_noise[row, column]
    everyone = np.arange(noise.shape[0])
    words[:, 0] = words[everyone, counts]
    distance[:, 0] = 0.0
    intercept[:, 0] = highest[:, -1] - cap
    return words, distance, intercept


def gumbel_paths(
    orders: IntArray, distances: FloatArray, noise: FloatArray, cap: float
) -> tuple[FloatArray, IntArray]:
    """Breaks and outputs of m draws.

    Args:
        orders: the vocabulary of each draw by distance, shape (m, n).
        distances: those distances, ascending, shape (m, n).
        noise: Gumbel(0, 1) noise of each draw by word index, shape (m, n).
        cap: c > 0.

    Returns:
        Breaks in ε, ascending, padded with +inf, shape (m, P), and outputs, shape (m, P + 1),
        padded with the last one.
    """
    words, distance, intercept = _candidates(orders, distances, noise, cap)
    everyone = np.arange(noise.shape[0])
    current = intercept.argmax(axis=1)
    outputs = [words[everyone, current]]
    breaks: list[FloatArray] = []
    while True:
        # Lines G − ε·D/2 cross at ε = 2(G_c − G_y)/(D_c − D_y): a flatter one wins from there on.
        nearer = distance[everyone, current][:, None] - distance
        fall = intercept[everyone, current][:, None] - intercept
        crossing = np.full(nearer.shape, math.inf)
        np.divide(2.0 * fall, nearer, out=crossing, where=nearer > 0)
        soonest = crossing.min(axis=1)
        alive = np.isfinite(soonest)
        if not alive.any():
            break
        # Of lines that cross at the same ε the one that falls least wins beyond it.
        following = np.where(crossing <= soonest[:, None], distance, math.inf).argmin(axis=1)
        current = np.where(alive, following, current)
        # Rounding must not put a break before the one that led to it.
        breaks.append(np.maximum(soonest, breaks[-1]) if breaks else soonest)
        outputs.append(words[everyone, current])
    limits = np.stack(breaks, axis=1) if breaks else np.empty((noise.shape[0], 0))
    return limits, np.stack(outputs, axis=1)
