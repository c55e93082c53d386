"""Least expected distance between input and output words at any mechanism.

The counterpart of `bounds.meter` for utility: `low` is a bound that no mechanism with the
guarantee goes below, `high` the value that some mechanism with it attains (`docs/optimal.md`,
Theorems 5 and 6). Words are equally likely, and outputs are words.

Both bounds are Lagrangian. Let λ_w be a price for each word. If for every output y and every column
c = P(y | ·) that the guarantee allows Σ_w c_w·(d(w, y) − λ_w) ≥ 0, then the sum over all y says
Σ_w Σ_y P(y | w)·d(w, y) ≥ Σ_w λ_w, since rows sum to 1. With d₁(w) the distance of the nearest
other word and λ_w ≤ d₁(w), only w = y can have a negative term, and c_w ≥ K_wy·c_y: the condition
is K·λ ≤ h with h_y = Σ_w K_wy·d(w, y). So with λ = d₁ − b every b ≥ 0 with K·b ≥ K·d₁ − h is a
certificate: the dual of the packing programme with another right-hand side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import epsilons
from dpcore.arrays import FloatArray
from dpcore.errors import ComputationError
from dpcore.lexicon.cache import CacheEntry, bundled_bounds, keep, recall, write_text
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.metric import UNIT, Metric, distance_error, distances, gamma
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.distances import RELATIVE_ERROR, AllPairs
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.packing import Kernel, known_weights, solve

if TYPE_CHECKING:
    import pandas as pd


# Least expected distance under privacy between any two words, from above and from below.
#
# From above: response over the k nearest words, at the best k. From below: prices λ_w such that for
# every output y and all c_w in [1, e^ε], Σ_w c_w·(d(w, y) − λ_w) ≥ 0 (`docs/optimal.md`, Theorem
# 5). The least such sum has c_w = e^ε where the term is negative and 1 elsewhere, so that any
# prices can be checked in one pass over all pairs; prices that fail are repaired by lowering all
# of them by the deficit of the worst output. Mirror ascent finds good prices: it weights the worst
# outputs, and lowers the price of a word that they serve too well.


CONSTANT = 0
"""Value of k for a constant output: the word with the least mean distance from all words."""
_TURNS = 40  # of the ascent: after them the bound was within 6 % of the response on 25,000 words
_AVERAGED = 10  # last turns, whose mean is taken
_STEPS = 3  # of Newton: the remaining deficit is repaired when prices are checked
_CLOSE = 0.01  # relative gap below which the search for better prices ends
_STEP, _STEP_DECAY = 0.08, 0.94  # of a price, in mean distances of two words
_HEAT, _HEAT_DECAY, _LEAST_HEAT = 0.04, 0.91, 0.0013  # how many outputs count as worst
_MOST = 80.0  # ε: e^ε times a distance is a number in float32 too
_BLOCK_ENTRIES = 4_000_000  # float32 distances at a time: 16 MB
_SORTED = 1e-6  # relative: more than the float32 error of a distance, and of a sum of them


@dataclass(frozen=True, eq=False)
class LocalBounds:
    """Bounds for several ε, shape (E,) each.

    Attributes:
        low: no mechanism has a smaller expected distance.
        high: expected distance of a response over the nearest words, or of `CONSTANT`.
        k: number of nearest words of that response, or `CONSTANT`.
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
    """Compute both bounds: a minute for 25,000 words, half a minute more for a turn and ten ε.

    Args:
        vectors: shape (n, p); n ≥ 2.
        metric: d.
        epsilons: ε > 0, shape (E,).
        progress: called with (stage, words done, all words), stage after stage.
    """
    # Beyond `_MOST` no lower bound is searched: the distance is negligible in float64.
    endless = epsilons > _MOST
    wanted, epsilons = epsilons, np.minimum(epsilons, _MOST)
    pairs = _Pairs(vectors, metric)
    profile, sums, nearest = pairs.ranks(progress)
    high, k = _from_above(profile, sums, wanted)
    high += pairs.error
    spread = float(sums.mean()) / pairs.n
    # Two starting prices, each best at one end: for small ε and for large ε.
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
    """Return the least expected distance of a response over k < n words, or of one word for all.

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
    """Return prices λ = d₁ − b that make no other word's term negative, shape (E, n).

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
    """Distances of all words from a block of outputs at a time."""

    def __init__(self, vectors: NDArray[np.float32], metric: Metric) -> None:
        self.n, dimension = vectors.shape
        self._metric = metric
        self._vectors = vectors
        self._wide = vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._wide, self._wide)
        self._step = max(1, _BLOCK_ENTRIES // self.n)
        if metric is Metric.EUCLIDEAN:
            # Error of a squared distance from a product (Higham 2002, (3.5)), and hence of its
            # root at most: √(x + e) − √x ≤ √e.
            squared = 2.0 * gamma(dimension + 4) * 2.0 * float(self._squares.max())
            self.error = float(np.sqrt(squared))
        else:
            longest = np.pi if metric is Metric.ANGULAR else _longest(self._wide, metric)
            self.error = distance_error(dimension) * longest

    def blocks(
        self, kind: type[np.float32] | type[np.float64]
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield some outputs, and their distances from all words, (outputs, n); 0 to itself."""
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
        """Return the mean distance by rank; for each word the sum and the least of the others."""
        profile, sums, nearest = np.zeros(self.n), np.empty(self.n), np.empty(self.n)
        for outputs, away in self.blocks(np.float64):
            sums[outputs] = away.sum(axis=1)
            ascending = np.sort(away.astype(np.float32), axis=1)
            nearest[outputs] = ascending[:, 1]
            profile += ascending.sum(axis=0, dtype=np.float64)
            progress("sorting distances", outputs.stop, self.n)
        return profile / self.n, sums, nearest

    def certify(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """Return the mean price after the least lowering that is certain to suffice, shape (E,).

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
                # Each sum of n terms has an error of γ times their sizes (Higham 2002, (4.4)).
                sizes = np.abs(terms).sum(axis=1) + factor * np.abs(lost)
                sums -= 2.0 * gamma(self.n + 8) * sizes
                short[e] = max(short[e], float(-sums.min()))
            progress("checking prices", outputs.stop, self.n)
        mean = prices.mean(axis=1)
        return np.asarray(
            mean - most - short / self.n - self.error - 8.0 * UNIT * self.n * np.abs(mean)
        )

    def worth(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """Approximate the result of `certify`, in half the time."""
        lowered = self._lowered(prices, epsilons, progress)
        return np.asarray(prices.mean(axis=1) - lowered.max(axis=1))

    def _lowered(self, prices: FloatArray, epsilons: FloatArray, progress: Progress) -> FloatArray:
        """Approximate from below the excess of prices for each output, shape (E, n)."""
        lowered = np.zeros(prices.shape)
        for _ in range(_STEPS):
            lowered = self._lower(prices, lowered, epsilons, progress)
        return lowered

    def _lower(
        self, prices: FloatArray, lowered: FloatArray, epsilons: FloatArray, progress: Progress
    ) -> FloatArray:
        """Take one Newton step for the excess of prices for each output, shape (E, n)."""
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
        """Search for prices with a large mean after lowering, shape (E, n)."""
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
                    # At most e^0, except for outputs that were not the worst one turn before.
                    each = np.exp(np.minimum((lowering - worst[e]) / heat, 30.0))
                    weight[e] += each.sum()
                    each /= counts
                    served[e] += each.sum()
                    served[e] += np.expm1(epsilon) * (each.astype(np.float32) @ mask)
                progress(f"looking for prices, turn {turn + 1}", outputs.stop, self.n)
            # At the best prices every word is served once.
            share = self.n * served / weight[:, None]
            prices += step * np.clip(1.0 - share, -2.0, 1.0)
            step, heat = _STEP_DECAY * step, max(_HEAT_DECAY * heat, _LEAST_HEAT * spread)
            if turn >= _TURNS - _AVERAGED:
                mean += prices / _AVERAGED
        return mean


def _newton(
    away: FloatArray, total: FloatArray, prices: FloatArray, lowered: FloatArray, epsilon: float
) -> tuple[FloatArray, NDArray[np.float32], FloatArray]:
    """Return a better lowering of each output, the mask of words served at a loss, and Σ c.

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
    """Bound the distance of any two words: twice the largest norm."""
    sizes = np.abs(rows)
    norms = sizes.sum(axis=1) if metric is Metric.MANHATTAN else sizes.max(axis=1)
    return 2.0 * float(norms.max())


_FILE = "least_distance.json"
_OUTWARDS = 1e-11  # relative: more than a few roundings, and than the error of a distance
_LOCAL = (
    *(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0, 10.5, 11.0),
    *(11.5, 12.0, 13.0, 14.0, 16.0),
)
"""ε of the bundled bounds for any two words."""
_OPTIMAL = Optimal.short
_RESPONSE = "neighbour-response, k = {k:,}"
_CONSTANT = "the word nearest to all, whatever the word was"


@dataclass(frozen=True)
class Nearness:
    """Bounds on the least expected distance at one ε.

    Attributes:
        epsilon: ε.
        low: no mechanism with this guarantee has a smaller expected distance; rounded down.
        high: expected distance of some mechanism with this guarantee; rounded up.
        attained_by: that mechanism.
    """

    epsilon: float
    low: float
    high: float
    attained_by: str


@dataclass(frozen=True)
class LeastDistance:
    """Least expected distance at several ε.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        meaning: "local", or the metric that ε multiplies.
        rows: one for each ε, in the given order.
    """

    lexicon: str
    fingerprint: str
    meaning: str
    rows: tuple[Nearness, ...]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each ε: epsilon, low, high, attained_by."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def least_distance(
    lexicon: Lexicon,
    epsilon: float | Sequence[float] | FloatArray,
    *,
    local: bool = False,
    metric: Metric | str = Metric.EUCLIDEAN,
    compute: bool = True,
    progress: Progress = silent,
) -> LeastDistance:
    """Bound the least expected distance of output from input word under a guarantee of ε.

    Words are equally likely. Known bounds of a lexicon are looked up; bounds at other ε are
    computed (25,000 words: minutes) and cached, unless `compute` is False: then `low` is that of
    the next larger known ε, and `high` that of the next smaller one.

    Args:
        lexicon: words and vectors.
        epsilon: one ε or several, > 0.
        local: True if ε bounds the loss of any two words, and not the loss per distance.
        metric: metric of the distances d, which ε multiplies if not local.
        compute: True to compute unknown bounds.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: an ε is not a finite number > 0.
    """
    check_lexicon(lexicon)
    values = epsilons(epsilon)
    chosen = Metric.parse(metric)
    table, kept_as = _known(lexicon, chosen, local), _kept_as(lexicon, chosen, local)
    missing = np.setdiff1d(values, table.epsilons)
    if missing.size and compute:
        fresh = (_local if local else _metric)(lexicon, missing, chosen, progress)
        table = _joined(table, fresh)
        keep(lexicon.fingerprint, kept_as, CacheEntry(vars(table), {}))
    rows = tuple(_reading(table, value, lexicon, chosen, local) for value in values.tolist())
    return LeastDistance(lexicon.name, lexicon.fingerprint, "local" if local else str(chosen), rows)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Known bounds for one lexicon and guarantee, at ascending ε; shape (E,) each.

    Attributes:
        epsilons: ε.
        low: as in `Nearness`.
        high: as in `Nearness`.
        by: k of the response that attains `high`, `CONSTANT`, or for metric privacy 1: `optimal`.
    """

    epsilons: FloatArray
    low: FloatArray
    high: FloatArray
    by: FloatArray


_NOTHING = Bounds(*(np.empty(0) for _ in range(4)))


def _joined(*tables: Bounds) -> Bounds:
    """Join tables of bounds, ascending; at equal ε the first table counts."""
    epsilons = np.concatenate([table.epsilons for table in tables])
    _, first = np.unique(epsilons, return_index=True)
    columns = (
        np.concatenate([getattr(table, name) for table in tables])[first]
        for name in ("epsilons", "low", "high", "by")
    )
    return Bounds(*columns)


def _reading(
    table: Bounds, epsilon: float, lexicon: Lexicon, metric: Metric, local: bool
) -> Nearness:
    # A guarantee of a smaller ε implies that of a larger one.
    below = table.epsilons <= epsilon
    low = float(table.low[table.epsilons >= epsilon].max(initial=0.0))
    if not below.any():
        # Any word is at most the diameter away.
        return Nearness(epsilon, low, lexicon.with_metric(metric).extent.diameter, _CONSTANT)
    best = int(np.where(below, table.high, np.inf).argmin())
    high, k = float(table.high[best]), int(table.by[best])
    if not low <= high * (1.0 + 1e-9):
        raise ComputationError(
            f"at epsilon = {epsilon:g} a mechanism comes within {high} where none comes nearer "
            f"than {low}: please report this, with the lexicon's fingerprint"
        )
    name = _CONSTANT if k == CONSTANT else _RESPONSE.format(k=k) if local else _OPTIMAL
    return Nearness(epsilon, min(low, high), high, name)


def _local(lexicon: Lexicon, epsilons: FloatArray, metric: Metric, progress: Progress) -> Bounds:
    bounds = local_bounds(lexicon.vectors, metric, epsilons, progress)
    return Bounds(epsilons, bounds.low, bounds.high, bounds.k.astype(np.float64))


def _metric(lexicon: Lexicon, epsilons: FloatArray, metric: Metric, progress: Progress) -> Bounds:
    """Apply Theorem 6 from below, and known bounds of Theorem 5 for ε times the diameter."""
    kernel = Kernel(lexicon.vectors, metric)
    extent = lexicon.with_metric(metric).extent
    nearest, mean = _looked_at(lexicon, metric, progress)
    columns = np.repeat(nearest[None], epsilons.size, axis=0)
    errors = kernel.error(epsilons, extent.diameter)[:, None]
    # A distance has a relative error, an angle the same in radians; K has entries up to 1.
    spans = kernel.exact(epsilons, np.ones_like(columns), progress, away=True)
    least = spans * (1.0 - errors - 2.0 * RELATIVE_ERROR)
    if metric is Metric.ANGULAR:
        least -= RELATIVE_ERROR * kernel.n
    wanted = kernel.exact(epsilons, columns, progress) * (1.0 + errors) - least
    weights = np.zeros_like(columns)
    some = np.flatnonzero((wanted > 0).any(axis=1))
    if some.size:
        solution = solve(kernel, epsilons[some], wanted[some], extent.diameter, progress)
        # K has ones on its diagonal: the row's own word makes up the deficit of a row.
        weights[some] = solution.weights + np.maximum(
            wanted[some] - solution.products * (1.0 - errors[some]), 0.0
        )
    total, less = nearest.sum(), weights.sum(axis=1)
    # Both sums are rounded, and may be nearly equal (Higham 2002, (4.4)).
    prices = total - less - gamma(kernel.n + 8) * (total + less)
    low = np.maximum(prices, 0.0) / kernel.n * (1.0 - _OUTWARDS)
    # Two words are at most a diameter apart, so ε times it is a guarantee for any two.
    reach = epsilons * extent.diameter * (1.0 + _OUTWARDS)
    anywhere = _known(lexicon, metric, True)
    for e, local in enumerate(reach.tolist()):
        low[e] = max(low[e], anywhere.low[anywhere.epsilons >= local].max(initial=0.0))
    high, by = np.full(epsilons.size, mean), np.full(epsilons.size, float(CONSTANT))
    attained = _attained(kernel, Optimal(lexicon=lexicon, metric=str(metric)), epsilons, progress)
    better = attained < high
    high[better], by[better] = attained[better], 1.0
    return Bounds(epsilons, np.minimum(low, high), high, by)


def _looked_at(lexicon: Lexicon, metric: Metric, progress: Progress) -> tuple[FloatArray, float]:
    """Return a lower bound of d₁ of every word, (n,), and the least mean distance from all."""
    n = len(lexicon)
    nearest, sums = np.full(n, np.inf), np.zeros(n)
    pairs = AllPairs(lexicon.vectors, metric)
    for done, tile in enumerate(pairs, start=1):
        away = tile.distances
        sums[tile.rows] += away.sum(axis=1)
        if tile.diagonal:
            np.fill_diagonal(away, np.inf)
        else:
            sums[tile.columns] += away.sum(axis=0)
            nearest[tile.columns] = np.minimum(nearest[tile.columns], away.min(axis=0))
        nearest[tile.rows] = np.minimum(nearest[tile.rows], away.min(axis=1))
        progress("measuring distances", done, pairs.count)
    below = np.maximum(nearest * (1.0 - 2.0 * RELATIVE_ERROR) - 2.0 * RELATIVE_ERROR, 0.0)
    return below, float(sums.min()) / n * (1.0 + _OUTWARDS) + RELATIVE_ERROR


def _attained(
    kernel: Kernel, mechanism: Optimal, epsilons: FloatArray, progress: Progress
) -> FloatArray:
    """Return E d of the optimal mechanism at each ε, rounded up."""
    etas = np.array([mechanism.strength(epsilon) for epsilon in epsilons.tolist()])
    weights = np.stack([mechanism.weights(epsilon) for epsilon in epsilons.tolist()])
    total = kernel.exact(etas, weights, progress)
    far = kernel.exact(etas, weights, progress, away=True)
    diameter = mechanism.lexicon.with_metric(mechanism.metric).extent.diameter
    errors = 2.0 * kernel.error(etas, diameter) + 3.0 * RELATIVE_ERROR
    return np.asarray((far / total).mean(axis=1) * (1.0 + errors) + RELATIVE_ERROR)


# Cached and bundled bounds.


def _known(lexicon: Lexicon, metric: Metric, local: bool) -> Bounds:
    """Return the bundled bounds, and those in the cache."""
    tables = [_NOTHING]
    of_lexicon = bundled_bounds(_FILE).get(lexicon.fingerprint, {})
    rows = of_lexicon.get(_kind(metric, local))
    if rows is not None:
        tables.append(Bounds(*np.array(rows, dtype=np.float64).reshape(-1, 4).T))
    kept = recall(lexicon.fingerprint, _kept_as(lexicon, metric, local))
    if kept is not None and kept.arrays.keys() == vars(_NOTHING).keys():
        tables.append(Bounds(**kept.arrays))
    return _joined(*tables)


def write_bundle(path: Path, lexicon: Lexicon, progress: Progress = silent) -> None:
    """Write the file of the bundled lexicon, under the Euclidean metric."""
    metric, tables = Metric.EUCLIDEAN, {}
    weights = known_weights(lexicon, metric)
    for local, wanted in ((True, _LOCAL), (False, () if weights is None else weights.wanted)):
        least_distance(lexicon, wanted, local=local, metric=metric, progress=progress)
        table = _known(lexicon, metric, local)
        tables[_kind(metric, local)] = np.stack(list(vars(table).values()), axis=1).tolist()
    write_text(path, json.dumps({lexicon.fingerprint: tables}, indent=1) + "\n")


def _kind(metric: Metric, local: bool) -> str:
    return f"least-distance-{'local-' if local else ''}{metric}"


def _kept_as(lexicon: Lexicon, metric: Metric, local: bool) -> str:
    """Return the cache name; it changes once a large lexicon has weights, to drop older bounds."""
    late = not local and len(lexicon) > CERTIFIED_AT_ONCE_WORDS
    weighted = late and known_weights(lexicon, metric) is not None
    return _kind(metric, local) + "-weighted" * weighted
