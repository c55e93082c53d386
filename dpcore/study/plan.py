"""A plan: which mechanisms, at which ε, on which words and data, under which seeds.

A plan is data. It is written as JSON beside what comes of it, and it is a product of its parts: one
cell for each combination. A cell says all that a worker has to know except where its files are
(`dpcore.study.runner`), and the randomness of a cell depends on the cell alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import StudyError
from dpcore.learn.corpus import Bags, LabelledTexts, bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.registry import resolve
from dpcore.noise.streams import check_seed, generator

if TYPE_CHECKING:
    import numpy as np


Settings = tuple[tuple[str, Any], ...]

BASELINE = ""
"""In place of a mechanism: the text as it stands."""
_FORMAT = 1
_TASK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def canonical(value: object) -> str:
    """JSON in one form, so that equal values have equal text.

    Raises:
        StudyError: it is not a JSON value, or holds NaN or an infinity.
    """
    try:
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError) as error:
        raise StudyError(
            f"a plan holds JSON values only (texts, finite numbers, lists): {error}"
        ) from None


@dataclass(frozen=True)
class Arm:
    """One curve: a mechanism with its settings at some ε.

    Attributes:
        mechanism: short name or key in the registry; `BASELINE` for the text as it stands.
        epsilons: what is measured; none for the baseline, which has no ε.
        settings: of the mechanism.
        label: of the curve; the name of the mechanism if empty.
        options: for the task; they go before those of the plan.
    """

    mechanism: str
    epsilons: tuple[float, ...] = ()
    settings: Settings = ()
    label: str = ""
    options: Settings = ()

    def __post_init__(self) -> None:
        """Check names and ε (whether a mechanism has an ε depends on the lexicon)."""
        if self.mechanism != BASELINE:
            resolve(self.mechanism)
        if (self.mechanism == BASELINE) != (not self.epsilons):
            raise StudyError(
                "an arm of a plan is a mechanism with one ε or more, or the baseline without any; "
                f"got {self.mechanism or 'the baseline'!r} with {len(self.epsilons)}"
            )
        for epsilon in self.epsilons:
            if not 0 < epsilon < math.inf:
                raise StudyError(f"an ε of a plan is a finite number > 0, got {epsilon}")
        if len(set(self.epsilons)) != len(self.epsilons):
            raise StudyError(f"an ε stands twice in the arm {self.name!r} of a plan")

    @property
    def name(self) -> str:
        """The label, or what stands for it."""
        return self.label or self.mechanism or "baseline"


@dataclass(frozen=True)
class Cell:
    """One unit of work; all fields are JSON values.

    Attributes:
        task: the function that does it.
        label: of its curve.
        mechanism: as in `Arm`.
        settings: of the mechanism.
        epsilons: one, or all of an arm, or none (baseline).
        lexicon: name of a lexicon in the sources; empty if none is read.
        data: key of a file in the sources; empty if none is read.
        seed: of all randomness.
        options: for the task.
    """

    task: str
    label: str
    mechanism: str
    settings: Settings
    epsilons: tuple[float, ...]
    lexicon: str
    data: str
    seed: int
    options: Settings

    @property
    def epsilon(self) -> float | None:
        """The ε of a cell that has one; None for the baseline.

        Raises:
            StudyError: it has several.
        """
        if len(self.epsilons) > 1:
            raise StudyError(f"cell {self.label!r} has {len(self.epsilons)} values of ε, not one")
        return self.epsilons[0] if self.epsilons else None

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the task."""
        return dict(self.options).get(name, default)

    def generator(self, *key: str | int) -> np.random.Generator:
        """Randomness of this cell and no other."""
        return generator(self.seed, "cell", self._identity(), *key)  # whoever does it, and when

    def shared_generator(self, *key: str | int) -> np.random.Generator:
        """Randomness that all cells of one seed and data have in common, such as a split."""
        return generator(self.seed, "data", self.data, *key)

    def _identity(self) -> str:
        """What the noise depends on: not the task, its options or the label."""
        # So a curve may get another name, or more may be measured of it, and its draws stay.
        names = ("mechanism", "settings", "epsilons", "lexicon", "data", "seed")
        return canonical([getattr(self, name) for name in names])

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Cell:
        """The cell that `to_json` gave."""
        return cls(**{name: _frozen(value) for name, value in fields.items()})


