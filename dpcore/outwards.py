"""Rounding to the safe side: bounds as text, and bisection.

An upper bound is never rounded down, a lower bound never up. A float64 is read as the shortest
decimal that represents it, and all further arithmetic is decimal. So .07 of 100 is 7 and three
times 1.1 is 3.3, although float64 makes 7.000000000000001 and 3.3000000000000003 of them. No
tolerance is needed, and the text, read as a float64, never lies on the wrong side of the bound.
`pages/shared/outwards.js` does the same in the browser.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray

Shown = Callable[[float, int], str]
"""Function that writes a number in a given number of significant digits."""

_CERTAIN_DIGITS = 14  # a float64 has 15 to 17; e^x and ln x of one have these at least


def at_most(bound: float, digits: int = 4, *, times: int = 1, places: int | None = None) -> str:
    """Format an upper bound, rounded up.

    Args:
        bound: the bound; the text of an infinite one is "inf".
        digits: significant digits.
        times: a factor to multiply it by first, such as 100 of a share.
        places: decimal places to round to in place of `digits`.
    """
    return _outwards(bound, digits, times, places, ROUND_CEILING)


def at_least(bound: float, digits: int = 4, *, times: int = 1, places: int | None = None) -> str:
    """Format a lower bound, rounded down; see `at_most`."""
    return _outwards(bound, digits, times, places, ROUND_FLOOR)


def ordinary(value: float, digits: int = 4) -> str:
    """Format an estimate or an exact value, rounded to the nearest number."""
    return f"{value:.{digits}g}"


def delta_at_most(log_delta: float) -> str:
    """Format δ in three digits, rounded up, from a bound on its logarithm."""
    if not log_delta > -690.0:  # below e^−690, about 10^−300, a float64 soon has fewer digits
        tenths = math.floor(log_delta / math.log(10) * 10.0) + 1
        return f"10^{tenths / 10.0:.1f}"
    # In 28 digits: a float64 of δ could already be rounded down, which a guarantee must not be.
    return _text(Decimal(log_delta).exp(), 3, None, ROUND_CEILING)


def without_noise(value: float) -> float:
    """Round a computed value to the digits that e^x and ln x leave certain.

    e^(ln 10) is 10.000000000000002 in float64, and as an upper bound it would be shown as 10.1.
    This moves a value by less than 10⁻¹³ of itself.
    """
    return float(f"{value:.{_CERTAIN_DIGITS}g}")


def _outwards(bound: float, digits: int, times: int, places: int | None, rounding: str) -> str:
    value = float(bound)
    if not math.isfinite(value):
        return f"{value:g}"
    return _text(Decimal(repr(value)) * times, digits, places, rounding)


def _text(value: Decimal, digits: int, places: int | None, rounding: str) -> str:
    unit = Decimal(1).scaleb(value.adjusted() - digits + 1 if places is None else -places)
    rounded = float((value / unit).to_integral_value(rounding) * unit)
    # In three digits at least: 100 in two would be "1e+02".
    return f"{rounded:.{max(digits, 3)}g}" if places is None else f"{rounded:.{places}f}"


# Bisection that keeps the safe end: its result satisfies the condition, however it is rounded.
#
# A calibration looks for the least noise that meets a guarantee. Halfway between noise that does
# and noise that does not, one of the two ends moves; the result is the end that does and never the
# middle, so that neither rounding nor an early stop can break the guarantee.


_EXHAUSTED = 2_200  # more halvings than there are between any two float64


def safe_end(
    holds: Callable[[FloatArray], ArrayLike],
    safe: ArrayLike,
    unsafe: ArrayLike,
    *,
    rounds: int = _EXHAUSTED,
    within: float = 0.0,
) -> FloatArray:
    """Return the last number from `safe` towards `unsafe` at which a condition holds, elementwise.

    Args:
        holds: the condition, for numbers of the common shape of the two ends; it is not called
            for the ends themselves.
        safe: numbers at which it holds; may lie above or below the other end.
        unsafe: numbers at which it need not hold.
        rounds: halvings at most; by default until no float64 lies between the two ends.
        within: width at which to stop, relative to the safe end.

    Returns:
        The safe ends when the search stops.
    """
    good, bad = np.broadcast_arrays(np.asarray(safe, np.float64), np.asarray(unsafe, np.float64))
    for _ in range(rounds):
        middle = 0.5 * (good + bad)
        between = (middle != good) & (middle != bad) & (np.abs(bad - good) > within * np.abs(good))
        if not between.any():
            break
        kept = np.asarray(holds(middle), dtype=bool)
        good, bad = (
            np.where(between & kept, middle, good),
            np.where(between & ~kept, middle, bad),
        )
    return np.asarray(good)
