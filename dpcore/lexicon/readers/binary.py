"""Readers of binary vector files: word2vec binary (header, words, float32 rows) and NumPy."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import ARRAYS, PACKED, brief
from dpcore.lexicon.lexicon import first_not_finite, freeze
from dpcore.lexicon.readers.text import ByteSource, RawVectors, RowGatherer, header, too_many
from dpcore.limits import MAX_DIMENSION, MAX_LEXICON_NUMBERS, MAX_VOCABULARY

_WORD_LIMIT = 65_536
_CONTROL = bytes(set(range(32)) - {9, 10, 13})
_BATCH_ROWS = 4096


def looks_binary(start: bytes) -> bool:
    """Return True if a file's start is word2vec binary: a header line, then no text."""
    line, line_feed, rest = start[:100].partition(b"\n")
    head = header(line) if line_feed else None
    if head is None:
        return False
    sample = start[len(line) + 1 :][: 4 * head[1] + 1000]
    return bool(rest) and any(byte in _CONTROL for byte in sample)


def read_binary(source: ByteSource, limit: int | None = None) -> RawVectors:
    """Read a word2vec binary file; numbers are little-endian.

    Args:
        source: the open file.
        limit: read at most this many rows.

    Raises:
        LexiconError: the file ends early, or a row is malformed (its number is given).
    """
    label = source.label
    buffer = source.read()
    line, _, _ = buffer.partition(b"\n")
    head = header(line)
    if head is None:
        raise LexiconError(f"{label} has no word2vec header (rows and dimension)")
    promised, dimension = head
    if not (1 <= dimension <= MAX_DIMENSION and promised <= MAX_VOCABULARY):
        raise LexiconError(
            f"{label} promises {promised:,} rows of {dimension} numbers; allowed are "
            f"{MAX_VOCABULARY:,} and {MAX_DIMENSION}"
        )
    position, size = len(line) + 1, 4 * dimension
    wanted = promised if limit is None else min(promised, limit)
    words: list[str] = []
    undecodable = 0
    rows = RowGatherer(dimension)
    batch: list[bytes] = []
    for row in range(wanted):
        while True:
            space = buffer.find(b" ", position, position + _WORD_LIMIT)
            if space >= 0 and len(buffer) >= space + 1 + size:
                break
            if space < 0 and len(buffer) - position >= _WORD_LIMIT:
                raise LexiconError(f"{label}: row {row + 1} has no word; the file is damaged")
            more = source.read()
            if not more:
                raise LexiconError(
                    f"{label} ends in row {row + 1} of the {promised:,} that its header "
                    "promises: it was cut"
                )
            buffer, position, space = buffer[position:] + more, 0, -1
        # Some writers end a row with a line feed, which then precedes the next word.
        word = buffer[position:space].lstrip(b"\n")
        position = space + 1 + size
        try:
            words.append(word.decode("utf-8"))
        except UnicodeDecodeError:
            undecodable += 1
        else:
            batch.append(buffer[space + 1 : position])
        if len(batch) == _BATCH_ROWS or row == wanted - 1:
            _flush(batch, rows, words, label)
    return RawVectors(words, rows.finish(), "word2vec binary", undecodable)


def _flush(batch: list[bytes], rows: RowGatherer, words: list[str], label: str) -> None:
    block = np.frombuffer(b"".join(batch), dtype="<f4").astype(np.float32, copy=False)
    if not len(block):
        return
    block = block.reshape(len(batch), -1)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        word = words[len(rows) + int(np.argmin(finite))]
        raise LexiconError(f"{label}: the vector of {word[:40]!r} holds NaN or infinity")
    rows.add(block)
    batch.clear()


# NumPy files: .npz with the words inside, or .npy (.npz) with a vocabulary file beside it.
#
# Never unpickled: an array of objects is refused.


_VECTOR_KEYS = ("vectors", "embeddings", "vecs")
_WORD_KEYS = ("words", "vocab", "vocabulary")
_WIDEST = 8  # bytes of a number


