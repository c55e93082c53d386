"""Draws by exact inversion from digits that a test chooses, and the parts that outcomes own."""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpcore.noise.discrete import Digits, Weights, draws


class Script:
    """Stands for a generator that gives these words."""

    def __init__(self, words: list[int]) -> None:
        self.words, self.used = words, 0

    def integers(self, high: int, size: int, dtype: type[np.uint64]) -> NDArray[np.uint64]:
        assert high == 2**64
        self.used += size
        return np.array(self.words[self.used - size : self.used], dtype=dtype)


def one_word(law: Weights) -> Callable[..., Any]:
    """Rows of a law that does not depend on the input."""
    return lambda entries: [(np.arange(entries.size), law)]


def binary(law: Weights, place: int) -> tuple[float, int]:
    """2^K·w as a float mantissa and a power of two."""
    value = float(law.values[place])
    if value >= 2.0**-1000:
        return value, law.k
    exponent = math.floor(law.log(place) / math.log(2.0))
    mantissa = math.exp(law.log(place) - exponent * math.log(2.0))
    return mantissa, exponent + law.k


def width(law: Weights, place: int) -> Fraction:
    """2^K·w as a fraction."""
    mantissa, exponent = binary(law, place)
    return Fraction(mantissa) * Fraction(2) ** exponent


def log_width(law: Weights, place: int) -> Decimal:
    """ln of `width` in decimals, where a fraction would have a billion digits."""
    mantissa, exponent = binary(law, place)
    return Decimal(mantissa).ln() + exponent * Decimal(2).ln()


def parts(law: Weights) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """Begin, end of its part, and end of its units of each outcome, all over S: fractions."""
    total, begin = int(law.steps[-1]), 0
    for place, end in enumerate(law.steps.tolist()):
        split = begin + width(law, place)
        yield Fraction(begin) / total, Fraction(split) / total, Fraction(end) / total
        begin = end


def words_of(x: Fraction, count: int) -> list[int]:
    """The first binary digits of a number in [0, 1), 64 a word."""
    digits = math.floor(x * 2 ** (64 * count))
    return [digits >> 64 * i & 2**64 - 1 for i in reversed(range(count))]


def drawn(law: Weights, words: list[int]) -> tuple[int, int]:
    script = Script(words)
    return int(
        draws(
            Digits(cast("np.random.Generator", script)), np.zeros(1, dtype=np.int64), one_word(law)
        )[0]
    ), script.used
