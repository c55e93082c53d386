"""The truncated Gumbel mechanism: its scale, its domain, its sampler and its paths."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import lambertw

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.gumbel.algorithm import lowest_epsilon, published_condition, scale
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.noise.samplers import poisson_quantile, truncated_from_uniform
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

# -- the scale and where it exists ---------------------------------------------------------------


def test_reference_scales() -> None:
    assert scale(math.exp(10), 48_210, 0.2208, 10.0) == pytest.approx(2.707813775, abs=5e-10)
    assert scale(121.0, 48_210, 0.2208, 10.0) == pytest.approx(409.5016913, abs=5e-8)
    assert lowest_epsilon(48_210, 0.2208) == pytest.approx(120.32, abs=0.005)
    assert published_condition(48_210, 0.2208) == pytest.approx(106.73, abs=0.005)
    assert lowest_epsilon(11_673, 0.2263) == pytest.approx(104.86, abs=0.005)
    assert published_condition(11_673, 0.2263) == pytest.approx(91.60, abs=0.005)


@pytest.mark.parametrize("epsilon", [121.0, 130.0, 1e3, 1e5, 1e12])
def test_the_scale_is_the_published_formula(epsilon: float) -> None:
    n, separation, diameter = 48_210, 0.2208, 10.0
    alpha = (epsilon - 2.0 * (1.0 + math.log(n)) / separation) / 3.0
    smaller = min(lambertw(2.0 * alpha * diameter).real, math.log(alpha * separation))
    assert scale(epsilon, n, separation, diameter) == pytest.approx(2 * diameter / smaller)


def test_the_scale_at_both_ends_of_its_domain() -> None:
    low = lowest_epsilon(48_210, 0.2208)
    assert 0 < scale(math.nextafter(low, math.inf), 48_210, 0.2208, 10.0) < math.inf
    huge = scale(1.7e308, 48_210, 1e10, 1e11)
    assert huge == pytest.approx(2e11 / (math.log(1.7e308) + math.log(1e10 / 3.0)), rel=0.1)
    with pytest.raises(EpsilonError, match=r"120\.32.*106\.733.*negative scale.*got 110"):
        scale(110.0, 48_210, 0.2208, 10.0)


def test_the_gap_is_refused_with_both_numbers(rng: MakeRng, small: Lexicon) -> None:
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


# -- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0 + 1e-9, 1.3, 30.0, 1e5])
@pytest.mark.parametrize("name", ["small", "lattice", "two words"])
def test_samples_have_the_law(rng: MakeRng, small: Lexicon, name: str, factor: float) -> None:
    lexicon = small if name == "small" else lexicons.crafted()[name]
    mechanism = TruncatedGumbel(lexicon=lexicon)
    epsilon = mechanism.admissible.low * factor
    outputs = mechanism.sample(rng(), np.ones(100_000, dtype=np.int64), epsilon)
    assert_law(outputs, mechanism.law(1, [epsilon]).probabilities[0])


def test_samples_of_mixed_words_have_their_laws(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    epsilon = mechanism.admissible.low * 1.5
    words = rng(1).permutation(np.repeat([3, 17, 39], 30_000))
    outputs = mechanism.sample(rng(2), words, epsilon)
    for word in (3, 17, 39):
        assert_law(outputs[words == word], mechanism.law(word, [epsilon]).probabilities[0])


def test_paths_at_grid_points_equal_direct_evaluation(rng: MakeRng, small: Lexicon) -> None:
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


def test_known_rankings_change_nothing(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    words = np.array([4, 8, 4, 15])
    rankings = rank(small.vectors, small.vectors[words])
    epsilons = mechanism.admissible.low * np.array([1.1, 2.0, 50.0])
    plain = mechanism.paths(rng(1), words, epsilons=epsilons).at(epsilons)
    given = mechanism.paths(rng(1), words, rankings=rankings, epsilons=epsilons).at(epsilons)
    np.testing.assert_array_equal(plain, given)


def test_one_path_has_the_law_at_a_grid_point(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    epsilons = mechanism.admissible.low * np.array([1.2, 40.0])
    outputs = mechanism.paths(rng(), np.full(30_000, 4), epsilons=epsilons).at(epsilons)
    for column, row in zip(outputs.T, mechanism.law(4, epsilons).probabilities, strict=True):
        assert_law(column, row)


def test_no_words_give_no_outputs(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    nothing = np.empty(0, dtype=np.int64)
    epsilon = mechanism.admissible.low * 2
    assert mechanism.sample(rng(), nothing, epsilon).shape == (0,)
    assert mechanism.paths(rng(), nothing).at(mechanism.grid()).shape == (0, 192)


def test_the_claim_is_reported_as_refuted(small: Lexicon) -> None:
    mechanism = TruncatedGumbel(lexicon=small)
    promise = mechanism.guarantee(mechanism.admissible.low * 2)
    assert promise.status is Status.REFUTED
    assert "63.2" in promise.reason
    assert "126.7" in promise.reason


def test_an_approximate_index_is_refused(rng: MakeRng, small: Lexicon) -> None:
    class Approximate:
        exact = False

    mechanism = TruncatedGumbel(lexicon=small)
    with pytest.raises(ParameterError, match="approximate index would break"):
        mechanism.sample(rng(), np.array([0]), mechanism.admissible.low * 2, index=Approximate())  # type: ignore[arg-type]


def test_euclidean_extent_is_used_whatever_the_lexicon_names(small: Lexicon) -> None:
    other = small.with_metric("manhattan")
    plain, named = TruncatedGumbel(lexicon=small), TruncatedGumbel(lexicon=other)
    epsilon = plain.admissible.low * 2
    assert named.noise_scale(epsilon) == plain.noise_scale(epsilon)


def test_theorem_1_is_refuted_by_the_numbers_of_the_guarantee(data_dir: Path) -> None:
    """The first 5,403 words of the shared GloVe file, just above the lower end of the domain.

    An independent evaluation (log-space trapezoid over 200,000 points, all 5,403 survival
    functions multiplied one by one) gave −552.632 and −1180.333 for the two log-probabilities.
    """
    words = (data_dir / "glove6b_50d_partial.vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(data_dir / "glove6b_50d_partial.npy").astype(np.float32)
    lexicon = Lexicon("glove", tuple(words[:5403]), vectors[:5403])
    mechanism = TruncatedGumbel(lexicon=lexicon)
    epsilon = 1.001 * mechanism.admissible.low
    output = lexicon.index("hah")
    haven, entire = lexicon.indices(["haven", "entire"])
    likely = float(mechanism.log_law(int(haven), epsilon)[output])
    unlikely = float(mechanism.log_law(int(entire), epsilon)[output])
    assert likely == pytest.approx(-552.632, abs=0.1)
    assert unlikely == pytest.approx(-1180.333, abs=0.1)
    distance = np.linalg.norm(vectors[haven].astype(float) - vectors[entire].astype(float))
    assert epsilon == pytest.approx(63.2, abs=0.05)
    assert (likely - unlikely) / distance == pytest.approx(126.7, abs=0.05)
