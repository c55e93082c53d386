"""Packing programme of the optimal mechanism: kernel products, solver, certified weights.

K, K_wv = exp(−η·d(w, v)) over all pairs of words, has n² entries and is never stored. For the steps
of a solution its distances are kept in float32, each pair once, if they fit into
`limits.PACKING_BYTES`; else they are computed for every product. For guarantees (`exact`) they are
computed in float64, and the result has a proved bound on its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.lexicon.cache import (
    ARRAYS,
    CacheEntry,
    bundled_data,
    keep,
    recall,
    refuse_of_the_system,
    replacing,
)
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import ELEMENTARY, UNIT, Metric, gamma
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import PACKING_BYTES
from dpcore.mechanisms.distances import RELATIVE_ERROR, TILE, AllPairs
from dpcore.mechanisms.exponential.tem_loss import log_normalisers, worst_losses

_Part = tuple[slice, slice, FloatArray | Float32Array]


_NO_UNDERFLOW = 700.0  # e^−this is a normal float64
_FAR = 80.0  # e^−this is negligible next to 1 in float32, and still a normal number


class Kernel:
    """Kernel K of one vocabulary under one metric, at any η.

    Args:
        vectors: shape (n, p), float32.
        metric: d; under the angle two parallel words have distance 0.
    """

    def __init__(self, vectors: NDArray[np.float32], metric: Metric = Metric.EUCLIDEAN) -> None:
        """Store the arguments; nothing is computed yet."""
        self._pairs = AllPairs(vectors, metric)
        self._vectors, self._metric = vectors, metric
        self._kept: list[_Part] | None = None
        self.n = len(vectors)

    def part(self, words: IntArray) -> Kernel:
        """Return the kernel of some of the words, or this one if they are most of them, or none."""
        # A part of more than half would cost nearly as much, and its distances once more.
        if not 0 < 2 * words.size <= self.n:
            return self
        return Kernel(self._vectors[words], self._metric)

    def near(
        self, etas: FloatArray, columns: FloatArray, progress: Progress = silent
    ) -> FloatArray:
        """Return K_η·x for the steps of a solution, accurate to about six digits.

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
        """Yield the distances of all pairs, computed part by part."""
        return ((tile.rows, tile.columns, tile.distances) for tile in self._pairs)

    def exact(
        self,
        etas: FloatArray,
        columns: FloatArray,
        progress: Progress = silent,
        *,
        away: bool = False,
    ) -> FloatArray:
        """Return K_η·x in float64; for x ≥ 0 the relative error is at most `error`.

        Args:
            etas: η ≥ 0, shape (E,).
            columns: x of each η, shape (E, n).
            progress: called with (stage, tiles done, all tiles).
            away: True to multiply every entry by its distance; a distance is off by
                `all_pairs.RELATIVE_ERROR`.
        """
        return self._product(self._parts(), etas, columns, np.float64, progress, away=away)

    def error(self, etas: FloatArray, diameter: float) -> FloatArray:
        """Bound the relative error of `exact` for x ≥ 0, where no term cancels; shape (E,).

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
        """Multiply part by part: each serves its rows and, off the diagonal, its columns."""
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


# The packing programme max {1ᵀA : K·A ≤ 1, A ≥ 0} and its dual min {1ᵀb : K·b ≥ π, b ≥ 0}.
#
# A mechanism that satisfies ε·d lets an attacker with the prior π guess correctly at most a share
# of Σ_v π_v·A_v words, for A the best packing (`docs/optimal.md`, Theorem 1), and that is at most
# 1ᵀb for every b of the dual. A good b is the minimum over b ≥ 0 of the quadratic form ½·bᵀKb −
# πᵀb: there K·b ≥ π, with equality wherever b > 0 (Karush, Kuhn, Tucker), so that it is a point of
# the dual, and the optimal one whenever A = K_SS⁻¹·1 on S = {b > 0} is a packing: both then have
# the value 1ᵀb. K is positive definite under the Euclidean metric, so the minimum is found by
# conjugate gradients on a set S that loses the words with b < 0 and regains those with K·b < π. No
# result relies on this: only one product with K counts as evidence about b.

_ROUNDS = 40  # changes of S: five were enough in all trials
_STEPS = 120  # steps of conjugate gradients in a round
_CLOSE = 1e-6  # norm of a residual, relative to that of π: about the accuracy of float32
_REFINED = 1e-3  # further reduction by the correction from a float64 residual


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights b ≥ 0 with K·b ≈ π where b > 0, for several η.

    Attributes:
        etas: η, shape (E,).
        weights: b, shape (E, n), not negative.
        products: K·b in float64, shape (E, n).
        errors: bound on the relative error of `products`, shape (E,).
    """

    etas: FloatArray
    weights: FloatArray
    products: FloatArray
    errors: FloatArray

    def upper(self, prior: FloatArray) -> FloatArray:
        """Return a rigorous upper bound on the value of the programme at every ε = η, shape (E,).

        b is scaled so that K·b ≥ π holds despite rounding.
        """
        short = (prior / self.products).max(axis=1) / (1.0 - self.errors)
        # The sum of n terms is off by less than n·u, and a few roundings.
        return np.asarray(self.weights.sum(axis=1) * short * (1.0 + 1e-11))


