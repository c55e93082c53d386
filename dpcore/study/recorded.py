"""Recorded studies on disk: tables (parquet), a manifest of their origin, and figures from them.

Reading checks both: the fields of the manifest, and the SHA-256 of a table against the manifest.
Both files are written atomically.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import DpcoreError, StudyError
from dpcore.lexicon.cache import bundled_data, replacing, sha256_of_file, write_text
from dpcore.optional import need_pandas
from dpcore.study.plan import COLUMNS
from dpcore.study.tables import EXAMPLE, MEASURED, check_trials, check_words, chosen, typed
from dpcore.study.utility_summary import baseline, curves

if TYPE_CHECKING:
    import pandas as pd


MANIFEST = "manifest.json"
FOLDER = "experiments"
"""Folder of the recorded experiments, inside that of the recorded studies of words."""
_FORMAT = 1
_Kinds = dict[str, type | tuple[type, ...]]
_OF_WORDS: _Kinds = {
    "seed": int, "runs": int, "words": int, "selection": str, "vocabulary": dict, "series": list,
}  # fmt: skip
_OF_TRIALS: _Kinds = {
    "plan": dict, "sizes": str, "workers": int, "lexicons": list, "packages": dict,
}  # fmt: skip
_LISTS = {"runs": _OF_WORDS, "experiments": _OF_TRIALS}
"""Manifest field that lists the entries, and the fields that only entries of that kind have."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Origin of a record; every field is a JSON value, in the order of the manifest.

    Attributes:
        name: name of the study.
        title: title for readers.
        source: paper and figures for comparison; empty if none.
        command: the command line that reproduces it.
        seed: for words: seed of their choice and of all noise; None for an experiment.
        plan: for an experiment: mechanisms, settings, ε, lexicons, data, seeds and options.
        sizes: for an experiment: how much of each corpus was used, in one sentence.
        version: version of dpcore.
        date: ISO date (UTC).
        seconds: sum over all cells; longer if the machine was busy.
        runs: for words: R.
        words: for words: largest number of words in a series.
        selection: for words: how they were chosen.
        vocabulary: for words: key, title, words, dimension, separation, diameter, fingerprint,
            tokens, unknown_tokens, paper_words, paper_separation.
        workers: for an experiment: number of processes that shared the work.
        lexicons: for an experiment: for each lexicon its name, words, dimension, separation,
            diameter and fingerprint.
        data: name of each file that was read, and its SHA-256.
        series: for words: for each series its name, curve, mechanism (registry key), parameters,
            method, detail, words, numerical_error.
        packages: for an experiment: versions of the libraries that affect the numbers.
        machine: cores, python, numpy, system, processor.
        file: name of the table; empty until it is written.
        sha256: SHA-256 of the table; empty until it is written.
    """

    name: str
    title: str
    source: str
    command: str
    seed: int | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    sizes: str = ""
    version: str
    date: str
    seconds: float
    runs: int = 0
    words: int = 0
    selection: str = ""
    vocabulary: dict[str, Any] = field(default_factory=dict)
    workers: int = 0
    lexicons: list[dict[str, Any]] = field(default_factory=list)
    data: dict[str, str]
    series: list[dict[str, Any]] = field(default_factory=list)
    packages: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any]
    file: str = ""
    sha256: str = ""

    @property
    def of_words(self) -> bool:
        """True for a study of words (Nw and Sw), False for an experiment with trials."""
        return self.seed is not None

    def to_json(self) -> dict[str, Any]:
        """Return the fields of its kind."""
        others = _OF_TRIALS if self.of_words else _OF_WORDS
        return {name: value for name, value in asdict(self).items() if name not in others}


def _entry(record: object, of_kind: _Kinds) -> Entry:
    """Check and build an entry of a manifest.

    Raises:
        StudyError: a field is missing, unknown or of the wrong type.
    """
    others = {**_OF_WORDS, **_OF_TRIALS}.keys() - of_kind.keys()
    kinds: _Kinds = {f.name: str for f in fields(Entry) if f.name not in others}
    kinds |= {"seconds": (int, float), "data": dict, "machine": dict, **of_kind}
    if not isinstance(record, dict) or set(record) != set(kinds):
        wrong = sorted(set(record) ^ set(kinds)) if isinstance(record, dict) else ["all"]
        raise StudyError(f"a manifest entry lacks or has too many fields: {', '.join(wrong)}")
    for name, kind in kinds.items():
        if not isinstance(record[name], kind):
            raise StudyError(f"field {name!r} of a manifest entry has the wrong type")
    # An untrusted manifest must not cause a read or write in another folder.
    if "/" in record["file"] or "\\" in record["file"]:
        raise StudyError("the table of a manifest entry must lie beside the manifest")
    return Entry(**record)


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recorded study: its origin and its results.

    Attributes:
        entry: origin of the record.
        table: the rows; columns `dpcore.study.tables.WORD_COLUMNS` for words, or
            `dpcore.study.plan.COLUMNS` for an experiment.
        examples: examples of wrong answers, columns `COLUMNS` and
            `dpcore.study.tables.TEXTS`; None if there are none. Only texts written for the
            laboratory are kept.
    """

    entry: Entry
    table: pd.DataFrame
    examples: pd.DataFrame | None = None

    def rows(self, quantity: str, **where: object) -> pd.DataFrame:
        """Return the rows of one quantity with these values in other columns.

        For words these are the measured rows over all words, unless a `word` is named.
        """
        if self.entry.of_words:
            where = {"word": "", "status": MEASURED, **where}
        part = self._by_quantity.get(quantity)
        return chosen(self.table[:0] if part is None else part, quantity, **where)

    def curves(self, quantity: str, **where: Any) -> pd.DataFrame:
        """Return an experiment's curves of one quantity (`dpcore.study.utility_summary.curves`).

        Cached, because a comparison with a paper reads many points of the same curves. Callers must
        not modify the result.
        """
        key = (quantity, *sorted(where.items()))
        if key not in self._curves:
            self._curves[key] = curves(self.rows(quantity, **where), quantity)
        return self._curves[key]

    @cached_property
    def _by_quantity(self) -> dict[str, pd.DataFrame]:
        return {str(name): part for name, part in self.table.groupby("quantity", sort=False)}

    @cached_property
    def _curves(self) -> dict[tuple[object, ...], pd.DataFrame]:
        return {}


