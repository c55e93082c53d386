"""The truncated Gumbel mechanism: its scale, its domain, its sampler, its paths and its law."""

import math

import numpy as np
import pytest
from scipy.special import lambertw

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.far_words import points_for
from dpcore.mechanisms.truncated_gumbel import TruncatedGumbel
from dpcore.mechanisms.truncated_gumbel_fast import fast_law
from dpcore.mechanisms.truncated_gumbel_law import (
    ABSOLUTE_ERROR,
    law_from_distances,
    log_law_from_distances,
)
from dpcore.mechanisms.truncated_gumbel_scale import lowest_epsilon, published_condition, scale
from dpcore.noise.gumbel import truncated_from_uniform
from dpcore.noise.poisson import poisson_quantile, poisson_weights
from tests.chance import assert_law
from tests.mechanisms import lexicons
from tests.mechanisms.gumbel_twin import adaptive_law, fine_law

DISTANCES = np.array([0.0, 0.7, 1.1, 1.5, 2.9])


# -- the scale and where it exists ---------------------------------------------------------------


def test_reference_scales():
    assert scale(math.exp(10), 48_210, 0.2208, 10.0) == pytest.approx(2.707813775, abs=5e-10)
    assert scale(121.0, 48_210, 0.2208, 10.0) == pytest.approx(409.5016913, abs=5e-8)
    assert lowest_epsilon(48_210, 0.2208) == pytest.approx(120.32, abs=0.005)
    assert published_condition(48_210, 0.2208) == pytest.approx(106.73, abs=0.005)
    assert lowest_epsilon(11_673, 0.2263) == pytest.approx(104.86, abs=0.005)
    assert published_condition(11_673, 0.2263) == pytest.approx(91.60, abs=0.005)


@pytest.mark.parametrize("epsilon", [121.0, 130.0, 1e3, 1e5, 1e12])
def test_the_scale_is_the_published_formula(epsilon):
    n, separation, diameter = 48_210, 0.2208, 10.0
    alpha = (epsilon - 2.0 * (1.0 + math.log(n)) / separation) / 3.0
    smaller = min(lambertw(2.0 * alpha * diameter).real, math.log(alpha * separation))
    assert scale(epsilon, n, separation, diameter) == pytest.approx(2 * diameter / smaller)


def test_the_scale_at_both_ends_of_its_domain():
    low = lowest_epsilon(48_210, 0.2208)
    assert 0 < scale(math.nextafter(low, math.inf), 48_210, 0.2208, 10.0) < math.inf
    huge = scale(1.7e308, 48_210, 1e10, 1e11)
    assert huge == pytest.approx(2e11 / (math.log(1.7e308) + math.log(1e10 / 3.0)), rel=0.1)
    with pytest.raises(EpsilonError, match=r"120\.32.*106\.733.*negative scale.*got 110"):
        scale(110.0, 48_210, 0.2208, 10.0)


def test_the_gap_is_refused_with_both_numbers(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    separation = small.extent.separation
    low = lowest_epsilon(40, separation)
    published = published_condition(40, separation)
    gap = (low + published) / 2
    words = np.array([0])
    calls = (
        mechanism.noise_scale,
        mechanism.guarantee,
        lambda e: mechanism.sample(rng(), words, e),
        lambda e: mechanism.law(0, [e]),
        lambda e: mechanism.paths(rng(), words, epsilons=np.array([e])),
    )
    for call in calls:
        with pytest.raises(EpsilonError) as caught:
            call(gap)
        text = str(caught.value)
        assert f"{low:.6g}" in text
        assert f"{published:.6g}" in text
        assert "(5 + 2 ln n)/Δ₀" in text
    with pytest.raises(EpsilonError):
        mechanism.check_epsilon(low)
    with pytest.raises(EpsilonError, match="finite number > 0"):
        mechanism.check_epsilon(math.nan)


# -- the law -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (math.inf, [0.8527799310, 0.1240447144, 0.0206141886, 0.0025609063, 2.5961706935e-7]),
        (3.0, [0.8538138742, 0.1233104214, 0.0203739334, 0.0025015816, 1.8947740e-7]),
    ],
)
def test_reference_laws(bound, expected):
    law = law_from_distances(DISTANCES, poisson_weights(5), 0.5, bound)
    np.testing.assert_allclose(law, expected, atol=5.1e-11)
    np.testing.assert_allclose(law[-1], expected[-1], rtol=1e-6)
    logs = log_law_from_distances(DISTANCES, poisson_weights(5), 0.5, bound)
    np.testing.assert_allclose(logs, np.log(law), atol=1e-9)


