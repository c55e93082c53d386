"""Live studies: a few chosen mechanisms on the teaching corpus or on a visitor's texts.

The texts stay inside the job, in this process or in a pipe: they are never written to a file, and
none of them is left when the worker ends.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from dpcore.errors import ParameterError
from dpcore.jobs.background import Background, Job
from dpcore.jobs.executors import Executor
from dpcore.jobs.worker import Tell, now_and_then
from dpcore.learn.classifiers import learner_of
from dpcore.learn.corpus import LabelledTexts, teaching_corpus
from dpcore.learn.table import Table, UsableTexts, choose_columns
from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import silent
from dpcore.limits import LIVE_EPSILONS, LIVE_SEEDS, LIVE_TEXTS, LIVE_WORDS, MAX_LIVE_RUNS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.study.labelled_trial import Wanted, labelled_trial, read_material
from dpcore.study.plan import Arm, Cell, Plan, Row, canonical, claimed_rows
from dpcore.study.tables import WrongAnswers

JOB = "dpcore.study.live:run_job"
"""Function that a worker runs."""
WORDS, VALUES = "words rewritten", "values of ε begun"
"""Stages of a part: the noise draw of all its texts, then the measurements."""

TEST_SHARE = 0.3
_COMPARED = 30  # test texts whose rewriting is compared
_EXAMPLES = 5  # of each mechanism and ε


@dataclass(frozen=True)
class Live:
    """Specification of a live run.

    Attributes:
        texts: all texts with their labels; each seed splits them differently.
        labelling: subject of the labels.
        arms: mechanisms with settings and ε; the baseline is added.
        lexicon: name in the catalogue.
        seeds: number of trials, with seeds from 0.
        learner: name of a classifier.
        attack: True to infer membership too.

    Raises:
        ParameterError: there is nothing to do, or more than `limits` allow.
    """

    texts: LabelledTexts
    labelling: str
    arms: tuple[Arm, ...]
    lexicon: str = "default"
    seeds: int = 1
    learner: str = "averaged"
    attack: bool = True

    def __post_init__(self) -> None:
        """Check the size of the work."""
        learner_of(self.learner)
        if not (self.arms and all(arm.epsilons for arm in self.arms)):
            raise ParameterError("choose at least one mechanism, with an ε that it has")
        most = max(len(arm.epsilons) for arm in self.arms)
        if not (1 <= self.seeds <= LIVE_SEEDS and most <= LIVE_EPSILONS):
            raise ParameterError(
                f"a live run has 1 to {LIVE_SEEDS} trials and at most {LIVE_EPSILONS} values of ε "
                f"for each mechanism, got {self.seeds} and {most}"
            )

    @property
    def plan(self) -> Plan:
        """Plan of the run: trial by trial, the baseline first."""
        return Plan(
            "live",
            JOB,
            (Arm(""), *self.arms),
            (self.lexicon,),
            seeds=tuple(range(self.seeds)),
            options=(
                ("labelling", self.labelling),
                ("learners", (self.learner,)),
                ("attacked", (self.learner,) if self.attack else ()),
            ),
            together=True,
        )

    def jobs(self) -> list[dict[str, Any]]:
        """Return one JSON object per cell, with everything that its worker needs."""
        labels = [self.texts.classes[label] for label in self.texts.labels.tolist()]
        carried = {"texts": list(self.texts.texts), "labels": labels}
        return [{"cell": cell.to_json()} | carried for cell in self.plan.cells()]


def shortened(
    texts: LabelledTexts, most: int = LIVE_TEXTS, words: int = LIVE_WORDS
) -> LabelledTexts:
    """Cut texts to the first words of the first texts, to fit the time of a live run."""
    # Cut before the noise draw, so that words beyond the cut cost no time.
    part = texts if len(texts) <= most else texts.part(range(most))
    cut = tuple(" ".join(text.split()[:words]) for text in part.texts)
    return LabelledTexts(cut, part.labels, part.classes)


def teaching_texts(labelling: str, most: int = LIVE_TEXTS) -> LabelledTexts:
    """Return texts of the teaching corpus with the labels of one labelling.

    Args:
        labelling: "sentiment" or "topic".
        most: largest number of texts; messages and reviews alternate.

    Raises:
        ParameterError: there is no such labelling.
    """
    corpus = teaching_corpus()
    labels = corpus.labels(labelling)
    half = len(corpus) // 2  # messages, then as many reviews
    order = [i for pair in zip(range(half), range(half, 2 * half), strict=True) for i in pair]
    order = order[:most]
    return LabelledTexts.of([corpus.texts[i] for i in order], [labels[i] for i in order])


def table_texts(table: Table, text: str, label: str, most: int) -> UsableTexts:
    """Read texts and labels from a visitor's table; above `most` rows, take a fixed sample.

    Raises:
        CorpusError: as `dpcore.learn.table.choose_columns`.
    """
    chosen = choose_columns(table, text, label, most, generator(0, "rows of a table"))
    return replace(chosen, texts=shortened(chosen.texts, len(chosen.texts)))


def run_job(job: dict[str, Any], tell: Tell | None = None) -> dict[str, Any]:
    """Run one of `Live.jobs`: one trial of one mechanism at all its ε, or of the baseline.

    Args:
        job: one of the jobs.
        tell: called a few times per second with the progress: `stage` (`WORDS` or `VALUES`), `done`
            and `total`.

    Returns:
        Its `rows`, and for the first trial `examples`: texts that a classifier of the clean texts
        gets right and one of the private texts gets wrong.

    Raises:
        DpcoreError: as `dpcore.study.labelled_trial.labelled_trial`.
    """
    cell, progress = Cell.from_json(job["cell"]), now_and_then(tell) if tell else silent
    labelling = str(cell.option("labelling"))
    texts = LabelledTexts.of(job["texts"], job["labels"])
    parts = texts.split(TEST_SHARE, cell.shared_generator("split"))
    material = read_material({labelling: parts}, _lexicon(cell.lexicon))
    mechanism = None
    if cell.mechanism:
        mechanism = _mechanism(cell.mechanism, cell.lexicon, canonical(cell.settings))
    wanted = Wanted(
        tuple(cell.option("learners")), tuple(cell.option("attacked")), compared=_COMPARED
    )
    watch = None
    if mechanism is not None and cell.seed == 0:
        watch = WrongAnswers(material, labelling, wanted.learners[0], cell.seed, _EXAMPLES)

    def rewritten(_: str, done: int, total: int) -> None:
        progress(WORDS, done, total)

    rows, values = [], 0
    trial = (material, mechanism, cell.epsilons, cell.seed, wanted, watch, rewritten)
    for result in labelled_trial(*trial):
        rows.append(result)
        if mechanism is not None and result["quantity"] == "nw":  # comes first of each ε
            values += 1
            progress(VALUES, values, len(cell.epsilons))
    if mechanism is not None and cell.seed == 0:  # a guarantee is the same in every trial
        rows += claimed_rows(mechanism, cell.epsilons)
    named: Row = {"label": cell.label, "mechanism": cell.mechanism, "lexicon": cell.lexicon}
    named |= {"data": "", "seed": cell.seed}
    examples = [example | {"label": cell.label} for example in watch.examples] if watch else []
    return {"rows": [named | result for result in rows], "examples": examples}


@lru_cache(maxsize=2)
def _lexicon(name: str) -> Lexicon:
    return catalogue.load(name)


@lru_cache(maxsize=32)
def _mechanism(key: str, lexicon: str, settings: str) -> Mechanism:
    return create(key, _lexicon(lexicon), dict(json.loads(settings)))


# Live runs for the pages, in the background, with progress and partial results.
#
# Only the rows and a few example texts are returned; nothing is written to a file.


_STAGES = {WORDS: (0.05, 0.6), VALUES: (0.6, 0.95)}  # rough share of a part for each stage
_EARLY = 0.15  # of a part: earlier, its pace does not predict its duration
_SHORT = 90.0  # seconds


class LiveRun(Job):
    """A visitor's run."""

    @property
    def finished(self) -> int:
        """Number of finished cells."""
        return len(self.results)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of the finished cells."""
        return tuple(row for cell in self.results for row in cell["rows"])

    @property
    def examples(self) -> tuple[dict[str, Any], ...]:
        """Texts that were misclassified (`run_job`)."""
        return tuple(example for cell in self.results for example in cell["examples"])


_RUNS = Background(JOB, MAX_LIVE_RUNS, LiveRun)


def start_run(live: Live, executor: Callable[[Tell], Executor] | None = None) -> LiveRun:
    """Start a run in the background; it waits while `limits.MAX_LIVE_RUNS` others are running.

    Args:
        live: specification of the run.
        executor: builds the executor from the callback for the progress of a part; by default a
            separate process.
    """
    jobs = live.jobs()
    parts = [(job["cell"]["label"], job["cell"]["seed"]) for job in jobs]
    return _RUNS.start(
        nullcontext(jobs), lambda: Course(parts, time.monotonic()), executor=executor
    )


@dataclass
class Course:
    """Progress of a run; all times are seconds of one clock.

    Parts of one mechanism take about the same time in every trial; a mechanism that was not
    measured yet is assumed to take as long as the average of those measured so far.

    Attributes:
        parts: mechanism ("baseline" without one) and trial of each part, in order.
        begun: start of the run.
        done: seconds that each finished part took.
    """

    parts: Sequence[tuple[str, int]]
    begun: float
    done: list[float] = field(default_factory=list)
    _stage: tuple[str, int, int] = ("", 0, 0)
    _entered: float = 0.0
    _share: float = 0.0

    def __post_init__(self) -> None:
        """Start the first part with the run."""
        self._entered = self.begun

    def hear(self, stage: str, done: int, total: int) -> None:
        """Record the progress of the current part."""
        self._stage = (stage, done, total)

    def finish_part(self, now: float) -> None:
        """Record that the current part is done."""
        self.done.append(now - self._entered)
        self._entered, self._stage = now, ("", 0, 0)

    def progress(self, now: float) -> tuple[float, str]:
        """Return the share of the run from 0 to 1, which never falls, and a sentence."""
        number, total = len(self.done), len(self.parts)
        if number == total:
            return 1.0, f"All {total} parts done after {now - self.begun:.0f} s"
        spent, left = now - self.begun, self._left(now)
        if left is not None:
            self._share = max(self._share, spent / (spent + left) if spent + left > 0 else 0.0)
        name, trial = self.parts[number]
        sentence = f"Part {number + 1} of {total} ({name}, trial {trial + 1})"
        stage, done, among = self._stage
        sentence += f": {done:,} of {among:,} {stage}" if stage else ": reading texts"
        sentence += f"; {spent:.0f} s so far"
        if left is not None:
            sentence += (
                f", about {left:.0f} s left"
                if left < _SHORT
                else f", about {left / 60:.0f} min left"
            )
        return self._share, sentence

    def _inside(self) -> float:
        """Return the progress of the current part, from 0 to 1."""
        stage, done, total = self._stage
        low, high = _STAGES.get(stage, (0.0, 0.0))
        return low + (high - low) * done / max(total, 1)

    def _left(self, now: float) -> float | None:
        """Estimate the seconds left; None while no mechanism has been timed."""
        number, inside = len(self.done), self._inside()
        took: dict[str, list[float]] = {}
        for (name, _), seconds in zip(self.parts, self.done, strict=False):
            took.setdefault(name, []).append(seconds)
        name, here = self.parts[number][0], now - self._entered
        known = {mechanism: sum(all_of) / len(all_of) for mechanism, all_of in took.items()}
        if inside > _EARLY:
            pace = here / inside  # seconds for the whole part; averaged with the parts before
            known[name] = 0.5 * (known[name] + pace) if name in known else pace
        # The baseline, which comes first, draws no noise: its pace does not predict the others.
        baseline = self.parts[0][0]
        noisy = [seconds for mechanism, seconds in known.items() if mechanism != baseline]
        if not noisy:
            return None
        usual = sum(noisy) / len(noisy)
        later = sum(known.get(mechanism, usual) for mechanism, _ in self.parts[number + 1 :])
        return max(known.get(name, usual) - here, 0.0) + later
