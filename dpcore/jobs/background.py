"""Background execution of slow work: queued, shared, cancellable.

Work is a list of payloads for an executor, by default one subprocess with a low priority, so that
the pages stay quick. Work starts when its turn comes, reports its progress, and its partial results
can be used at once. It ends after its last payload, or in the middle of one as soon as no one
wants it any more: everyone has stopped it, or has gone.
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

# Queue: a few jobs run at a time, in order of arrival.
#
# Each member of the queue knows how many come first, and may leave at any time.


class Turns:
    """Queue in front of a fixed number of places.

    Args:
        places: largest number at work at a time, 1 or more.

    Raises:
        ParameterError: `places` is below 1.
    """

    def __init__(self, places: int) -> None:
        """Open an empty queue."""
        if not places >= 1:
            raise ParameterError(f"a line needs 1 place or more, got {places}")
        self._places = places
        self._line: dict[object, threading.Thread | None] = {}  # those at work first
        self._moved = threading.Condition()

    def join(self, owner: threading.Thread | None = None) -> Turn:
        """Join the end of the queue.

        Args:
            owner: a started thread; its place becomes free when it ends.
        """
        ticket = object()
        with self._moved:
            self._line[ticket] = owner
        return Turn(self, ticket)

    def _present(self) -> list[object]:
        """Return the tickets in the queue, after removing those whose owner has ended."""
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
    """Place in a queue; as a context manager it is left at the end of the block.

    A turn that is garbage collected leaves by itself.
    """

    def __init__(self, turns: Turns, ticket: object) -> None:
        self._turns, self._ticket = turns, ticket
        self._finalizer = weakref.finalize(self, turns._leave, ticket)

    @property
    def before(self) -> int:
        """Number that must leave before this turn comes; 0 once it has come."""
        return self._turns._before(self._ticket)

    @property
    def left(self) -> bool:
        """True if this turn has left the queue."""
        return not self._finalizer.alive

    def wait(self, seconds: float) -> bool:
        """Wait until this turn comes, at most `seconds`; return True if it has come."""
        return self._turns._wait(self._ticket, seconds)

    def leave(self) -> None:
        """Leave the queue or the work; a second call does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        """Return the turn; it is held until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the queue."""
        self.leave()


def waiting(before: int) -> str:
    """Return the message for a queued job.

    Args:
        before: how many come first; at 0 the job starts now.
    """
    return f"Waiting: {before} before you" if before else "Starting"


BACKGROUND = "background"
"""Name of the worker threads."""
_PULSE = 0.1  # seconds between two checks that queued work has not been stopped


class Course(Protocol):
    """Progress of work, from the reports of its function; times in seconds of `time.monotonic`."""

    def hear(self, stage: str, done: int, total: int) -> None:
        """Record a report of the function."""

    def finish_part(self, now: float) -> None:
        """Record that another payload is done."""

    def progress(self, now: float) -> tuple[float, str]:
        """Return progress from 0 to 1, and a sentence with the time left if known."""


class Job:
    """One person's share in some work."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self.stopped = False
        """True if the share was given up before the work ended."""
        self._give_up = weakref.finalize(self, run.lose)  # also when the session or server ends

    @property
    def done(self) -> bool:
        """True if the work has ended (successfully or with an error) or was given up."""
        return self.stopped or self._run.ended.is_set()

    @property
    def error(self) -> str | None:
        """Message that says why the work ended early; None if it did not or was given up."""
        return None if self.stopped else self._run.error

    @property
    def results(self) -> tuple[Json, ...]:
        """Results of the payloads that are done."""
        return tuple(self._run.results)

    def progress(self) -> tuple[float, str]:
        """Return progress from 0 to 1, and a sentence with the time left if known."""
        return self._run.progress()

    def stop(self) -> None:
        """Give up this share; end the work if no one else wants it. Results so far stay."""
        self.stopped = self.stopped or not self._run.ended.is_set()
        self._give_up()

    def wait(self, seconds: float) -> bool:
        """Wait until the work has ended or goes on for others alone, at most this long.

        Returns:
            True if one of the two has happened.
        """
        return (self.stopped and self._run.shares > 0) or self._run.ended.wait(seconds)


J = TypeVar("J", bound=Job)


class Background(Generic[J]):
    """Background work of one kind.

    Args:
        function: `module:function`, of a payload and `tell`, which is called with `stage`, `done`
            and `total` (`dpcore.jobs.worker.now_and_then`).
        places: how many jobs run at a time; the others wait in a queue.
        job: class of a share in the work.
        executor: makes an executor, given the listener for its reports.
    """

    def __init__(
        self,
        function: str,
        places: int,
        job: type[J],
        executor: Callable[[Tell], Executor] = lambda listen: Processes(1, listen, gently=True),
    ) -> None:
        """Open an empty queue."""
        self.function, self.job, self.executor = function, job, executor
        self.turns = Turns(places)
        self.running: dict[Hashable, _Run] = {}
        # Reentrant: garbage collection may give up a share at any point.
        self.lock = threading.RLock()

    def start(
        self,
        payloads: AbstractContextManager[Iterable[Json]],
        course: Callable[[], Course],
        *,
        key: Hashable = None,
        executor: Callable[[Tell], Executor] | None = None,
    ) -> J:
        """Start work, or take a share in the same work.

        Args:
            payloads: context, entered when the turn has come, and left at the end.
            course: makes the progress, called when the turn has come.
            key: work with the same key is done once for all callers; None shares nothing.
            executor: replaces the executor of this kind of work.
        """
        with self.lock:
            run = self.running.get(key)
            if run is None:
                run = _Run(self, course, key, executor or self.executor)
                if key is not None:
                    self.running[key] = run
                # Only the thread holds the payloads, so they are freed when it ends.
                threading.Thread(
                    target=run.work, args=(payloads,), daemon=True, name=BACKGROUND
                ).start()
            run.shares += 1
            return self.job(run)


class _Run:
    """Thread that listens to the worker, and the reports so far."""

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
            if not self._stopping.is_set():  # otherwise the lost worker was stopped on purpose
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
        with self._kind.lock:  # no one takes a share between the last one's leaving and the stop
            self.shares -= 1
            if self.shares or self.ended.is_set():
                return
            self._stopping.set()
            self._forget()
        self._executor.__exit__(None, None, None)  # ends the worker in the middle of its job

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
