"""A folder of recorded tables (parquet) and the manifest that says how each was made.

A reader trusts neither: a manifest's fields are checked, and a table whose SHA-256 is not the
manifest's is refused. Both files are written whole.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpcore.errors import DpcoreError, MissingPackageError, StudyError
from dpcore.lexicon.cache import replacing, sha256_of_file, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd

MANIFEST = "manifest.json"
_FORMAT = 1

Kind = type | tuple[type, ...]


class TableEntry(Protocol):
    """How a table was made: a dataclass of JSON values, of which a manifest needs these."""

    @property
    def name(self) -> str:
        """Its name, once in a manifest."""

    @property
    def file(self) -> str:
        """The table's file, beside the manifest."""

    @property
    def sha256(self) -> str:
        """Of the table's bytes."""


E = TypeVar("E", bound=TableEntry)


def check_entry(found: object, kind: Any, special: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields of an entry as a manifest has them.

    Args:
        found: what was read.
        kind: the dataclass of the entry.
        special: types of the fields that are no texts.

    Raises:
        StudyError: a field is missing, unknown or of the wrong type.
    """
    kinds: dict[str, Kind] = dict.fromkeys((field.name for field in fields(kind)), str)
    kinds |= special
    if not isinstance(found, dict) or set(found) != set(kinds):
        wrong = sorted(set(found) ^ set(kinds)) if isinstance(found, dict) else ["all"]
        raise StudyError(f"a manifest entry lacks or has too many fields: {', '.join(wrong)}")
    for name, wanted in kinds.items():
        if not isinstance(found[name], wanted):
            raise StudyError(f"field {name!r} of a manifest entry has the wrong type")
    if "/" in found["file"] or "\\" in found["file"]:
        raise StudyError("the table of a manifest entry must lie beside the manifest")
    return found


def read_entries(folder: Path, what: str, read: Callable[[Any], E]) -> tuple[E, ...]:
    """The entries of a folder's manifest, in its order.

    Args:
        folder: where the manifest lies.
        what: the field of the manifest that holds them: "results" or "experiments".
        read: makes an entry of what stands there, or refuses it.

    Raises:
        StudyError: there is no manifest, or it is damaged.
    """
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"no recorded {what} in {folder} ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise StudyError(f"{path} is damaged: it is not JSON; record them again") from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise StudyError(f"{path} is not a manifest of format {_FORMAT}")
    listed = found.get(_FIELDS[what], [])
    if not isinstance(listed, list):
        raise StudyError(f"{path} is damaged: its {what} are no list; record them again")
    entries = tuple(read(entry) for entry in listed)
    if len({entry.name for entry in entries}) != len(entries):
        raise StudyError(f"{path} names one of its {what} twice")
    return entries


_FIELDS = {"results": "runs", "experiments": "experiments"}


def read_table(folder: Path, entries: tuple[E, ...], name: str) -> tuple[E, pd.DataFrame]:
    """The entry of a name, and its table.

    Raises:
        StudyError: it was not recorded, or is damaged.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    entry = next((entry for entry in entries if entry.name == name), None)
    if entry is None:
        known = ", ".join(entry.name for entry in entries) or "none"
        raise StudyError(f"nothing is recorded as {name[:60]!r}; recorded are: {known}")
    path = folder / entry.file
    try:
        if sha256_of_file(path) != entry.sha256:
            raise StudyError(
                f"{path} is damaged: its SHA-256 is not the manifest's; record it again"
            )
        return entry, need_pandas("recorded results need").read_parquet(path)
    except DpcoreError:
        raise
    except (ValueError, TypeError, RuntimeError):  # of pyarrow, for a file that is no parquet
        raise StudyError(f"{path} is no parquet file, or damaged; record it again") from None
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror or 'damaged'})") from None


def write_table(
    folder: Path, what: str, entry: E, table: pd.DataFrame, read: Callable[[Any], E]
) -> E:
    """Write a table, then its entry into the folder's manifest, which replaces one of its name.

    Args:
        folder: made if it is not there.
        what: "results" or "experiments".
        entry: a dataclass; its `file` and `sha256` are set here.
        table: as it is to be kept.
        read: makes an entry of its fields.

    Returns:
        The entry as it was written.

    Raises:
        StudyError: the folder cannot be written, or its manifest is damaged.
    """
    path = folder / f"{entry.name}.parquet"
    need_pandas("recorded results need")
    try:
        others = read_entries(folder, what, read) if (folder / MANIFEST).exists() else ()
        with replacing(path) as temporary:
            table.to_parquet(temporary, index=False, compression="zstd")
            temporary.chmod(0o644)
        written = read(_plain(entry) | {"file": path.name, "sha256": sha256_of_file(path)})
        entries = {other.name: other for other in others} | {entry.name: written}
        kept = [_plain(entries[name]) for name in sorted(entries)]
        facts = {"format": _FORMAT, _FIELDS[what]: kept}
        write_text(folder / MANIFEST, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
        (folder / MANIFEST).chmod(0o644)
    except OSError as error:
        raise StudyError(f"cannot write results to {folder} ({error.strerror})") from None
    return written


def _plain(entry: Any) -> dict[str, Any]:
    return asdict(entry)


def check_writable(folder: Path) -> None:
    """Find out before hours of work that a folder cannot be written.

    Raises:
        StudyError: it cannot.
    """
    try:
        with replacing(folder / ".probe"):
            pass
        (folder / ".probe").unlink()
    except OSError as error:
        raise StudyError(f"cannot write results to {folder} ({error.strerror})") from None


def need_pandas(purpose: str) -> Any:
    """Pandas with a parquet engine, or which command installs them.

    Args:
        purpose: begins the sentence, such as "recorded results need".
    """
    try:
        import pandas
        import pyarrow  # noqa: F401 - the engine that pandas uses
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} the package {error.name}; install what the app needs with: "
            "pip install -r requirements.txt"
        ) from error
    return pandas
