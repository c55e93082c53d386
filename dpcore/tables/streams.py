"""Files of tables, on disk or in memory, as UTF-8 text with line feeds, readable from any place."""

from __future__ import annotations

import codecs
import gzip
import io
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from dpcore.errors import InputError, TextError
from dpcore.rewrite.sentence import decode
from dpcore.tables.shape import Shape

GZIP = b"\x1f\x8b"
"""First bytes of a file that is packed with gzip."""
_CHUNK = 2**18  # characters that are converted at a time
_UNPACKING = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class Uploaded:
    """A file in memory, with the name that a person gave it."""

    name: str
    data: bytes = field(repr=False)


File = Path | Uploaded


def opened(file: File) -> BinaryIO:
    """Open a file, without conversion."""
    return io.BytesIO(file.data) if isinstance(file, Uploaded) else file.open("rb")


def beginning(file: File, packed: bool, count: int) -> bytes:
    """Read the first bytes of a file, unpacked.

    Raises:
        InputError: it is packed, and damaged.
    """
    with opened(file) as raw:
        if not packed:
            return raw.read(count)
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                return unpacked.read(count)
        except _UNPACKING:
            raise _not_packed(file) from None


def plain(file: File, shape: Shape) -> BinaryIO:
    """Open a file as UTF-8 with line feeds; positions are those of the converted bytes."""
    if shape.plain:
        return opened(file)
    return cast("BinaryIO", io.BufferedReader(_Converted(file, shape)))


def plain_size(file: File, shape: Shape) -> int:
    """Return the number of bytes of `plain`."""
    if shape.plain:
        return len(file.data) if isinstance(file, Uploaded) else file.stat().st_size
    with plain(file, shape) as stream:
        return sum(map(len, iter(lambda: stream.read(_CHUNK), b"")))


_KEPT = threading.local()  # the converted file that a thread has read last


def read_at(file: File, shape: Shape, start: int, count: int) -> bytes:
    """Read bytes of `plain` from a place on; consecutive spans are converted once."""
    if shape.plain or isinstance(file, Uploaded):
        with plain(file, shape) as stream:
            stream.seek(start)
            return stream.read(count)
    status = file.stat()
    key = (file, shape, status.st_size, status.st_mtime_ns, status.st_ino)
    if getattr(_KEPT, "key", None) != key:
        forget()
        _KEPT.stream, _KEPT.key = plain(file, shape), key
    _KEPT.stream.seek(start)
    return bytes(_KEPT.stream.read(count))


def forget() -> None:
    """Close the file that this thread read last."""
    if getattr(_KEPT, "stream", None) is not None:
        _KEPT.stream.close()
    _KEPT.stream = _KEPT.key = None


class _Converted(io.RawIOBase):
    """A packed file, or one in another encoding; seeking back reads again from the start."""

    def __init__(self, file: File, shape: Shape) -> None:
        self._file, self._shape = file, shape
        self._position, self._ahead, self._raw = 0, b"", opened(file)
        self._text = self._begun()

    def _begun(self) -> io.TextIOWrapper:
        self._raw.seek(0)
        binary = gzip.GzipFile(fileobj=self._raw) if self._shape.packed else self._raw
        # A carriage return is converted only where no line ends otherwise.
        newline = None if self._shape.line_end == "\r" else ""
        return io.TextIOWrapper(
            cast("BinaryIO", binary), encoding=self._shape.encoding, newline=newline
        )

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if not self._ahead:
            self._ahead = self._next()
        count = min(len(view), len(self._ahead))
        view[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        self._position += count
        return count

    def _next(self) -> bytes:
        shape = self._shape
        try:
            text = self._text.read(_CHUNK)
        except _UNPACKING:
            raise _not_packed(self._file) from None
        except UnicodeDecodeError:
            raise InputError(
                f"{self._file.name} is not {shape.encoding} text behind byte {self._position:,}: "
                "say its encoding with --encoding, or save it as UTF-8"
            ) from None
        # A zero byte proves nothing in an encoding of several bytes.
        return text.encode("utf-8", "surrogatepass")

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("a converted file is read from its start")
        if position < self._position:
            # Not closed, or the file itself would be: the wrapper is only detached.
            self._text.detach()
            self._text, self._position, self._ahead = self._begun(), 0, b""
        while self._position < position:
            if not self.readinto(bytearray(min(_CHUNK, position - self._position))):
                break
        return self._position

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def _not_packed(file: File) -> InputError:
    return InputError(
        f"{file.name} is packed with gzip and damaged, or cut: pack it again, or give the file "
        "that is in it"
    )


def decoded(file: File, data: bytes, first: int = 0) -> str:
    """Decode bytes of a file.

    Args:
        file: is named in the error.
        data: UTF-8.
        first: bytes of the file before these.

    Raises:
        InputError: they are no UTF-8, or contain zero bytes, which no text does.
    """
    try:
        return decode(data, first=first)
    except TextError as error:
        raise InputError(f"{file.name}: {error}") from None


MARK = codecs.BOM_UTF8
"""Byte order mark, as spreadsheets write it: no part of the first document."""
