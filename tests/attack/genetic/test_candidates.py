import numpy as np
import pytest

from dpcore.attack.genetic.candidates import from_mechanism, from_substitutions
from dpcore.errors import EpsilonError, ParameterError
from dpcore.learn.substitutions import nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from tests.attack.genetic_cases import WORDS, bags, case
from tests.chance import assert_law
from tests.fixtures import MakeRng


@pytest.fixture(scope="module")
def words() -> Lexicon:
    vectors = np.random.default_rng(5).standard_normal((WORDS, 4)).astype(np.float32)
    return Lexicon("thirty", tuple(f"w{i}" for i in range(WORDS)), vectors)


def test_draws_have_the_law_of_the_mechanism_given_a_change(rng: MakeRng, words: Lexicon) -> None:
    mechanism = create("tem", words, {})
    document = bags([[4, -1, 9, 4]])
    candidates = from_mechanism(document, mechanism, 2.0, rng())
    assert candidates.places.tolist() == [0, 2, 3]
    picked = rng(1).integers(3, size=30_000)
    drawn = candidates.draw(rng(2), picked)
    for entry, word in enumerate((4, 9, 4)):
        law = mechanism.law(word, [2.0]).dense(WORDS)[0]
        law[word] = 0.0
        assert_law(drawn[picked == entry], law / law.sum())
    assert "exact law" in candidates.method


def test_a_mechanism_without_a_law_is_drawn_from(rng: MakeRng, words: Lexicon) -> None:
    mechanism = create("madlib", words, {})
    candidates = from_mechanism(bags([[4, 9]]), mechanism, 1.0, rng(), draws=50)
    assert "50 draws" in candidates.method
    drawn = candidates.draw(rng(1), np.zeros(500, dtype=np.int64))
    draws = mechanism.sample(rng(), np.full(50, 4), 1.0)  # the first draws of the same generator
    assert set(drawn.tolist()) <= set(draws.tolist()) - {4}


def test_draws_stand_for_a_law_where_they_are_asked_for(words: Lexicon) -> None:
    mechanism = create("tem", words, {})
    document = bags([[4, 9]])
    candidates = from_mechanism(document, mechanism, 2.0, np.random.default_rng(0), draws=50)
    assert "50 draws" in candidates.method
    twin_rng = np.random.default_rng(0)
    for entry, word in enumerate((4, 9)):
        drawn = mechanism.sample(twin_rng, np.full(50, word), 2.0)
        outputs, counts = np.unique(drawn[drawn != word], return_counts=True)
        row = candidates.rows[entry]
        np.testing.assert_array_equal(candidates.words[row, : outputs.size], outputs)
        steps = np.cumsum(counts) / counts.sum()
        np.testing.assert_allclose(candidates.steps[row, : outputs.size], steps)
    # Where the mechanism gives every word back, the law given a change is left, and no draw.
    still, settled = create("tem", words, {"beta": 1e-9}), 200.0
    kept = [still.law(word, [settled]).dense(WORDS)[0][word] for word in (4, 9)]
    assert 50 * (2 - sum(kept)) < 1e-6  # chance that a draw changes a word
    assert from_mechanism(document, still, settled, twin_rng).places.size == 2
    assert from_mechanism(document, still, settled, twin_rng, draws=50).places.size == 0


def test_only_allowed_substitutes_are_tried(rng: MakeRng, words: Lexicon) -> None:
    table = nearest_words(words, range(WORDS), 3)
    candidates = from_mechanism(bags([[4, 9]]), create("tem", words, {}), 2.0, rng(), within=table)
    for entry, word in enumerate((4, 9)):
        drawn = candidates.draw(rng(1), np.full(300, entry))
        assert set(drawn.tolist()) <= set(table.of(word).tolist())


def test_substitutes_are_equally_likely(rng: MakeRng) -> None:
    _, _, table = case(rng())
    candidates = from_substitutions(bags([[3, 29, -1]]), table)
    assert candidates.places.tolist() == [0]
    law = np.zeros(WORDS)
    allowed = table.of(3)
    np.add.at(law, allowed, 1.0 / allowed.size)
    assert_law(candidates.draw(rng(1), np.zeros(20_000, dtype=np.int64)), law)


def test_bad_arguments_are_refused(rng: MakeRng, words: Lexicon) -> None:
    mechanism = create("madlib", words, {})
    for draws in (0, 10**9):
        with pytest.raises(ParameterError, match="draws"):
            from_mechanism(bags([[4]]), mechanism, 1.0, rng(), draws=draws)
    with pytest.raises(EpsilonError):
        from_mechanism(bags([[4]]), mechanism, 0.0, rng())
    with pytest.raises(ParameterError, match="one document"):
        from_mechanism(bags([[4], [5]]), mechanism, 1.0, rng())
    # At a huge ε nothing is ever changed: there is nothing to try.
    assert from_mechanism(bags([[4]]), mechanism, 1e6, rng()).places.size == 0
