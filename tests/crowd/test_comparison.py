"""Groups of private texts compared: what differs, trends, and the distance of two means."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.arrays import FloatArray, IntArray
from dpcore.crowd.comparison import (
    RATE,
    candidates,
    compare,
    mean_distance,
    places,
    trends,
)
from dpcore.crowd.estimates import POPULATION, TEXTS, Estimates, OutputCounts
from dpcore.crowd.queries import of_coordinates, of_indices
from dpcore.crowd.undo import undo
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create
from tests.mechanisms.contract import SMALL

N, EPSILON = len(SMALL), 3.5
ALL = np.arange(N)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


def outputs_of(rng: np.random.Generator, counts: IntArray) -> IntArray:
    """Outputs of k-ary response for words that occur so often."""
    keep = 1.0 / (1.0 + (N - 1) * math.exp(-EPSILON))
    q = keep * math.exp(-EPSILON)
    stay = rng.binomial(counts, keep - q)
    return np.asarray(stay + rng.multinomial(counts.sum() - stay.sum(), np.full(N, 1 / N)))


def drawn(rng: np.random.Generator, shares: list[FloatArray], size: int, **more: int) -> Estimates:
    """Estimates of all words in groups with these shares of words."""
    mechanism = create("k-ary", SMALL)
    counts = [rng.multinomial(size, share) for share in shares]
    outputs = np.stack([outputs_of(rng, each) for each in counts])
    names = tuple("abcdefgh"[: len(shares)])
    seen = OutputCounts(names, np.full(len(shares), 50), outputs)
    estimators = undo(mechanism, EPSILON, of_indices(SMALL, ALL), size)
    return Estimates("k-ary", EPSILON, TEXTS, 0.95, True, seen, estimators, **more)


def test_false_discoveries_are_few_where_nothing_differs() -> None:
    """Two groups of the very same words: the share of trials with a discovery is at most `RATE`."""
    rng, counts, trials = np.random.default_rng(0), np.full(N, 100), 300
    estimators = undo(create("k-ary", SMALL), EPSILON, of_indices(SMALL, ALL), counts.sum())
    wrong = 0
    for _ in range(trials):
        outputs = np.stack([outputs_of(rng, counts) for _ in range(2)])
        seen = OutputCounts(("a", "b"), np.array([50, 50]), outputs)
        estimates = Estimates("k-ary", EPSILON, TEXTS, 0.95, True, seen, estimators)
        wrong += bool(compare(estimates).found)
    # 4 standard errors above it once in 30,000 tests.
    assert wrong / trials <= RATE + 4 * math.sqrt(RATE * (1 - RATE) / trials)


@pytest.mark.parametrize("ratio", [1, 9])
@pytest.mark.parametrize("size", [200, 1_000])
def test_few_outputs_are_no_discovery(ratio: int, size: int) -> None:
    """Small groups of one and the same words: what did not come out is not taken for absent."""
    rng, trials, epsilon = np.random.default_rng(7), 200, 7.0
    mechanism = create("k-ary", SMALL)
    estimators = undo(mechanism, epsilon, of_indices(SMALL, ALL), size)
    groups = [np.repeat(ALL, [size // 40] * N), np.repeat(ALL, [ratio * size // 40] * N)]
    # Of a quarter of the words no one writes.
    groups = [words[words >= N // 4] for words in groups]
    wrong = 0
    for _ in range(trials):
        outputs = [
            np.bincount(mechanism.sample(rng, words, epsilon), minlength=N) for words in groups
        ]
        seen = OutputCounts(("a", "b"), np.array([5, 5]), np.stack(outputs))
        wrong += bool(
            compare(Estimates("k-ary", epsilon, TEXTS, 0.95, True, seen, estimators)).found
        )
    assert wrong / trials <= RATE + 4 * math.sqrt(RATE * (1 - RATE) / trials)


def test_what_differs_is_found_with_its_sign() -> None:
    rng = np.random.default_rng(1)
    first, second = np.full(N, 1 / N), np.full(N, 1 / N)
    second[3] += 0.05
    second[8] -= 0.02
    second /= second.sum()
    comparison = compare(drawn(rng, [first, second], 60_000))
    found = {row.query: row for row in comparison.found}
    assert {"w3", "w8"} <= set(found)
    assert found["w3"].difference > 0 > found["w8"].difference
    assert found["w3"].low <= second[3] - first[3] <= found["w3"].high
    assert comparison.rows[0].query == "w3"
    assert (found["w3"].group, found["w3"].rest) == ("b", "a")


def test_intervals_of_chosen_words_hold_for_nearly_all() -> None:
    """The false coverage rate: of the words that are shown one in twenty misses, at most."""
    rng = np.random.default_rng(2)
    shown = missed = 0
    first = np.full(N, 1 / N)
    for _ in range(60):
        second = first * np.exp(0.15 * rng.normal(size=N))
        second /= second.sum()
        mechanism = create("k-ary", SMALL)
        counts = [rng.multinomial(20_000, share) for share in (first, second)]
        seen = OutputCounts(
            ("a", "b"), np.array([9, 9]), np.stack([outputs_of(rng, each) for each in counts])
        )
        estimators = undo(mechanism, EPSILON, of_indices(SMALL, ALL), 20_000)
        result = compare(Estimates("k-ary", EPSILON, TEXTS, 0.95, True, seen, estimators))
        truth = (counts[1] - counts[0]) / 20_000
        for row in result.found:
            shown += 1
            place = int(row.query[1:])
            missed += not row.low <= truth[place] <= row.high
    assert shown > 200
    assert missed / shown <= RATE + 4 * math.sqrt(RATE * (1 - RATE) / shown)


def test_several_groups_are_compared_with_the_rest_each() -> None:
    share = np.full(N, 1 / N)
    comparison = compare(drawn(np.random.default_rng(3), [share] * 3, 3_000))
    assert len(comparison.rows) == comparison.hypotheses == 3 * N
    assert {row.rest for row in comparison.rows} == {"the rest"}
    assert comparison.to_pandas().to_dict("records") == [row.to_dict() for row in comparison.rows]
    with pytest.raises(ParameterError, match="two groups"):
        compare(drawn(np.random.default_rng(3), [share], 3_000))


def test_words_that_were_not_looked_at_are_hypotheses_too() -> None:
    share = np.full(N, 1 / N)
    few = compare(drawn(np.random.default_rng(4), [share] * 2, 3_000))
    many = compare(drawn(np.random.default_rng(4), [share] * 2, 3_000, hypotheses=10_000))
    assert many.hypotheses == 10_000
    assert many.rows[0].q >= few.rows[0].q


def test_candidates_are_the_commonest_or_those_that_differ_most() -> None:
    outputs = np.ones((2, N), dtype=int) * 100
    outputs[1, 7] += 90
    outputs[:, 2] += 500
    pair = OutputCounts(("a", "b"), np.array([5, 5]), outputs)
    assert candidates(pair, 3)[0] == 7
    one = OutputCounts(("a",), np.array([5]), outputs[:1])
    assert candidates(one, 1).tolist() == [2]


def test_a_trend_is_the_slope_and_its_interval_holds() -> None:
    rng = np.random.default_rng(5)
    base = np.full(N, 1 / N)
    shares = []
    for step in range(5):
        share = base.copy()
        share[6] += 0.01 * step
        shares.append(share / share.sum())
    held = 0
    for _ in range(100):
        trend = {each.query: each for each in trends(drawn(rng, shares, 20_000))}["w6"]
        slope = np.polyfit(np.arange(5), [share[6] for share in shares], 1)[0]
        held += trend.low - 0.001 <= slope <= trend.high + 0.001
    assert held >= 90
    assert trend.q < RATE
    assert trend.slope > 0
    with pytest.raises(ParameterError, match="three groups"):
        trends(drawn(rng, shares[:2], 1_000))


def test_groups_that_are_numbers_lie_at_them() -> None:
    assert places(("1", "2", "5")).tolist() == [1.0, 2.0, 5.0]
    assert places(("2024-01", "2024-02")).tolist() == [0.0, 1.0]
    assert places(("1", "01", "nan")).tolist() == [0.0, 1.0, 2.0]


def test_the_distance_of_two_means_is_without_the_noise() -> None:
    rng = np.random.default_rng(6)
    mechanism, size = create("k-ary", SMALL), 2_000
    asked = of_coordinates(SMALL)
    estimators = undo(mechanism, EPSILON, asked, size)
    first, second = np.full(N, 1 / N), np.linspace(1, 2, N)
    second = second / second.sum()
    counts = [np.round(size * share).astype(int) for share in (first, second)]
    means = [each @ SMALL.vectors.astype(float) / each.sum() for each in counts]
    truth = float(((means[0] - means[1]) ** 2).sum())
    found, held = [], 0
    for _ in range(300):
        outputs = np.stack([outputs_of(rng, each) for each in counts])
        seen = OutputCounts(("a", "b"), np.array([5, 5]), outputs)
        estimates = Estimates("k-ary", EPSILON, TEXTS, 0.95, True, seen, estimators)
        distance = mean_distance(estimates, "a", "b")
        found.append(distance.squared)
        held += distance.low <= truth <= distance.high
    assert abs(np.mean(found) - truth) <= 4 * np.std(found) / math.sqrt(300)
    assert held / 300 >= 0.9
    with pytest.raises(ParameterError, match="no group"):
        mean_distance(estimates, "a", "c")
    with pytest.raises(ParameterError, match="of=texts"):
        mean_distance(replace(estimates, of=POPULATION), "a", "b")
    rough = replace(estimators, worst=estimators.worst + 1.0)
    with pytest.raises(ParameterError, match="without a bias"):
        mean_distance(replace(estimates, estimators=rough), "a", "b")
