"""Learning curves: how many private texts teach a classifier what they are about.

At each of four leakages (those of `equal_leakage`) a classifier learns from more and more private
texts, in two ways: TF-IDF on the texts as they came out, and weights from undone counts
(`dpcore.crowd.learning`) where the counts of all words can be undone at once. Both are tested on
texts as they were written, and on texts that the same mechanism made private.

A smaller number of texts is the beginning of a larger one, under the same noise, so that a curve
moves by what the texts add. Trials differ in their texts and their noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import IntArray
from dpcore.crowd.estimates import OutputCounts
from dpcore.crowd.histogram import AllCounts, all_counts
from dpcore.crowd.learning import weights_of
from dpcore.errors import StudyError
from dpcore.learn.corpus import Bags, bags_of
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.equal_leakage import LEVELS as ALL_LEVELS
from dpcore.papers.ours.equal_leakage import arms_at
from dpcore.study.plan import (
    CLEAN,
    PRIVATE,
    Arm,
    Cell,
    Plan,
    Prepared,
    Row,
    Settings,
    Study,
    kept,
    row,
)
from dpcore.study.recorded import Recorded
from dpcore.study.runner import Sources
from dpcore.study.utility import learned, private
from dpcore.study.vocabularies import BUNDLED, labelled_rows

if TYPE_CHECKING:
    import pandas as pd

_PLACES = range(4)
LEVELS = ALL_LEVELS[:4]
"""Shares of content words guessed by someone who knows how common they are."""
TF_IDF, UNDONE = "tf-idf", "undone counts"
"""The two ways of learning, in the column `learner`."""
SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
"""Numbers of texts to learn from."""

_UNDONE = ("k-ary", "tem", "optimal")
_FEWER = ("k-ary", "tem", "optimal", "neighbour-response, k = 10")
_COMPARED = (*_FEWER, "madlib")  # which compares every occurrence of a word with the lexicon
_TRIALS = 10
_TASK = "dpcore.papers.ours.learning:measure_learning"


# ε of the same leakages over the words of AG News with GloVe vectors, by bisection of `leak`. There
# a response over ten words leaks 30 of 100 at most.
_GLOVE = (
    Arm("k-ary", (6.236, 6.993, 7.751, 8.502)),
    Arm("tem", (1.539, 1.735, 1.939, 2.154)),
    Arm("neighbour-response", (5.265, 6.182, 7.419), (("k", 10),), "neighbour-response, k = 10"),
)


def _study(
    name: str, title: str, file: str, sizes: tuple[int, ...], arms: tuple[Arm, ...],
    splits: tuple[str, str] = ("train", "test"), lexicon: str = BUNDLED, tested: int | None = None,
) -> Study:  # fmt: skip
    words, others = 1_000, "2,000 others to be tested on, newly drawn"
    if tested is not None:  # all there are
        others = (
            f"always the same {tested:,} others to be tested on, whose choice no interval holds"
        )
    options: Settings = (
        ("sizes", sizes), ("test", tested or 2_000), ("words", words), ("title", title),
        ("trials", _TRIALS), ("splits", splits),
    )  # fmt: skip
    undone = [replace(arm, options=(("undone", arm.mechanism in _UNDONE),)) for arm in arms]
    over = (
        "the bundled lexicon" if lexicon == BUNDLED else "its 10,000 most frequent words in GloVe"
    )
    return Study(
        f"{title}: learning curves over the number of private texts",
        "",
        Plan(name, _TASK, (Arm(""), *undone), (lexicon,), (file,), (1,), options),
        f"In each of {_TRIALS} trials {sizes[-1]:,} texts to learn from, of which the first "
        f"{sizes[0]:,} and more are taken, and {others}, of each its first {words:,} words; over "
        f"{over}.",
        rewrites=False,  # accuracy is a curve over the number of texts
    )


STUDIES = (
    _study(
        "learning-yelp", "Yelp", "yelp_sentences.parquet", SIZES, arms_at(_COMPARED, _PLACES),
        ("test", "dev"),
    ),
    _study(
        "learning-agnews", "AG News", "agnews.parquet", SIZES[:-2], arms_at(_FEWER, _PLACES)
    ),
    _study(
        "learning-agnews-glove", "AG News with GloVe vectors", "agnews.parquet", SIZES[:-2],
        _GLOVE, lexicon="agnews",
    ),
    _study("learning-imdb", "IMDb", "imdb.parquet", SIZES[:-1], arms_at(_FEWER, _PLACES)),
    _study(
        "learning-yahoo", "Yahoo answers", "yahoo_2class.parquet", SIZES[:5],
        arms_at(_COMPARED, _PLACES), tested=418,
    ),
)  # fmt: skip
RECORDS = {
    "yelp": ("learning-yelp",),
    "agnews": ("learning-agnews", "learning-agnews-glove"),
    "imdb": ("learning-imdb",),
    "yahoo": ("learning-yahoo",),
}
"""Names of the records by the names of `dpcore.crowd.bundled.CROWDS`: with the bundled vectors, and
with others."""


def measure_learning(cell: Cell, sources: Sources) -> list[Row]:
    """Measure all trials of one mechanism at one ε, or of the texts as they were written.

    Trials are measured together because the law, and the counts undone, are then computed once.

    Options: `sizes`, numbers of texts to learn from, ascending; `test`, texts to be tested on;
    `splits` of the file, to learn from and to be tested on; `words` read from each text; `title`;
    `trials`; `undone`, whether weights from undone counts are learned too.

    Returns:
        Accuracies; the column `at` is the number of texts, `seed` the trial.
    """
    numbers = range(cell.seed, cell.seed + int(cell.option("trials")))
    trials = [_texts(cell, sources, number) for number in numbers]
    lexicon = sources.lexicon(cell.lexicon)
    sizes: tuple[int, ...] = tuple(cell.option("sizes"))
    if cell.epsilon is None:
        rows = [
            accuracy
            for trial in trials
            for accuracy in trial.tf_idf(
                trial.training, {CLEAN: trial.testing}, sizes, lexicon, None
            )
        ]
        return [accuracy | {"data": cell.option("title")} for accuracy in rows]
    mechanism, epsilon = sources.mechanism(cell), cell.epsilon
    parts = [bags for trial in trials for bags in (trial.training, trial.testing)]
    # One call for all trials: the laws of their words are computed once.
    texts = [at_epsilon for (at_epsilon,) in private(mechanism, parts, cell.epsilons, cell.seed)]
    released = list(zip(texts[::2], texts[1::2], strict=True))
    rows = []
    for trial, (training, testing) in zip(trials, released, strict=True):
        pairs = (trial.training, training), (trial.testing, testing)
        rows.append(kept(*pairs, epsilon=epsilon) | {"seed": trial.number})
        faced = {CLEAN: trial.testing, PRIVATE: testing}
        rows += trial.tf_idf(training, faced, sizes, lexicon, epsilon)
    if cell.option("undone"):
        rows += _by_undone_counts(mechanism, epsilon, trials, released, sizes)
    return [measured | {"data": cell.option("title")} for measured in rows]


@dataclass(frozen=True, eq=False)
class _Trial:
    """Texts of one trial, as they were written."""

    number: int
    training: Bags
    labels: IntArray
    testing: Bags
    true: IntArray

    def tf_idf(
        self, training: Bags, faced: dict[str, Bags], sizes: Sequence[int], lexicon: Lexicon,
        epsilon: float | None,
    ) -> Iterator[Row]:  # fmt: skip
        """Yield the accuracy of TF-IDF on the first texts."""
        for size in sizes:
            first = Prepared(_first(training, size), self.labels[:size])
            rows = learned(
                first, faced, self.true, (TF_IDF,), lexicon.vectors, self.number, epsilon
            )
            for accuracy in rows:
                yield accuracy | {"at": size, "seed": self.number}


def _texts(cell: Cell, sources: Sources, trial: int) -> _Trial:
    """Read the texts of a trial, the same for every mechanism."""
    path, lexicon = sources.file(cell.data), sources.lexicon(cell.lexicon)
    most, words = int(cell.option("sizes")[-1]), int(cell.option("words"))
    first, last = cell.option("splits")
    training, testing = (
        labelled_rows(path, split, count, cell.shared_generator("learning", split, trial))
        for split, count in ((first, most), (last, int(cell.option("test"))))
    )
    if training.classes != testing.classes:
        raise StudyError(f"texts to be tested on have other classes than those of {first!r}")
    if len(training.texts) < most:
        raise StudyError(f"{path.name} has only {len(training.texts):,} texts to learn from")
    return _Trial(
        trial, bags_of(training.texts, lexicon, words), training.labels,
        bags_of(testing.texts, lexicon, words), testing.labels,
    )  # fmt: skip


def _first(bags: Bags, size: int) -> Bags:
    """Return the first texts."""
    end = bags.offsets[size]
    return Bags(bags.words[:end].copy(), bags.offsets[: size + 1].copy(), bags.vocabulary)


def _by_undone_counts(
    mechanism: Mechanism, epsilon: float, trials: Sequence[_Trial],
    released: Sequence[tuple[Bags, Bags]], sizes: Sequence[int],
) -> Iterator[Row]:  # fmt: skip
    """Yield the accuracy of weights from undone counts; all counts are undone together."""
    classes = int(trials[0].labels.max()) + 1
    observed = [
        _outputs(trial, texts, classes, size)
        for trial, (texts, _) in zip(trials, released, strict=True)
        for size in sizes
    ]
    # And all texts together, whose noise is that of each group by its outputs.
    whole = [part for i, part in enumerate(observed) if i % len(sizes) == len(sizes) - 1]
    names = [f"{i}, {name}" for i, part in enumerate(observed) for name in part.groups]
    every = OutputCounts(
        (*names, "all"),
        np.concatenate([*(part.texts for part in observed), [sum(p.texts.sum() for p in whole)]]),
        np.concatenate(
            [*(part.outputs for part in observed), [sum(p.outputs.sum(axis=0) for p in whole)]]
        ),
    )
    undone = all_counts(mechanism, epsilon, every, like=[len(names)] * (len(names) + 1))
    places = iter(enumerate(observed))
    for trial, (_, testing) in zip(trials, released, strict=True):
        for size in sizes:
            place, part = next(places)
            own = slice(place * classes, (place + 1) * classes)
            weights = weights_of(part, AllCounts(undone.counts[own], undone.errors[own]))
            for where, texts in ((CLEAN, trial.testing), (PRIVATE, testing)):
                right = weights.scores(texts.words, texts.offsets).argmax(axis=1) == trial.true
                more = {"epsilon": epsilon, "learner": UNDONE, "tested_on": where, "at": size}
                share = row("accuracy", right.mean(), count=right.size, **more)
                yield share | {"seed": trial.number}


def _outputs(trial: _Trial, released: Bags, classes: int, size: int) -> OutputCounts:
    """Count the outputs of the first texts by class."""
    texts, labels = _first(released, size), trial.labels[:size]
    code = np.repeat(labels, texts.lengths) * texts.vocabulary + texts.words
    outputs = np.bincount(code, minlength=classes * texts.vocabulary).reshape(classes, -1)
    groups = tuple(map(str, range(classes)))
    return OutputCounts(groups, np.bincount(labels, minlength=classes), outputs)


# Readings of a record.


@dataclass(frozen=True)
class LearningCurve:
    """Accuracy over the number of texts, of one mechanism at one leakage.

    Attributes:
        label: of the mechanism; "" for texts without privacy.
        epsilon: ε; None without privacy.
        level: share of content words guessed, of `LEVELS`; None without privacy.
        sizes: numbers of texts, ascending.
        accuracy: mean over trials at each, with Student's interval.
    """

    label: str
    epsilon: float | None
    level: float | None
    sizes: tuple[int, ...]
    accuracy: tuple[Mean, ...]

    def texts_for(self, accuracy: float) -> int | None:
        """Return the smallest recorded number of texts with that mean accuracy; None if none."""
        pairs = zip(self.sizes, self.accuracy, strict=True)
        return next((size for size, mean in pairs if mean.mean >= accuracy), None)


def learning_curves(
    record: Recorded, learner: str = TF_IDF, tested_on: str = CLEAN
) -> list[LearningCurve]:
    """Return the curves of a record: without privacy first, then by mechanism and leakage.

    Args:
        record: of one of `STUDIES`.
        learner: `TF_IDF` or `UNDONE`; without privacy it is always TF-IDF on clean texts.
        tested_on: "clean" or "private".
    """
    clean = record.rows("accuracy", label="baseline", learner=TF_IDF, tested_on=CLEAN)
    curves = [_curve(clean, "", None, None)]
    rows = record.rows("accuracy", learner=learner, tested_on=tested_on)
    rows = rows[rows["epsilon"].notna()]
    for label, own in rows.groupby("label", sort=False):
        # A response over few words may not reach the last one.
        for level, (epsilon, part) in zip(LEVELS, own.groupby("epsilon"), strict=False):
            curves.append(_curve(part, str(label), float(epsilon), level))  # type: ignore[arg-type]
    return curves


def _curve(
    rows: pd.DataFrame, label: str, epsilon: float | None, level: float | None
) -> LearningCurve:
    sizes = sorted(rows["at"].unique().astype(int).tolist())
    means = [mean_interval(rows["value"][rows["at"] == size].to_numpy()) for size in sizes]
    return LearningCurve(label, epsilon, level, tuple(sizes), tuple(means))