@dataclass(frozen=True)
class Plan:
    """A product of arms, lexicons, data and seeds.

    Attributes:
        name: for people and file names.
        task: `module:function`; the function takes a `Cell` and its `Sources` and returns rows. A
            worker imports it by this name.
        arms: the curves.
        lexicons: names in the sources; "" in place of one that is not read.
        data: keys of files in the sources.
        seeds: each is one trial.
        options: for the task.
        together: one cell holds all ε of an arm, for a task that gets them from one noise draw.
    """

    name: str
    task: str
    arms: tuple[Arm, ...]
    lexicons: tuple[str, ...] = ("default",)
    data: tuple[str, ...] = ("",)
    seeds: tuple[int, ...] = (0,)
    options: Settings = ()
    together: bool = False

    def __post_init__(self) -> None:
        """Check that there is something to do, and that no cell stands twice."""
        if not _TASK.fullmatch(self.task):
            raise StudyError(f"the task of a plan is module:function, got {self.task[:80]!r}")
        for seed in self.seeds:
            check_seed(seed)
        cells = self.cells()
        if not cells:
            raise StudyError(f"plan {self.name!r} has no cells: give arms, lexicons, data, seeds")
        if len({canonical(cell.to_json()) for cell in cells}) != len(cells):
            raise StudyError(f"plan {self.name!r} holds a cell twice")

    def cells(self) -> tuple[Cell, ...]:
        """Every combination: data, then lexicon, seed, arm and ε."""
        cells = []
        # The seed before the arms: what a seed's cells share in a worker is read once for all.
        for data, lexicon, seed, arm in product(self.data, self.lexicons, self.seeds, self.arms):
            options = tuple((dict(self.options) | dict(arm.options)).items())
            alone: list[tuple[float, ...]] = [(epsilon,) for epsilon in arm.epsilons] or [()]
            for epsilons in [arm.epsilons] if self.together else alone:
                curve = (self.task, arm.name, arm.mechanism, arm.settings)
                cells.append(Cell(*curve, epsilons, lexicon, data, seed, options))
        return tuple(cells)

    def to_json(self) -> dict[str, Any]:
        """A JSON object with all fields, as a manifest keeps it."""
        return {"format": _FORMAT} | asdict(self)


def _frozen(value: Any) -> Any:
    """JSON has lists where we have tuples."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


# What is recorded: a plan with a title, the sizes of its corpora, and the figures drawn of it.
#
# Two kinds, one model. The cells of an experiment are tasks of their own, each with its table of
# trials. A study of words measures Nw and Sw on some words of a vocabulary: its plan has one arm a
# series, and its words are chosen when it is recorded.


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


# The tidy rows of an experiment: one number a row, with what it is.


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


@dataclass(frozen=True, eq=False)
class Prepared:
    """Labelled texts as bags over one lexicon."""

    bags: Bags
    labels: NDArray[np.int64]


def prepare(corpus: LabelledTexts, lexicon: Lexicon, most: int | None) -> Prepared:
    """Read labelled texts over a lexicon."""
    return Prepared(bags_of(corpus.texts, lexicon, most), corpus.labels)


def kept(*pairs: tuple[Bags, Bags], epsilon: float | None = None) -> Row:
    """Nw counted in text: the share of all places whose word stayed."""
    # Unknown places count and never stay: −1 before, a word of the vocabulary after.
    same = sum(int((before.words == after.words).sum()) for before, after in pairs)
    total = sum(before.words.size for before, _ in pairs)
    return row("nw", same / max(total, 1), epsilon=epsilon, count=total)
