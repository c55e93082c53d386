"""Hyperbolic noise: its radius, the nearest word along a geodesic, the guarantee, the flat canary.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from dpcore.arrays import FloatArray
from dpcore.audit.samplers import check_noise, noise_report
from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.hyperbolic import distances
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.additive.hyperbolic import Hyperbolic
from dpcore.noise.samplers import Radial
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain

SMALL = lexicons.cloud(40, 3)
LINE = lexicons.line(0, 1e-3, 0.5, 4, 4.001, -3)


# -- the noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.3), (2, 1.5), (3, 2.2), (5, 9.0)])
def test_the_radius_has_the_density_of_hyperbolic_space(dimension: int, epsilon: float) -> None:
    """∝ sinh^(d−1)(r)·e^(−ε·r), by quadrature."""
    mechanism = Hyperbolic(lexicon=lexicons.cloud(10, dimension))

    def density(r: float) -> float:
        rising = (-math.expm1(-2 * r)) ** (dimension - 1)  # sinh(r)·2e^(−r)
        return float(rising * math.exp((dimension - 1 - epsilon) * r))

    radii = np.array([0.05, 0.3, 1.0, 2.5, 6.0])
    whole = sum(quad(density, low, low + 10, epsabs=0)[0] for low in range(0, 200, 10))
    below = [quad(density, 0, r, epsabs=0)[0] / whole for r in radii]
    np.testing.assert_allclose(mechanism.below(np.expm1(2 * radii), epsilon), below, rtol=1e-6)
    assert mechanism.below(np.array([0.0, np.inf]), epsilon).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dimension", [1, 2, 5, 30])
@pytest.mark.parametrize("above", [0.05, 1.0, 100.0])
def test_the_sampler_draws_from_that_law(dimension: int, above: float) -> None:
    mechanism = Hyperbolic(lexicon=lexicons.cloud(10, dimension))
    report = noise_report(mechanism, dimension - 1 + above, 4000, 0)
    assert report.passed, report.failed


def test_canary_a_sampler_that_is_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The radius of flat space: Gamma(d)/ε, as for noise in a vector space."""
    mechanism = Hyperbolic(lexicon=SMALL)

    def flat(rng: np.random.Generator, count: int, epsilon: float) -> FloatArray:
        return np.asarray(1.0 / np.expm1(2 * rng.standard_gamma(3, count) / epsilon))

    monkeypatch.setattr(Hyperbolic, "_lengths", lambda self, *given: flat(*given))
    assert not noise_report(mechanism, 4.0, 4000, 0).passed


def test_the_reference_is_noise_that_tests_know(rng: MakeRng) -> None:
    rows = Hyperbolic(lexicon=SMALL).reference_noise(rng(), 3.0, 5000)
    assert check_noise(rows, Radial.L2LAPLACE, 1.0).passed


# -- the nearest word ------------------------------------------------------------------------------


def moved(vectors: FloatArray, word: int, unit: FloatArray, radius: float) -> FloatArray:
    """The tangent vector of the point that a geodesic from a word reaches: on the hyperboloid.

    The direction is carried from the centre along the line to the word.
    """
    row = vectors[word].astype(np.float64)
    length = float(np.linalg.norm(row))
    axis = row / length
    # The boost that moves the centre to the word, of the tangent vector (0, u).
    along = float(unit @ axis)
    time = math.sinh(length) * along
    space = unit + (math.cosh(length) - 1.0) * along * axis
    point = math.cosh(radius) * np.concatenate(([math.cosh(length)], math.sinh(length) * axis))
    point += math.sinh(radius) * np.concatenate(([time], space))
    away = np.linalg.norm(point[1:])
    return np.asarray(np.arcsinh(away) / away * point[1:])


@pytest.mark.parametrize("scale", [0.05, 1.0])
@pytest.mark.parametrize("lexicon", [SMALL, lexicons.cloud(300, 2), lexicons.cloud(60, 8)])
def test_the_steps_are_the_nearest_word_on_a_geodesic(
    lexicon: Lexicon, scale: float, rng: MakeRng
) -> None:
    mechanism = Hyperbolic(lexicon=lexicon, scale=scale)
    points = scale * lexicon.vectors.astype(np.float64)
    draw = rng()
    for word in (0, 7, 31):
        unit = draw.standard_normal((40, lexicon.dimension))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        steps = mechanism.steps(word, unit)
        for i, row in enumerate(unit):
            for radius in (0.0, 0.02, 0.3, 1.0, 2.0, 4.0):
                place = int((steps.thresholds[i] <= math.expm1(2 * radius)).sum())
                target = moved(points, word, row, radius)
                away = distances(points, target[None])[0]
                # As near as the nearest, but for rounding.
                assert away[steps.targets[i, place]] <= away.min() + 1e-6


def test_on_a_line_it_is_laplace_noise() -> None:
    """H¹ is the line: the law along both directions is that of the distribution function."""
    mechanism = Hyperbolic(lexicon=LINE)
    both, points = np.array([[1.0], [-1.0]]), LINE.vectors[:, 0].astype(np.float64)
    for epsilon in (0.1, 2.0, 12.0):
        for word in range(6):
            law = mechanism.law(word, [epsilon], unit=both).dense(6)[0]
            by_hand = plain.line_law(points, points[word], plain.laplace_cdf, 1 / epsilon)
            np.testing.assert_allclose(law, by_hand, rtol=1e-9, atol=1e-14)


