"""Building maps for the pages: in a process of its own, shared by all sessions, with progress.

The process is `python -m dpcore map build --from-stdin`. It is started anew and never forked off
(a process in which FAISS has run must not be), it has one core of two and a low priority, so that
the pages stay quick, and what it makes appears in the cache whole or not at all. Which words a
person chose goes to it through its standard input, not through its arguments, which other users of
the machine could read.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from dpcore.errors import DpcoreError, ParameterError
from dpcore.jobs.turns import Turns, waiting
from dpcore.lexicon.cache import cache_status
from dpcore.lexicon.metric import Metric
from dpcore.limits import MAX_MAP_JOBS
from dpcore.measure.maps.maps import DEFAULT_NEIGHBOURS, build_command, check_plan
from dpcore.measure.maps.model import MapPlan, Projection, plan_of_vocabulary, plan_of_words
from dpcore.measure.maps.store import recall_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.lexicon.lexicon import Lexicon

COMMAND = (sys.executable, "-m", "dpcore", "map", "build", "--from-stdin")

# Where on the way from 0 to 1 a stage begins and ends, as shares of the time that it took for
# 25,000 words on one core; and what it is called.
_STAGES = {
    "reading": (0.0, 0.0, "Reading the lexicon"),
    "neighbours": (0.0, 0.2, "Finding neighbours"),
    "preparing": (0.2, 0.35, "Preparing (10 to 40 s)"),
    "layout": (0.35, 0.95, "Placing the words"),
    "measuring": (0.95, 1.0, "Measuring what the map keeps"),
}
_PULSE = 0.1  # seconds between two looks at whether a waiting map was cancelled
_PATIENCE = 5.0  # seconds that a stopped process has to end before it is killed

_lock = threading.RLock()  # a job may be forgotten, and so given up, in the middle of anything
_running: dict[tuple[str, MapPlan], _Run] = {}
_turns = Turns(MAX_MAP_JOBS)


class MapJob:
    """One session's share in a map that is being built.

    Several sessions that ask for the same map share one process; it is stopped when all of them
    have cancelled or gone.
    """

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._left = False
        run.shares += 1
        self._give_up = weakref.finalize(self, run.lose)  # also when the session ends

    def progress(self) -> tuple[float | None, str]:
        """How far it is, 0 to 1 (None: not known), and a sentence with the time left if known."""
        return self._run.progress()

    @property
    def done(self) -> bool:
        """Whether it has ended: well, with an error, or cancelled."""
        return self._left or self._run.ended.is_set()

    @property
    def error(self) -> str | None:
        """Why there is no map, in one sentence that can be shown; None if there is one (yet)."""
        if self._left:
            return "the map was cancelled"
        return self._run.error if self._run.ended.is_set() else None

    def cancel(self) -> None:
        """Give this share up; the process stops if nobody else waits for the map."""
        self._left = True
        self._give_up()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most this long; whether it has."""
        return self._left or self._run.ended.wait(seconds)


