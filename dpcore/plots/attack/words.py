"""Probabilities in everyday words: counts, since most people read those better than decimals."""

from __future__ import annotations

import math

from dpcore.outwards import Shown, at_least, at_most, ordinary, without_noise
from dpcore.written import as_numeral

_MOST = 1e6  # a count above it tells readers nothing
MANY = "over a million"
_ALMOST = "almost certain"


@as_numeral
def chance_text(probability: float, *, certain: bool = False) -> str:
    """Format a probability as a count: "31 in 100", "1 in 25,000", "99.6 in 100".

    From 1 % on always out of 100, so that numbers beside each other can be compared.

    Args:
        probability: 0 to 1.
        certain: True if a 1 is exactly 1; else it may be a probability next to 1 that was rounded.
    """
    if 0.01 <= probability <= 0.99:
        return f"{100 * probability:.0f} in 100"
    if probability <= 0:
        return "0 in 100"
    if probability >= 1 and certain:
        return "100 in 100"
    if probability * _MOST < 1:
        return "less than 1 in a million"
    if probability < 0.01:
        return f"1 in {count_text(-math.log(probability))}"
    rest = 1 - probability
    if rest * _MOST < 1:
        return _ALMOST
    return f"{100 * probability:.{_places(rest)}f} in 100"


@as_numeral
def chance_at_most(probability: float, *, certain: bool = True) -> str:
    """Format an upper bound on a probability as a count that is no less: "32 in 100" for 0.313.

    Args:
        probability: 0 to 1.
        certain: True if a 1 excludes nothing; else it is a bound below 1 that was rounded to it.
    """
    if probability >= 1:
        return "100 in 100" if certain else _ALMOST
    if probability > 0.99:
        rest = without_noise(1 - probability)
        if rest * _MOST < 1:
            return _ALMOST
        return f"{at_most(probability, times=100, places=_places(rest))} in 100"
    if probability >= 0.01:
        return f"{at_most(probability, times=100, places=0)} in 100"
    if probability <= 0:
        return "0 in 100"
    if probability * _MOST < 1:
        return "less than 1 in a million"
    return f"1 in {_counted(at_least(without_noise(1 / probability), 3))}"


def _places(rest: float) -> int:
    """Return decimals of a percentage that show a small rest: two for 99.98 %."""
    return max(1, math.ceil(-math.log10(100 * rest) - 1e-9))


@as_numeral
def share_text(probability: float, of: str = "", *, certain: bool = False) -> str:
    """Format a probability as a share of cases: "31 in 100 cases", "nearly all cases".

    Args:
        probability: 0 to 1.
        of: name of the cases; without it only the count.
        certain: as for `chance_text`.
    """
    return _of(chance_text(probability, certain=certain), of)


@as_numeral
def share_at_most(probability: float, of: str = "", *, certain: bool = True) -> str:
    """Format `chance_at_most` as a share of cases."""
    return _of(chance_at_most(probability, certain=certain), of)


def _of(much: str, of: str) -> str:
    return f"{'nearly all' if much == _ALMOST else much} {of}".rstrip()


@as_numeral
def times_text(log_factor: float) -> str:
    """Describe the change of a word's probability: "3.2 times more likely", "as likely as before".

    Args:
        log_factor: its natural logarithm; may be infinite.
    """
    if abs(log_factor) < 0.005:
        return "as likely as before"
    if log_factor == -math.inf:
        return "ruled out"
    much = count_text(abs(log_factor))
    return f"{much} times {'more' if log_factor > 0 else 'less'} likely"


@as_numeral
def count_text(logarithm: float, shown: Shown = ordinary) -> str:
    """Format e^logarithm with three digits: "6.12", "8,610", "over a million".

    Args:
        logarithm: natural; may be infinite.
        shown: rounding: `outwards.ordinary`, `at_most` or `at_least`.
    """
    if not abs(logarithm) <= math.log(_MOST):
        return MANY if logarithm > 0 else "less than 1 in a million"
    return _counted(shown(without_noise(math.exp(logarithm)), 3))


def _counted(number: str) -> str:
    """Write a number of three digits in full."""
    value = float(number)
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


@as_numeral
def limit_text(logarithm: float) -> str:
    """Format the factor e^logarithm that a guarantee allows, rounded up: "at most 7.4".

    Above a million there is "no real limit".

    Args:
        logarithm: natural; may be infinite.
    """
    if logarithm == math.inf:
        return "no limit"
    much = count_text(logarithm, at_most)
    return f"at most {much}" if logarithm <= math.log(_MOST) else "no real limit"
