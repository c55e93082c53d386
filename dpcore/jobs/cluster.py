"""Executor on a Dask cluster: workers on other machines, or a local cluster.

Only small JSON objects cross the network; jobs name the files that they read and write by path, so
all machines need a shared file system. Anyone who can reach a scheduler can run code on its
workers: use a private scheduler, on a private network or with `tls://`.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Self

from dpcore.errors import StudyError
from dpcore.jobs.worker import AHEAD, Json, outcome, perform, request, use_one_thread
from dpcore.optional import missing

_PATIENCE = 30.0  # seconds to wait for a scheduler to answer, and for a worker to appear
_LOOK = 5.0  # seconds between two checks that there are any workers


def perform_alone(sent: Json) -> Json:
    """Perform a job on a Dask worker: one thread for BLAS, and one job at a time in a process."""
    with _alone:
        use_one_thread()
        return perform(sent)


_alone = threading.Lock()


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Silence the logs of Dask; every failure that matters is raised as an error.

    A client that loses its scheduler would print the tracebacks of its attempts to reconnect.
    """
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


class Cluster:
    """Workers of a Dask scheduler, or of a local cluster that ends with this object."""

    def __init__(self, scheduler: str | None = None, workers: int = 2) -> None:
        """Store the address of the workers.

        Args:
            scheduler: address, `tcp://host:8786`; None starts a local cluster.
            workers: processes of the local cluster, with one thread each.

        Raises:
            MissingPackageError: Dask is not installed.
        """
        try:
            import dask.distributed
        except ImportError:
            raise missing("--scheduler needs Dask", "dask") from None
        self.workers = workers
        self._scheduler = scheduler
        self._dask: Any = dask.distributed
        self._open = contextlib.ExitStack()
        self._client: Any = None

    def __enter__(self) -> Self:
        """Connect, and wait for a worker.

        Raises:
            StudyError: there is no scheduler at the address, or it has no workers.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(_without_logs())
            address: Any = self._scheduler
            if address is None:
                address = stack.enter_context(
                    self._dask.LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=1,
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL,  # failures are raised
                    )
                )
            self._client = stack.enter_context(self._connected(address))
            try:
                self._client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError:
                raise StudyError(
                    f"the Dask scheduler at {self._scheduler} has no workers; start some with "
                    f"`dask worker {self._scheduler} --nthreads 1`"
                ) from None
            self.workers = max(1, sum(self._client.nthreads().values()))
            self._open = stack.pop_all()
        return self

    def _connected(self, address: Any) -> Any:
        """Return a client of the scheduler."""
        failure = ""
        try:
            return self._dask.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            failure = type(error).__name__
        # Outside the handler, so that nothing refers to the failed client. It closes when it is
        # collected; if another client starts meanwhile, each waits for the other's lock.
        gc.collect()
        raise StudyError(
            f"no Dask scheduler answers at {self._scheduler} ({failure}); start one with "
            "`dask scheduler`, or leave --scheduler out and use --workers"
        )

    def __exit__(self, *_: object) -> None:
        """Disconnect, and end a local cluster."""
        self._open.close()

    def run(self, function: str, payloads: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """See `Executor.run`; the scheduler replaces workers that die.

        Raises:
            StudyError: also if the scheduler goes away, or its workers do not have this dpcore.
        """
        jobs = iter(payloads)
        sent: dict[str, tuple[Any, Json]] = {}

        def send(count: int) -> None:
            for payload in islice(jobs, count):
                future = self._submitted(request(function, payload))
                sent[future.key] = future, payload

        try:
            send(AHEAD * self.workers)
            while sent:
                for future in self._some([future for future, _ in sent.values()]):
                    _, payload = sent.pop(future.key)
                    yield payload, outcome(self._result(future))
                    send(1)
        finally:
            for future, _ in sent.values():
                with contextlib.suppress(Exception):  # the scheduler may be gone
                    future.cancel()

    def _submitted(self, sent: Json) -> Any:
        try:
            return self._client.submit(perform_alone, sent, pure=False)
        except Exception:  # of several kinds, from a client that has lost its scheduler
            if self._client.status == "running":
                raise
            raise self._lost() from None

    def _some(self, futures: list[Any]) -> list[Any]:
        """Return the finished futures, as soon as there is one."""
        alone = time.monotonic()
        while True:
            try:
                with self._client.as_current():
                    return list(self._dask.wait(futures, _LOOK, "FIRST_COMPLETED").done)
            except self._dask.CancelledError:
                raise self._lost() from None
            except TimeoutError:
                pass
            try:
                workers = len(self._client.nthreads())
            except (OSError, TimeoutError, ValueError):
                raise self._lost() from None
            if workers:
                alone = time.monotonic()
            elif time.monotonic() - alone > _PATIENCE:
                raise StudyError(
                    "all Dask workers are gone and none came back; what is finished is kept: start "
                    "some and run again"
                )

    def _result(self, future: Any) -> Json:
        try:
            return dict(future.result())
        except self._dask.KilledWorker:
            raise StudyError(
                "a job killed several Dask workers (out of memory?); what is finished is kept"
            ) from None
        except (self._dask.CancelledError, OSError, TimeoutError):
            raise self._lost() from None
        except ImportError as error:
            raise StudyError(
                f"the Dask workers cannot import {error.name}: install the same dpcore there"
            ) from None
        except RuntimeError:  # from the scheduler, which reads the name of the function as well
            raise StudyError(
                "the Dask scheduler cannot read what it is sent: install the same dpcore and the "
                "same Dask there as here"
            ) from None

    def _lost(self) -> StudyError:
        where = self._scheduler or "of this machine"
        return StudyError(
            f"the connection to the Dask scheduler {where} was lost; what is finished is kept: run "
            "again"
        )
