"""Bounds as text: never on the wrong side, and within one unit of the last digit."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, PureLocalPrivacy, Status
from dpcore.outwards import at_least, at_most, ordinary, without_noise
from dpcore.plots.attack.words import chance_at_most, count_text, limit_text, share_at_most
from dpcore.plots.style import factor_text, number, probability_text

_HELD: Any = {"status": Status.PROVED, "reason": "a reason", "source": "a source"}
BOUNDS = st.floats(1e-12, 1e12)
SHARES = st.floats(0.0, 1.0)


@given(BOUNDS, st.integers(2, 6))
def test_significant_digits_lie_on_the_safe_side_and_near(bound: float, digits: int) -> None:
    true = Decimal(repr(bound))
    unit = Decimal(1).scaleb(true.adjusted() - digits + 1)
    most, least = Decimal(at_most(bound, digits)), Decimal(at_least(bound, digits))
    assert most - unit < true <= most
    assert least <= true < least + unit
    # A program that reads the text back finds it no less, and no more.
    assert float(least) <= bound <= float(most)


@given(SHARES, st.integers(0, 6))
def test_decimal_places_lie_on_the_safe_side_and_near(share: float, places: int) -> None:
    true, unit = 100 * Decimal(repr(share)), Decimal(1).scaleb(-places)
    most = Decimal(at_most(share, times=100, places=places))
    least = Decimal(at_least(share, times=100, places=places))
    assert most - unit < true <= most
    assert least <= true < least + unit


@given(st.integers(1, 9999), st.integers(-6, 6))
def test_a_bound_that_can_be_shown_is_shown_as_it_is(figures: int, power: int) -> None:
    bound = float(f"{figures}e{power}")
    assert float(at_most(bound)) == float(at_least(bound)) == bound


@pytest.mark.parametrize(
    ("share", "most", "least"),
    [
        (0.2896, "29", "28"),
        (0.29, "29", "29"),
        (0.2904, "30", "29"),
        (0.07, "7", "7"),
        (0.57, "57", "57"),
        (0.0938, "9.4", "9.3"),
        (0.996, "100", "99"),
        (0.0, "0", "0"),
    ],
)
def test_a_share_of_a_hundred(share: float, most: str, least: str) -> None:
    assert at_most(share, 2, times=100) == most
    assert at_least(share, 2, times=100) == least


def test_what_is_infinite_has_no_digits() -> None:
    assert at_most(math.inf) == "inf"
    assert at_least(math.inf, places=3) == "inf"


@given(SHARES)
@example(1 / 3_000)
@example(1 - 1 / 3_000)
def test_a_chance_at_most_is_no_less(probability: float) -> None:
    text = chance_at_most(probability)
    assert share_at_most(probability, "cases") in {f"{text} cases", "nearly all cases"}
    if text in {"almost certain", "less than 1 in a million"}:
        assert min(probability, 1 - probability) < 1e-6
        return
    some, of = (Decimal(part.replace(",", "")) for part in text.split()[-3::2])
    shown = some / of
    assert float(shown) >= probability * (1 - 1e-13)
    assert float(shown) <= probability + max(0.01 * probability, 0.0101 * (probability >= 0.01))


@given(st.floats(0.0, 13.8))
def test_a_limit_of_odds_is_no_less(logarithm: float) -> None:
    shown = float(limit_text(logarithm).removeprefix("at most ").replace(",", ""))
    odds = math.exp(logarithm)
    assert odds * (1 - 1e-13) <= shown <= odds * 1.01
    # The same factor as an estimate is rounded to the nearest number.
    estimate = float(count_text(logarithm).replace(",", ""))
    assert abs(estimate - odds) <= 0.005 * odds * (1 + 1e-9)


def test_an_even_limit_is_not_raised_by_the_logarithm() -> None:
    assert limit_text(math.log(10)) == "at most 10"
    assert limit_text(math.log(7.4)) == "at most 7.4"
    assert factor_text(math.log(2e6), at_most) == "2.0·10⁶"
    assert factor_text(math.log(2.01e6), at_most) == "2.1·10⁶"
    assert factor_text(math.log(2.01e6), ordinary) == "2.0·10⁶"
    assert factor_text(math.log(9.99e6), at_most) == "1.0·10⁷"


@given(BOUNDS)
def test_noise_is_far_below_any_digit_that_is_shown(value: float) -> None:
    assert without_noise(value) == pytest.approx(value, rel=1e-13)


def test_estimates_keep_ordinary_rounding() -> None:
    assert number(0.29449) == "0.294"
    assert number(0.29401, at_most) == "0.295"
    assert number(0.29499, at_least) == "0.294"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0, 0.3141, "at most 0.315"),
        (0.0, 1 / 4005, "at most 1 in 4,000"),
        (0.99877, 1.0, "at least 0.9987"),
    ],
)
def test_a_one_sided_interval_is_a_bound(low: float, high: float, text: str) -> None:
    assert probability_text((low + high) / 2, low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.25, 0.31, "0.28 (0.25 to 0.31)"), (0.9693, 0.9727, "0.971 (0.969 to 0.973)")],
)
def test_the_ends_of_an_interval_are_told_apart(low: float, high: float, text: str) -> None:
    assert probability_text((low + high) / 2, low, high) == text


def test_a_guarantee_never_says_less_than_it_allows() -> None:
    assert "e^(2.001·d)" in MetricPrivacy(epsilon=2.00001, **_HELD).statement
    pure = PureLocalPrivacy(epsilon=1.1, **_HELD)
    assert "e^1.1." in pure.statement
    assert "e^(3·1.1) = e^3.3." in pure.for_tokens(3)  # 3.3000000000000003 in float64
    assert "e^2.001." in PureLocalPrivacy(epsilon=2.00001, **_HELD).statement
    approximate = ApproximateLocalPrivacy(epsilon=1.0, log_delta=math.log(1.0001e-5), **_HELD)
    assert "δ = 1.01e-05" in approximate.statement
