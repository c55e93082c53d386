"""Random projection: the public matrix, the exact stretch, both forms of the guarantee."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.guarantee import Status
from dpcore.lexicon.bundled import bundled_stretch
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.extent.exact import exact_extent
from dpcore.lexicon.extent.stretch import compute_stretch
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.mechanisms.additive.multivariate import MultivariateLaplace
from dpcore.mechanisms.additive.projection import (
    RandomProjection,
    projection_matrix,
    stretch_quantile,
)
from dpcore.mechanisms.additive.rays import Bundle
from tests.chance import assert_distribution
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


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
    """Computed anew over all 312 million pairs, on this machine's own product."""
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
