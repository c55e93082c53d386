"""Random projection: the public matrix, the exact stretch, both forms of the guarantee."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from dpcore.guarantee import Status
from dpcore.lexicon.cache import bundled_stretch
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.extent import compute_stretch, exact_extent
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.mechanisms.additive.euclidean import (
    Mahalanobis,
    MultivariateLaplace,
    RandomProjection,
    Vickrey,
    first_wins,
    projection_matrix,
    stretch_quantile,
)
from dpcore.mechanisms.additive.rays import Bundle
from dpcore.noise.samplers import radii
from tests.chance import assert_distribution, assert_law, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain


def _stretch(lexicon: Lexicon, mapped: NDArray[np.float32]) -> float:
    """Largest ratio over all pairs with two loops."""
    rows, images = lexicon.vectors.astype(np.float64), mapped.astype(np.float64)
    return max(
        float(np.linalg.norm(images[i] - images[j]) / np.linalg.norm(rows[i] - rows[j]))
        for i in range(len(rows))
        for j in range(i)
    )


def test_matrix_is_a_function_of_its_seed() -> None:
    first = projection_matrix(20, 5, 3)
    assert first.shape == (20, 5)
    assert first.dtype == np.float64
    assert np.array_equal(first, projection_matrix(20, 5, 3))
    assert not np.array_equal(first, projection_matrix(20, 5, 4))


def test_matrix_entries_are_normal_with_variance_one_over_m() -> None:
    """False-alarm probability 1e-6."""
    from scipy.stats import norm

    assert_distribution(projection_matrix(300, 100, 1), norm(scale=0.1).cdf)


@pytest.mark.parametrize("dimensions", [1, 3, 40])
def test_stretch_is_that_of_all_pairs(dimensions: int) -> None:
    lexicon = lexicons.cloud(120, 12)
    mechanism = RandomProjection(lexicon=lexicon, dimensions=dimensions)
    assert mechanism.stretch == pytest.approx(_stretch(lexicon, mechanism.targets), rel=1e-12)


def test_exact_form_bounds_the_loss_of_every_pair_in_one_dimension() -> None:
    """Projected to a line the law is exact: all pairs, all outputs, in true distance."""
    lexicon = lexicons.cloud(15, 6)
    mechanism = RandomProjection(lexicon=lexicon, dimensions=1)
    both = Bundle(np.array([[1.0], [-1.0]]), mechanism.targets)
    rows = lexicon.vectors.astype(np.float64)
    tightest = 0.0
    for epsilon in (0.1, 0.5, 1.0):
        laws = np.stack(
            [
                mechanism.law(w, [epsilon], rng=np.random.default_rng(0), bundle=both).dense(15)[0]
                for w in range(15)
            ]
        )
        for w in range(15):
            for v in range(15):
                distance = float(np.linalg.norm(rows[w] - rows[v]))
                loss = mechanism.guarantee(epsilon).loss(distance)
                assert np.all(laws[w] <= math.exp(loss) * (laws[v] + 1e-14) * (1 + 1e-9))
                if w != v:
                    tightest = max(tightest, np.log(laws[w] / laws[v]).max() / loss)
    assert tightest > 0.9, "the pair of the largest stretch uses nearly all of it"


def test_the_papers_form_states_its_factor_and_condition() -> None:
    lexicon = lexicons.cloud(120, 12)
    mechanism = RandomProjection(lexicon=lexicon, dimensions=5, form="paper", delta=1e-6)
    guarantee = mechanism.guarantee(2.0)
    assert guarantee.status is Status.CONDITIONAL
    factor = stretch_quantile(120, 5, 1e-6)
    assert guarantee.epsilon == pytest.approx(2 * factor)
    assert mechanism.scale(2.0) == 0.5
    assert mechanism.stretch <= factor


def test_stretch_quantile_is_rarely_passed() -> None:
    """The share of 2,000 matrices that stretch a pair by more is at most δ = 5 % (+ 5 errors)."""
    lexicon = lexicons.cloud(12, 8)
    bound = stretch_quantile(12, 4, 0.05)
    rows = lexicon.vectors.astype(np.float64)
    i, j = np.tril_indices(12, -1)
    pairs = (rows[i] - rows[j]) / np.linalg.norm(rows[i] - rows[j], axis=1, keepdims=True)
    images = [pairs @ projection_matrix(8, 4, seed).astype(np.float64) for seed in range(2000)]
    passed = np.mean([np.linalg.norm(image, axis=1).max() > bound for image in images])
    assert passed <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / 2000)
    assert passed > 0


def test_noise_lives_in_the_projected_space(rng: MakeRng) -> None:
    lexicon = lexicons.cloud(60, 30)
    mechanism = RandomProjection(lexicon=lexicon, dimensions=4)
    assert mechanism.dimension == 4
    assert mechanism.directions(rng(), 7).shape == (7, 4)
    twin = MultivariateLaplace(lexicon=lexicons.lexicon(mechanism.targets))
    words = np.arange(60)
    assert np.array_equal(
        mechanism.sample(rng(), words, 5.0),
        twin.sample(rng(), words, 5.0 / mechanism.stretch),
    )


@pytest.mark.slow
def test_the_bundled_stretch_is_that_of_all_pairs() -> None:
    """Computed again over all 312 million pairs, on this machine's own product."""
    mechanism = RandomProjection(lexicon=load())
    assert bundled_stretch(mechanism.lexicon.fingerprint, "projection-50-0").keys() > {
        "stretch",
        "separation",
    }
    stretch = compute_stretch(mechanism.lexicon.vectors, mechanism.targets)
    assert mechanism.stretch == pytest.approx(stretch, rel=1e-12)
    assert mechanism.stretch >= stretch
    least = exact_extent(mechanism.targets, Metric.EUCLIDEAN, silent)[1]
    assert mechanism.separation == pytest.approx(least, rel=1e-12)


