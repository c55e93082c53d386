"""What is recorded: a plan with a title, the sizes of its corpora, and the figures drawn of it.

Two kinds, one model. The cells of an experiment are tasks of their own, each with its table of
trials. A study of words measures Nw and Sw on some words of a vocabulary: its plan has one arm a
series, and its words are chosen when it is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.study.plan import Arm, Plan, Settings

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.study.rows import Row

WORDS_TASK = "dpcore.study.series:measure_series"
"""What a cell of a study of words does."""


@dataclass(frozen=True)
class Choice:
    """The words of a study.

    Attributes:
        count: how many are measured.
        by_tokens: they are drawn as the corpus holds them, frequent ones often; else one word from
            each of equal parts of the vocabulary.
    """

    count: int
    by_tokens: bool = False


@dataclass(frozen=True)
class Panel:
    """One figure of a study.

    Attributes:
        title: for people.
        quantity: nw or sw over ε, or "trade" for Sw against Nw.
        curves: that it shows; their ε must mean the same, except in a trade.
    """

    title: str
    quantity: str
    curves: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """What the plan of a study may be completed from, when it is recorded.

    Attributes:
        lexicons: by the names that the plan uses.
        run: runs a plan before that of the study, in the same folder and by the same workers, and
            returns its rows.
        progress: called with (stage, done, total) by whatever else takes long.
    """

    lexicons: Mapping[str, Lexicon]
    run: Callable[[Plan], list[Row]]
    progress: Progress


@dataclass(frozen=True)
class Study:
    """A study to be recorded.

    Attributes:
        title: for people.
        source: paper and figures to be compared with; empty if none.
        plan: what is done; its lexicons are keys of `dpcore.study.vocabularies`, its data names of
            files of the data folder.
        sizes: how much of each corpus is used, in a sentence; empty for a study of words.
        choice: the words of a study of words; None for an experiment.
        panels: what is drawn of a study of words.
        rewrites: whether mechanisms that write words are compared, and not networks that read
            noise.
        complete: of an experiment whose plan depends on its lexicon, such as one whose ε are found
            by measuring: makes of `plan` the plan that is run, and rows of what was found.
        command: the command line that records it; empty for `study run`.
    """

    title: str
    source: str
    plan: Plan
    sizes: str = ""
    choice: Choice | None = None
    panels: tuple[Panel, ...] = ()
    rewrites: bool = True
    complete: Callable[[Plan, Given], tuple[Plan, list[Row]]] | None = None
    command: str = ""

    @property
    def name(self) -> str:
        """What the command line takes."""
        return self.plan.name

    @property
    def reads_data(self) -> bool:
        """Whether an experiment needs the folder of corpora and vectors."""
        return any(self.plan.data)


def series(
    mechanism: str,
    epsilons: tuple[float, ...],
    settings: Settings = (),
    label: str = "",
    *,
    method: str = "auto",
    words: int | None = None,
    named: tuple[str, ...] = (),
    curve: str = "",
) -> Arm:
    """An arm of a study of words: one mechanism at some ε, measured in one way.

    Args:
        mechanism: short name in the registry.
        epsilons: ascending; those that the mechanism does not have are recorded as undefined.
        settings: of the mechanism.
        label: unique in its study; the mechanism if empty.
        method: as for `dpcore.measure.deniability.measure`.
        words: at most this many of the study's words; None takes them all.
        named: measure these words, one by one, instead of the study's; those that the vocabulary
            does not hold are left out.
        curve: series that are drawn as one have the same; the label if empty.
    """
    how = (
        ("curve", curve or label or mechanism),
        ("method", method),
        ("most", words),
        ("named", named),
    )
    return Arm(mechanism, epsilons, settings, label, how)


def words_plan(name: str, vocabulary: str, arms: tuple[Arm, ...], runs: int = 1_000) -> Plan:
    """The plan of a study of words, before they are chosen.

    Args:
        name: of the study.
        vocabulary: key of `dpcore.study.vocabularies`.
        arms: of `series`.
        runs: R.
    """
    return Plan(name, WORDS_TASK, arms, (vocabulary,), options=(("runs", runs),), together=True)


def grid(low: float, high: float, count: int, *more: float) -> tuple[float, ...]:
    """A geometric grid of values with four digits, and more values between."""
    # Rounded, so that a value can be asked for as it is printed.
    points = {float(f"{value:.4g}") for value in np.geomspace(low, high, count)}
    return tuple(sorted(points | set(more)))


def powers(*logarithms: float) -> tuple[float, ...]:
    """e to these powers."""
    return tuple(math.exp(value) for value in logarithms)
