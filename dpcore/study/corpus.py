"""Files of documents: text lines, CSV, JSON lines and parquet, cut into spans that fit in memory.

A span is a part of a file that ends where a document ends, with the number of its first document.
Spans are found by one pass over the file, and a worker reads its span alone. What is written has
the format of what was read: the text column rewritten, and of the other columns those that are
named; nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpcore.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Rewrite = Callable[[list[str | None]], list[str | None]]
    """From texts to private texts; None where there is no text."""

SPAN_BYTES = 1_000_000
"""Of text in a span, about: a performance knob; it changes no output."""
ORIGINAL = "original"
"""Name of the column of an experiment that holds the text as it was."""


@dataclass(frozen=True)
class Span:
    """A part of a file.

    Attributes:
        start: where it begins: a byte, or a row (parquet).
        stop: where it ends.
        first: number of its first document, from 0.
    """

    start: int
    stop: int
    first: int


@dataclass(frozen=True)
class Columns:
    """What is read and written.

    Attributes:
        text: the column that is rewritten; not used for text lines.
        keep: columns that are copied as they are.
        original: whether the text as it was is written too (`ORIGINAL`): an experiment.
    """

    text: str = "text"
    keep: tuple[str, ...] = ()
    original: bool = False

    def checked(self, there: Sequence[str], path: Path) -> None:
        """Refuse columns that a file does not have.

        Raises:
            StudyError: the message names those that it has.
        """
        for name in (self.text, *self.keep):
            if name not in there:
                shown = ", ".join(repr(one[:40]) for one in there[:20]) or "none"
                raise StudyError(
                    f"{path.name} has no column {name[:60]!r}; its columns are: {shown}; name the "
                    "column of the texts with --text-column"
                )
        if self.text in self.keep:
            raise StudyError(
                f"--keep {self.text} would copy the texts unchanged; the texts of an experiment "
                f"stand in a column {ORIGINAL!r} with --experiment"
            )
        if self.original and ORIGINAL in (self.text, *self.keep):
            raise StudyError(f"a column is called {ORIGINAL!r} already: rename it")


class Format(Protocol):
    """How one kind of file is read and written."""

    name: str
    suffixes: tuple[str, ...]

    def check(self, path: Path, columns: Columns) -> None:
        """Refuse a file without these columns, or that cannot be read as this format.

        Raises:
            StudyError: with what to do.
        """

    def size(self, path: Path) -> int:
        """Where its last span ends."""

    def spans(self, path: Path, length: int) -> Iterator[Span]:
        """Consecutive spans of about `length` bytes of text.

        Raises:
            StudyError: a document is too long, or the file is damaged.
        """

    def rewrite(
        self, path: Path, span: Span, columns: Columns, rewrite: Rewrite, out: Path
    ) -> None:
        """Read a span, rewrite its texts and write the rows to a file of their own.

        Raises:
            StudyError: a row is damaged; the message has its number and none of its text.
            OSError: the file cannot be written.
        """

    def join(self, parts: Sequence[Path], out: Path, path: Path, columns: Columns) -> None:
        """Put the files of all spans together, in order.

        Raises:
            OSError: it cannot be written.
        """


def format_of(path: Path) -> Format:
    """The format of a file, by the end of its name.

    Raises:
        StudyError: there is none; the message names those that there are.
    """
    from dpcore.study.corpus_parquet import Parquet
    from dpcore.study.corpus_text import CommaSeparated, JsonLines, TextLines

    known: tuple[Format, ...] = (
        TextLines(),
        CommaSeparated(),
        CommaSeparated("\t"),
        JsonLines(),
        Parquet(),
    )
    for one in known:
        if path.suffix.lower() in one.suffixes:
            return one
    names = ", ".join(f"*{suffix}" for one in known for suffix in one.suffixes)
    raise StudyError(f"{path.name} has a name of no known format; there are: {names}")
