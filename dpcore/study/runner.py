"""Execution of a plan: every cell once, each saved in its own file when it is done.

The name of a cell's file is the SHA-256 of everything that its result depends on: the task, the
cell, the fingerprints of its inputs and the version of dpcore. So an interrupted run continues
where it stopped, a larger plan keeps the finished cells, and a changed lexicon is measured again. A
file is written atomically.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcore import __version__
from dpcore.errors import DpcoreError, StudyError
from dpcore.jobs.executors import Executor, Serial
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import FIELDS, refuse_of_the_system, sha256_of_file, write_text
from dpcore.lexicon.catalogue import Place, load, open_lexicon, ship
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.study.plan import BASELINE, Cell, Plan, Row, canonical

# Sources of the cells of a plan: paths and fingerprints, never the matrices themselves.
#
# A worker opens and checks each path once, and keeps it open as long as it runs
# (`dpcore.lexicon.catalogue`).


_KEPT = 4  # mechanisms and checked files that a worker keeps open


@dataclass(frozen=True)
class Sources:
    """Lexicons by name and files by key for a plan."""

    lexicons: tuple[tuple[str, Place], ...] = ()
    files: tuple[tuple[str, Place], ...] = ()

    def lexicon(self, name: str) -> Lexicon:
        """Open a lexicon, memory-mapped and checked.

        Raises:
            LexiconError: it is missing, or a different one.
        """
        return open_lexicon(dict(self.lexicons)[name])

    def file(self, key: str) -> Path:
        """Return the path of a file after checking its bytes.

        Raises:
            StudyError: it is missing or was changed.
        """
        return _file(dict(self.files)[key])

    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism of a cell, cached with its computations about the lexicon.

        Raises:
            StudyError: the cell is of the baseline.
        """
        if cell.mechanism == BASELINE:
            raise StudyError("the baseline has no mechanism")
        place = dict(self.lexicons)[cell.lexicon]
        return _mechanism(cell.mechanism, place, canonical(cell.settings))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Sources:
        """Rebuild the sources from the result of `to_json`."""
        kinds = ("lexicons", "files")
        return cls(*(tuple((name, Place(**place)) for name, place in fields[k]) for k in kinds))


def gather(
    plan: Plan,
    folder: Path,
    *,
    lexicons: Mapping[str, Lexicon] | None = None,
    files: Mapping[str, Path] | None = None,
) -> Sources:
    """Locate the inputs of a plan, and write the lexicons where all workers can map them.

    Args:
        plan: names of lexicons that are not given here are loaded by `load`.
        folder: folder of the run; lexicons are written to a subfolder, once per fingerprint.
        lexicons: lexicons by the names that the plan uses.
        files: files by the keys that the plan uses.

    Raises:
        StudyError: a file is missing, or the folder cannot be written.
        LexiconError: a lexicon cannot be loaded.
    """
    given, paths = dict(lexicons or {}), dict(files or {})
    wanted = [key for key in plan.data if key]
    missing = [key for key in wanted if key not in paths or not paths[key].is_file()]
    if missing:
        raise StudyError(f"no file for the data {', '.join(missing)} of plan {plan.name!r}")
    named = [name for name in plan.lexicons if name]
    loaded = {name: given[name] if name in given else load(name) for name in named}
    files_read = {key: paths[key].resolve() for key in wanted}
    return Sources(
        tuple((name, ship(lexicon, folder)) for name, lexicon in loaded.items()),
        tuple((key, Place(str(path), sha256_of_file(path))) for key, path in files_read.items()),
    )


# Keyed by name, fingerprint and settings as text: cells come through pipes and are never the same
# objects, and a mechanism computes on its lexicon for seconds.
@lru_cache(maxsize=_KEPT)
def _mechanism(name: str, place: Place, settings: str) -> Mechanism:
    return create(name, open_lexicon(place), dict(json.loads(settings)))


@lru_cache(maxsize=_KEPT)
def _file(place: Place) -> Path:
    path = Path(place.path)
    try:
        same = sha256_of_file(path) == place.fingerprint
    except OSError as error:
        raise StudyError(
            f"a worker cannot read {path} ({error.strerror}); all workers need the same paths"
        ) from None
    if not same:
        raise StudyError(f"{path} was changed since the run began; begin again in another folder")
    return path


_CELLS = "cells"
_PLAN = "plan.json"
_DO = "dpcore.study.runner:measure_cell"


