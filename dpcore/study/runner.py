"""Running a plan: every cell once, each kept in a file of its own as soon as it is done.

A cell's file has the SHA-256 of everything that its result depends on for a name: the task, the
cell, the fingerprints of what it reads and the version of dpcore. So a run that was killed goes on
where it was, a plan with more cells keeps those that are done, and a changed lexicon is measured
anew. A file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.errors import DpcoreError, StudyError
from dpcore.jobs.executors import Serial
from dpcore.lexicon.cache import write_text
from dpcore.lexicon.damage import FIELDS
from dpcore.lexicon.progress import Progress, silent
from dpcore.study.plan import Cell, canonical
from dpcore.study.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpcore.jobs.executors import Executor
    from dpcore.jobs.worker import Json
    from dpcore.study.plan import Plan

Row = dict[str, Any]

_CELLS = "cells"
_PLAN = "plan.json"
_DO = "dpcore.study.runner:measure_cell"
COLUMNS = ("label", "mechanism", "epsilon", "lexicon", "data", "seed")
"""What the runner puts in front of the columns of a task."""


@dataclass(frozen=True)
class Finished:
    """A cell with its rows.

    Attributes:
        cell: what was done.
        rows: columns `COLUMNS` and those of the task.
        seconds: it took, on its worker.
        again: whether it was read from the folder of an earlier run.
    """

    cell: Cell
    rows: tuple[Row, ...]
    seconds: float
    again: bool


def run(
    plan: Plan,
    sources: Sources,
    folder: Path,
    *,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Iterator[Finished]:
    """Do what is left of a plan; the cells that are done come first.

    Closing the iterator stops the run, and keeps what is finished.

    Args:
        plan: what to do.
        sources: what it reads (`dpcore.study.sources.gather`).
        folder: of the run.
        executor: entered by the caller; one job after the other in this process if None.
        progress: called after every cell that was not done before.

    Raises:
        StudyError: the folder cannot be written, or a cell failed.
        DpcoreError: a cell refused its input; the message names the cell.
    """
    _begin(plan, folder)
    todo: list[Cell] = []
    for cell in plan.cells():
        found = _recall(cell, sources, folder)
        if found is None:
            todo.append(cell)
        else:
            yield found
    total, before = len(todo), len(plan.cells()) - len(todo)
    stage = f"cells of {plan.name}" + (f" ({before} were done before)" if before else "")
    progress(stage, 0, total)
    shipped = sources.to_json()
    payloads = ({"cell": cell.to_json(), "sources": shipped} for cell in todo)
    for done, (payload, result) in enumerate((executor or Serial()).run(_DO, payloads), start=1):
        cell = Cell.from_json(payload["cell"])
        _keep(cell, sources, folder, result)
        progress(stage, done, total)
        yield Finished(cell, tuple(result["rows"]), result["seconds"], False)


def measure_cell(payload: Json) -> Json:
    """The job of a worker: call the task and put the cell's columns in front of its rows.

    Raises:
        DpcoreError: the task refused; the message begins with the cell.
        StudyError: the task returned something else than rows of JSON values.
    """
    cell, sources = Cell.from_json(payload["cell"]), Sources.from_json(payload["sources"])
    module, _, name = cell.task.partition(":")
    start = time.perf_counter()
    try:
        rows = getattr(import_module(module), name)(cell, sources)
    except DpcoreError as error:
        raise type(error)(f"{describe(cell)}: {error}") from None
    own = {
        "label": cell.label,
        "mechanism": cell.mechanism,
        "epsilon": cell.epsilons[0] if len(cell.epsilons) == 1 else None,
        "lexicon": cell.lexicon,
        "data": cell.data,
        "seed": cell.seed,
    }
    found = [own | row for row in rows]
    canonical(found)  # a refusal with the reason, before the row crosses a process
    return {"rows": found, "seconds": round(time.perf_counter() - start, 3)}


def describe(cell: Cell) -> str:
    """A cell in a few words."""
    values = ", ".join(f"{epsilon:.6g}" for epsilon in cell.epsilons[:3])
    more = ", …" if len(cell.epsilons) > 3 else ""
    at = f" at ε = {values}{more}" if values else ""
    return f"{cell.label}{at}" + (f" on {cell.data}" if cell.data else "") + f", seed {cell.seed}"


def collected(plan: Plan, sources: Sources, folder: Path) -> list[Row]:
    """The rows of all cells that are done, in the order of the plan: also while it runs."""
    found = (_recall(cell, sources, folder) for cell in plan.cells())
    return [row for one in found if one is not None for row in one.rows]


def left(plan: Plan, sources: Sources, folder: Path) -> int:
    """How many cells are still to be done."""
    return sum(_recall(cell, sources, folder) is None for cell in plan.cells())


def _begin(plan: Plan, folder: Path) -> None:
    """Write the plan beside its cells, for people and for the record."""
    try:
        write_text(folder / _PLAN, json.dumps(plan.to_json(), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StudyError(f"cannot write to {folder} ({error.strerror})") from None


def _file(cell: Cell, sources: Sources, folder: Path) -> Path:
    """Where a cell is kept."""
    lexicon = dict(sources.lexicons)[cell.lexicon].fingerprint if cell.lexicon else ""
    data = dict(sources.files)[cell.data].fingerprint if cell.data else ""
    text = canonical([__version__, cell.to_json(), lexicon, data])
    return folder / _CELLS / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _keep(cell: Cell, sources: Sources, folder: Path, result: Json) -> None:
    fields = {"cell": cell.to_json(), **result}
    try:
        write_text(_file(cell, sources, folder), json.dumps(fields, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StudyError(
            f"cannot keep the cell {describe(cell)} in {folder} ({error.strerror}); make room "
            "and run again: the cells before it are kept"
        ) from None


def _recall(cell: Cell, sources: Sources, folder: Path) -> Finished | None:
    """A cell that is done; None if it is not, or its file is damaged."""
    try:
        found = json.loads(_file(cell, sources, folder).read_text(encoding="utf-8"))
        if canonical(found["cell"]) != canonical(cell.to_json()):
            return None
        return Finished(cell, tuple(found["rows"]), float(found["seconds"]), True)
    except (OSError, *FIELDS):
        return None
