"""Plans, cells and studies: mechanisms, ε, words, data and seeds, and the rows that result.

A plan is data, written as JSON beside its results. It is a product of its parts, with one cell for
each combination. A cell holds all that a worker needs except the locations of its files
(`dpcore.study.runner`), and its randomness depends on the cell alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcore.attack.membership import document_bound
from dpcore.errors import StudyError
from dpcore.learn.corpus import Bags, LabelledTexts, bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve
from dpcore.noise.streams import check_seed, generator

if TYPE_CHECKING:
    import numpy as np


Settings = tuple[tuple[str, Any], ...]

BASELINE = ""
"""Key of the baseline in place of a mechanism: the original text."""
_FORMAT = 1
_TASK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def canonical(value: object) -> str:
    """Return JSON in canonical form, so that equal values have equal text.

    Raises:
        StudyError: the value is not JSON, or holds NaN or an infinity.
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
        mechanism: short name or key in the registry; `BASELINE` for the original text.
        epsilons: values of ε to measure; empty for the baseline, which has no ε.
        settings: settings of the mechanism.
        label: label of the curve; the name of the mechanism if empty.
        options: options for the task; they override those of the plan.
    """

    mechanism: str
    epsilons: tuple[float, ...] = ()
    settings: Settings = ()
    label: str = ""
    options: Settings = ()

    def __post_init__(self) -> None:
        """Check names and ε (whether a mechanism admits an ε depends on the lexicon)."""
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
        """The label, or the mechanism or "baseline" if there is none."""
        return self.label or self.mechanism or "baseline"


@dataclass(frozen=True)
class Cell:
    """One unit of work; all fields are JSON values.

    Attributes:
        task: the function to run.
        label: label of its curve.
        mechanism: as in `Arm`.
        settings: settings of the mechanism.
        epsilons: one ε, all ε of an arm, or none (baseline).
        lexicon: name of a lexicon in the sources; empty if none is read.
        data: key of a file in the sources; empty if none is read.
        seed: seed of all randomness.
        options: options for the task.
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
        """The ε of a cell with a single ε; None for the baseline.

        Raises:
            StudyError: the cell has several.
        """
        if len(self.epsilons) > 1:
            raise StudyError(f"cell {self.label!r} has {len(self.epsilons)} values of ε, not one")
        return self.epsilons[0] if self.epsilons else None

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option of the task."""
        return dict(self.options).get(name, default)

    def generator(self, *key: str | int) -> np.random.Generator:
        """Return a generator for this cell only."""
        # The key depends on the cell alone, not on the worker or the order of execution.
        return generator(self.seed, "cell", self._identity(), *key)

    def shared_generator(self, *key: str | int) -> np.random.Generator:
        """Return a generator shared by all cells of one seed and data, for example for a split."""
        return generator(self.seed, "data", self.data, *key)

    def _identity(self) -> str:
        """Return the fields that determine the noise: not the task, its options or the label."""
        # A curve can be renamed, or measured in more ways, and its draws stay the same.
        names = ("mechanism", "settings", "epsilons", "lexicon", "data", "seed")
        return canonical([getattr(self, name) for name in names])

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Cell:
        """Rebuild a cell from the result of `to_json`."""
        return cls(**{name: _frozen(value) for name, value in fields.items()})


@dataclass(frozen=True)
class Plan:
    """A product of arms, lexicons, data and seeds.

    Attributes:
        name: name for readers and for file names.
        task: `module:function`; the function takes a `Cell` and its `Sources` and returns rows.
            Workers import it by this name.
        arms: the curves.
        lexicons: names in the sources; "" if no lexicon is read.
        data: keys of files in the sources.
        seeds: one trial per seed.
        options: options for the task.
        together: True if one cell holds all ε of an arm, for a task that uses one noise draw for
            all.
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
        """Check that there is at least one cell, and that no cell is repeated."""
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
        """Return every combination: data, then lexicon, seed, arm and ε."""
        cells = []
        # Seeds before arms: a worker reads the data shared by the cells of a seed once.
        for data, lexicon, seed, arm in product(self.data, self.lexicons, self.seeds, self.arms):
            options = tuple((dict(self.options) | dict(arm.options)).items())
            alone: list[tuple[float, ...]] = [(epsilon,) for epsilon in arm.epsilons] or [()]
            for epsilons in [arm.epsilons] if self.together else alone:
                curve = (self.task, arm.name, arm.mechanism, arm.settings)
                cells.append(Cell(*curve, epsilons, lexicon, data, seed, options))
        return tuple(cells)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with all fields, as a manifest keeps it."""
        return {"format": _FORMAT} | asdict(self)


def _frozen(value: Any) -> Any:
    """Turn the lists of JSON back into tuples."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


