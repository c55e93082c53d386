"""Files that commands read: texts, and tables with the options that describe them."""

from __future__ import annotations

import sys
from pathlib import Path

from click import Choice, option

from dpcore.cli import flags
from dpcore.cli.shell import Options
from dpcore.errors import CorpusError, TextError
from dpcore.learn.table import Table, read_table
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_LABELLED_BYTES
from dpcore.rewrite.sentence import decode
from dpcore.tables.shape import AUTO, ENCODINGS, FORMATS, SEPARATORS, Reading

reading_options = flags.several(
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
            # One byte more shows that it is too large; the rest is not read.
            data = opened.read(MAX_LABELLED_BYTES + 1)
    except OSError as error:
        raise CorpusError(f"{file} cannot be read ({error.strerror})") from None
    return read_table(data, name=file.name, reading=reading_of(options), typed=typed)


def read_text(name: str) -> str:
    """Read a UTF-8 file, or standard input for "-".

    Raises:
        TextError: it cannot be read, or is too large.
    """
    try:
        if name == "-":
            # So it is where a process starts without one.
            if sys.stdin is None:
                raise TextError("standard input is closed: name a file")
            return decode(sys.stdin.buffer.read())
        path = Path(name)
        # UTF-8 takes up to four bytes a character: a larger file exceeds the limit.
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            raise TextError(f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it")
        return decode(path.read_bytes())
    except OSError as error:
        raise TextError(f"cannot read {name}: {error.strerror}") from None
