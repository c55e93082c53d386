"""Outputs drawn from word counts, and words told apart: exact, and seldom wrong."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpcore.crowd.bundled import Crowd
from dpcore.crowd.comparison import RATE, compare
from dpcore.crowd.estimates import TEXTS, Estimates, OutputCounts
from dpcore.crowd.queries import Queries, of_indices
from dpcore.crowd.shown import (
    against_the_rest,
    compare_words,
    draw_outputs,
    draw_release,
    drawn_counts,
    k_ary,
    sample_words,
    true_difference,
)
from dpcore.crowd.undo import undo
from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import SparseLaw
from dpcore.mechanisms.registry import create
from tests.mechanisms.contract import SMALL, make

N, EPSILON = len(SMALL), 3.5
LAW, P, Q = k_ary(create("k-ary", SMALL), EPSILON)
TOY = Crowd(
    "toy",
    "A toy",
    ("a", "b", "c"),
    np.array([30, 50, 20]),
    np.zeros(3, dtype=np.int64),
    np.arange(3 * N).reshape(3, N) % 17 * 40,
)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


@pytest.mark.parametrize("key", ["k-ary.v1", "neighbour-response.v1"])
def test_outputs_follow_the_law(key: str) -> None:
    """Means and variances of 2,000 draws; a wrong failure once in a million tests."""
    mechanism = make(key)
    law = mechanism.sparse_law(EPSILON)
    assert law is not None
    counts = np.arange(N) % 7 * 9
    rng, trials = np.random.default_rng(0), 2_000
    drawn = np.stack([draw_outputs(law, counts, rng) for _ in range(trials)])
    assert np.all(drawn.sum(axis=1) == counts.sum())
    rows = np.stack([mechanism.law(word, [EPSILON]).dense(N)[0] for word in range(N)])
    mean, variance = counts @ rows, counts @ (rows * (1 - rows))
    score = ((drawn.mean(axis=0) - mean) ** 2 / (variance / trials)).sum()
    assert score < chi2.isf(1e-6, N)
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.25)


def test_the_law_of_an_exception_that_is_rarer_is_refused() -> None:
    law = SparseLaw(np.full(4, 0.3), np.array([0]), np.array([0]), np.array([-0.2]))
    with pytest.raises(ParameterError, match="exceptions"):
        draw_outputs(law, np.array([5, 5, 5, 5]), np.random.default_rng(0))


def test_a_share_of_the_words_is_drawn_without_replacement() -> None:
    counts = np.array([1_000, 0, 10, 90])
    rng = np.random.default_rng(1)
    assert sample_words(counts, 1.0, rng) is counts
    drawn = np.stack([sample_words(counts, 0.5, rng) for _ in range(500)])
    assert np.all(drawn.sum(axis=1) == 550)
    assert np.all(drawn <= counts)
    assert drawn.mean(axis=0) == pytest.approx(counts / 2, rel=0.1)
    for share in (0.0, 1.5, math.nan):
        with pytest.raises(ParameterError, match="share"):
            sample_words(counts, share, rng)


def test_a_setting_is_drawn_once_and_by_itself() -> None:
    written, one = draw_release(TOY, LAW, 50, 7, "step")
    for again, first in zip(draw_release(TOY, LAW, 50, 7, "step"), (written, one), strict=True):
        assert np.array_equal(again, first)
    assert np.array_equal(written.sum(axis=1), one.sum(axis=1))
    assert np.all(written <= TOY.counts)
    assert one.sum(axis=1).tolist() == [round(k / 2) for k in TOY.words.tolist()]
    for _, other in (
        draw_release(TOY, LAW, 50, 8, "step"),
        draw_release(TOY, LAW, 50, 7, "other"),
    ):
        assert not np.array_equal(one, other)
    with pytest.raises(ParameterError, match="share"):
        draw_release(TOY, LAW, 101, 7)


def test_a_group_is_compared_with_all_others_together() -> None:
    both = against_the_rest(TOY.counts, 1)
    assert np.array_equal(both[1], TOY.counts[0] + TOY.counts[2])
    shares = both / both.sum(axis=1, keepdims=True)
    assert true_difference(TOY, 1) == pytest.approx(shares[0] - shares[1])


def test_only_k_ary_has_the_closed_form() -> None:
    assert pytest.approx(1.0) == P + (N - 1) * Q
    assert pytest.approx(math.exp(EPSILON)) == P / Q
    for name in ("neighbour-response", "tem"):
        with pytest.raises(ParameterError, match="k-ary, got"):
            k_ary(create(name, SMALL), EPSILON)
    with pytest.raises(ParameterError, match="stay"):
        compare_words(np.ones((2, N), dtype=np.int64), 0.1, 0.1)
    with pytest.raises(ParameterError, match="two groups"):
        compare_words(np.zeros((2, N), dtype=np.int64), P, Q)


def test_estimates_are_those_of_the_channel_undone() -> None:
    """With many outputs the general comparison gives the same numbers."""
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.full(N, 9.0), 2)
    outputs = np.stack([draw_outputs(LAW, rng.multinomial(400_000, s), rng) for s in shares])
    mechanism = create("k-ary", SMALL)
    estimators = undo(mechanism, EPSILON, of_indices(SMALL, np.arange(N)), 400_000)
    seen = OutputCounts(("a", "b"), np.array([9, 9]), outputs)
    rows = {
        r.query: r
        for r in compare(Estimates("k-ary", 3.5, TEXTS, 0.95, True, seen, estimators)).rows
    }
    found = compare_words(outputs[::-1], P, Q)
    assert found.differs.sum() > 10
    for place, word in enumerate(SMALL.words):
        row = rows[word]
        assert row.difference == pytest.approx(found.difference[place], abs=1e-6)
        assert row.z == pytest.approx(found.z[place], rel=1e-3, abs=1e-3)
        assert row.differs == found.differs[place]
        assert (row.high - row.low) / 2 == pytest.approx(found.half[place], rel=1e-2)


@pytest.mark.parametrize("parts", [(1, 1), (1, 9), (9, 1)])
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_equal_groups_are_seldom_told_apart(parts: tuple[int, int], share: float) -> None:
    """A trial with any discovery among equal groups is a false one: at most `RATE` of them.

    With few outputs of each word, where the normal law alone would fail; 4 standard errors above
    it once in 30,000 tests.
    """
    rng, trials, words, wrong = np.random.default_rng(3), 400, np.full(N, 1 / N), 0
    for _ in range(trials):
        counts = [rng.multinomial(6 * N * part, words) for part in parts]
        outputs = np.stack([draw_outputs(LAW, each, rng) for each in counts])
        wrong += bool(compare_words(outputs, P, Q, share).differs.any())
    assert wrong / trials <= RATE + 4 * math.sqrt(RATE * (1 - RATE) / trials)


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_intervals_of_words_that_are_told_apart_hold_for_nearly_all(share: float) -> None:
    """Of the words that are shown at most one in twenty misses, for these texts and for samples."""
    rng, shown, missed = np.random.default_rng(4), 0, 0
    for _ in range(80):
        first = rng.dirichlet(np.full(N, 4.0))
        second = first * np.exp(0.3 * rng.normal(size=N))
        counts = np.stack([np.round(2e5 * s / s.sum()).astype(np.int64) for s in (first, second)])
        truth = counts[0] / counts[0].sum() - counts[1] / counts[1].sum()
        words = [sample_words(each, share, rng) for each in counts]
        found = compare_words(
            np.stack([draw_outputs(LAW, each, rng) for each in words]), P, Q, share
        )
        shown += int(found.differs.sum())
        missed += int((found.differs & (np.abs(found.difference - truth) > found.half)).sum())
    assert shown > 300
    assert missed / shown <= RATE + 4 * math.sqrt(RATE * (1 - RATE) / shown)


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_standard_error_is_that_of_many_draws(share: float) -> None:
    """Of these texts the noise alone, of a sample the draw of its words too."""
    rng, counts = (
        np.random.default_rng(5),
        np.stack([1 + np.arange(N), 1 + np.arange(N)[::-1]]) * 900,
    )
    differences, errors = [], []
    for _ in range(400):
        words = [sample_words(each, share, rng) for each in counts]
        found = compare_words(
            np.stack([draw_outputs(LAW, each, rng) for each in words]), P, Q, share
        )
        differences.append(found.difference)
        errors.append(found.error)
    spread = np.std(differences, axis=0)
    assert spread == pytest.approx(np.mean(errors, axis=0), rel=0.2)


def test_words_that_are_not_asked_for_are_not_told_apart() -> None:
    rng = np.random.default_rng(6)
    shares = rng.dirichlet(np.full(N, 2.0), 2)
    outputs = np.stack([draw_outputs(LAW, rng.multinomial(90_000, s), rng) for s in shares])
    every = compare_words(outputs, P, Q)
    among = np.arange(N) % 2 == 0
    some = compare_words(outputs, P, Q, among=among)
    assert every.differs[~among].any()
    assert not some.differs[~among].any()
    assert some.differs[among].sum() >= every.differs[among].sum() - 2
    for sign in (1, -1):
        places = some.ranked(sign)
        assert np.all(sign * some.difference[places] > 0)
        assert np.all(np.diff(np.abs(some.z[places])) <= 0)
    assert some.ranked(1).size + some.ranked(-1).size == some.differs.sum()


def test_queries_are_counted_in_what_was_drawn() -> None:
    """A word and a list at three sizes, as the closed form says and 95 in 100 times right."""
    mechanism, sizes = create("k-ary", SMALL), (10, 50, 100)
    asked = of_indices(SMALL, np.array([3])).and_then(
        Queries(("list",), N, (np.array([4, 5, 9]),), (np.ones(3),))
    )
    rows = drawn_counts(mechanism, TOY, asked, EPSILON, sizes, 7, "step")
    assert [row["texts"] for row in rows] == [size for size in sizes for _ in range(6)]
    for row in rows:
        written, outputs = draw_release(TOY, LAW, row["texts"], 7, "step")
        group, places = TOY.groups.index(row["group"]), {"list": [4, 5, 9]}.get(row["query"], [3])
        total = int(outputs[group].sum())
        expected = (outputs[group, places].sum() - len(places) * total * Q) / (P - Q)
        assert row["estimate"] == pytest.approx(expected, rel=1e-4)
        assert row["truth"] == written[group, places].sum()
        assert row["words"] == total
        assert row["method"] == "unbiased"
    holds_truth = [
        row["low"] <= row["truth"] <= row["high"]
        for seed in range(40)
        for row in drawn_counts(mechanism, TOY, asked, EPSILON, (50,), seed)
    ]
    # 240 intervals of 95 %: fewer than 214 hold once in a million tests.
    assert sum(holds_truth) >= 214
    with pytest.raises(ParameterError, match="k-ary"):
        drawn_counts(create("tem", SMALL), TOY, asked, EPSILON, (50,), 7)