@pytest.mark.parametrize("ratio", [1e-6, 0.3, 2.0, 3.5, 8.0])
def test_the_law_of_few_words_equals_adaptive_quadrature(ratio):
    b = 3.0 / ratio
    for weights in (poisson_weights(5), np.eye(5)[2], np.eye(5)[4], np.eye(5)[0]):
        law = law_from_distances(DISTANCES, weights, b, 3.0)
        np.testing.assert_allclose(law, adaptive_law(DISTANCES, weights, b, 3.0), atol=1e-11)


def test_equal_distances_get_equal_probabilities_but_for_the_candidate_order():
    d = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    whole = law_from_distances(d, np.eye(5)[4], 1.0, 1.0)
    np.testing.assert_allclose(whole[1:], whole[1], atol=1e-13)
    mixed = law_from_distances(d, poisson_weights(5), 1.0, 1.0)
    assert np.all(np.diff(mixed) < 0)


def spread_distances(n, shape, rng):
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


@pytest.mark.parametrize("shape", ["concentrated", "outliers", "dense", "clusters", "equal"])
@pytest.mark.parametrize("ratio", [1e-6, 0.001, 1.5, 2.3, 3.1, 3.5, 6.0])
def test_compressed_words_keep_the_stated_error(rng, shape, ratio):
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
def test_large_vocabularies_keep_the_stated_error(rng, n, shape, ratio):
    d, bound = spread_distances(n, shape, rng())
    weights = poisson_weights(n)
    fine = fine_law(d, weights, bound / ratio, bound, order=4, depth=35.0)
    law = law_from_distances(d, weights, bound / ratio, bound)
    assert np.abs(law - fine).max() < ABSOLUTE_ERROR


@pytest.mark.parametrize("shape", ["concentrated", "outliers", "dense", "clusters", "equal"])
def test_the_fast_route_vouches_for_every_useful_scale(rng, shape):
    d, bound = spread_distances(20_000, shape, rng())
    weights = poisson_weights(20_000)
    for ratio in (1e-9, 0.01, 1.0, 2.2, 3.1, 3.47, 5.0, 9.0, 20.0):
        law = fast_law(d, weights, bound / ratio, bound)
        assert law is not None
        assert law.sum() == pytest.approx(1.0, abs=2e-8)
        assert np.all(law >= 0)


def test_the_slow_route_takes_over_where_the_fast_one_does_not_vouch(rng):
    d, bound = spread_distances(300, "outliers", rng())
    weights = np.eye(300)[200]  # candidates by the hundred
    b = bound / 5.0
    assert fast_law(d, weights, b, bound) is None
    law = law_from_distances(d, weights, b, bound)
    nearest = law_from_distances(d[:201], np.eye(201)[200], b, bound)
    np.testing.assert_allclose(law, np.append(nearest, np.zeros(99)), atol=ABSOLUTE_ERROR)


def test_a_bound_far_away_is_no_bound(rng):
    d, bound = spread_distances(3_000, "outliers", rng())
    weights = poisson_weights(3_000)
    without = law_from_distances(d, weights, bound / 6.0, math.inf)
    np.testing.assert_allclose(
        law_from_distances(d, weights, bound / 6.0, 20.0 * bound), without, atol=ABSOLUTE_ERROR
    )


