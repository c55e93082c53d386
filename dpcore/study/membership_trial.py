"""One trial of membership inference on four quarters of a corpus, as rows.

The target learns from TR1 (private), the shadow model from TE2; the attack is that of
`dpcore.attack.membership.membership`. Carvalho et al. 2021 (Appendix C) give the attacker a shadow
model whose training text is not said to be private, and the outputs alone. Beside it stands the
stronger attacker that all public knowledge allows: the shadow model learns from text that the same
(public) mechanism rewrote, and the labels are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.membership.membership import (
    Answers,
    Attacker,
    AttackNetwork,
    Knowledge,
    Scores,
    train_attacker,
)
from dpcore.attack.membership.roc import FEW, auc, rate_at, roc
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.noise.streams import generator
from dpcore.study.rows import CLEAN, PRIVATE, Row, row
from dpcore.study.utility import majority

if TYPE_CHECKING:
    from dpcore.learn.bags import Bags
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.study.rows import Prepared

QUARTERS = ("TR1", "TR2", "TE1", "TE2")
ROC_RATES = tuple(float(f"{x:.4g}") for x in np.geomspace(1e-3, 1.0, 37))
"""False-positive rates at which a ROC curve is kept."""
AS_WRITTEN, STRONGER = "shadow on clean text, outputs", "shadow on private text, outputs and label"
"""The attackers: as the appendix says, and one who uses all that is public."""


class MembershipTrial:
    """The four quarters and one kind of classifier: what holds for every private text of them.

    The attacker as written knows nothing of the mechanism, so the same shadow model and attack
    network face every target.
    """

    def __init__(
        self, quarters: Mapping[str, Prepared], name: str, seed: int, lexicon: Lexicon
    ) -> None:
        """Take the parts as they were written; nothing is trained yet.

        Args:
            quarters: by `QUARTERS`.
            name: of the classifier.
            seed: of the networks.
            lexicon: its vectors are the features.
        """
        self._quarters, self._name = quarters, name
        self._seed, self._vectors = seed, lexicon.vectors

    def rows(self, target_texts: Bags, shadow_texts: Bags, epsilon: float | None) -> Iterator[Row]:
        """Accuracy of a target, and what two attackers get out of it.

        Args:
            target_texts: TR1 as the target learns from it.
            shadow_texts: TE2 as the mechanism rewrites it.
            epsilon: of the rows; None for clean text.
        """
        common: dict[str, Any] = {"epsilon": epsilon, "learner": self._name}
        tests, learned = self._quarters["TE1"], self._quarters["TR1"]
        size = len(tests.bags)
        if epsilon is None:
            yield majority(learned.labels, tests.labels, **common)
        target = self._trained(target_texts, "TR1")
        share = target.accuracy(tests.bags, tests.labels)
        yield row("accuracy", share, tested_on=CLEAN, count=size, **common)
        # Asked about texts as they were written: an attacker who wonders about a person has those.
        asked = self._answers(target, "TR1", "TR2")
        seen = (asked[0].probabilities.argmax(axis=1) == learned.labels).mean()
        yield row("accuracy on what it learned", seen, tested_on=CLEAN, count=size, **common)
        # Without noise both attackers have the same shadow model; it is trained once.
        if epsilon is None:
            shadow = self._clean_shadow
        else:
            share = target.accuracy(shadow_texts, self._quarters["TE2"].labels)
            yield row("accuracy", share, tested_on=PRIVATE, count=len(shadow_texts), **common)
            shadow = self._trained(shadow_texts, "TE2")
        for variant, attacker in (
            (AS_WRITTEN, self._as_written),
            (STRONGER, self._attacker(shadow, Knowledge.LABEL, STRONGER)),
        ):
            yield from _attack_rows(attacker.scores(asked), {"variant": variant, **common})

    @cached_property
    def _clean_shadow(self) -> Classifier:
        return self._trained(self._quarters["TE2"].bags, "TE2")

    @cached_property
    def _as_written(self) -> Attacker:
        return self._attacker(self._clean_shadow, Knowledge.OUTPUT, AS_WRITTEN)

    def _trained(self, bags: Bags, part: str) -> Classifier:
        rng = generator(self._seed, "learner", self._name, part)
        return train(learner_of(self._name), bags, self._quarters[part].labels, self._vectors, rng)

    def _answers(self, model: Classifier, *parts: str) -> tuple[Answers, Answers]:
        """For the texts as they were written."""
        first, second = (
            Answers(model.probabilities(part.bags), part.labels)
            for part in (self._quarters[name] for name in parts)
        )
        return first, second

    def _attacker(self, shadow: Classifier, knowledge: Knowledge, variant: str) -> Attacker:
        rng = generator(self._seed, "attack", self._name, variant)
        return train_attacker(AttackNetwork(knowledge), self._answers(shadow, "TE2", "TE1"), rng)


def _attack_rows(scores: Scores, common: dict[str, Any]) -> Iterator[Row]:
    yield row("auc", auc(scores), count=scores.inside.size + scores.outside.size, **common)
    for rate in FEW:
        operating = rate_at(scores, rate)
        yield row(
            "tpr",
            operating.true_positives,
            at=rate,
            low=operating.low,
            high=operating.high,
            count=operating.inside,  # the share is one of members
            **common,
        )
    for rate, share in zip(ROC_RATES, roc(scores, ROC_RATES).tolist(), strict=True):
        yield row("roc", share, at=rate, count=scores.inside.size, **common)