def solve(
    kernel: Kernel,
    etas: FloatArray,
    prior: FloatArray,
    diameter: float,
    progress: Progress = silent,
    start: FloatArray | None = None,
) -> Solution:
    """Solve the quadratic programme at several η; the slowest of them decide the time.

    Args:
        kernel: K.
        etas: η > 0, shape (E,).
        prior: π, shape (n,), ones for the uniform prior, times n; or one for each η, shape (E, n).
        diameter: largest distance of two words.
        progress: called with (stage, done, all).
        start: initial b, shape (E, n).
    """
    weights = np.zeros((etas.size, kernel.n)) if start is None else np.array(start, dtype=float)
    wanted = np.broadcast_to(prior, weights.shape)
    # Under a skewed prior the words of the tail get by on the weights of the others: they come in
    # where they do not.
    likely = wanted >= wanted.mean(axis=1, keepdims=True) * (1.0 - 1e-9)
    support = weights > 0 if start is not None else likely
    limits = np.array([_CLOSE * float(np.linalg.norm(row)) for row in wanted])
    open_ = np.arange(etas.size)
    for _ in range(_ROUNDS):
        weights[open_], products = _descend(
            kernel,
            etas[open_],
            wanted[open_],
            weights[open_],
            support[open_],
            limits[open_],
            progress,
        )
        negative = support[open_] & (weights[open_] < 0)
        # A word without weight returns only if its row is short by more than the residual.
        short = ~support[open_] & (products < wanted[open_] - 1e-5 * np.abs(wanted[open_]))
        support[open_] = (support[open_] & ~negative) | short
        weights[open_] = np.maximum(weights[open_], 0.0)
        open_ = open_[(negative | short).any(axis=1)]
        if not open_.size:
            break
    residual = np.where(support, wanted - kernel.exact(etas, weights, progress), 0.0)
    limits = _REFINED * np.linalg.norm(residual, axis=1)
    correction, _ = _descend(
        kernel, etas, residual, np.zeros_like(weights), support, limits, progress
    )
    weights = np.maximum(weights + correction, 0.0)
    products = kernel.exact(etas, weights, progress)
    return Solution(etas, weights, products, kernel.error(etas, diameter))


