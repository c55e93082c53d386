"""Examples of classification errors after rewriting, on texts classified correctly when clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.learn.corpus import Bags
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.study.labelled_trial import Material

EXAMPLE = "example"
"""Quantity of a row that is an example; its numeric columns are missing."""
TEXTS = ("original", "private", "true", "guessed")
"""Extra columns of an example: the original and the rewritten text, its class, and the class that a
classifier of private texts assigns to the rewritten text."""


class WrongAnswers:
    """Watcher that collects examples from the classifiers of a `labelled_trial` for one labelling.

    Attributes:
        examples: the examples so far, each a row of `dpcore.study.plan.COLUMNS` and `TEXTS`.
    """

    def __init__(
        self, material: Material, labelling: str, learner: str, seed: int, most: int
    ) -> None:
        """Train the classifier on the clean texts.

        Args:
            material: the texts.
            labelling: one of its labellings.
            learner: name of the classifier.
            seed: seed of the trial.
            most: largest number of examples per ε.
        """
        self.examples: list[dict[str, Any]] = []
        self._material, self._labelling, self._learner = material, labelling, learner
        self._most = most
        labels, true = material.labels[labelling]
        rng = generator(seed, "learner", learner)
        vectors = material.training.lexicon.vectors
        # A text that the clean classifier gets wrong too is not an error of the rewriting.
        clean = train(learner_of(learner), material.bags[0], labels, vectors, rng)
        self._right = clean.predict(material.bags[1]) == true

    def __call__(
        self, labelling: str, learner: str, epsilon: float | None, model: Classifier, tests: Bags
    ) -> None:
        """Collect examples (see `dpcore.study.labelled_trial.Watch`); ignore other classifiers."""
        if (labelling, learner) != (self._labelling, self._learner) or epsilon is None:
            return
        # `tests` has the same documents in the same positions, with other words.
        material = self._material
        true, classes = material.labels[labelling][1], material.classes[labelling]
        guessed = model.predict(tests)
        places = (self._right & (guessed != true)).nonzero()[0][: self._most]
        private = material.testing.texts(tests.words) if places.size else []
        for i in places.tolist():
            self.examples.append(
                {
                    "quantity": EXAMPLE,
                    "data": labelling,
                    "learner": learner,
                    "epsilon": epsilon,
                    "original": material.originals[i],
                    "private": private[i],
                    "true": classes[true[i]],
                    "guessed": classes[guessed[i]],
                }
            )
