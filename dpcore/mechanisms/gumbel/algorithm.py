"""Noise scale, choice and samplers of the truncated Gumbel mechanism (Xu et al. 2021, Alg. 1, 2).

K candidates, K a truncated Poisson variable with rate ln n, are the words nearest to w (w itself
first); to each distance a Gumbel(0, b) variable conditioned to [−Δ, Δ] is added, and the word with
the smallest sum is the output. With Δ the diameter and Δ₀ the separation of the vocabulary,

    α = (ε − 2(1 + ln n)/Δ₀)/3,   b = 2Δ / min{W₀(2αΔ), ln(αΔ₀)}.

b > 0 needs αΔ₀ > 1, that is ε > (5 + 2 ln n)/Δ₀; the published condition, ε > 2(1 + ln n)/Δ₀, only
makes α > 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import EpsilonError
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.bulk import WordCache, first_words, settle
from dpcore.mechanisms.distances import by_word
from dpcore.noise.discrete import Words, is_decided, scaled
from dpcore.noise.samplers import truncated_from_uniform, truncated_poisson

if TYPE_CHECKING:
    from dpcore.mechanisms.gumbel.published import TruncatedGumbel
    from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired


_BLOCK_ENTRIES = 30_000  # noise of one block stays in the processor's cache


def lowest_epsilon(n: int, separation: float) -> float:
    """Return (5 + 2 ln n)/Δ₀: the scale exists for larger ε only."""
    return (5.0 + 2.0 * math.log(n)) / separation


def published_condition(n: int, separation: float) -> float:
    """Return 2(1 + ln n)/Δ₀: the bound on ε that the paper states."""
    return 2.0 * (1.0 + math.log(n)) / separation


def low_reason(n: int, separation: float) -> str:
    """Explain why ε must be larger than `lowest_epsilon`, with the paper's own number."""
    return (
        "(5 + 2 ln n)/Δ₀; the paper's own condition, > "
        f"{published_condition(n, separation):.6g}, leaves a gap in which its formula gives a "
        "negative scale"
    )


def scale(epsilon: float, n: int, separation: float, diameter: float) -> float:
    """Return b of Algorithm 2, in the units of the distances.

    Args:
        epsilon: ε > (5 + 2 ln n)/Δ₀.
        n: words of the vocabulary.
        separation: Δ₀, the smallest non-zero distance (or a lower bound).
        diameter: Δ, the largest distance (or an upper bound).

    Raises:
        EpsilonError: ε is not above the bound, or not finite.
    """
    from scipy.special import wrightomega  # slow to import, and a list of mechanisms needs none

    low = lowest_epsilon(n, separation)
    if not low < epsilon < math.inf:
        msg = (
            f"epsilon of truncated-gumbel must be a finite number > {low:.6g} "
            f"({low_reason(n, separation)}), got {epsilon:g}"
        )
        raise EpsilonError(msg)
    # αΔ₀ = (ε·Δ₀ − 2 − 2 ln n)/3 = 1 + (ε − low)·Δ₀/3, for low·Δ₀ = 5 + 2 ln n. As 1 + excess
    # nothing cancels just above the bound, and nothing overflows far above it.
    with np.errstate(over="ignore"):
        excess = float(np.float64(epsilon - low) * separation / 3.0)
    if excess < 1e300:
        log_product = math.log1p(excess)
    else:
        log_product = math.log(epsilon) + math.log(separation) - math.log(3.0)
    # W₀(x) solves w + ln w = ln x, which is Wright's ω at ln x: no huge x is ever formed.
    lambert = float(wrightomega(log_product + math.log(2.0 * diameter / separation)))
    return 2.0 * diameter / min(lambert, log_product)


def smallest_sums(
    near: tuple[IntArray, FloatArray],
    rows: IntArray,
    counts: IntArray,
    uniform: FloatArray,
    scales: Sequence[float],
    bound: float,
) -> IntArray:
    """Return the candidate with the smallest noisy distance of each draw, at each noise scale.

    Args:
        near: nearest words and their distances of each distinct input, shape (m, width) each.
        rows: the distinct input of each draw, shape (k,).
        counts: its number of candidates, 1..width, shape (k,).
        uniform: the uniform number that gives the noise of each candidate, one draw after the
        other,
            shape (Σ counts,).
        scales: E values of b.
        bound: truncation bound.

    Returns:
        Word indices, shape (k, E).
    """
    order, distance = near
    outputs = np.empty((rows.size, len(scales)), dtype=np.int64)
    begin = np.cumsum(counts) - counts
    # A padded place has distance ∞ and never wins, whatever its noise.
    for members, width in _rectangles(counts):
        missing = np.arange(width) >= counts[members, None]
        behind = uniform[np.where(missing, 0, begin[members, None] + np.arange(width))]
        apart = np.where(missing, math.inf, distance[rows[members], :width])
        nearest = np.empty((members.size, len(scales)), dtype=np.int64)
        for column, b in enumerate(scales):
            noisy = truncated_from_uniform(behind, b, bound)
            noisy += apart
            noisy.argmin(axis=1, out=nearest[:, column])
        outputs[members] = order[rows[members, None], nearest]
    return outputs


