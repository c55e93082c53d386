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
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Protocol, Self, cast

from dpcore.errors import ParameterError, StudyError
from dpcore.jobs.worker import THREADS, TOLD, Json, Tell, outcome, perform, request
from dpcore.limits import MAX_WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import IO

ATTEMPTS = 3
"""How often a job may lose its worker before the run gives up."""


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
            payloads: asked for one by one, from the thread of the caller or another.

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
            asked = request(function, payload, heard=self._listen is not None)
            sent = json.loads(json.dumps(asked))
            yield payload, outcome(json.loads(json.dumps(perform(sent, self._listen))))


class _Worker:
    """One subprocess with one thread, started when it is first needed."""

    def __init__(self, listen: Tell | None) -> None:
        self.listen = listen
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def ask(self, line: str) -> str:
        """The answer to a request; empty if the process died."""
        try:
            process = self._started()
            cast("IO[str]", process.stdin).write(line)
            cast("IO[str]", process.stdin).flush()
            answer = cast("IO[str]", process.stdout).readline()
            while self.listen and answer.startswith(TOLD) and answer.endswith("\n"):
                self.listen(json.loads(answer)["told"])
                answer = cast("IO[str]", process.stdout).readline()
        except (OSError, ValueError):  # a broken pipe, or closed by `stop`
            answer = ""
        if not answer.endswith("\n"):
            self._end()
            return ""
        return answer

    def _started(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise ValueError("stopped")
            if self._process is None:
                path = os.pathsep.join(entry or os.curdir for entry in sys.path)
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dpcore.jobs.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for the parent
                    env=os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": path},
                )
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                cast("IO[str]", pipe).close()

    def stop(self) -> None:
        """End the process, in the middle of a job if there is one; for good."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is not None:
            process.kill()  # the thread that waits for an answer sees its end

    def close(self) -> None:
        """Clean up after `stop`, when nobody waits for an answer."""
        self._end()


class Processes:
    """Several processes of this machine, each with one BLAS and OpenMP thread.

    They speak JSON over pipes: nothing is pickled, a worker dies with its parent, and the number
    of threads is set before any library is loaded.
    """

    def __init__(self, workers: int, listen: Tell | None = None) -> None:
        """Take a number of processes, and who hears what functions tell.

        Args:
            workers: how many.
            listen: called in the middle of jobs, one thread a worker; functions then take a second
                argument, to call with JSON objects. A job that loses its worker tells it all again.
        """
        self.workers, self._listen = _checked(workers), listen
        self._pool = [_Worker(listen) for _ in range(self.workers)]

    def __enter__(self) -> Self:
        """Processes start with their first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for worker in self._pool:
            worker.stop()
        for worker in self._pool:
            worker.close()

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """See `Executor.run`."""
        jobs = iter(payloads)
        lock, stopped = threading.Lock(), threading.Event()
        done: queue.Queue[tuple[Json, Json] | BaseException | None] = queue.Queue(self.workers)

        def take() -> Json | None:
            with lock:
                return None if stopped.is_set() else next(jobs, None)

        def work(worker: _Worker) -> None:
            try:
                while (payload := take()) is not None:
                    done.put((payload, _attempt(worker, function, payload, stopped)))
            except BaseException as error:  # raised again by the one who waits
                done.put(error)
            done.put(None)

        threads = [
            threading.Thread(target=work, args=(worker,), daemon=True) for worker in self._pool
        ]
        for thread in threads:
            thread.start()
        running = len(threads)
        try:
            while running:
                found = done.get()
                if found is None:
                    running -= 1
                elif isinstance(found, BaseException):
                    raise found
                else:
                    yield found
        finally:
            stopped.set()
            if running:  # left early: an error, an interrupt, or enough seen
                self._abandon(threads, done)

    def _abandon(
        self,
        threads: list[threading.Thread],
        done: queue.Queue[tuple[Json, Json] | BaseException | None],
    ) -> None:
        """End the jobs that are under way; the next run gets new processes."""
        for worker in self._pool:
            worker.stop()
        while any(thread.is_alive() for thread in threads):
            with contextlib.suppress(queue.Empty):
                done.get(timeout=0.05)
        for worker in self._pool:
            worker.close()
        self._pool = [_Worker(self._listen) for _ in range(self.workers)]


def _attempt(worker: _Worker, function: str, payload: Json, stopped: threading.Event) -> Json:
    """The result of a job, on a new process if one dies."""
    line = json.dumps(request(function, payload, heard=worker.listen is not None)) + "\n"
    for _ in range(ATTEMPTS):
        answer = worker.ask(line)
        if answer:
            return outcome(json.loads(answer))
        if stopped.is_set():
            break
    raise StudyError(
        f"a worker process died {ATTEMPTS} times in the same job (out of memory?); use fewer "
        "workers; what is finished is kept"
    )


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
        from dpcore.jobs.cluster import Cluster

        return Cluster(scheduler)
    return Serial() if _checked(workers) == 1 else Processes(workers)
