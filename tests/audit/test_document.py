"""Losses of whole texts against enumeration, closed forms and an accountant that others keep."""

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.audit.composition import worst_delta
from dpcore.audit.document import (
    BestTests,
    Losses,
    compose_losses,
    document_losses,
    place_losses,
)
from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import LossBounds, Mechanism
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(7, 3)


def enumerated(
    mechanism: Mechanism, epsilon: float, first: Sequence[int], second: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of all outputs of both texts, one by one."""
    laws = [
        [mechanism.law(word, [epsilon]).dense(7)[0] for word in text] for text in (first, second)
    ]
    every = list(itertools.product(range(7), repeat=len(first)))
    p, q = (
        [math.prod(law[y] for law, y in zip(of, ys, strict=True)) for ys in every] for of in laws
    )
    return np.array(p), np.array(q)


@pytest.mark.parametrize(
    ("key", "epsilon"),
    [("tem", 2.0), ("optimal", 1.0), ("k-ary", 1.5), ("neighbour-response", 2.0)],
)
def test_it_is_a_bound_and_sharp(key: str, epsilon: float) -> None:
    mechanism = create(key, LEXICON, {"k": 3} if key == "neighbour-response" else None)
    first, second = [0, 1, 2, 0, 5], [3, 1, 4, 3, 6]
    losses = document_losses(mechanism, epsilon, first, second)
    targets = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    p, q = enumerated(mechanism, epsilon, first, second)
    exact = np.maximum(p - np.exp(targets)[:, None] * q, 0.0).sum(axis=1)
    bound = np.array([losses.delta(float(target)) for target in targets])
    assert (bound >= exact * (1.0 - 1e-12)).all()
    assert (bound <= exact + 1e-3).all()
    finer = document_losses(mechanism, epsilon, first, second, points=400_000)
    np.testing.assert_allclose([finer.delta(float(t)) for t in targets], exact, atol=2e-4)


@pytest.mark.parametrize(
    ("key", "epsilon"),
    [("tem", 2.0), ("optimal", 1.0), ("k-ary", 1.5), ("neighbour-response", 2.0)],
)
@pytest.mark.parametrize("words", [1, 3])
def test_no_test_finds_more_and_one_finds_as_much(key: str, epsilon: float, words: int) -> None:
    mechanism = create(key, LEXICON, {"k": 3} if key == "neighbour-response" else None)
    first, second = [0, 1, 2][:words], [3, 5, 4][:words]
    p, q = enumerated(mechanism, epsilon, first, second)
    likeliest = np.argsort(-p / q)
    rates, powers = (np.concatenate(([0.0], np.cumsum(each[likeliest]))) for each in (q, p))
    tests = document_losses(mechanism, epsilon, first, second).best_tests()
    asked = np.concatenate((rates, np.linspace(0.0, 1.0, 101)))
    exact = np.interp(asked, rates, powers)
    assert np.all(tests.power(asked) >= exact - 1e-12)
    assert np.all(tests.power(asked) <= exact + 1e-3)
    assert tests.auc == pytest.approx(float(np.trapezoid(powers, rates)), abs=1e-3)
    assert 2.0 * tests.auc - 1.0 >= (tests.power(asked) - asked).max() / 2.0


def test_the_best_test_of_response_is_known() -> None:
    """Two words of k-ary response: the word itself, then all that tells nothing."""
    mechanism, epsilon = create("k-ary", LEXICON), 1.5
    tests = document_losses(mechanism, epsilon, [0], [1]).best_tests()
    q = 1.0 / (math.exp(epsilon) + 6.0)
    p = math.exp(epsilon) * q
    np.testing.assert_allclose(tests.power([q, q / 2, 1.0 - p]), [p, p / 2, 1.0 - q], atol=1e-3)
    rest = 5.0 * q
    area = q * p / 2.0 + rest * (p + 1.0 - q) / 2.0 + p * (2.0 - q) / 2.0
    assert tests.auc == pytest.approx(area, abs=1e-3)


def test_many_small_losses_are_nearly_a_gaussian_one() -> None:
    """The central limit theorem of f-DP: μ of n losses is √n times that of one."""
    mechanism, epsilon, n = create("k-ary", LEXICON), 0.2, 400
    one, other = (np.log(mechanism.law(word, [epsilon]).dense(7)[0]) for word in (0, 1))
    mu = math.sqrt(n * float(np.exp(one) @ (one - other) ** 2))
    tests = document_losses(mechanism, epsilon, [0] * n, [1] * n, 500_000).best_tests()
    normal = NormalDist()
    for rate in (0.01, 0.1, 0.5):
        power = normal.cdf(normal.inv_cdf(rate) + mu)
        assert float(tests.power(rate)) == pytest.approx(power, abs=0.02)


def test_a_gaussian_power_gives_its_own_parameter() -> None:
    normal = NormalDist()
    rates = np.linspace(0.001, 0.999, 99)
    powers = np.array([normal.cdf(normal.inv_cdf(rate) + 1.3) for rate in rates])
    tests = BestTests(np.array([0.0, *rates, 1.0]), np.array([0.0, *powers, 1.0]))
    assert tests.gaussian == pytest.approx(1.3, abs=1e-9)
    found = BestTests(np.array([0.0, 1.0]), np.array([0.1, 1.0])).gaussian
    assert found == pytest.approx(normal.inv_cdf(0.1 + 9e-7) - normal.inv_cdf(1e-6), abs=1e-6)
    assert BestTests(np.array([0.0, 1.0]), np.array([0.0, 1.0])).gaussian == 0.0


def test_an_output_that_one_text_cannot_have_is_an_infinite_loss() -> None:
    losses = place_losses(np.log([0.5, 0.25, 0.25]), np.array([0.0, math.log(0.1), -math.inf]), 0.1)
    assert losses.infinite == 0.25
    assert losses.epsilon(0.2) == math.inf
    assert compose_losses([losses, losses]).infinite == pytest.approx(1.0 - 0.75**2)


def test_epsilon_is_the_inverse_of_delta() -> None:
    losses = document_losses(create("tem", LEXICON), 2.0, [0] * 20, [3] * 20)
    for delta in (1e-2, 1e-5, 1e-8):
        epsilon = losses.epsilon(delta)
        assert losses.delta(epsilon) <= delta < losses.delta(epsilon - losses.step)


def test_composition_beats_the_sum() -> None:
    mechanism = create("k-ary", LEXICON)
    losses = document_losses(mechanism, 0.2, [0] * 100, [1] * 100)
    assert losses.epsilon(1e-6) < 0.6 * 100 * 0.2
    target = losses.epsilon(1e-6)
    assert worst_delta(LossBounds(0.2), 100, target) >= losses.delta(target) * 0.99


@pytest.mark.slow
def test_the_bound_for_all_texts_holds_for_each() -> None:
    mechanism = create("tem", LEXICON)
    epsilon = 0.4
    vectors = LEXICON.vectors.astype(float)
    diameter = max(float(np.linalg.norm(a - b)) for a in vectors for b in vectors)
    for w, v in itertools.permutations(range(7), 2):
        losses = document_losses(mechanism, epsilon, [w] * 12, [v] * 12, points=100_000)
        for target in (0.5, 2.0, 5.0):
            # The losses of one pair differ by ε·d at most: the exponent is ε/2, twice d.
            bound = worst_delta(LossBounds(epsilon * diameter, epsilon * diameter), 12, target)
            assert losses.delta(target) <= bound + 1e-4


@pytest.mark.parametrize(("loss", "count"), [(0.1, 1), (0.1, 50), (1.0, 8), (3.0, 3)])
def test_randomised_responses_compose_as_their_law_does(loss: float, count: int) -> None:
    stays = 1.0 / (1.0 + math.exp(-loss))
    logs = np.log([stays, 1.0 - stays])
    part = place_losses(logs, logs[::-1], loss / 1000)
    whole = compose_losses([part] * count)
    for target in (0.0, 0.3 * loss * count, 0.9 * loss * count):
        exact = worst_delta(LossBounds(loss), count, target)
        assert exact * (1 - 1e-6) <= whole.delta(target) <= exact + loss * count / 500


def test_an_accountant_of_others_agrees() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    mechanism = create("tem", LEXICON)
    logs = [dict(enumerate(mechanism.log_law(w, 1.0).tolist())) for w in (0, 3)]
    theirs = pld.from_two_probability_mass_functions(
        logs[1], logs[0], pessimistic_estimate=True, value_discretization_interval=1e-4
    ).self_compose(30)
    ours = document_losses(mechanism, 1.0, [0] * 30, [3] * 30, points=400_000)
    other = document_losses(mechanism, 1.0, [3] * 30, [0] * 30, points=400_000)
    for target in (1.0, 5.0, 10.0):
        both = max(ours.delta(target), other.delta(target))
        assert both == pytest.approx(theirs.get_delta_for_epsilon(target), rel=0.02, abs=1e-12)


def test_nonsense_is_refused() -> None:
    mechanism = create("tem", LEXICON)
    with pytest.raises(ParameterError, match="same number"):
        document_losses(mechanism, 1.0, [0], [1, 2])
    with pytest.raises(ParameterError, match="nothing to tell apart"):
        document_losses(mechanism, 1.0, [0, 2], [0, 2])
    with pytest.raises(ParameterError, match="estimated"):
        document_losses(create("madlib", LEXICON), 1.0, [0], [1])
    with pytest.raises(ParameterError, match="one grid"):
        compose_losses([Losses(0.1, 0, np.ones(1), 0.0), Losses(0.2, 0, np.ones(1), 0.0)])
