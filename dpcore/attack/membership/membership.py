"""Membership inference by a shadow model: was this text among those that a model learned from?

The protocol of Carvalho et al. 2021 (Appendix C), after Shokri et al. 2017. The texts fall into
four quarters. The target model is trained on TR1; TR2 is held out. A shadow model of the same kind
is trained on TE2; TE1 is held out. The attack network learns, from the shadow model's outputs, to
tell TE2 (in) from TE1 (out), and is then asked to tell TR1 (in) from TR2 (out) by the target's
outputs. All outputs are for the texts as they were written: the attacker holds a text, and asks
whether it was used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.optional import missing

_GAIN = 1e-3  # nats: what a pass must lower the loss by to count as progress


class Knowledge(StrEnum):
    """What the attack network is shown of a text."""

    OUTPUT = "output"
    """The model's probabilities alone, as in Carvalho et al. 2021."""
    LABEL = "output and label"
    """Also the probability that the model gives to the true label: a stronger attacker."""


@dataclass(frozen=True)
class AttackNetwork:
    """The attacker's network: two layers of 64 units (Carvalho et al. 2021, Appendix C).

    Attributes:
        knowledge: what it is shown.
        hidden: units of each of the two layers.
        epochs: passes over the shadow model's outputs, at most: training ends after `patience`
            passes that no longer lower the loss by `_GAIN`.
        batch: examples of one step.
    """

    knowledge: Knowledge = Knowledge.OUTPUT
    hidden: int = 64
    epochs: int = 20
    batch: int = 64
    patience: int = 3


@dataclass(frozen=True, eq=False)
class Scores:
    """The attacker's belief that each text was in; both arrays are read-only.

    Attributes:
        inside: of the texts that were, shape (a,).
        outside: of those that were not, shape (b,).
    """

    inside: FloatArray
    outside: FloatArray

    def __post_init__(self) -> None:
        """Refuse scores that decide nothing, and make them read-only."""
        for scores in (self.inside, self.outside):
            if not (scores.ndim == 1 and scores.size and np.isfinite(scores).all()):
                raise ParameterError("scores are finite numbers, at least one on each side")
            scores.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers for some texts.

    Attributes:
        probabilities: of each class, shape (k, m).
        labels: the true class, shape (k,).
    """

    probabilities: FloatArray
    labels: IntArray

    def features(self, knowledge: Knowledge) -> FloatArray:
        """What the attack network is shown, shape (k, m) or (k, m + 1)."""
        if knowledge is Knowledge.OUTPUT:
            return self.probabilities
        true = self.probabilities[np.arange(self.labels.size), self.labels]
        return np.column_stack((self.probabilities, true))


@dataclass(frozen=True, eq=False)
class Attacker:
    """A trained attack network, which may be asked about many targets."""

    knowledge: Knowledge
    _model: Any

    def scores(self, target: tuple[Answers, Answers]) -> Scores:
        """Its belief by the target's answers for TR1 (in) and TR2 (out)."""
        inside, outside = (
            self._model.predict_proba(answers.features(self.knowledge))[:, 1] for answers in target
        )
        return Scores(np.asarray(inside), np.asarray(outside))


def train_attacker(
    network: AttackNetwork, shadow: tuple[Answers, Answers], rng: np.random.Generator
) -> Attacker:
    """Train the attack network on the shadow model's answers.

    Args:
        network: its settings.
        shadow: answers of the shadow model for what it learned from (TE2), and did not (TE1).
        rng: of the network's start and order.

    Raises:
        MissingPackageError: scikit-learn is not installed.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise missing("the attack network needs the package scikit-learn", "app") from error

    known = [answers.features(network.knowledge) for answers in shadow]
    # TE2 was learned from, TE1 was not.
    was_in = np.repeat([1, 0], [len(part) for part in known])
    model = make_pipeline(
        StandardScaler(),
        MLPClassifier(
            (network.hidden, network.hidden),
            batch_size=min(network.batch, was_in.size),
            max_iter=network.epochs,
            tol=_GAIN,
            n_iter_no_change=network.patience,
            random_state=int(rng.integers(2**31)),
        ),
    )
    with warnings.catch_warnings():
        # The number of passes is bounded, as in the paper.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.concatenate(known), was_in)
    return Attacker(network.knowledge, model)
