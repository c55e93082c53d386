"""What Python and NumPy raise for a file that is damaged: one list, for every reader to catch.

A file may be cut, edited, or made to do harm. Whoever reads one turns these into one sentence of
`dpcore.errors`, or, where the file is only a cache, counts it as absent.
"""

from __future__ import annotations

import gzip
import struct
import tokenize
import zipfile
import zlib

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
    MemoryError,
    tokenize.TokenError,
)
"""Of `np.load`: as above, a header that is no header, or one of an absurd shape."""

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


def brief(error: Exception) -> str:
    """Another library's message on one line, shortened: some quote the file they complain of."""
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:99] + "…"
