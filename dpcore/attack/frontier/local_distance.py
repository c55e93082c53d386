"""The least expected distance under privacy between any two words, from above and from below.

From above: response over the k nearest words, at the best k. From below: prices λ_w such that for
every output y and all c_w in [1, e^ε], Σ_w c_w·(d(w, y) − λ_w) ≥ 0 (`docs/optimal.md`, Theorem 5).
The least such sum has c_w = e^ε where the term is negative and 1 elsewhere, so that any prices can
be checked in one pass over all pairs; and prices that fail are mended by lowering all of them by
what the worst output lacks. Good prices are found by mirror ascent: the outputs that are worst off
are weighted, and a word that they serve too well pays less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.lexicon.progress import silent
from dpcore.lexicon.rounding import UNIT, gamma

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.lexicon.progress import Progress

CONSTANT = 0
"""In place of a k: the word that is nearest to all, whatever the word was."""
_TURNS = 40  # of the ascent: after them the bound was within 6 % of the response on 25,000 words
_AVERAGED = 10  # the last of them, whose mean is taken
_STEPS = 3  # of Newton: what they leave is mended when prices are checked
_CLOSE = 0.01  # relative gap below which no better prices are looked for
_STEP, _STEP_DECAY = 0.08, 0.94  # of a price, in mean distances of two words
_HEAT, _HEAT_DECAY, _LEAST_HEAT = 0.04, 0.91, 0.0013  # how many outputs count as worst off
_MOST = 80.0  # ε: e^ε times a distance is a number in float32 too
_BLOCK_ENTRIES = 4_000_000  # float32 distances at a time: 16 MB
_SORTED = 1e-6  # relative: more than float32 loses of a distance, and of a sum of them


@dataclass(frozen=True, eq=False)
class LocalBounds:
    """Bounds for several ε, shape (E,) each.

    Attributes:
        low: no mechanism has a smaller expected distance.
        high: that of a response over the nearest words, or of `CONSTANT`.
        k: which one.
    """

    low: FloatArray
    high: FloatArray
    k: NDArray[np.int64]


def local_bounds(
    vectors: NDArray[np.float32],
    metric: Metric,
    epsilons: FloatArray,
    progress: Progress = silent,
) -> LocalBounds:
    """Both bounds: for 25,000 words a minute, and half a minute more for each turn and ten ε.

    Args:
        vectors: shape (n, p); n ≥ 2.
        metric: d.
        epsilons: ε > 0, shape (E,).
        progress: called with (stage, words done, all words), stage after stage.
    """
    # Where e^ε is no number, nothing is looked for: what is left is nothing in float64.
    endless = epsilons > _MOST
    wanted, epsilons = epsilons, np.minimum(epsilons, _MOST)
    pairs = _Pairs(vectors, metric)
    profile, sums, nearest = pairs.ranks(progress)
    high, k = _from_above(profile, sums, wanted)
    high += pairs.error
    spread = float(sums.mean()) / pairs.n
    # Two sets of prices that are the best at one end each: where ε is small, and where it is large.
    prices = np.repeat(high[:, None], pairs.n, axis=1)
    few = _prices_of_few(nearest, sums, epsilons)
    value, better = (pairs.worth(each, epsilons, progress) for each in (prices, few))
    prices = np.where((better > value)[:, None], few, prices)
    open_ = np.flatnonzero(np.maximum(value, better) < (1.0 - _CLOSE) * high)
    if open_.size:
        start = np.repeat(high[open_, None], pairs.n, axis=1)
        prices[open_] = pairs.ascend(start, epsilons[open_], spread, progress)
    low = np.maximum(pairs.certify(prices, epsilons, progress), 0.0)
    low[endless] = 0.0
    return LocalBounds(np.minimum(low, high), high, k)


def _from_above(
    profile: FloatArray, sums: FloatArray, epsilons: FloatArray
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The least expected distance of a response over k words, for k < n, or of one word for all.

    With D_k the sum of the k least distances of a word and D_n that of all, a response has the
    mean of ((1 − e^−ε)·D_k + e^−ε·D_n)/(k(1 − e^−ε) + n·e^−ε).
    """
    n = profile.size
    totals, k = np.cumsum(profile), np.arange(1, n)
    constant = float(sums.min()) / n
    high, best = np.full(epsilons.size, constant), np.full(epsilons.size, CONSTANT)
    for e, epsilon in enumerate(epsilons.tolist()):
        near, anywhere = -np.expm1(-epsilon), np.exp(-epsilon)
        values = (near * totals[:-1] + anywhere * totals[-1]) / (near * k + anywhere * n)
        if values.min() < constant:
            high[e], best[e] = values.min(), values.argmin() + 1
    return high * (1.0 + 2.0 * _SORTED), best


