"""Sw and effective number: against plain loops, and against all possible runs enumerated."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcore.measure.counting import Counts, effective_number, expected_distinct, inverse
from tests.fixtures import MakeRng

LAW = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def enumerated(runs: int, of: Callable[[tuple[int, ...]], float | Fraction]) -> Any:
    """Exact expectation of a function of `runs` independent outputs under LAW."""
    return sum(
        math.prod(LAW[y] for y in outputs) * of(outputs)
        for outputs in itertools.product(range(3), repeat=runs)
    )


def counts(outputs: Any, word: int = 0) -> Counts:
    return Counts.of(np.array(outputs, dtype=np.int64)[:, None], word)


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_expected_distinct_is_the_mean_over_all_possible_runs(runs: int) -> None:
    wanted = enumerated(runs, lambda outputs: len(set(outputs)))
    expected = expected_distinct(np.array([float(p) for p in LAW]), runs)
    assert expected == pytest.approx(float(wanted), rel=1e-14)


def test_expected_distinct_of_extreme_laws() -> None:
    assert expected_distinct(np.array([1.0, 0.0, 0.0]), 1000) == 1.0
    tiny = np.full((2, 1000), 1e-21)  # 1 − (1 − p)^R would be 0 in float64
    assert expected_distinct(tiny, 1000) == pytest.approx([1e-15, 1e-15], rel=1e-12)
    many = np.full(50, 1 / 50)
    assert expected_distinct(many, 100_000) == pytest.approx(50, rel=1e-15)
    assert expected_distinct(many, 7) == pytest.approx(50 * (1 - (49 / 50) ** 7), rel=1e-13)


def test_effective_number_is_the_number_of_equally_likely_outputs() -> None:
    assert effective_number(np.full((3, 8), 1 / 8)) == pytest.approx([8, 8, 8])
    assert effective_number(np.array([0.0, 1.0])) == 1.0
    assert effective_number(np.array([0.5, 0.25, 0.25])) == pytest.approx(1 / 0.375)


def test_counts_are_those_of_a_plain_loop(rng: MakeRng) -> None:
    outputs = rng().integers(0, [3, 40, 10_000, 1], size=(200, 4))
    counts = Counts.of(outputs, 2)
    for e in range(4):
        times = Counter(outputs[:, e].tolist())
        assert counts.stayed[e] == times[2]
        del times[2]
        times = Counter(outputs[:, e].tolist())
        assert counts.distinct[e] == len(times)
        assert counts.singletons[e] == sum(k == 1 for k in times.values())
        assert counts.pairs[e] == sum(k * (k - 1) for k in times.values())
        assert counts.triples[e] == sum(k * (k - 1) * (k - 2) for k in times.values())


def test_the_share_of_agreeing_pairs_is_unbiased_and_its_variance_fits() -> None:
    runs = 6
    truth = sum(p * p for p in LAW)

    def share(outputs: Any) -> float:
        return counts(outputs).agreement()[0][0]

    assert enumerated(runs, share) == pytest.approx(float(truth), rel=1e-12)
    true_variance = enumerated(runs, lambda o: (share(o) - float(truth)) ** 2)
    stated = enumerated(runs, lambda o: counts(o).agreement()[1][0])
    assert 0.8 * true_variance < stated < 1.6 * true_variance


@pytest.mark.parametrize("runs", [2, 3, 6])
def test_the_stated_variance_of_sw_is_not_too_small(runs: int) -> None:
    mean = enumerated(runs, lambda o: len(set(o)))
    variance = enumerated(runs, lambda o: (len(set(o)) - mean) ** 2)
    stated = enumerated(runs, lambda o: Fraction(counts(o).sw()[1][0] ** 2).limit_denominator(99))
    assert variance <= stated


def test_runs_that_never_agree_have_an_infinite_effective_number() -> None:
    number, error = inverse(*counts(range(10)).agreement())
    assert number == error == np.inf
    number, error = inverse(*counts([4] * 10).agreement())
    assert number == 1.0
    assert error == 0.0
    assert np.isfinite(inverse(*counts([1, 1]).agreement())[1])


@pytest.mark.parametrize("runs", [2, 5, 8, 9, 1000, 100_000])
def test_the_series_of_rare_outputs_equals_the_formula(rng: MakeRng, runs: int) -> None:
    make = rng(runs)
    for spread in (0.0, 1.0, 6.0):
        weights = np.exp(spread * make.standard_normal((3, 4000)))
        law = weights / weights.sum(axis=1, keepdims=True)
        plain = -np.expm1(runs * np.log1p(-law)).sum(axis=1)
        np.testing.assert_allclose(expected_distinct(law, runs), plain, rtol=1e-12)
    # On both sides of where an output counts as rare, one at a time.
    edge = np.array([[0.1 * (1 - 1e-9) / runs], [0.1 * (1 + 1e-9) / runs]])
    plain = -np.expm1(runs * np.log1p(-edge[:, 0]))
    np.testing.assert_allclose(expected_distinct(edge, runs), plain, rtol=1e-13)
