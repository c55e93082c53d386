"""Executors of jobs: this process, several processes, or a cluster, behind one method.

`run` takes the name of a function and JSON payloads, and yields each payload with its result in
the order in which they are done. Payloads are requested only a few ahead, so a run may have
millions. If a worker dies in the middle of a job, it is replaced and the job is repeated: the
result of a job may depend on its payload alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Protocol, Self, cast

from dpcore.errors import ParameterError, StudyError
from dpcore.jobs.cluster import Cluster
from dpcore.jobs.worker import AHEAD, THREADS, TOLD, Json, Tell, outcome, perform, request
from dpcore.limits import MAX_WORKERS

ATTEMPTS = 3
"""Number of workers that one job may lose before the run fails."""
_PRIORITY = 10  # niceness; 19 is the lowest priority


class Executor(Protocol):
    """Workers that are ready inside a `with` block."""

    workers: int

    def __enter__(self) -> Self:
        """Prepare the workers."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the workers; unfinished jobs are stopped."""

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """Do every job once.

        Args:
            function: `module:function`, from one JSON object to another.
            payloads: requested one by one, from the thread of the caller.

        Yields:
            A payload and its result, in any order.

        Raises:
            DpcoreError: a job refused its input; jobs that finished before have been yielded.
            StudyError: a job failed, or lost its worker `ATTEMPTS` times.
        """


class Serial:
    """Executor that does one job after the other in this process."""

    workers = 1

    def __init__(self, listen: Tell | None = None) -> None:
        """Take the listener for reports of functions, as `Processes` does."""
        self._listen = listen

    def __enter__(self) -> Self:
        """Return the executor; nothing needs preparation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """See `Executor.run`."""
        for payload in payloads:
            # Through JSON as in the other executors, so that results do not depend on the choice.
            line = json.dumps(request(function, payload, heard=self._listen is not None))
            reply = perform(json.loads(line), self._listen)
            yield payload, outcome(json.loads(json.dumps(reply)))


class Processes:
    """Executor with several processes on this machine.

    Processes exchange JSON over pipes: nothing is pickled, a worker dies with its parent, and the
    number of threads is set before any library is loaded. Workers are spawned and never forked: a
    process in which FAISS has run must not be forked.
    """

    def __init__(
        self,
        workers: int,
        listen: Tell | None = None,
        *,
        threads: int = 1,
        gently: bool = False,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Take the number of processes and the listener for reports of functions.

        Args:
            workers: number of processes.
            listen: called in the middle of jobs, from one thread for each worker; functions then
                take a second argument, which they call with JSON objects. A job that loses its
                worker repeats its reports.
            threads: threads of BLAS and OpenMP in each process.
            gently: run at a low priority.
            attempts: number of workers that one job may lose.
        """
        self.workers, self._attempts = _checked(workers), attempts
        self._make = partial(_Worker, listen, threads, gently)
        self._pool = [self._make() for _ in range(workers)]

    def __enter__(self) -> Self:
        """Return the executor; processes start with their first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes for good, even in the middle of jobs; any thread may call this."""
        for worker in self._pool:
            worker.stop()

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """See `Executor.run`."""
        jobs, under_way = iter(payloads), 0
        asked: SimpleQueue[Json | None] = SimpleQueue()
        answered: SimpleQueue[tuple[Json, Json] | BaseException] = SimpleQueue()

        def work(worker: _Worker) -> None:
            while (payload := asked.get()) is not None:
                try:
                    answered.put((payload, worker.do(function, payload, self._attempts)))
                except BaseException as error:  # raised again by the thread that waits
                    answered.put(error)

        # Threads of a ThreadPoolExecutor would delay the exit of the interpreter until their end.
        for worker in self._pool:
            threading.Thread(target=work, args=(worker,), daemon=True).start()
        try:
            for payload in islice(jobs, AHEAD * self.workers):
                asked.put(payload)
                under_way += 1
            while under_way:
                answer = answered.get()
                under_way -= 1
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
                for payload in islice(jobs, 1):
                    asked.put(payload)
                    under_way += 1
        finally:
            if under_way:  # left early: an error, an interrupt, or a caller that stopped iterating
                for worker in self._pool:
                    worker.stop()
                self._pool = [self._make() for _ in range(self.workers)]
            for _ in range(self.workers):
                asked.put(None)


class _Worker:
    """Subprocess, started with its first job."""

    def __init__(self, listen: Tell | None, threads: int, gently: bool) -> None:
        self._listen, self._threads, self._gently = listen, str(threads), gently
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def do(self, function: str, payload: Json, attempts: int) -> Json:
        """Return the result of a job, with a new process after each one that dies."""
        line = json.dumps(request(function, payload, heard=self._listen is not None)) + "\n"
        for _ in range(attempts):
            process = self._started()
            if process is None:
                break
            if answer := self._answer(process, line):
                return outcome(json.loads(answer))
            self._end()
        often = f" {attempts} times in the same job" if attempts > 1 else ""
        raise StudyError(
            f"a worker process died{often} (out of memory?); use fewer workers; what is finished "
            "is kept"
        )

    def _answer(self, process: subprocess.Popen[str], line: str) -> str:
        """Return the answer to a request; empty if the process died."""
        with contextlib.suppress(OSError, ValueError):  # a broken pipe, or closed by `stop`
            cast("IO[str]", process.stdin).write(line)
            cast("IO[str]", process.stdin).flush()
            while (answer := cast("IO[str]", process.stdout).readline()).endswith("\n"):
                if not (self._listen and answer.startswith(TOLD)):
                    return answer
                self._listen(json.loads(answer)["told"])
        return ""

    def _started(self) -> subprocess.Popen[str] | None:
        """Return the process, started if necessary; None once it is stopped for good."""
        with self._lock:
            if self._process is None and not self._stopped:
                path = os.pathsep.join(entry or os.curdir for entry in sys.path)
                threads = dict.fromkeys((*THREADS, "NUMBA_NUM_THREADS"), self._threads)
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dpcore.jobs.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for the parent
                    env=os.environ | threads | {"PYTHONPATH": path},
                )
                if self._gently:
                    with contextlib.suppress(OSError, AttributeError):  # not on Windows
                        os.setpriority(os.PRIO_PROCESS, self._process.pid, _PRIORITY)
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()  # a thread that waits for an answer reads the end of the pipe
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # unread input in the pipe
                    cast("IO[str]", pipe).close()

    def stop(self) -> None:
        """End the process for good, even in the middle of a job."""
        self._stopped = True
        self._end()


def _checked(workers: int) -> int:
    if not 1 <= workers <= MAX_WORKERS:
        raise ParameterError(f"workers must be a whole number from 1 to {MAX_WORKERS}")
    return workers


def of(workers: int = 1, scheduler: str | None = None) -> Executor:
    """Return the executor for these options.

    Args:
        workers: 1 for this process, more for that many processes.
        scheduler: address of a Dask scheduler (`tcp://host:8786`); `workers` is then ignored.

    Raises:
        ParameterError: the number of workers is out of range.
        MissingPackageError: a scheduler is named and Dask is not installed.
    """
    if scheduler is not None:
        return Cluster(scheduler)
    return Serial() if _checked(workers) == 1 else Processes(workers)
