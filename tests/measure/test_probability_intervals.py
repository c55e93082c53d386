"""Intervals of probabilities that are small, or were not seen."""

import numpy as np
import pytest
from scipy import stats

from dpcore.measure.probability_intervals import ENOUGH, MeanTally, Tally
from tests.chance import FALSE_ALARM


def test_counts_have_the_ends_of_clopper_and_pearson() -> None:
    runs, stayed = 50, np.arange(26.0)
    low, high = Tally.counted(stayed, runs).interval()
    assert high == pytest.approx(stats.beta.ppf(0.975, stayed + 1, runs - stayed))
    few = stayed > 0
    assert low[few] == pytest.approx(stats.beta.ppf(0.025, stayed, runs - stayed + 1)[few])
    assert low[0] == 0.0


def test_an_event_and_its_complement_have_mirrored_ends() -> None:
    runs = 400
    counts = np.array([0.0, 3.0, 60.0])
    low, high = Tally.counted(counts, runs).interval()
    below, above = Tally.counted(runs - counts, runs).interval()
    assert below == pytest.approx(1 - high)
    assert above == pytest.approx(1 - low)


def test_equal_weights_are_counts() -> None:
    hits = np.zeros((60, 1))
    hits[:14] = 1.0
    weighed, counted = Tally.of(hits, np.ones(60)), Tally.counted(np.array([14.0]), 60)
    assert weighed.value == counted.value
    np.testing.assert_allclose(weighed.interval(), counted.interval(), rtol=0.02)


def test_what_one_ray_saw_a_little_of_may_still_be_large() -> None:
    """The estimate and its standard error are both 1e-74; only the interval tells."""
    hits = np.zeros((1000, 1))
    hits[17] = 1e-71
    tally = Tally.of(hits, np.ones(1000))
    low, high = tally.interval()
    assert tally.value[0] == pytest.approx(1e-74)
    assert tally.error[0] == pytest.approx(1e-74, rel=0.01)
    assert low[0] <= 1e-74
    assert high[0] == pytest.approx(stats.beta.ppf(0.975, 1, 1000), rel=0.01)


def test_what_many_rays_saw_a_little_of_is_known_to_be_small() -> None:
    hits = np.zeros((1000, 1))
    hits[: 4 * int(ENOUGH)] = 1e-3
    low, high = Tally.of(hits, np.ones(1000)).interval()
    assert 2e-5 < low[0] < 4e-5 < high[0] < 8e-5


def test_pooled_estimates_are_better_than_each() -> None:
    rng = np.random.default_rng(0)
    tallies = [
        Tally.of((rng.random((500, 2)) < 0.1).astype(float), np.ones(500)) for _ in range(16)
    ]
    pooled = Tally.pooled(tallies)
    assert pooled.value == pytest.approx(np.mean([t.value for t in tallies], axis=0))
    ratio = pooled.error / np.mean([t.error for t in tallies], axis=0)
    assert ratio == pytest.approx(np.full(2, 0.25), rel=0.1)
    low, high = pooled.interval()
    width = tallies[0].interval()[1] - tallies[0].interval()[0]
    assert (high - low < 0.4 * width).all()


def test_a_mean_is_no_better_known_than_its_unseen_words_allow() -> None:
    seen, unseen = np.zeros((100, 1)), np.zeros((100, 1))
    seen[:40] = 0.5
    mean = MeanTally(100, 1)
    for hits in (seen, unseen):
        mean.add(0.5, hits, np.ones(100), Tally.of(hits, np.ones(100)))
    tally, more = mean.tally()
    low, high = tally.interval(more)
    assert tally.value[0] == pytest.approx(0.1)
    assert more[0, 0] == pytest.approx(0.005)
    assert high[0] > tally.interval()[1][0]
    assert low[0] < 0.1 < high[0]


def test_the_intervals_hold_for_skewed_weighted_observations() -> None:
    """400 samples of 300 weighted hits in [0, 1] of a known small mean.

    Were the level 95 % kept exactly, more than the allowed number would miss with a probability
    of one in a million.
    """
    rng = np.random.default_rng(5)
    tests, missed = 400, 0
    for _ in range(tests):
        weights = rng.choice([1.0, 0.02], size=300, p=[0.7, 0.3])
        # E[w·x] = w·E[x]: x is 1 with probability 0.02, and tiny else.
        x = np.where(rng.random(300) < 0.02, 1.0, 1e-9 * rng.random(300))
        low, high = Tally.of((weights * x)[:, None], weights).interval()
        missed += not low[0] <= 0.02 <= high[0]
    assert missed <= stats.binom.isf(FALSE_ALARM, tests, 0.05)
