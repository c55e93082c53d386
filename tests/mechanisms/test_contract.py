"""What every mechanism of the registry keeps to, whatever it does inside.

False-alarm probability of each randomised assertion: 1e-6.
"""

import json
import math
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.approximate import ApproximateIndex
from dpcore.lexicon.neighbours import ExactIndex
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.chance import FALSE_ALARM, assert_same_law, deviation
from tests.fixtures import MakeRng
from tests.mechanisms.contract import SMALL, dense_law, every_mechanism, make

# -- shapes, seeds, batches -----------------------------------------------------------------------


@every_mechanism
def test_sample_gives_one_word_for_each_entry(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    mechanism = make(key)
    for size in (0, 1, 7, 1300):
        words = rng().integers(0, len(SMALL), size)
        out = mechanism.sample(rng(1), words, typicals[key])
        assert out.shape == (size,)
        assert out.dtype == np.int64
        assert np.all((out >= 0) & (out < len(SMALL)))


@every_mechanism
def test_paths_have_the_agreed_form(key: str, rng: MakeRng) -> None:
    mechanism = make(key)
    for words in (np.array([], np.int64), np.array([4]), np.array([4, 9, 4]), np.full(5, 11)):
        paths = mechanism.paths(rng(), words)
        assert len(paths) == words.size
        assert paths.outputs.dtype == np.int64
        assert paths.outputs.shape == (words.size, paths.breaks.shape[1] + 1)
        assert np.array_equal(paths.words, words)
        for i in range(words.size):
            pieces = paths.pieces(i)
            assert pieces[0].from_epsilon == paths.low
            assert pieces[-1].to_epsilon == paths.high
            for a, b in pairwise(pieces):
                assert a.to_epsilon == b.from_epsilon
                assert a.output != b.output
            assert all(0 <= piece.output < len(SMALL) for piece in pieces)


@every_mechanism
def test_a_seed_determines_the_output(key: str, typicals: dict[str, float], rng: MakeRng) -> None:
    mechanism = make(key)
    words = np.arange(30)
    first = mechanism.sample(rng(), words, typicals[key])
    assert np.array_equal(first, mechanism.sample(rng(), words, typicals[key]))
    other = mechanism.paths(rng(), words), mechanism.paths(rng(), words)
    assert np.array_equal(other[0].breaks, other[1].breaks)
    assert np.array_equal(other[0].outputs, other[1].outputs)


@every_mechanism
def test_known_rankings_change_nothing(key: str, rng: MakeRng) -> None:
    mechanism = make(key)
    words = np.array([3, 17, 3])
    known = rank(SMALL.vectors, SMALL.vectors[words])
    a = mechanism.paths(rng(), words)
    b = mechanism.paths(rng(), words, rankings=known)
    epsilons = np.geomspace(max(a.low, 1e-3), min(a.high, 1e6), 60)
    assert np.array_equal(a.at(epsilons), b.at(epsilons))


@every_mechanism
def test_equal_words_of_a_batch_get_different_noise(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    """One noise vector for a whole batch would make all 300 outputs equal."""
    mechanism, words = make(key), np.zeros(300, dtype=np.int64)
    law, _ = dense_law(mechanism, 0, typicals[key], rng(1))
    assert law.max() ** 299 < FALSE_ALARM, "this ε cannot tell"
    assert np.unique(mechanism.sample(rng(), words, typicals[key])).size > 1
    grid = np.array([typicals[key]])
    paths = mechanism.paths(rng(2), words, epsilons=grid)
    assert np.unique(paths.at(grid)).size > 1


@every_mechanism
def test_entries_of_a_batch_are_independent(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    """Neighbours agree as often as two independent draws: Σ p², within Bernstein's bound."""
    mechanism, draws = make(key), 20_000
    out = mechanism.sample(rng(), np.zeros(draws, dtype=np.int64), typicals[key])
    share = np.bincount(out) / draws
    expected = np.square(share).sum()
    for lag in (1, 2, 512):
        agree = (out[:-lag:2] == out[lag::2]) if lag % 2 else out[:-lag] == out[lag:]
        # Pairs may share an entry: half of them do not.
        slack = deviation(agree.size // 2, expected * (1 - expected)) + 2 * deviation(draws, 0.25)
        assert abs(agree.mean() - expected) <= slack


@every_mechanism
def test_the_law_of_an_entry_does_not_depend_on_the_batch(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    mechanism = make(key)
    generator, epsilon, word = rng(), typicals[key], 5
    many = mechanism.sample(generator, np.full(6000, word), epsilon)
    mixed = np.resize([word, 0, 39, 21], 4 * 3000)
    among = mechanism.sample(generator, mixed, epsilon)[::4]
    alone = [mechanism.sample(generator, np.array([word]), epsilon)[0] for _ in range(1500)]
    assert_same_law(many, among)
    assert_same_law(many, alone)


# -- ε, indices, parameters -----------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("bad", [0, 0.0, -1, math.nan, math.inf, -math.inf, 10**400, "text", None])
def test_epsilon_must_be_a_finite_positive_number(key: str, bad: Any, rng: MakeRng) -> None:
    mechanism = make(key)
    words = np.array([0])
    for call in (
        lambda: mechanism.check_epsilon(bad),
        lambda: mechanism.guarantee(bad),
        lambda: mechanism.sample(rng(), words, bad),
    ):
        with pytest.raises(EpsilonError, match="finite number > 0, got"):
            call()


@every_mechanism
def test_bad_epsilons_of_a_law_are_refused(key: str, rng: MakeRng) -> None:
    for bad in ([0.0], [1.0, math.nan], [math.inf], [-2.0]):
        with pytest.raises(EpsilonError):
            make(key).law(0, bad, rng=rng())


@every_mechanism
def test_the_ends_of_the_range_are_open_and_explained(key: str) -> None:
    mechanism = make(key)
    allowed = mechanism.admissible
    if allowed.low > 0:
        for value in (allowed.low, allowed.low / 2):
            with pytest.raises(EpsilonError) as caught:
                mechanism.check_epsilon(value)
            assert f"{allowed.low:.6g}" in str(caught.value)
            assert allowed.low_reason in str(caught.value)
            assert f"got {value:g}" in str(caught.value)
        assert mechanism.check_epsilon(allowed.low * 1.0001) > allowed.low
    if allowed.high < math.inf:
        for value in (allowed.high, 2 * allowed.high):
            with pytest.raises(EpsilonError) as caught:
                mechanism.check_epsilon(value)
            assert f"{allowed.high:.6g}" in str(caught.value)
            assert allowed.high_reason in str(caught.value)
        assert mechanism.check_epsilon(allowed.high * 0.9999) < allowed.high


@every_mechanism
def test_words_outside_the_vocabulary_are_refused(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    for bad in ([-1], [len(SMALL)], [[0, 1]]):
        with pytest.raises(ParameterError, match="word indices"):
            make(key).sample(rng(), np.array(bad), typicals[key])


@every_mechanism
def test_an_approximate_index_is_refused_unless_it_is_post_processing(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    mechanism, words = make(key), np.zeros(4000, dtype=np.int64)
    approximate = ApproximateIndex(SMALL)
    if not mechanism.accepts_approximate_search:
        with pytest.raises(ParameterError, match="approximate"):
            mechanism.sample(rng(), words, typicals[key], index=approximate)
        return
    own_points = getattr(mechanism, "targets", None) is not SMALL.vectors
    for index in (approximate, ExactIndex(SMALL.vectors)):
        if own_points:
            with pytest.raises(ParameterError, match="its own points"):
                mechanism.sample(rng(), words, typicals[key], index=index)
        else:
            outputs = mechanism.sample(rng(), words, typicals[key], index=index)
            assert_same_law(outputs, mechanism.sample(rng(1), words, typicals[key]))


@every_mechanism
def test_settings_survive_a_round_trip_through_json(key: str) -> None:
    mechanism = make(key)
    copied = create(key, SMALL, json.loads(json.dumps(mechanism.settings())))
    assert copied.settings() == mechanism.settings()
    as_text = {name: str(value) for name, value in mechanism.settings().items()}
    assert create(mechanism.short, SMALL, as_text).settings() == mechanism.settings()


@every_mechanism
def test_an_unknown_parameter_is_named_with_the_known_ones(key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        create(key, SMALL, {"no_such": 1})
    for name in ("no_such", *(MECHANISMS[key].parameters() or ["none"])):
        assert name in str(caught.value)


@every_mechanism
def test_parameters_are_bounded_and_explained(key: str) -> None:
    for name, declared in MECHANISMS[key].parameters().items():
        assert declared["help"]
        bad: list[object] = [math.nan] if declared["low"] is not None else []
        if declared["low"] is not None:
            bad.append(declared["low"] - 1)
        if declared["high"] is not None:
            bad.append(declared["high"] * 2 + 1)
        if declared["type"] == "str":  # one of its choices, or what the mechanism can read
            bad.append("no such choice")
        assert bad, f"{name} has neither bounds nor choices"
        for value in bad:
            with pytest.raises(ParameterError, match=name):
                make(key, SMALL, **cast("dict[str, Any]", {name: value}))
