"""The law of the truncated Gumbel mechanism: fast, in logarithms, and against plain twins."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.gumbel.law import (
    ABSOLUTE_ERROR,
    Grid,
    compact_laws,
    grouped_laws,
    law_from_distances,
    laws_from_distances,
)
from dpcore.mechanisms.gumbel.log_law import log_law_from_distances, points_for
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.noise.samplers import poisson_weights
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.mechanisms.gumbel_twin import adaptive_law, fine_law

DISTANCES = np.array([0.0, 0.7, 1.1, 1.5, 2.9])


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (math.inf, [0.8527799310, 0.1240447144, 0.0206141886, 0.0025609063, 2.5961706935e-7]),
        (3.0, [0.8538138742, 0.1233104214, 0.0203739334, 0.0025015816, 1.8947740e-7]),
    ],
)
def test_reference_laws(bound: float, expected: list[float]) -> None:
    law = law_from_distances(DISTANCES, poisson_weights(5), 0.5, bound)
    np.testing.assert_allclose(law, expected, atol=5.1e-11)
    np.testing.assert_allclose(law[-1], expected[-1], rtol=1e-6)
    logs = log_law_from_distances(DISTANCES, poisson_weights(5), 0.5, bound)
    np.testing.assert_allclose(logs, np.log(law), atol=1e-9)


@pytest.mark.parametrize("ratio", [1e-6, 0.3, 2.0, 3.5, 8.0])
def test_the_law_of_few_words_equals_adaptive_quadrature(ratio: float) -> None:
    b = 3.0 / ratio
    for weights in (poisson_weights(5), np.eye(5)[2], np.eye(5)[4], np.eye(5)[0]):
        law = law_from_distances(DISTANCES, weights, b, 3.0)
        np.testing.assert_allclose(law, adaptive_law(DISTANCES, weights, b, 3.0), atol=1e-11)


def test_equal_distances_get_equal_probabilities_but_for_the_candidate_order() -> None:
    d = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    whole = law_from_distances(d, np.eye(5)[4], 1.0, 1.0)
    np.testing.assert_allclose(whole[1:], whole[1], atol=1e-13)
    mixed = law_from_distances(d, poisson_weights(5), 1.0, 1.0)
    assert np.all(np.diff(mixed) < 0)


def spread_distances(
    n: int, shape: str, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Distances as embeddings have them (concentrated, with outliers), and harder ones."""
    if shape == "dense":
        return np.sort(np.append(0.0, rng.uniform(0.0, 1.0, n - 1) ** 2)), 1.0
    if shape == "clusters":
        middles = rng.choice([0.1, 0.5, 0.7, 0.9], n - 1)
        return np.sort(np.append(0.0, rng.uniform(middles, middles + 1e-4))), 1.0
    if shape == "equal":
        return np.append(0.0, np.full(n - 1, 1.0)), 1.0
    if shape == "duplicates":
        return np.sort(np.append(np.zeros(100), rng.uniform(0.5, 1.0, n - 100))), 1.0
    lengths = np.exp(0.3 * rng.standard_normal((n, 1))) if shape == "outliers" else 1.0
    points = rng.standard_normal((n, 50)) * lengths
    d = np.sort(np.linalg.norm(points - points[0], axis=1))
    return d, 1.2 * float(d[-1])


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["concentrated", "outliers", "dense", "clusters", "equal"])
@pytest.mark.parametrize("ratio", [1e-6, 0.001, 1.5, 2.3, 3.1, 3.5, 6.0])
def test_compressed_words_keep_the_stated_error(rng: MakeRng, shape: str, ratio: float) -> None:
    for n in (60, 150, 800):
        d, bound = spread_distances(n, shape, rng(n))
        weights = poisson_weights(n)
        fine = fine_law(d, weights, bound / ratio, bound)
        assert abs(fine.sum() - 1.0) < 1e-12
        law = law_from_distances(d, weights, bound / ratio, bound)
        assert np.abs(law - fine).max() < ABSOLUTE_ERROR
        if shape in ("clusters", "equal") or ratio == 3.5:
            continue
        logs = log_law_from_distances(d, weights, bound / ratio, bound)
        seen = fine > 1e-280
        exact = np.log(fine[seen])
        assert np.all(np.abs(logs[seen] - exact) <= 3e-3 * np.abs(exact) + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "shape", "ratio"),
    [
        (20_000, "outliers", 5.0),
        (20_000, "concentrated", 4.5),
        (2_500, "outliers", 1.0),
        (3_000, "clusters", 0.3),
        (3_000, "equal", 1.0),
        (3_000, "duplicates", 0.3),
        (3_000, "duplicates", 3.0),
        (3_000, "duplicates", 60.0),
    ],
)
def test_large_vocabularies_keep_the_stated_error(
    rng: MakeRng, n: int, shape: str, ratio: float
) -> None:
    d, bound = spread_distances(n, shape, rng())
    weights = poisson_weights(n)
    fine = fine_law(d, weights, bound / ratio, bound, order=4, depth=35.0)
    law = law_from_distances(d, weights, bound / ratio, bound)
    assert np.abs(law - fine).max() < ABSOLUTE_ERROR


