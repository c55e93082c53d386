"""Noise in hyperbolic space: the two readings of its density."""

import math

import pytest
from scipy.integrate import dblquad

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome
from dpcore.papers.claims import verdict
from dpcore.papers.feyisetan import log_flat_normaliser
from tests.mechanisms import lexicons


@pytest.mark.parametrize(
    ("dimension", "epsilon", "away"), [(2, 1.0, 0.0), (2, 3.0, 1.5), (3, 1.0, 1.0), (4, 6.0, 0.7)]
)
def test_a_normaliser_of_the_flat_ball_by_another_quadrature(
    dimension: int, epsilon: float, away: float
) -> None:
    """Over the ball itself: x = (t cos θ, t sin θ, …), the word on the first axis."""
    word = math.tanh(away / 2)

    def integrand(angle: float, t: float) -> float:
        square = t**2 + word**2 - 2 * t * word * math.cos(angle)
        d = math.acosh(1 + 2 * square / ((1 - t**2) * (1 - word**2)))
        return float(
            t ** (dimension - 1) * math.sin(angle) ** (dimension - 2) * math.exp(-epsilon * d)
        )

    whole = dblquad(integrand, 0, 1, 0, math.pi, epsabs=1e-12, epsrel=1e-9)[0]
    centre = log_flat_normaliser(dimension, epsilon, away)
    # The flat ball has radius 1, and dx = 2^d·(1 + cosh s)^(−d) dV in these coordinates... up to a
    # constant that is the same for all words: compared with the word in the middle.
    middle = log_flat_normaliser(dimension, epsilon, 0.0)

    def radial(t: float) -> float:
        return 2 * math.atanh(t)

    centred = dblquad(
        lambda angle, t: float(
            t ** (dimension - 1)
            * math.sin(angle) ** (dimension - 2)
            * math.exp(-epsilon * radial(t))
        ),
        0, 1, 0, math.pi, epsabs=1e-12, epsrel=1e-9,
    )[0]  # fmt: skip
    assert centre - middle == pytest.approx(math.log(whole / centred), abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 5, 20])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0, 50.0])
def test_the_true_epsilon_lies_above_the_claimed_one(dimension: int, epsilon: float) -> None:
    """By at most the smaller of ε and d, which it nears far from the centre."""
    middle = log_flat_normaliser(dimension, epsilon, 0.0)
    for away in (0.5, 3.0, 12.0):
        more = (middle - log_flat_normaliser(dimension, epsilon, away)) / away
        assert 0 < more < min(epsilon, dimension)
        finer = log_flat_normaliser(dimension, epsilon, away, pieces=96)
        assert log_flat_normaliser(dimension, epsilon, away) == pytest.approx(finer, abs=1e-6)


@pytest.mark.slow
def test_the_two_verdicts() -> None:
    settings, words = AuditSettings(draws=2000), lexicons.cloud(30, 4)
    flat = verdict("hyperbolic-flat", words, settings)
    assert flat.outcome is Outcome.REFUTED
    assert 1.5 < float(flat.numbers["true epsilon of the centre and the farthest word"]) < 2.0
    right = verdict("hyperbolic", words, settings)
    assert right.outcome is Outcome.PROVED
    assert right.lexicon == "wordnet-hyperbolic"
    assert right.settings["epsilon"] == 5.0
    assert "Audited at ε = 5 and not at 1" in right.computed
    assert float(right.numbers["words that stay as epsilon falls to that"]) > 0.9
    assert (
        verdict("hyperbolic", words, AuditSettings(draws=2000, epsilon=7.0)).settings["epsilon"]
        == 7.0
    )
