"""The laboratory's files on disk: the cache folder, files written whole, and the bundled data.

A cache file is a JSON header line, zero padding, and the bytes of its arrays; the header holds the
SHA-256 of all that and the fingerprint of the lexicon that it was computed from. It is one file,
written under a temporary name and renamed, so two processes may build the same thing at once: the
later rename wins, and a reader sees one or the other, never half of either. A file that does not
match its checksum, or is of another lexicon, counts as absent and is rebuilt. A folder that cannot
be written is no error: everything is computed, and `cache_status` says so.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import DpcoreError, ResourceError

# Errors of Python and NumPy for a damaged file: one list, for every reader to catch.
#
# A file may be cut, edited, or made to do harm. A reader turns these errors into one sentence of
# `dpcore.errors`, or, where the file is only a cache, counts the file as absent. A shortage of
# memory is in none of the lists: it says nothing about the file.


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
"""From gzip and zipfile: cut, damaged, encrypted, packed in another way, or with broken names."""

ARRAYS = (
    *PACKED,
    ValueError,
    KeyError,
    TypeError,
    SyntaxError,
    OverflowError,
    tokenize.TokenError,
    SystemError,  # Python 3.13.0, for a zero byte in the header
)
"""From `np.load`: as above, or a header that is no header."""

FIELDS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""From JSON and its fields: no JSON, nested too deeply, a field of another type, a number too
large. A `DpcoreError` is a ValueError, so a reader that has refused something already lets it pass
first.
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
    """Raise if the system is at fault; call this before a file counts as damaged or absent.

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
    """Shorten another library's message to one line: some quote the file they complain of."""
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:99] + "…"


_MAGIC = "dpcore-cache-1"
_ALIGNMENT = 64
_HEADER_LIMIT = 65_536
_HASH_BLOCK = 8 * 2**20


@dataclass(frozen=True)
class CacheStatus:
    """State of the cache folder.

    Attributes:
        folder: the folder.
        writable: True if files can be kept in it.
        reason: why not; empty if it can.
    """

    folder: Path
    writable: bool
    reason: str


def cache_folder() -> Path:
    """Return `DPCORE_CACHE`, or word-privacy-lab in the platform's folder for caches."""
    chosen = os.environ.get("DPCORE_CACHE")
    if chosen:
        return Path(chosen)
    # Late, so that `dpcore doctor` can report the package as missing.
    from platformdirs import user_cache_path

    # On Windows neither under the name of an author nor in a separate folder "Cache".
    return user_cache_path("word-privacy-lab", appauthor=False, opinion=False)