@pytest.mark.parametrize("shape", ["concentrated", "outliers", "dense", "clusters", "equal"])
def test_the_compact_law_vouches_for_every_useful_scale(rng: MakeRng, shape: str) -> None:
    d, bound = spread_distances(20_000, shape, rng())
    weights = poisson_weights(20_000)
    for ratio in (1e-9, 0.01, 1.0, 2.2, 3.1, 3.47, 5.0, 9.0, 20.0):
        compact = compact_laws(d, weights, [bound / ratio], bound)[0]
        assert compact is not None
        law = compact.dense(d.size)
        assert law.sum() == pytest.approx(1.0, abs=2e-8)
        assert np.all(law >= 0)


RATIOS = np.array([1e-9, 0.004, 0.3, 1.0, 1.9, 2.2, 2.7, 3.1, 3.4, 3.47, 4.0, 5.0, 7.0, 20.0])


@pytest.mark.parametrize("shape", ["concentrated", "dense", "equal", "duplicates"])
@pytest.mark.parametrize("n", [30, 500, 6_000])
def test_many_scales_at_once_give_the_laws_of_each(rng: MakeRng, shape: str, n: int) -> None:
    d, bound = spread_distances(max(n, 101) if shape == "duplicates" else n, shape, rng(n))
    weights = poisson_weights(d.size)
    scales = (bound / RATIOS).tolist()
    for b, law in zip(scales, laws_from_distances(d, weights, scales, bound), strict=True):
        # Rounding only: the order of the scales changes no grid and no node.
        np.testing.assert_allclose(law, law_from_distances(d, weights, b, bound), atol=1e-14)


@pytest.mark.parametrize("shape", ["concentrated", "outliers", "dense", "clusters", "equal"])
@pytest.mark.parametrize("n", [60, 800, 20_000])
def test_sums_over_the_grouped_law_are_those_over_the_law(rng: MakeRng, shape: str, n: int) -> None:
    d, bound = spread_distances(n, shape, rng(n))
    weights = poisson_weights(n)
    scales = (bound / RATIOS).tolist()
    groups = grouped_laws(d, weights, scales, bound)
    assert groups is not None
    laws = list(laws_from_distances(d, weights, scales, bound))
    for p, counts, law in zip(*groups, laws, strict=True):
        near = min(40, n)
        np.testing.assert_array_equal(p[:near], law[:near])
        np.testing.assert_array_equal(counts[:near], 1.0)
        # The law leaves out words with P(u | K = n) below 1e-9.
        unseen = n * float(weights[-1]) * 1e-9
        assert counts @ p == pytest.approx(law.sum(), abs=unseen)
        assert counts @ (p * p) == pytest.approx((law * law).sum(), abs=1e-12)
        for runs in (2, 1_000, 10_000):
            shown = counts @ -np.expm1(runs * np.log1p(-np.minimum(p, 1.0)))
            plain = -np.expm1(runs * np.log1p(-np.minimum(law, 1.0))).sum()
            assert shown == pytest.approx(plain, abs=runs * max(unseen, 1e-9))


def test_a_grouped_law_is_not_offered_where_the_compact_law_does_not_vouch(rng: MakeRng) -> None:
    d, bound = spread_distances(300, "outliers", rng())
    assert grouped_laws(d, np.eye(300)[200], [bound / 5.0], bound) is None


def test_multiplicities_keep_polynomial_moments(rng: MakeRng) -> None:
    d = np.sort(np.append(0.0, rng().uniform(1.0, 2.0, 3_000)))
    for near, step, cells in ((1, 1 / 64, 64), (40, 1 / 128, 128)):
        grid = Grid.of(d, near, step, cells)
        x, words = grid.points - 1.5, d[near:] - 1.5
        for k in range(4):
            assert grid.multiplicities @ x**k == pytest.approx((words**k).sum(), abs=1e-8)


def test_the_slow_route_takes_over_where_the_compact_law_does_not_vouch(rng: MakeRng) -> None:
    d, bound = spread_distances(300, "outliers", rng())
    weights = np.eye(300)[200]  # candidates by the hundred
    b = bound / 5.0
    assert compact_laws(d, weights, [b], bound) == [None]
    law = law_from_distances(d, weights, b, bound)
    nearest = law_from_distances(d[:201], np.eye(201)[200], b, bound)
    np.testing.assert_allclose(law, np.append(nearest, np.zeros(99)), atol=ABSOLUTE_ERROR)


