"""The format of a table, once its shape is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.tables.csv_files import CommaSeparated
from dpcore.tables.finding import find_shape
from dpcore.tables.parquet_files import Parquet
from dpcore.tables.text_files import JsonLines, TextLines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.tables.files import Format
    from dpcore.tables.shape import Reading, Shape
    from dpcore.tables.streams import File

_FORMATS: dict[str, Callable[[Shape], Format]] = {
    "text": TextLines, "csv": CommaSeparated, "jsonl": JsonLines, "parquet": Parquet,
}  # fmt: skip


def format_of(file: File, reading: Reading | None = None, typed: Sequence[str] = ()) -> Format:
    """The reader of a file.

    Args:
        file: the table.
        reading: what a person said of it.
        typed: names of columns that a person typed.

    Raises:
        InputError: as `find_shape`.
    """
    return format_with(find_shape(file, reading, typed))


def format_with(shape: Shape) -> Format:
    """The reader and writer of tables of this shape."""
    return _FORMATS[shape.format](shape)
