"""Laws for a reader without the engine, against the engine."""

import numpy as np
import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.closed import LEVELS, closed_laws, differences, rounded_vectors
from tests.fixtures import MakeRng

STEPS = (0.5, 2.0, 9.0, 200.0)


@pytest.fixture
def lexicon(rng: MakeRng) -> Lexicon:
    vectors = rng().standard_normal((120, 40)).astype(np.float32)
    return Lexicon("some", tuple(f"w{i}" for i in range(120)), vectors)


def test_each_formula_gives_the_law_of_its_mechanism(lexicon: Lexicon) -> None:
    laws = closed_laws(lexicon, lambda mechanism: [e for e in STEPS if e in mechanism.admissible])
    assert len(laws) == 5
    for each in laws:
        assert each.epsilons.tolist() == [2.0, 9.0] or each.epsilons.tolist() == [0.5, 2.0, 9.0]
        for word in (0, 77):
            row = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
            there = each.mechanism.probabilities(word, each.epsilons, None)
            assert np.allclose(each.laws(row, word), there, rtol=1e-9, atol=0)


def test_rounded_vectors_are_near_and_their_letters_name_their_levels(lexicon: Lexicon) -> None:
    vectors = rounded_vectors(lexicon)
    assert len(vectors.codes) == lexicon.vectors.size
    assert set(vectors.codes) <= {chr(c) for c in range(35, 127)} - {"\\"}
    assert vectors.levels.max() < LEVELS
    # Ten steps are a standard deviation, and what is beyond 4.5 of them is cut.
    inside = np.abs(lexicon.vectors - lexicon.vectors.mean(axis=0)) < 4.4 * vectors.steps * 10
    missed = np.abs(vectors.values - lexicon.vectors)
    assert (missed[inside] <= 0.5001 * np.broadcast_to(vectors.steps, missed.shape)[inside]).all()


def test_differences_hold_for_every_word_that_was_tried(lexicon: Lexicon) -> None:
    vectors = rounded_vectors(lexicon)
    laws = closed_laws(lexicon, lambda mechanism: [e for e in STEPS if e in mechanism.admissible])
    apart, shares = differences(lexicon, vectors, laws, len(lexicon))
    off = 0.0
    for word in range(len(lexicon)):
        true = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
        row = vectors.distances(word)
        off = max(off, float(np.abs(row - true).max()))
        for each in laws:
            gap = np.abs(
                each.laws(row, word) - each.mechanism.probabilities(word, each.epsilons, None)
            )
            assert (gap.max(axis=1) <= shares[each.mechanism.short]).all()
    assert off <= apart < 1.2 * off
