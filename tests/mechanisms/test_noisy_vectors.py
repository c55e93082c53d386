"""Noisy vectors for a decoder: the vectors that `sample` uses, or a refusal."""

from typing import Any

import numpy as np
import pytest

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.mechanisms.clipped.clipped import ClippedGaussian
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.streams import generator
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(60, 5)
EPSILON = {"trlaplace": 0.5, "adept": 3.0}
HAVING = [k.short for k in MECHANISMS.values() if k.noisy_vectors is not Mechanism.noisy_vectors]
NEAREST = [name for name in HAVING if name != "vickrey"]  # which takes the second nearest at times


@pytest.mark.parametrize("name", [k.short for k in MECHANISMS.values() if k.short not in HAVING])
def test_a_mechanism_without_noisy_vectors_says_so(name: str) -> None:
    with pytest.raises(ParameterError, match="chooses among words"):
        create(name, LEXICON).noisy_vectors(generator(0, "n"), np.arange(3), 1.0)


def test_both_kinds_are_there() -> None:
    assert {"madlib", "gaussian", "trlaplace", "adept"} <= set(NEAREST)
    assert "tem" not in HAVING


@pytest.mark.parametrize("name", NEAREST)
def test_the_nearest_word_to_them_is_what_sample_gives(name: str) -> None:
    mechanism: Any = create(name, LEXICON)
    epsilon = EPSILON.get(name, 3.0)
    words = np.tile(np.arange(60), 5)
    noisy = mechanism.noisy_vectors(generator(1, "n"), words, epsilon)
    assert noisy.dtype == np.float64
    assert noisy.shape == (300, mechanism.targets.shape[1])
    nearest = NearestSearch(mechanism.targets)(noisy)
    assert np.array_equal(nearest, mechanism.sample(generator(1, "n"), words, epsilon))


@pytest.mark.parametrize("name", ["madlib", "trlaplace"])
def test_epsilon_and_words_are_checked(name: str) -> None:
    mechanism = create(name, LEXICON)
    with pytest.raises(EpsilonError):
        mechanism.noisy_vectors(generator(0, "n"), np.arange(3), 0.0)
    with pytest.raises(ParameterError, match="word indices"):
        mechanism.noisy_vectors(generator(0, "n"), np.array([60]), 0.5)


def test_a_large_delta_is_calibrated_too() -> None:
    """Beyond one half: the true δ of TrLaplace's noise, at the σ found, is the one asked."""
    from dpcore.mechanisms.clipped.clipped import gaussian_log_delta

    for delta in (0.6, 0.9, 0.986):
        mechanism = ClippedGaussian(lexicon=LEXICON, delta=delta, clip_norm=1.0)
        true = np.exp(gaussian_log_delta(0.05, mechanism.scale(0.05), 2.0))
        assert true == pytest.approx(delta, rel=1e-9)
    with pytest.raises(ParameterError, match="delta"):
        create("gaussian", LEXICON, {"delta": 0.9999})
