"""Live runs for the pages, in the background: how far each is, and what is there already.

Only the rows, and a few texts to look at, come back; nothing is kept in a file.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.jobs.background import Background, Job
from dpcore.limits import MAX_LIVE_RUNS
from dpcore.study.live import JOB, VALUES, WORDS, Live

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.jobs.executors import Executor
    from dpcore.jobs.worker import Tell
    from dpcore.study.rows import Row

_STAGES = {WORDS: (0.05, 0.6), VALUES: (0.6, 0.95)}  # which share of a part each is, roughly
_EARLY = 0.15  # of a part: before that its own pace says nothing of what it will take
_SHORT = 90.0  # seconds


class LiveRun(Job):
    """A person's run."""

    @property
    def finished(self) -> int:
        """Cells that are done."""
        return len(self.results)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the cells that are done."""
        return tuple(row for cell in self.results for row in cell["rows"])

    @property
    def examples(self) -> tuple[dict[str, Any], ...]:
        """Texts that were read wrongly (`dpcore.study.live.perform`)."""
        return tuple(example for cell in self.results for example in cell["examples"])


_RUNS = Background(JOB, MAX_LIVE_RUNS, LiveRun)


def start(live: Live, executor: Callable[[Tell], Executor] | None = None) -> LiveRun:
    """Begin a run in the background; it waits while `limits.MAX_LIVE_RUNS` others are at work.

    Args:
        live: what is to be measured.
        executor: given who hears how far a part is, makes what does the work; by default a
            process of its own.
    """
    jobs = live.jobs()
    parts = [(job["cell"]["label"], job["cell"]["seed"]) for job in jobs]
    return _RUNS.start(
        nullcontext(jobs), lambda: Course(parts, time.monotonic()), executor=executor
    )


@dataclass
class Course:
    """What was heard of a run, and when; all times are seconds of one clock.

    Parts of one mechanism take about the same time in every trial; a mechanism that was not
    measured yet is taken to need what the others need, by what is known so far.

    Attributes:
        parts: mechanism ("baseline" without one) and trial of each part, in order.
        begun: start of the run.
        done: seconds that each part took that is done.
    """

    parts: Sequence[tuple[str, int]]
    begun: float
    done: list[float] = field(default_factory=list)
    _stage: tuple[str, int, int] = ("", 0, 0)
    _entered: float = 0.0
    _share: float = 0.0

    def __post_init__(self) -> None:
        """The first part begins with the run."""
        self._entered = self.begun

    def hear(self, stage: str, done: int, total: int) -> None:
        """Note how far the present part is."""
        self._stage = (stage, done, total)

    def finish_part(self, now: float) -> None:
        """Note that the present part is done."""
        self.done.append(now - self._entered)
        self._entered, self._stage = now, ("", 0, 0)

    def progress(self, now: float) -> tuple[float, str]:
        """Share of the run from 0 to 1, which never falls, and a sentence."""
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
        sentence += f"; {spent:.0f} s"
        if left is not None:
            sentence += (
                f", about {left:.0f} s left"
                if left < _SHORT
                else f", about {left / 60:.0f} min left"
            )
        return self._share, sentence

    def _inside(self) -> float:
        """How far the present part is, from 0 to 1."""
        stage, done, total = self._stage
        low, high = _STAGES.get(stage, (0.0, 0.0))
        return low + (high - low) * done / max(total, 1)

    def _left(self, now: float) -> float | None:
        """Seconds left; None while nothing is known of a mechanism."""
        number, inside = len(self.done), self._inside()
        took: dict[str, list[float]] = {}
        for (name, _), seconds in zip(self.parts, self.done, strict=False):
            took.setdefault(name, []).append(seconds)
        name, here = self.parts[number][0], now - self._entered
        known = {mechanism: sum(all_of) / len(all_of) for mechanism, all_of in took.items()}
        if inside > _EARLY:
            pace = here / inside  # seconds for the whole part; half of it counts, half experience
            known[name] = 0.5 * (known[name] + pace) if name in known else pace
        # The baseline, which comes first, draws no noise: its pace says nothing of the others.
        baseline = self.parts[0][0]
        noisy = [seconds for mechanism, seconds in known.items() if mechanism != baseline]
        if not noisy:
            return None
        usual = sum(noisy) / len(noisy)
        later = sum(known.get(mechanism, usual) for mechanism, _ in self.parts[number + 1 :])
        return max(known.get(name, usual) - here, 0.0) + later
