"""Clipping, its bound to the last bit, and what the noisy vector is compared with."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
    ClippedRadial,
    clip,
)
from dpcore.mechanisms.clipped.gaussian import gaussian_log_delta
from dpcore.noise.radial import radii
from tests.chance import assert_mean
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

KINDS = [ClippedLaplace, ClippedL2Laplace, ClippedGaussian, ClippedGaussianClassical]


@pytest.mark.parametrize("norm", [1e-6, 0.1, 1.0, 1 / 3, math.pi, 17.3, 1e6])
@pytest.mark.parametrize("d", [1, 3, 100, 300])
def test_rounding_never_lifts_a_row_above_the_bound(norm: float, d: int, rng: MakeRng) -> None:
    """Norms recomputed in extended precision from the float32 rows that are used."""
    rows = (norm * rng().standard_normal((3000, d))).astype(np.float32)
    clipped = clip(rows, norm).astype(np.longdouble)
    lengths = np.sqrt((clipped * clipped).sum(axis=1))
    assert lengths.max() <= norm
    before = np.sqrt((rows.astype(np.longdouble) ** 2).sum(axis=1))
    assert np.all(lengths[before > norm] >= norm * (1 - 1e-6))


def test_rows_within_the_bound_are_returned_as_they_are(rng: MakeRng) -> None:
    rows = rng().standard_normal((50, 4)).astype(np.float32)
    assert clip(rows, 100.0) is rows
    some = clip(rows, 2.0)
    short = np.linalg.norm(rows.astype(np.float64), axis=1) <= 2.0
    assert short.any()
    assert not short.all()
    assert np.array_equal(some[short], rows[short])
    assert not some.flags.writeable


def test_a_clipped_row_keeps_its_direction(rng: MakeRng) -> None:
    rows = rng().standard_normal((200, 5)).astype(np.float32)
    clipped = clip(rows, 0.5)
    cosine = (
        (rows * clipped).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(clipped, axis=1)
    )
    np.testing.assert_allclose(cosine, 1, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_by_default_nothing_is_clipped(kind: type[ClippedRadial], middle: Lexicon) -> None:
    mechanism = kind(lexicon=middle)
    assert mechanism.bound == middle.largest_norm
    assert mechanism.origins is middle.vectors
    assert mechanism.targets is middle.vectors


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_origins_are_farther_apart_than_the_sensitivity(
    kind: type[ClippedRadial], middle: Lexicon
) -> None:
    mechanism = kind(lexicon=middle, clip_norm=1.0)
    rows = mechanism.origins.astype(np.float64)
    norm = 1 if kind is ClippedLaplace else 2
    for w in range(0, len(rows), 50):
        assert np.linalg.norm(rows - rows[w], ord=norm, axis=1).max() <= mechanism.sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_with_unclipped_words_loses_words_even_without_noise(
    kind: type[ClippedRadial], middle: Lexicon, rng: MakeRng
) -> None:
    """Huang et al. 2024, eq. (2): with C below the norms the noiseless output is another word."""
    words = np.arange(len(middle))
    norm = 0.3 * middle.largest_norm
    ours = kind(lexicon=middle, clip_norm=norm)
    theirs = kind(lexicon=middle, clip_norm=norm, compare_with="unclipped")
    assert theirs.targets is middle.vectors
    assert (ours.sample(rng(), words, 1e9) == words).mean() == 1.0
    assert (theirs.sample(rng(), words, 1e9) == words).mean() < 0.9
    first, second = (replace(m.guarantee(2.0), rounding=None) for m in (ours, theirs))
    assert first == second


@pytest.mark.parametrize("kind", KINDS)
def test_paths_of_unclipped_comparison_equal_a_direct_search(
    kind: type[ClippedRadial], rng: MakeRng
) -> None:
    lexicon = lexicons.cloud(80, 4)
    mechanism = kind(lexicon=lexicon, clip_norm=1.0, compare_with="unclipped")
    words = np.full(60, 7)
    paths = mechanism.paths(rng(), words)
    again = rng()
    unit = mechanism.directions(again, 60)
    radius = radii(again, mechanism.family, 60, 4)
    targets, origin = lexicon.vectors.astype(np.float64), mechanism.origins[7].astype(np.float64)
    for epsilon in (0.5, 3.0, 20.0, 300.0):
        noisy = origin + (mechanism.scale(epsilon) * radius)[:, None] * unit
        expected = np.linalg.norm(targets[None] - noisy[:, None], axis=2).argmin(axis=1)
        assert np.array_equal(paths.at(np.array([epsilon]))[:, 0], expected)


def test_two_words_clipped_to_one_point_are_one_output(rng: MakeRng) -> None:
    """Collinear words beyond C cannot be told apart: the lowest index comes out."""
    mechanism = ClippedL2Laplace(lexicon=lexicons.line(1.5, 2, 3, -1), clip_norm=1.0)
    out = mechanism.sample(rng(), np.array([0, 1, 2, 3]), 1e9)
    assert out.tolist() == [0, 0, 0, 3]
    assert mechanism.paths(rng(), np.full(9, 2)).at(np.array([1e9]))[:, 0].tolist() == [0] * 9


@pytest.mark.parametrize(
    ("kind", "deviation"),
    [(ClippedLaplace, 2 * math.sqrt(2 * 30)), (ClippedL2Laplace, 2 * math.sqrt(31))],
)
def test_noise_has_the_stated_deviation(
    kind: type[ClippedLaplace], deviation: float, rng: MakeRng
) -> None:
    """Per coordinate at C = ε = 1, d = 30. False-alarm probability 1e-6."""
    lexicon = lexicons.cloud(40, 30)
    mechanism = kind(lexicon=lexicon, clip_norm=1.0)
    radius = radii(rng(1), mechanism.family, 30_000, 30)[:, None]
    z = mechanism.scale(1.0) * radius * mechanism.directions(rng(), 30_000)
    square = np.square(z).mean(axis=1)
    assert_mean(square, deviation**2, square.std())


def test_the_gaussian_guarantee_is_computed() -> None:
    lexicon = lexicons.cloud(40, 3)
    good = ClippedGaussian(lexicon=lexicon, delta=1e-6)
    classical = ClippedGaussianClassical(lexicon=lexicon, delta=1e-6)
    for epsilon in (0.01, 1.0, 50.0):
        assert good.guarantee(epsilon).status is Status.PROVED
        exact = gaussian_log_delta(epsilon, good.scale(epsilon), 2 * good.bound)
        assert float(exact) <= math.log(1e-6)
    assert classical.guarantee(0.5).status is Status.PROVED
    refuted = classical.guarantee(30.0)
    assert refuted.status is Status.REFUTED
    assert "above the claimed 1e-06" in refuted.reason


@pytest.mark.parametrize("kind", KINDS)
def test_scale_and_its_inverse(kind: type[ClippedRadial], middle: Lexicon) -> None:
    mechanism = kind(lexicon=middle)
    epsilons = np.geomspace(0.05, 100, 25)
    scales = np.array([mechanism.scale(float(e)) for e in epsilons])
    assert np.all(np.diff(scales) < 0)
    np.testing.assert_allclose(mechanism.epsilon_of(scales), epsilons, rtol=1e-8)
