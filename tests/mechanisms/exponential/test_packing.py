"""The packing programme against linear programmes: of itself, and over whole mechanisms."""

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.exponential import packing as kernels
from dpcore.mechanisms.exponential.packing import NORMALISER_ERROR, Kernel, certified_weights, solve
from tests.mechanisms import lexicons


def matrix(lexicon: Lexicon, epsilon: float, metric: Metric = Metric.EUCLIDEAN) -> np.ndarray:
    """K, entry by entry."""
    vectors = lexicon.vectors
    return np.exp(-epsilon * distances(vectors, vectors, metric))


def best_mechanism(lexicon: Lexicon, epsilon: float, prior: np.ndarray) -> float:
    """The largest Bayes success Σ_y max_w π_w·P(y|w) of all mechanisms with one output a word.

    One linear programme over the n² entries: output y is guessed to be word y, and the more that
    is right, the better; with outputs named after their guess this loses nothing.
    """
    n = len(lexicon)
    factor = np.exp(epsilon * distances(lexicon.vectors, lexicon.vectors))
    rows = []
    for w in range(n):
        for v in range(n):
            for y in range(n):
                if w != v:
                    row = np.zeros((n, n))
                    row[w, y], row[v, y] = 1.0, -factor[w, v]
                    rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(n))
    answer = linprog(
        -np.diag(prior).ravel(),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=sums,
        b_eq=np.ones(n),
        method="highs",
    )
    assert answer.fun is not None
    return -answer.fun


@pytest.mark.parametrize("metric", list(Metric))
def test_products_are_those_of_the_matrix(metric: Metric) -> None:
    lexicon = lexicons.cloud(700, 6)
    etas = np.array([0.1, 1.0, 30.0])
    columns = np.random.default_rng(1).random((3, 700))
    kernel = Kernel(lexicon.vectors, metric)
    exact = kernel.exact(etas, columns)
    for eta, column, product in zip(etas, columns, exact, strict=True):
        np.testing.assert_allclose(product, matrix(lexicon, eta, metric) @ column, rtol=1e-12)
    np.testing.assert_allclose(kernel.near(etas, columns), exact, rtol=1e-4)


def test_distances_that_do_not_fit_are_computed_for_every_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lexicon = lexicons.cloud(600, 4)
    columns = np.random.default_rng(1).random((1, 600))
    expected = Kernel(lexicon.vectors).near(np.array([1.0]), columns)
    monkeypatch.setattr(kernels, "PACKING_BYTES", 0)
    kernel = Kernel(lexicon.vectors)
    np.testing.assert_array_equal(kernel.near(np.array([1.0]), columns), expected)
    assert kernel._kept is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_the_bound_is_the_value_of_the_linear_programme(seed: int, skew: float) -> None:
    lexicon = lexicons.cloud(60, 8, seed)
    prior = (1.0 + np.arange(60.0)) ** -skew
    prior /= prior.sum()
    etas = np.array([0.05, 0.3, 1.0, 2.0])
    solution = solve(Kernel(lexicon.vectors), etas, prior * 60, 20.0)
    assert (solution.weights >= 0).all()
    for eta, upper in zip(etas, solution.upper(prior * 60) / 60, strict=True):
        k = matrix(lexicon, eta)
        exact = linprog(np.ones(60), A_ub=-k, b_ub=-prior, method="highs").fun
        assert exact is not None
        assert exact * (1.0 - 1e-7) <= upper  # HiGHS is right to 1e-7
        assert upper <= exact * 1.2  # sharp where no weight is negative: the test below


def test_the_bound_is_sharp_where_no_weight_is_negative() -> None:
    lexicon = lexicons.cloud(60, 8)
    k = matrix(lexicon, 2.0)
    weights = np.linalg.solve(k, np.ones(60))
    assert (weights >= 0).all()
    solution = solve(Kernel(lexicon.vectors), np.array([2.0]), np.ones(60), 20.0)
    np.testing.assert_allclose(solution.weights[0], weights, rtol=1e-7)
    assert weights.sum() <= solution.upper(np.ones(60))[0] <= weights.sum() * (1.0 + 1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.4, 0.9, 1.7])
@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_no_mechanism_at_all_lies_above_the_bound(seed: int, epsilon: float, skew: float) -> None:
    lexicon = lexicons.cloud(5, 3, seed)
    prior = (1.0 + np.arange(5.0)) ** -skew
    prior /= prior.sum()
    upper = solve(Kernel(lexicon.vectors), np.array([epsilon]), prior * 5, 20.0).upper(prior * 5)
    best = best_mechanism(lexicon, epsilon, prior)
    assert best <= upper[0] / 5 * (1.0 + 1e-7)
    weights = np.linalg.solve(matrix(lexicon, epsilon), np.ones(5))
    if skew == 0.0 and (weights >= 0).all():
        assert best == pytest.approx(weights.mean(), rel=1e-6)  # and the optimal one reaches it


def test_a_bound_that_is_too_low_would_be_seen() -> None:
    """The canary of the test above: a dual point that is scaled down lies below some mechanism."""
    lexicon = lexicons.cloud(5, 3)
    prior = np.full(5, 0.2)
    solution = solve(Kernel(lexicon.vectors), np.array([1.7]), np.ones(5), 20.0)
    assert best_mechanism(lexicon, 1.7, prior) > 0.99 * solution.upper(np.ones(5))[0] / 5


@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN, Metric.CHEBYSHEV])
def test_certified_weights_keep_their_epsilon(metric: Metric) -> None:
    """Every pair and every output of the law, against what was certified."""
    lexicon = lexicons.cloud(80, 6, 3)
    wanted = [0.05, 0.2, 0.5, 1.0, 2.0, 5.0]
    table = certified_weights(lexicon, metric, wanted)
    assert (table.epsilons <= table.wanted).all()
    assert (table.epsilons >= 0.95 * table.wanted).all()
    apart = distances(lexicon.vectors, lexicon.vectors, metric) + np.diag(np.full(80, np.inf))
    for row, epsilon in enumerate(table.epsilons):
        weights = table.weights[row].astype(float)
        k = matrix(lexicon, table.strengths[row], metric)
        sums = k @ weights
        np.testing.assert_allclose(np.log(sums), table.normalisers[row], atol=NORMALISER_ERROR)
        logs = np.log(k / sums[:, None])  # without ln a_y, which cancels
        losses = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
        assert (losses / apart).max() <= epsilon * (1.0 + 1e-9)
        assert (weights / sums).mean() >= table.lower[row]
        assert table.lower[row] <= table.upper[row]
