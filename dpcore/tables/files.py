"""Files of documents, cut into spans that fit in memory: the part common to all formats.

A span is a part of a file that ends where a document ends, with the number of its first document.
One pass over the file finds the spans, and a worker reads its span alone. The output has the format
of the input: the text column rewritten, and the other columns that are named; nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from dpcore.errors import InputError, StudyError
from dpcore.limits import MAX_DOCUMENT_BYTES
from dpcore.tables.shape import Shape, is_numbered
from dpcore.tables.streams import File

SPAN_BYTES = 1_000_000
"""Approximate bytes of text in a span: a performance knob; it changes no output."""
ORIGINAL = "original"
"""Name of the column with the original text, in an experiment."""


@dataclass(frozen=True)
class Span:
    """A part of a file.

    Attributes:
        start: first byte, or first row (parquet).
        stop: end, exclusive.
        first: number of its first document, from 0.
    """

    start: int
    stop: int
    first: int


@dataclass(frozen=True, eq=False)
class Documents:
    """Content of a span.

    Attributes:
        texts: of each row; None where there is no text.
        rows: the kept cells of each row, in the form in which their format writes them.
    """

    texts: list[str | None]
    rows: Any


@dataclass(frozen=True)
class Columns:
    """Columns to read and write, by names that a person typed or confirmed.

    Attributes:
        text: the column that is rewritten; not used for text lines.
        keep: columns that are copied unchanged.
        original: True if the original text is written too (`ORIGINAL`): an experiment.
    """

    text: str = "text"
    keep: tuple[str, ...] = ()
    original: bool = False

    @property
    def typed(self) -> tuple[str, ...]:
        """Names whose presence in a first line confirms that it is a header."""
        return tuple(name for name in (self.text, *self.keep) if not is_numbered(name))

    def checked(self, shape: Shape, file: File) -> None:
        """Refuse columns that a file lacks, or has twice.

        Raises:
            StudyError: the message names columns of the file only if they are confirmed.
        """
        for name in (self.text, *self.keep):
            if shape.place(name) is None:
                raise StudyError(
                    f"{file.name} has no column {name[:60]!r}; {_columns_of(shape)}; name the "
                    "column of the texts with --text-column"
                )
            if shape.names.count(name) > 1:
                raise StudyError(
                    f"{file.name} has two columns called {name[:60]!r}: rename one, or say which "
                    "one by its number, as in --text-column 'column 2'"
                )
        places = [shape.place(name) for name in (self.text, *self.keep)]
        if places[0] in places[1:]:
            raise StudyError(
                f"--keep {self.text} would copy the texts unchanged; the texts of an experiment "
                f"stand in a column {ORIGINAL!r} with --experiment"
            )
        if len(set(places)) != len(places):
            raise StudyError("--keep names one column twice, by its name and by its number")
        if self.original and ORIGINAL in (self.text, *self.keep):
            raise StudyError(f"a column is called {ORIGINAL!r} already: rename it")


def _columns_of(shape: Shape) -> str:
    """Describe the columns of a file for a message: names only if a person confirmed them."""
    count = len(shape.names)
    if shape.confirmed or shape.header == "no":
        shown = ", ".join(repr(name[:40]) for name in shape.names[:20]) or "none"
        if shape.header == "no" and not shape.confirmed:
            return f"its first line was read as data, so its columns are: {shown}"
        return f"its columns are: {shown}"
    return (
        f"the names of its columns ({count}) are not shown, since they may be private "
        "(--header yes shows them)"
    )


class Format(Protocol):
    """Reader and writer of one kind of file."""

    @property
    def shape(self) -> Shape:
        """Shape of the file."""

    def cells(self, file: File) -> Iterator[list[str]]:
        """Yield all cells of each row, as text; empty where there is none.

        Raises:
            InputError: as `read`.
        """

    def check(self, file: File, columns: Columns) -> None:
        """Refuse a file without these columns, or that cannot be read as this format.

        Raises:
            StudyError: the message says how to correct it.
        """

    def size(self, file: File) -> int:
        """Return the end of the last span."""

    def spans(self, file: File, length: int) -> Iterator[Span]:
        """Yield consecutive spans of about `length` bytes of text.

        Raises:
            InputError: a document is too long, or the file is damaged.
        """

    def read(self, file: File, span: Span, columns: Columns) -> Documents:
        """Read a span: the texts, and the kept cells.

        Raises:
            InputError: a row is damaged; the message has its number and none of its text.
        """

    def kept(self, documents: Documents, columns: Columns) -> list[list[Any]]:
        """Return the kept cells of a span as plain values: a list for each row."""

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: BinaryIO
    ) -> None:
        """Write the rows of a span to a file of their own, with private texts.

        Raises:
            OSError: the file cannot be written.
        """

    def header(self, columns: Columns) -> bytes:
        """Return the bytes before the first span."""

    def join(self, parts: Sequence[File], out: BinaryIO, file: File, columns: Columns) -> None:
        """Concatenate the files of all spans, in order.

        Raises:
            OSError: it cannot be written.
        """


def check_lengths(texts: Sequence[str | None], span: Span, file: File) -> None:
    """Refuse a document that is too long for memory: the same limit in every format.

    Raises:
        InputError: with the number of the first one.
    """
    for number, text in enumerate(texts, start=span.first + 1):
        # At most four bytes a character: few texts need to be encoded to be measured.
        if text and 4 * len(text) > MAX_DOCUMENT_BYTES:
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MAX_DOCUMENT_BYTES:
                raise too_long(file, f"document {number:,}")


def too_long(file: File, what: str) -> InputError:
    """Return the error for a document that is too long, or for the line that contains it."""
    return InputError(
        f"{what} of {file.name} is longer than {MAX_DOCUMENT_BYTES:,} bytes; a document must fit "
        "into memory: split it"
    )


def read_through(
    form: Format,
    file: File,
    columns: Columns,
    length: int,
    tell: Callable[[int], None],
    look: Callable[[Documents], None] = lambda documents: None,
) -> None:
    """Read a whole file as the workers will, so that errors appear before the work begins.

    Args:
        form: its format.
        file: the file.
        columns: to read.
        length: of a span, as for `Format.spans`.
        tell: called with the end of each span.
        look: called with the content of each span.

    Raises:
        InputError: as `Format.spans` and `Format.read`.
    """
    for span in form.spans(file, length):
        look(form.read(file, span, columns))
        tell(span.stop)
