"""Chances in everyday words: counts, since most people read those better than decimals."""

from __future__ import annotations

import math

_MOST = 1e6  # a count above it says nothing to anybody
MANY = "over a million"
_ALMOST = "almost certain"


def chance_text(probability: float, *, certain: bool = False) -> str:
    """A probability as a count: "31 in 100", "1 in 25,000", "all but 1 in 250".

    Between 1 and 99 % always out of 100, so that numbers beside each other can be compared.

    Args:
        probability: 0 to 1.
        certain: whether a 1 is exactly 1, or an upper bound; else it may be what a probability
            next to 1 was rounded to.
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
    of = float(f"{1 / rest:.3g}")
    return f"all but 1 in {of:,.0f}"


def share_text(probability: float, of: str = "", *, certain: bool = False) -> str:
    """The same as a share of cases: "31 in 100 cases", "nearly all cases".

    Args:
        probability: 0 to 1.
        of: what is counted; without it only how many of them.
        certain: as for `chance_text`.
    """
    much = chance_text(probability, certain=certain)
    return f"{'nearly all' if much == _ALMOST else much} {of}".rstrip()


def times_text(log_factor: float) -> str:
    """How the chance of a word changed: "3.2 times more likely", "as likely as before".

    Args:
        log_factor: its natural logarithm; may be infinite.
    """
    if abs(log_factor) < 0.005:
        return "as likely as before"
    if log_factor == -math.inf:
        return "ruled out"
    much = count_text(abs(log_factor))
    return f"{much} times {'more' if log_factor > 0 else 'less'} likely"


def count_text(logarithm: float) -> str:
    """e^logarithm to three digits: "6.12", "8,610", "over a million".

    Args:
        logarithm: natural; may be infinite.
    """
    if not abs(logarithm) <= math.log(_MOST):
        return MANY if logarithm > 0 else "less than 1 in a million"
    value = float(f"{math.exp(logarithm):.3g}")
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def limit_text(logarithm: float) -> str:
    """The factor e^logarithm that a promise allows: "at most 7.4"; "no real limit" above a million.

    Args:
        logarithm: natural; may be infinite.
    """
    if logarithm == math.inf:
        return "no limit"
    much = count_text(logarithm)
    return f"at most {much}" if logarithm <= math.log(_MOST) else "no real limit"