def cache_status() -> CacheStatus:
    """Try the cache folder by writing an empty file to it."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-"):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return CacheStatus(folder, False, f"cannot write to it ({reason}): nothing is kept")
    return CacheStatus(folder, True, "")


@contextlib.contextmanager
def replacing(path: Path, *, lasting: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` when the block succeeds.

    Args:
        path: the file to write.
        lasting: write into a folder that must exist already, and wait until the bytes are on
            the disk: after a loss of power too, the file is whole or absent.

    Raises:
        OSError: the folder cannot be written.
    """
    if not lasting:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if lasting:
            flush(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_place(path: Path) -> None:
    """Check that `replacing` can write a file into an existing folder.

    Raises:
        OSError: it cannot.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".part")
    os.close(handle)
    Path(name).unlink()


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    Raises:
        OSError: it cannot be opened, or the disk fails.
    """
    if path.is_dir() and os.name == "nt":  # Windows opens no folder, and needs no such call
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def alone(path: Path, refusal: DpcoreError) -> Iterator[None]:
    """Hold a lock file against every other process and thread, or fail at once.

    The system releases the lock when its process ends, however that ends. A lock file that a
    killed process has left is therefore no lock: the next process takes it over.

    Args:
        path: of the lock file, which exists only while it is held.
        refusal: the error to raise if another holds it.

    Raises:
        DpcoreError: `refusal`.
        OSError: the file cannot be made, or the file system has no locks.
    """
    # Late: it takes up to a tenth of a second to load, and only writers need it.
    from filelock import FileLock, Timeout

    # Where the system has no locks, an imitation by files could outlive its process.
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise refusal from None
    try:
        yield
    finally:
        # Before the release: a process that locks a file that lost its name sees that, and makes
        # another.
        with contextlib.suppress(OSError):
            path.unlink()
        lock.release()


def write_text(path: Path, text: str, *, lasting: bool = False) -> None:
    """Write a small UTF-8 file whole.

    Args:
        path: of the file.
        text: its content.
        lasting: as for `replacing`.

    Raises:
        OSError: the folder cannot be written.
    """
    with replacing(path, lasting=lasting) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 (hexadecimal) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_ONLY_IN_MEMORY: set[str] = set()


def keep_nothing_of(fingerprint: str) -> None:
    """Stop this process from writing anything to disk that is computed from this lexicon."""
    _ONLY_IN_MEMORY.add(fingerprint)


def only_in_memory(fingerprint: str) -> bool:
    """Return True if `keep_nothing_of` was called for a lexicon."""
    return fingerprint in _ONLY_IN_MEMORY


T = TypeVar("T")


@dataclass(frozen=True)
class CacheEntry:
    """Content of a cache file: read-only arrays by name, and a JSON object."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]


def keep(fingerprint: str, kind: str, kept: CacheEntry) -> bool:
    """Write arrays and facts computed from one lexicon.

    Args:
        fingerprint: of the lexicon.
        kind: the file's name, such as "extent".
        kept: the content.

    Returns:
        True if it was written; False if the folder is not writable, or the lexicon is excluded
        by `keep_nothing_of`.
    """
    if only_in_memory(fingerprint):
        return False
    arrays = {name: np.ascontiguousarray(array) for name, array in kept.arrays.items()}
    listing, offset = [], 0
    for name, array in arrays.items():
        listing.append([name, array.dtype.str, list(array.shape), offset])
        offset += _padded(array.nbytes)
    header = {
        "magic": _MAGIC,
        "fingerprint": fingerprint,
        "kind": kind,
        "arrays": listing,
        "facts": dict(kept.facts),
    }
    header["sha256"] = _digest(header, arrays.values())
    line = json.dumps(header).encode() + b"\n"
    try:
        with replacing(_path(fingerprint, kind)) as temporary, temporary.open("wb") as file:
            file.write(line.ljust(_padded(len(line)), b"\0"))
            for array in arrays.values():
                file.write(array.reshape(-1).view(np.uint8).data)
                file.write(b"\0" * (_padded(array.nbytes) - array.nbytes))
    except OSError:
        return False
    return True


def recall(fingerprint: str, kind: str) -> CacheEntry | None:
    """Read a cache file, or return None if it is absent, damaged, or of another lexicon.

    Large arrays are mapped, not read: they cost memory only where they are used.
    """
    path = _path(fingerprint, kind)
    try:
        with path.open("rb") as file:
            line = file.readline(_HEADER_LIMIT)
        header = json.loads(line)
        expected = header.pop("sha256")
        if (header["magic"], header["fingerprint"], header["kind"]) != (_MAGIC, fingerprint, kind):
            return None
        start = _padded(len(line))
        arrays: dict[str, NDArray[Any]] = {}
        for name, dtype, shape, offset in header["arrays"]:
            plain = np.dtype(dtype)
            whole = all(type(size) is int and size >= 0 for size in (*shape, offset))
            # An array of objects would have to be unpickled, and a negative size reads elsewhere.
            if plain.hasobject or not whole:
                return None
            mapped = np.memmap(path, plain, "r", start + offset, tuple(shape))
            arrays[name] = np.asarray(mapped)
        if _digest(header, arrays.values()) != expected:
            return None
        return CacheEntry(arrays, header["facts"])
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return None


def cached_record(record: type[T], fingerprint: str, kind: str, compute: Callable[[], T]) -> T:
    """Return a dataclass of arrays and floats computed from one lexicon: cached, else computed.

    Args:
        record: the dataclass.
        fingerprint: of the lexicon.
        kind: the file's name; it holds every setting that the values depend on, and a number that
            rises when the computation changes.
        compute: computes them.
    """
    names = [field.name for field in fields(record)]  # type: ignore[arg-type]
    entry = recall(fingerprint, kind)
    if entry is not None and {*entry.arrays, *entry.facts} == set(names):
        return record(**entry.arrays, **entry.facts)
    result = compute()
    values = {name: getattr(result, name) for name in names}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in values.items() if name not in arrays}
    keep(fingerprint, kind, CacheEntry(arrays, facts))
    return result


def kinds_kept(fingerprint: str) -> list[str]:
    """Return the names of the cache files of a lexicon, damaged or not."""
    return sorted(path.stem for path in _path(fingerprint, "x").parent.glob("*.bin"))


def _path(fingerprint: str, kind: str) -> Path:
    return cache_folder() / "derived" / fingerprint / f"{kind}.bin"


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _digest(header: Mapping[str, Any], arrays: Iterable[NDArray[Any]]) -> str:
    # Sorted: a header that was read back gives the same bytes. It holds the shapes, so no two
    # files have one input.
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for array in arrays:
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, flat.size, _HASH_BLOCK):
            digest.update(flat[start : start + _HASH_BLOCK].data)
    return digest.hexdigest()


# Folders of the bundled data, and the results that are bundled with them.


_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_data(name: str, holding: str) -> Path:
    """Return a folder of bundled data: in a checkout data/…, else in the package.

    Args:
        name: of the folder.
        holding: a file that the folder in a checkout must hold; else it is not ours.
    """
    in_checkout = _PACKAGE.parent / "data" / name
    if (in_checkout / holding).is_file():
        return in_checkout
    return _PACKAGE / "_data" / name


def bundled_folder() -> Path:
    """Return the folder of the bundled lexicon."""
    return bundled_data("lexicon", "vectors.npy")


def hyperbolic_folder() -> Path:
    """Return the folder of the bundled points of hyperbolic space."""
    return bundled_data("hyperbolic", "vectors.npy")


def bundled_extent(fingerprint: str) -> dict[str, Any] | None:
    """Return the bundled extent for this fingerprint, as JSON, or None."""
    return _bundled("extent.json", fingerprint)


def bundled_stretch(fingerprint: str, label: str) -> dict[str, Any] | None:
    """Return the bundled stretch of a public map, as JSON, or None."""
    return _bundled("stretch.json", f"{fingerprint} {label}")


@lru_cache(maxsize=2)
def bundled_bounds(name: str) -> dict[str, dict[str, list[list[float]]]]:
    """Return a file of bundled bounds: by fingerprint and kind, rows of numbers; {} without it."""
    path = bundled_data("certificates", "certificates.json") / name
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return {}


def _bundled(name: str, key: str) -> dict[str, Any] | None:
    try:
        fields = json.loads((bundled_folder() / name).read_text(encoding="utf-8"))[key]
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return None
    return dict(fields) if isinstance(fields, dict) else None
