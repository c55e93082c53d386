"""Products with K, K_wv = exp(−η·d(w, v)) over all pairs of words, for several η at once.

K has n² entries and is never held. For the steps of a solution its distances are kept in float32,
each pair once, if they fit into `limits.PACKING_BYTES`; else they are computed for every product.
For what is promised (`exact`) they are computed in float64, and the result has a proved bound on
its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.lexicon.rounding import ELEMENTARY, UNIT, gamma
from dpcore.limits import PACKING_BYTES
from dpcore.mechanisms.all_pairs import TILE, AllPairs
from dpcore.mechanisms.distance_blocks import RELATIVE_ERROR

if TYPE_CHECKING:
    from dpcore.arrays import Float32Array, FloatArray
    from dpcore.lexicon.progress import Progress

    _Part = tuple[slice, slice, FloatArray | Float32Array]

_NO_UNDERFLOW = 700.0  # e^−this is a normal float64
_FAR = 80.0  # e^−this is below what float32 sees beside 1, and still a normal number


class Kernel:
    """K of one vocabulary under one metric, at any η.

    Args:
        vectors: shape (n, p), float32.
        metric: d; under the angle two parallel words have distance 0.
    """

    def __init__(self, vectors: NDArray[np.float32], metric: Metric = Metric.EUCLIDEAN) -> None:
        """Remember what it is a kernel of; nothing is computed yet."""
        self._pairs = AllPairs(vectors, metric)
        self._metric = metric
        self._kept: list[_Part] | None = None
        self.n = len(vectors)

    def near(
        self, etas: FloatArray, columns: FloatArray, progress: Progress = silent
    ) -> FloatArray:
        """K_η·x for the steps of a solution: right to about six digits.

        Args:
            etas: η ≥ 0, shape (E,).
            columns: x of each η, shape (E, n).
            progress: called with (stage, tiles done, all tiles).

        Returns:
            Shape (E, n), float64.
        """
        if 2 * self.n * (self.n + TILE) > PACKING_BYTES:
            return self._product(self._parts(), etas, columns, np.float32, progress)
        if self._kept is None:
            self._kept = []
            for done, (rows, others, distances) in enumerate(self._parts(), start=1):
                self._kept.append((rows, others, distances.astype(np.float32)))
                progress("measuring distances", done, self._pairs.count)
        return self._product(self._kept, etas, columns, np.float32, progress)

    def _parts(self) -> Iterator[_Part]:
        """The distances of all pairs, computed part by part."""
        return ((tile.rows, tile.columns, tile.distances) for tile in self._pairs)

    def exact(
        self,
        etas: FloatArray,
        columns: FloatArray,
        progress: Progress = silent,
        *,
        away: bool = False,
    ) -> FloatArray:
        """K_η·x in float64; for x ≥ 0 the relative error is at most `error`.

        Args:
            etas: η ≥ 0, shape (E,).
            columns: x of each η, shape (E, n).
            progress: called with (stage, tiles done, all tiles).
            away: whether every entry is multiplied by its distance; a distance is off by
                `all_pairs.RELATIVE_ERROR`.
        """
        return self._product(self._parts(), etas, columns, np.float64, progress, away=away)

    def error(self, etas: FloatArray, diameter: float) -> FloatArray:
        """Bound on the relative error of `exact` for x ≥ 0, of which no term cancels; shape (E,).

        A distance is off by a factor 1 ± ρ (an angle by ±ρ), and η·d is rounded, so that an entry
        is off by a factor of e^±(ρ + u)·η·d and by that of the exponential. Entries below e^−700,
        which could underflow, are smaller than the others by e^−700 at least, K_ww = 1 being one of
        them if x_w > 0; a caller that needs the bound where x_w = 0 has η·Δ < 700. A sum of a tile
        and one over tiles have fewer than n + n/TILE + TILE terms (Higham 2002, (4.4)).

        Args:
            etas: η, shape (E,).
            diameter: largest distance, or a bound on it.
        """
        absolute = self._metric is Metric.ANGULAR
        moved = RELATIVE_ERROR + 2.0 * UNIT * diameter if absolute else RELATIVE_ERROR + 2.0 * UNIT
        reach = 1.0 if absolute else diameter
        exponents = np.minimum(etas * reach, _NO_UNDERFLOW) * moved
        sums = gamma(self.n + self.n / TILE + TILE) + ELEMENTARY + math.exp(-690.0)
        return np.asarray(1.01 * (exponents + sums))

    def _product(
        self,
        parts: Iterable[_Part],
        etas: FloatArray,
        columns: FloatArray,
        kind: type[np.float32] | type[np.float64],
        progress: Progress,
        *,
        away: bool = False,
    ) -> FloatArray:
        """Every part serves its rows and, unless it is on the diagonal, its columns."""
        given = np.asarray(columns, dtype=kind)
        result = np.zeros(columns.shape)
        far = _FAR if kind is np.float32 else math.inf
        for done, (rows, others, apart) in enumerate(parts, start=1):
            distances = apart.astype(kind, copy=False)
            entries = np.empty_like(distances)
            for k, eta in enumerate(etas):
                np.multiply(distances, kind(-eta), out=entries)
                if far < math.inf:
                    # Denormal numbers would cost more than all the rest.
                    np.maximum(entries, kind(-far), out=entries)
                np.exp(entries, out=entries)
                if away:
                    np.multiply(entries, distances, out=entries)
                result[k, rows] += np.asarray(entries @ given[k, others])
                if rows != others:
                    result[k, others] += np.asarray(given[k, rows] @ entries)
            progress("summing over all pairs", done, self._pairs.count)
        return result
