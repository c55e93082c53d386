"""Shape of a table: its format, encoding, separator, header and columns, found or chosen.

Names in a private file are never trusted. Names of columns reach a copy, a record, a command or a
message only if a person typed them or confirmed the whole first line; otherwise columns are called
"column 1", "column 2" and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpcore.errors import ParameterError

AUTO = "auto"
FORMATS = {"text": "text lines", "csv": "CSV", "jsonl": "JSON lines", "parquet": "parquet"}
"""Word of a format on the command line, and its name in records and sentences."""
ENDS = {
    ".txt": "text", ".text": "text", ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
"""End of a file's name, and the format that it means."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ENCODINGS = (
    "utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1252", "iso-8859-1",
    "iso-8859-15",
)  # fmt: skip
TEXT = "text"
"""Name of the only column of a file of text lines."""
_NUMBERED = re.compile(r"column [1-9]\d{0,5}")


@dataclass(frozen=True)
class Reading:
    """Choices of a person on how a table is read and written.

    Attributes:
        format: of `FORMATS`; `AUTO` by the end of the file's name.
        encoding: of `ENCODINGS`; `AUTO` tells UTF-8, UTF-16 and UTF-32 apart.
        separator: of `SEPARATORS`; `AUTO` takes the one that fits the first rows.
        header: "yes": the first line contains names, and they may be shown; "no": it contains data;
            `AUTO`: it contains names if a column that a person typed is among them.
        line_breaks: True if a kept cell of CSV may contain line ends, and a text whole rows.
        neutralise: True if a cell that a spreadsheet would run as a formula gets an apostrophe.

    Raises:
        ParameterError: a word that is not known.
    """

    format: str = AUTO
    encoding: str = AUTO
    separator: str = AUTO
    header: str = AUTO
    line_breaks: bool = False
    neutralise: bool = False

    def __post_init__(self) -> None:
        """Refuse words that are not known."""
        for name, allowed in (
            ("format", FORMATS),
            ("encoding", ENCODINGS),
            ("separator", SEPARATORS),
            ("header", ("yes", "no")),
        ):
            if getattr(self, name) not in (AUTO, *allowed):
                raise ParameterError(
                    f"the {name} is one of {', '.join((AUTO, *allowed))}, "
                    f"got {str(getattr(self, name))[:40]!r}"
                )


AS_FOUND = Reading()
"""No choices: everything is found."""


