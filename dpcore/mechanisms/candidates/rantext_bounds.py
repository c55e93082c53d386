"""Proved bounds on the law of RANTEXT.

`radius_law` is an approximation. Here every step errs to a known side:

* R² = Σ range_j²·E_j². Each term is rounded down to a grid of width h, so the sum S of the rounded
  terms has S ≤ R² < S + d·h, and P(S ≤ r² − d·h) ≤ P(R ≤ r) ≤ P(S ≤ r²). A sum of discrete laws
  takes one convolution a term, truncated at the end of the grid (no term is negative), with the
  error bound of the transform added. Small r have their own grids, each 16 times finer.
* P(R > t) for large t: some range_j·E_j exceeds c, or Markov's inequality for exp(θ·Σ
  range_j²·E_j²) with every range_j·E_j ≤ c. Its exponents are convex, so chords bound them.
* Cut the quantiles of R at q_0 < q_1 < …. Between q_i and q_{i+1} R lies in an interval [a, b], and
  with W_r(y) = e^(−(ε/2)·d(x, y)/r)·1{d(x, y) < r}, which grows with r, and Z_r = Σ_y W_r(y):
  W_a(y)/Z_b ≤ P(y | x, R) ≤ W_b(y)/Z_a. The sums over i bound P(y | x).
* A word at distance t can be the output only if R > t: the probability of such R bounds its
  probability too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.cache import cached_record
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import UNIT

_CELLS = 2**17  # cells of a grid of R²
_FINER = 16  # factor by which the next grid is finer
_RARE = 1e-12  # probability below which no finer grid is made
_NODES = 512  # quantiles of R at which the integral is cut; fewer words have more
_MOST_NODES = 2048
_ENTRIES = 2**22  # weights of a small vocabulary, which set its number of nodes
_BLOCK = 2**21  # weights held at a time
_POINTS, _ENDS = 1024, 256  # computed words of a large vocabulary, and those at either end
_CHORDS = 400  # chords of a convex exponent
_TAILS = 160  # lengths at which the tail is bounded
_TAIL_SPAN = 60.0  # reach of the tail lengths beyond the grid, in scales
_FAR = -3.0  # ln of a probability of R from which on the tail bounds a word
_DISTANCE = 1e-12  # relative error of a distance, of a range and of their quotient
_SUMS = 1e-10  # relative error of sums of positive terms and of exponentials


@dataclass(frozen=True, eq=False)
class RadiusBounds:
    """Bounds on the law of R at s = 1.

    Attributes:
        edges: lengths that cut the law, ascending, the first 0 and the last ∞, shape (m + 1,).
        masses: of the parts between two quantiles, shape (k,); they sum to 1.
        least: edge that no R of a part is below, shape (k,).
        most: edge that no R of a part is beyond, shape (k,).
        tails: lengths, ascending, shape (t,).
        log_tails: bounds on ln P(R > tails), shape (t,).
    """

    edges: FloatArray
    masses: FloatArray
    least: IntArray
    most: IntArray
    tails: FloatArray
    log_tails: FloatArray

    def log_beyond(self, lengths: FloatArray) -> FloatArray:
        """Bound ln P(R > r) from above at each length r."""
        # The tail falls: the largest known length that is not longer gives a bound.
        place = np.searchsorted(self.tails, lengths, side="right") - 1
        return np.where(place < 0, 0.0, self.log_tails[np.maximum(place, 0)])

    def within(self, length: float) -> float:
        """Bound P(R ≤ r) from above; never 0."""
        return min(1.0, 1e-15 + float(self.masses[self.edges[self.least] <= length].sum()))


@lru_cache(maxsize=4)
def radius_bounds(lexicon: Lexicon) -> RadiusBounds:
    """Bound the law of ‖N‖ for Laplace noise of the scales range_j."""
    grid = (_CELLS, _FINER, _RARE, _NODES, _MOST_NODES, _ENTRIES, _CHORDS, _TAILS, _TAIL_SPAN)
    kind = "-".join(map(str, ("rantext-bounds-1", *grid)))
    return cached_record(RadiusBounds, lexicon.fingerprint, kind, lambda: _bounds_of(lexicon))


def _bounds_of(lexicon: Lexicon) -> RadiusBounds:
    ranges = np.ptp(lexicon.vectors.astype(np.float64), axis=0)
    unit = float(ranges.max())
    scales = ranges[ranges > 0] / unit
    reach = _farthest(scales)
    squares, low, high = _distribution(scales, reach * reach)
    nodes = int(np.clip(_ENTRIES // len(lexicon), _NODES, _MOST_NODES))
    cuts = _cuts(low, high, nodes)
    # Part i: quantiles from high[cuts[i]] on, up to those of the next cut.
    quantiles = np.concatenate(([0.0], high[cuts], [1.0]))
    edges = np.concatenate(([0.0], np.sqrt(squares[cuts]), [math.inf]))
    quantiles = np.maximum.accumulate(np.minimum(quantiles, 1.0))
    sure = np.concatenate((low[cuts], [1.0]))  # P(R ≤ edges[1:]) is at least this
    most = 1 + np.searchsorted(sure, quantiles[1:])
    masses = np.diff(quantiles)
    full = np.flatnonzero(masses > 0)
    lengths = np.concatenate((edges[1:-1], reach * np.linspace(0.5, 4.0, _TAILS)))
    lengths = np.unique(lengths)
    beyond = _log_tails(scales, lengths)
    held = np.log(np.clip(1.0 - np.concatenate(([0.0], low[cuts])), 1e-300, 1.0))
    counted = held[np.searchsorted(edges[1:-1], lengths, side="right")]
    bounds = np.minimum(beyond, counted)
    return RadiusBounds(
        unit * edges,
        masses[full],
        full,
        np.minimum(most[full], edges.size - 1),
        unit * lengths,
        np.minimum.accumulate(bounds),
    )


def _farthest(scales: FloatArray) -> float:
    """Return a length that R exceeds with probability at most `_RARE`, in units of the range."""
    lengths = math.sqrt(2.0 * float((scales**2).sum())) + np.linspace(0.0, _TAIL_SPAN, 121)
    enough = np.flatnonzero(_log_tails(scales, lengths) <= math.log(_RARE))
    return float(lengths[int(enough[0])])


def _distribution(scales: FloatArray, top: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values r² > 0, ascending, and bounds on P(R² ≤ r²) from below and above.

    Args:
        scales: range_j, shape (d,), the largest 1.
        top: end of the coarsest grid.
    """
    parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    d, first = scales.size, _CELLS // _FINER
    while True:
        cell = top / _CELLS
        below, error = _rounded_sum(scales, cell)
        place = np.arange(first, _CELLS)
        low = np.where(place >= d, below[np.maximum(place - d, 0)], 0.0)
        squares = np.asarray(place * cell, dtype=np.float64)
        parts.insert(0, (squares, low - error, below[place] + error))
        if below[first] <= _RARE + error:
            break
        top /= _FINER
    squares, low, high = (np.concatenate([part[i] for part in parts]) for i in range(3))
    low = np.maximum.accumulate(np.clip(low, 0.0, 1.0))
    high = np.minimum.accumulate(np.clip(high, 0.0, 1.0)[::-1])[::-1]
    return squares, low, high


