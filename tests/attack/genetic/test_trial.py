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
        one = documents.part([i])
        found = attack(linear, from_substitutions(one, table), label, SETTINGS, rng(i))
        words, last = np.array(one.words), 1.0
        for step in steps(linear, one, found):
            assert words[step.place] == step.old
            assert found.words[step.place] == step.new != step.old
            words[step.place] = step.new
            last = linear.probabilities(one.with_words(words))[0, label]
            assert step.probability == pytest.approx(last)
        predicted = linear.predict(one.with_words(words))[0]
        assert (predicted != label) == found.success
        if not found.success:
            assert np.array_equal(words, found.words)
        fooled += found.success
    assert fooled > 0


def test_accuracy_lies_between_the_certificate_and_the_clean_one(rng: MakeRng) -> None:
    linear, documents, table = case(rng(), documents=20)
    labels = rng(1).integers(2, size=20)
    seen = []
    found = adversarial_accuracy(
        linear,
        documents,
        labels,
        lambda one, rng: from_substitutions(one, table),
        SETTINGS,
        seed=3,
        progress=lambda *step: seen.append(step),
    )
    exact = certify_linear(linear, documents, labels, table).accuracy
    assert exact <= found.accuracy <= found.clean == linear.accuracy(documents, labels)
    assert found.low <= found.accuracy <= found.high
    assert seen[-1] == ("attack", 20, 20)
    # Each document has its own stream: fewer documents, the same attacks.
    part = adversarial_accuracy(
        linear,
        documents.part(range(5)),
        labels[:5],
        lambda one, rng: from_substitutions(one, table),
        SETTINGS,
        seed=3,
    )
    assert part.attacks == found.attacks[:5]


def test_labels_are_needed(rng: MakeRng) -> None:
    linear, documents, table = case(rng())
    for rows, labels in (([0, 1], [0]), ([], [])):
        with pytest.raises(ParameterError, match="needs a label"):
            adversarial_accuracy(
                linear,
                documents.part(rows),
                labels,
                lambda one, rng: from_substitutions(one, table),
                SETTINGS,
                seed=1,
            )