@dataclass(frozen=True)
class Finished:
    """A cell with its rows.

    Attributes:
        cell: the cell.
        rows: the columns that identify the cell (label, mechanism, epsilon, lexicon, data, seed),
            then those of the task.
        seconds: duration on its worker.
        again: True if it was read from the folder of an earlier run.
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
    """Run the remaining cells of a plan; yield the cells that are already done first.

    Closing the iterator stops the run and keeps the finished cells.

    Args:
        plan: the plan.
        sources: its inputs (`gather`).
        folder: folder of the run.
        executor: entered by the caller; None runs the jobs one after the other in this process.
        progress: called after every cell that was not done before.

    Raises:
        StudyError: the folder cannot be written, or a cell failed.
        DpcoreError: a cell refused its input; the message names the cell.
    """
    _begin(plan, folder)
    todo: list[Cell] = []
    cells = plan.cells()
    for cell in cells:
        finished = _recall(cell, sources, folder)
        if finished is None:
            todo.append(cell)
        else:
            yield finished
    total, before = len(todo), len(cells) - len(todo)
    stage = f"cells of {plan.name}" + (f" ({before} were done before)" if before else "")
    progress(stage, 0, total)
    shipped = sources.to_json()
    payloads = ({"cell": cell.to_json(), "sources": shipped} for cell in todo)
    for done, (payload, result) in enumerate((executor or Serial()).run(_DO, payloads), start=1):
        # Jobs end in any order, so the answer's payload identifies the cell. It is saved before it
        # is reported, so that a reported cell is never lost.
        cell = Cell.from_json(payload["cell"])
        _keep(cell, sources, folder, result)
        progress(stage, done, total)
        yield Finished(cell, tuple(result["rows"]), result["seconds"], False)


def measure_cell(payload: Json) -> Json:
    """Run the job of a worker: call the task and prepend the cell's columns to its rows.

    Raises:
        DpcoreError: the task refused; the message begins with the cell.
        StudyError: the task did not return rows of JSON values.
    """
    cell, sources = Cell.from_json(payload["cell"]), Sources.from_json(payload["sources"])
    module, _, name = cell.task.partition(":")
    start = time.perf_counter()
    try:
        rows = getattr(import_module(module), name)(cell, sources)
    except DpcoreError as error:
        raise type(error)(f"{describe_cell(cell)}: {error}") from None
    named = {
        "label": cell.label,
        "mechanism": cell.mechanism,
        "epsilon": cell.epsilons[0] if len(cell.epsilons) == 1 else None,
        "lexicon": cell.lexicon,
        "data": cell.data,
        "seed": cell.seed,
    }
    rows = [named | row for row in rows]  # the task's own value wins: the ε of a row, a labelling
    canonical(rows)  # fail here with the reason, before the rows leave the process
    return {"rows": rows, "seconds": round(time.perf_counter() - start, 3)}


def describe_cell(cell: Cell) -> str:
    """Describe a cell in a few words."""
    values = ", ".join(f"{epsilon:.6g}" for epsilon in cell.epsilons[:3])
    more = ", …" if len(cell.epsilons) > 3 else ""
    where = (f" at ε = {values}{more}" if values else "") + (
        f" on {cell.data}" if cell.data else ""
    )
    return f"{cell.label}{where}, seed {cell.seed}"


def collected(plan: Plan, sources: Sources, folder: Path) -> list[Row]:
    """Return the rows of all finished cells in plan order, even while the plan runs."""
    cells = (_recall(cell, sources, folder) for cell in plan.cells())
    return [row for finished in cells if finished is not None for row in finished.rows]


def _begin(plan: Plan, folder: Path) -> None:
    """Write the plan beside its cells, for readers and for the record."""
    try:
        write_text(folder / _PLAN, json.dumps(plan.to_json(), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StudyError(f"cannot write to {folder} ({error.strerror})") from None


def _file_runner(cell: Cell, sources: Sources, folder: Path) -> Path:
    """Return the path of a cell's file."""
    lexicon = dict(sources.lexicons)[cell.lexicon].fingerprint if cell.lexicon else ""
    data = dict(sources.files)[cell.data].fingerprint if cell.data else ""
    text = canonical([__version__, cell.to_json(), lexicon, data])
    return folder / _CELLS / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _keep(cell: Cell, sources: Sources, folder: Path, result: Json) -> None:
    fields = {"cell": cell.to_json(), **result}
    try:
        write_text(
            _file_runner(cell, sources, folder), json.dumps(fields, ensure_ascii=False) + "\n"
        )
    except OSError as error:
        raise StudyError(
            f"cannot keep the cell {describe_cell(cell)} in {folder} ({error.strerror}); make room "
            "and run again: the cells before it are kept"
        ) from None


def _recall(cell: Cell, sources: Sources, folder: Path) -> Finished | None:
    """Read a finished cell; None if it is not done, or its file is damaged."""
    try:
        fields = json.loads(_file_runner(cell, sources, folder).read_text(encoding="utf-8"))
        # The name says the same, but a file may have been copied or renamed.
        if canonical(fields["cell"]) != canonical(cell.to_json()):
            return None
        return Finished(cell, tuple(fields["rows"]), float(fields["seconds"]), True)
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return None
