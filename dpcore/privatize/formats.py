"""The formats that there are, by the end of a file's name or by their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import StudyError
from dpcore.privatize.parquet_files import Parquet
from dpcore.privatize.text_files import CommaSeparated, JsonLines, TextLines

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.privatize.files import Format

FORMATS: tuple[Format, ...] = (
    TextLines(), CommaSeparated(), CommaSeparated("\t"), JsonLines(), Parquet(),
)  # fmt: skip


def format_of(path: Path) -> Format:
    """The format of a file, by the end of the name that it was given by (a link's own).

    Raises:
        StudyError: there is none; the message names those that there are.
    """
    for form in FORMATS:
        if path.suffix.lower() in form.suffixes:
            return form
    names = ", ".join(f"*{suffix}" for form in FORMATS for suffix in form.suffixes)
    raise StudyError(f"{path.name} has a name of no known format; there are: {names}")


def format_named(name: str) -> Format:
    """The format with this `Format.name`, which a run was begun with.

    Raises:
        StudyError: there is none.
    """
    for form in FORMATS:
        if form.name == name:
            return form
    raise StudyError(f"there is no format {name[:40]!r}")