def bundled_results() -> Path:
    """Return the folder of the bundled results."""
    return bundled_data("results", MANIFEST)


def read_bundled() -> tuple[Entry, ...]:
    """Read the entries of all bundled records: studies of words, then experiments.

    Raises:
        StudyError: a manifest is missing or damaged.
    """
    return tuple(entry for folder in _bundled_folders() for entry in read_manifest(folder))


def _bundled_folders() -> tuple[Path, Path]:
    return bundled_results(), bundled_results() / FOLDER


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """Read the entries of a folder's manifest, in its order.

    Raises:
        StudyError: there is no manifest, or it is damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"no recorded results in {folder} ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise StudyError(f"{path} is damaged: it is not JSON; record them again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise StudyError(f"{path} is not a manifest of format {_FORMAT}")
    kind = next((name for name in _LISTS if name in manifest), "runs")
    listed = manifest.get(kind)
    if not isinstance(listed, list):
        raise StudyError(f"{path} is damaged: it lists no results; record them again")
    entries = tuple(_entry(entry, _LISTS[kind]) for entry in listed)
    if len({entry.name for entry in entries}) != len(entries):
        raise StudyError(f"{path} names one of its results twice")
    return entries


def read_recorded(name: str, folder: Path | None = None) -> Recorded:
    """Read and check one recorded study.

    Args:
        name: name of the study.
        folder: folder of its table and manifest; None for the bundled ones.

    Raises:
        StudyError: the study was not recorded, or the record is damaged.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    places = _bundled_folders() if folder is None else (folder,)
    entries = [(entry, place) for place in places for entry in read_manifest(place)]
    entry, place = next(((e, p) for e, p in entries if e.name == name), (None, places[0]))
    if entry is None:
        known = ", ".join(entry.name for entry, _ in entries) or "none"
        raise StudyError(f"nothing is recorded as {name[:60]!r}; recorded are: {known}")
    # The bytes are checked before a parser reads them.
    table = _read_table(place / entry.file, entry.sha256)
    if entry.of_words:
        return Recorded(entry, check_words(table, entry.runs))
    table = check_trials(typed(table))
    is_example = table["quantity"] == EXAMPLE
    examples = table[is_example].reset_index(drop=True) if is_example.any() else None
    return Recorded(entry, table.loc[~is_example, list(COLUMNS)], examples)


