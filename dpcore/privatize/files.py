"""Files of documents: text lines, CSV, JSON lines and parquet, cut into spans that fit in memory.

A span is a part of a file that ends where a document ends, with the number of its first document.
Spans are found by one pass over the file, and a worker reads its span alone. What is written has
the format of what was read: the text column rewritten, and of the other columns those that are
named; nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpcore.errors import InputError, StudyError
from dpcore.limits import MAX_DOCUMENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

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


@dataclass(frozen=True, eq=False)
class Documents:
    """What a span holds.

    Attributes:
        texts: of each row; None where there is no text.
        rows: the rows, as the format that read them writes them again.
    """

    texts: list[str | None]
    rows: Any


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
        """Refuse columns that a file does not have, or has twice.

        Raises:
            StudyError: the message names those that it has.
        """
        for name in (self.text, *self.keep):
            if name not in there:
                shown = ", ".join(repr(column[:40]) for column in there[:20]) or "none"
                raise StudyError(
                    f"{path.name} has no column {name[:60]!r}; its columns are: {shown}; name the "
                    "column of the texts with --text-column"
                )
            if list(there).count(name) > 1:
                raise StudyError(f"{path.name} has two columns called {name[:60]!r}: rename one")
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
            InputError: a document is too long, or the file is damaged.
        """

    def read(self, path: Path, span: Span, columns: Columns) -> Documents:
        """Read a span: the texts, and what is copied.

        Raises:
            InputError: a row is damaged; the message has its number and none of its text.
            TextError: the file is no UTF-8.
        """

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: Path
    ) -> None:
        """Write the rows of a span to a file of their own, with private texts.

        Raises:
            OSError: the file cannot be written.
        """

    def join(self, parts: Sequence[Path], out: Path, path: Path, columns: Columns) -> None:
        """Put the files of all spans together, in order.

        Raises:
            OSError: it cannot be written.
        """


def check_lengths(texts: list[str | None], span: Span, path: Path) -> None:
    """Refuse a document that is too long for memory: the same limit in every format.

    Raises:
        InputError: with the number of the first one.
    """
    for number, text in enumerate(texts, start=span.first + 1):
        # At most four bytes a character: few texts need to be encoded to be measured.
        if text and 4 * len(text) > MAX_DOCUMENT_BYTES:
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MAX_DOCUMENT_BYTES:
                raise too_long(path, f"document {number:,}")


def too_long(path: Path, what: str) -> InputError:
    """The refusal of a document, or of the line that holds it."""
    return InputError(
        f"{what} of {path.name} is longer than {MAX_DOCUMENT_BYTES:,} bytes; a document must fit "
        "into memory: split it"
    )


def read_through(
    form: Format, path: Path, columns: Columns, length: int, tell: Callable[[int], None]
) -> None:
    """Read a whole file as the workers will, so that what they would refuse is refused before.

    Args:
        form: its format.
        path: the file.
        columns: what will be read.
        length: of a span, as for `Format.spans`.
        tell: called with where each span ends.

    Raises:
        InputError: as `Format.spans` and `Format.read`.
        TextError: as `Format.read`.
    """
    for span in form.spans(path, length):
        form.read(path, span, columns)
        tell(span.stop)
