"""Calibrated TEM is TEM at 2η(ε), and its true ε is what it says, pair by pair."""

from typing import Any

import numpy as np
import pytest

from dpcore.guarantee import Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms import calibrated
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(60, 5)


def true_epsilon(mechanism: Mechanism, epsilon: float, metric: Metric = Metric.EUCLIDEAN) -> float:
    """From the laws of all words, by the definition."""
    vectors = mechanism.lexicon.vectors
    apart = distances(vectors, vectors, metric)
    np.fill_diagonal(apart, 1.0)
    n = len(mechanism.lexicon)
    logs = np.log(np.stack([mechanism.law(w, [epsilon]).dense(n)[0] for w in range(n)]))
    return max(float(((logs[w] - logs).max(axis=1) / apart[w]).max()) for w in range(n))


@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN, Metric.ANGULAR])
@pytest.mark.parametrize("epsilon", [0.1, 0.37, 2.0, 3.3, 9.0])
def test_the_true_epsilon_is_below_and_close(metric: Metric, epsilon: float) -> None:
    mechanism: Any = create("tem-calibrated", LEXICON, {"metric": str(metric)})
    promise: Any = mechanism.guarantee(epsilon)
    assert promise.status is Status.CERTIFIED
    assert promise.metric == str(metric)
    true = true_epsilon(mechanism, epsilon, metric)
    assert true <= promise.epsilon * (1 + 1e-12)
    plain = create("tem", LEXICON, {"metric": str(metric)})
    assert true_epsilon(plain, epsilon, metric) < true
    if epsilon in {0.1, 2.0, 9.0}:  # on the table
        assert true >= 0.99 * epsilon or mechanism.strength(epsilon) >= 0.99 * max(
            mechanism.certificate.strengths
        )


def test_it_keeps_more_words_than_tem_at_the_same_promise() -> None:
    mechanism, plain = create("tem-calibrated", LEXICON), create("tem", LEXICON)
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        more, less = (
            np.mean([m.law(w, [epsilon]).stay()[0] for w in range(60)]) for m in (mechanism, plain)
        )
        assert more > less


def test_it_is_tem_at_the_nominal_parameter(rng: MakeRng) -> None:
    mechanism: Any = create("tem-calibrated", LEXICON)
    plain: Any = create("tem", LEXICON)
    words = np.arange(60)
    for epsilon in (0.03, 0.5, 2.2, 7.0, 400.0):
        nominal = mechanism.nominal(epsilon)
        assert nominal >= epsilon
        law = mechanism.law(3, [epsilon])
        np.testing.assert_array_equal(law.probabilities, plain.law(3, [nominal]).probabilities)
        assert law.epsilons.tolist() == [epsilon]
        assert mechanism.gamma(epsilon) == plain.gamma(nominal)
        np.testing.assert_array_equal(
            mechanism.sample(rng(), words, epsilon), plain.sample(rng(), words, nominal)
        )
        np.testing.assert_array_equal(
            mechanism.paths(rng(1), words).at([epsilon]), plain.paths(rng(1), words).at([nominal])
        )


def test_between_two_entries_the_smaller_one_holds() -> None:
    mechanism: Any = create("tem-calibrated", LEXICON)
    table = mechanism.certificate
    for low, strength in table.to_json():
        if strength > mechanism.proved_strength(1.0001 * low):
            assert mechanism.strength(low) == strength
            assert mechanism.strength(low * 1.00001) == strength


def test_a_large_lexicon_without_certificate_has_the_proved_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrated, "CERTIFIED_AT_ONCE_WORDS", 59)
    monkeypatch.setattr(calibrated, "known_certificate", lambda *_: None)
    mechanism: Any = create("tem-calibrated", LEXICON)
    assert mechanism.certificate is None
    assert mechanism.nominal(2.0) == 2.0
    promise = mechanism.guarantee(2.0)
    assert promise.status is Status.PROVED
    assert "python -m dpcore calibrate --mechanism tem-calibrated" in promise.reason


def test_outside_its_table_the_theorem_holds() -> None:
    mechanism: Any = create("tem-calibrated", LEXICON)
    assert mechanism.nominal(1e-3) == 1e-3
    assert mechanism.guarantee(1e-3).status is Status.PROVED
    assert mechanism.nominal(1e6) == 1e6
    assert mechanism.guarantee(1e6).status is Status.PROVED
