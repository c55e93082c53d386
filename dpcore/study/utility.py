"""What private text still teaches a classifier: train on it, test on private and on clean text.

A document is a bag of lexicon words (`dpcore.learn.bags`), cut to its first places. One noise draw
a seed gives the private text at every ε of a grid (`dpcore.mechanisms.bulk.sweep`): for experiments
only. What comes out are the rows of `dpcore.study.rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.learn.classifiers import learner_of, train
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.noise.streams import generator
from dpcore.study.plan import canonical
from dpcore.study.rows import CLEAN, PRIVATE, Prepared, Row, kept, row

if TYPE_CHECKING:
    from dpcore.learn.bags import Bags
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


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
