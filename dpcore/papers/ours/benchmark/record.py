"""Record of a benchmark: trials by utility, one-time measurements, and the recorded studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.leak import EQUAL
from dpcore.attack.trade.ground import GUESSED, MEANT, NEARLY
from dpcore.guarantee import Status
from dpcore.learn.intervals import mean_interval
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.ours.benchmark.cells import WHOLE, Size, complete
from dpcore.study.labelled_trial import STRONGER
from dpcore.study.plan import PRIVATE, Arm, Plan, Settings, Study
from dpcore.study.recorded import Figures, MeanInterval, read_recorded
from dpcore.study.vocabularies import BUNDLED, GLOVE_HEAD

if TYPE_CHECKING:
    import pandas as pd


# Definitions of the two recorded studies, and of the same study on another lexicon.


MODULE = "dpcore.papers.ours.benchmark.cells"
"""Module of the task in the plan of every benchmark; a record keeps the task's name of its time."""
_FIRST = 1  # seed of the first trial; levels are found with noise of seed 0


def study(
    name: str,
    title: str,
    sizes: str,
    lexicon: str,
    size: Size = WHOLE,
    *,
    files: Sequence[tuple[str, Settings]] = (),
    mechanisms: Sequence[tuple[str, Settings]] = (),
    encoder: bool = True,
    command: str = "",
) -> Study:
    """Return the benchmark on one lexicon.

    Args:
        name: name of the study.
        title: title for people.
        sizes: amount of measurement, in a sentence.
        lexicon: its name in the sources.
        size: amount of measurement.
        files: real corpora, each with `train` and `test` texts of a trial, `words` read from each
            text, and `title`.
        mechanisms: short name or key, with settings; all of the registry if empty.
        encoder: True to compare the meaning of texts.
        command: command that repeats the study, if not `study run`.
    """
    data = ("", *(file for file, *_ in files))
    options: Settings = (
        *size.options,
        ("encoder", bool(encoder and size.compared)),
        ("files", tuple(files)),
    )
    task = f"{MODULE}:measure_trials"
    plan = Plan(name, task, (Arm(""),), (lexicon,), data, (_FIRST,), options, together=True)
    making = partial(complete, mechanisms=tuple(mechanisms), calibrate=size.calibrate)
    return Study(title, "", plan, sizes, complete=making, command=command)


_WORDS = 60


def _corpus(file: str, title: str, training: int, testing: int) -> tuple[str, Settings]:
    sizes = (("train", training), ("test", testing), ("words", _WORDS), ("title", title))
    return file, sizes


_SIZES = (
    f"In each of {WHOLE.trials} trials {round(1008 * WHOLE.part)} training and "
    f"{round(432 * WHOLE.part)} test texts of the teaching corpus, newly drawn; the meaning of "
    f"{WHOLE.compared} test texts a trial; words guessed from all outputs where columns of the law "
    f"are closed forms, from {WHOLE.outputs[1].columns} where they take integrals, elsewhere from "
    f"{WHOLE.outputs[1].draws:,} content words, drawn as frequent as they are, with their outputs."
)
REAL = (
    _corpus("sst2.parquet", "SST-2", 800, 400),
    _corpus("agnews.parquet", "AG News", 300, 200),
)
STUDIES = (
    study(
        "benchmark",
        "All mechanisms at equal leakage: the benchmark",
        f"The bundled lexicon. {_SIZES}",
        BUNDLED,
    ),
    study(
        "benchmark-glove",
        "All mechanisms at equal leakage, with GloVe vectors",
        f"The 5,000 most frequent words of GloVe 840B. {_SIZES}",
        GLOVE_HEAD,
        command="python -m dpcore study run benchmark-glove --data ../shared/data",
    ),
)


KEPT, COSINE = "kept", "cosine"


