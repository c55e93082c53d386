"""The attack network: it finds members where they show, and guesses where they do not."""

import numpy as np
import pytest

from dpcore.attack.membership import (
    Answers,
    AttackNetwork,
    Knowledge,
    Scores,
    auc,
    train_attacker,
)
from dpcore.errors import MissingPackageError, ParameterError
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng, Uninstall

TEXTS = 800


def answers(random: np.random.Generator, sure: float) -> Answers:
    """Probabilities of two classes; a model is `sure` of the true class of what it learned."""
    labels = random.integers(2, size=TEXTS)
    true = random.beta(2.0 + sure, 2.0, TEXTS)
    probabilities = np.empty((TEXTS, 2))
    probabilities[np.arange(TEXTS), labels] = true
    probabilities[np.arange(TEXTS), 1 - labels] = 1 - true
    return Answers(probabilities, labels)


# Hoeffding for the two-sample U-statistic of TEXTS and TEXTS independent answers.
SLACK = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * TEXTS))


@pytest.mark.parametrize("knowledge", Knowledge)
def test_members_that_show_are_found(knowledge: Knowledge, rng: MakeRng) -> None:
    random = rng()
    shadow = answers(random, 12.0), answers(random, 0.0)
    target = answers(random, 12.0), answers(random, 0.0)
    scores = train_attacker(AttackNetwork(knowledge), shadow, rng(1)).scores(target)
    assert auc(scores) > 0.5 + SLACK
    again = train_attacker(AttackNetwork(knowledge), shadow, rng(1)).scores(target)
    assert np.array_equal(again.inside, scores.inside)


def test_members_that_do_not_show_are_not_found(rng: MakeRng) -> None:
    random = rng()
    shadow = answers(random, 12.0), answers(random, 0.0)
    target = answers(random, 5.0), answers(random, 5.0)
    scores = train_attacker(AttackNetwork(Knowledge.LABEL), shadow, rng(1)).scores(target)
    assert abs(auc(scores) - 0.5) < SLACK


def test_training_ends_when_nothing_is_left_to_learn(rng: MakeRng) -> None:
    random = rng()
    shadow = answers(random, 3.0), answers(random, 3.0)
    attacker = train_attacker(AttackNetwork(epochs=200), shadow, rng(1))
    assert attacker._model[-1].n_iter_ < 60


def test_what_the_network_is_shown() -> None:
    answers = Answers(np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0, 0]))
    assert answers.features(Knowledge.OUTPUT).shape == (2, 2)
    assert answers.features(Knowledge.LABEL)[:, 2].tolist() == [0.9, 0.3]


def test_refusals(rng: MakeRng, uninstalled: Uninstall) -> None:
    for wrong in ([], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match="finite numbers"):
            Scores(np.array(wrong), np.array([0.5]))
    part = answers(rng(), 1.0)
    uninstalled("sklearn")
    with pytest.raises(MissingPackageError, match="scikit-learn; install"):
        train_attacker(AttackNetwork(), (part, part), rng())