def test_projected_words_lie_on_a_public_grid(middle: Lexicon) -> None:
    """So that the last bits of a matrix product do not decide where a word lies."""
    targets = RandomProjection(lexicon=middle, dimensions=7).targets.astype(np.float64)
    steps = targets * 2.0 ** (16 - np.floor(np.log2(middle.largest_norm)))
    assert np.array_equal(steps, np.rint(steps))
    exact = middle.vectors.astype(np.float64) @ projection_matrix(middle.dimension, 7, 0)
    assert np.abs(targets - exact).max() <= 2.0**-16 * middle.largest_norm


# Vickrey: the path with one coin equals the definition, and the choice never sees the word.
#
# False-alarm probability of each randomised assertion: 1e-6.


LEXICONS = lexicons.crafted() | {"cloud": lexicons.cloud(300, 6), "line": lexicons.cloud(30, 1)}


def _replayed(
    mechanism: Vickrey, rng: np.random.Generator, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The randomness of `paths`: directions, radii, coins, in this order."""
    unit = mechanism.directions(rng, count)
    radius = radii(rng, mechanism.family, count, mechanism.dimension)
    return unit, radius, rng.random(count)


def _chosen(first: int, second: int, s1: float, s2: float, t: float, coin: float) -> int:
    """y₁ if the coin lies below (1−t)s₂/(t·s₁ + (1−t)s₂); 0/0 is y₁."""
    total = t * s1 + (1 - t) * s2
    return first if total == 0 or coin <= (1 - t) * s2 / total else second


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("noise", ["laplace", "mahalanobis"])
def test_path_equals_the_definition_with_the_same_coin(t: float, noise: str, rng: MakeRng) -> None:
    lexicon = LEXICONS["cloud"]
    mechanism = Vickrey(lexicon=lexicon, t=t, noise=noise, lam=0.5)
    rows, word, draws = lexicon.vectors.astype(np.float64), 11, 60
    paths = mechanism.paths(rng(), np.full(draws, word))
    unit, radius, coin = _replayed(mechanism, rng(), draws)
    epsilons = np.geomspace(0.05, 300, 60)
    outputs = paths.at(epsilons)
    for i in range(draws):
        for e, epsilon in enumerate(epsilons):
            near = plain.two_nearest_on_ray(rows, rows[word], unit[i], radius[i] / epsilon)
            assert outputs[i, e] == _chosen(*near, t, coin[i])


@pytest.mark.parametrize("name", ["collinear", "far from zero", "two words", "line"])
def test_path_equals_the_definition_on_crafted_words(name: str, rng: MakeRng) -> None:
    lexicon = LEXICONS[name]
    mechanism = Vickrey(lexicon=lexicon)
    rows, word, draws = lexicon.vectors.astype(np.float64), 1, 80
    paths = mechanism.paths(rng(), np.full(draws, word))
    unit, radius, coin = _replayed(mechanism, rng(), draws)
    for epsilon in np.geomspace(0.01, 100, 40) * lexicon.dimension:
        outputs = paths.at(np.array([epsilon]))[:, 0]
        for i in range(draws):
            near = plain.two_nearest_on_ray(rows, rows[word], unit[i], radius[i] / epsilon)
            assert outputs[i] == _chosen(*near, mechanism.t, coin[i])


def test_output_changes_only_where_the_path_says(rng: MakeRng) -> None:
    """Just below and just above every break the definition gives the two neighbouring words."""
    lexicon = LEXICONS["cloud"]
    mechanism = Vickrey(lexicon=lexicon)
    rows, word, draws = lexicon.vectors.astype(np.float64), 40, 40
    paths = mechanism.paths(rng(), np.full(draws, word))
    unit, radius, coin = _replayed(mechanism, rng(), draws)
    changes = 0
    for i in range(draws):
        for piece in paths.pieces(i)[1:]:
            for epsilon in (piece.from_epsilon * (1 - 1e-7), piece.from_epsilon * (1 + 1e-7)):
                near = plain.two_nearest_on_ray(rows, rows[word], unit[i], radius[i] / epsilon)
                expected = _chosen(*near, mechanism.t, coin[i])
                assert paths.at(np.array([epsilon]))[i, 0] == expected
            changes += 1
    assert changes > 2 * draws


def test_t_zero_is_the_mechanism_of_the_noise(middle: Lexicon, rng: MakeRng) -> None:
    words = np.arange(400)
    for noise, twin in (
        ("laplace", MultivariateLaplace(lexicon=middle)),
        ("mahalanobis", Mahalanobis(lexicon=middle, lam=0.2)),
    ):
        mechanism = Vickrey(lexicon=middle, t=0.0, noise=noise)
        assert np.array_equal(mechanism.sample(rng(), words, 20.0), twin.sample(rng(), words, 20.0))
        epsilons = np.geomspace(1, 1000, 40)
        assert np.array_equal(
            mechanism.paths(rng(), words[:40]).at(epsilons),
            twin.paths(rng(), words[:40]).at(epsilons),
        )
        promised = replace(mechanism.guarantee(3.0), source=twin.source, rounding=None)
        assert promised == replace(twin.guarantee(3.0), rounding=None)  # it searches otherwise
        assert mechanism.direction_key == twin.direction_key


def test_t_one_always_takes_the_second(middle: Lexicon, rng: MakeRng) -> None:
    mechanism = Vickrey(lexicon=middle, t=1.0)
    words = np.arange(100)
    out = mechanism.sample(rng(), words, 15.0)
    generator = rng()
    unit = mechanism.directions(generator, 100)
    radius = radii(generator, mechanism.family, 100, middle.dimension)
    rows = middle.vectors.astype(np.float64)
    for i in words:
        _, second, _, _ = plain.two_nearest_on_ray(rows, rows[i], unit[i], radius[i] / 15.0)
        assert out[i] == second


def test_nothing_over_nothing_is_the_first_word() -> None:
    zero, unit = np.array([0.0]), np.array([1.0])
    for bar in (0.0, 0.3, math.inf):
        assert first_wins(zero, zero, np.array([bar]))[0]
    assert not first_wins(unit, unit, np.array([0.999]))[0]
    assert first_wins(unit, unit, np.array([1.0]))[0]


def _line_law(points: NDArray[np.float64], origin: float, epsilon: float, t: float) -> np.ndarray:
    """∫ p(z)·P(choice | z) dz for Laplace noise on a line, piece by piece."""
    order = np.sort(points)
    middles = np.unique([(a + b) / 2 for a in order for b in order])
    ends = np.concatenate(
        ([origin - 60 / epsilon], middles, order, [origin, origin + 60 / epsilon])
    )
    ends = np.unique(np.clip(ends, ends[0], ends[-1]))
    law = np.zeros(points.size)

    def weight(z: float, y: int) -> float:
        distance = np.abs(points - z)
        first, second = np.argsort(distance, kind="stable")[:2]
        s1, s2 = distance[first], distance[second]
        p1 = (1 - t) * s2 / (t * s1 + (1 - t) * s2)
        p = p1 if y == first else 1 - p1 if y == second else 0.0
        return p * epsilon / 2 * math.exp(-epsilon * abs(z - origin))

    for a, b in pairwise(ends):
        if b > a:
            for y in range(points.size):
                law[y] += integrate.fixed_quad(np.vectorize(weight), a, b, args=(y,), n=24)[0]
    return law / law.sum()


def test_law_on_a_line_equals_an_integral_and_keeps_the_bound(rng: MakeRng) -> None:
    """All pairs and outputs: the choice sees the noisy point alone, so the noise's bound holds.

    Dropping the input word before the choice would break it, and would change these laws.
    """
    lexicon = lexicons.line(0.0, 0.7, 1.0, 2.2)
    points = lexicon.vectors[:, 0].astype(np.float64)
    epsilon, t = 1.5, 0.75
    laws = np.stack([_line_law(points, x, epsilon, t) for x in points])
    mechanism = Vickrey(lexicon=lexicon, t=t)
    for w in range(4):
        assert_law(mechanism.sample(rng(w), np.full(30_000, w), epsilon), laws[w])
        outputs = mechanism.paths(rng(w, 1), np.full(30_000, w)).at(np.array([epsilon]))[:, 0]
        assert_law(outputs, laws[w])
        for v in range(4):
            loss = mechanism.guarantee(epsilon).loss(abs(points[w] - points[v]))
            assert np.all(laws[w] <= math.exp(loss) * laws[v] * (1 + 1e-4))


def test_sample_and_path_agree_in_many_dimensions(middle: Lexicon, rng: MakeRng) -> None:
    mechanism = Vickrey(lexicon=middle)
    a = mechanism.sample(rng(), np.full(6000, 3), 20.0)
    b = mechanism.paths(rng(1), np.full(6000, 3)).at(np.array([20.0]))[:, 0]
    assert_same_law(a, b)
