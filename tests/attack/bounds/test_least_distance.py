"""The least expected distance: against the best of all mechanisms, found by a linear programme."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore.attack.bounds.least_distance import CONSTANT, least_distance, local_bounds
from dpcore.errors import EpsilonError
from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, Status
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(200, 8)
SMALL = lexicons.cloud(12, 4, 1)
EPSILONS = (0.3, 1.0, 2.0, 4.0)
SOLVED = 1e-7  # the solver lets each of 301 constraints be off by 1e-10, of prices below 3


def best(away: np.ndarray, exponents: np.ndarray) -> float:
    """Least mean distance over all P(y | w) with P(y | w) ≤ e^exponents[w, v]·P(y | v)."""
    n = len(away)
    rows = []
    for w, v in itertools.permutations(range(n), 2):
        block = np.zeros((n, n, n))  # a constraint for each output y
        block[np.arange(n), w, np.arange(n)] = math.exp(-exponents[w, v])
        block[np.arange(n), v, np.arange(n)] = -1.0
        rows.append(block.reshape(n, n * n))
    sums = np.kron(np.eye(n), np.ones(n))
    answer = linprog(
        away.reshape(-1) / n,
        np.concatenate(rows),
        np.zeros(n * n * (n - 1)),
        sums,
        np.ones(n),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.success
    assert answer.fun is not None
    return float(answer.fun)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN, Metric.ANGULAR])
def test_the_best_of_all_mechanisms_lies_between_the_bounds(seed: int, metric: Metric) -> None:
    lexicon = lexicons.cloud(7, 3, seed)
    away = distances(lexicon.vectors, lexicon.vectors, metric)
    local = least_distance(lexicon, EPSILONS, local=True, metric=metric).rows
    per_distance = least_distance(lexicon, EPSILONS, metric=metric).rows
    for epsilon, anywhere, metrical in zip(EPSILONS, local, per_distance, strict=True):
        least = best(away, np.full(away.shape, epsilon))
        assert anywhere.low <= least + SOLVED
        assert least <= anywhere.high + SOLVED
        # So that it is no bound of nothing.
        assert anywhere.low >= 0.9 * least
        least = best(away, epsilon * away)
        assert metrical.low <= least + SOLVED
        assert least <= metrical.high + SOLVED


def test_at_a_large_epsilon_both_bounds_meet() -> None:
    (local,) = least_distance(LEXICON, 12.0, local=True).rows
    assert local.attained_by == "neighbour-response, k = 1"
    assert local.high == pytest.approx(local.low, rel=1e-3)
    (metric,) = least_distance(LEXICON, 8.0).rows
    assert metric.attained_by == "optimal"
    assert metric.high == pytest.approx(metric.low, rel=1e-3)


def test_of_a_cloud_the_response_is_nearly_the_best() -> None:
    """Within the gap that the docstring of the ascent names."""
    bounds = local_bounds(LEXICON.vectors, Metric.EUCLIDEAN, np.array([4.5, 5.5, 7.0]))
    assert (bounds.k > CONSTANT).all()
    assert (bounds.low > 0.9 * bounds.high).all()


def test_what_is_attained_is_what_the_response_does() -> None:
    (row,) = least_distance(LEXICON, 5.5, local=True).rows
    k = int(row.attained_by.rpartition(" ")[2])
    response = create("neighbour-response", LEXICON, {"k": k})
    laws = np.stack([np.exp(response.log_law(word, 5.5)) for word in range(len(LEXICON))])
    away = distances(LEXICON.vectors, LEXICON.vectors)
    assert float((laws * away).sum(axis=1).mean()) == pytest.approx(row.high, rel=1e-5)


def test_what_is_attained_per_distance_is_what_optimal_does() -> None:
    (row,) = least_distance(LEXICON, 2.0).rows
    assert row.attained_by == "optimal"
    mechanism = create("optimal", LEXICON)
    laws = np.stack([np.exp(mechanism.log_law(word, 2.0)) for word in range(len(LEXICON))])
    away = distances(LEXICON.vectors, LEXICON.vectors)
    assert float((laws * away).sum(axis=1).mean()) == pytest.approx(row.high, rel=1e-9)


def test_wrong_prices_are_mended_and_not_believed() -> None:
    """The certificate of absurd prices holds too: it is only worse."""
    from dpcore.attack.bounds.least_distance import _Pairs
    from dpcore.lexicon.progress import silent

    lexicon = lexicons.cloud(7, 3)
    away = distances(lexicon.vectors, lexicon.vectors)
    rng = np.random.default_rng(5)
    pairs = _Pairs(lexicon.vectors, Metric.EUCLIDEAN)
    for epsilon in EPSILONS:
        least = best(away, np.full(away.shape, epsilon))
        prices = rng.normal(0.0, 10.0, size=(20, 7))
        low = pairs.certify(prices, np.full(20, epsilon), silent)
        assert (low <= least + SOLVED).all()


def test_what_is_not_known_is_bracketed_or_computed() -> None:
    for local in (True, False):
        known = least_distance(LEXICON, [1.0, 1.2], local=local).rows
        between = least_distance(LEXICON, 1.1031, local=local, compute=False).rows[0]
        assert known[1].low <= between.low <= between.high <= known[0].high
        computed = least_distance(LEXICON, 1.1031, local=local).rows[0]
        assert between.low <= computed.low <= computed.high <= between.high
        again = least_distance(LEXICON, 1.1031, local=local, compute=False).rows[0]
        assert again == computed  # it was kept


@pytest.mark.parametrize("local", [True, False])
def test_an_endless_epsilon_has_bounds_too(local: bool) -> None:
    for row in least_distance(SMALL, [75.0, 90.0, 1000.0], local=local).rows:
        assert 0.0 <= row.low <= row.high <= 1e-5


def test_near_twins_break_nothing() -> None:
    lexicon = lexicons.lexicon([[0.0, 1.0], [1e-7, 1.0], [3.0, 1.0]])
    for local in (True, False):
        for row in least_distance(lexicon, [0.5, 5.0], local=local).rows:
            assert 0.0 <= row.low <= row.high <= 3.0 + 1e-6


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_is_refused(epsilon: float) -> None:
    with pytest.raises(EpsilonError, match="finite number > 0"):
        least_distance(LEXICON, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("key", MECHANISMS)
def test_no_mechanism_of_the_registry_comes_nearer_than_its_guarantee_permits(key: str) -> None:
    mechanism = create(key, SMALL)
    n = len(SMALL)
    away = distances(SMALL.vectors, SMALL.vectors)
    for epsilon in (0.5, 2.0, 8.0):
        if epsilon not in mechanism.admissible:
            continue
        promise = mechanism.guarantee(epsilon)
        proved = promise.status in (Status.PROVED, Status.CERTIFIED)
        if not proved or isinstance(promise, ApproximateLocalPrivacy):
            continue
        laws = [mechanism.law(word, [epsilon]) for word in range(n)]
        mean = float(np.mean([law.dense(n)[0] @ row for law, row in zip(laws, away, strict=True)]))
        if isinstance(promise, MetricPrivacy):
            # In Euclidean terms: the guarantee at ε·f, which it implies.
            reading = least_distance(SMALL, epsilon * promise.euclidean_factor)
        else:
            reading = least_distance(SMALL, epsilon, local=True)
        doubt = (1.0 if mechanism.exact_law else 5.0) * n * max(law.error for law in laws)
        assert mean >= reading.rows[0].low - doubt * away.max()


@pytest.mark.parametrize(("key", "epsilon"), [("optimal", 2.0), ("k-ary", 5.0)])
def test_a_mechanism_that_spends_more_than_it_says_is_caught(key: str, epsilon: float) -> None:
    """The canary of the test before: a guarantee of ε, kept at 1.5·ε."""
    mechanism, n = create(key, SMALL), len(SMALL)
    away = distances(SMALL.vectors, SMALL.vectors)
    laws = [mechanism.law(word, [1.5 * epsilon]) for word in range(n)]
    mean = float(np.mean([law.dense(n)[0] @ row for law, row in zip(laws, away, strict=True)]))
    low = least_distance(SMALL, epsilon, local=key == "k-ary").rows[0].low
    assert mean < low - n * laws[0].error * away.max()


def test_the_bundled_bounds_are_those_of_the_docs() -> None:
    """Statements about the bundled lexicon, from the recorded certificates without computing."""
    text = (Path(__file__).parents[3] / "docs/optimal.md").read_text(encoding="utf-8")
    epsilons = (4.0, 6.0, 8.0, 9.0, 10.0, 11.0, 12.0)
    rows = least_distance(load(None), epsilons, local=True, compute=False).rows
    for epsilon, row in zip(epsilons, rows, strict=True):
        assert row.high <= 1.0535 * row.low
        assert row.high <= 1.012 * row.low or epsilon < 10.0
    places = (1e3, 1e3, 1e3, 1e3, 1e3, 1e4, 1e5)
    lows = [math.floor(row.low * place) / place for row, place in zip(rows, places, strict=True)]
    assert f"| {' | '.join(f'{low:.6g}' for low in lows)} |" in text
    assert "| 967 | 173 | 22 | 5 | 1 | 1 | 1 |" in text
    assert [row.attained_by.rpartition(" ")[2] for row in rows] == "967 173 22 5 1 1 1".split()
    (metric,) = least_distance(load(None), 1.5, compute=False).rows
    assert metric.attained_by == "optimal"
    assert 1.71629 < metric.low <= metric.high < 1.71635
