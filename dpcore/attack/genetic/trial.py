"""What genetic word substitution does to a classifier: word by word, and to its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.genetic.genetic import Attacked, Genetic, Victim, attack
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.attack.genetic.candidates import Candidates


@dataclass(frozen=True)
class Step:
    """One changed word.

    Attributes:
        place: in the document.
        old: the word before.
        new: the word after.
        probability: of the label after it.
    """

    place: int
    old: int
    new: int
    probability: float


def steps(victim: Victim, document: Bags, attacked: Attacked) -> tuple[Step, ...]:
    """The changes of an attack one by one, always the one that takes most from the label.

    It ends when the classifier is fooled, so that changes that were not needed are left out.

    Args:
        victim: the classifier.
        document: the one that was attacked.
        attacked: by `attack`.
    """
    text, goal = np.array(document.words), attacked.words
    done: list[Step] = []
    while (places := np.flatnonzero(text != goal)).size:
        options = np.repeat(text[None], places.size, axis=0)
        options[np.arange(places.size), places] = goal[places]
        offsets = np.arange(places.size + 1, dtype=np.int64) * text.size
        scores = victim.probabilities(Bags(options.ravel(), offsets, document.vocabulary))
        best = int(scores[:, attacked.label].argmin())
        place = int(places[best])
        done.append(
            Step(place, int(text[place]), int(goal[place]), float(scores[best, attacked.label]))
        )
        text = options[best]
        if attacked.success and scores[best].argmax() != attacked.label:
            break
    return tuple(done)


@dataclass(frozen=True)
class AdversarialAccuracy:
    """Accuracy of a classifier under the attack; an upper bound on that under every attack.

    Attributes:
        clean: share of the documents that are right before.
        accuracy: share that are right after.
        low: of its 95 % Clopper–Pearson interval, over documents like these.
        high: of it.
        documents: how many.
        attacks: what was found for each.
    """

    clean: float
    accuracy: float
    low: float
    high: float
    documents: int
    attacks: tuple[Attacked, ...]


def adversarial_accuracy(
    victim: Victim,
    bags: Bags,
    labels: ArrayLike,
    candidates: Callable[[Bags, np.random.Generator], Candidates],
    settings: Genetic,
    seed: int,
    progress: Progress = silent,
) -> AdversarialAccuracy:
    """Attack every document that is classified right.

    Args:
        victim: the classifier.
        bags: k ≥ 1 documents.
        labels: class of each, shape (k,).
        candidates: of one document, such as `from_substitutions` with the substitutions filled in.
        settings: of the attack.
        seed: each document has a stream of its own under it.
        progress: called with ("attack", documents done, k).

    Raises:
        ParameterError: there is no document, or the labels are not one a document.
    """
    truth = np.asarray(labels, dtype=np.int64)
    if not (truth.shape == (len(bags),) and truth.size):
        raise ParameterError(
            f"each of at least one document needs a label, got {len(bags)} and {truth.size}"
        )
    attacks = []
    for i, label in enumerate(truth.tolist()):
        rng = generator(seed, "genetic", i)
        choices = candidates(bags.part([i]), rng)
        attacks.append(attack(victim, choices, label, settings, rng))
        progress("attack", i + 1, len(bags))
    # An attack that ended with the original text found it classified otherwise already.
    clean = sum(not (attacked.success and len(attacked.generations) == 1) for attacked in attacks)
    right = sum(not attacked.success for attacked in attacks)
    low, high = clopper_pearson(right, len(attacks), 0.025)
    return AdversarialAccuracy(
        clean / len(attacks), right / len(attacks), low, high, len(attacks), tuple(attacks)
    )
