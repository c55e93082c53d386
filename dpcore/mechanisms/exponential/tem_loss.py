"""True ε of a truncated exponential mechanism on one vocabulary: all pairs, all outputs.

With P(y | w) = exp(−η·min(D(w, y), γ))/Z_w the loss of an output y between w and w′ is η·min(D(w′,
y), γ) − η·min(D(w, y), γ) + ln Z_w′ − ln Z_w. min(D, γ) is itself a metric, so the triangle
inequality puts the largest loss at y = w, and

    ε_eff = max over w ≠ w′ of [η·min(d, γ) + ln Z_w′ − ln Z_w] / d(w, w′),

O(n²) in place of O(n³). The same inequality gives |ln Z_w − ln Z_w′| ≤ η·min(d, γ), hence η ≤ ε_eff
≤ 2η wherever some pair is not cut off at γ.

`WorstLoss.error` bounds the rounding of the computed loss. Let the distances be off by a factor 1 ±
ρ. With weights e^−x the relative error of Z is Σwδ/Σw where the exponents are off by δ ≤ κx, κ = ρ
+ 3u; and Σxw/Σw = H − ln Z ≤ ln n, H the entropy of the law, as Z ≥ 1. So ln Z is off by ν = κ·ln
n, the exponential, the sums and the logarithm. In the ratio η·min(d, γ)/d the error of d cancels or
is a factor; of two normalisers a pair at distance d gets 2ν/d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray, largest
from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import ELEMENTARY, UNIT, Metric, gamma
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.distances import RELATIVE_ERROR, TILE, AllPairs, Tile
from dpcore.mechanisms.mechanism import WorstLoss


@dataclass(frozen=True, eq=False)
class Normalisers:
    """ln Z of every word, and its nearest other word.

    Attributes:
        logs: ln Z_w at each of K exponents, shape (K, n).
        nearest: the nearest word at a distance above 0 of each, shape (n,).
        distances: its distance, shape (n,).
        together: the pairs of words at distance 0, shape (2, T).
    """

    logs: FloatArray
    nearest: IntArray
    distances: FloatArray
    together: IntArray


def effective_epsilon(
    lexicon: Lexicon,
    metric: Metric | str,
    eta: float,
    gamma: float = math.inf,
    progress: Progress = silent,
) -> WorstLoss:
    """Return ε_eff of weights exp(−η·min(D, γ)) over all pairs of the vocabulary.

    Args:
        lexicon: words and vectors.
        metric: of D and of ε.
        eta: η > 0, in 1/distance; ε/2 in TEM.
        gamma: γ > 0, a distance; ∞ for none.
        progress: called with (stage, tiles done, all tiles).

    Raises:
        ParameterError: η or γ is outside its range.
        LexiconError: the metric is the angle, and all words are parallel.
    """
    return effective_epsilons(lexicon, metric, [eta], [gamma], progress)[0]


def effective_epsilons(
    lexicon: Lexicon,
    metric: Metric | str,
    etas: Sequence[float] | FloatArray,
    gammas: Sequence[float] | FloatArray,
    progress: Progress = silent,
) -> list[WorstLoss]:
    """Return `effective_epsilon` for several η, each with its γ, from shared distances."""
    strength, threshold = np.asarray(etas, dtype=float), np.asarray(gammas, dtype=float)
    if strength.shape != threshold.shape or strength.ndim != 1:
        msg = f"each eta needs a gamma, got shapes {strength.shape} and {threshold.shape}"
        raise ParameterError(msg)
    if not (np.all((strength > 0) & np.isfinite(strength)) and np.all(threshold > 0)):
        msg = "eta must be finite and > 0, gamma > 0"
        raise ParameterError(msg)
    chosen = Metric.parse(metric)
    caps = strength * threshold
    normalisers = log_normalisers(lexicon, chosen, strength, caps, progress)
    return worst_losses(lexicon, chosen, strength, caps, normalisers, progress)


def log_normalisers(
    lexicon: Lexicon,
    metric: Metric,
    etas: FloatArray,
    caps: FloatArray,
    progress: Progress = silent,
    weights: FloatArray | None = None,
) -> Normalisers:
    """Return ln Σ_y a_y·exp(−min(η·D(w, y), c)) of every word, at K triples (η, c, a).

    Args:
        lexicon: words and vectors.
        metric: of D.
        etas: η, shape (K,).
        caps: c = η·γ, shape (K,); ∞ allowed.
        progress: called with (stage, tiles done, all tiles).
        weights: a of every word, shape (K, n), in [0, 1]; all 1 if not given.
    """
    n = len(lexicon)
    sums = np.zeros((etas.size, n))
    nearest = np.zeros(n, dtype=np.int64)
    gaps = np.full(n, math.inf)
    together = [np.empty((2, 0), dtype=np.int64)]
    pairs = AllPairs(lexicon.vectors, metric)
    for done, tile in enumerate(pairs, start=1):
        entries = np.empty_like(tile.distances)
        for k, (eta, cap) in enumerate(zip(etas, caps, strict=True)):
            np.multiply(tile.distances, -eta, out=entries)
            if cap < math.inf:
                np.maximum(entries, -cap, out=entries)
            np.exp(entries, out=entries)
            if weights is None:
                along, across = entries.sum(axis=1), entries.sum(axis=0)
            else:
                along = entries @ weights[k, tile.columns]
                across = weights[k, tile.rows] @ entries
            sums[k, tile.rows] += along
            if not tile.diagonal:
                sums[k, tile.columns] += across
        together.append(_set_apart(tile))
        _note_nearest(tile, nearest, gaps)
        progress("normalising", done, pairs.count)
    return Normalisers(np.log(sums), nearest, gaps, np.concatenate(together, axis=1))


def _note_nearest(tile: Tile, nearest: IntArray, gaps: FloatArray) -> None:
    """Update the nearest other words from a tile.

    Pairs at distance 0 are at ∞ in the tile (`_set_apart`).
    """
    ways = [(tile.rows, tile.columns, 1)]
    if not tile.diagonal:
        ways.append((tile.columns, tile.rows, 0))
    for words, others, axis in ways:
        least = tile.distances.min(axis=axis)
        better = np.flatnonzero(least < gaps[words])
        if better.size:
            rows = tile.distances if axis else tile.distances.T
            nearest[words.start + better] = rows[better].argmin(axis=1) + others.start
            gaps[words.start + better] = least[better]


def _set_apart(tile: Tile) -> IntArray:
    """Move pairs at distance 0 to ∞, and return those of two words, shape (2, T).

    A word and itself are not a pair. Two words are at distance 0 under the angle if they are
    parallel: they have the same distances to all others, so no output distinguishes them, and a
    loss per distance would be 0/0.
    """
    together = tile.distances == 0.0
    tile.distances[together] = math.inf
    if tile.diagonal:
        np.fill_diagonal(together, False)
    if not together.any():  # as in nearly every tile; looking for places takes far longer
        return np.empty((2, 0), dtype=np.int64)
    corner = np.array([[tile.rows.start], [tile.columns.start]])
    return np.asarray(np.argwhere(together).T + corner)


class _Best:
    """Largest value so far of one exponent, and the pair that attains it."""

    def __init__(self, eta: float, cap: float, logs: FloatArray, distance_error: float) -> None:
        self.eta, self.cap, self.logs = eta, cap, logs
        self.distance_error = distance_error  # relative
        self.value, self.pair, self.distance = 0.0, (0, 1), 1.0

    def reach(self, spread: float) -> float:
        """Return the distance from which on no pair does better, if |ln Z − ln Z′| ≤ spread."""
        if math.isinf(self.value):
            return 0.0
        # (min(η·d, c) + spread)/d ≤ value from d = (c + spread)/value on; and where value > η, also
        # (η·d + spread)/d ≤ value from d = spread/(value − η) on.
        far = (self.cap + spread) / self.value if self.value > 0 else math.inf
        if not self.value > self.eta:
            return far
        return min(far, spread / (self.value - self.eta))

    def offer(self, left: IntArray, right: IntArray, distance: FloatArray) -> None:
        """Update from pairs of different words."""
        if not distance.size:
            return
        capped = np.minimum(self.eta * distance, self.cap)
        change = np.abs(self.logs[left] - self.logs[right])
        # Rounding must not break the inequality that |ln Z − ln Z′| obeys.
        values = (capped + np.minimum(change, capped)) / distance
        place, value = largest(values, "a privacy loss")
        if value > self.value:
            self.value, self.distance = value, float(distance[place])
            self.pair = int(left[place]), int(right[place])

    def offer_together(self, left: IntArray, right: IntArray) -> None:
        """Check pairs at distance 0: they have one law, or no ε is true."""
        # Parallel words have one law, so their ln Z differ by no more than rounding.
        change = np.abs(self.logs[left] - self.logs[right])
        differ = np.flatnonzero(~(change <= 2.0 * self._log_error))
        if differ.size:
            self.value, self.distance = math.inf, 0.0
            self.pair = int(left[differ[0]]), int(right[differ[0]])

    @property
    def _log_error(self) -> float:
        """Bound on the error of a computed ln Z."""
        n = self.logs.size
        exponents = (self.distance_error + 3.0 * UNIT) * math.log(n)
        # A weight is added within its tile, and that sum to the other tiles; ln Z ≤ ln n.
        sums = gamma(TILE + n / TILE + 4.0) + ELEMENTARY * (1.0 + math.log(n))
        return 1.01 * (exponents + sums)

    def loss(self, separation: float) -> WorstLoss:
        """Return the result; its output is the word with the smaller normaliser of the two.

        Args:
            separation: smallest distance above 0 of two words.
        """
        # The loss at y = w is min(η·d, c) + ln Z_w′ − ln Z_w: larger where Z_w is the smaller one.
        word, other = sorted(self.pair, key=lambda w: (self.logs[w], w))
        capped = min(self.eta * self.distance, self.cap)
        error = 0.0
        if self.value < math.inf:
            logs = 2.0 * self._log_error / (separation * (1.0 - self.distance_error))
            # 2η bounds the true loss, η the found one: rounding cannot hide more than as much
            # again.
            error = min(logs, self.value) * 1.01
            error += 2.0 * (self.distance_error + 8.0 * UNIT) * self.value
        return WorstLoss(
            epsilon=self.value,
            word=word,
            other=other,
            output=word,
            distance=self.distance,
            log_word=-float(self.logs[word]),
            log_other=-capped - float(self.logs[other]),
            error=error,
        )


def worst_losses(
    lexicon: Lexicon,
    metric: Metric,
    etas: FloatArray,
    caps: FloatArray,
    normalisers: Normalisers,
    progress: Progress,
) -> list[WorstLoss]:
    """Return the largest loss per distance of every exponent over all pairs.

    With weights a ≤ 1 the same inequality bounds the loss of P(y | w) = a_y·e^(−η·D)/Z_w, of which
    the weight of an output cancels between two words; the bound is attained if a_w > 0 at the word
    that attains it.
    """
    # Words with near normalisers are adjacent: far from the diagonal few tiles matter little, near
    # it only near pairs do.
    order = np.argsort(normalisers.logs[etas.size // 2], kind="stable")
    separation = float(normalisers.distances.min())
    if not separation < math.inf:
        raise LexiconError("all words are parallel: under the angle none is apart from another")
    # The error of an angle is absolute.
    rounded = RELATIVE_ERROR / separation if metric is Metric.ANGULAR else RELATIVE_ERROR
    bests = [
        _Best(float(eta), float(cap), logs, min(rounded, 0.5))
        for eta, cap, logs in zip(etas, caps, normalisers.logs, strict=True)
    ]
    everyone = np.arange(len(lexicon))
    for best in bests:
        best.offer(everyone, normalisers.nearest, normalisers.distances)
        best.offer_together(*normalisers.together)
    sorted_logs = normalisers.logs[:, order]
    # No pair of a tile is nearer than the nearest words of its rows or of its columns: where that
    # is beyond reach, as it usually is, the tile's distances need not be computed. Both sides of
    # the comparison are rounded distances.
    gaps = normalisers.distances[order] * max(0.0, 1.0 - 4.0 * rounded)
    pairs = AllPairs(lexicon.vectors, metric, order)
    for done, tile in enumerate(pairs, start=1):
        least = max(gaps[tile.rows].min(), gaps[tile.columns].min())
        reaches = [
            best.reach(_spread(logs[tile.rows], logs[tile.columns]))
            for best, logs in zip(bests, sorted_logs, strict=True)
        ]
        if least < max(reaches):
            _set_apart(tile)
            for best, reach in zip(bests, reaches, strict=True):
                _offer(best, tile, order, reach)
        progress("comparing", done, pairs.count)
    return [best.loss(separation) for best in bests]


def _spread(rows: FloatArray, columns: FloatArray) -> float:
    """Return the largest |ln Z − ln Z′| of a word of the rows and one of the columns."""
    return float(max(rows.max() - columns.min(), columns.max() - rows.min()))


def _offer(best: _Best, tile: Tile, order: IntArray, reach: float) -> None:
    """Update one exponent from the pairs of a tile that are nearer than `reach`."""
    left, right = np.nonzero(tile.distances < reach)
    best.offer(
        order[left + tile.rows.start],
        order[right + tile.columns.start],
        tile.distances[left, right],
    )