# Studies: a plan with a title, the sizes of its corpora, and its figures.
#
# One model for two kinds. The cells of an experiment are tasks, each with its table of trials. A
# study of words measures Nw and Sw on some words of a vocabulary: its plan has one arm per series,
# and its words are chosen when it is recorded.


WORDS_TASK = "dpcore.study.series:measure_series"
"""Task of a cell of a study of words."""


@dataclass(frozen=True)
class Choice:
    """The choice of words of a study.

    Attributes:
        count: number of words to measure.
        by_tokens: True to draw words in proportion to their tokens in the corpus; otherwise one
            word is drawn from each of equal parts of the vocabulary.
    """

    count: int
    by_tokens: bool = False


@dataclass(frozen=True)
class Panel:
    """One figure of a study.

    Attributes:
        title: title for readers.
        quantity: nw or sw over ε, or "trade" for Sw against Nw.
        curves: curves of the figure; their ε must have the same meaning, except in a trade.
    """

    title: str
    quantity: str
    curves: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """Inputs from which the plan of a study can be completed when it is recorded.

    Attributes:
        lexicons: lexicons by the names that the plan uses.
        run: runs a plan before that of the study, in the same folder and with the same workers, and
            returns its rows.
        progress: called with (stage, done, total) during other long steps.
    """

    lexicons: Mapping[str, Lexicon]
    run: Callable[[Plan], list[Row]]
    progress: Progress


