"""Tasks and jobs that the tests of plans, runners and executors hand to workers by name."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcore.errors import TextError
from dpcore.study.plan import Cell, Row
from dpcore.study.runner import Sources

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Signal that ends a process at once; on Windows every signal does."""

KINDS = ("pid", "threads", "noise")


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """One row a cell: noise of the cell, and what its worker is."""
    from dpcore.jobs.worker import THREADS

    pause = cell.option("pause", 0.0)
    time.sleep(pause)
    if cell.option("refuse") == cell.label:
        raise TextError("nothing to read here")
    row: dict[str, Any] = {"noise": float(cell.generator("noise").random()), "shared": int(
        cell.shared_generator("split").integers(1 << 40)
    )}  # fmt: skip
    if cell.mechanism:
        mechanism = sources.mechanism(cell)
        row["words"] = len(mechanism.lexicon)
        row["mapped"] = not mechanism.lexicon.vectors.flags.owndata
    row["threads"] = os.environ.get(THREADS[0], "")
    return [row]


def square(payload: dict[str, Any]) -> dict[str, Any]:
    """The square of a number, and who computed it."""
    return {"square": payload["x"] ** 2, "pid": os.getpid()}


def tell_of_it(payload: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The square of a number, and word of both halves of the way."""
    for half in (1, 2):
        tell({"of": payload["x"], "half": half})
    return {"square": payload["x"] ** 2}


def fail(payload: dict[str, Any]) -> None:
    """An error that no worker expects."""
    raise KeyError(payload["x"])


def die_once(payload: dict[str, Any]) -> dict[str, Any]:
    """Kill the worker the first time that a file is not there."""
    mark = Path(payload["mark"])
    if payload["x"] == payload["at"] and not mark.exists():
        mark.write_text("died", encoding="utf-8")
        os.kill(os.getpid(), KILL)
    return square(payload)


def die(payload: dict[str, Any]) -> None:
    """Kill every worker that takes this job."""
    os.kill(os.getpid(), KILL)


def print_much(payload: dict[str, Any]) -> dict[str, Any]:
    """A library that prints does not spoil the answer."""
    print(json.dumps({"result": "nonsense"}), flush=True)
    return {"x": payload["x"]}


def wait(payload: dict[str, Any]) -> dict[str, Any]:
    """Say who waits, and wait for a long time."""
    Path(payload["mark"]).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)
    return {}
