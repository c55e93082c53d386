"""Exact draws from a discrete law, proportional to given weights: inversion in integers.

A weight w is at most 1 and exact: a float64 is a whole number times a power of two, and where it
would underflow, w is a mantissa and an exponent. With K fixed, w gets U = max(1, ⌈2^K·w⌉) whole
units, and these are cumulated in 64-bit integers, without rounding, up to a total S. A draw is a
real number x, uniform in [0, 1), whose binary digits are drawn as they are needed, and t = S·x. The
y-th outcome owns the units from C_{y−1} to C_y; its part of them is

    C_{y−1} ≤ t < C_{y−1} + 2^K·w_y.

A t in the rest of its last unit is rejected, and the draw starts again. So the law is w_y/Σw,
exactly, for any S, and no outcome is unreachable.

64 digits give t up to S/2^64 < 1. Unless t is in the last two units of its outcome, that decides;
this fails for at most 2n in S draws, and those are settled with Python's integers, by as many
digits as necessary. All draws take their digits from one generator in order: a batch gives the same
outputs as its draws one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray

Words = NDArray[np.uint64]

WORD_BITS = 64
_HALF = np.uint64(WORD_BITS // 2)
_LOW = np.uint64(2**32 - 1)
_UNDECIDED = np.uint64(2)  # units before the end of an outcome in which 64 digits may not decide
_NORMAL = 2.0**-1000  # a weight below it may have lost digits in float64
_DEEPEST = 2.0**60  # of a logarithm: no draw ever reads a weight below e^−this


class Digits:
    """Random words of 64 binary digits, in the order of a generator."""

    def __init__(self, rng: np.random.Generator, drawn: Words | None = None) -> None:
        """Start with the words that were already drawn from the generator."""
        self._rng = rng
        self._drawn = np.empty(0, dtype=np.uint64) if drawn is None else drawn

    def take(self, count: int) -> Words:
        """Return the next words, shape (count,)."""
        old, self._drawn = self._drawn[:count], self._drawn[count:]
        if old.size == count:
            return old
        return np.concatenate((old, random_words(self._rng, count - old.size)))

    def put_back(self, words: Words) -> None:
        """Put back the words that were taken last, to be taken again."""
        self._drawn = np.concatenate((words, self._drawn))


def random_words(rng: np.random.Generator, count: int) -> Words:
    """Draw uniform 64-bit words, shape (count,)."""
    return rng.integers(2**WORD_BITS, size=count, dtype=np.uint64)


def shift(outcomes: int) -> int:
    """Return K for `outcomes` weights of at most 1: S stays below 2^64."""
    # Σ⌈2^K·w⌉ ≤ n·(2^K + 1) < 2^64 for n < 2^bits and K = 63 − bits.
    return WORD_BITS - 1 - outcomes.bit_length()


def units(weights: FloatArray, k: int) -> Words:
    """Return U of each weight, any shape."""
    # Rounded up, so that every outcome owns at least its weight; the excess is rejected.
    whole = np.ceil(np.ldexp(weights, k))
    return np.maximum(whole, 1.0, out=whole).astype(np.uint64)


def scaled(words: Words, total: np.uint64) -> Words:
    """Return ⌊S·word/2^64⌋, by the halves of both (NumPy has no 128-bit integers)."""
    high, low = words >> _HALF, words & _LOW
    total_high, total_low = total >> _HALF, total & _LOW
    # Four products of 32 bits; none of the sums below passes 2^64.
    middle = high * total_low + ((low * total_low) >> _HALF)
    other = low * total_high + (middle & _LOW)
    return np.asarray(high * total_high + (middle >> _HALF) + (other >> _HALF))


def is_decided(where: Words, ends: Words) -> NDArray[np.bool_]:
    """Return True where 64 digits decide for the outcomes with these ends.

    Args:
        where: ⌊t⌋ from the digits.
        ends: C_y of the outcome that ⌊t⌋ lies in.
    """
    return np.asarray(ends - where > _UNDECIDED)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of n outcomes, as floats and as logarithms.

    Attributes:
        values: shape (n,), at most 1; those below 2^−1000 may be wrong, or 0.
        log: ln of the weight at a place, for those.
        outcomes: the outcome at each place, shape (n,).
    """

    values: FloatArray
    log: Callable[[int], float]
    outcomes: IntArray
    k: int = field(init=False)

    def __post_init__(self) -> None:
        """Compute K."""
        object.__setattr__(self, "k", shift(self.values.size))

    @cached_property
    def steps(self) -> Words:
        """C_y, shape (n,)."""
        return np.cumsum(units(self.values, self.k), dtype=np.uint64)

    def look_up(self, words: Words) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the outcome of each word of digits, and True where it is decided."""
        where = scaled(words, self.steps[-1])
        places = np.searchsorted(self.steps, where, side="right")
        return self.outcomes[places], is_decided(where, self.steps[places])

    def settle(self, word: int, digits: Digits) -> int:
        """Return the outcome of one draw that begins with this word of digits."""
        total, numerator, bits = int(self.steps[-1]), word, WORD_BITS
        while True:
            # t lies in [low, high), in 2^−bits of a unit.
            low, high = numerator * total, (numerator + 1) * total
            place = int(np.searchsorted(self.steps, np.uint64(low >> bits), side="right"))
            begin = int(self.steps[place - 1]) if place else 0
            edge = (begin + self._width(place, bits)) * (1 << bits)
            if high <= edge:
                return int(self.outcomes[place])
            if low >= edge and high <= int(self.steps[place]) << bits:
                numerator, bits = int(digits.take(1)[0]), WORD_BITS  # begin again
                continue
            numerator = numerator << WORD_BITS | int(digits.take(1)[0])
            bits += WORD_BITS

    def _width(self, place: int, bits: int) -> Fraction:
        """Return 2^K·w at a place; below 2^−bits/2 another such number may replace it.

        Both compare alike with whole multiples of 2^−bits, and no huge power of two is formed.
        """
        value = float(self.values[place])
        if value >= _NORMAL:
            return Fraction(value) * (1 << self.k)
        log = max(self.log(place), -_DEEPEST)
        exponent = math.floor(log / math.log(2.0))
        mantissa = math.exp(log - exponent * math.log(2.0))
        return Fraction(mantissa) / (1 << min(-exponent - self.k, bits + 3))


Rows = Callable[[IntArray], Iterable[tuple[IntArray, Weights]]]
"""For each distinct entry: its positions among the entries, and the weights of its outputs."""


def draws(digits: Digits, entries: IntArray, rows: Rows) -> IntArray:
    """Draw one outcome per entry, shape (k,), by the digits in order.

    Args:
        digits: source of randomness.
        entries: inputs, shape (k,).
        rows: their weights.
    """
    outputs = np.empty(entries.size, dtype=np.int64)
    start = 0
    while start < entries.size:
        words = digits.take(entries.size - start)
        first = words.size  # the first draw that its word does not decide
        for members, weights in rows(entries[start:]):
            outputs[start + members], sure = weights.look_up(words[members])
            first = min([first, *members[~sure].tolist()])
        if first == words.size:
            break
        # The draw consumes the words after its own, and all later draws start further on.
        digits.put_back(words[first + 1 :])
        start += first
        for _, weights in rows(entries[start : start + 1]):
            outputs[start] = weights.settle(int(words[first]), digits)
        start += 1
    return outputs
