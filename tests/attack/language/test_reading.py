"""The attacker with a network: limits, one step by hand, and words left alone."""

from typing import Any

import numpy as np
import pytest

from dpcore.attack.language.context import read_on
from dpcore.attack.language.language import UNKNOWN
from tests.lexicon.masked_models import random_reader

N = 10


FLAT = np.full(N, 1 / N)


def uniform(count: int) -> list[np.ndarray]:
    return [np.full(N, 1 / N)] * count


def test_outputs_that_reveal_everything_leave_nothing_to_read() -> None:
    reader = random_reader(0)
    words = [4, 0, 9]
    beliefs = read_on(reader, [np.ones(N)] * 3, list(np.eye(N)[words]), FLAT)
    assert np.array_equal(np.stack(beliefs), np.eye(N)[words])


def test_an_output_that_reveals_nothing_leaves_the_answer_of_the_network() -> None:
    """One hidden word between known ones: its context holds still, so all sweeps agree."""
    reader = random_reader(1)
    evidence: list[Any] = [3, np.ones(N), 5]
    tokens = np.array([[reader.boundary, 3, reader.hidden, 5, reader.boundary]])
    scores = reader.logits(reader.embedded(tokens), np.array([2]))[0].astype(float)
    for exponent in (0.5, 1.0):
        law = np.exp(exponent * (scores - scores.max()))
        for sweeps in (1, 4):
            beliefs = read_on(reader, evidence, uniform(3), FLAT, sweeps=sweeps, exponent=exponent)
            assert beliefs[1] == pytest.approx(law / law.sum(), rel=1e-5)
        # Places with a known word keep what they were given.
        assert np.array_equal(beliefs[0], uniform(1)[0])


def test_the_network_multiplies_what_the_bigrams_believe_by_more_than_frequency() -> None:
    reader = random_reader(2)
    rng = np.random.default_rng(0)
    belief, frequency = rng.dirichlet(np.ones(N)), rng.dirichlet(np.ones(N))
    blind = read_on(reader, [1, np.ones(N), 2], uniform(3), FLAT)[1]
    given = [FLAT, belief, FLAT]
    seen = read_on(reader, [1, np.ones(N), 2], given, frequency)[1]
    expected = blind * belief / frequency
    assert seen == pytest.approx(expected / expected.sum(), rel=1e-4)


def test_without_exponent_the_bigrams_are_left() -> None:
    beliefs = list(np.random.default_rng(1).dirichlet(np.ones(N), 4))
    read = read_on(random_reader(3), [np.ones(N)] * 4, beliefs, FLAT, exponent=0.0)
    assert np.stack(read) == pytest.approx(np.stack(beliefs))


def test_all_places_of_a_sweep_are_updated_from_the_beliefs_before_it() -> None:
    reader = random_reader(4)
    start = [law / law.sum() for law in np.random.default_rng(3).random((3, N))]
    certain = np.stack(start).max(axis=1)[:, None]
    mean = np.stack(start) @ reader.embedded(np.arange(N))
    mixed = certain * mean + (1 - certain) * reader.embedded(np.array([reader.hidden]))
    edge = reader.embedded(np.array([reader.boundary]))
    rows = np.concatenate([edge, mixed, edge])
    beliefs = read_on(reader, [np.ones(N)] * 3, start, FLAT, sweeps=1)
    for i in range(3):
        hidden = rows.copy()
        hidden[i + 1] = reader.embedded(np.array(reader.hidden))
        scores = reader.logits(hidden[None], np.array([i + 1]))[0].astype(float)
        law = start[i] * np.exp(scores - scores.max())
        assert beliefs[i] == pytest.approx(law / law.sum(), rel=1e-4)


def test_a_sentence_is_read_without_those_beside_it() -> None:
    reader = random_reader(5)
    first: list[Any] = list(np.random.default_rng(4).random((2, N)))
    second: list[Any] = [7, np.ones(N)]
    together = read_on(reader, [*first, N, *second], uniform(5), FLAT)
    assert np.allclose(together[:2], read_on(reader, first, uniform(2), FLAT), rtol=1e-4)
    assert np.allclose(together[4], read_on(reader, second, uniform(2), FLAT)[1], rtol=1e-4)


def test_a_long_sentence_is_read_in_parts_and_unknown_words_are_no_known_ones() -> None:
    reader = random_reader(6)  # nine places, seven of them words
    evidence: list[Any] = [1, 2, 3, 4, 5, 6, 7, np.ones(N), 8]
    apart = read_on(reader, [np.ones(N), 8], uniform(2), FLAT)[0]
    assert np.allclose(read_on(reader, evidence, uniform(9), FLAT)[7], apart, rtol=1e-4)
    known = read_on(reader, [0, np.ones(N)], uniform(2), FLAT)[1]
    unknown = read_on(reader, [UNKNOWN, np.ones(N)], uniform(2), FLAT)[1]
    assert not np.allclose(known, unknown)
