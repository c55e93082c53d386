"""Execution of one job by a worker, the same for every kind of executor.

As a program (`python -m dpcore.jobs.worker`) it reads one JSON object a line and answers with
one a line. It ends at once, in the middle of a job, when its input ends: then the parent is gone.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcore import __version__, errors

Json = dict[str, Any]
Tell = Callable[[Json], None]
"""Callback for reports of a function in the middle of its job."""
TOLD = '{"told": '
"""Start of an output line that is a report, not an answer."""
AHEAD = 2
"""Jobs handed out for each worker, so that the next one is there when one is done."""

_PULSE = 0.2  # seconds between two reports of a stage

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Variables that BLAS, OpenMP and so FAISS read when they are loaded."""


def perform(request: Json, tell: Tell | None = None) -> Json:
    """Do one job; raise nothing except an interrupt or the end of the process.

    Args:
        request: `function` (module:function, of one JSON object), `payload`, `version`, and
            `heard`: True if the function takes `tell` as well.
        tell: called with JSON objects in the middle of a job with `heard`.

    Returns:
        `result`, or `error` with the name of an error class and its message.
    """
    try:
        if request["version"] != __version__:
            raise errors.StudyError(
                f"a worker has dpcore {__version__} and the run dpcore {request['version']}: "
                "install the same version everywhere"
            )
        module, _, name = str(request["function"]).partition(":")
        more = (tell,) if request.get("heard") else ()
        return {"result": getattr(import_module(module), name)(request["payload"], *more)}
    except errors.DpcoreError as error:
        return {"error": [type(error).__name__, str(error)]}
    except MemoryError:
        return {"error": ["StudyError", "a worker ran out of memory; use fewer workers"]}
    except Exception as error:  # any error must cross the process boundary
        return {"error": ["", f"{_where(error)}: {type(error).__name__}: {error}"]}


def outcome(reply: Json) -> Json:
    """Return the result in a reply.

    Raises:
        DpcoreError: the job refused its input, with the class and message it gave; `StudyError`
            for any other failure.
    """
    if "error" not in reply:
        return dict(reply["result"])
    name, message = reply["error"]
    kind = getattr(errors, name, None) if name else None
    if kind is None:
        raise errors.StudyError(f"a worker failed at {message}")
    raise kind(message)


def request(function: str, payload: Json, *, heard: bool = False) -> Json:
    """Return the request for `perform`."""
    return {"function": function, "payload": payload, "version": __version__, "heard": heard}


def _where(error: BaseException) -> str:
    """Return file and line of the innermost frame."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(innermost.filename).name}:{innermost.lineno}"


def use_one_thread() -> None:
    """Limit libraries that are loaded from now on, and FAISS even if loaded, to one thread."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    faiss = sys.modules.get("faiss")
    if faiss is not None:
        faiss.omp_set_num_threads(1)


def now_and_then(tell: Tell) -> Callable[[str, int, int], None]:
    """Return a progress callback that tells `stage`, `done`, `total` at a readable rate."""
    told: dict[str, float] = {}

    def progress(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - told.get(stage, -_PULSE) >= _PULSE:
            told[stage] = now
            tell({"stage": stage, "done": done, "total": total})

    return progress


def main() -> None:
    """Answer requests until the input ends."""
    # Output that a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def write(line: str) -> None:
        answers.write(line + "\n")
        answers.flush()

    while True:
        reply = perform(
            json.loads(requests.get()), lambda told: write(f"{TOLD}{json.dumps(told)}}}")
        )
        write(json.dumps(reply))


def _listen(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