def _descend(
    kernel: Kernel,
    etas: FloatArray,
    wanted: FloatArray,
    start: FloatArray,
    support: NDArray[np.bool_],
    limits: FloatArray,
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """Run conjugate gradients on the words of `support`, for all η in parallel.

    Args:
        kernel: K.
        etas: shape (E,).
        wanted: the right-hand side, shape (E, n).
        start: shape (E, n).
        support: shape (E, n); elsewhere the solution is 0.
        limits: norm of the residual at which an η is done, shape (E,).
        progress: called with (stage, done, all).

    Returns:
        The solution and K times it, shape (E, n) each.
    """
    words = np.flatnonzero(support.any(axis=0))
    part = kernel.part(words)
    if (
        part is not kernel
    ):  # the steps among the words that any η uses, and all of K once at the end
        solution = np.zeros_like(start)
        solution[:, words], _ = _descend(
            part, etas, wanted[:, words], start[:, words], support[:, words], limits, progress
        )
        return solution, kernel.near(etas, solution, progress)
    solution = np.where(support, start, 0.0)
    products = kernel.near(etas, solution, progress) if start.any() else np.zeros_like(start)
    residual = np.where(support, wanted - products, 0.0)
    direction = residual.copy()
    squares = np.einsum("ij,ij->i", residual, residual)
    for _ in range(_STEPS):
        active = np.flatnonzero(squares > limits**2)
        if not active.size:
            break
        moved = kernel.near(etas[active], direction[active], progress)
        curvature = np.einsum("ij,ij->i", direction[active], np.where(support[active], moved, 0.0))
        # K need not be positive definite under every metric: such an η is left unchanged.
        length = np.where(curvature > 0, squares[active] / np.where(curvature > 0, curvature, 1), 0)
        solution[active] += length[:, None] * direction[active]
        products[active] += length[:, None] * moved
        residual[active] -= length[:, None] * np.where(support[active], moved, 0.0)
        new = np.einsum("ij,ij->i", residual[active], residual[active])
        direction[active] *= (new / squares[active])[:, None]
        direction[active] += residual[active]
        squares[active] = np.where(curvature > 0, new, 0.0)
    return solution, products


# Weights and exponents of the optimal mechanism with the certified ε of each.
#
# For P(y | w) = a_y·e^(−η·d(w, y))/Z_w, Z = K_η·a, the loss of an output between two words is at
# most η·d + |ln Z_w − ln Z_v| by the triangle inequality, so that the largest of (that/d) over all
# pairs is an ε that holds (`exponential.tem_loss`, where it is computed for a = 1). Where a = K⁻¹·1
# is not negative Z is 1 but for rounding, and ε = η; elsewhere a is the minimum over a ≥ 0 of the
# packing programme, Z differs a little from word to word, and η is a little below ε (on the bundled
# words a tenth of a percent).


NORMALISER_ERROR = 1e-6
"""Bound on the absolute error of a stored ln Z."""
_ROUNDED = 2.5e-7  # relative: above the possible increase of the certified ε by float32 weights
_TURNS = 8  # turns towards a wanted ε from below, where the certificate is not ε itself
_CAUTION = 0.01  # extra decrease of the exponent beyond the miss, a turn


@dataclass(frozen=True, eq=False)
class CertifiedWeights:
    """Weights and exponents of mechanisms that satisfy ε, for several target ε.

    Attributes:
        wanted: ε, ascending, shape (E,).
        upper: at each of them a bound on the share of words that an attacker can guess correctly,
            under any mechanism that satisfies ε and a uniform prior, shape (E,).
        epsilons: certified, at most the wanted ones, shape (E,).
        strengths: η, shape (E,).
        weights: a, shape (E, n), float32, in [0, 1].
        normalisers: ln Z, shape (E, n), float32; 0 where it is below `NORMALISER_ERROR` in size.
    """

    wanted: FloatArray
    upper: FloatArray
    epsilons: FloatArray
    strengths: FloatArray
    weights: NDArray[np.float32]
    normalisers: NDArray[np.float32]

    @property
    def lower(self) -> FloatArray:
        """Share of words that stay under these weights, shape (E,).

        An attacker who guesses the output word is correct for as many. Rounded down by more than
        the error of float32 and of the stored normalisers.
        """
        kept = self.weights.astype(np.float64) * np.exp(-self.normalisers.astype(np.float64))
        return np.asarray(kept.mean(axis=1) * (1.0 - 2.0 * NORMALISER_ERROR))


def certified_weights(
    lexicon: Lexicon, metric: Metric, wanted: Sequence[float], progress: Progress = silent
) -> CertifiedWeights:
    """Compute weights for each wanted ε: minutes for 25,000 words, most for small ε.

    Args:
        lexicon: words and vectors.
        metric: d.
        wanted: ε > 0, in any order.
        progress: called with (stage, done, all); several rounds.
    """
    targets = np.unique(np.asarray(wanted, dtype=np.float64))
    diameter = lexicon.with_metric(metric).extent.diameter
    kernel, everyone = Kernel(lexicon.vectors, metric), np.ones(len(lexicon))
    bound = solve(kernel, targets, everyone, diameter, progress)
    upper = bound.upper(everyone) / len(lexicon)
    strengths = targets * (1.0 - _ROUNDED)
    weights = bound.weights.astype(np.float32)
    epsilons, normalisers = _certify(lexicon, metric, strengths, weights, progress)
    for turn in range(1, _TURNS + 1):
        missed = np.flatnonzero(epsilons > targets)
        if not missed.size:
            break
        # The normalisers' share changes slowly with η, but words come and go: aim a little below,
        # and lower after each failure.
        excess = epsilons[missed] / strengths[missed] - 1.0
        excess *= 1.0 + _CAUTION * turn**2
        strengths[missed] = targets[missed] / (1.0 + excess) * (1.0 - _ROUNDED)
        closer: Solution = solve(
            kernel, strengths[missed], everyone, diameter, progress, weights[missed].astype(float)
        )
        weights[missed] = closer.weights.astype(np.float32)
        epsilons[missed], normalisers[missed] = _certify(
            lexicon, metric, strengths[missed], weights[missed], progress
        )
    return CertifiedWeights(targets, upper, epsilons, strengths, weights, for_storage(normalisers))


def for_storage(normalisers: FloatArray) -> NDArray[np.float32]:
    """Return ln Z as stored: 0 where it is only rounding."""
    return np.where(np.abs(normalisers) < 0.9 * NORMALISER_ERROR, 0.0, normalisers).astype(
        np.float32
    )


def _certify(
    lexicon: Lexicon,
    metric: Metric,
    strengths: FloatArray,
    weights: NDArray[np.float32],
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """Return the ε that surely hold for these weights and exponents, (E,), and ln Z, (E, n)."""
    uncapped = np.full(strengths.size, np.inf)
    normalisers = log_normalisers(
        lexicon, metric, strengths, uncapped, progress, weights.astype(np.float64)
    )
    losses = worst_losses(lexicon, metric, strengths, uncapped, normalisers, progress)
    epsilons = np.nextafter([loss.epsilon + loss.error for loss in losses], np.inf)
    return epsilons, normalisers.logs


# Certified weights that are bundled, or that were kept on this computer.


_FILE = "optimal.npz"
_ARRAYS = ("epsilons", "strengths", "weights", "normalisers", "upper", "wanted")


@lru_cache(maxsize=4)
def known_weights(lexicon: Lexicon, metric: Metric) -> CertifiedWeights | None:
    """Return the weights of this lexicon and metric, or None if they were never computed."""
    bundled = _bundled()
    if bundled is not None and bundled[:2] == (lexicon.fingerprint, str(metric)):
        return bundled[2]
    kept = recall(lexicon.fingerprint, _kind(metric))
    if kept is None or not set(_ARRAYS) <= kept.arrays.keys():
        return None
    return CertifiedWeights(**{name: kept.arrays[name] for name in _ARRAYS})


def keep_weights(lexicon: Lexicon, metric: Metric, table: CertifiedWeights) -> bool:
    """Write weights to the cache folder; return True if they could be written."""
    arrays = {name: getattr(table, name) for name in _ARRAYS}
    written = keep(lexicon.fingerprint, _kind(metric), CacheEntry(arrays, {}))
    known_weights.cache_clear()
    return written


def write_weights(path: Path, lexicon: Lexicon, metric: Metric, table: CertifiedWeights) -> None:
    """Write weights to a file such as the bundled one, atomically."""
    arrays = {name: getattr(table, name) for name in _ARRAYS}
    names = np.array([lexicon.fingerprint, str(metric)])
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, of=names, **arrays)


@lru_cache(maxsize=1)
def _bundled() -> tuple[str, str, CertifiedWeights] | None:
    path = bundled_data("certificates", "certificates.json") / _FILE
    try:
        with np.load(path, allow_pickle=False) as stored:
            fingerprint, metric = stored["of"].tolist()
            return fingerprint, metric, CertifiedWeights(**{name: stored[name] for name in _ARRAYS})
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        return None


def _kind(metric: Metric) -> str:
    return f"optimal-weights-{metric}"
