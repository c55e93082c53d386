"""What private text still teaches a classifier: train on it, test on private and on clean text.

A document is a bag of lexicon words (`dpcore.learn.bags`), cut to its first places. One noise draw
a seed gives the private text at every ε of a grid (`dpcore.mechanisms.sweep`): for experiments
only. What comes out are the rows of `dpcore.study.rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.learn.classifiers import learner_of, train
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.sweep import outputs_at
from dpcore.noise.streams import generator
from dpcore.study.membership_trial import QUARTERS, membership_trial
from dpcore.study.plan import canonical
from dpcore.study.rewriting import rewriting
from dpcore.study.rows import CLEAN, PRIVATE, Prepared, Row, kept, prepare, row

if TYPE_CHECKING:
    from dpcore.learn.bags import Bags
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class Protocol:
    """How a corpus is privatised and learned from.

    Attributes:
        learners: names of `dpcore.learn.classifiers.LEARNERS`.
        most: protected places of a text that are kept, its first ones; None keeps all.
        rewritten: test texts whose rewriting is compared with the original; 0 leaves it out.
        attack: whether membership is inferred too, with halves of both parts as the quarters.
    """

    learners: tuple[str, ...] = ("averaged", "tf-idf")
    most: int | None = 200
    rewritten: int = 0
    attack: bool = False


def evaluate(
    training: LabelledTexts,
    testing: LabelledTexts,
    lexicon: Lexicon,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    seeds: Sequence[int],
    protocol: Protocol = Protocol(),
    progress: Progress = silent,
) -> Iterator[Row]:
    """Accuracy and Nw at each ε, seed by seed: what is there already can be shown.

    Args:
        training: what the classifiers learn from.
        testing: what they are tested on; the same classes.
        lexicon: of the mechanism, and of the baseline's features.
        mechanism: None for the baselines: clean text, and the majority class.
        epsilons: of the mechanism; none for the baseline.
        seeds: each draws all noise anew (and starts a network anew).
        protocol: classifiers and length of a text.
        progress: called with (stage, done, total) within a seed.

    Yields:
        Rows of `dpcore.study.rows.COLUMNS` but `lexicon` and `data`: quantities accuracy, nw and
        majority; with `rewritten` those of `dpcore.study.rewriting`; with `attack` those of
        `ATTACKS`.

    Raises:
        EpsilonError: the mechanism does not have an ε.
    """
    parts = tuple(prepare(part, lexicon, protocol.most) for part in (training, testing))
    texts = testing.texts[: protocol.rewritten]
    own = dict.fromkeys(("label", "mechanism"), mechanism.short if mechanism else "")
    for seed in seeds:
        for one in _of_seed(parts, texts, lexicon, mechanism, epsilons, seed, protocol, progress):
            yield own | {"seed": seed, "label": own["label"] or "baseline"} | one


def _of_seed(
    parts: tuple[Prepared, ...],
    texts: Sequence[str],
    lexicon: Lexicon,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    seed: int,
    protocol: Protocol,
    progress: Progress,
) -> Iterator[Row]:
    """All that a protocol asks for, under one seed."""
    train_on, test_on = parts
    names = protocol.learners
    if mechanism is None:
        yield from baseline(train_on, test_on, lexicon, names, seed)
    else:
        yield from trial(train_on, test_on, mechanism, epsilons, names, seed, progress)
    if texts:
        compared = rewriting(texts, lexicon, mechanism, epsilons, seed)
        yield from (one for one in compared if one["quantity"] != "nw" or mechanism is None)
    if protocol.attack:
        found = attacked(train_on, test_on, lexicon, mechanism, epsilons, names, seed, progress)
        yield from (one for one in found if one["quantity"] in ATTACKS)


ATTACKS = ("auc", "tpr", "roc")
"""Quantities of an attack on membership."""


def attacked(
    train_on: Prepared,
    test_on: Prepared,
    lexicon: Lexicon,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    learners: Sequence[str],
    seed: int,
    progress: Progress = silent,
) -> Iterator[Row]:
    """Membership inference with halves of both parts as TR1, TR2, TE1, TE2, drawn by the seed."""
    quarters: dict[str, Prepared] = {}
    for part, names in ((train_on, QUARTERS[:2]), (test_on, QUARTERS[2:])):
        order = generator(seed, "quarters", names[0]).permutation(len(part.bags))
        for name, rows in zip(names, np.array_split(order, 2), strict=True):
            quarters[name] = Prepared(part.bags.part(rows), part.labels[rows])
    clean = quarters["TR1"].bags, quarters["TE2"].bags
    if mechanism is None:
        for name in learners:
            yield from membership_trial(quarters, *clean, name, seed, lexicon, None)
        return
    target, shadow = private(mechanism, clean, epsilons, seed, progress)
    for e, epsilon in enumerate(epsilons):
        for name in learners:
            yield from membership_trial(
                quarters, target[e], shadow[e], name, seed, lexicon, epsilon
            )


def baseline(
    train_on: Prepared, test_on: Prepared, lexicon: Lexicon, learners: Sequence[str], seed: int
) -> Iterator[Row]:
    """Clean text, and always guessing the class that is largest in what is trained on."""
    largest = int(np.bincount(train_on.labels).argmax())
    size = len(test_on.bags)
    yield row("majority", (test_on.labels == largest).mean(), tested_on=CLEAN, count=size)
    for name in learners:
        rng = generator(seed, "learner", name)
        model = train(learner_of(name), train_on.bags, train_on.labels, lexicon.vectors, rng)
        share = model.accuracy(test_on.bags, test_on.labels)
        yield row("accuracy", share, learner=name, tested_on=CLEAN, count=size)


def trial(
    train_on: Prepared,
    test_on: Prepared,
    mechanism: Mechanism,
    epsilons: Sequence[float],
    learners: Sequence[str],
    seed: int,
    progress: Progress = silent,
) -> Iterator[Row]:
    """One noise draw: accuracy of each classifier at each ε on private and on clean test texts."""
    inside, outside = private(mechanism, (train_on.bags, test_on.bags), epsilons, seed, progress)
    size = len(test_on.bags)
    for e, epsilon in enumerate(epsilons):
        texts, tests = inside[e], outside[e]
        yield kept((train_on.bags, texts), (test_on.bags, tests), epsilon=epsilon)
        for name in learners:
            rng = generator(seed, "learner", name)
            vectors = mechanism.lexicon.vectors
            model = train(learner_of(name), texts, train_on.labels, vectors, rng)
            for where, bags in ((PRIVATE, tests), (CLEAN, test_on.bags)):
                share = model.accuracy(bags, test_on.labels)
                yield row(
                    "accuracy", share, epsilon=epsilon, learner=name, tested_on=where, count=size
                )


def private(
    mechanism: Mechanism,
    parts: Sequence[Bags],
    epsilons: Sequence[float],
    seed: int,
    progress: Progress = silent,
) -> list[list[Bags]]:
    """Documents at each ε, from one draw of `seed`; unknown words have random stand-ins.

    Args:
        mechanism: rewrites each place.
        parts: documents over its lexicon; together they share the laws of their distinct words.
        epsilons: E of them.
        seed: of all noise.
        progress: called with (stage, done, total).

    Returns:
        For each part, its documents at each ε.
    """
    rng = generator(seed, "private text", mechanism.key, canonical(mechanism.settings()))
    before = np.concatenate([bags.inputs(rng) for bags in parts])
    after = outputs_at(mechanism, rng, before, np.asarray(epsilons), progress)
    ends = np.cumsum([bags.words.size for bags in parts])[:-1]
    return [
        [bags.with_words(found[:, e]) for e in range(len(epsilons))]
        for bags, found in zip(parts, np.split(after, ends), strict=True)
    ]
