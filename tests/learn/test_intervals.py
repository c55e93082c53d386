"""Means over trials and medians: their intervals, by hand and by coverage."""

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.learn.intervals import (
    difference_error,
    mean_interval,
    median_interval,
    places,
    ratio_of_sums,
)
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng


def test_three_trials_by_hand() -> None:
    interval = mean_interval([0.7, 0.8, 0.9])
    half = 4.302652729911275 * 0.1 / np.sqrt(3)  # t with 2 degrees of freedom
    assert interval.mean == pytest.approx(0.8)
    assert interval.trials == 3
    assert interval.low == pytest.approx(0.8 - half)
    assert interval.high == pytest.approx(0.8 + half)


def test_one_trial_has_no_interval() -> None:
    interval = mean_interval([0.5])
    assert interval.mean == 0.5
    assert np.isnan([interval.low, interval.high]).all()


def test_it_covers_as_often_as_it_says(rng: MakeRng) -> None:
    draws = rng().normal(1.0, 2.0, (20_000, 5))
    hits = sum(m.low <= 1.0 <= m.high for m in map(mean_interval, draws))
    assert stats.binomtest(hits, 20_000, 0.95).pvalue >= FALSE_ALARM


@pytest.mark.parametrize("wrong", [[], [np.nan], [1.0, np.inf]])
def test_anything_but_a_trial_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ParameterError, match="finite"):
        mean_interval(wrong)


def test_a_median_by_hand() -> None:
    """Of ten values the second and the ninth: P(Bin(10, 1/2) < 2) = 11/1024 on each side."""
    interval = median_interval(np.arange(10.0)[::-1])
    assert (interval.median, interval.low, interval.high, interval.count) == (4.5, 1.0, 8.0, 10)
    few = median_interval([3.0, 1.0, 2.0])
    assert few.median == 2.0
    assert np.isnan([few.low, few.high]).all()


@pytest.mark.parametrize("size", [6, 25, 100])
def test_a_median_is_covered_at_least_as_often_as_it_says(rng: MakeRng, size: int) -> None:
    draws = rng().exponential(1.0, (4_000, size))
    result = [median_interval(row) for row in draws]
    hits = sum(m.low <= np.log(2.0) <= m.high for m in result)
    assert stats.binom.cdf(hits, 4_000, 0.95) >= FALSE_ALARM
    assert hits < 4_000  # an interval that always covers would say nothing


@pytest.mark.parametrize("wrong", [[], [np.nan], [1.0, np.inf]])
def test_anything_but_a_measurement_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ParameterError, match="finite"):
        median_interval(wrong)


def test_the_error_of_a_difference_by_hand() -> None:
    """Two rows, three trials: what is left of (0.1, 0.2, 0.3) is half of it on either side."""
    table = np.array([[0.1, 0.2, 0.6], [0.0, 0.0, 0.3]])
    error, freedom = difference_error(table)
    differences = table[0] - table[1]
    assert freedom == 2
    assert error == pytest.approx(differences.std(ddof=1) / np.sqrt(3))
    assert np.isnan(difference_error(table[:, :1])[0])


def test_the_error_of_a_ratio_by_hand() -> None:
    values, counts = np.array([1.0, 0.0, 1.0]), np.array([4.0, 8.0, 12.0])
    ratio, error = ratio_of_sums(values, counts)
    left = values - counts * 2 / 24
    assert ratio == pytest.approx(2 / 24)
    assert error == pytest.approx(np.sqrt(3 / 2 * (left @ left)) / 24)
    assert ratio_of_sums(counts / 4, counts) == pytest.approx((0.25, 0.0))
    same = ratio_of_sums(values, np.ones(3))
    assert same[1] == pytest.approx(values.std(ddof=1) / np.sqrt(3))


def test_what_every_trial_does_to_all_does_not_matter(rng: MakeRng) -> None:
    table = rng().normal(0.0, 1.0, (4, 6))
    shifted = table + 100.0 * np.arange(6)
    assert difference_error(shifted)[0] == pytest.approx(difference_error(table)[0])


def test_places_are_ranges_where_trials_cannot_tell() -> None:
    jitter = np.array([-0.001, 0.0, 0.001])
    table = np.stack([0.9 + jitter, 0.5 + jitter[::-1], 0.5005 + jitter, 0.1 - jitter])
    assert places(table) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert places(table[:, :1]) == [(1, 4)] * 4  # one trial tells nothing
    assert places(table[:1]) == [(1, 1)]


def test_all_places_hold_together_as_often_as_they_say(rng: MakeRng) -> None:
    """Six rows that are equally good: any range that is not 1 to 6 is wrong."""
    count = 4_000
    draws = rng().normal(0.0, 1.0, (count, 6, 4)) + rng(1).normal(0.0, 5.0, (count, 1, 4))
    wrong = sum(places(table) != [(1, 6)] * 6 for table in draws)
    assert stats.binomtest(wrong, count, 0.05, alternative="greater").pvalue >= FALSE_ALARM
