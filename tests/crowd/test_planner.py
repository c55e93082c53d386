"""The planner: exact variances, three directions of one formula, and a lower bound that is one."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.attack.leak import leak
from dpcore.crowd import planner
from dpcore.crowd.bundled import crowd
from dpcore.crowd.expected import Noise, language_shares, noise_of
from dpcore.crowd.lower_bound import least_mean_variance, least_variance
from dpcore.crowd.planner import Plan, countable_words, plan
from dpcore.crowd.queries import Queries, of_indices, of_numbers, of_words
from dpcore.crowd.undo import frequencies, undo
from dpcore.errors import EpsilonError, ParameterError, UnknownWordError
from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.testing.contract import SMALL, typical

N = len(SMALL)
WEIGHTS = np.arange(1.0, N + 1.0) / np.arange(1.0, N + 1.0).sum()
"""Shares of words, all different."""
Z = 1.959963984540054


def word_and_list() -> Queries:
    return of_indices(SMALL, np.array([3])).and_then(
        Queries(("list",), N, (np.array([1, 5, 9]),), (np.ones(3),))
    )


def law(mechanism: Mechanism, epsilon: float) -> FloatArray:
    return np.array([mechanism.law(word, [epsilon]).dense(N)[0] for word in range(N)])


def k_ary(epsilon: float) -> tuple[float, float]:
    """p and q on the small lexicon."""
    p = math.exp(epsilon) / (math.exp(epsilon) + N - 1)
    return p, (1.0 - p) / (N - 1)


def small(**more: object) -> Plan:
    settings: dict[str, object] = {"stranger": "equal", "words": SMALL.words[3], "share": 0.01}
    return plan(create("k-ary", SMALL), **(settings | more))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def bundled() -> Lexicon:
    return catalogue.load()


# The variance.


@pytest.mark.parametrize(
    ("name", "settings"), [("k-ary", {}), ("tem", {}), ("santext", {}), ("optimal", {})]
)
def test_the_variance_is_that_of_an_enumeration(name: str, settings: dict[str, object]) -> None:
    mechanism = create(name, SMALL, settings)
    epsilon, queries = typical(mechanism), word_and_list()
    noise = noise_of(mechanism, epsilon, queries, WEIGHTS, 1e6)
    assert noise.unbiased.all()
    channel, g = law(mechanism, epsilon), queries.matrix()
    h = undo(mechanism, epsilon, queries, 1e6).values.astype(float)
    # Var(h(y) | w), averaged over words, without any formula of the planner.
    per_word = channel @ h**2 - (channel @ h) ** 2
    shares = language_shares(queries, WEIGHTS)
    np.testing.assert_allclose(noise.variance(shares), WEIGHTS @ per_word, rtol=1e-5)
    # At another share the words of a query, and all others, keep their proportions.
    for share in (0.001, 0.3):
        moved = np.where(g > 0, share / shares, (1.0 - share) / (1.0 - shares)) * WEIGHTS[:, None]
        expected = np.einsum("ij,ij->j", moved, per_word)
        np.testing.assert_allclose(noise.variance(np.full(2, share)), expected, rtol=1e-5)


def test_k_ary_has_the_closed_form() -> None:
    p, q = k_ary(3.0)
    noise = noise_of(create("k-ary", SMALL), 3.0, of_indices(SMALL, np.array([7])), WEIGHTS, 1e6)
    for share in (1e-4, 0.02, 0.5):
        closed = q * (1 - q) / (p - q) ** 2 + share * ((1 - 2 * q) / (p - q) - 1)
        assert noise.variance(np.array([share]))[0] == pytest.approx(closed, rel=1e-5)


def test_a_query_of_all_words_has_no_noise() -> None:
    every = Queries(("all",), N, (np.arange(N),), (np.ones(N),))
    noise = noise_of(create("k-ary", SMALL), 3.0, every, WEIGHTS, 1e6)
    assert noise.variance(np.ones(1))[0] < 1e-5


def test_words_and_shares_invert_the_error() -> None:
    noise = Noise(np.array([0.3]), np.array([12.0]), np.array([1e-4]), np.array([2e-4]))
    share = np.array([0.004])
    error = float(noise.error(share, 1e6, 0.95)[0])
    assert noise.words(share, error, 0.95)[0] == pytest.approx(1e6)
    assert noise.least_share(1e6, error, 0.95)[0] == pytest.approx(0.004)
    # Where the bias alone is as much, no number of words is enough.
    assert math.isinf(noise.words(share, 0.02, 0.95)[0])
    assert math.isnan(noise.least_share(10.0, 0.05, 0.95)[0])


# The plan.


def test_a_plan_gives_the_error_that_it_states() -> None:
    """Of 400 repetitions 95 % are within the error, up to 4.9 standard errors: chance 1e-6."""
    planned = small(epsilon=3.0, error=0.1, words_per_text=50)
    assert planned.texts is not None
    total = planned.texts * 50
    rng = np.random.default_rng(20)
    words = np.full(N, 0.99 / (N - 1))
    words[3] = 0.01
    channel = law(create("k-ary", SMALL), 3.0)
    p, q = k_ary(3.0)
    counts = np.round(words * total).astype(np.int64)
    came = sum(rng.multinomial(counts[w], channel[w], size=400)[:, 3] for w in range(N))
    estimates = (came - q * counts.sum()) / (p - q)
    inside = float((np.abs(estimates - counts[3]) <= 0.1 * counts[3]).mean())
    assert abs(inside - 0.95) <= 4.9 * math.sqrt(0.95 * 0.05 / 400)
    # The standard deviation, with a relative error of about √(1/800).
    stated = 0.1 * counts[3] / Z
    assert estimates.std() == pytest.approx(stated, rel=4.9 / math.sqrt(800))


@pytest.mark.parametrize("name", ["k-ary", "tem"])
def test_the_three_directions_invert_each_other(name: str) -> None:
    mechanism = create(name, SMALL)
    epsilon = typical(mechanism)
    common = {"stranger": "equal", "words": SMALL.words[:2], "share": [0.01, 0.05]}
    error = plan(mechanism, texts=2_000, epsilon=epsilon, **common)  # type: ignore[arg-type]
    assert error.computed == "error"
    assert error.texts == 2_000
    assert error.error == max(row.error for row in error.rows)
    texts = plan(mechanism, error=error.error, epsilon=epsilon, **common)  # type: ignore[arg-type]
    assert texts.computed == "texts"
    assert texts.texts == 2_000
    found = plan(mechanism, texts=2_000, error=error.error, **common)  # type: ignore[arg-type]
    assert found.computed == "epsilon"
    assert found.epsilon == pytest.approx(epsilon, rel=3e-4)
    assert max(row.error for row in found.rows) <= error.error * (1 + 1e-9)


@pytest.mark.parametrize("name", ["tem", "optimal"])
def test_few_solutions_find_nearly_the_least_epsilon(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = create(name, SMALL)
    epsilon = typical(mechanism)
    common = {"stranger": "equal", "words": SMALL.words[:2], "share": [0.01, 0.05]}
    error = plan(mechanism, texts=2_000, epsilon=epsilon, **common).error  # type: ignore[arg-type]
    solved: list[float] = []

    def counted(mechanism: Mechanism, epsilon: float, *more: Any) -> Noise:
        solved.append(epsilon)
        return noise_of(mechanism, epsilon, *more)

    monkeypatch.setattr(planner, "_SMALL", 0)
    monkeypatch.setattr(planner, "noise_of", counted)
    found = plan(mechanism, texts=2_000, error=error, **common)  # type: ignore[arg-type]
    largest = max(row.error for row in found.rows)
    assert 0.96 * error <= largest <= error
    assert found.epsilon == pytest.approx(epsilon, rel=0.05)
    assert len(set(solved)) <= 4


def test_leakage_stands_for_epsilon() -> None:
    planned = small(leakage=0.4, texts=500)
    assert planned.leak.after == pytest.approx(0.4, rel=1e-6)
    assert planned.leak.after <= 0.4
    again = leak(create("k-ary", SMALL), planned.epsilon, "equal")
    assert again == planned.leak
    found = plan(
        create("tem", SMALL), leakage=0.4, texts=500, stranger="equal", share=0.01
    )  # fmt: skip
    assert found.leak.after == pytest.approx(0.4, rel=0.03)


def test_more_of_one_takes_less_of_another() -> None:
    texts = [small(epsilon=e, error=0.1).texts or 0 for e in (1.0, 2.0, 4.0)]
    assert texts == sorted(texts, reverse=True)
    errors = [small(epsilon=2.0, texts=t).error for t in (100, 1_000, 10_000)]
    assert errors[0] / errors[1] == pytest.approx(math.sqrt(10), rel=1e-3)
    assert errors == sorted(errors, reverse=True)


def test_the_least_share_is_counted_with_the_error_and_no_more() -> None:
    planned = small(epsilon=3.0, texts=1_000, share=0.02)
    row = planned.rows[0]
    assert row.least_share == pytest.approx(0.02, rel=1e-6)
    rarer = small(epsilon=3.0, texts=1_000, share=0.019)
    assert rarer.error > planned.error
    found = countable_words(
        create("k-ary", SMALL), texts=1_000, error=planned.error, epsilon=3.0
    )  # fmt: skip
    assert found.share == pytest.approx(0.02, rel=1e-4)
    assert found.words == N
    assert found.to_dict()["words"] == N


def test_where_the_bias_is_too_large_no_number_of_texts_is_enough() -> None:
    mechanism = create("custext", SMALL, {"k": 20})
    planned = plan(mechanism, error=1e-9, epsilon=0.1, stranger="equal", words=SMALL.words[0])
    if planned.texts is None:
        assert "no number of texts" in planned.sentence
        assert planned.to_dict()["texts"] is None
        assert planned.rows[0].texts is None
    else:
        assert planned.rows[0].error <= 1e-9


@pytest.mark.parametrize(
    "given",
    [
        {}, {"texts": 10}, {"error": 0.1}, {"epsilon": 1.0},
        {"texts": 10, "error": 0.1, "epsilon": 1.0}, {"texts": 10, "epsilon": 1.0, "leakage": 0.1},
        {"texts": 0, "epsilon": 1.0}, {"texts": 1.5, "epsilon": 1.0},
        {"error": 0.0, "epsilon": 1.0},
        {"error": math.nan, "epsilon": 1.0}, {"texts": 10, "leakage": 1.0},
        {"texts": 10, "leakage": 0.001}, {"texts": 10, "epsilon": 1.0, "share": 0.0},
        {"texts": 10, "epsilon": 1.0, "share": [0.1, 0.2]},
        {"texts": 10, "epsilon": 1.0, "words_per_text": 0},
        {"texts": 10, "epsilon": 1.0, "level": 1},
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        small(**given)


def test_more_refusals() -> None:
    with pytest.raises(EpsilonError):
        small(texts=10, epsilon=-1.0)
    with pytest.raises(UnknownWordError):
        small(texts=10, epsilon=1.0, words="nosuchword")
    with pytest.raises(ParameterError, match="other numbers than 0 and 1"):
        small(texts=10, epsilon=1.0, words=of_numbers(SMALL, ["x"], np.ones((N, 1)) * 2.0))
    with pytest.raises(ParameterError, match="no exact law"):
        plan(create("madlib", SMALL), texts=10, epsilon=1.0, stranger="equal")
    with pytest.raises(ParameterError, match="give epsilon or leakage"):
        countable_words(create("k-ary", SMALL), texts=10, error=0.1)
    with pytest.raises(ParameterError, match="largest ε"):
        plan(
            create("custext", SMALL, {"k": 20}), texts=1, error=1e-12, stranger="equal",
            words=SMALL.words[0],
        )  # fmt: skip


def test_a_plan_is_json_and_a_table() -> None:
    planned = small(epsilon=3.0, texts=1_000)
    record = planned.to_dict()
    assert list(record) == [
        "computed", "mechanism", "epsilon", "stranger", "guessed", "guessed_before", "texts",
        "words_per_text", "error", "level", "rows", "above_bound", "statement",
    ]  # fmt: skip
    assert list(planned.to_pandas().columns) == list(record["rows"][0])
    assert "1,000 texts" in record["statement"]
    assert "k-ary" in record["statement"]


# Reference numbers: 20,000 reviews of IMDb, 4.39 million words.


@pytest.mark.parametrize(
    ("kept", "spread", "median"), [(0.1, 127, 0.10), (0.02, 659, 0.44)], ids=["tenth", "fiftieth"]
)
def test_reference_numbers(bundled: Lexicon, kept: float, spread: float, median: float) -> None:
    n, words = len(bundled), 4.39e6
    epsilon = math.log(kept * (n - 1) / (1 - kept))
    mechanism = create("k-ary", bundled)
    from scipy.optimize import brentq
    from scipy.special import ndtr

    noise = noise_of(
        mechanism, epsilon, of_words(bundled, ["great"]), frequencies(bundled), words
    )  # fmt: skip
    rare = math.sqrt(words * noise.variance(np.array([1e-6]))[0])
    assert rare == pytest.approx(spread, rel=0.01)
    counts = np.sort(crowd("imdb", bundled).counts.sum(axis=0))[::-1]
    shares = counts[99:1_000] / counts.sum()
    spreads = [noise.error(np.array([share]), words, 0.95)[0] / Z for share in shares]
    # The number that half of the errors of these words are expected to be below.
    half = brentq(
        lambda most: float((2.0 * ndtr(most / np.array(spreads)) - 1.0).mean()) - 0.5, 0, 9
    )
    assert half == pytest.approx(median, rel=0.1)


# The lower bound.


def subset_selection(n: int, d: int, epsilon: float) -> FloatArray:
    """P(S | w) ∝ e^ε if w is in S, of all sets S of d words; shape (n, sets)."""
    sets = list(itertools.combinations(range(n), d))
    weights = np.array([[math.exp(epsilon) if w in s else 1.0 for s in sets] for w in range(n)])
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def least_squares(channel: FloatArray, mu: FloatArray) -> FloatArray:
    """Least E h² of every word over all h with P h = g; infinite where there is no such h."""
    gram = (channel / (mu @ channel)) @ channel.T
    inverse = np.linalg.pinv(gram, hermitian=True)
    missed = np.abs(gram @ inverse - np.eye(len(mu))).max(axis=0)
    return np.where(missed < 1e-7, np.diag(inverse), math.inf)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_subset_selection_attains_the_bound_for_all_words(n: int, epsilon: float) -> None:
    bound, mu = least_mean_variance(epsilon, n), np.full(n, 1.0 / n)
    means = [
        float(least_squares(subset_selection(n, d, epsilon), mu).mean() - 1.0 / n)
        for d in range(1, n)
    ]
    assert min(means) == pytest.approx(bound, rel=1e-6)
    # One set of one word is k-ary response.
    p = math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    q = (1 - p) / (n - 1)
    closed = q * (1 - q) / (p - q) ** 2 + ((1 - 2 * q) / (p - q) - 1) / n
    assert means[0] == pytest.approx(closed, rel=1e-6)
    assert bound >= least_variance(epsilon) * (1 - 1e-9)


def test_a_channel_made_for_one_word_attains_its_bound() -> None:
    epsilon, share = 1.3, 0.07
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    channel = np.array([[p, 1 - p], [1 - p, p], [1 - p, p]])
    mu = np.array([share, 0.5, 0.5 - share])
    m = mu @ channel
    # h is known: it undoes Warner's response.
    h = np.array([p, p - 1]) / (2 * p - 1)
    np.testing.assert_allclose(channel @ h, [1, 0, 0], atol=1e-12)
    assert m @ h**2 - share == pytest.approx(least_variance(epsilon))


@pytest.mark.parametrize("wanted", [0, 2, None], ids=["frequent", "rare", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_all_channels_just_reaches_the_bounds(seed: int, wanted: int | None) -> None:
    from scipy.optimize import minimize

    n, epsilon, rng = 4, 1.5, np.random.default_rng(seed)
    mu = np.full(n, 1.0 / n) if wanted is None else np.sort(rng.dirichlet(np.ones(n)))[::-1]
    # Columns of the extreme ε-private channels have two values in the ratio e^ε, and a channel is a
    # sum of them with weights θ. Its Gram matrix is linear in θ: what is minimised is convex.
    sets = [s for d in range(1, n) for s in itertools.combinations(range(n), d)]
    columns = np.array([[math.exp(epsilon) if w in s else 1.0 for s in sets] for w in range(n)])

    def value(theta: FloatArray) -> float:
        variances = least_squares(columns * np.maximum(theta, 1e-9), mu) - mu
        return float(variances.mean() if wanted is None else variances[wanted])

    start = rng.dirichlet(np.ones(len(sets)))
    start = 0.5 * start + 0.5 / len(sets)
    found = minimize(  # type: ignore[call-overload]
        value, start / (columns @ start).mean(), method="SLSQP",
        bounds=[(0.0, 1.0)] * len(sets), options={"maxiter": 500, "ftol": 1e-12},
        constraints={"type": "eq", "fun": lambda theta: columns @ theta - 1.0},
    )  # fmt: skip
    np.testing.assert_allclose(columns @ found.x, 1.0, atol=1e-7)
    bound = least_mean_variance(epsilon, n) if wanted is None else least_variance(epsilon)
    assert bound * (1 - 1e-5) <= found.fun <= bound * 1.02


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 9.0])
def test_k_ary_response_is_above_both_bounds(epsilon: float) -> None:
    planned = small(epsilon=epsilon, texts=1_000, share=None, words=list(SMALL.words))
    assert all((row.above_bound or 0) >= 1 - 1e-4 for row in planned.rows)
    assert planned.above_bound is not None
    assert planned.above_bound >= 1 - 1e-9
    # A rare word costs about 1/p times the least of a channel that serves it alone.
    rare = small(epsilon=epsilon, texts=1_000, share=1e-9)
    p, q = k_ary(epsilon)
    assert rare.rows[0].above_bound == pytest.approx((1 - q) / p, rel=1e-4)


def test_without_a_local_guarantee_there_is_no_ratio() -> None:
    mechanism = create("tem", SMALL)
    planned = plan(mechanism, texts=100, epsilon=typical(mechanism), stranger="equal", share=0.01)
    assert planned.above_bound is None
    assert planned.rows[0].above_bound is None


def test_bounds_at_the_ends() -> None:
    assert least_variance(1e6) == 0.0
    assert least_mean_variance(1e6, 10) == 0.0
    assert least_variance(1e-6) == pytest.approx(1e12, rel=1e-5)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError):
            least_variance(wrong)
    with pytest.raises(ParameterError):
        least_mean_variance(1.0, 1)
