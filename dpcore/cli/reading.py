"""Options of commands that read a table: choices of a person; the rest is found."""

from __future__ import annotations

from pathlib import Path

from click import Choice, option

from dpcore.cli import shared
from dpcore.cli.shell import Options
from dpcore.errors import CorpusError
from dpcore.learn.table import Table, read_table
from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.tables.shape import AUTO, ENCODINGS, FORMATS, SEPARATORS, Reading

reading_options = shared.several(
    option(
        "--format", default=AUTO, type=Choice([AUTO, *FORMATS]),
        help="of the table; auto: by the end of its name",
    ),
    option(
        "--encoding", default=AUTO, type=Choice([AUTO, *ENCODINGS]),
        help="auto: UTF-8, or UTF-16 and UTF-32 by their marks and zero bytes",
    ),
    option(
        "--separator", default=AUTO, type=Choice([AUTO, *SEPARATORS]),
        help="between the cells of CSV; auto: the one that fits the first rows",
    ),
    option(
        "--header", default=AUTO, type=Choice([AUTO, "yes", "no"]),
        help="whether the first line of CSV holds names; auto: only if an option names one of "
        "them, else the columns are 'column 1', 'column 2' …; yes: messages may show the names",
    ),
)  # fmt: skip


def reading_of(options: Options) -> Reading:
    """Return the choices of `reading_options`."""
    return Reading(options.format, options.encoding, options.separator, options.header)


def read_rows(file: Path, options: Options, *typed: str) -> Table:
    """Read a table of texts, up to a byte beyond the limit.

    Args:
        file: the table.
        options: with those of `reading_options`.
        typed: names of columns that a person typed.

    Raises:
        CorpusError: it cannot be read, or contains no such table.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_LABELLED_BYTES + 1)
    except OSError as error:
        raise CorpusError(f"{file} cannot be read ({error.strerror})") from None
    return read_table(data, name=file.name, reading=reading_of(options), typed=typed)
