"""What Python and NumPy raise for a file that is damaged: one list, for every reader to catch.

A file may be cut, edited, or made to do harm. Whoever reads one turns these into one sentence of
`dpcore.errors`, or, where the file is only a cache, counts it as absent. A shortage of memory is in
none of the lists: it says nothing about the file.
"""

from __future__ import annotations

import errno
import gzip
import struct
import tokenize
import zipfile
import zlib

from dpcore.errors import ResourceError

PACKED = (
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    NotImplementedError,
    RuntimeError,
    struct.error,
    UnicodeDecodeError,
    IndexError,
)
"""Of gzip and zipfile: cut, damaged, encrypted, packed in another way, or with broken names."""

ARRAYS = (
    *PACKED,
    ValueError,
    KeyError,
    TypeError,
    SyntaxError,
    OverflowError,
    tokenize.TokenError,
)
"""Of `np.load`: as above, or a header that is no header."""

FIELDS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""Of JSON and its fields: no JSON, nested too deeply, a field of another type, a number too large.
A `DpcoreError` is a ValueError, so a reader that has refused something already lets it pass first.
"""


_SYSTEM = frozenset(
    getattr(errno, name)
    for name in (
        "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "EINTR", "EIO", "ENOSPC", "EDQUOT",
        "ESTALE", "ETIMEDOUT", "EBUSY", "ETXTBSY", "ENODEV", "ENXIO", "EHOSTDOWN", "ENOTCONN",
    )
    if hasattr(errno, name)
)  # fmt: skip


def of_the_system(error: BaseException) -> bool:
    """Return True if the system is at fault and not the file: the next try may succeed."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SYSTEM)


def refuse_of_the_system(error: Exception) -> None:
    """Call this first where an error makes a file count as damaged or absent.

    Raises:
        ResourceError: the system is at fault, as for `of_the_system`.
    """
    if of_the_system(error):
        reason = getattr(error, "strerror", None) or "not enough memory"
        place = getattr(error, "filename", None) or "a file"
        raise ResourceError(
            f"the system cannot read {place} at the moment ({reason}): try again; nothing of it is "
            "deleted"
        ) from error


def brief(error: Exception) -> str:
    """Another library's message on one line, shortened: some quote the file they complain of."""
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:99] + "…"
