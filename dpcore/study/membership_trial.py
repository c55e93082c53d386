"""One trial of membership inference on four quarters of a corpus, as rows.

The target learns from TR1 (private), the shadow model from TE2; the attack is that of
`dpcore.attack.membership`. Carvalho et al. 2021 (Appendix C) give the attacker a shadow model
whose training text is not said to be private, and the outputs alone. Beside it stands the stronger
attacker that all public knowledge allows: the shadow model learns from text that the same (public)
mechanism rewrote, and the labels are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.membership import Answers, AttackNetwork, Knowledge, Scores, attack
from dpcore.attack.membership_roc import FEW, auc, rate_at, roc
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.noise.streams import generator
from dpcore.study.rows import CLEAN, PRIVATE, Row, row

if TYPE_CHECKING:
    from dpcore.learn.bags import Bags
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.study.rows import Prepared

QUARTERS = ("TR1", "TR2", "TE1", "TE2")
ROC_RATES = tuple(float(f"{x:.4g}") for x in np.geomspace(1e-3, 1.0, 37))
"""False-positive rates at which a ROC curve is kept."""
AS_WRITTEN, STRONGER = "shadow on clean text, outputs", "shadow on private text, outputs and label"
"""The attackers: as the appendix says, and one who uses all that is public."""


def membership_trial(
    quarters: Mapping[str, Prepared],
    target_texts: Bags,
    shadow_texts: Bags,
    name: str,
    seed: int,
    lexicon: Lexicon,
    epsilon: float | None,
) -> Iterator[Row]:
    """Accuracy of a target, and what two attackers get out of it.

    Args:
        quarters: the four parts as they were written, by `QUARTERS`.
        target_texts: TR1 as the target learns from it.
        shadow_texts: TE2 as the mechanism rewrites it.
        name: of the classifier.
        seed: of the networks.
        lexicon: its vectors are the features.
        epsilon: of the rows; None for clean text.
    """

    def trained(bags: Bags, part: str) -> Classifier:
        rng = generator(seed, "learner", name, part)
        return train(learner_of(name), bags, quarters[part].labels, lexicon.vectors, rng)

    def answers(model: Classifier, *parts: str) -> tuple[Answers, Answers]:
        first, second = (
            Answers(model.probabilities(quarters[part].bags), quarters[part].labels)
            for part in parts
        )
        return first, second

    own: dict[str, Any] = {"epsilon": epsilon, "learner": name}
    target = trained(target_texts, "TR1")
    tests = quarters["TE1"]
    size = len(tests.bags)
    largest = int(np.bincount(quarters["TR1"].labels).argmax())
    if epsilon is None:
        yield row("majority", (tests.labels == largest).mean(), tested_on=CLEAN, count=size, **own)
    yield row(
        "accuracy", target.accuracy(tests.bags, tests.labels), tested_on=CLEAN, count=size, **own
    )
    seen = target.accuracy(quarters["TR1"].bags, quarters["TR1"].labels)
    yield row("accuracy on what it learned", seen, tested_on=CLEAN, count=size, **own)
    shadows = {AS_WRITTEN: trained(quarters["TE2"].bags, "TE2")}
    if epsilon is not None:
        share = target.accuracy(shadow_texts, quarters["TE2"].labels)
        yield row("accuracy", share, tested_on=PRIVATE, count=len(shadow_texts), **own)
    shadows[STRONGER] = trained(shadow_texts, "TE2")
    for variant, shadow in shadows.items():
        knowledge = Knowledge.OUTPUT if variant == AS_WRITTEN else Knowledge.LABEL
        scores = attack(
            AttackNetwork(knowledge),
            answers(shadow, "TE2", "TE1"),
            answers(target, "TR1", "TR2"),
            generator(seed, "attack", name, variant),
        )
        yield from _attack_rows(scores, {"variant": variant, **own})


def _attack_rows(scores: Scores, own: dict[str, Any]) -> Iterator[Row]:
    yield row("auc", auc(scores), count=scores.inside.size + scores.outside.size, **own)
    for rate in FEW:
        found = rate_at(scores, rate)
        yield row(
            "tpr",
            found.true_positives,
            at=rate,
            low=found.low,
            high=found.high,
            count=found.inside,
            **own,
        )
    for rate, share in zip(ROC_RATES, roc(scores, ROC_RATES).tolist(), strict=True):
        yield row("roc", share, at=rate, count=scores.inside.size, **own)
