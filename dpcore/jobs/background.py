"""Slow work for many people at once: in the background, a few at a time, shared, and stopped.

Work is a list of payloads for an executor, by default a process of its own with a low priority, so
that the pages stay quick. It begins when its turn comes, tells how far it is, and what is done of
it can be used at once. It ends with its last payload, or in the middle of one as soon as nobody
wants it any more: everybody has stopped it, or has gone.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from dpcore.errors import DpcoreError, ParameterError
from dpcore.jobs.executors import Executor, Processes
from dpcore.jobs.worker import Json, Tell

# Taking turns: slow work of many people is done a few at a time, in the order of their coming.
#
# Who stands in a line knows how many come first, and may leave at any time.


class Turns:
    """A line in front of some places.

    Args:
        places: how many may be at work at a time, 1 or more.

    Raises:
        ParameterError: there are fewer.
    """

    def __init__(self, places: int) -> None:
        """Open a line in which nobody stands yet."""
        if not places >= 1:
            raise ParameterError(f"a line needs 1 place or more, got {places}")
        self._places = places
        self._line: dict[object, threading.Thread | None] = {}  # who works, then who waits
        self._moved = threading.Condition()

    def join(self, owner: threading.Thread | None = None) -> Turn:
        """Stand at the end of the line.

        Args:
            owner: a thread that has started; the place is free once it has ended.
        """
        ticket = object()
        with self._moved:
            self._line[ticket] = owner
        return Turn(self, ticket)

    def _present(self) -> list[object]:
        """Who stands in the line, without those whose owner has ended."""
        ended = [ticket for ticket, owner in self._line.items() if owner and not owner.is_alive()]
        for ticket in ended:
            del self._line[ticket]
        return list(self._line)

    def _before(self, ticket: object) -> int:
        with self._moved:
            line = self._present()
            return max(0, line.index(ticket) + 1 - self._places) if ticket in line else 0

    def _wait(self, ticket: object, seconds: float) -> bool:
        with self._moved:
            return self._moved.wait_for(lambda: ticket in self._present()[: self._places], seconds)

    def _leave(self, ticket: object) -> None:
        with self._moved:
            self._line.pop(ticket, None)
            self._moved.notify_all()


class Turn:
    """One's own place in a line; as a context manager it is left at the end of the block.

    A turn that nobody holds any more leaves by itself.
    """

    def __init__(self, turns: Turns, ticket: object) -> None:
        self._turns, self._ticket = turns, ticket
        self._finalizer = weakref.finalize(self, turns._leave, ticket)

    @property
    def before(self) -> int:
        """How many must leave before it is this one's turn; 0 once it is."""
        return self._turns._before(self._ticket)

    @property
    def left(self) -> bool:
        """Whether it was left."""
        return not self._finalizer.alive

    def wait(self, seconds: float) -> bool:
        """Wait until it is this one's turn, at most this long; whether it is."""
        return self._turns._wait(self._ticket, seconds)

    def leave(self) -> None:
        """Make room, from the line or from work; a second time it does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        """Stay until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave."""
        self.leave()


def waiting(before: int) -> str:
    """What is said to who waits.

    Args:
        before: how many come first; at 0 it begins now.
    """
    return f"Waiting: {before} before you" if before else "Starting"


BACKGROUND = "background"
"""Name of the threads."""
_PULSE = 0.1  # seconds between two looks at whether work that waits was stopped


class Course(Protocol):
    """How far work is, from what its function tells; times are seconds of `time.monotonic`."""

    def hear(self, stage: str, done: int, total: int) -> None:
        """Note what the function told."""

    def finish_part(self, now: float) -> None:
        """Note that another payload is done."""

    def progress(self, now: float) -> tuple[float, str]:
        """From 0 to 1, and a sentence with the time left if that is known."""


class Job:
    """One person's share in some work."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self.stopped = False
        """Whether it was given up before its end."""
        self._give_up = weakref.finalize(self, run.lose)  # also when the session or server ends

    @property
    def done(self) -> bool:
        """Whether it has ended: well, with an error, or given up."""
        return self.stopped or self._run.ended.is_set()

    @property
    def error(self) -> str | None:
        """Why it ended early, in a sentence that can be shown; None if it did not."""
        return None if self.stopped else self._run.error

    @property
    def results(self) -> tuple[Json, ...]:
        """The results of the payloads that are done."""
        return tuple(self._run.results)

    def progress(self) -> tuple[float, str]:
        """How far it is, from 0 to 1, and a sentence with the time left if that is known."""
        return self._run.progress()

    def stop(self) -> None:
        """Give this share up; the work is ended if nobody else wants it. What is done stays."""
        self.stopped = self.stopped or not self._run.ended.is_set()
        self._give_up()

    def wait(self, seconds: float) -> bool:
        """Wait until the work has ended or goes on for others alone, at most this long.

        Returns:
            Whether that is so.
        """
        return (self.stopped and self._run.shares > 0) or self._run.ended.wait(seconds)


