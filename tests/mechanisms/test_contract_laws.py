"""Laws and limits that every mechanism of the registry keeps to.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from typing import Any

import numpy as np
import pytest

from tests.chance import assert_law, assert_law_near, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms.contract import DIRECTIONS, SMALL, dense_law, every_mechanism, make

TEM = {"tem.v1", "tem-calibrated.v1"}
# However small ε is, these tell two words apart: noise that stops growing, words that are not
# sensitive, sets and boxes that are a word's own.
ALWAYS_TELLING = {"trlaplace.v1", "santext-plus.v1", "custext.v1", "wbb.v1"}

# -- laws -----------------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("word", [0, 33])
def test_law_agrees_with_samples_and_with_paths(
    key: str, word: int, typicals: dict[str, float], rng: MakeRng
) -> None:
    mechanism, epsilon, draws = make(key), typicals[key], 20_000
    law, error = dense_law(mechanism, word, epsilon, rng())
    sampled = mechanism.sample(rng(1), np.full(draws, word), epsilon)
    grid = np.array([epsilon])
    on_paths = mechanism.paths(rng(2), np.full(draws, word), epsilons=grid).at(grid)[:, 0]
    assert_same_law(sampled, on_paths)
    if error == 0:
        assert_law(sampled, law)
        assert_law(on_paths, law)
    else:
        assert_law_near(sampled, law, error, DIRECTIONS)
        assert_law_near(on_paths, law, error, DIRECTIONS)


@every_mechanism
def test_law_is_a_distribution_at_every_epsilon(key: str, rng: MakeRng) -> None:
    mechanism = make(key)
    allowed = mechanism.admissible
    top = min(0.999 * allowed.high, 1e6)
    epsilons = np.geomspace(max(1.001 * allowed.low, 1e-3), top, 9)
    law = mechanism.law(7, epsilons, rng=rng())
    assert law.exact is type(mechanism).exact_law
    assert law.probabilities.shape == (9, law.outputs.size)
    assert np.all(np.diff(law.outputs) > 0)
    assert np.all(law.probabilities >= 0)
    np.testing.assert_allclose(law.probabilities.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(law.stay(), law.dense(len(SMALL))[:, 7], rtol=0, atol=0)
    for e in (0, 8):
        best = law.top(3, e)
        row = law.dense(len(SMALL))[e]
        assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
        assert best[0][1] == row.max()
        assert all(row[SMALL.index(word)] == law.probability(word, e) == p for word, p in best)


@every_mechanism
def test_a_law_without_a_generator_is_the_same_at_every_call(key: str) -> None:
    mechanism = make(key)
    epsilon = min(2 * mechanism.admissible.low + 0.1, 0.9 * mechanism.admissible.high)
    law = mechanism.law(0, epsilon)
    again = mechanism.law(SMALL.words[0], [epsilon], rng=mechanism.estimating())
    assert law.exact is again.exact is type(mechanism).exact_law
    np.testing.assert_array_equal(law.outputs, again.outputs)
    np.testing.assert_array_equal(law.probabilities, again.probabilities)


# -- limits ---------------------------------------------------------------------------------------


@every_mechanism
def test_without_noise_the_word_stays(key: str, rng: MakeRng) -> None:
    """ε→∞, or the largest admissible ε. TEM keeps 1 − β of it for ever; β is made small here.

    TrLaplace's noise does not vanish at the end of its range: it is left out.
    """
    if key == "trlaplace.v1":
        assert make(key).admissible.high < math.inf
        return
    mechanism = make(key, beta=1e-12) if key in TEM else make(key)
    words = np.arange(len(SMALL))
    if key == "vickrey.v1":
        mechanism = make(key, t=0.5)
    if key == "neighbour-response.v1":
        mechanism = make(key, k=1)
    if key == "santext-plus.v1":
        mechanism = make(key, p=0.0)
    if key == "wbb.v1":
        assert not (mechanism.sample(rng(), words, 1e9) == words).any()
        return
    epsilon = 1e9 if key != "truncated-gumbel.v1" else 1e200
    np.testing.assert_array_equal(mechanism.sample(rng(), words, epsilon), words)
    if mechanism.paths(rng(), words).high == math.inf:
        np.testing.assert_array_equal(
            mechanism.paths(rng(), words).at(np.array([1e12]))[:, 0], words
        )


@every_mechanism
def test_without_privacy_budget_the_word_does_not_matter(key: str, rng: MakeRng) -> None:
    """ε→0: one law for all words; for additive noise that of argmax ⟨u, τ⟩, for TEM uniform."""
    mechanism: Any = make(key, k=5) if key == "custext.v1" else make(key)
    if mechanism.admissible.low > 0:
        return  # defined only above a bound, where the word still matters
    draws = 20_000
    a, b = (mechanism.sample(rng(w), np.full(draws, w), 1e-6) for w in (0, 33))
    if key in ALWAYS_TELLING:
        with pytest.raises(AssertionError):
            assert_same_law(a, b)
        return
    assert_same_law(a, b)
    if key in TEM:
        assert_law(a, np.full(len(SMALL), 1 / len(SMALL)))
    elif hasattr(mechanism, "bundle") and key != "vickrey.v1":
        unit = mechanism.directions(rng(3), draws)
        assert_same_law(a, (unit @ mechanism.targets.T.astype(np.float64)).argmax(axis=1))