@dataclass(frozen=True)
class Line:
    """One mechanism on a board.

    Attributes:
        label: label of its curve.
        mechanism: short name.
        bounds: what its ε bounds, `METRIC` or `LOCAL`; empty, like the fields after it, for a
            mechanism that could not be created.
        status: status of its guarantee.
        reason: reason for the status.
        why: reason why it is not on the board; empty if it is.
        epsilon: its own ε there, with an interval where that was read between measured ones.
        promised: ε that is proved or certified there, per unit of Euclidean distance or between any
            two words; None if there is none.
        delta: δ of that guarantee, if it has one.
        waste: own guaranteed ε over the largest known ε under which no mechanism leaks more: an
            upper bound of its ratio to the least ε that any mechanism needs.
        guessed: share of words guessed by the stranger of the benchmark.
        at_least: True if a better attacker may guess more.
        near: share of words for which a word as near as the nine nearest is guessed.
        auc: AUC of the attacker on membership.
        left: remaining utility, by name: `kept` (words of texts), `cosine` (meaning of texts by an
            encoder), and the accuracy under each labelling or corpus by its name.
        meaning: on the lexicon: 1 − E d(w, y)/d̄, or a similar number in another record.
        places: first and last place on this board, for each of `left`.
        cost: processor time per word, relative to that of randomised response.
        microseconds: the same in microseconds.
    """

    label: str
    mechanism: str
    bounds: str = ""
    status: Status | None = None
    reason: str = ""
    why: str = ""
    epsilon: MeanInterval | None = None
    promised: float | None = None
    delta: float | None = None
    waste: float | None = None
    guessed: MeanInterval | None = None
    at_least: bool = False
    near: MeanInterval | None = None
    auc: MeanInterval | None = None
    left: dict[str, MeanInterval] = field(default_factory=dict)
    meaning: MeanInterval | None = None
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    cost: float | None = None
    microseconds: float | None = None


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Recorded benchmark, ready to be read.

    Attributes:
        figures: figures of the benchmark.
        later: short names of mechanisms that were added after it was recorded.
    """

    figures: Figures
    later: tuple[str, ...] = ()

    @cached_property
    def trials(self) -> dict[tuple[str, str], dict[float, FloatArray]]:
        """One number per trial, by (utility, label) and ε; all mechanisms share the same trials."""
        by_mechanism: dict[tuple[str, str], dict[float, FloatArray]] = {}
        for utility, rows in _measured(self.figures):
            ordered = rows[rows["epsilon"].notna()].sort_values("seed", kind="stable")
            for label, of_one in ordered.groupby("label", sort=False):
                known = by_mechanism.setdefault((utility, str(label)), {})
                for epsilon in of_one["epsilon"].unique().tolist():
                    some = of_one.loc[of_one["epsilon"] == epsilon, "value"]
                    known[epsilon] = some.to_numpy(dtype=np.float64)
        return by_mechanism

    @property
    def stranger(self) -> str:
        """Name of the person who guesses the words, of `dpcore.attack.leak.STRANGERS`."""
        return str(dict(self.figures.entry.plan["options"])["stranger"])

    @property
    def words(self) -> str:
        """Quantity of the share of words guessed."""
        return "word" if self.stranger == EQUAL else GUESSED

    @cached_property
    def shares(self) -> dict[tuple[str, str], dict[float, dict[str, Any]]]:
        """One-time measurements on the lexicon, by (quantity, label) and ε."""
        table = self.figures.recorded.table
        names = {name: name for name in ("promise", "poorly attacked", "cost", "cost ratio")}
        amounts = ("word", "near", "meaning")
        recorded = amounts if self.stranger == EQUAL else (GUESSED, NEARLY, MEANT)
        names |= dict(zip(recorded, amounts, strict=True))
        by_mechanism: dict[tuple[str, str], dict[float, dict[str, Any]]] = {}
        for each in table[table["quantity"].isin(names.keys())].to_dict("records"):
            key = names[str(each["quantity"])], str(each["label"])
            by_mechanism.setdefault(key, {})[float(each["epsilon"])] = {
                str(k): v for k, v in each.items()
            }
        return by_mechanism

    @cached_property
    def utilities(self) -> tuple[str, ...]:
        """Names of the utilities, in the order of the columns: words, meaning, accuracies."""
        # The AUC is what the text gives away, not what it is good for.
        names = dict.fromkeys(utility for utility, _ in self.trials if utility != "auc")
        return tuple(names)

    @cached_property
    def accuracies(self) -> tuple[str, ...]:
        """Labellings and corpora that classifiers learn from."""
        return tuple(name for name in self.utilities if name not in {KEPT, COSINE})

    @cached_property
    def bare(self) -> tuple[Line, ...]:
        """Every mechanism with its guarantee; those that could not be created, with the reason."""
        reasons = {str(r["label"]): str(r["variant"]) for r in self._rows("reason")}
        lines = [
            Line(
                str(each["label"]),
                str(each["mechanism"]),
                str(each["tested_on"]),
                Status(each["variant"]),
                reasons[str(each["label"])],
            )
            for each in self._rows("status")
        ]
        absent = [
            Line(
                # A status has to be named, and says nothing beside the reason: it could not be
                # created.
                str(r["label"]),
                str(r["mechanism"]),
                "",
                Status.CONDITIONAL,
                "",
                str(r["variant"]),
            )
            for r in self._rows("absent")
        ]
        absent += [
            Line(name, name, "", Status.CONDITIONAL, "", "was added after this record")
            for name in self.later
        ]
        return tuple(lines + absent)

    def least(self, bounds: str) -> dict[float, float]:
        """Return the largest ε that guarantees each level, by level."""
        return {
            float(each["at"]): float(each["value"])
            for each in self._rows("least")
            if each["tested_on"] == bounds
        }

    def _rows(self, quantity: str) -> list[dict[str, Any]]:
        rows = self.figures.rows(quantity).to_dict("records")
        return [{str(name): value for name, value in each.items()} for each in rows]

    def levels(self, quantity: str) -> dict[tuple[str, float], tuple[float | None, str]]:
        """Return ε and reason, by label and level, of the rows `level` or `promised`."""
        return {
            (str(r["label"]), float(r["at"])): (float(r["value"]) or None, str(r["variant"]))
            for r in self._rows(quantity)
        }

    def without(self) -> dict[str, MeanInterval]:
        """Return utility and `auc` of the original texts."""
        readings = {}
        for utility, rows in _measured(self.figures, clean=True):
            numbers = rows.loc[rows["epsilon"].isna(), "value"].to_numpy(dtype=np.float64)
            if numbers.size:
                readings[utility] = reading(numbers, share=utility != COSINE)
        return readings


def read_benchmark(name: str = STUDIES[0].name) -> Benchmark:
    """Read a recorded benchmark, and name the mechanisms that were added later.

    Args:
        name: name of the study.

    Raises:
        StudyError: it is not recorded, or damaged.
    """
    figures = Figures(read_recorded(name))
    recorded = set(figures.recorded.table["mechanism"])
    ours = [kind.short for key, kind in MECHANISMS.items() if key not in MECHANISMS.packages]
    return Benchmark(figures, tuple(short for short in ours if short not in recorded))


def _measured(figures: Figures, *, clean: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield rows of one number per trial, by utility; the AUC last."""
    yield KEPT, figures.rows("nw", data="")
    cosines = figures.rows("cosine")
    if len(cosines):
        yield COSINE, cosines
    where = {} if clean else {"tested_on": PRIVATE}
    accuracies = figures.rows("accuracy", **where)
    for name, rows in accuracies.groupby("data", sort=False):
        yield str(name), rows
    attacks = figures.rows("auc", variant=STRONGER)
    if len(attacks):
        yield "auc", attacks


def reading(values: FloatArray, *, share: bool = False) -> MeanInterval:
    """Return mean and interval; a share is clipped to 0 and 1, where estimates may lie beyond."""
    mean = mean_interval(values)
    ends = (mean.mean, mean.low, mean.high)
    return MeanInterval(*np.clip(ends, 0.0, 1.0).tolist()) if share else MeanInterval(*ends)