@dataclass(frozen=True)
class FirstLine:
    """Finding on the first line of a table, for a person to confirm.

    Attributes:
        looks: "names", "data" or "unsure".
        reasons: sentences without a word of the file.
    """

    looks: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Shape:
    """All choices by which a table is read.

    Attributes:
        format: of `FORMATS`.
        packed: True if the file is packed with gzip.
        encoding: of `ENCODINGS`; empty for parquet.
        line_end: a line feed (with or without a carriage return before it), or a carriage return.
        separator: of `SEPARATORS`; empty where there are no cells.
        header: "yes" or "no" for CSV; empty where no first line could contain names.
        skipped: lines before the first row, which name the separator.
        names: of the columns; those of a file may be private, and are not printed.
        confirmed: True if a person said that the first line contains names: they may be shown.
        first: how the first line looks; None where it cannot contain names.
        line_breaks: as in `Reading`.
        neutralise: as in `Reading`.
    """

    format: str
    packed: bool = False
    encoding: str = "utf-8"
    line_end: str = "\n"
    separator: str = ""
    header: str = ""
    skipped: int = 0
    names: tuple[str, ...] = field(default=(), repr=False)
    confirmed: bool = False
    first: FirstLine | None = None
    line_breaks: bool = False
    neutralise: bool = False

    @property
    def format_name(self) -> str:
        """Name of the format in records and sentences."""
        return "tab-separated values" if self.separator == "tab" else FORMATS[self.format]

    @property
    def delimiter(self) -> str:
        """Character between two cells."""
        return SEPARATORS[self.separator or "comma"]

    @property
    def plain(self) -> bool:
        """True if the bytes are the text: UTF-8, lines that end with a line feed."""
        return not self.packed and self.encoding in ("", "utf-8") and self.line_end == "\n"

    def place(self, name: str) -> int | None:
        """Return the index of a column, by its name or by "column N"; None if there is none."""
        # A name of the file comes first: a column may itself be called "column 2".
        if name in self.names:
            return self.names.index(name)
        if is_numbered(name) and int(name.split()[1]) <= len(self.names):
            return int(name.split()[1]) - 1
        return None

    def state(self) -> dict[str, Any]:
        """Return the JSON form without any name: for records, and for workers, which read alike."""
        return {
            "format": self.format,
            "packed": self.packed,
            "encoding": self.encoding,
            "line_end": {"\n": "LF", "\r": "CR"}[self.line_end],
            "separator": self.separator,
            "header": self.header,
            "line_breaks": self.line_breaks,
            "neutralised": self.neutralise,
        }

    def reading(self) -> Reading:
        """Return the choices that give this shape again, with nothing left to be found."""
        return Reading(
            # Empty if the format has no such choice; a `Reading` then says that it is left open.
            self.format, self.encoding or AUTO, self.separator or AUTO, self.header or AUTO,
            self.line_breaks, self.neutralise,
        )  # fmt: skip

    def options(self, name: str) -> list[str]:
        """Return the options of the command `privatize` that give this shape again.

        Args:
            name: of the file; its format is left out where the end of the name means it.
        """
        words = [] if format_by_name(name) == self.format else ["--format", self.format]
        # UTF-8 is what is read when nothing else is found or said.
        if self.encoding not in ("", "utf-8"):
            words += ["--encoding", self.encoding]
        if self.separator:
            words += ["--separator", self.separator]
        if self.header:
            words += ["--header", self.header]
        words += ["--allow-line-breaks"] if self.line_breaks else []
        return words + (["--neutralise-formulas"] if self.neutralise else [])

    @property
    def sentence(self) -> str:
        """The shape in one sentence, without any name."""
        parts = [self.format_name + (", packed with gzip" if self.packed else "")]
        parts += [self.encoding] if self.encoding else []
        parts += ["lines that end with a carriage return"] if self.line_end == "\r" else []
        if self.separator:
            count = len(self.names)
            parts += [
                f"{count} columns with a {self.separator} between" if count > 1 else "1 column"
            ]
        if self.header:
            parts += [f"the first line holds {'names' if self.header == 'yes' else 'data'}"]
        return ", ".join(parts)


def shape_of(state: Mapping[str, Any]) -> Reading:
    """Read the choices from `Shape.state`."""
    return Reading(
        state["format"], state["encoding"] or AUTO, state["separator"] or AUTO,
        state["header"] or AUTO, bool(state["line_breaks"]), bool(state["neutralised"]),
    )  # fmt: skip


def is_numbered(name: str) -> bool:
    """Return True for a name such as "column 2", which tells nothing of a file."""
    return _NUMBERED.fullmatch(name) is not None


def numbered_columns(count: int) -> tuple[str, ...]:
    """Return names for columns without a name."""
    return tuple(f"column {number}" for number in range(1, count + 1))


def column_names(cells: list[str]) -> tuple[str, ...]:
    """Return names of columns from the cells of a first line, without blanks around them."""
    # An empty cell gets the name that a column without a name has.
    stripped = [cell.strip() for cell in cells]
    return tuple(name or f"column {number}" for number, name in enumerate(stripped, start=1))


def packed_name(name: str) -> bool:
    """Return True if the end of a name means gzip."""
    return name.lower().endswith(".gz")


def format_by_name(name: str) -> str | None:
    """Return the format that the end of a name means, before a `.gz`; None if unknown."""
    stem = name[: -len(".gz")] if packed_name(name) else name
    end = stem[stem.rfind(".") :].lower() if "." in stem else ""
    return ENDS.get(end)
