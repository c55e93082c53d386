"""Carvalho et al. 2021, Figures 1a and 1b: TEM against Madlib on IMDb, utility and membership.

Appendix C: the target is trained on TR1 (half of the train split) after privatisation and tested
on the original TE1 (half of the test split). The shadow model is trained on TE2; the attack
network learns from the shadow's outputs on TE2 (in) and TE1 (out), and is evaluated on the
target's outputs on TR1 (in) and TR2 (out). The paper does not say that TE2 is privatised, and
gives the attacker the outputs alone; here is also the stronger attacker, whose shadow model
learns from text that the (public) mechanism rewrote, and who knows the labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.membership import Answers, AttackNetwork, Knowledge, Scores, attack
from dpcore.attack.membership_roc import FEW, auc, rate_at, roc
from dpcore.learn.bags import Bags
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.noise.streams import generator
from dpcore.study.reading_corpora import labelled_rows
from dpcore.study.utility import CLEAN, PRIVATE, Prepared, Row, kept, prepare, private, row

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources

QUARTERS = ("TR1", "TR2", "TE1", "TE2")
ROC_RATES = tuple(float(f"{x:.4g}") for x in np.geomspace(1e-3, 1.0, 37))
"""False-positive rates at which a ROC curve is kept."""
AS_WRITTEN, STRONGER = "shadow on clean text, outputs", "shadow on private text, outputs and label"
"""The attackers: as the appendix says, and one who uses all that is public."""


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """One trial of one mechanism at all its ε, or of the baseline without a mechanism.

    Options: `quarter` (texts of each quarter), `most` (words of a text), `learners`.
    """
    lexicon = sources.lexicon(cell.lexicon)
    quarters = draw_quarters(sources.file(cell.data), cell, lexicon)
    learners = tuple(cell.option("learners"))
    if not cell.mechanism:
        clean = quarters["TR1"].bags, quarters["TE2"].bags
        return [
            one for name in learners for one in _trial(quarters, *clean, name, cell, lexicon, None)
        ]
    mechanism = sources.mechanism(cell)
    parts = quarters["TR1"].bags, quarters["TE2"].bags
    target, shadow = private(mechanism, parts, cell.epsilons, cell.seed)
    rows: list[Row] = []
    for e, epsilon in enumerate(cell.epsilons):
        rows.append(kept((parts[0], target[e]), (parts[1], shadow[e]), epsilon=epsilon))
        for name in learners:
            rows += _trial(quarters, target[e], shadow[e], name, cell, lexicon, epsilon)
    return rows


def draw_quarters(path: Path, cell: Cell, lexicon: Lexicon) -> dict[str, Prepared]:
    """TR1, TR2 of the train split and TE1, TE2 of the test split, the same for every mechanism."""
    size, most = int(cell.option("quarter")), cell.option("most")
    found = {}
    for split, names in (("train", QUARTERS[:2]), ("test", QUARTERS[2:])):
        rng = cell.shared_generator("quarters", split)
        corpus = labelled_rows(path, split, 2 * size, rng)
        places = np.arange(2 * size)
        for name, part in zip(names, (places[:size], places[size:]), strict=True):
            found[name] = prepare(corpus.part(part), lexicon, most)
    return found


def _trial(
    quarters: dict[str, Prepared],
    target_texts: Bags,
    shadow_texts: Bags,
    name: str,
    cell: Cell,
    lexicon: Lexicon,
    epsilon: float | None,
) -> Iterator[Row]:
    """Accuracy of a target, and what two attackers get out of it."""

    def trained(bags: Bags, part: str) -> Classifier:
        rng = generator(cell.seed, "learner", name, part)
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
            generator(cell.seed, "attack", name, variant),
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