def test_log_probabilities_of_words_at_one_distance_are_equal(rng):
    for shape, same in (("equal", slice(1, None)), ("duplicates", slice(100))):
        d, bound = spread_distances(2_000, shape, rng())
        for ratio in (0.3, 3.0, 60.0):
            whole = np.eye(2_000)[-1]
            logs = log_law_from_distances(d, whole, bound / ratio, bound)
            np.testing.assert_allclose(logs[same], logs[same][0], rtol=1e-9)
            assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("ratio", [0.01, 2.0, 5.0, 20.0])
def test_log_probabilities_do_not_underflow_and_are_ordered(rng, ratio):
    d, bound = spread_distances(4000, "outliers", rng())
    logs = log_law_from_distances(d, poisson_weights(4000), bound / ratio, bound)
    assert np.isfinite(logs).all()
    assert logs[-1] < -40.0
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-6)
    # A farther word is never likelier (up to the error of the far logarithms).
    assert np.diff(logs).max() < 0.05


def test_points_keep_polynomial_moments(rng):
    d = np.sort(rng().uniform(1.0, 2.0, 3000))
    for bins, degree in ((96, 4), (24, 4), (0, 11)):
        points, counts = points_for(d, 50, 0.1, bins)
        assert points.size < d.size / 3
        assert np.all(np.diff(points) >= 0)
        np.testing.assert_array_equal(points[:50], d[:50])
        for k in range(degree + 1):
            assert counts @ (points - 1.5) ** k == pytest.approx(((d - 1.5) ** k).sum(), abs=1e-8)


@pytest.mark.parametrize(("n", "expected"), [(48_210, 18.8), (11_673, 17.1)])
def test_support_of_a_thousand_draws_in_the_wide_noise_limit(n, expected):
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
def test_law_of_the_mechanism(small, factor):
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
    some = np.array([3, 9])
    np.testing.assert_array_equal(
        mechanism.log_law(9, epsilon, some), mechanism.log_law(9, epsilon)[some]
    )


@pytest.mark.parametrize("name", sorted(lexicons.crafted()))
def test_crafted_vocabularies_and_extreme_epsilons(rng, name):
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


# -- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0 + 1e-9, 1.3, 30.0, 1e5])
@pytest.mark.parametrize("name", ["small", "lattice", "two words"])
def test_samples_have_the_law(rng, small, name, factor):
    lexicon = small if name == "small" else lexicons.crafted()[name]
    mechanism = TruncatedGumbel(lexicon=lexicon)
    epsilon = mechanism.admissible.low * factor
    outputs = mechanism.sample(rng(), np.ones(100_000, dtype=np.int64), epsilon)
    assert_law(outputs, mechanism.law(1, [epsilon]).probabilities[0])