def _rounded_sum(scales: FloatArray, cell: float) -> tuple[FloatArray, float]:
    """Return P(S ≤ i·h) for i < `_CELLS`, and a bound on the error of each."""
    from scipy.fft import irfft, rfft

    roots = np.sqrt(np.arange(_CELLS + 1) * cell)
    masses, error = np.zeros(_CELLS), 0.0
    masses[0] = 1.0
    size = 2 * _CELLS
    # As in `dpcore.audit.document`: three transforms, each off by 5·log2(N)·u in the Euclidean
    # norm (Higham 2002, Theorem 24.2), and a sum of N errors by √N times that.
    transforms = 15.0 * math.log2(size) * UNIT * math.sqrt(size)
    for scale in scales.tolist():
        term = -np.diff(np.exp(-roots / scale))
        norms = float(np.linalg.norm(masses) * np.linalg.norm(term))
        product = irfft(rfft(masses, size) * rfft(term, size), size)[:_CELLS]
        masses = np.maximum(product, 0.0)
        error += transforms * norms + 8.0 * UNIT
    return np.cumsum(masses), error + _CELLS * UNIT


def _cuts(low: FloatArray, high: FloatArray, nodes: int) -> IntArray:
    """Return places that cut the law evenly in the logarithm of the odds."""
    middle = np.clip(0.5 * (low + high), 1e-300, 1.0 - 1e-16)
    odds = np.log(middle) - np.log1p(-middle)
    ends = math.log(_RARE), -math.log(_RARE)
    places = np.searchsorted(np.maximum.accumulate(odds), np.linspace(*ends, nodes + 1))
    return np.unique(np.minimum(places, low.size - 1))


