import numpy as np
import pytest

from dpcore.attack.genetic.candidates import from_substitutions
from dpcore.attack.genetic.genetic import Genetic, attack
from dpcore.attack.genetic.trial import adversarial_accuracy, steps
from dpcore.errors import ParameterError
from dpcore.learn.linear.certificate import certify_linear
from tests.attack.genetic_cases import case
from tests.fixtures import MakeRng

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
