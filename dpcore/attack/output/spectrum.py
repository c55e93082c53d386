"""Distances of all words from each word, compressed so that a sum over distances is a product.

The normaliser of an exponential mechanism is Σ_y φ(D(w, y)) for a φ that changes with ε, while the
distances do not. The axis of distances is cut into bins, and in each bin φ is replaced by the
polynomial through its values at the Chebyshev–Lobatto points: the sum is then Σ_m ω_m(w)·φ(δ_m),
with points δ that all words share and weights ω that need the distances once. Only the moments
that determine ω are stored, as integers of half the size. For 25,000 words this turns ten seconds
for every ε into one product of milliseconds. The error of the polynomials is bounded for the
actual φ, word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.lexicon.cache import (
    ARRAYS,
    CacheEntry,
    bundled_folder,
    keep,
    recall,
    refuse_of_the_system,
    replacing,
)
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.distances import AllPairs, Tile

Moments = NDArray[np.int32]

BUNDLE = "spectrum.npz"
BINS = 40
ORDER = 4  # moments per bin
STEPS = 64  # moments are integer multiples of 1/64, so that a small file holds them

_PROBES = 48  # points of a bin at which the error of the polynomial is measured
_CAUTION = 2.0  # the largest error is at most this many times the largest measured one
_BLOCK = 1024  # words whose moments are converted to floats at a time
_ROUNDING = 1e-9  # relative, of sums of up to 50,000 terms with weights of both signs
_ANGLES = np.pi * np.arange(ORDER) / (ORDER - 1)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Distances of all other words from each word; read-only arrays.

    Attributes:
        metric: metric of the distances.
        points: δ, shape (M,), M = bins · points of a bin.
        moments: `rounded_moments`, shape (n, M): those of a bin side by side.
        width: width of a bin.
    """

    metric: Metric
    points: FloatArray
    moments: Moments
    width: float

    @property
    def counts(self) -> FloatArray:
        """Number of words in each bin, shape (n, bins)."""
        return self.moments[:, ::ORDER] / STEPS

    def sums(self, function: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Compute Σ φ(D(w, y)) over all y ≠ w, for every w, and a bound on the error of each.

        Args:
            function: φ, elementwise, of distances of shape (p,), to shape (p, …).

        Returns:
            Two arrays of shape (n, …).
        """
        blocks = self.blocks(function(self.points))
        return np.concatenate([part for _, part in blocks]), self.errors(function)

    def blocks(self, values: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Compute only the sums, for some thousand words at a time.

        Args:
            values: φ at `points`, shape (M, …).

        Yields:
            A slice of words, and their sums, shape (words, …).
        """
        slopes = _slopes(values).reshape(values.shape) / STEPS
        for rows, moments in self._floats(1):
            yield rows, moments @ slopes

    def errors(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Compute only the bound: of the polynomials, of the rounded moments, and of float64."""
        x = np.linspace(-1.0, 1.0, _PROBES)
        middles = (np.arange(BINS) + 0.5) * self.width
        # Between the points a polynomial has its own error, which a grid of probes measures up to
        # a factor; everywhere it has the error of rounding.
        true = function((middles[:, None] + 0.5 * self.width * x).reshape(-1))
        true = true.reshape(BINS, _PROBES, *true.shape[1:])
        values = function(self.points)
        seen = np.einsum("mx,bm...->bx...", _lagrange(x), _by_bin(values))
        each = _CAUTION * np.abs(seen - true).max(axis=1) + _ROUNDING * np.abs(true).max(axis=1)
        # Moments are off by half a step, except the first one: a count of words is an integer.
        slopes = np.abs(_slopes(values)[:, 1:]).sum(axis=1)
        bounds = [
            (counts @ each + (counts > 0).astype(np.float64) @ slopes * 0.5) / STEPS
            for _, counts in self._floats(ORDER)
        ]
        return np.concatenate(bounds)

    def _floats(self, every: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield every so many columns of the moments, for some words at a time, in one buffer."""
        columns = self.moments[:, ::every]
        memory = np.empty((_BLOCK, columns.shape[1]))
        for start in range(0, len(columns), _BLOCK):
            rows = slice(start, min(start + _BLOCK, len(columns)))
            part = memory[: rows.stop - start]
            part[:] = columns[rows]
            yield rows, part


def spectrum_of(lexicon: Lexicon, metric: Metric, progress: Progress = silent) -> Spectrum:
    """Return the spectrum of a lexicon: bundled, from the cache folder, or computed and cached.

    Args:
        lexicon: words and vectors.
        metric: metric of the distances.
        progress: called with ("distances", tiles done, all tiles).

    Returns:
        The same object as long as a reference exists: it is large, and several mechanisms need it.
    """
    key = (lexicon.fingerprint, str(metric))
    spectrum = _shared.get(key)
    if spectrum is None:
        spectrum = _shared[key] = _read(lexicon, metric, progress)
    return spectrum


_shared: WeakValueDictionary[tuple[str, str], Spectrum] = WeakValueDictionary()


def _read(lexicon: Lexicon, metric: Metric, progress: Progress) -> Spectrum:
    width = bin_width(lexicon, metric)
    moments = _bundled(lexicon, metric)
    if moments is None:
        kind = f"spectrum-{metric}-{BINS}-{ORDER}-{STEPS}"
        kept = recall(lexicon.fingerprint, kind)
        if kept is None:
            kept = CacheEntry({"moments": rounded_moments(lexicon, metric, progress)}, {})
            keep(lexicon.fingerprint, kind, kept)
        moments = kept.arrays["moments"]
    return _from_moments(metric, moments, width)


def write_bundle(lexicon: Lexicon, path: Path, progress: Progress = silent) -> None:
    """Compute the Euclidean moments of a lexicon and write the file that `spectrum_of` reads."""
    moments = rounded_moments(lexicon, Metric.EUCLIDEAN, progress)
    # Bytes of one significance are similar, so side by side they compress to half the size.
    planes = np.ascontiguousarray(moments.transpose(1, 2, 0)).astype("<i4").view(np.uint8)
    planes = planes.reshape(BINS, ORDER, len(lexicon), 4).transpose(3, 0, 1, 2)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file, fingerprint=np.array(lexicon.fingerprint), planes=np.ascontiguousarray(planes)
        )


def _bundled(lexicon: Lexicon, metric: Metric) -> Moments | None:
    """Return the bundled moments, if they belong to this lexicon."""
    if metric is not Metric.EUCLIDEAN:
        return None
    try:
        path = bundled_folder() / BUNDLE
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
            if str(arrays["fingerprint"]) != fingerprint:
                return None
            planes = np.ascontiguousarray(arrays["planes"].transpose(1, 2, 3, 0))
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        return None
    return np.asarray(planes.view("<i4")[..., 0].transpose(2, 0, 1))


def _from_moments(metric: Metric, moments: Moments, width: float) -> Spectrum:
    """Return the spectrum with the Chebyshev–Lobatto points of every bin."""
    places = (np.arange(BINS)[:, None] + 0.5 + 0.5 * np.cos(_ANGLES)) * width
    flat = np.ascontiguousarray(moments.reshape(len(moments), -1))
    arrays = places.reshape(-1), flat
    for array in arrays:
        array.setflags(write=False)
    return Spectrum(metric, *arrays, width)


def _by_bin(values: FloatArray) -> FloatArray:
    """Reshape values at all points, shape (M, …), to (bins, points of a bin, …)."""
    return values.reshape(BINS, ORDER, *values.shape[1:])


def _slopes(values: FloatArray) -> FloatArray:
    """Return coefficients in T_k of the bins' polynomials, shape (bins, order, …)."""
    return np.asarray(np.einsum("km,bm...->bk...", _to_weights(), _by_bin(values)))


def _to_weights() -> FloatArray:
    """Return the coefficients: entry k, m is that of T_k in ℓ_m, which is 1 only at point m."""
    # ℓ_m(x) = (2/N)·e_m·Σ_k e_k T_k(x_m) T_k(x), e = 1/2 at both ends.
    ends = np.ones(ORDER)
    ends[[0, -1]] = 0.5
    basis = np.cos(np.multiply.outer(np.arange(ORDER), _ANGLES))
    return np.asarray((2.0 / (ORDER - 1)) * ends[:, None] * basis * ends)


def _lagrange(x: FloatArray) -> FloatArray:
    """Return ℓ_m(x) of every point of a bin, shape (order, x)."""
    values = np.cos(np.multiply.outer(np.arange(ORDER), np.arccos(np.clip(x, -1.0, 1.0))))
    return np.asarray(_to_weights().T @ values)


def bin_width(lexicon: Lexicon, metric: Metric) -> float:
    """Return the width with which the diameter, or a bound of it, is inside the last bin."""
    return lexicon.with_metric(metric).extent.diameter * (1.0 + 1e-9) / BINS


def rounded_moments(lexicon: Lexicon, metric: Metric, progress: Progress = silent) -> Moments:
    """Compute 64·Σ_y T_k(x_y) of the words of each bin, rounded, int32, (n, bins, order)."""
    moments = _moments(lexicon, metric, bin_width(lexicon, metric), progress)
    return np.asarray(np.round(STEPS * moments).astype(np.int32))


def _moments(lexicon: Lexicon, metric: Metric, width: float, progress: Progress) -> FloatArray:
    """Compute Σ_y T_k(x_y) of the words of each bin, x from −1 to 1 in it: (n, bins, order)."""
    moments = np.zeros((len(lexicon), BINS, ORDER))
    pairs = AllPairs(lexicon.vectors, metric)
    for done, tile in enumerate(pairs, start=1):
        _enter(tile, width, moments)
        progress("distances", done, pairs.count)
    return moments


def _enter(tile: Tile, width: float, moments: FloatArray) -> None:
    """Add the pairs of a tile to the moments of its rows and of its columns."""
    place = tile.distances / width
    cell = place.astype(np.int64)
    np.minimum(cell, BINS - 1, out=cell)
    x = 2.0 * (place - cell) - 1.0
    height, breadth = cell.shape
    # A pair counts for both of its words; a diagonal tile already holds each pair twice.
    ways = [(tile.rows, cell + BINS * np.arange(height)[:, None], height)]
    if not tile.diagonal:
        ways.append((tile.columns, cell + BINS * np.arange(breadth), breadth))
    slots = [(rows, slot.reshape(-1), size) for rows, slot, size in ways]
    previous, current = np.ones_like(x), x
    if tile.diagonal:  # only other words count
        np.fill_diagonal(previous, 0.0)
        np.fill_diagonal(current, 0.0)
    # T₀ = 1, T₁ = x, T_{k+1} = 2x·T_k − T_{k−1}; every k is one weighted count.
    for k in range(ORDER):
        values = previous.reshape(-1)
        for rows, slot, size in slots:
            sums = np.bincount(slot, values, minlength=size * BINS)
            moments[rows, :, k] += sums.reshape(size, BINS)
        previous, current = current, 2.0 * x * current - previous
        if tile.diagonal:
            np.fill_diagonal(current, 0.0)
