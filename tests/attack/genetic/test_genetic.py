from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.attack.genetic.candidates import from_substitutions
from dpcore.attack.genetic.genetic import Genetic, attack
from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.learn.classifiers import Kind, Learner, train
from dpcore.learn.linear.certificate import certify_linear, changes_allowed
from dpcore.learn.linear.linear import LinearModel
from dpcore.learn.substitutions import Substitutions
from tests.attack.genetic_cases import WORDS, bags, case
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng


def margin(
    linear: LinearModel, words: NDArray[np.int64], document: Bags, label: int, rival: int
) -> float:
    scores = linear.scores(document.with_words(words))[0]
    return scores[label] - scores[rival]


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("tries", [1, 3])
def test_it_never_gets_below_the_exact_certificate(
    rng: MakeRng, share: float, classes: int, tries: int
) -> None:
    """And changes no more words than it may, into nothing that is not allowed."""
    linear, documents, table = case(rng(), classes=classes)
    labels = linear.predict(documents)
    exact = certify_linear(linear, documents, labels, table, share)
    settings = Genetic(population=12, generations=8, share=share, tries=tries)
    broken = 0
    for i, label in enumerate(labels.tolist()):
        document = documents.part([i])
        attacked = attack(linear, from_substitutions(document, table), label, settings, rng(i))
        assert not (attacked.success and exact.certified[i])
        broken += attacked.success
        budget = changes_allowed([(document.words >= 0).sum()], share)[0]
        for generation in attacked.generations:
            words = np.array(generation.words)
            reached = min(
                margin(linear, words, document, label, c) for c in range(classes) if c != label
            )
            assert reached >= exact.margins[i] - 1e-12
            moved = np.flatnonzero(words != document.words)
            assert moved.size == generation.changed <= budget
            assert all(words[j] in table.of(document.words[j]) for j in moved)
            alone = linear.probabilities(document.with_words(words))[0, label]
            assert generation.probability == pytest.approx(alone, abs=1e-12)
        assert attacked.success == (linear.predict(document.with_words(attacked.words))[0] != label)
    assert broken > 0
    assert broken <= (~exact.certified).sum()


def test_with_time_it_reaches_the_exact_worst_case(rng: MakeRng) -> None:
    """Two words, two choices each that are both worse than the word: nine texts.

    The fittest member is both parents of a child with probability at least 1/P², and the child
    then gets the best choice in a place that lacks it with probability at least 1/4. Eight such
    events are enough; the number of generations makes fewer of them unlikely.
    """
    vectors = np.array([[1.0], [0.9], [0.8], [0.7], [0.6], [0.5]] * 5, dtype=np.float32)
    linear = LinearModel(np.array([[1.0], [-1.0]]), np.zeros(2), vectors)
    table = Substitutions(np.arange(2), np.array([[0, 2, 4], [1, 3, 5]]), np.ones(2))
    document = bags([np.array([0, 1])])
    exact = certify_linear(linear, document, [0], table)
    assert exact.certified.all()
    members = 4
    chance = 1 - (1 - 1 / (4 * members**2)) ** (members - 1)
    generations = 200
    while stats.binom.cdf(7, generations, chance) > FALSE_ALARM:
        generations += 50
    settings = Genetic(members, generations, share=1.0)
    attacked = attack(linear, from_substitutions(document, table), 0, settings, rng())
    assert not attacked.success
    assert np.array_equal(attacked.words, exact.texts.words)
    # The fittest of each generation never gets worse.
    assert (np.diff([g.probability for g in attacked.generations]) <= 0).all()


def test_one_word_is_enough(rng: MakeRng) -> None:
    """A text of one word, whose every choice fools: found in the first population."""
    vectors = np.array([[1.0], [-1.0], [-2.0]] * 10, dtype=np.float32)
    linear = LinearModel(np.array([[1.0], [-1.0]]), np.zeros(2), vectors)
    table = Substitutions(np.array([0]), np.array([[0, 1, 2]]), np.ones(1))
    attacked = attack(linear, from_substitutions(bags([[0]]), table), 0, Genetic(), rng())
    assert attacked.success
    assert len(attacked.generations) == 2
    assert attacked.generations[0].changed == 0
    assert attacked.generations[1].changed == 1
    assert attacked.queries == 1 + Genetic().population


@pytest.mark.parametrize("text", [[-1], [-1, -1], [29], [28, -1]])
def test_nothing_to_change_is_no_success(rng: MakeRng, text: list[int]) -> None:
    """Unknown words, and words without substitutes."""
    linear, _, table = case(rng())
    document = bags([text])
    label = int(linear.predict(document)[0])
    attacked = attack(linear, from_substitutions(document, table), label, Genetic(), rng(1))
    assert not attacked.success
    assert attacked.queries == len(attacked.generations) == 1
    still = attack(
        linear, from_substitutions(bags([[3, 4]]), table), label, Genetic(share=0.0), rng()
    )
    assert len(still.generations) == 1


def test_a_text_that_is_wrong_already_is_left_alone(rng: MakeRng) -> None:
    linear, documents, table = case(rng())
    document = documents.part([0])
    wrong = 1 - int(linear.predict(document)[0])
    attacked = attack(linear, from_substitutions(document, table), wrong, Genetic(), rng(1))
    assert attacked.success
    assert np.array_equal(attacked.words, document.words)


def test_it_is_fixed_by_its_generator(rng: MakeRng) -> None:
    linear, documents, table = case(rng(), classes=3)
    document = documents.part([2])
    label = int(linear.predict(document)[0])
    settings = Genetic(population=8, generations=5, share=1.0)
    runs = [
        attack(linear, from_substitutions(document, table), label, settings, rng(1)) for _ in "ab"
    ]
    assert runs[0] == runs[1]


def test_any_classifier_with_probabilities_will_do(rng: MakeRng) -> None:
    generator = rng()
    linear, documents, table = case(generator, documents=40)
    labels = np.arange(40) % 2
    for kind in ("averaged", "tf-idf"):
        victim = train(Learner(Kind(kind)), documents, labels, linear.vectors, generator)
        label = int(victim.predict(documents.part([1]))[0])
        attacked = attack(
            victim,
            from_substitutions(documents.part([1]), table),
            label,
            Genetic(share=1.0),
            generator,
        )
        after = victim.predict(documents.part([1]).with_words(attacked.words))[0]
        assert attacked.success == (after != label)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"population": 1}, "population"),
        ({"population": 10**6}, "population"),
        ({"generations": -1}, "generations"),
        ({"tries": 0}, "candidates are tried"),
        ({"share": 1.5}, "share of words"),
        ({"share": np.nan}, "share of words"),
    ],
)
def test_bad_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Genetic(**changed)


def test_a_label_that_is_no_class_is_refused(rng: MakeRng) -> None:
    linear, documents, table = case(rng())
    for label in (-1, 2):
        with pytest.raises(ParameterError, match="the label must be one of"):
            attack(linear, from_substitutions(documents.part([0]), table), label, Genetic(), rng())
    assert len(linear.vectors) == WORDS
