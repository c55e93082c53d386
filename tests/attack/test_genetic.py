""""""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.attack.genetic import (
    Genetic,
    adversarial_accuracy,
    attack,
    from_mechanism,
    from_substitutions,
    steps,
)
from dpcore.errors import EpsilonError, ParameterError
from dpcore.learn.classifiers import Kind, Learner, train
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import certify_linear, changes_allowed
from dpcore.learn.linear.training import LinearModel
from dpcore.learn.substitutions import Substitutions, nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from tests.attack.genetic_cases import WORDS, bags, case
from tests.chance import FALSE_ALARM, assert_law
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


SETTINGS = Genetic(population=10, generations=6, share=1.0)


def test_steps_lead_from_the_text_to_the_one_that_fools(rng: MakeRng) -> None:
    linear, documents, table = case(rng(), documents=20)
    labels = linear.predict(documents)
    fooled = 0
    for i, label in enumerate(labels.tolist()):
        document = documents.part([i])
        attacked = attack(linear, from_substitutions(document, table), label, SETTINGS, rng(i))
        words, last = np.array(document.words), 1.0
        for step in steps(linear, document, attacked):
            assert words[step.place] == step.old
            assert attacked.words[step.place] == step.new != step.old
            words[step.place] = step.new
            last = linear.probabilities(document.with_words(words))[0, label]
            assert step.probability == pytest.approx(last)
        predicted = linear.predict(document.with_words(words))[0]
        assert (predicted != label) == attacked.success
        if not attacked.success:
            assert np.array_equal(words, attacked.words)
        fooled += attacked.success
    assert fooled > 0


def test_accuracy_lies_between_the_certificate_and_the_clean_one(rng: MakeRng) -> None:
    linear, documents, table = case(rng(), documents=20)
    labels = rng(1).integers(2, size=20)
    seen = []
    accuracy = adversarial_accuracy(
        linear,
        documents,
        labels,
        lambda document, rng: from_substitutions(document, table),
        SETTINGS,
        seed=3,
        progress=lambda *step: seen.append(step),
    )
    exact = certify_linear(linear, documents, labels, table).accuracy
    assert exact <= accuracy.accuracy <= accuracy.clean == linear.accuracy(documents, labels)
    assert accuracy.low <= accuracy.accuracy <= accuracy.high
    assert seen[-1] == ("attack", 20, 20)
    # Each document has its own stream: fewer documents, the same attacks.
    part = adversarial_accuracy(
        linear,
        documents.part(range(5)),
        labels[:5],
        lambda document, rng: from_substitutions(document, table),
        SETTINGS,
        seed=3,
    )
    assert part.attacks == accuracy.attacks[:5]


def test_labels_are_needed(rng: MakeRng) -> None:
    linear, documents, table = case(rng())
    for rows, labels in (([0, 1], [0]), ([], [])):
        with pytest.raises(ParameterError, match="needs a label"):
            adversarial_accuracy(
                linear,
                documents.part(rows),
                labels,
                lambda document, rng: from_substitutions(document, table),
                SETTINGS,
                seed=1,
            )
