"""SanText and SanText+: their laws by hand, and claims that hold or fail.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math

import numpy as np
import pytest

from dpcore.audit.exact import audit_mechanism
from dpcore.errors import ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.exponential.santext import SanText, SanTextPlus, cosine_stretch
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)
FIRST = N - N // 2


def apart(metric: str) -> np.ndarray:
    unit = LEXICON.vectors / np.linalg.norm(LEXICON.vectors.astype(np.float64), axis=1)[:, None]
    if metric == "euclidean":
        return distances(LEXICON.vectors, LEXICON.vectors)
    cosine = np.clip(unit @ unit.T, -1.0, 1.0)
    return 1.0 - cosine if metric == "cosine" else np.arccos(cosine)


@pytest.mark.parametrize("metric", ["euclidean", "angular", "cosine"])
@pytest.mark.parametrize("epsilon", [1e-3, 2.0, 15.0])
def test_the_law_of_santext_is_the_formula(metric: str, epsilon: float) -> None:
    mechanism = SanText(lexicon=LEXICON, metric=metric)
    weights = np.exp(-0.5 * epsilon * apart(metric)[4])
    by_hand = weights / weights.sum()
    # acos loses half of its digits near a word itself.
    np.testing.assert_allclose(mechanism.law(4, [epsilon]).dense(N)[0], by_hand, rtol=1e-6)
    np.testing.assert_allclose(np.exp(mechanism.log_law(4, epsilon)), by_hand, rtol=1e-6)


@pytest.mark.parametrize("metric", ["angular", "cosine"])
def test_draws_in_other_distances_have_the_law_and_so_have_paths(metric: str, rng: MakeRng) -> None:
    mechanism, words = SanText(lexicon=LEXICON, metric=metric), np.full(20_000, 7)
    law = mechanism.law(7, [4.0]).dense(N)[0]
    assert_law(mechanism.sample(rng(), words, 4.0), law)
    assert_law(mechanism.paths(rng(1), words).at(np.array([4.0]))[:, 0], law)


def test_a_metric_holds_and_the_cosine_does_not() -> None:
    for metric in ("euclidean", "angular"):
        mechanism = SanText(lexicon=LEXICON, metric=metric)
        assert mechanism.guarantee(3.0).status is Status.PROVED
        audit = audit_mechanism(mechanism, 3.0, words=np.arange(N)).losses
        assert audit.holds
        whole = audit_mechanism(mechanism, 3.0).losses
        assert whole.epsilon_effective == pytest.approx(audit.epsilon_effective, rel=1e-9)
    cosine = SanText(lexicon=LEXICON, metric="cosine")
    assert cosine.guarantee(3.0).status is Status.REFUTED
    assert not audit_mechanism(cosine, 3.0, words=np.arange(N)).losses.holds
    stretch, x, other, y = cosine_stretch(LEXICON, np.arange(N))
    table = apart("cosine")
    assert stretch == pytest.approx((table[x, y] - table[other, y]) / table[x, other], rel=1e-6)
    assert stretch > 1.0


def test_the_loss_of_the_cosine_grows_as_two_over_the_angle() -> None:
    """Words at 0, θ and 90°: (1 − cos 90°) − (1 − cos(90° − θ)) = sin θ over θ²/2."""
    for angle in (0.3, 0.03, 0.003):
        points = [[1.0, 0.0], [math.cos(angle), math.sin(angle)], [0.0, 1.0]]
        found = cosine_stretch(lexicons.lexicon(points), np.arange(3))[0]
        assert found == pytest.approx(math.sin(angle) / (1 - math.cos(angle)), rel=1e-3)


def test_a_zero_vector_has_no_angle() -> None:
    with pytest.raises(ParameterError, match="no angle"):
        SanText(lexicon=lexicons.line(0, 1, 2), metric="angular")


def plus_by_hand(word: int, epsilon: float, p: float) -> np.ndarray:
    law = np.zeros(N)
    weights = np.exp(-0.5 * epsilon * apart("euclidean")[word, FIRST:])
    law[FIRST:] = weights / weights.sum()
    if word < FIRST:
        law *= p
        law[word] = 1.0 - p
    return law


@pytest.mark.parametrize("word", [3, 33])
def test_the_law_of_santext_plus_is_the_formula(word: int) -> None:
    mechanism = SanTextPlus(lexicon=LEXICON, p=0.3)
    assert mechanism.first_sensitive == FIRST
    law = mechanism.law(word, [2.0]).dense(N)[0]
    np.testing.assert_allclose(law, plus_by_hand(word, 2.0, 0.3), rtol=1e-12)


def test_sensitive_words_keep_the_guarantee_and_others_do_not() -> None:
    mechanism = SanTextPlus(lexicon=LEXICON)
    assert mechanism.guarantee(2.0).status is Status.CONDITIONAL
    assert audit_mechanism(mechanism, 2.0, words=np.arange(FIRST, N)).losses.holds
    everything = audit_mechanism(mechanism, 2.0, words=np.arange(N)).losses
    assert everything.epsilon_effective == math.inf
    # From a sensitive word to another ln(1/p) more, on outputs that are sensitive.
    sensitive, other = mechanism.log_law(N - 1, 2.0)[FIRST:], mechanism.log_law(0, 2.0)[FIRST:]
    bound = 2.0 * apart("euclidean")[N - 1, 0] + math.log(1 / mechanism.p)
    assert (sensitive - other).max() <= bound + 1e-9
    assert mechanism.posterior(0.5) == pytest.approx(5 / 6)


def test_santext_plus_with_all_words_is_santext() -> None:
    mechanism = SanTextPlus(lexicon=LEXICON, w=1.0)
    assert mechanism.guarantee(2.0).status is Status.PROVED
    assert mechanism.caution == ""
    plain = SanText(lexicon=LEXICON)
    np.testing.assert_allclose(mechanism.log_law(5, 2.0), plain.log_law(5, 2.0), rtol=1e-12)


def test_the_parsed_metric_of_the_cosine_is_the_angle() -> None:
    assert SanText(lexicon=LEXICON, metric="cosine")._parsed is Metric.ANGULAR
