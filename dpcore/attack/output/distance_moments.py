"""Moments of the distances of all other words from each word, bin by bin: all that sums need.

x is the place of a distance in its bin, −1 to 1; the moments are Σ T_k(x), T_k of Chebyshev.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.all_pairs import AllPairs, Tile

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

BINS = 40
ORDER = 4  # moments of a bin
STEPS = 64  # moments are whole multiples of 1/64, so that a small file holds them


def bin_width(lexicon: Lexicon, metric: Metric) -> float:
    """Such that the diameter, or a bound of it, lies inside the last bin."""
    return lexicon.with_metric(metric).extent.diameter * (1.0 + 1e-9) / BINS


def rounded_moments(lexicon: Lexicon, metric: Metric, progress: Progress = silent) -> IntArray:
    """64·Σ_y T_k(x_y) of the words of each bin, rounded, int32, shape (n, bins, order)."""
    found = np.round(STEPS * _moments(lexicon, metric, bin_width(lexicon, metric), progress))
    return np.asarray(found.astype(np.int32))


def _moments(lexicon: Lexicon, metric: Metric, width: float, progress: Progress) -> FloatArray:
    """Σ_y T_k(x_y) of the words of each bin, x their place in it: shape (n, bins, order)."""
    found = np.zeros((len(lexicon), BINS, ORDER))
    pairs = AllPairs(lexicon.vectors, metric)
    for done, tile in enumerate(pairs, start=1):
        _enter(tile, width, found)
        progress("distances", done, pairs.count)
    return found


def _enter(tile: Tile, width: float, found: FloatArray) -> None:
    """Add the pairs of a tile to the moments of its rows and of its columns."""
    place = tile.distances / width
    cell = place.astype(np.int64)
    np.minimum(cell, BINS - 1, out=cell)
    x = 2.0 * (place - cell) - 1.0
    height, breadth = cell.shape
    ways = [(tile.rows, cell + BINS * np.arange(height)[:, None], height)]
    if not tile.diagonal:
        ways.append((tile.columns, cell + BINS * np.arange(breadth), breadth))
    slots = [(rows, slot.reshape(-1), size) for rows, slot, size in ways]
    previous, current = np.ones_like(x), x
    if tile.diagonal:  # a word is not one of the others
        np.fill_diagonal(previous, 0.0)
        np.fill_diagonal(current, 0.0)
    for k in range(ORDER):
        values = previous.reshape(-1)
        for rows, slot, size in slots:
            sums = np.bincount(slot, values, minlength=size * BINS)
            found[rows, :, k] += sums.reshape(size, BINS)
        previous, current = current, 2.0 * x * current - previous
        if tile.diagonal:
            np.fill_diagonal(current, 0.0)
