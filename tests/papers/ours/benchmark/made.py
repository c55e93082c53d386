"""A benchmark that is made up, so that every number on its boards is known beforehand."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dpcore.attack.leak import EQUAL
from dpcore.papers.ours.benchmark.cells import LADDER, LEVELS, LOCAL, METRIC
from dpcore.papers.ours.benchmark.record import Benchmark
from dpcore.study.labelled_trial import STRONGER
from dpcore.study.plan import CLEAN, COLUMNS, PRIVATE, Row, row
from dpcore.study.recorded import Figures, Recorded, read_recorded

TRIALS = 4
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Of every mechanism, one a level of `LADDER`."""
LEAST = {METRIC: 0.5, LOCAL: 2.0}
"""ε that promises each level, times its place among them from 1 on."""
JITTER = (-0.003, -0.001, 0.001, 0.003)


@dataclasses.dataclass(frozen=True)
class Made:
    """One mechanism.

    Attributes:
        label: of its curve.
        bounds: what its ε bounds.
        accuracy: at each ε.
        auc: at each ε.
        shares: of the words that are guessed at each ε.
        status: of its guarantee.
        factor: guarantee over its own ε.
        attacker: whose share it is.
        poor: ε at which that attacker is a poor one.
        levels: ε of each of `LADDER`, or why there is none.
    """

    label: str
    bounds: str
    accuracy: Sequence[float] = (0.5, 0.55, 0.6, 0.7, 0.8)
    auc: Sequence[float] = (0.50, 0.52, 0.56, 0.66, 0.80)
    shares: Sequence[float] = LADDER
    status: str = "proved"
    factor: float = 1.0
    attacker: str = "bayes"
    poor: Sequence[float] = ()
    levels: Sequence[float | str] = EPSILONS


def benchmark(*mechanisms: Made, absent: Sequence[tuple[str, str]] = (), **more: Any) -> Benchmark:
    """The record of these mechanisms, and of those that could not be made with why."""
    rows: list[Row] = []
    for place, level in enumerate(LEVELS, start=1):
        for bounds, epsilon in LEAST.items():
            rows.append(_named("", row("least", epsilon * place, at=level, tested_on=bounds)))
    rows += [_named(label, row("absent", 1.0, variant=why)) for label, why in absent]
    rows += _trials("", None, 0.9, 0.7, 1.0, CLEAN)
    for made in mechanisms:
        rows += [_named(made.label, each) for each in _facts(made)]
        for e, epsilon in enumerate(EPSILONS):
            # Each mechanism has a jitter of its own order: differences have an error of their own.
            turned = JITTER if len(made.label) % 2 else JITTER[::-1]
            rows += _trials(
                made.label, epsilon, made.accuracy[e], made.auc[e], made.shares[e], PRIVATE, turned
            )
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    known = read_recorded("trade-off").entry
    plan = known.plan | {"options": [["stranger", EQUAL]]}
    entry = dataclasses.replace(known, name="made-up", plan=plan, **more)
    return Benchmark(Figures(Recorded(entry, table)))


def _facts(made: Made) -> list[Row]:
    rows = [
        row("status", 1.0, epsilon=2.0, variant=made.status, tested_on=made.bounds),
        row("reason", 1.0, epsilon=2.0, variant=f"because of {made.label}"),
        row("cost", 3.0, epsilon=4.0, count=100),
        row("cost ratio", 1.5, epsilon=4.0, count=100),
    ]
    for share, level in zip(LADDER, made.levels, strict=True):
        why, found = (level, 0.0) if isinstance(level, str) else ("", level)
        rows.append(row("level", found, at=share, variant=why))
    for place, share in enumerate(LEVELS, start=1):
        own = LEAST[made.bounds] * place / made.factor
        there = own in EPSILONS and made.status == "proved"
        why = "" if there else "is not promised"
        more = {"at": share, "variant": why, "tested_on": made.bounds}
        rows.append(row("promised", own if there else 0.0, **more))
    for e, epsilon in enumerate(EPSILONS):
        share = made.shares[e]
        rows += [
            row(
                "promise", epsilon * made.factor, epsilon=epsilon, variant=made.status,
                tested_on=made.bounds,
            ),
            row(
                "word", share, epsilon=epsilon, low=0.97 * share, high=1.03 * share,
                variant=made.attacker,
            ),
            row("near", min(2 * share, 1.0), epsilon=epsilon, low=share, high=1.0),
            row("meaning", share, epsilon=epsilon, low=0.9 * share, high=1.1 * share),
        ]  # fmt: skip
    return rows + [row("poorly attacked", 1.0, epsilon=epsilon) for epsilon in made.poor]


def _trials(
    label: str,
    epsilon: float | None,
    accuracy: float,
    auc: float,
    kept: float,
    text: str,
    jitter: Sequence[float] = JITTER,
) -> list[Row]:
    learned = {"learner": "tf-idf", "epsilon": epsilon}
    rows = []
    for trial in range(TRIALS):
        off = jitter[trial]
        each = [
            row("accuracy", accuracy + off, tested_on=text, **learned) | {"data": "sentiment"},
            row("auc", auc, variant=STRONGER, **learned) | {"data": "sentiment"},
            row("nw", kept, epsilon=epsilon),
            row("cosine", kept + off, epsilon=epsilon),
        ]
        rows += [_named(label, one) | {"seed": 1 + trial} for one in each]
    return rows


def _named(label: str, each: Row) -> Row:
    mechanism = label.partition(",")[0]
    named = {"label": label, "mechanism": mechanism, "lexicon": "bundled", "data": "", "seed": 1}
    return named | each