@dataclass(frozen=True)
class Study:
    """A study to be recorded.

    Attributes:
        title: title for readers.
        source: paper and figures for comparison; empty if none.
        plan: the plan; its lexicons are keys of `dpcore.study.vocabularies`, its data names of
            files in the data folder.
        sizes: how much of each corpus is used, in one sentence; empty for a study of words.
        choice: choice of the words of a study of words; None for an experiment.
        panels: figures of a study of words.
        rewrites: True if it compares mechanisms that write words, not networks that read noise.
        complete: for an experiment whose plan depends on its lexicon, such as one whose ε are found
            by measurement: turns `plan` into the plan to run, and returns rows of the findings.
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
        """The name for the command line."""
        return self.plan.name

    @property
    def reads_data(self) -> bool:
        """True if an experiment needs the folder of corpora and vectors."""
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
    """Build an arm of a study of words: one mechanism at some ε, measured by one method.

    Args:
        mechanism: short name in the registry.
        epsilons: ascending; values that the mechanism does not admit are recorded as undefined.
        settings: settings of the mechanism.
        label: unique in its study; the mechanism if empty.
        method: as for `dpcore.measure.deniability.measure`.
        words: measure at most this many of the study's words; None takes all.
        named: measure these words one by one instead of the study's; words that the vocabulary does
            not hold are left out.
        curve: common name of series that are drawn as one curve; the label if empty.
    """
    how = (
        ("curve", curve or label or mechanism),
        ("method", method),
        ("most", words),
        ("named", named),
    )
    return Arm(mechanism, epsilons, settings, label, how)


def words_plan(name: str, vocabulary: str, arms: tuple[Arm, ...], runs: int = 1_000) -> Plan:
    """Build the plan of a study of words, before the words are chosen.

    Args:
        name: name of the study.
        vocabulary: key of `dpcore.study.vocabularies`.
        arms: results of `series`.
        runs: R.
    """
    return Plan(name, WORDS_TASK, arms, (vocabulary,), options=(("runs", runs),), together=True)


def grid(low: float, high: float, count: int, *more: float) -> tuple[float, ...]:
    """Return a geometric grid of values rounded to four digits, with `more` values added."""
    # Rounded, so that a value can be requested as it is printed.
    points = {float(f"{value:.4g}") for value in np.geomspace(low, high, count)}
    return tuple(sorted(points | set(more)))


def powers(*logarithms: float) -> tuple[float, ...]:
    """Return e to each of these powers."""
    return tuple(math.exp(value) for value in logarithms)


# Tidy rows of an experiment: one number per row with its description.


Row = dict[str, Any]

COLUMNS = (
    "label", "mechanism", "epsilon", "lexicon", "data", "seed",
    "learner", "tested_on", "variant", "quantity", "at", "value", "low", "high", "count",
)  # fmt: skip
"""Columns of a table with one number per row. `label` names the curve; `epsilon` is None for the
baseline (mechanism ""); `learner` is a key of `dpcore.learn.classifiers.LEARNERS`; `tested_on` is
"private" or "clean"; `variant` distinguishes kinds of one quantity (such as attackers); `at` is the
abscissa of a quantity that is itself a curve (false-positive rate of "roc" and "tpr"); `low` and
`high` are the interval of `value` where it has its own; `count` is the number of texts or words
behind it."""

PRIVATE, CLEAN = "private", "clean"


def row(quantity: str, value: float, **more: Any) -> Row:
    """Build one row of the columns that a task fills; absent ones are None or empty."""
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
    """Compute Nw counted in text: the share of all positions whose word stayed."""
    # Unknown positions count and never stay: −1 before, a word of the vocabulary after.
    same = sum(int((before.words == after.words).sum()) for before, after in pairs)
    total = sum(before.words.size for before, _ in pairs)
    return row("nw", same / max(total, 1), epsilon=epsilon, count=total)


# Privacy figures for each ε of a plan, beside its utility figures.


PRIVACY_QUANTITIES = {
    "claimed_loss": "claimed privacy loss between the two words that are farthest apart",
    "document_auc": "largest AUC that the claim allows for a whole text; nothing if refuted",
    "true_epsilon": "smallest ε that is true of all pairs of words and all outputs",
    "true_delta": "exact δ at ε for the worst difference of two vectors",
}
"""Names of the quantities; `variant` holds the status of the guarantee."""


def privacy_rows(plan: Plan, lexicons: Mapping[str, Lexicon]) -> Iterator[Row]:
    """Yield rows of `PRIVACY_QUANTITIES` for every lexicon, arm and ε of a plan.

    Args:
        plan: its option `document_words`, or else `most`, is the number of words of a text.
        lexicons: lexicons by the names that the plan uses.
    """
    options = dict(plan.options)
    tokens = options.get("document_words", options.get("most"))
    for name in plan.lexicons:
        for arm in plan.arms:
            if not arm.mechanism:
                continue
            mechanism = create(arm.mechanism, lexicons[name], dict(arm.settings))
            named = {
                "label": arm.name,
                "mechanism": arm.mechanism,
                "lexicon": name,
                "data": plan.data[0],
                "seed": plan.seeds[0],  # nothing here is random, so one seed is enough
            }
            for known in claimed_rows(mechanism, arm.epsilons, tokens):
                yield named | known
            computed = mechanism.true_epsilons(arm.epsilons)  # over all pairs of words
            if computed is not None:
                for epsilon, true in zip(arm.epsilons, computed, strict=True):
                    yield named | row("true_epsilon", true, epsilon=epsilon, variant="computed")


def claimed_rows(
    mechanism: Mechanism, epsilons: Sequence[float], tokens: int | None = None
) -> Iterator[Row]:
    """Yield the figures that need no search: claimed loss, its status, and δ if it has a formula.

    Args:
        mechanism: mechanism that gives the guarantee.
        epsilons: values of ε that it admits.
        tokens: number of words of a text whose membership is bounded; None omits the bound.
    """
    # A metric guarantee is a loss per distance: the largest distance gives the largest loss.
    diameter = mechanism.lexicon.extent.diameter
    for epsilon in epsilons:
        promised = mechanism.guarantee(epsilon)
        common: dict[str, Any] = {"epsilon": epsilon, "variant": str(promised.status)}
        yield row("claimed_loss", promised.euclidean_loss(diameter), **common)
        if tokens:
            bound = document_bound(promised, tokens, diameter)
            yield row("document_auc", bound.auc, count=tokens, **common)
        delta = mechanism.true_delta(epsilon)
        if delta is not None:
            yield row("true_delta", delta, **common)
