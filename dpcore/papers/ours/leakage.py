"""Words that someone guesses who knows how common they are: every mechanism, bundled lexicon."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dpcore.attack.leak import BAYES, leak
from dpcore.attack.trade.curve import TradeCurve
from dpcore.papers.ours.tradeoff import ARMS
from dpcore.study.plan import Cell, Plan, Row, Study, row
from dpcore.study.recorded import read_recorded
from dpcore.study.runner import Sources

STRANGER = "counts"
GAINS = ("word", "near")
BEFORE = "before"
"""Variant of the rows that hold the share guessed before anything is released."""

# A column of the published truncated Gumbel mechanism takes an integral for every word.
_ARMS = tuple(
    replace(arm, options=(("draws", 200),)) if arm.mechanism == "truncated-gumbel" else arm
    for arm in ARMS
)
STUDY = Study(
    "Words guessed by someone who knows how common they are, on the bundled lexicon",
    "",
    Plan(
        "leak",
        "dpcore.papers.ours.leakage:measure_leak",
        _ARMS,
        ("bundled",),
        options=(("stranger", STRANGER), ("gains", list(GAINS)), ("draws", 10_000)),
        together=True,
    ),
    "All outputs where a column of the law is a closed form; elsewhere 10,000 content words, drawn "
    "as frequent as they are, with their outputs, or 200 outputs where a column takes integrals.",
    rewrites=False,  # no texts: nothing is learned from them
)


def measure_leak(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at all its ε; the column `variant` names the attacker.

    Options: `stranger`, `gains` and `draws`, as for `dpcore.attack.leak.leak`.
    """
    mechanism, rows = sources.mechanism(cell), []
    for gain in cell.option("gains"):
        found = leak(
            mechanism,
            cell.epsilons,
            cell.option("stranger"),
            gain,
            draws=int(cell.option("draws")),
            seed=cell.seed,
        )
        rows += [
            row(
                gain,
                each.after,
                epsilon=each.epsilon,
                variant=each.attacker,
                low=each.low,
                high=each.high,
            )
            for each in found
        ]
        rows += [row(gain, each.before, epsilon=each.epsilon, variant=BEFORE) for each in found]
    return rows


@cache
def recorded_leaks() -> dict[str, TradeCurve]:
    """Read the record by the labels of its curves; the quantities are `GAINS`.

    Raises:
        StudyError: the record is missing or damaged.
    """
    rows = read_recorded(STUDY.name).table
    rows = rows[rows["variant"] != BEFORE]
    return {
        str(label): TradeCurve.of(some, BAYES) for label, some in rows.groupby("label", sort=False)
    }
