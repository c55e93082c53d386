"""Experiment on the teaching corpus: mechanisms side by side on texts that anyone may read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.learn.corpus import LABELLINGS, LabelledTexts, teaching_corpus
from dpcore.study.labelled_trial import Wanted, labelled_trial, read_material
from dpcore.study.plan import Arm, Cell, Plan, Row, Settings, Study
from dpcore.study.runner import Sources
from dpcore.study.tables import WrongAnswers

if TYPE_CHECKING:
    import numpy as np

ARMS = (
    Arm(""),
    Arm("madlib", (4.0, 7.0, 9.0, 11.0, 13.0, 15.0, 18.0, 24.0)),
    Arm("mahalanobis", (4.0, 7.0, 9.0, 11.0, 13.0, 15.0, 18.0, 24.0)),
    Arm("tem", (1.2, 1.7, 2.0, 2.2, 2.4, 2.7, 3.1, 4.0)),
    Arm("tem-calibrated", (0.7, 0.95, 1.1, 1.25, 1.4, 1.55, 1.8, 2.3)),
    Arm("laplace", (60.0, 110.0, 140.0, 165.0, 190.0, 220.0, 270.0, 400.0)),
    Arm("gaussian", (12.0, 30.0, 40.0, 50.0, 62.0, 78.0, 105.0, 180.0)),
)
"""ε of each mechanism at which about 0 to 1 of the words stay."""
_JOIN = "/"
_OPTIONS: Settings = (
    ("learners", ("averaged", "tf-idf", "network")),
    ("attacked", ("tf-idf",)),
    ("compared", 40),
    ("examples", 2),
)

_TRIALS = 5
STUDY = Study(
    "Teaching corpus: mechanisms side by side",
    "",
    Plan(
        "teaching-corpus",
        "dpcore.papers.ours.teaching:measure_teaching",
        ARMS,
        ("bundled",),
        seeds=tuple(range(_TRIALS)),
        options=_OPTIONS,
        together=True,
    ),
    f"In each of {_TRIALS} trials 1,008 training and 432 test texts of the teaching corpus, newly "
    "drawn and whole, under both labellings; 40 of the test texts rewritten and compared; of the "
    "first trial examples of wrong answers.",
)


def divided(rng: np.random.Generator) -> dict[str, tuple[LabelledTexts, LabelledTexts]]:
    """Split the corpus at random: training and test texts by labelling.

    Every sentiment of every topic is divided in the same shares as in the corpus's own split. Each
    trial draws its own split, so that an interval over trials also covers the choice of texts.
    """
    corpus = teaching_corpus()
    names = tuple(LABELLINGS)
    labels = zip(*(corpus.labels(name) for name in names), strict=True)
    # Both labels as one, so that the split keeps the shares of every pair.
    both = LabelledTexts.of(corpus.texts, [_JOIN.join(pair) for pair in labels])
    parts = both.split(len(corpus.part("test")) / len(corpus), rng)
    labelled = {}
    for place, name in enumerate(names):
        training, testing = (
            LabelledTexts.of(
                part.texts, [part.classes[i].split(_JOIN)[place] for i in part.labels.tolist()]
            )
            for part in parts
        )
        labelled[name] = (training, testing)
    return labelled


def measure_teaching(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one seed of one mechanism at all its ε, or of the baseline, under both labellings.

    Options: `learners`, `attacked`, `compared`, as `dpcore.study.labelled_trial.Wanted`;
    `examples`, number of wrong answers under each labelling of each classifier at each ε, for the
    first seed only.
    """
    parts = divided(cell.shared_generator("split"))
    material = read_material(parts, sources.lexicon(cell.lexicon))
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    wanted = Wanted(
        tuple(cell.option("learners")),
        tuple(cell.option("attacked", ())),
        int(cell.option("compared", 0)),
    )
    most = int(cell.option("examples", 0)) if mechanism and cell.seed == 0 else 0
    watched = [
        WrongAnswers(material, labelling, learner, cell.seed, most)
        for labelling in parts
        for learner in wanted.learners
        if most
    ]

    def watch(*seen: Any) -> None:
        for answers in watched:
            answers(*seen)

    rows = list(labelled_trial(material, mechanism, cell.epsilons, cell.seed, wanted, watch))
    return rows + [example for answers in watched for example in answers.examples]
