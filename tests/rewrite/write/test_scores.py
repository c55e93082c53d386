"""The law of one token: by hand, its largest loss, and the strength that is calibrated to it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.guarantee import Status
from dpcore.noise.discrete import Digits
from dpcore.rewrite.write.scores import (
    ClippedDraw,
    ResponseDraw,
    calibrated_strength,
    largest_loss,
)


def clipped(
    low: float, high: float, vocabulary: int, strength: float, normalised: bool = False
) -> ClippedDraw:
    return ClippedDraw(
        low=low, high=high, vocabulary=vocabulary, strength=strength, normalised=normalised
    )


DRAW = clipped(-1.0, 3.0, 3, 2.0)
EPSILONS = (1e-6, 0.1, 1.0, 10.0, 25.0, 60.0, 700.0, 5000.0)


def test_the_law_is_a_softmax_of_clipped_scores() -> None:
    law = np.exp(DRAW.log_law(np.array([0.0, 2.0, 3.0])))
    weights = np.exp(np.array([0.0, 2.0, 3.0]) / DRAW.temperature)
    np.testing.assert_allclose(law, weights / weights.sum(), rtol=1e-12)
    assert DRAW.temperature == 2.0


def test_scores_beyond_the_range_count_as_its_ends() -> None:
    wild = DRAW.log_law(np.array([-50.0, math.inf, math.nan]))
    np.testing.assert_array_equal(wild, DRAW.log_law(np.array([-1.0, 3.0, -1.0])))


def test_normalised_scores_are_log_probabilities_before_they_are_clipped() -> None:
    draw = clipped(-2.0, 0.0, 3, 4.0, normalised=True)
    logs = np.log([0.6, 0.39, 0.01])
    for shift in (0.0, 17.0):
        law = draw.log_law(logs + shift)
        np.testing.assert_allclose(law - law[0], 2.0 * (np.maximum(logs, -2.0) - logs[0]))


@pytest.mark.parametrize("vocabulary", [2, 11, 49_152])
@pytest.mark.parametrize("strength", [1e-5, 0.5, 5.0, 12.0, 30.0])
def test_two_texts_attain_the_largest_loss(vocabulary: int, strength: float) -> None:
    draw = clipped(0.0, 1.0, vocabulary, strength)
    first = np.zeros(vocabulary)
    first[0] = 1.0
    loss = draw.log_law(first)[0] - draw.log_law(1.0 - first)[0]
    largest = largest_loss(strength, vocabulary)
    assert loss == pytest.approx(largest, rel=1e-9)
    assert largest <= 2.0 * strength


@settings(deadline=None)  # laws are what is tested, on a busy machine too
@given(
    st.floats(0.01, 40.0),
    st.lists(st.tuples(st.floats(-5, 9), st.floats(-5, 9)), min_size=2, max_size=12),
    st.booleans(),
)
def test_no_two_texts_exceed_it(
    strength: float, scores: list[tuple[float, float]], normalised: bool
) -> None:
    draw = clipped(-1.0, 3.0, len(scores), strength, normalised=normalised)
    first, second = (draw.log_law(side) for side in np.array(scores).T)
    losses = first - second
    assert np.abs(losses).max() <= largest_loss(strength, len(scores)) + 1e-9
    assert losses.max() - losses.min() <= 2.0 * strength + 1e-9


@pytest.mark.parametrize("vocabulary", [2, 3, 11, 49_152])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_calibrated_strength_spends_all_of_epsilon(vocabulary: int, epsilon: float) -> None:
    strength = calibrated_strength(epsilon, vocabulary)
    loss = largest_loss(strength, vocabulary)
    assert loss <= epsilon
    assert loss == pytest.approx(epsilon, rel=1e-9)
    assert strength >= 0.5 * epsilon


def test_two_tokens_are_randomised_response() -> None:
    assert calibrated_strength(1.7, 2) == pytest.approx(1.7)


def test_draws_have_the_law() -> None:
    scores, count = np.array([0.0, 2.0, 3.0]), 20_000
    law, digits = DRAW.log_law(scores), Digits(np.random.default_rng(3))
    drawn = np.bincount([DRAW.token(law, digits) for _ in range(count)], minlength=3)
    # Hoeffding, three two-sided tests: false alarm with a probability of at most 10⁻⁶.
    assert np.abs(drawn / count - np.exp(law)).max() < math.sqrt(math.log(6e6) / (2 * count))


def test_what_is_guaranteed_of_one_token_and_of_many() -> None:
    draw = clipped(0.0, 1.0, 49_152, 0.05)
    guarantee = draw.guarantee
    assert guarantee.status is Status.PROVED
    assert guarantee.epsilon == pytest.approx(0.1, rel=1e-4)
    assert "any two texts explain it within a factor of e^0.1." in guarantee.statement
    assert guarantee.for_tokens(30).endswith("e^(30·0.1) = e^3.")
    assert draw.composed(30, 0.0).epsilon == pytest.approx(30 * guarantee.epsilon, rel=1e-9)
    composed = draw.composed(30)
    # A span of ε: ρ = nε²/8; Bun and Steinke 2016, Lemma 3.5.
    rho = 30 * 0.1**2 / 8
    assert composed.epsilon <= rho + 2 * math.sqrt(rho * math.log(1e6)) + 1e-6
    assert composed.total == pytest.approx(30 * guarantee.epsilon)
    assert composed.helps


def test_randomised_response_keeps_the_model_or_takes_any_token() -> None:
    draw = ResponseDraw(vocabulary=4, epsilon=1.5, temperature=0.5)
    p = np.array([0.5, 0.3, 0.2, 0.0])
    with np.errstate(divide="ignore"):
        law = np.exp(draw.log_law(0.5 * np.log(p) + 3.0))
    total = math.exp(1.5) + 3
    np.testing.assert_allclose(law, ((math.exp(1.5) - 1) * p + 1) / total, rtol=1e-12)
    assert draw.kept == pytest.approx((math.exp(1.5) - 1) / total)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_certain_models_spend_all_of_epsilon(epsilon: float) -> None:
    draw = ResponseDraw(vocabulary=49_152, epsilon=epsilon)
    scores = np.full(49_152, -1e9)
    scores[0] = 0.0
    losses = draw.log_law(scores) - draw.log_law(np.roll(scores, 1))
    assert np.abs(losses).max() == pytest.approx(epsilon, rel=1e-9)
    assert np.exp(draw.log_law(scores)).sum() == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None)  # laws are what is tested, on a busy machine too
@given(
    st.floats(0.01, 40.0),
    st.lists(st.tuples(st.floats(-50, 90), st.floats(-50, 90)), min_size=2, max_size=12),
)
def test_no_two_models_exceed_it(epsilon: float, scores: list[tuple[float, float]]) -> None:
    draw = ResponseDraw(vocabulary=len(scores), epsilon=epsilon)
    first, second = (draw.log_law(side) for side in np.array(scores).T)
    assert np.abs(first - second).max() <= epsilon * (1 + 1e-9)
    # No set of outputs tells more than it does between two certain models.
    delta = np.maximum(np.exp(first) - math.exp(0.5 * epsilon) * np.exp(second), 0.0).sum()
    chance = draw.bounds.chance or 1.0
    assert delta <= chance * (1.0 - math.exp(-0.5 * epsilon)) + 1e-12


def test_scores_that_are_no_numbers_are_no_reason_to_stop() -> None:
    draw = ResponseDraw(vocabulary=3, epsilon=2.0)
    for scores in ([math.nan] * 3, [math.inf, 0.0, math.nan], [-math.inf] * 3):
        assert np.exp(draw.log_law(np.array(scores))).sum() == pytest.approx(1.0)