def _read_table(path: Path, sha256: str) -> pd.DataFrame:
    try:
        if sha256_of_file(path) != sha256:
            raise StudyError(
                f"{path} is damaged: its SHA-256 is not the manifest's; record it again"
            )
        table: pd.DataFrame = need_pandas("recorded results need").read_parquet(path)
    except DpcoreError:
        raise
    except (ValueError, TypeError, RuntimeError):  # from pyarrow, for a file that is not parquet
        raise StudyError(f"{path} is no parquet file, or damaged; record it again") from None
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror or 'damaged'})") from None
    return table


def write_recorded(entry: Entry, table: pd.DataFrame, folder: Path) -> Entry:
    """Write a table, then its entry in the manifest, which replaces an entry of the same name.

    Args:
        entry: origin of the table; `file` and `sha256` are set here.
        table: table of the same kind.
        folder: created if missing; a folder holds records of one kind only.

    Returns:
        The entry as it was written.

    Raises:
        StudyError: the table is not of its kind, the folder cannot be written, or its manifest is
            damaged or of the other kind.
    """
    if entry.of_words:
        check_words(table, entry.runs)
    else:
        check_trials(table)
    path = folder / f"{entry.name}.parquet"
    try:
        others = read_manifest(folder) if (folder / MANIFEST).exists() else ()
        if any(other.of_words != entry.of_words for other in others):
            raise StudyError(f"{folder} holds records of another kind; give another folder")
        # The table first: a manifest never names a missing table.
        with replacing(path) as temporary:
            # The types of pandas and the bounds of columns would be half of a small file.
            table.to_parquet(
                temporary, index=False, compression="zstd", compression_level=19,
                store_schema=False, write_statistics=False,
            )  # fmt: skip
            temporary.chmod(0o644)
        written = replace(entry, file=path.name, sha256=sha256_of_file(path))
        entries = {other.name: other for other in others} | {entry.name: written}
        kind = "runs" if entry.of_words else "experiments"
        facts = {"format": _FORMAT, kind: [entries[name].to_json() for name in sorted(entries)]}
        write_text(folder / MANIFEST, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
        (folder / MANIFEST).chmod(0o644)
    except OSError as error:
        raise StudyError(f"cannot write results to {folder} ({error.strerror})") from None
    return written


def check_writable(folder: Path) -> None:
    """Check, before hours of work, that a folder can be written.

    Raises:
        StudyError: it cannot.
    """
    try:
        with replacing(folder / ".probe"):
            pass
        (folder / ".probe").unlink()
    except OSError as error:
        raise StudyError(f"cannot write results to {folder} ({error.strerror})") from None


# Figures read from a record: a curve, its value at an ε, the ε at which it reaches a level.
#
# One interface for both kinds of table. A table of words (Nw and Sw) holds means over words, by the
# best recorded method and by the papers' protocol; a table of trials holds one number per seed, of
# which the mean and Student's interval are computed here.


PROTOCOL = "protocol"


class MeanInterval(NamedTuple):
    """A mean and the ends of its interval, both NaN if there is one trial."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format the mean with its interval, or alone if it has none."""
        if not (np.isfinite(self.low) and np.isfinite(self.high)):
            return f"{self.mean:.3g}"
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of a record.

    Attributes:
        recorded: the record.
        where: column values that all rows must have, such as lexicon="yelp".
    """

    recorded: Recorded
    where: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.recorded.entry.name

    @property
    def entry(self) -> Entry:
        """Origin of the record."""
        return self.recorded.entry

    def only(self, **where: Any) -> Figures:
        """Return the figures of the rows with these values in other columns."""
        return Figures(self.recorded, {**self.where, **where})

    def rows(self, quantity: str, **where: Any) -> pd.DataFrame:
        """Return the rows of one quantity as they are recorded."""
        return self.recorded.rows(quantity, **{**self.where, **where})

    def curve(self, quantity: str, curve: str, **where: Any) -> pd.DataFrame:
        """Return a curve with columns epsilon, mean, low, high and others, ε ascending.

        For a table of words these are the rows of the best recorded method.

        Raises:
            StudyError: the record has no such curve.
        """
        # Papers estimate by a protocol; a better method takes precedence if it is recorded too.
        if self.entry.of_words:
            rows = self._of_words(quantity, curve)
            best = rows[rows["method"] != PROTOCOL]
            points = best if len(best) else rows
        else:
            points = self.recorded.curves(quantity, **{**self.where, **where})
            points = points[points["curve"] == curve]
        if not len(points):
            raise StudyError(f"{self.name} has no curve {curve!r} of {quantity}")
        return points.reset_index(drop=True)

    def protocol(self, quantity: str, curve: str) -> pd.DataFrame:
        """Return the protocol's curve of a table of words, if another method is recorded too."""
        rows = self._of_words(quantity, curve)
        protocol = rows["method"] == PROTOCOL
        return (rows[protocol] if not protocol.all() else rows[:0]).reset_index(drop=True)

    def _of_words(self, quantity: str, curve: str) -> pd.DataFrame:
        rows = self.recorded.rows(quantity)
        rows = rows[rows["curve"] == curve].sort_values("epsilon", kind="stable")
        return rows.rename(columns={"mean_low": "low", "mean_high": "high"})

    def at(self, quantity: str, curve: str, epsilon: float, **where: Any) -> MeanInterval:
        """Return mean and interval of a curve at a recorded ε.

        Raises:
            StudyError: this ε is not recorded.
        """
        rows = self.curve(quantity, curve, **where)
        # Callers recompute powers of e: equal up to rounding, not to the last bit.
        rows = rows[np.isclose(rows["epsilon"], epsilon, rtol=1e-9, atol=0)]
        if not len(rows):
            raise StudyError(f"{self.name} has no {quantity} of {curve} at ε = {epsilon:g}")
        return mean_interval(rows.iloc[0])

    def mean(self, quantity: str, curve: str, epsilon: float, **where: Any) -> float:
        """Return the mean at a recorded ε, without its interval."""
        return self.at(quantity, curve, epsilon, **where).mean

    def without(self, quantity: str, **where: Any) -> MeanInterval:
        """Return the mean over seeds of the rows without a mechanism.

        Raises:
            StudyError: there are none.
        """
        mean = baseline(self.rows(quantity, **where), quantity)
        return MeanInterval(mean.mean, mean.low, mean.high)

    def reaching(self, quantity: str, curve: str, level: float, **where: Any) -> float | None:
        """Return the smallest ε at which the mean reaches a level; None if it does not.

        Interpolated linearly in ln ε between two recorded ε.
        """
        x, y = self._points(quantity, curve, **where)
        above = np.flatnonzero(y >= level)
        if not above.size:
            return None
        # The first recorded ε above the level; the crossing lies before it, unless it is the first.
        i = int(above[0])
        return math.exp(x[0]) if i == 0 else _between(x, y, i - 1, level)

    def crossing(self, quantity: str, curve: str, level: float, **where: Any) -> float | None:
        """Return the largest ε at which the mean crosses a level, up or down; None if it does not.

        Interpolated as in `reaching`.
        """
        x, y = self._points(quantity, curve, **where)
        above = y >= level
        places = np.flatnonzero(above[1:] != above[:-1])
        return _between(x, y, int(places[-1]), level) if places.size else None

    def interpolated(
        self, quantity: str, curve: str, epsilon: float | None, **where: Any
    ) -> float | None:
        """Return the mean at any ε within the grid, linear in ln ε; None if ε is None."""
        if epsilon is None:
            return None
        return float(np.interp(np.log(epsilon), *self._points(quantity, curve, **where)))

    def _points(
        self, quantity: str, curve: str, **where: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln ε and the mean there."""
        rows = self.curve(quantity, curve, **where)
        return np.log(rows["epsilon"].to_numpy()), rows["mean"].to_numpy()

    def option(self, name: str) -> Any:
        """Return an option of the plan that was run."""
        return dict(self.entry.plan["options"])[name]

    def lexicon(self, name: str) -> dict[str, Any]:
        """Return the manifest's facts about a lexicon."""
        return next(facts for facts in self.entry.lexicons if facts["name"] == name)


def _between(x: NDArray[np.float64], y: NDArray[np.float64], i: int, level: float) -> float:
    """Return the ε at which the straight line from point i to the next crosses a level."""
    share = (level - y[i]) / (y[i + 1] - y[i])
    return math.exp(float(x[i] + share * (x[i + 1] - x[i])))


def mean_interval(row: pd.Series) -> MeanInterval:
    """Return the mean of a row of a curve, and the ends of its interval."""
    return MeanInterval(float(row["mean"]), float(row["low"]), float(row["high"]))
