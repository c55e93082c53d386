"""What private text still teaches a classifier: train on it, test on private and on clean text.

A document is a bag of lexicon words (`dpcore.learn.bags`), cut to its first places. One noise draw
a seed gives the private text at every ε of a grid (`dpcore.mechanisms.bulk.sweep`): for experiments
only. What comes out are the rows of `dpcore.study.rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.learn.classifiers import learner_of, train
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.noise.streams import generator
from dpcore.study.plan import canonical
from dpcore.study.rows import CLEAN, PRIVATE, Prepared, Row, kept, row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.learn.bags import Bags
    from dpcore.learn.classifiers import Classifier
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


def baseline(
    train_on: Prepared, test_on: Prepared, lexicon: Lexicon, learners: Sequence[str], seed: int
) -> Iterator[Row]:
    """Clean text, and always guessing the class that is largest in what is trained on."""
    yield majority(train_on.labels, test_on.labels)
    faced = {CLEAN: test_on.bags}
    yield from learned(train_on, faced, test_on.labels, learners, lexicon.vectors, seed)


def trial(
    train_on: Prepared,
    test_on: Prepared,
    mechanism: Mechanism,
    epsilons: Sequence[float],
    learners: Sequence[str],
    seed: int,
) -> Iterator[Row]:
    """One noise draw: accuracy of each classifier at each ε on private and on clean test texts."""
    draws = private(mechanism, (train_on.bags, test_on.bags), epsilons, seed)
    vectors = mechanism.lexicon.vectors
    for epsilon, texts, tests in zip(epsilons, *draws, strict=True):
        yield kept((train_on.bags, texts), (test_on.bags, tests), epsilon=epsilon)
        training, faced = Prepared(texts, train_on.labels), {PRIVATE: tests, CLEAN: test_on.bags}
        yield from learned(training, faced, test_on.labels, learners, vectors, seed, epsilon)


def majority(labels: NDArray[np.int64], true: NDArray[np.int64], **named: Any) -> Row:
    """How often it is right to guess the class that is largest in what is trained on."""
    share = (true == np.bincount(labels).argmax()).mean()
    return row("majority", share, tested_on=CLEAN, count=true.size, **named)


def learned(
    training: Prepared,
    faced: Mapping[str, Bags],
    true: NDArray[np.int64],
    learners: Sequence[str],
    vectors: NDArray[np.float32],
    seed: int,
    epsilon: float | None = None,
    watch: Callable[[str, Classifier], None] | None = None,
) -> Iterator[Row]:
    """Accuracy of each classifier that learns from some texts.

    Args:
        training: what it learns from.
        faced: what it is tested on, by the column `tested_on`: the same texts, rewritten or not.
        true: their classes.
        learners: names of the classifiers.
        vectors: public word vectors, shape (n, d).
        seed: of the networks.
        epsilon: of the rows.
        watch: called with the name of each and the trained classifier.
    """
    for name in learners:
        # The same start at every ε: what differs between two points of a curve is the text alone.
        rng = generator(seed, "learner", name)
        model = train(learner_of(name), training.bags, training.labels, vectors, rng)
        for where, bags in faced.items():
            share = model.accuracy(bags, true)
            named = {"epsilon": epsilon, "learner": name, "tested_on": where}
            yield row("accuracy", share, count=true.size, **named)
        if watch is not None:
            watch(name, model)


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
    # One call for all parts: the laws of their distinct words are computed once.
    before = np.concatenate([bags.inputs(rng) for bags in parts])
    after = outputs_at(mechanism, rng, before, np.asarray(epsilons), progress)
    ends = np.cumsum([bags.words.size for bags in parts])[:-1]
    return [
        [bags.with_words(outputs[:, e]) for e in range(len(epsilons))]
        for bags, outputs in zip(parts, np.split(after, ends), strict=True)
    ]
