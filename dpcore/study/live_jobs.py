"""Live runs for the pages: each in a process of its own, a few at a time, with partial results.

The process starts with the first cell and ends with the last, or as soon as the run is stopped; it
has one thread and a low priority, so that the pages stay quick. A run that nobody holds any more
stops by itself. Only the rows, and a few texts to look at, come back; nothing is kept in a file.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError
from dpcore.jobs.executors import Processes
from dpcore.jobs.turns import Turns, waiting
from dpcore.limits import MAX_LIVE_RUNS
from dpcore.study.live_course import Course

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.jobs.executors import Executor
    from dpcore.jobs.worker import Json, Tell
    from dpcore.study.live import Live
    from dpcore.study.rows import Row

_GENTLY = "dpcore.study.live_jobs:perform_gently"
_PRIORITY = 10  # of 19
_PULSE = 0.1  # seconds between two looks at whether a waiting run was stopped

_turns = Turns(MAX_LIVE_RUNS)


class LiveRun:
    """A person's run: how far it is, and what is there already."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        weakref.finalize(self, run.stop)  # also when the server ends

    @property
    def done(self) -> bool:
        """Whether it has ended: well, with an error, or stopped."""
        return self._run.ended.is_set()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""
        return self._run.stopping.is_set()

    @property
    def error(self) -> str | None:
        """Why it ended early, in a sentence that can be shown; None if it did not."""
        return self._run.error

    @property
    def finished(self) -> int:
        """Cells that are done."""
        return self._run.finished

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the cells that are done."""
        return tuple(self._run.rows)

    @property
    def examples(self) -> tuple[dict[str, Any], ...]:
        """Texts that were read wrongly (`dpcore.study.live.perform`)."""
        return tuple(self._run.examples)

    def progress(self) -> tuple[float, str]:
        """How far it is, from 0 to 1, and a sentence with the time left if that is known."""
        return self._run.progress()

    def stop(self) -> None:
        """End it, in the middle of a cell if there is one; what is done stays."""
        self._run.stop()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most this long; whether it has."""
        return self._run.ended.wait(seconds)


def _one_process(listen: Tell) -> Executor:
    return Processes(1, listen)


def start(live: Live, executor: Callable[[Tell], Executor] = _one_process) -> LiveRun:
    """Begin a run in the background; it waits while `limits.MAX_LIVE_RUNS` others are at work.

    Args:
        live: what is to be measured.
        executor: given who hears how far a part is, makes what does the work; by default a
            process of its own.
    """
    run = _Run(live, executor)
    handle = LiveRun(run)
    threading.Thread(target=run.work, daemon=True, name="live run").start()
    return handle


def perform_gently(job: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`dpcore.study.live.perform` in a process that leaves the pages their time."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)  # before the libraries are loaded
    from dpcore.study.live import perform

    return perform(job, tell)


class _Run:
    """The thread that listens to the worker, and what it has heard."""

    def __init__(self, live: Live, executor: Callable[[Tell], Executor]) -> None:
        self.rows: list[Row] = []
        self.examples: list[dict[str, Any]] = []
        self.finished = 0
        self.error: str | None = None
        self.ended, self.stopping = threading.Event(), threading.Event()
        self._jobs, self._executor = live.jobs(), executor(self._hear)
        self._parts = [(job["cell"]["label"], job["cell"]["seed"]) for job in self._jobs]
        self._course: Course | None = None
        self._turn = _turns.join()

    def work(self) -> None:
        try:
            while not self._turn.wait(_PULSE):
                if self.stopping.is_set():
                    return
            self._work()
        except DpcoreError as error:
            if not self.stopping.is_set():  # then the loss of the worker is no news
                self.error = str(error)
        except OSError as error:
            self.error = f"the run cannot be done here ({error.strerror})"
        finally:
            self._turn.leave()
            self._jobs.clear()  # with the texts
            self.ended.set()

    def _work(self) -> None:
        self._course = Course(self._parts, time.monotonic())
        if self.stopping.is_set():  # asked after the course is there: `stop` looks the other way
            return
        with self._executor as executor:
            for _, found in executor.run(_GENTLY, iter(self._jobs)):
                self.rows += found["rows"]
                self.examples += found["examples"]
                self.finished += 1
                self._course.finish_part(time.monotonic())
                if self.stopping.is_set():
                    return

    def stop(self) -> None:
        if not self.ended.is_set():
            self.stopping.set()
            if self._course is not None:
                self._executor.__exit__(None, None, None)  # ends the worker under its job

    def progress(self) -> tuple[float, str]:
        if self._course is None:
            return 0.0, waiting(self._turn.before)
        return self._course.progress(time.monotonic())

    def _hear(self, found: Json) -> None:
        if self._course is not None:
            self._course.hear(found["stage"], found["done"], found["total"])
