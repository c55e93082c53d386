"""What private text still teaches a classifier: train on it, test on private and on clean text.

A document is a bag of lexicon words (`dpcore.learn.bags`), cut to its first places. One noise draw
a seed gives the private text at every ε of a grid (`dpcore.mechanisms.sweep`): for experiments
only. Rows are tidy: one number a row, with what it is (`COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.learn.bags import Bags, bags_of
from dpcore.learn.classifiers import learner_of, train
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.sweep import outputs_at
from dpcore.noise.streams import generator
from dpcore.study.plan import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.learn.labelled import LabelledTexts
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

Row = dict[str, Any]

COLUMNS = (
    "label", "mechanism", "epsilon", "lexicon", "data", "seed",
    "learner", "tested_on", "variant", "quantity", "at", "value", "low", "high", "count",
)  # fmt: skip
"""One number a row. `label` names the curve; `epsilon` is None for the baseline (mechanism "");
`learner` is of `dpcore.learn.classifiers.LEARNERS`; `tested_on` is "private" or "clean";
`variant` tells kinds of one quantity apart (the attacker's); `at` is the abscissa of a quantity
that is itself a curve (false-positive rate of "roc" and "tpr"); `value` with an interval of its
own (`low`, `high`) where it has one, and the number of texts or words behind it (`count`)."""

PRIVATE, CLEAN = "private", "clean"


def row(quantity: str, value: float, **more: Any) -> Row:
    """One row of the columns that a task fills; absent ones are None or empty."""
    blank: Row = dict.fromkeys(("epsilon", "at", "low", "high", "count"))
    blank |= dict.fromkeys(("learner", "tested_on", "variant"), "")
    unknown = set(more) - set(blank)
    if unknown:
        raise KeyError(f"no column {', '.join(sorted(unknown))}")
    return blank | more | {"quantity": quantity, "value": float(value)}


@dataclass(frozen=True)
class Protocol:
    """How a corpus is privatised and learned from.

    Attributes:
        learners: names of `dpcore.learn.classifiers.LEARNERS`.
        most: protected places of a text that are kept, its first ones; None keeps all.
    """

    learners: tuple[str, ...] = ("averaged", "tf-idf")
    most: int | None = 200


@dataclass(frozen=True, eq=False)
class Prepared:
    """Labelled texts as bags over one lexicon."""

    bags: Bags
    labels: NDArray[np.int64]


def prepare(corpus: LabelledTexts, lexicon: Lexicon, most: int | None) -> Prepared:
    """Read labelled texts over a lexicon."""
    return Prepared(bags_of(corpus.texts, lexicon, most), corpus.labels)


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
        Rows of `COLUMNS` but `lexicon` and `data`: quantities accuracy, nw, majority.

    Raises:
        EpsilonError: the mechanism does not have an ε.
    """
    train_on, test_on = (prepare(part, lexicon, protocol.most) for part in (training, testing))
    for seed in seeds:
        own = {"label": mechanism.short if mechanism else "baseline", "seed": seed}
        own["mechanism"] = mechanism.key if mechanism else ""
        if mechanism is None:
            found: Iterator[Row] = baseline(train_on, test_on, lexicon, protocol.learners, seed)
        else:
            found = trial(train_on, test_on, mechanism, epsilons, protocol.learners, seed, progress)
        for one in found:
            yield own | one


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


def kept(*pairs: tuple[Bags, Bags], epsilon: float | None = None) -> Row:
    """Nw counted in text: the share of all places whose word stayed."""
    same = sum(int((before.words == after.words).sum()) for before, after in pairs)
    total = sum(before.words.size for before, _ in pairs)
    return row("nw", same / max(total, 1), epsilon=epsilon, count=total)
