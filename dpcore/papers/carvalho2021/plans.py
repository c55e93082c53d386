"""Carvalho et al. 2021, Figures 1a and 1b: TEM against Madlib on IMDb, utility and membership.

Appendix C: the target is trained on TR1 (half of the train split) after privatisation and tested
on the original TE1 (half of the test split). The shadow model is trained on TE2; the attack
network learns from the shadow's outputs on TE2 (in) and TE1 (out), and is evaluated on the
target's outputs on TR1 (in) and TR2 (out). The paper does not say that TE2 is privatised, and
gives the attacker the outputs only; here a stronger attacker is added, whose shadow model learns
from text rewritten by the (public) mechanism, and who knows the labels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.row import FULL
from dpcore.study.labelled_trial import QUARTERS, MembershipTrial
from dpcore.study.plan import Arm, Cell, Plan, Prepared, Row, Study, kept, prepare
from dpcore.study.runner import Sources
from dpcore.study.utility import private
from dpcore.study.vocabularies import labelled_rows

_MEDIAN = 178
_EPSILONS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 20.0)


def _study(name: str, title: str, quarter: int, trials: int, madlib: tuple[float, ...]) -> Study:
    return Study(
        title,
        "Carvalho et al. 2021, Figures 1a and 1b",
        Plan(
            name,
            "dpcore.papers.carvalho2021.plans:measure_quarters",
            (Arm(""), Arm("tem", _EPSILONS), Arm("madlib", madlib)),
            ("imdb",),
            ("imdb.parquet",),
            tuple(range(trials)),
            (
                ("quarter", quarter),
                ("most", None),
                ("document_words", _MEDIAN),
                ("learners", ("averaged", "tf-idf", "network")),
            ),
            together=True,
        ),
        f"In {f'each of {trials} trials' if trials > 1 else 'one trial'} (the paper: 5) "
        f"{quarter:,} reviews in each of the quarters TR1, TR2, TE1, TE2 (the paper: 12,500), "
        f"newly drawn and whole (half of them have {_MEDIAN} words or more).",
    )


STUDY = _study(
    "carvalho2021-figure-1",
    "IMDb: utility and membership inference of TEM and Madlib",
    1_500,
    5,
    (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 30.0),
)
WHOLE = _study(
    f"{STUDY.name}{FULL}",
    "IMDb, all reviews: utility and membership inference of TEM and Madlib",
    12_400,
    1,
    (2.0, 4.0, 20.0),
)
"""The same with all distinct reviews: a copy in another quarter would tell membership wrongly."""


def measure_quarters(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one trial of one mechanism at all its ε, or of the baseline without a mechanism.

    Options: `quarter` (texts of each quarter), `most` (words of a text; None for all), `learners`.
    """
    lexicon = sources.lexicon(cell.lexicon)
    quarters = draw_quarters(sources.file(cell.data), cell, lexicon)
    learners = tuple(cell.option("learners"))
    trials = [MembershipTrial(quarters, name, cell.seed, lexicon) for name in learners]
    parts = quarters["TR1"].bags, quarters["TE2"].bags
    # The baseline draws no noise, so that ε does not matter to it.
    if not cell.mechanism:
        return [measured for trial in trials for measured in trial.rows(*parts, None)]
    mechanism = sources.mechanism(cell)
    target, shadow = private(mechanism, parts, cell.epsilons, cell.seed)
    rows: list[Row] = []
    for e, epsilon in enumerate(cell.epsilons):
        rows.append(kept((parts[0], target[e]), (parts[1], shadow[e]), epsilon=epsilon))
        for trial in trials:
            rows += trial.rows(target[e], shadow[e], epsilon)
        target[e] = shadow[e] = parts[0]  # frees these texts and their counts
    return rows


def draw_quarters(path: Path, cell: Cell, lexicon: Lexicon) -> dict[str, Prepared]:
    """Draw TR1 and TR2 of the train split, TE1 and TE2 of the test split, for every mechanism.

    The quarters of a seed are kept for its next cell: reading them takes a large part of its time.
    """
    size, most = int(cell.option("quarter")), cell.option("most")
    key = (path, cell.seed, cell.data, size, most, lexicon.fingerprint)
    if key not in _KEPT:
        # One seed at a time: its texts are large.
        _KEPT.clear()
        _KEPT[key] = _read_quarters(path, cell, lexicon, size, most)
    return _KEPT[key]


_KEPT: dict[tuple[object, ...], dict[str, Prepared]] = {}


def _read_quarters(
    path: Path, cell: Cell, lexicon: Lexicon, size: int, most: int | None
) -> dict[str, Prepared]:
    quarters = {}
    for split, names in (("train", QUARTERS[:2]), ("test", QUARTERS[2:])):
        # Shared between mechanisms, so that they are compared on the same texts.
        rng = cell.shared_generator("quarters", split)
        corpus = labelled_rows(path, split, 2 * size, rng)
        places = np.arange(2 * size)
        for name, part in zip(names, (places[:size], places[size:]), strict=True):
            quarters[name] = prepare(corpus.part(part), lexicon, most)
    return quarters