def test_samples_of_mixed_words_have_their_laws(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    epsilon = mechanism.admissible.low * 1.5
    words = rng(1).permutation(np.repeat([3, 17, 39], 30_000))
    outputs = mechanism.sample(rng(2), words, epsilon)
    for word in (3, 17, 39):
        assert_law(outputs[words == word], mechanism.law(word, [epsilon]).probabilities[0])


def test_paths_at_grid_points_equal_direct_evaluation(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    words = rng().integers(0, 40, 120)
    paths = mechanism.paths(rng(1), words)
    grid = mechanism.grid()
    outputs = paths.at(grid)
    assert outputs.shape == (120, 192)
    assert not paths.exact
    assert grid[0] > mechanism.admissible.low
    replay = rng(1)
    bound = small.extent.diameter
    counts = []
    for row, word in zip(outputs, words, strict=True):
        count = int(poisson_quantile(replay.random(1), 40)[0])
        uniform = replay.random(count)
        distance = distances(small.vectors, small.vectors[[word]])[0]
        order = np.argsort(distance, kind="stable")[:count]
        for j in range(0, 192, 7):
            b = mechanism.noise_scale(grid[j])
            noisy = distance[order] + truncated_from_uniform(uniform, b, bound)
            assert row[j] == order[noisy.argmin()]
        counts.append(count)
    # Both branches were walked.
    assert {40, 1} <= set(counts)


def test_known_rankings_change_nothing(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    words = np.array([4, 8, 4, 15])
    rankings = rank(small.vectors, small.vectors[words])
    epsilons = mechanism.admissible.low * np.array([1.1, 2.0, 50.0])
    plain = mechanism.paths(rng(1), words, epsilons=epsilons).at(epsilons)
    given = mechanism.paths(rng(1), words, rankings=rankings, epsilons=epsilons).at(epsilons)
    np.testing.assert_array_equal(plain, given)


def test_one_path_has_the_law_at_a_grid_point(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    epsilons = mechanism.admissible.low * np.array([1.2, 40.0])
    outputs = mechanism.paths(rng(), np.full(30_000, 4), epsilons=epsilons).at(epsilons)
    for column, row in zip(outputs.T, mechanism.law(4, epsilons).probabilities, strict=True):
        assert_law(column, row)


def test_no_words_give_no_outputs(rng, small):
    mechanism = TruncatedGumbel(lexicon=small)
    nothing = np.empty(0, dtype=np.int64)
    epsilon = mechanism.admissible.low * 2
    assert mechanism.sample(rng(), nothing, epsilon).shape == (0,)
    assert mechanism.paths(rng(), nothing).at(mechanism.grid()).shape == (0, 192)


def test_the_claim_is_reported_as_refuted(small):
    mechanism = TruncatedGumbel(lexicon=small)
    promise = mechanism.guarantee(mechanism.admissible.low * 2)
    assert promise.status is Status.REFUTED
    assert "63.2" in promise.reason
    assert "126.7" in promise.reason


def test_an_approximate_index_is_refused(rng, small):
    class Approximate:
        exact = False

    mechanism = TruncatedGumbel(lexicon=small)
    with pytest.raises(ParameterError, match="approximate index would break"):
        mechanism.sample(rng(), np.array([0]), mechanism.admissible.low * 2, index=Approximate())


def test_euclidean_extent_is_used_whatever_the_lexicon_names(small):
    other = small.with_metric("manhattan")
    plain, named = TruncatedGumbel(lexicon=small), TruncatedGumbel(lexicon=other)
    epsilon = plain.admissible.low * 2
    assert named.noise_scale(epsilon) == plain.noise_scale(epsilon)


def test_theorem_1_is_refuted_by_the_numbers_of_the_guarantee(data_dir):
    """The first 5,403 words of the shared GloVe file, just above the lower end of the domain.

    An independent evaluation (log-space trapezoid over 200,000 points, all 5,403 survival
    functions multiplied one by one) gave −552.632 and −1180.333 for the two log-probabilities.
    """
    words = (data_dir / "glove6b_50d_partial.vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(data_dir / "glove6b_50d_partial.npy").astype(np.float32)
    lexicon = Lexicon("glove", tuple(words[:5403]), vectors[:5403])
    mechanism = TruncatedGumbel(lexicon=lexicon)
    epsilon = 1.001 * mechanism.admissible.low
    output = np.array([lexicon.index("hah")])
    haven, entire = lexicon.indices(["haven", "entire"])
    likely = float(mechanism.log_law(int(haven), epsilon, output)[0])
    unlikely = float(mechanism.log_law(int(entire), epsilon, output)[0])
    assert likely == pytest.approx(-552.632, abs=0.1)
    assert unlikely == pytest.approx(-1180.333, abs=0.1)
    distance = np.linalg.norm(vectors[haven].astype(float) - vectors[entire].astype(float))
    assert epsilon == pytest.approx(63.2, abs=0.05)
    assert (likely - unlikely) / distance == pytest.approx(126.7, abs=0.05)
