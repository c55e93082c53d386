"""Who does the work: this process, a few processes, or a cluster, behind one method.

`run` takes the name of a function and JSON payloads, and yields each payload with its result in
the order in which they are done. Payloads are asked for only a few ahead, so a run may have
millions. A worker that dies in the middle of a job is replaced and the job done again: the result
of a job may depend on its payload alone.
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
"""How often a job may lose its worker before the run gives up."""
_PRIORITY = 10  # of 19, the least


class Executor(Protocol):
    """Workers, ready from `with` to its end."""

    workers: int

    def __enter__(self) -> Self:
        """Get ready."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the workers go; jobs that are not done are stopped."""

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """Do every job once.

        Args:
            function: `module:function`, of one JSON object, returning one.
            payloads: asked for one by one, from the thread of the caller.

        Yields:
            A payload and its result, in any order.

        Raises:
            DpcoreError: a job refused its input; jobs that were done before have been yielded.
            StudyError: a job failed, or lost its worker `ATTEMPTS` times.
        """


class Serial:
    """One job after the other, in this process."""

    workers = 1

    def __init__(self, listen: Tell | None = None) -> None:
        """Take who hears what functions tell, as `Processes` does."""
        self._listen = listen

    def __enter__(self) -> Self:
        """Nothing to get ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to let go."""

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """See `Executor.run`."""
        for payload in payloads:
            # Through JSON as everywhere, so that a run does not depend on where it is.
            line = json.dumps(request(function, payload, heard=self._listen is not None))
            reply = perform(json.loads(line), self._listen)
            yield payload, outcome(json.loads(json.dumps(reply)))


class Processes:
    """Several processes of this machine.

    They speak JSON over pipes: nothing is pickled, a worker dies with its parent, and the number
    of threads is set before any library is loaded. They are started anew and never forked off: a
    process in which FAISS has run must not be.
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
        """Take a number of processes, and who hears what functions tell.

        Args:
            workers: how many.
            listen: called in the middle of jobs, one thread a worker; functions then take a second
                argument, to call with JSON objects. A job that loses its worker tells it all again.
            threads: of BLAS and OpenMP in each process.
            gently: leave other processes their time.
            attempts: how often a job may lose its worker.
        """
        self.workers, self._attempts = _checked(workers), attempts
        self._make = partial(_Worker, listen, threads, gently)
        self._pool = [self._make() for _ in range(workers)]

    def __enter__(self) -> Self:
        """Processes start with their first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes for good, from any thread, in the middle of their jobs."""
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
                except BaseException as error:  # raised again by the one who waits
                    answered.put(error)

        # Threads of a ThreadPoolExecutor would keep the interpreter from ending before their jobs.
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
            if under_way:  # left early: an error, an interrupt, or enough seen
                for worker in self._pool:
                    worker.stop()
                self._pool = [self._make() for _ in range(self.workers)]
            for _ in range(self.workers):
                asked.put(None)


class _Worker:
    """One subprocess, started when it is first needed."""

    def __init__(self, listen: Tell | None, threads: int, gently: bool) -> None:
        self._listen, self._threads, self._gently = listen, str(threads), gently
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def do(self, function: str, payload: Json, attempts: int) -> Json:
        """The result of a job, on a new process if one dies."""
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
        """The answer to a request; empty if the process died."""
        with contextlib.suppress(OSError, ValueError):  # a broken pipe, or closed by `stop`
            cast("IO[str]", process.stdin).write(line)
            cast("IO[str]", process.stdin).flush()
            while (answer := cast("IO[str]", process.stdout).readline()).endswith("\n"):
                if not (self._listen and answer.startswith(TOLD)):
                    return answer
                self._listen(json.loads(answer)["told"])
        return ""

    def _started(self) -> subprocess.Popen[str] | None:
        """The process; None once it is stopped for good."""
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
                    with contextlib.suppress(OSError, AttributeError):  # Windows has none
                        os.setpriority(os.PRIO_PROCESS, self._process.pid, _PRIORITY)
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()  # a thread that waits for an answer sees its end
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # what was written and never read
                    cast("IO[str]", pipe).close()

    def stop(self) -> None:
        """End the process, in the middle of a job if there is one; for good."""
        self._stopped = True
        self._end()


def _checked(workers: int) -> int:
    if not 1 <= workers <= MAX_WORKERS:
        raise ParameterError(f"workers must be a whole number from 1 to {MAX_WORKERS}")
    return workers


def of(workers: int = 1, scheduler: str | None = None) -> Executor:
    """The executor for these options.

    Args:
        workers: 1 for this process, more for that many processes.
        scheduler: address of a Dask scheduler (`tcp://host:8786`); `workers` is not used then.

    Raises:
        ParameterError: the number of workers is out of range.
        MissingPackageError: a scheduler is named and Dask is not installed.
    """
    if scheduler is not None:
        return Cluster(scheduler)
    return Serial() if _checked(workers) == 1 else Processes(workers)