def _prices_of_few(nearest: FloatArray, sums: FloatArray, epsilons: FloatArray) -> FloatArray:
    """Prices λ = d₁ − b that make no other word's term negative, shape (E, n).

    b_y = max(0, (q_y − t·B)/(1 − t)) for t = e^−ε, q = K·d₁ − h and B the sum of all b, which a
    bisection finds. They are checked like any other prices.
    """
    prices = np.empty((epsilons.size, nearest.size))
    for e, t in enumerate(np.exp(-epsilons).tolist()):
        wanted = (1.0 - t) * nearest + t * (nearest.sum() - sums)
        least, most = 0.0, float(np.maximum(wanted, 0.0).sum()) / (1.0 - t)
        for _ in range(100):
            total = 0.5 * (least + most)
            if np.maximum(wanted - t * total, 0.0).sum() > (1.0 - t) * total:
                least = total
            else:
                most = total
        prices[e] = nearest - np.maximum(wanted - t * most, 0.0) / (1.0 - t)
    return prices


class _Pairs:
    """The distances of all words from some outputs at a time."""

    def __init__(self, vectors: NDArray[np.float32], metric: Metric) -> None:
        self.n, dimension = vectors.shape
        self._metric = metric
        self._vectors = vectors
        self._wide = vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._wide, self._wide)
        self._step = max(1, _BLOCK_ENTRIES // self.n)
        if metric is Metric.EUCLIDEAN:
            # Of a squared distance from a product (Higham 2002, (3.5)), and hence of its root at
            # most: √(x + e) − √x ≤ √e.
            squared = 2.0 * gamma(dimension + 4) * 2.0 * float(self._squares.max())
            self.error = float(np.sqrt(squared))
        else:
            longest = np.pi if metric is Metric.ANGULAR else _longest(self._wide, metric)
            self.error = distance_error(dimension) * longest

    def blocks(
        self, kind: type[np.float32] | type[np.float64]
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Some outputs, and their distances from all words, shape (outputs, n); 0 to itself."""
        rows = self._vectors if kind is np.float32 else self._wide
        squares = self._squares.astype(kind)
        for start in range(0, self.n, self._step):
            outputs = slice(start, min(start + self._step, self.n))
            if self._metric is Metric.EUCLIDEAN:
                away = (kind(-2.0) * rows[outputs]) @ rows.T
                away += squares
                away += squares[outputs, None]
                np.sqrt(np.maximum(away, kind(0.0), out=away), out=away)
            else:
                away = distances(self._vectors, self._vectors[outputs], self._metric).astype(kind)
            away[np.arange(len(away)), np.arange(outputs.start, outputs.stop)] = 0.0
            yield outputs, away

    def ranks(self, progress: Progress) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean distance by rank, and of each word the sum of all and the least of others."""
        profile, sums, nearest = np.zeros(self.n), np.empty(self.n), np.empty(self.n)
        for outputs, away in self.blocks(np.float64):
            sums[outputs] = away.sum(axis=1)
            ascending = np.sort(away.astype(np.float32), axis=1)
            nearest[outputs] = ascending[:, 1]
            profile += ascending.sum(axis=0, dtype=np.float64)
            progress("sorting distances", outputs.stop, self.n)
        return profile / self.n, sums, nearest

    def certify(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """The mean price after the least lowering that is certain to be enough, shape (E,).

        As a function of a lowering t of all prices, the least sum Σ_w c_w·(d(w, y) − λ_w + t) of an
        output rises by n at least: where it is −g after some t, t + g/n is enough.
        """
        most = self._lowered(prices, epsilons, progress).max(axis=1)
        short = np.zeros(epsilons.size)
        for outputs, away in self.blocks(np.float64):
            for e, factor in enumerate(np.exp(epsilons).tolist()):
                terms = away - (prices[e] - most[e])
                negative = np.minimum(terms, 0.0)
                lost = negative.sum(axis=1)
                sums = terms.sum(axis=1) + (factor - 1.0) * lost
                # Each sum of n terms is off by γ of their sizes (Higham 2002, (4.4)).
                sizes = np.abs(terms).sum(axis=1) + factor * np.abs(lost)
                sums -= 2.0 * gamma(self.n + 8) * sizes
                short[e] = max(short[e], float(-sums.min()))
            progress("checking prices", outputs.stop, self.n)
        mean = prices.mean(axis=1)
        return np.asarray(
            mean - most - short / self.n - self.error - 8.0 * UNIT * self.n * np.abs(mean)
        )

    def worth(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """About what `certify` would say, in half the time."""
        lowered = self._lowered(prices, epsilons, progress)
        return np.asarray(prices.mean(axis=1) - lowered.max(axis=1))

    def _lowered(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """By how much prices are too high for each output, nearly; from below, shape (E, n)."""
        lowered = np.zeros(prices.shape)
        for _ in range(_STEPS):
            lowered = self._lower(prices, lowered, epsilons, progress)
        return lowered

    def _lower(
        self, prices: FloatArray, lowered: FloatArray, epsilons: FloatArray, progress: Progress
    ) -> FloatArray:
        """One step of Newton for each output, of how much prices are too high for it, (E, n)."""
        better = np.empty_like(lowered)
        for outputs, away in self.blocks(np.float32):
            total = away @ np.ones(self.n, np.float32)
            for e, epsilon in enumerate(epsilons.tolist()):
                step = _newton(away, total, prices[e], lowered[e, outputs], epsilon)
                better[e, outputs] = step[0]
            progress("looking for prices", outputs.stop, self.n)
        return better

    def ascend(
        self, start: FloatArray, epsilons: FloatArray, spread: float, progress: Progress
    ) -> FloatArray:
        """Prices with a large mean after they are lowered, shape (E, n)."""
        prices, mean = start.copy(), np.zeros(start.shape)
        lowered = self._lower(prices, np.zeros(start.shape), epsilons, progress)
        step, heat = _STEP * spread, _HEAT * spread
        for turn in range(_TURNS):
            worst = lowered.max(axis=1)
            served = np.zeros(start.shape)
            weight = np.zeros(epsilons.size)
            for outputs, away in self.blocks(np.float32):
                total = away @ np.ones(self.n, np.float32)
                for e, epsilon in enumerate(epsilons.tolist()):
                    lowering, mask, counts = _newton(
                        away, total, prices[e], lowered[e, outputs], epsilon
                    )
                    lowered[e, outputs] = lowering
                    # Not above e^0 but for outputs that were not the worst a turn ago.
                    each = np.exp(np.minimum((lowering - worst[e]) / heat, 30.0))
                    weight[e] += each.sum()
                    each /= counts
                    served[e] += each.sum()
                    served[e] += np.expm1(epsilon) * (each.astype(np.float32) @ mask)
                progress(f"looking for prices, turn {turn + 1}", outputs.stop, self.n)
            # Every word is served once if the prices are the best ones.
            share = self.n * served / weight[:, None]
            prices += step * np.clip(1.0 - share, -2.0, 1.0)
            step, heat = _STEP_DECAY * step, max(_HEAT_DECAY * heat, _LEAST_HEAT * spread)
            if turn >= _TURNS - _AVERAGED:
                mean += prices / _AVERAGED
        return mean


def _newton(
    away: FloatArray, total: FloatArray, prices: FloatArray, lowered: FloatArray, epsilon: float
) -> tuple[FloatArray, NDArray[np.float32], FloatArray]:
    """A better lowering of each output; the words that are served at a loss, and Σ c.

    c_w is e^ε where d(w, y) − λ_w + t is negative and 1 elsewhere; with this c the sum is 0 at the
    t that is returned. `total` is the sum of each row of `away`.
    """
    terms = away - prices.astype(np.float32)
    mask = (terms < -lowered.astype(np.float32)[:, None]).astype(np.float32)
    factor = np.expm1(epsilon)
    counts = prices.size + factor * (mask @ np.ones(prices.size, np.float32)).astype(np.float64)
    sums = total.astype(np.float64) - prices.sum()
    sums += factor * np.einsum("ij,ij->i", terms, mask)
    return -sums / counts, mask, counts


def _longest(rows: FloatArray, metric: Metric) -> float:
    """No distance of two words is larger: twice the largest norm."""
    sizes = np.abs(rows)
    norms = sizes.sum(axis=1) if metric is Metric.MANHATTAN else sizes.max(axis=1)
    return 2.0 * float(norms.max())