def test_a_scale_is_that_of_the_vectors() -> None:
    smaller = Lexicon("smaller", SMALL.words, np.float32(0.25) * SMALL.vectors)
    a, b = Hyperbolic(lexicon=SMALL, scale=0.25), Hyperbolic(lexicon=smaller)
    for word in (0, 12):
        np.testing.assert_allclose(
            a.law(word, [3.0, 9.0]).dense(40), b.law(word, [3.0, 9.0]).dense(40), atol=1e-12
        )
    every = np.arange(40)
    np.testing.assert_allclose(
        a.promised_distances(every, 3.0), b.promised_distances(every, 3.0), rtol=1e-9
    )


# -- the guarantee ---------------------------------------------------------------------------------


def circle_laws(mechanism: Hyperbolic, epsilon: float, rays: int) -> FloatArray:
    """Laws of all words in two dimensions: the mean over evenly spaced directions."""
    angle = 2 * np.pi * (np.arange(rays) + 0.5) / rays
    unit = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    n = len(mechanism.lexicon)
    laws = [mechanism.law(w, [epsilon], unit=unit).dense(n)[0] for w in range(n)]
    return np.stack(laws)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.2, 3.0, 8.0])
def test_the_guarantee_holds_in_the_plane(epsilon: float) -> None:
    """All pairs and outputs; of the mean over directions the error is what half of them change."""
    mechanism = Hyperbolic(lexicon=lexicons.cloud(12, 2))
    laws, rough = (circle_laws(mechanism, epsilon, rays) for rays in (16_000, 8_000))
    error = 4 * np.abs(laws - rough).max()
    assert error < 1e-3
    apart = mechanism.promised_distances(np.arange(12), epsilon)
    for w in range(12):
        excess = laws[w] - np.exp(epsilon * apart[w])[:, None] * (laws + error)
        assert excess.max() <= error


def flat_line_law(points: FloatArray, word: float, epsilon: float) -> FloatArray:
    """P(y) with the density e^(−ε·d) with respect to the flat length of the ball (−1, 1).

    On the line of hyperbolic distances s that is e^(−ε·|s − w|)/(1 + cosh s).
    """

    def density(s: float) -> float:
        return math.exp(-epsilon * abs(s - word)) / (1 + math.cosh(s))

    order = np.argsort(points)
    middles = (points[order][1:] + points[order][:-1]) / 2
    edges = np.concatenate(([-40.0], middles, [40.0]))
    law = np.empty(points.size)
    law[order] = [
        quad(density, low, high, points=[p for p in (word,) if low < p < high], limit=400)[0]
        for low, high in pairwise(edges)
    ]
    return np.asarray(law / law.sum())


def test_canary_a_density_of_the_flat_ball_breaks_it() -> None:
    """The comparison that the true density passes on a line finds the other one."""
    points, epsilon = np.array([0.0, 1.0, 4.0, 4.5, 9.0]), 1.0
    apart = np.abs(points[:, None] - points)
    laws = {
        "flat": np.stack([flat_line_law(points, w, epsilon) for w in points]),
        "hyperbolic": np.stack(
            [plain.line_law(points, w, plain.laplace_cdf, 1 / epsilon) for w in points]
        ),
    }
    excess = {
        name: max(
            float((np.log(table[w] / table[v]) - epsilon * apart[w, v]).max())
            for w in range(5)
            for v in range(5)
        )
        for name, table in laws.items()
    }
    assert excess["hyperbolic"] <= 1e-9
    assert excess["flat"] > 0.5


def test_the_guarantee_says_how_far_it_reaches() -> None:
    mechanism = Hyperbolic(lexicon=SMALL)
    guarantee: Any = mechanism.guarantee(5.0)
    assert isinstance(guarantee, MetricPrivacy)
    assert (guarantee.status, guarantee.metric) == (Status.PROVED, "hyperbolic")
    every = np.arange(40)
    table = mechanism.promised_distances(every, 5.0)
    rows = SMALL.vectors.astype(np.float64)
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    assert (table <= guarantee.euclidean_factor * apart * (1 + 1e-9)).all()
    assert table.max() <= guarantee.farthest
    assert mechanism.loss_bounds(guarantee).promised == pytest.approx(5.0 * guarantee.farthest)


def test_many_dimensions_are_refused_with_what_to_take() -> None:
    mechanism = Hyperbolic(lexicon=lexicons.cloud(10, 25))
    with pytest.raises(EpsilonError, match=r"must be > 24 .*the lexicon 'hyperbolic'") as caught:
        mechanism.check_epsilon(12.0)
    assert "dimension less one" in str(caught.value)
    assert "were not made for" in mechanism.caution
    with pytest.raises(ParameterError, match="at most 300 long"):
        Hyperbolic(lexicon=lexicons.lexicon(1e20 * np.eye(3)))


@pytest.mark.slow
def test_the_bundled_words_stay_however_small_epsilon_is() -> None:
    """Room is what hyperbolic space has: all other words lie in a small part of what one sees."""
    lexicon = load("hyperbolic")
    mechanism = Hyperbolic(lexicon=lexicon)
    assert mechanism.admissible.low == lexicon.dimension - 1 == 4
    assert mechanism.left > 0.9
    assert f"{mechanism.left:.0%}" in mechanism.caution
    assert "less of a scale changes more" in mechanism.caution
    assert Hyperbolic(lexicon=lexicon, scale=0.1).left < 0.1
