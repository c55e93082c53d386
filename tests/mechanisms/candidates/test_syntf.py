"""SynTF, term by term: the law by hand, and why all terms must be candidates."""

import math

import numpy as np
import pytest

from dpcore.audit.exact import audit_mechanism
from dpcore.guarantee import Status
from dpcore.mechanisms.candidates.syntf import SynTF
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)


def similarity() -> np.ndarray:
    unit = LEXICON.vectors / np.linalg.norm(LEXICON.vectors.astype(np.float64), axis=1)[:, None]
    return np.maximum(unit @ unit.T, 0.0)


@pytest.mark.parametrize("epsilon", [0.2, 5.0, 80.0])
def test_the_law_is_the_formula(epsilon: float) -> None:
    rho = similarity()[6]
    weights = np.exp(0.5 * epsilon * (rho - 1.0))
    law = SynTF(lexicon=LEXICON).law(6, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(law, weights / weights.sum(), rtol=1e-5)
    weights[np.argsort(-rho, kind="stable")[7:]] = 0.0
    some = SynTF(lexicon=LEXICON, candidates="synonyms", k=7).law(6, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(some, weights / weights.sum(), rtol=1e-5)


@pytest.mark.parametrize("epsilon", [0.2, 3.0, 20.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "collinear", "huge and tiny"])
def test_over_all_terms_epsilon_holds(name: str, epsilon: float) -> None:
    lexicon = LEXICON if name == "cloud" else lexicons.crafted()[name]
    mechanism = SynTF(lexicon=lexicon)
    assert mechanism.guarantee(epsilon).status is Status.PROVED
    assert audit_mechanism(mechanism, epsilon, words=np.arange(len(lexicon))).losses.holds


def test_synonyms_of_its_own_give_a_word_away() -> None:
    mechanism = SynTF(lexicon=LEXICON, candidates="synonyms")
    assert mechanism.guarantee(2.0).status is Status.REFUTED
    audit = audit_mechanism(mechanism, 2.0, words=np.arange(N)).losses
    assert audit.epsilon_effective == math.inf
    everyone = SynTF(lexicon=LEXICON, candidates="synonyms", k=N)
    assert everyone.guarantee(2.0).status is Status.PROVED


def test_a_zero_vector_is_like_nothing_but_itself() -> None:
    mechanism = SynTF(lexicon=lexicons.line(0, 1, 2))
    assert mechanism.similarity(0).tolist() == [1.0, 0.0, 0.0]
    assert mechanism.similarity(1).tolist() == [0.0, 1.0, 1.0]
