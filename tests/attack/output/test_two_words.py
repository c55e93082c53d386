"""The Bayes attacker of two words against brute force, and the bracket of estimated laws."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.attack.output.two_words import Success, compare, success, success_bound
from dpcore.errors import EpsilonError, ParameterError, UnknownWordError
from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, Status
from dpcore.measure.directions import Outputs, outputs_of
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.pair import Pair, output_distance, spread_on_map
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.mechanisms.plain import laplace_cdf, line_law

EPSILONS = np.array([0.5, 2.0, 8.0])


def exact(word: int, rows: Any) -> Outputs:
    mass = np.asarray(rows, dtype=np.float64)
    m = mass.shape[1]
    epsilons = np.ones(mass.shape[0])
    return Outputs(word, epsilons, 1, np.zeros(m, int), np.arange(m), mass, True, "given")


def drawn(word: int, outputs: Any) -> Outputs:
    """Draws as rays: one output each."""
    outputs = np.asarray(outputs)
    mass = np.ones((1, outputs.size))
    rays = np.arange(outputs.size)
    return Outputs(word, np.ones(1), outputs.size, rays, outputs, mass, False, "draws")


def best_by_brute_force(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """The best of all 2^m deterministic attackers."""
    rules = itertools.product((0, 1), repeat=p.size)
    return max(0.5 * (p[np.array(r) == 0].sum() + q[np.array(r) == 1].sum()) for r in rules)


def test_an_exact_success_is_that_of_the_best_of_all_attackers(rng: MakeRng) -> None:
    p, q = rng().dirichlet(np.ones(9), size=(2, 4))
    chance = success(exact(0, p), exact(1, q), np.zeros(9, bool))
    assert chance.exact
    for e in range(4):
        assert chance.low[e] == pytest.approx(best_by_brute_force(p[e], q[e]), abs=1e-14)
    assert np.array_equal(chance.low, chance.high)
    assert not chance.low_error.any()


def test_equal_laws_are_a_coin_and_disjoint_ones_a_certainty() -> None:
    none = np.zeros(4, bool)
    same = exact(0, [[0.2, 0.3, 0.5, 0.0]])
    assert success(same, same, none).low[0] == pytest.approx(0.5)
    other = exact(1, [[0.0, 0.0, 0.0, 1.0]])
    assert success(same, other, none).low[0] == pytest.approx(1.0)


def test_the_bracket_of_draws_holds_the_truth_on_average(rng: MakeRng) -> None:
    """E[low] ≤ S ≤ E[high]; each end is in [0, 1], so empirical Bernstein bounds its mean.

    False alarm: 10⁻⁶ for each of the two comparisons.
    """
    p, q = rng(0).dirichlet(np.ones(12), size=2)
    truth = 0.5 * np.maximum(p, q).sum()
    many, ends = 1200, np.empty((1200, 2))
    random = rng(1)
    for i in range(many):
        first, second = (
            drawn(w, random.choice(12, size=12, p=law)) for w, law in enumerate((p, q))
        )
        chance = success(first, second, random.random(12) < 0.5)
        ends[i] = chance.low[0], chance.high[0]
    slack = deviation(many, ends.var(axis=0))
    assert ends[:, 0].mean() - slack[0] <= truth <= ends[:, 1].mean() + slack[1]
    # The test can fail: exchanged ends are seen to be wrong.
    assert ends[:, 1].mean() - slack[1] > truth > ends[:, 0].mean() + slack[0]


def test_what_no_ray_has_shown_is_decided_by_distance() -> None:
    """Learnt from nothing that overlaps, the attackers follow `nearer` and are right."""
    first, second = drawn(0, [0, 1, 2, 3]), drawn(1, [4, 5, 6, 7])
    nearer = np.arange(8) < 4
    assert success(first, second, nearer).low[0] == 1.0
    assert success(first, second, ~nearer).low[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("key", ["madlib", "vickrey", "laplace", "gaussian"])
def test_standard_errors_cover_the_spread_over_repetitions(key: str) -> None:
    """Independent repetitions scatter no more than the reported errors allow.

    `low` has an upper standard error, so that Σ((x − x̄)/s)² over 30 repetitions is at most
    chi-square with 29 degrees of freedom, up to the error of s itself; the factor 2 on the
    deviation is for that and for non-normal tails. False alarm 10⁻⁶ under the normal limit.
    """
    words = lexicons.cloud(40, 4)
    mechanism = create(key, words)
    pair = Pair.of(words, "w3", "w7")
    epsilons = np.array([2.0]) if mechanism.meaning.name == "METRIC" else np.array([12.0])
    values, errors = [], []
    for seed in range(30):
        first, second = (
            _outputs_with_seed(mechanism, word, epsilons, pair, seed, 300) for word in pair.words
        )
        nearer = pair.distances(pair.words[0]) < pair.distances(pair.words[1])
        chance = success(first, second, nearer)
        values.append(chance.low[0])
        errors.append(chance.low_error[0])
    spread = np.var(values, ddof=1)
    limit = stats.chi2.isf(FALSE_ALARM, 29) / 29
    assert spread <= 4 * limit * np.mean(np.square(errors))


def _outputs_with_seed(
    mechanism: Any, word: int, epsilons: NDArray[np.float64], pair: Any, seed: int, count: int
) -> Outputs:
    """As `outputs_of`, with other directions at every call."""
    shared = SharedDirections(Effort(count))
    bundle = mechanism.bundle(np.random.default_rng([seed, 5]), count)
    shared._bundles[mechanism.direction_key] = bundle
    return outputs_of(mechanism, word, epsilons, pair.rankings[word], shared)


def test_a_word_on_a_line_has_its_closed_law() -> None:
    """In one dimension Madlib is Laplace noise, and S a sum of differences of its distribution."""
    points = np.array([0.0, 1.0, 1.5, 4.0, -2.0])
    words = lexicons.line(*points)
    madlib = create("madlib", words)
    pair = Pair.of(words, "w0", "w3")
    comparison = compare(
        madlib, pair, EPSILONS, SharedDirections(Effort(4000)), runs=50, seed=0
    )  # fmt: skip
    for e, epsilon in enumerate(EPSILONS):
        p, q = (line_law(points, points[w], laplace_cdf, 1 / epsilon) for w in pair.words)
        truth = 0.5 * np.maximum(p, q).sum()
        # Two directions exist; their shares among 4,000 are off by what `deviation` allows.
        slack = deviation(4000, 0.25)
        assert comparison.between.low[e] - slack <= truth <= comparison.between.high[e] + slack
        assert comparison.between.high[e] - comparison.between.low[e] <= 2 * slack
        far = float(p @ np.abs(points - points[pair.words[0]]))
        assert comparison.distance[0, e] == pytest.approx(far, abs=float(np.ptp(points) * slack))


@pytest.mark.parametrize("key", ["tem", "truncated-gumbel"])
def test_exact_comparisons_equal_the_definition(key: str) -> None:
    words = lexicons.cloud(40, 4)
    mechanism = create(key, words)
    low = mechanism.admissible.low
    epsilons = np.array([0.5, 2.0, 8.0]) if low < 0.5 else low * np.array([1.5, 10.0, 1e3])
    pair = Pair.of(words, "w3", "w7")
    comparison = compare(mechanism, pair, epsilons, SharedDirections(), runs=50, seed=0)
    laws = {w: mechanism.law(w, epsilons).dense(40) for w in {*pair.words, *pair.nearest}}
    for (first, second), attack in zip(
        (pair.words, *zip(pair.words, pair.nearest, strict=True)),
        (comparison.between, *comparison.beside),
        strict=True,
    ):
        truth = 0.5 + 0.25 * np.abs(laws[first] - laws[second]).sum(axis=1)
        assert attack.low == pytest.approx(truth, abs=1e-9)
    vectors = words.vectors.astype(np.float64)
    for i, word in enumerate(pair.words):
        far = np.linalg.norm(vectors - vectors[word], axis=1)
        assert comparison.distance[i] == pytest.approx(laws[word] @ far, rel=1e-9)
        assert pair.gaps[i] == pytest.approx(np.delete(far, word).min())
    assert not comparison.distance_error.any()


@pytest.mark.parametrize("key", ["madlib", "tem", "laplace", "gaussian", "trlaplace-corrected"])
def test_no_guarantee_that_is_proved_is_broken(key: str) -> None:
    """S stays below the bound; of an estimate the lower end does, but for 10⁻⁶ (normal limit)."""
    words = lexicons.cloud(40, 4)
    mechanism = create(key, words)
    epsilons = np.array([0.3, 1.0, 3.0])
    pair = Pair.of(words, "w3", "w7")
    comparison = compare(mechanism, pair, epsilons, SharedDirections(), runs=50, seed=0)
    z = stats.norm.isf(FALSE_ALARM)
    beside = zip(comparison.beside, comparison.beside_bound, strict=True)
    for attack, limit in ((comparison.between, comparison.bound), *beside):
        assert (attack.low - z * attack.low_error <= limit + 1e-12).all()


def test_the_bound_is_the_corner_of_the_region_of_errors() -> None:
    plain = MetricPrivacy(epsilon=2.0, status=Status.PROVED, reason="", source="")
    assert success_bound(plain, 0.0) == 0.5
    assert success_bound(plain, 0.5) == pytest.approx(math.e / (1 + math.e))
    assert success_bound(plain, 1e9) == 1.0
    upto = ApproximateLocalPrivacy(
        epsilon=1.0, log_delta=math.log(0.1), status=Status.PROVED, reason="", source=""
    )
    assert success_bound(upto, 3.0) == pytest.approx((math.e + 0.1) / (1 + math.e))
    # The law that attains it: a δ that gives all away, else randomised response.
    p = np.array([0.1, 0.9 * math.e / (1 + math.e), 0.9 / (1 + math.e), 0.0])
    q = p[::-1]
    assert max((p - math.e * q).clip(0).sum(), (q - math.e * p).clip(0).sum()) == pytest.approx(0.1)
    assert best_by_brute_force(p, q) <= success_bound(upto, 3.0) + 1e-12


def test_draws_and_rows(rng: MakeRng) -> None:
    words = lexicons.cloud(40, 4)
    mechanism = create("trlaplace", words)
    pair = Pair.of(words, "w3", "w7")
    comparison = compare(
        mechanism, pair, np.array([0.6, 0.5]), SharedDirections(Effort(60)), runs=20, seed=1
    )
    rows = comparison.rows()
    assert [(row["word"], row["other"], row["epsilon"]) for row in rows] == [
        ("w3", "w7", 0.6), ("w3", "w7", 0.5), ("w7", "w3", 0.6), ("w7", "w3", 0.5),
    ]  # fmt: skip
    assert all(0.0 <= row["attack_low"] <= row["attack_high"] + 1e-12 for row in rows)
    assert rows[0]["attack_low"] == rows[2]["attack_low"]
    assert not rows[0]["exact"]
    assert "60 draws" in rows[0]["law"]


def test_parts_join_in_order() -> None:
    part = Success(np.array([0.6]), np.zeros(1), np.array([0.7]), np.zeros(1), True)
    both = Success.joined([part, part])
    assert both.high.tolist() == [0.7, 0.7]
    assert both.exact


def test_refusals() -> None:
    words = lexicons.cloud(40, 4)
    with pytest.raises(ParameterError, match="two different words"):
        Pair.of(words, "w3", "w3")
    with pytest.raises(UnknownWordError, match="nosuchword"):
        Pair.of(words, "w3", "nosuchword")
    pair = Pair.of(words, "w3", "w7")
    with pytest.raises(EpsilonError):
        compare(create("tem", words), pair, np.array([0.0]), SharedDirections(), runs=20, seed=0)


def test_two_words_that_are_all_there_is() -> None:
    """Each is the nearest of the other: three attacks in one."""
    words = lexicons.lexicon([[0.0, 0.0], [1.0, 0.0]])
    pair = Pair.of(words, "w0", "w1")
    comparison = compare(create("tem", words), pair, EPSILONS, SharedDirections(), runs=20, seed=0)
    assert np.array_equal(comparison.between.low, comparison.beside[0].low)
    assert output_distance(pair, exact(0, [[0.25, 0.75]]))[0][0] == pytest.approx(0.75)


def test_the_spread_on_a_map_is_that_of_its_points() -> None:
    """Three points near w0 at distance 1, one near w1 at distance 3; the map halves one of them."""
    words = lexicons.lexicon([[0, 0], [100, 0], [1, 0], [0, 1], [103, 0]])
    pair = Pair.of(words, "w0", "w1")
    points = np.array([[0, 0], [50, 0], [1, 0], [0, 1], [50, 6]], dtype=np.float32)
    shown = Map(
        Projection.UMAP, words.fingerprint, np.arange(5), points, np.ones(5, np.float32), 1, {}
    )
    spread = spread_on_map(pair, shown, 1)
    assert spread is not None
    assert (spread.true, spread.drawn, spread.neighbours) == (3.0, 6.0, 1)
    two = spread_on_map(pair, shown, 2)
    assert two is not None
    assert two.true == pytest.approx((3 + 99) / 2)
    part = Map(
        Projection.UMAP, words.fingerprint, np.arange(1), points[:1], np.ones(1, np.float32), 1, {}
    )
    assert spread_on_map(pair, part, 1) is None
