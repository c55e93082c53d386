"""Recorded results of the studies of Nw and Sw: what a table holds, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.lexicon.bundled import bundled_data
from dpcore.study.manifest import MANIFEST, check_entry, read_entries, read_table, write_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from dpcore.study.manifest import Kind

TEXTS = ("curve", "series", "mechanism", "word", "quantity", "status", "method")
NUMBERS = (
    "epsilon",
    "mean",
    "standard_deviation",
    "standard_error",
    "mean_low",
    "mean_high",
    "median",
    "worst",
    "q05",
    "q25",
    "q75",
    "q95",
    "true_delta",
)
COUNTS = ("words", "runs")
COLUMNS = (*TEXTS, *NUMBERS, *COUNTS)
"""One row a series, ε and quantity (nw, sw, effective), over the words of the series: mean,
standard deviation over words, standard error of the mean from the noise of the measurement (0 if
exact) and the ends of the interval of level 95 % that this noise leaves to it (NaN for the
effective number of several words), quantiles, worst (least deniable) word's value. `word` is
empty, or the row is of this one word. `status` is "measured", or "undefined" where the mechanism
has no such ε and all figures are NaN. `true_delta` is the exact δ at the worst difference of two
vectors, for truncated Laplace noise; else NaN. `curve` is common to series that are drawn as
one."""

MEASURED, UNDEFINED = "measured", "undefined"


@dataclass(frozen=True)
class Entry:
    """How one result was made; every field is a JSON value.

    Attributes:
        name: of the study.
        title: for people.
        source: paper and figures that it is to be compared with; empty if none.
        command: the command line that makes it again.
        seed: of the choice of words and of all noise.
        version: of dpcore.
        date: ISO date (UTC).
        seconds: it took, measuring alone.
        runs: R.
        words: at most, in a series.
        selection: how the words were chosen.
        vocabulary: key, title, words, dimension, separation, diameter, fingerprint, tokens,
            unknown_tokens, paper_words, paper_separation.
        data: name of each file that was read, and its SHA-256.
        series: for each one name, curve, mechanism (registry key), parameters, method, detail,
            words, numerical_error.
        machine: cores, python, numpy, system, processor.
        file: name of the table.
        sha256: of the table's bytes.
    """

    name: str
    title: str
    source: str
    command: str
    seed: int
    version: str
    date: str
    seconds: float
    runs: int
    words: int
    selection: str
    vocabulary: dict[str, Any]
    data: dict[str, str]
    series: list[dict[str, Any]]
    machine: dict[str, Any]
    file: str
    sha256: str

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Entry:
        """Read one entry of a manifest.

        Raises:
            StudyError: a field is missing, unknown or of the wrong type.
        """
        special: dict[str, Kind] = dict.fromkeys(("seed", "runs", "words"), int)
        special |= dict.fromkeys(("vocabulary", "data", "machine"), dict)
        special |= {"seconds": (int, float), "series": list}
        return cls(**check_entry(found, cls, special))


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recorded result: how it was made, and its rows (columns `COLUMNS`)."""

    entry: Entry
    table: pd.DataFrame

    def rows(self, quantity: str, *, word: str = "") -> pd.DataFrame:
        """The measured rows of one quantity, over words or (`word`) of one named word."""
        t = self.table
        return t[(t["quantity"] == quantity) & (t["word"] == word) & (t["status"] == MEASURED)]


def bundled_results() -> Path:
    """The folder of the results that come with the laboratory."""
    return bundled_data("results", MANIFEST)


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """The entries of a folder's manifest, in its order.

    Raises:
        StudyError: there is no manifest, or it is damaged.
    """
    return read_entries(folder, "results", Entry.from_json)


def read_recorded(name: str, folder: Path | None = None) -> Recorded:
    """One recorded result, checked.

    Args:
        name: of the study.
        folder: of the results; the bundled one if None.

    Raises:
        StudyError: it was not recorded, or is damaged.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    folder = folder or bundled_results()
    entry, table = read_table(folder, read_manifest(folder), name)
    return Recorded(entry, check_table(table, entry.runs))


def check_table(table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """The table as it is, if its columns, types and ranges are those of `COLUMNS`.

    Raises:
        StudyError: they are not.
    """
    if tuple(table.columns) != COLUMNS:
        raise StudyError(f"a table of results has the columns {', '.join(COLUMNS)}")
    kinds = {name: table[name].dtype.kind for name in (*NUMBERS, *COUNTS)}
    wrong = [n for n, kind in kinds.items() if kind != ("f" if n in NUMBERS else "i")]
    if wrong:
        raise StudyError(f"columns of the wrong type in a table of results: {', '.join(wrong)}")
    epsilons = table["epsilon"].to_numpy()
    if not (len(table) and np.all((epsilons > 0) & np.isfinite(epsilons))):
        raise StudyError("a table of results needs rows, and every ε finite and above 0")
    if not set(table["status"]) <= {MEASURED, UNDEFINED}:
        raise StudyError(f"status in a table of results is {MEASURED} or {UNDEFINED}")
    for quantity, low, high in (("nw", 0.0, 1.0), ("sw", 1.0, float(runs))):
        rows = table[(table["quantity"] == quantity) & (table["status"] == MEASURED)]
        values = rows[["mean", "median", "worst", "q05", "q25", "q75", "q95"]].to_numpy()
        if not np.all((values >= low - 1e-9) & (values <= high + 1e-9)):
            raise StudyError(f"{quantity} outside {low:g} to {high:g} in a table of results")
    return table


def write_recorded(entry: Entry, table: pd.DataFrame, folder: Path) -> Entry:
    """Write a table, then its entry into the folder's manifest, which replaces one of its name.

    Args:
        entry: its `file` and `sha256` are set here.
        table: columns `COLUMNS`.
        folder: made if it is not there.

    Returns:
        The entry as it was written.

    Raises:
        StudyError: the folder cannot be written, or its manifest is damaged.
    """
    check_table(table, entry.runs)
    return write_table(folder, "results", entry, table, Entry.from_json)
