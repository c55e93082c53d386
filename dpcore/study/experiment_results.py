"""Recorded experiments with classifiers: what a tidy table holds, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.lexicon.bundled import bundled_data
from dpcore.study.manifest import (
    MANIFEST,
    check_entry,
    need_pandas,
    read_entries,
    read_table,
    write_table,
)
from dpcore.study.rows import COLUMNS
from dpcore.study.wrong_answers import EXAMPLE, TEXTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from dpcore.study.manifest import Kind

FOLDER = "experiments"
"""Folder of the recorded experiments beside those of the recorded studies."""
_NUMBERS = ("epsilon", "at", "value", "low", "high")
_WHOLE = ("seed", "count")
_SHARES = {"accuracy", "majority", "nw", "auc", "tpr", "roc", "rouge1", "document_auc"}


@dataclass(frozen=True)
class ExperimentEntry:
    """How one experiment was made; every field is a JSON value.

    Attributes:
        name: of the experiment.
        title: for people.
        source: paper and figures that it is to be compared with; empty if none.
        command: the command line that makes it again.
        plan: mechanisms, settings, ε, lexicons, data, seeds and options.
        sizes: how much of each corpus was used, in a sentence.
        version: of dpcore.
        date: ISO date (UTC).
        seconds: wall-clock time of all cells added up; longer where the machine was busy.
        workers: processes that shared the work.
        lexicons: of each its name, words, dimension, separation, diameter and fingerprint.
        data: name of each file that was read, and its SHA-256.
        packages: versions of the libraries that shape the numbers.
        machine: cores, python, numpy, system, processor.
        file: name of the table.
        sha256: of the table's bytes.
    """

    name: str
    title: str
    source: str
    command: str
    plan: dict[str, Any]
    sizes: str
    version: str
    date: str
    seconds: float
    workers: int
    lexicons: list[dict[str, Any]]
    data: dict[str, str]
    packages: dict[str, str]
    machine: dict[str, Any]
    file: str
    sha256: str

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> ExperimentEntry:
        """Read one entry of a manifest.

        Raises:
            StudyError: a field is missing, unknown or of the wrong type.
        """
        special: dict[str, Kind] = dict.fromkeys(("plan", "data", "packages", "machine"), dict)
        special |= {"seconds": (int, float), "workers": int, "lexicons": list}
        return cls(**check_entry(found, cls, special))


@dataclass(frozen=True, eq=False)
class RecordedExperiment:
    """How it was made, and what was found.

    Attributes:
        entry: how it was made.
        table: its rows, columns `dpcore.study.rows.COLUMNS`.
        examples: of wrong answers, columns `COLUMNS` and `dpcore.study.wrong_answers.TEXTS`; None
            if there are none. Only texts written for the laboratory are kept.
    """

    entry: ExperimentEntry
    table: pd.DataFrame
    examples: pd.DataFrame | None = None

    def rows(self, quantity: str, **where: object) -> pd.DataFrame:
        """The rows of one quantity with these values in other columns."""
        found = self.table[self.table["quantity"] == quantity]
        for column, value in where.items():
            found = found[found[column] == value]
        return found


def bundled_experiments() -> Path:
    """The folder of the experiments that come with the laboratory."""
    return bundled_data("results", MANIFEST) / FOLDER


def read_experiments(folder: Path | None = None) -> tuple[ExperimentEntry, ...]:
    """The entries of a folder's manifest.

    Args:
        folder: the bundled one if None.

    Raises:
        StudyError: there is no manifest, or it is damaged.
    """
    folder = folder or bundled_experiments()
    return read_entries(folder, "experiments", ExperimentEntry.from_json)


def read_experiment(name: str, folder: Path | None = None) -> RecordedExperiment:
    """One recorded experiment, checked.

    Args:
        name: of the experiment.
        folder: the bundled one if None.

    Raises:
        StudyError: it was not recorded, or is damaged.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    folder = folder or bundled_experiments()
    entry, table = read_table(folder, read_experiments(folder), name)
    check_experiment(table)
    is_example = table["quantity"] == EXAMPLE
    examples = table[is_example].reset_index(drop=True) if is_example.any() else None
    return RecordedExperiment(entry, table.loc[~is_example, list(COLUMNS)], examples)


def tidy(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of an experiment as a table with the columns `COLUMNS`; what is absent is missing.

    If some are examples, the columns `TEXTS` follow.
    """
    more = TEXTS if any(one.get("quantity") == EXAMPLE for one in rows) else ()
    columns = [*COLUMNS, *more]
    frame: pd.DataFrame = need_pandas("results need").DataFrame(
        [{name: one.get(name) for name in columns} for one in rows]
    )
    frame = frame.reindex(columns=columns)
    for name in _NUMBERS:
        frame[name] = frame[name].astype("float64")
    for name in _WHOLE:
        frame[name] = frame[name].astype("Int64")
    return frame


def check_experiment(table: pd.DataFrame) -> pd.DataFrame:
    """The table as it is, if its columns and ranges are those of an experiment.

    Raises:
        StudyError: they are not.
    """
    if tuple(table.columns) not in (COLUMNS, COLUMNS + TEXTS):
        raise StudyError(f"a table of an experiment has the columns {', '.join(COLUMNS)}")
    if not len(table) or any(table[name].dtype.kind != "f" for name in _NUMBERS):
        raise StudyError("a table of an experiment needs rows, and numbers where numbers belong")
    epsilons = table["epsilon"].dropna().to_numpy()
    if not np.all((epsilons > 0) & np.isfinite(epsilons)):
        raise StudyError("every ε of an experiment is finite and above 0")
    shares = table.loc[table["quantity"].isin(_SHARES), "value"].to_numpy()
    if not np.all((shares >= -1e-9) & (shares <= 1 + 1e-9)):
        raise StudyError("a share outside 0 to 1 in a table of an experiment")
    return table


def write_experiment(entry: ExperimentEntry, table: pd.DataFrame, folder: Path) -> ExperimentEntry:
    """Write a table, then its entry into the manifest, which replaces one of its name.

    Args:
        entry: its `file` and `sha256` are set here.
        table: columns `COLUMNS`.
        folder: made if it is not there.

    Raises:
        StudyError: the folder cannot be written, or its manifest is damaged.
    """
    check_experiment(table)
    return write_table(folder, "experiments", entry, table, ExperimentEntry.from_json)