def _rectangles(counts: IntArray) -> Iterator[tuple[IntArray, int]]:
    """Yield draws that share an array of noise, and its width: one padded array for few draws.

    Many draws are grouped by number of candidates, in blocks: padding would double the work.
    """
    most = int(counts.max(initial=0))
    if counts.size * most <= _BLOCK_ENTRIES:
        yield np.arange(counts.size), most
        return
    by_count = np.argsort(counts, kind="stable")
    ends = np.searchsorted(counts[by_count], np.arange(1, most + 2))
    for k in range(1, most + 1):
        members = by_count[ends[k - 1] : ends[k]]
        step = max(1, _BLOCK_ENTRIES // k)
        for start in range(0, members.size, step):
            yield members[start : start + step], k


# Samplers for many documents: neighbours are looked up once a word.
#
# Nearly every draw is among the few nearest words, which are cached; the rare draw over the whole
# vocabulary is computed as in `sample`.


_ROWS_BYTES = 16 * 2**20  # distances held at a time
_NEAR = 32  # cached nearest words; a Poisson count of ln n is hardly ever larger


class RepairedBulk:
    """Sampler by inversion of the closed form, with cached nearest words."""

    shared_laws = None

    def __init__(self, mechanism: TruncatedGumbelRepaired, epsilon: float) -> None:
        """Set up the law at this ε."""
        self._mechanism = mechanism
        self._epsilon, self._strength = epsilon, mechanism.strength(epsilon)
        self._kept: WordCache[tuple[IntArray, Words, np.uint64]] = WordCache(
            16 * mechanism.heads + 8
        )

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        first = first_words(rngs, np.diff(offsets))
        if not words.size:
            return np.empty(0, dtype=np.int64)
        entries = self._mechanism.check_words(words)
        outputs, sure = np.empty(words.size, dtype=np.int64), np.empty(words.size, dtype=bool)
        distinct, places = by_word(entries)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        kept = self._kept.each(distinct, self._laws, step)
        for word, members, (order, steps, total) in zip(distinct, places, kept, strict=True):
            where = scaled(first[members], total)
            place = np.searchsorted(steps, where, side="right")
            near = np.minimum(place, order.size - 1)
            outputs[members], sure[members] = order[near], is_decided(where, steps[near])
            far = members[place >= order.size]
            if far.size:
                outputs[far], sure[far] = self._among_all(word, first[far])
        rows = self._mechanism.rows(self._epsilon)
        return settle(outputs, sure, rngs, first, entries, offsets, rows)

    def _laws(self, words: list[int]) -> Iterator[tuple[IntArray, Words, np.uint64]]:
        """Yield the nearest words, the cumulated units up to each, and the units of all."""
        vectors, heads = self._mechanism.lexicon.vectors, self._mechanism.heads
        for row in distances(vectors, vectors[words]):
            weights = self._mechanism.weights(row, self._strength)
            yield weights.outcomes[:heads].copy(), weights.steps[:heads].copy(), weights.steps[-1]

    def _among_all(self, word: int, first: Words) -> tuple[IntArray, NDArray[np.bool_]]:
        """Look up as `Weights.look_up` does, over the whole vocabulary."""
        vectors = self._mechanism.lexicon.vectors
        row = distances(vectors, vectors[[word]])[0]
        return self._mechanism.weights(row, self._strength).look_up(first)


class TruncatedGumbelBulk:
    """Sampler of the published mechanism: noisy distances of as many words as each draw has."""

    shared_laws = None

    def __init__(self, mechanism: TruncatedGumbel, epsilon: float) -> None:
        """Set up the noise at this ε."""
        self._mechanism = mechanism
        self._b = mechanism.noise_scale(epsilon)
        self._width = min(_NEAR, len(mechanism.lexicon))
        self._kept: WordCache[tuple[IntArray, FloatArray]] = WordCache(16 * self._width)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        if not words.size:
            return np.empty(0, dtype=np.int64)
        mechanism, n = self._mechanism, len(self._mechanism.lexicon)
        entries = mechanism.check_words(words)
        outputs = np.empty(words.size, dtype=np.int64)
        counts = np.empty(words.size, dtype=np.int64)
        uniform: list[FloatArray] = []
        # The numbers of each document in the order of `sample`: counts, noise of few candidates by
        # count, noise of whole vocabularies.
        for i, rng in enumerate(rngs):
            part = slice(int(offsets[i]), int(offsets[i + 1]))
            if part.start == part.stop:
                continue
            counts[part] = truncated_poisson(rng, part.stop - part.start, n)
            # In `sample` draws with fewer candidates come first, and within them the earlier one.
            uniform.append(rng.random(int(counts[part][counts[part] < n].sum())))
            whole = part.start + np.flatnonzero(counts[part] == n)
            if whole.size:
                outputs[whole] = mechanism.among_all(rng, entries[whole], self._b)
        few = np.flatnonzero(counts < n)
        if few.size:
            document = np.searchsorted(offsets, few, side="right")
            order = few[np.lexsort((few, counts[few], document))]
            outputs[order] = self._among_few(entries[order], counts[order], np.concatenate(uniform))
        return outputs

    def _among_few(self, words: IntArray, counts: IntArray, uniform: FloatArray) -> IntArray:
        """Return outputs of draws whose candidates' uniform numbers are consecutive."""
        self._widen(int(counts.max()))
        distinct, which = np.unique(words, return_inverse=True)
        step = max(1, _ROWS_BYTES // (8 * len(self._mechanism.lexicon)))
        neighbours = list(self._kept.each(distinct.tolist(), self._neighbours, step))
        near = (
            np.stack([order for order, _ in neighbours]),
            np.stack([row for _, row in neighbours]),
        )
        bound = self._mechanism.bound
        return smallest_sums(near, which, counts, uniform, [self._b], bound)[:, 0]

    def _widen(self, wanted: int) -> None:
        """Cache more neighbours from now on, if a draw has more candidates than before."""
        if wanted > self._width:
            self._width = wanted
            self._kept = WordCache(16 * wanted)

    def _neighbours(self, words: list[int]) -> Iterator[tuple[IntArray, FloatArray]]:
        order, row = self._mechanism.lexicon.nearest_words(np.array(words), self._width)
        yield from zip(order, row, strict=True)
