"""TEM: the closed form, its sampler, its exact paths, and the theorem on small vocabularies."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms import certificate
from dpcore.mechanisms.exponential.tem import TruncatedExponential, log_odds, tem_gamma
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import standard_gumbel
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.mechanisms.plain import tem_log_law

DISTANCES = np.array([0.0, 0.7, 1.1, 1.5, 2.9])


def test_reference_values() -> None:
    law = np.exp(tem_log_law(DISTANCES, 2.0, 1.2))
    expected = [0.4112104503, 0.2042010664, 0.1368800682, 0.1238542075, 0.1238542075]
    np.testing.assert_allclose(law, expected, atol=5e-11)
    assert tem_gamma(2.0, 48_210, 1e-3) == pytest.approx(17.69005578, abs=5e-9)


def plain_draws(
    rng: np.random.Generator,
    distance: NDArray[np.float64],
    epsilon: float,
    gamma: float,
    count: int,
) -> NDArray[np.int64]:
    """Algorithm 2 as it is written: Gumbel noise on the near words and on ⊥."""
    near = np.flatnonzero(distance <= gamma)
    far = np.flatnonzero(distance > gamma)
    scores = -distance[near]
    if far.size:
        scores = np.append(scores, -gamma + 2.0 / epsilon * math.log(far.size))
    noisy = scores + 2.0 / epsilon * standard_gumbel(rng, (count, scores.size))
    best = noisy.argmax(axis=1)
    chosen = np.append(near, -1)[best]
    if far.size:
        chosen = np.where(chosen < 0, rng.choice(far, count), chosen)
    return chosen


@pytest.mark.parametrize("gamma", [0.5, 1.2, 5.0])
def test_the_closed_form_is_the_law_of_the_published_algorithm(rng: MakeRng, gamma: float) -> None:
    draws = plain_draws(rng(), DISTANCES, 2.0, gamma, 200_000)
    assert_law(draws, np.exp(tem_log_law(DISTANCES, 2.0, gamma)))


@pytest.mark.parametrize("metric", list(Metric))
def test_law_is_the_closed_form_in_every_metric(small: Lexicon, metric: Metric) -> None:
    mechanism = TruncatedExponential(lexicon=small, metric=str(metric), beta=0.01)
    epsilons = np.array([1e-3, 0.7, 5.0, 80.0])
    law = mechanism.law(7, epsilons)
    distance = distances(small.vectors, small.vectors[[7]], metric)[0]
    for row, epsilon in zip(law.probabilities, epsilons, strict=True):
        expected = np.exp(tem_log_law(distance, epsilon, mechanism.gamma(epsilon)))
        np.testing.assert_allclose(row, expected, atol=1e-14)
    assert law.exact
    assert law.error < 1e-11
    np.testing.assert_array_equal(law.outputs, np.arange(40))
    np.testing.assert_allclose(law.probabilities.sum(axis=1), 1.0, atol=1e-13)


def test_a_known_ranking_changes_nothing(small: Lexicon) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    ranking = rank(small.vectors, small.vectors[[3]])[0]
    with_it = mechanism.law(3, [2.0], ranking=ranking).probabilities
    np.testing.assert_array_equal(with_it, mechanism.law(3, [2.0]).probabilities)
    # It is Euclidean, so another metric must not use it.
    other = TruncatedExponential(lexicon=small, metric="manhattan")
    with_it = other.law(3, [2.0], ranking=ranking).probabilities
    np.testing.assert_array_equal(with_it, other.law(3, [2.0]).probabilities)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_samples_have_the_law(rng: MakeRng, small: Lexicon, epsilon: float) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    outputs = mechanism.sample(rng(), np.full(100_000, 11), epsilon)
    assert_law(outputs, mechanism.law(11, [epsilon]).probabilities[0])


def test_a_batch_is_what_one_by_one_gives(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    words = np.array([5, 0, 5, 39, 0, 5])
    single = rng(1)
    alone = [int(mechanism.sample(single, np.array([w]), 2.0)[0]) for w in words]
    assert mechanism.sample(rng(1), words, 2.0).tolist() == alone
    single = rng(2)
    grid = np.geomspace(0.01, 100.0, 50)
    paths = mechanism.paths(rng(2), words).at(grid)
    for row, word in zip(paths, words, strict=True):
        np.testing.assert_array_equal(mechanism.paths(single, np.array([word])).at(grid)[0], row)


@pytest.mark.parametrize("name", ["random", "lattice", "one-hot", "near duplicates", "two words"])
@pytest.mark.parametrize("beta", [0.001, 0.3])
def test_paths_equal_direct_evaluation_with_the_same_noise(
    rng: MakeRng, name: str, beta: float
) -> None:
    lexicon = lexicons.cloud(300, 8) if name == "random" else lexicons.crafted()[name]
    n = len(lexicon)
    mechanism = TruncatedExponential(lexicon=lexicon, beta=beta)
    words = rng().integers(0, n, 40)
    paths = mechanism.paths(rng(1), words)
    noise = standard_gumbel(rng(1), (words.size, n))
    rows = distances(lexicon.vectors, lexicon.vectors[words])
    mismatches = 0
    for i in range(words.size):
        breaks = paths.breaks[i][np.isfinite(paths.breaks[i])]
        # Breaks of the crafted near duplicates lie at huge ε.
        grid = np.geomspace(1e-4, 1e12, 300)
        grid = np.concatenate((grid, breaks * (1 - 1e-9), breaks * (1 + 1e-9)))
        scores = np.maximum(np.multiply.outer(-0.5 * grid, rows[i]), -mechanism.cap) + noise[i]
        mismatches += int((scores.argmax(axis=1) != paths.at(grid)[i]).sum())
        assert np.all(np.diff(breaks) >= 0)
    assert mismatches == 0
    assert paths.exact
    assert (paths.low, paths.high) == (0.0, math.inf)


def test_one_path_has_the_law_at_every_epsilon(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedExponential(lexicon=small, beta=0.05)
    epsilons = np.array([0.2, 2.0, 6.0, 50.0])
    outputs = mechanism.paths(rng(), np.full(60_000, 4)).at(epsilons)
    for column, row in zip(outputs.T, mechanism.law(4, epsilons).probabilities, strict=True):
        assert_law(column, row)


@pytest.mark.parametrize("metric", list(Metric))
def test_the_theorem_holds_on_a_small_vocabulary(small: Lexicon, metric: Metric) -> None:
    mechanism = TruncatedExponential(lexicon=small, metric=str(metric))
    epsilon = 3.0
    rows = distances(small.vectors, small.vectors, metric)
    gamma = mechanism.gamma(epsilon)
    logs = np.stack([tem_log_law(row, epsilon, gamma) for row in rows])
    loss = np.abs(logs[:, None] - logs[None, :]).max(axis=2)
    promise = mechanism.guarantee(epsilon)
    assert isinstance(promise, MetricPrivacy)
    assert (promise.status, promise.metric) == (Status.PROVED, str(metric))
    assert np.all(loss <= promise.loss(1.0) * rows + 1e-9)
    euclidean = distances(small.vectors, small.vectors)
    assert np.all(rows <= promise.euclidean_factor * euclidean + 1e-12)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("name", ["all huge", "all tiny", "huge and tiny", "two words"])
def test_extreme_values_give_a_law(rng: MakeRng, name: str, epsilon: float) -> None:
    lexicon = lexicons.crafted()[name]
    mechanism = TruncatedExponential(lexicon=lexicon)
    law = mechanism.law(1, [epsilon]).probabilities
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert 0 <= int(mechanism.sample(rng(), np.array([1]), epsilon)[0]) < len(lexicon)
    assert mechanism.gamma(epsilon) > 0


def test_limits(small: Lexicon) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    law = mechanism.law(2, [1e-300, 1e300])
    np.testing.assert_allclose(law.probabilities[0], 1.0 / 40, rtol=1e-12)
    assert law.stay()[1] == pytest.approx(1.0 - mechanism.beta, abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, -0.1, 0.975, 1.0, 2.0, math.nan])
def test_beta_outside_its_range_is_refused(small: Lexicon, beta: float) -> None:
    with pytest.raises(ParameterError, match="beta of tem must be"):
        TruncatedExponential(lexicon=small, beta=beta)


def test_a_tiny_beta_does_not_overflow() -> None:
    assert log_odds(48_210, 5e-324) == pytest.approx(744.44 + math.log(48_209), abs=0.01)


def test_what_is_not_a_metric_is_refused_with_the_reason(small: Lexicon) -> None:
    with pytest.raises(ParameterError, match="cosine distance is not a metric"):
        TruncatedExponential(lexicon=small, metric="cosine")
    with pytest.raises(ParameterError, match="use one of euclidean"):
        TruncatedExponential(lexicon=small, metric="hamming")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_inadmissible_epsilon_is_refused(rng: MakeRng, small: Lexicon, epsilon: float) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    for call in (mechanism.guarantee, mechanism.gamma, lambda e: mechanism.law(0, [e])):
        with pytest.raises(EpsilonError, match="finite number > 0"):
            call(epsilon)
    with pytest.raises(EpsilonError, match="finite number > 0"):
        mechanism.sample(rng(), np.array([0]), epsilon)


def test_an_approximate_index_is_refused(rng: MakeRng, small: Lexicon) -> None:
    class Approximate:
        exact = False

    with pytest.raises(ParameterError, match="approximate index would break"):
        TruncatedExponential(lexicon=small).sample(rng(), np.array([0]), 1.0, index=Approximate())  # type: ignore[arg-type]


def test_no_words_give_no_outputs(rng: MakeRng, small: Lexicon) -> None:
    mechanism = TruncatedExponential(lexicon=small)
    nothing = np.empty(0, dtype=np.int64)
    assert mechanism.sample(rng(), nothing, 1.0).shape == (0,)
    assert mechanism.paths(rng(), nothing).at(np.array([1.0, 2.0])).shape == (0, 2)


@pytest.mark.parametrize("metric", list(Metric))
def test_a_zero_vector_has_no_angle(metric: Metric) -> None:
    lexicon = lexicons.lexicon([[0, 0], [1, 0], [1, 1], [0, -2]])
    if metric is Metric.ANGULAR:
        with pytest.raises(ParameterError, match="zero vector"):
            TruncatedExponential(lexicon=lexicon, metric=str(metric))
        return
    assert TruncatedExponential(lexicon=lexicon, metric=str(metric)).guarantee(1.0).epsilon == 1.0


# Calibrated TEM is TEM at 2η(ε), and its true ε is what it says, pair by pair.


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


def test_it_keeps_more_words_than_tem_at_the_same_guarantee() -> None:
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
    monkeypatch.setattr(certificate, "CERTIFIED_AT_ONCE_WORDS", 59)
    monkeypatch.setattr(certificate, "known_certificate", lambda *_: None)
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