def is_array_file(path: Path) -> bool:
    """Return True if the file is .npy, or a zip archive that holds .npy members."""
    with path.open("rb") as file:
        magic = file.read(6)
    if magic == b"\x93NUMPY":
        return True
    if not magic.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except PACKED:
        return False


def read_arrays(path: Path, limit: int | None = None) -> RawVectors:
    """Read vectors (floating point, any width) and words.

    Args:
        path: the .npy or .npz file.
        limit: keep only the first rows.

    Raises:
        LexiconError: the file is damaged, holds no fitting array, or no vocabulary is found.
    """
    words: list[str] | None = None
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            vectors: NDArray[Any] = loaded
        else:
            with loaded:
                _check_size(path)
                vectors = loaded[_choose(path, loaded.files, _VECTOR_KEYS)]
                if set(_WORD_KEYS) & set(loaded.files):
                    array = loaded[_choose(path, loaded.files, _WORD_KEYS)]
                    words = _as_words(path, array)
    except LexiconError:
        raise
    except ARRAYS as error:
        if "Object arrays" in str(error):
            raise LexiconError(
                f"{path.name} holds an array of Python objects, which is pickled and is not "
                "opened: it could run programs; save words as np.array(words, dtype=str)"
            ) from None
        raise LexiconError(f"{path.name} is cut, damaged or pickled ({brief(error)})") from None
    except MemoryError:
        raise LexiconError(
            f"{path.name} asks for more memory than there is: end other programs, or cut the file"
        ) from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise LexiconError(
            f"{path.name} must hold floating-point vectors of shape (n, d), got {vectors.dtype} "
            f"of shape {vectors.shape}"
        )
    if words is None:
        words = _vocabulary(path)
    if len(words) != len(vectors):
        raise LexiconError(f"{path.name} has {len(vectors)} rows but {len(words)} words")
    if limit is None and len(vectors) > MAX_VOCABULARY:
        raise LexiconError(f"{path.name} holds more than {MAX_VOCABULARY:,} words: use a limit")
    frozen = freeze(vectors[:limit])
    bad = first_not_finite(frozen)
    if bad is not None:
        raise LexiconError(f"{path.name}: row {bad + 1} holds NaN or infinity")
    return RawVectors(words[:limit], frozen, f"NumPy {vectors.dtype}")


def _check_size(path: Path) -> None:
    """Refuse an archive that would fill the memory, by the sizes in its directory.

    No more of a member is read than the directory says.
    """
    with zipfile.ZipFile(path) as archive:
        largest = max(entry.file_size for entry in archive.infolist())
    if largest > _WIDEST * MAX_LEXICON_NUMBERS:
        raise LexiconError(f"{path.name}: {too_many(f'{largest // _WIDEST:,}')}")


def _choose(path: Path, names: list[str], keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in names:
            return key
    raise LexiconError(
        f"{path.name} holds the arrays {', '.join(names[:8])}; expected one named "
        f"{' or '.join(keys)}"
    )


def _as_words(path: Path, array: NDArray[Any]) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise LexiconError(f"{path.name}: its words must be a list of strings, got {array.dtype}")
    if array.dtype.kind == "S":
        return [bytes(word).decode("utf-8", "replace") for word in array]
    return [str(word) for word in array]


def _vocabulary(path: Path) -> list[str]:
    stem = path.name.rsplit(".", 1)[0]
    names = (f"{stem}.vocab.txt", f"{stem}.words.txt", f"{stem}.txt", "vocab.txt", "words.txt")
    for name in names:
        beside = path.with_name(name)
        if beside.is_file():
            try:
                text = beside.read_bytes().decode("utf-8-sig")
            except UnicodeDecodeError:
                raise LexiconError(f"{beside.name} is not UTF-8") from None
            return [word.removesuffix("\r") for word in text.removesuffix("\n").split("\n")]
    raise LexiconError(
        f"{path.name} needs a vocabulary beside it, one word a line: one of {', '.join(names)}"
    )
