"""Outputs at several ε from one draw: the law of `sample` at each, and the same as the ε-paths."""

import numpy as np
import pytest

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import silent
from dpcore.mechanisms.bulk.sweep import by_law, by_paths, outputs_at
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.chance import assert_law, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms import contract

DRAWS = 4_000
RADIAL = ("madlib", "mahalanobis", "random-projection", "laplace", "l2-laplace", "gaussian")
VICKREY: tuple[dict[str, str | float], ...] = (
    {}, {"t": 0.0}, {"t": 1.0}, {"noise": "mahalanobis", "t": 0.5}
)  # fmt: skip


@pytest.mark.parametrize("key", MECHANISMS)
def test_each_column_has_the_law_of_a_release(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    """False alarm 1e-6 a chi-square test, two tests a mechanism."""
    mechanism = contract.make(key)
    epsilon = typicals[key]
    words = np.full(DRAWS, 3)
    other = min(1.2 * epsilon, 0.5 * (epsilon + mechanism.admissible.high))
    outputs = outputs_at(mechanism, rng(), words, [other, epsilon])
    if mechanism.exact_law:
        law = mechanism.law(3, [epsilon])
        whole = np.zeros(len(mechanism.lexicon))
        whole[law.outputs] = law.probabilities[0]
        assert_law(outputs[:, 1], whole)
    else:
        assert_same_law(outputs[:, 1], mechanism.sample(rng(1), words, epsilon))
    assert_same_law(outputs[:, 0], mechanism.sample(rng(2), words, other))


@pytest.mark.parametrize("key", RADIAL)
def test_it_is_the_path_of_the_same_noise(key: str, small: Lexicon, rng: MakeRng) -> None:
    """The plain twin; only a tie within float32 may be decided otherwise."""
    mechanism = create(key, small)
    words = np.repeat(np.arange(0, 40, 2), 20)
    epsilons = np.geomspace(0.2, 200, 9)
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    plain = mechanism.paths(rng(), words).at(epsilons)
    assert (outputs != plain).mean() < 1e-3
    assert len(np.unique(outputs)) > 10


@pytest.mark.parametrize("settings", VICKREY, ids=str)
def test_the_second_nearest_is_that_of_its_paths(
    settings: dict[str, str | float], small: Lexicon, rng: MakeRng
) -> None:
    mechanism = create("vickrey", small, settings)
    words = np.repeat(np.arange(0, 40, 2), 50)  # more than one batch
    epsilons = np.geomspace(1e-3, 2_000, 9)
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    plain = by_paths(mechanism, rng(), words, epsilons, silent)
    assert (outputs != plain).mean() < 1e-3
    assert len(np.unique(outputs)) > 10


def test_truncated_noise_is_that_of_its_paths(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("trlaplace", small, {"clip_norm": 0.5, "delta_root": 0.25})
    words = np.arange(40)
    epsilons = np.array([0.3, 0.05, 0.8])
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    order = np.sort(epsilons)
    plain = mechanism.paths(rng(), words, epsilons=order).at(epsilons)
    assert (outputs != plain).mean() < 0.02


@pytest.mark.parametrize("settings", [None, {"k": 1}, {"k": 7}, {"k": 39}, {"k": None}], ids=str)
def test_a_response_is_the_inversion_of_its_law(
    settings: dict[str, int | None] | None, small: Lexicon, rng: MakeRng
) -> None:
    """The plain twin: the same outputs, also where e^−ε underflows."""
    name = "k-ary" if settings is None else "neighbour-response"
    mechanism = create(name, small, settings or {})
    words = np.tile(np.arange(40), 100)
    epsilons = np.array([1e-9, 1.0, 4.0, 2.5, 30.0, 2_000.0])
    plain = by_law(mechanism, rng(), words, epsilons, silent)
    assert np.array_equal(outputs_at(mechanism, rng(), words, epsilons), plain)
    assert len(np.unique(plain[:, 0])) == 40


def test_words_in_any_order_are_independent_draws(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("madlib", small)
    words = np.array([5, 1, 5, 39, 0, 5])
    outputs = outputs_at(mechanism, rng(), words, [1e6])
    assert outputs[:, 0].tolist() == words.tolist()  # almost no noise: each stays in its place
    wild = outputs_at(mechanism, rng(), np.full(300, 5), [0.5])
    assert len(np.unique(wild)) > 3


def test_nothing_in_nothing_out_and_refusals(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("tem", small)
    assert outputs_at(mechanism, rng(), [], [1.0, 2.0]).shape == (0, 2)
    with pytest.raises(EpsilonError, match="finite number > 0"):
        outputs_at(mechanism, rng(), [1], [float("nan")])
    with pytest.raises(ParameterError, match="word indices"):
        outputs_at(mechanism, rng(), [40], [1.0])


def test_progress_comes_to_its_end(small: Lexicon, rng: MakeRng) -> None:
    seen = []
    for key in ("tem", "madlib", "trlaplace", "vickrey"):
        mechanism = create(key, small)
        words = np.arange(40)
        epsilons = [0.5 * min(1.0, mechanism.admissible.high)]
        outputs_at(mechanism, rng(), words, epsilons, lambda *step: seen.append(step))
        assert seen[-1] == (key, 40, 40)