def test_a_bound_far_away_is_no_bound(rng: MakeRng) -> None:
    d, bound = spread_distances(3_000, "outliers", rng())
    weights = poisson_weights(3_000)
    without = law_from_distances(d, weights, bound / 6.0, math.inf)
    np.testing.assert_allclose(
        law_from_distances(d, weights, bound / 6.0, 20.0 * bound), without, atol=ABSOLUTE_ERROR
    )


def test_log_probabilities_of_words_at_one_distance_are_equal(rng: MakeRng) -> None:
    for shape, same in (("equal", slice(1, None)), ("duplicates", slice(100))):
        d, bound = spread_distances(2_000, shape, rng())
        for ratio in (0.3, 3.0, 60.0):
            whole = np.eye(2_000)[-1]
            logs = log_law_from_distances(d, whole, bound / ratio, bound)
            np.testing.assert_allclose(logs[same], logs[same][0], rtol=1e-9)
            assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("ratio", [0.01, 2.0, 5.0, 20.0])
def test_log_probabilities_do_not_underflow_and_are_ordered(rng: MakeRng, ratio: float) -> None:
    d, bound = spread_distances(4000, "outliers", rng())
    logs = log_law_from_distances(d, poisson_weights(4000), bound / ratio, bound)
    assert np.isfinite(logs).all()
    assert logs[-1] < -40.0
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-6)
    # A farther word is never likelier (up to the error of the far logarithms).
    assert np.diff(logs).max() < 0.05


def test_points_keep_polynomial_moments(rng: MakeRng) -> None:
    d = np.sort(rng().uniform(1.0, 2.0, 3000))
    for bins, degree in ((96, 4), (24, 4), (0, 11)):
        points, counts = points_for(d, 50, 0.1, bins)
        assert points.size < d.size / 3
        assert np.all(np.diff(points) >= 0)
        assert points[-1] == d[-1]  # an ulp less would leave the farthest word outside
        np.testing.assert_array_equal(points[:50], d[:50])
        for k in range(degree + 1):
            assert counts @ (points - 1.5) ** k == pytest.approx(((d - 1.5) ** k).sum(), abs=1e-8)


@pytest.mark.parametrize(("n", "expected"), [(48_210, 18.8), (11_673, 17.1)])
def test_support_of_a_thousand_draws_in_the_wide_noise_limit(n: int, expected: float) -> None:
    # With noise much wider than the distances the law given K = k is uniform on k words.
    weights = poisson_weights(n)
    law = np.cumsum((weights / np.arange(1, n + 1))[::-1])[::-1]
    support = -np.expm1(1000.0 * np.log1p(-law)).sum()
    assert support == pytest.approx(expected, abs=0.05)
    # The quadrature reaches this limit for distances much smaller than the bound.
    head = law_from_distances(np.linspace(0.0, 1e-9, 300), poisson_weights(300), 1e9, 1.0)
    small = poisson_weights(300) / np.arange(1, 301)
    np.testing.assert_allclose(head, np.cumsum(small[::-1])[::-1], atol=1e-6)


@pytest.mark.parametrize("factor", [1.0 + 1e-12, 1.5, 1e4])
def test_law_of_the_mechanism(small: Lexicon, factor: float) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    epsilon = mechanism.admissible.low * factor
    law = mechanism.law(9, [epsilon, 2.0 * epsilon])
    distance = distances(small.vectors, small.vectors[[9]])[0]
    order = np.argsort(distance, kind="stable")
    for row, e in zip(law.probabilities, law.epsilons, strict=True):
        fine = fine_law(
            distance[order], poisson_weights(40), mechanism.noise_scale(e), small.extent.diameter
        )
        np.testing.assert_allclose(row[order], fine, atol=1e-10)
        np.testing.assert_allclose(np.exp(mechanism.log_law(9, e)), row, atol=1e-9)
    assert law.exact
    assert law.error == ABSOLUTE_ERROR
    ranking = rank(small.vectors, small.vectors[[9]])[0]
    again = mechanism.law(9, law.epsilons, ranking=ranking)
    np.testing.assert_array_equal(law.probabilities, again.probabilities)


@pytest.mark.parametrize("name", sorted(lexicons.crafted()))
def test_crafted_vocabularies_and_extreme_epsilons(rng: MakeRng, name: str) -> None:
    lexicon = lexicons.crafted()[name]
    mechanism = TruncatedGumbel(lexicon=lexicon)
    low = mechanism.admissible.low
    for epsilon in (math.nextafter(low, math.inf), 2.0 * low, 1e6 * low, 1e300):
        law = mechanism.law(1, [epsilon]).probabilities
        assert law.sum() == pytest.approx(1.0, abs=1e-8)
        assert np.all((law >= 0) & (law <= 1.0 + 1e-9))
        outputs = mechanism.sample(rng(), np.ones(20, dtype=np.int64), epsilon)
        assert np.all((outputs >= 0) & (outputs < len(lexicon)))
        assert not np.isnan(mechanism.log_law(1, epsilon)).any()
