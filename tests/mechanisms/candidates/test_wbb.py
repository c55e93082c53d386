"""Words blending boxes: the law by hand, and the effect of a floor."""

import math

import numpy as np
import pytest

from dpcore.audit.exact import audit_mechanism
from dpcore.guarantee import Status
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.candidates.wbb import WordsBlendingBoxes
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)
APART = distances(LEXICON.vectors, LEXICON.vectors)


@pytest.mark.parametrize("epsilon", [0.3, 9.0, 2000.0])
def test_the_law_is_the_formula(epsilon: float) -> None:
    mechanism = WordsBlendingBoxes(lexicon=LEXICON, safe=4, box=10)
    box = np.argsort(APART[6], kind="stable")[4:14]
    away = APART[6, box]
    with np.errstate(over="ignore"):
        scores = 1 / (1 + np.exp(-epsilon * (away - away.mean()) / 2 * away.std()))
    by_hand = np.zeros(N)
    by_hand[box] = scores / scores.sum()
    np.testing.assert_allclose(mechanism.law(6, [epsilon]).dense(N)[0], by_hand, rtol=1e-9)


def test_a_word_never_comes_out_for_itself_but_does_for_others() -> None:
    mechanism = WordsBlendingBoxes(lexicon=LEXICON, safe=4, box=10)
    assert mechanism.guarantee(1.0).status is Status.REFUTED
    laws = np.stack([mechanism.law(word, [1.0]).dense(N)[0] for word in range(N)])
    assert not laws.diagonal().any()
    audit = audit_mechanism(mechanism, 1.0, words=np.arange(N)).losses
    assert audit.epsilon_effective == math.inf
    assert audit.delta > 0.9


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 6.0, 40.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "huge and tiny", "two words"])
def test_with_a_floor_epsilon_holds(name: str, epsilon: float) -> None:
    lexicon = LEXICON if name == "cloud" else lexicons.crafted()[name]
    mechanism = WordsBlendingBoxes(lexicon=lexicon, form="floor")
    promise = mechanism.guarantee(epsilon)
    assert promise.status is Status.PROVED
    audit = audit_mechanism(mechanism, epsilon, words=np.arange(len(lexicon))).losses
    assert audit.epsilon_effective <= epsilon * (1 + 1e-9)
    law = mechanism.law(0, [epsilon]).dense(len(lexicon))[0]
    assert law.min() >= mechanism.floor(epsilon) / len(lexicon) * (1 - 1e-9)


def test_at_a_large_epsilon_the_floor_is_low() -> None:
    mechanism = WordsBlendingBoxes(lexicon=LEXICON, form="floor")
    assert mechanism.floor(30.0) < 1e-9
    assert mechanism.floor(1e-9) == pytest.approx(1.0)