def _log_tails(scales: FloatArray, lengths: FloatArray) -> FloatArray:
    """Bound ln P(R > t), shape (k,): the least over a grid of c and θ."""
    best = np.zeros(lengths.size)
    counts, distinct = _grouped(scales)
    for share in (0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0):
        for cap in (share * lengths[:: max(1, lengths.size // 40)]).tolist():
            if cap <= 0:
                continue
            single = math.log(float(counts @ np.exp(-cap / distinct)) + 5e-324)
            for rate in (0.2, 0.4, 0.6, 0.8, 1.0):
                theta = rate / cap
                moment = float(counts @ _log_moments(distinct, theta, cap))
                markov = moment - theta * lengths**2
                best = np.minimum(best, np.logaddexp(single, markov))
    return best + 1e-9


def _grouped(scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Count the scales below each of a few values that represent them."""
    # A larger scale has a larger tail: rounded up, 64 values suffice for all.
    steps = np.geomspace(float(scales.min()), 1.0 + 1e-12, 64)
    places = np.searchsorted(steps, scales)
    counts = np.bincount(np.minimum(places, 63), minlength=64).astype(np.float64)
    return counts[counts > 0], steps[counts > 0]


def _log_moments(scales: FloatArray, theta: float, cap: float) -> FloatArray:
    """Bound ln E[exp(θ·range²·E²); range·E ≤ c], shape (k,).

    θ·range²·x² − x is convex in x; between two nodes it lies below its chord.
    """
    x = np.linspace(0.0, 1.0, _CHORDS + 1) * (cap / scales)[:, None]
    exponent = theta * (scales[:, None] * x) ** 2 - x
    left, right = exponent[:, :-1], exponent[:, 1:]
    # ∫ of an exponential along a chord: width·(e^r − e^l)/(r − l), at most width·e^max.
    top, gap = np.maximum(left, right), np.abs(right - left)
    shape = np.where(gap > 1e-6, -np.expm1(-gap) / np.maximum(gap, 1e-6), 1.0)
    return np.asarray(np.log((np.diff(x, axis=1) * np.exp(top) * shape).sum(axis=1)))


def law_bounds(
    bounds: RadiusBounds, distance: FloatArray, scale: float, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Bound P(y | x) of every word y, shapes (n,), from its distance to x.

    P(y | x) falls with d(x, y). So in a large vocabulary only some words are computed: any other is
    bounded from below by one that is no nearer, from above by one that is no farther. The nearest
    words and the farthest are all computed.

    Args:
        bounds: on the law of R at s = 1.
        distance: of every word to x, shape (n,); one of them is 0.
        scale: s(ε).
        epsilon: ε.
    """
    n = distance.size
    if n <= 2 * _POINTS:
        return _bounds_at(bounds, distance, scale, epsilon, np.ones(n), np.ones(n))
    order = np.argsort(distance, kind="stable")
    spread = np.linspace(0, n - 1, _POINTS).astype(np.int64)
    ends = np.arange(_ENDS)
    points = np.unique(np.concatenate((ends, spread, n - 1 - ends)))
    after = np.searchsorted(points, np.arange(n))  # the first point that is no nearer
    before = np.searchsorted(points, np.arange(n), side="right") - 1
    counts = (np.bincount(after).astype(np.float64), np.bincount(before).astype(np.float64))
    low, high = _bounds_at(bounds, distance[order[points]], scale, epsilon, *counts)
    both = np.empty((2, n))
    both[:, order] = low[after], high[before]
    return both[0], both[1]


def _bounds_at(
    bounds: RadiusBounds,
    distance: FloatArray,
    scale: float,
    epsilon: float,
    no_farther: FloatArray,
    no_nearer: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bound P(y | x) of some words, shapes (k,), each of which represents others too.

    Args:
        bounds: as for `law_bounds`.
        distance: of these words, shape (k,).
        scale: s(ε).
        epsilon: ε.
        no_farther: number of words no farther than it that each one represents, shape (k,).
        no_nearer: the same for words that are no nearer.
    """
    edges = scale * bounds.edges
    low, high = np.zeros(distance.size), np.zeros(distance.size)
    block = max(8, _BLOCK // distance.size)
    reach = int((bounds.most - bounds.least).max(initial=1))
    parts = bounds.masses.size
    start = 0
    while start < parts:
        first = int(bounds.least[start])
        stop = max(start + 1, int(np.searchsorted(bounds.least, first + max(block, 2 * reach))))
        some = slice(start, stop)
        a, b = bounds.least[some] - first, bounds.most[some] - first
        radii = edges[first : first + int(b.max()) + 1]
        inner, outer = _weights(distance, radii, epsilon, -1), _weights(distance, radii, epsilon, 1)
        least, most = inner @ no_farther, outer @ no_nearer
        mass = bounds.masses[some]
        low += np.bincount(a, mass / most[b], radii.size) @ inner
        # x itself is always a candidate, with weight 1.
        high += np.bincount(b, mass / np.maximum(least[a], 1.0), radii.size) @ outer
        start = stop
    high = np.minimum(high, _far(bounds, distance, scale, epsilon, no_farther))
    return low * (1.0 - _SUMS), np.minimum(high * (1.0 + _SUMS), 1.0)


def law_within(law: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Move a law, shape (n,), into its bounds, so that it sums to 1.

    In few dimensions the grid of `radius_law` is coarse for a short R; the bounds are not. The sum
    that the move removes or adds is distributed over the room within the bounds, so that they hold.
    """
    moved = np.clip(law, low, high)
    lacking = 1.0 - float(moved.sum())
    if abs(lacking) > _RARE:
        room = high - moved if lacking > 0 else moved - low
        moved += lacking * room / room.sum()
    return np.asarray(moved)


def _far(
    bounds: RadiusBounds,
    distance: FloatArray,
    scale: float,
    epsilon: float,
    no_farther: FloatArray,
) -> FloatArray:
    """Bound P(y | x) from above for words that few R reach, shape (n,); ∞ for the others.

    A word at distance t can be the output only if R > t, with at most h(R)/Z_t, h(r) =
    e^(−(ε/2)·t/r). For t_0 ≤ t, E[h(R); R > t_0] is at most h(t_1)·P(R > t_0) + Σ_k (h(t_k+1) −
    h(t_k))·P(R > t_k), the sum over k ≥ 1 (summation by parts).
    """
    result = np.full(distance.size, math.inf)
    chosen = np.flatnonzero(bounds.log_tails < _FAR)
    chosen = chosen[:: max(1, chosen.size // _TAILS)]
    lengths, shares = scale * bounds.tails[chosen], np.exp(bounds.log_tails[chosen])
    far = np.flatnonzero(distance * (1.0 - _DISTANCE) >= lengths[0])
    if not far.size:
        return result
    normalisers = np.maximum(_weights(distance, lengths, epsilon, -1) @ no_farther, 1.0)
    ends = np.append(lengths[1:], math.inf)
    step = max(1, _BLOCK // lengths.size)
    for start in range(0, far.size, step):
        some = far[start : start + step]
        own = distance[some, None] * (1.0 - _DISTANCE)
        first = np.searchsorted(lengths, own[:, 0], side="right") - 1
        gains = np.exp(-0.5 * epsilon * own / ends)
        steps = np.diff(gains, axis=1, prepend=0.0)
        places = np.arange(lengths.size)
        steps[places < first[:, None]] = 0.0
        rows = np.arange(some.size)
        steps[rows, first] = gains[rows, first]
        result[some] = steps @ shares / normalisers[first]
    return result


def _weights(distance: FloatArray, radii: FloatArray, epsilon: float, side: int) -> FloatArray:
    """Return W_r(y), shape (k, n), rounded down (−1) or up (+1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(distance == 0, 0.0, distance / radii[:, None]) * (1.0 - side * _DISTANCE)
    weights = np.exp(-0.5 * epsilon * share)
    weights[~(share < 1.0)] = 0.0
    if side > 0:
        weights[radii == 0] = distance == 0
    return np.asarray(weights)