J = TypeVar("J", bound=Job)


class Background(Generic[J]):
    """Work of one kind.

    Args:
        function: `module:function`, of a payload and `tell`, which is called with `stage`, `done`
            and `total` (`dpcore.jobs.worker.now_and_then`).
        places: how much of it is done at a time; the rest waits its turn.
        job: what stands for a share in it.
        executor: given who hears what is told, makes what does the work.
    """

    def __init__(
        self,
        function: str,
        places: int,
        job: type[J],
        executor: Callable[[Tell], Executor] = lambda listen: Processes(1, listen, gently=True),
    ) -> None:
        """Open a line in which nobody stands yet."""
        self.function, self.job, self.executor = function, job, executor
        self.turns = Turns(places)
        self.running: dict[Hashable, _Run] = {}
        # Reentrant: a share may be forgotten, and so given up, in the middle of anything.
        self.lock = threading.RLock()

    def start(
        self,
        payloads: AbstractContextManager[Iterable[Json]],
        course: Callable[[], Course],
        *,
        key: Hashable = None,
        executor: Callable[[Tell], Executor] | None = None,
    ) -> J:
        """Begin work, or take a share in the same work.

        Args:
            payloads: entered when the turn has come, and left at the end.
            course: begins when the turn has come.
            key: work with the same key is done once for all who ask for it; None shares nothing.
            executor: another one than that of all work of this kind.
        """
        with self.lock:
            run = self.running.get(key)
            if run is None:
                run = _Run(self, course, key, executor or self.executor)
                if key is not None:
                    self.running[key] = run
                # The thread alone holds the payloads: nothing of them is left at its end.
                threading.Thread(
                    target=run.work, args=(payloads,), daemon=True, name=BACKGROUND
                ).start()
            run.shares += 1
            return self.job(run)


class _Run:
    """The thread that listens to the worker, and what it has heard."""

    def __init__(
        self,
        kind: Background[Any],
        course: Callable[[], Course],
        key: Hashable,
        executor: Callable[[Tell], Executor],
    ) -> None:
        self.results: list[Json] = []
        self.error: str | None = None
        self.shares = 0
        self.ended = threading.Event()
        self._kind, self._key = kind, key
        self._begin = course
        self._course: Course | None = None
        self._executor = executor(self._hear)
        self._stopping = threading.Event()
        self._turn = kind.turns.join()

    def work(self, payloads: AbstractContextManager[Iterable[Json]]) -> None:
        try:
            while not self._turn.wait(_PULSE):
                if self._stopping.is_set():
                    return
            self._work(payloads)
        except DpcoreError as error:
            if not self._stopping.is_set():  # then the loss of the worker is no news
                self.error = str(error)
        except OSError as error:
            self.error = f"this cannot be done here ({error.strerror})"
        finally:
            self._turn.leave()
            with self._kind.lock:
                self._forget()
                self.ended.set()

    def _work(self, payloads: AbstractContextManager[Iterable[Json]]) -> None:
        self._course = self._begin()
        with payloads as all_of_them, self._executor as executor:
            if self._stopping.is_set():
                return
            for _, result in executor.run(self._kind.function, all_of_them):
                self.results.append(result)
                self._course.finish_part(time.monotonic())
                if self._stopping.is_set():
                    return

    def lose(self) -> None:
        with self._kind.lock:  # nobody takes a share between the last one's leaving and the stop
            self.shares -= 1
            if self.shares or self.ended.is_set():
                return
            self._stopping.set()
            self._forget()
        self._executor.__exit__(None, None, None)  # ends the worker under its job

    def _forget(self) -> None:
        if self._kind.running.get(self._key) is self:
            del self._kind.running[self._key]

    def progress(self) -> tuple[float, str]:
        if self._course is None:
            return 0.0, waiting(self._turn.before)
        return self._course.progress(time.monotonic())

    def _hear(self, told: Json) -> None:
        if self._course is not None:
            self._course.hear(told["stage"], told["done"], told["total"])
