"""Normal, augmented and certified training of small networks."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.tensors import array
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.learn.text_network.training import Examples, WorstCaseSchedule, perturbed, train_network
from dpcore.learn.training import Training
from dpcore.mechanisms.registry import create
from tests import needs
from tests.learn.networks import bag, small_lexicon, small_substitutions

torch = needs.torch()

SETTINGS = Training(epochs=12, batch=16, rate=0.02, clip=1.0, seed=1, threads=1)


def examples(count: int, seed: int = 0) -> Examples:
    """The label says whether word 9 or word 10 is in the text; neither may be replaced."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=count)
    texts = [[*rng.integers(9, size=3).tolist(), 9 + label] for label in labels.tolist()]
    return Examples(bag(*(rng.permutation(text).tolist() for text in texts)), labels)


def trained(settings: Training = SETTINGS, **more: Any) -> Any:
    shape = Shape(Kind.CNN, 5, 2, hidden=8, layers=1, dropout=0.1)
    vectors = small_lexicon().vectors
    return train_network(shape, settings, examples(120), examples(40, 1), vectors, **more)


def certified(**more: Any) -> Any:
    return trained(certified=WorstCaseSchedule(), substitutions=small_substitutions(), **more)


def bits(model: Any) -> bytes:
    return b"".join(array(model.tensors[name]).tobytes() for name in sorted(model.tensors))


def test_certified_training_certifies_what_normal_training_does_not() -> None:
    test = examples(200, 2)
    table = small_substitutions()
    (normal, _), (robust, told) = trained(), certified()
    assert normal.accuracy(test.bags, test.labels) > 0.9
    assert robust.accuracy(test.bags, test.labels) > 0.9
    first = normal.certify(test.bags, test.labels, table).accuracy
    second = robust.certify(test.bags, test.labels, table).accuracy
    assert second > max(first + 0.1, 0.7)
    assert told.best >= WorstCaseSchedule().first(SETTINGS.epochs)


@pytest.mark.slow
def test_one_seed_has_one_network_and_resumes_to_it(tmp_path: Path) -> None:
    whole, _ = certified()
    assert bits(certified()[0]) == bits(whole)
    state = tmp_path / "state.safetensors"

    def stop(stage: str, done: int, total: int) -> None:
        if done > 0.4 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certified(state=state, progress=stop)
    assert state.is_file()
    assert bits(certified(state=state)[0]) == bits(whole)


def test_the_schedule_grows_and_stays() -> None:
    schedule = WorstCaseSchedule(weight=0.8, full=0.5)
    assert schedule.at(0.0, 10) == (0.0, 0.0)
    assert schedule.at(2.5, 10) == (0.5, 0.4)
    assert schedule.at(5.0, 10) == schedule.at(9.9, 10) == (1.0, 0.8)
    assert schedule.first(10) == 5
    assert WorstCaseSchedule(full=1.0).at(0.0, 10) == (1.0, 0.8)
    for wrong in ({"weight": 0.0}, {"weight": 1.1}, {"full": 0.0}, {"full": float("nan")}):
        with pytest.raises(ParameterError):
            WorstCaseSchedule(**wrong)


def test_copies_stand_behind_their_texts_with_their_labels() -> None:
    some = Examples(bag([1, 2], [3]), np.array([1, 0]), bag([4], [5, 6]))
    result = some.with_copies([bag([7, 7], [8]), bag([9, 9], [10])])
    assert result.bags.words.tolist() == [1, 2, 3, 7, 7, 8, 9, 9, 10]
    assert result.bags.offsets.tolist() == [0, 2, 3, 5, 6, 8, 9]
    assert result.labels.tolist() == [1, 0] * 3
    assert result.premises.words.tolist() == [4, 5, 6] * 3


@pytest.mark.parametrize(("name", "large"), [("madlib", 1e6), ("tem", 1e6)])
def test_copies_are_what_the_mechanism_makes_of_known_words(name: str, large: float) -> None:
    mechanism = create(name, small_lexicon(), {"beta": 1e-9} if name == "tem" else {})
    some = bag([1, -1, 2], [3])
    small, same = perturbed(mechanism, some, [0.01, large], 4, np.random.default_rng(0))
    assert len(small) == len(same) == 4
    for copy in same:
        assert np.array_equal(copy.words, some.words)
    for copy in small:
        assert copy.words[1] == -1
        assert (copy.words[[0, 2, 3]] >= 0).all()
    assert len({tuple(copy.words.tolist()) for copy in small}) > 1


def test_what_cannot_be_trained_is_refused() -> None:
    table = small_substitutions()
    with pytest.raises(ParameterError, match="a schedule and substitutions, both"):
        trained(certified=WorstCaseSchedule())
    with pytest.raises(ParameterError, match="a schedule and substitutions, both"):
        trained(substitutions=table)
    shape = Shape(Kind.CNN, 5, 3, hidden=8)
    vectors = small_lexicon().vectors
    with pytest.raises(CorpusError, match="lack 2"):
        train_network(shape, SETTINGS, examples(20), examples(5), vectors)
    nothing = examples(20).part(np.arange(0))
    two = dataclasses.replace(shape, classes=2)
    with pytest.raises(CorpusError, match="no example is held out"):
        train_network(two, SETTINGS, examples(20), nothing, vectors)
    mechanism = create("tem", small_lexicon(), {})
    for copies in (0, 1_001):
        with pytest.raises(ParameterError, match="perturbed copies"):
            perturbed(mechanism, bag([1]), [1.0], copies, np.random.default_rng(0))
