"""The bytes of a file, whatever it is packed in, with progress and one kind of error."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from typing import IO, TYPE_CHECKING, Self, cast

from dpcore.errors import LexiconError
from dpcore.lexicon.damage import PACKED, brief

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from dpcore.lexicon.progress import Progress

BLOCK_BYTES = 4 * 2**20
# The longest line that can be right: 4,096 numbers of some 30 characters.
_LINE_LIMIT = 2**20
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and empty


class ByteSource:
    """A plain, gzip or zip file as a stream of bytes.

    Args:
        path: the file.
        member: the member of a zip archive; may be empty if there is one only.
        progress: called with ("reading", bytes of the file read, its size).
        data: what is read in place of the file, whose name alone counts then.

    Raises:
        LexiconError: the archive is damaged or the member is not in it.
        OSError: the file cannot be opened.
    """

    def __init__(
        self, path: Path, member: str, progress: Progress, data: bytes | None = None
    ) -> None:
        self.label = f"{path.name}::{member}" if member else path.name
        self._progress = progress
        self._file: IO[bytes] = path.open("rb") if data is None else io.BytesIO(data)
        self._total = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        self._ahead = b""
        self._stream: IO[bytes] = self._file
        try:
            self._unpack(member)
        except BaseException:
            self._file.close()
            raise

    def _unpack(self, member: str) -> None:
        magic = self._file.read(4)
        self._file.seek(0)
        if magic in _ZIP_STARTS:
            try:
                archive = zipfile.ZipFile(self._file)
                self._stream = archive.open(self._choose(archive, member))
            except PACKED as error:
                raise self._damaged(error) from None
        elif member:
            raise LexiconError(f"{self.label}: only a zip archive has members")
        elif magic[:2] == b"\x1f\x8b":
            self._stream = cast("IO[bytes]", gzip.GzipFile(fileobj=self._file))

    def _choose(self, archive: zipfile.ZipFile, member: str) -> str:
        names = [
            name
            for name in archive.namelist()  # a damaged directory may name one with nothing
            if name and not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if member in names:
            return member
        if not member and len(names) == 1:
            return names[0]
        listed = ", ".join(ascii(name)[1:-1][:40] for name in names[:8]) or "nothing"
        wanted = f"has no member {member[:40]!r}" if member else f"holds {len(names)} files"
        raise LexiconError(
            f"{self.label} {wanted}: name one as ARCHIVE.zip::MEMBER; it holds {listed}"
        )

    @property
    def packed(self) -> bool:
        """Whether it is unpacked while it is read: then it may be far larger than it looks."""
        return self._stream is not self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._file.close()

    def _damaged(self, error: Exception) -> LexiconError:
        return LexiconError(f"{self.label} is cut or damaged ({brief(error)})")

    def read(self) -> bytes:
        """The next few megabytes; empty at the end.

        Raises:
            LexiconError: the packed data is cut or damaged.
        """
        if self._ahead:
            block, self._ahead = self._ahead, b""
            return block
        try:
            block = self._stream.read(BLOCK_BYTES)
        except PACKED as error:
            raise self._damaged(error) from None
        self._progress("reading", min(self._file.tell(), self._total), self._total)
        return block

    def peek(self) -> bytes:
        """The bytes that the next `read` will give."""
        self._ahead = self.read()
        return self._ahead

    def lines(self) -> Iterator[list[bytes]]:
        """Lists of lines, without their line feeds; split at the line feed and nothing else.

        Raises:
            LexiconError: the data is damaged or a line is too long to be one.
        """
        rest = b""
        while block := self.read():
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > _LINE_LIMIT:
                raise LexiconError(
                    f"{self.label} is not a text file of vectors: a line is longer than "
                    f"{_LINE_LIMIT:,} bytes"
                )
            if lines:
                yield lines
        if rest:
            yield [rest]