def start(
    lexicon: Lexicon,
    projection: Projection | str,
    centres: Sequence[int] = (),
    k: int = DEFAULT_NEIGHBOURS,
    *,
    seed: int = 0,
) -> MapJob:
    """Have a map built: of the whole lexicon, or of the neighbourhood of one or two words.

    At most `limits.MAX_MAP_JOBS` are built at a time, the others wait. A map that is already there
    gives a job that is done.

    Args:
        lexicon: words and vectors.
        projection: how; of a neighbourhood UMAP or densMAP.
        centres: one or two word indices; none for the whole lexicon.
        k: nearest words of each centre.
        seed: 0 to MAX_SEED.

    Raises:
        ParameterError: as `dpcore.measure.maps.maps.local_map`, or PCA of a neighbourhood, which
            `local_map` computes at once.
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    if len(centres):
        plan = plan_of_words(euclidean, centres, k, projection, seed)
        if plan.projection is Projection.PCA:
            raise ParameterError("PCA of a neighbourhood is computed at once: use local_map")
    else:
        plan = plan_of_vocabulary(projection, seed)
    check_plan(euclidean, plan)
    key = (euclidean.fingerprint, plan)
    with _lock:
        run = _running.get(key)
        if run is None or run.stopped:
            run = _Run(euclidean, plan)
            if recall_map(plan, euclidean.fingerprint) is not None:
                run.turn.leave()
                run.ended.set()
            else:
                _running[key] = run
                threading.Thread(target=run.work, daemon=True, name="map job").start()
        return MapJob(run)


class _Run:
    """One process that builds one map, and the thread that listens to it."""

    def __init__(self, lexicon: Lexicon, plan: MapPlan) -> None:
        self.lexicon = lexicon
        self.plan = plan
        self.shares = 0
        self.ended = threading.Event()
        self.error: str | None = None
        self._stop = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self.turn = _turns.join()
        self._said: tuple[str, int, int] = ("waiting", 0, 0)
        self._since = (time.monotonic(), 0)  # when the stage began to move, and from where

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def lose(self) -> None:
        with _lock:  # nobody joins between the last one's leaving and the stop
            self.shares -= 1
            if not self.shares:
                self.stop()

    def stop(self) -> None:
        self._stop.set()
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                process.terminate()

    def progress(self) -> tuple[float | None, str]:
        stage, done, total = self._said
        if stage == "waiting":
            return None, waiting(self.turn.before)
        first, last, title = _STAGES.get(stage, (0.0, 0.0, "Starting"))
        if not total:
            return first or None, title
        share = min(1.0, done / total)
        begun, before = self._since
        said = f"{title}: {done:,} of {total:,}"
        if done > before:
            left = (time.monotonic() - begun) / (done - before) * (total - done)
            said += f", about {max(1, round(left))} s left"
        return first + share * (last - first), said

    def work(self) -> None:
        try:
            self.error = self._work()
        except DpcoreError as error:
            self.error = str(error)
        except OSError as error:
            self.error = f"the map cannot be built here ({error.strerror})"
        finally:
            self.turn.leave()
            with _lock:
                key = (self.lexicon.fingerprint, self.plan)
                if _running.get(key) is self:
                    del _running[key]
                self.ended.set()

    def _work(self) -> str | None:
        while not self.turn.wait(_PULSE):
            if self.stopped:
                return "the map was cancelled"
        with tempfile.TemporaryDirectory(prefix="map-") as folder:
            return self._build(Path(folder))

    def _build(self, folder: Path) -> str | None:
        request = {
            "lexicon": self._source(folder),
            "projection": str(self.plan.projection),
            "centres": list(self.plan.centres),
            "k": self.plan.neighbours,
            "seed": self.plan.seed,
        }
        self._said = ("starting", 0, 0)
        with (folder / "errors").open("w+", encoding="utf-8") as errors:
            code = self._run(json.dumps(request), errors)
            errors.seek(0)
            said = [line.strip() for line in errors if line.startswith("error: ")]
        if self.stopped:
            return "the map was cancelled"
        if code == 0:
            if recall_map(self.plan, self.lexicon.fingerprint) is not None:
                return None
            status = cache_status()
            return f"the map could not be kept in {status.folder}: {status.reason or 'try again'}"
        if said:
            return said[-1].removeprefix("error: ")
        how = f"was killed (signal {-code}; perhaps out of memory)" if code < 0 else "failed"
        return (
            f"the process that builds the map {how}; try again, or see what it says with: "
            + build_command(self.lexicon, self.plan)
        )

    def _source(self, folder: Path) -> str:
        """How the process finds the lexicon: its name, or a copy of one that has none."""
        from dpcore.lexicon.catalogue import name_of
        from dpcore.lexicon.stored import write_stored

        name = name_of(self.lexicon)
        if name is None:
            name = str(folder / "lexicon")
            write_stored(self.lexicon, Path(name), {})
        return name

    def _run(self, request: str, errors: IO[str]) -> int:
        """Start the process, listen until it ends, and return its exit status."""
        threads = str(max(1, (os.cpu_count() or 1) // 2))
        path = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
        limits = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), threads
        )
        process = subprocess.Popen(  # noqa: S603 - a fixed command; the request goes to its input
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            env=os.environ | limits | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        )
        self._process = process
        with process:
            if self.stopped:  # between the check and the start
                process.terminate()
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, process.pid, 10)
            with contextlib.suppress(OSError):  # it may have ended already
                cast("IO[str]", process.stdin).write(request)
                cast("IO[str]", process.stdin).close()
            for line in cast("IO[str]", process.stdout):
                self._hear(line)
            try:
                return process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()

    def _hear(self, line: str) -> None:
        try:
            said: dict[str, Any] = json.loads(line)
            stage, done, total = str(said["stage"]), int(said["done"]), int(said["total"])
        except (ValueError, KeyError, TypeError):
            return
        # The first round of a layout also compiles it, so the clock starts after it.
        if stage != self._said[0] or (self._said[1] == 0 and done <= 1):
            self._since = (time.monotonic(), done)
        self._said = (stage, done, total)


def _stop_all() -> None:
    with _lock:
        runs = list(_running.values())
    for run in runs:
        run.stop()


atexit.register(_stop_all)
