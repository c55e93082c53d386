"""Readers of vector files of any common format, which is found from the content, not the name.

Text (GloVe, word2vec text, fastText .vec), word2vec binary, .npz, and .npy with a vocabulary
beside it; text and binary plain, in gzip, or in a zip archive (ARCHIVE.zip::MEMBER names a member
where there are several). Files are streamed: besides the vectors themselves (n x d x 4 bytes,
480 MB for 400,000 x 300) and the words, a reader holds about 100 MB. Measured for 400,000 x 300
on two busy cores (tests/benchmarks/lexicon_scale.py): 56 s from text, 95 s from gzip, 6 s from
word2vec binary, with a peak of 0.64 GB for the whole process; `add` does it once, and its stored
copy loads in 2 s.
"""

from __future__ import annotations

import codecs
import dataclasses
from dataclasses import dataclass
from pathlib import Path

from dpcore.errors import LexiconError
from dpcore.lexicon.lexicon import DroppedRows, Lexicon, choose_rows, keep_rows
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.readers.binary import is_array_file, looks_binary, read_arrays, read_binary
from dpcore.lexicon.readers.text import ByteSource, RawVectors, read_text
from dpcore.limits import MAX_OWN_VECTOR_BYTES, MAX_VOCABULARY

__all__ = ["ReadReport", "read_lexicon", "read_uploaded"]

_PICKLE_PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")
_FASTTEXT_MODEL = (793_712_314).to_bytes(4, "little")


@dataclass(frozen=True)
class ReadReport:
    """Report on the reading of a file.

    Attributes:
        format: the format found, in words.
        rows: rows read, before any was dropped.
        dropped: rows that the lexicon does not hold, by reason.
    """

    format: str
    rows: int
    dropped: DroppedRows


def read_lexicon(
    location: str | Path,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    name: str | None = None,
) -> tuple[Lexicon, ReadReport]:
    """Read a vector file.

    Args:
        location: the path, with ::MEMBER for a member of a zip archive.
        limit: read at most this many rows.
        progress: called with ("reading", bytes done, bytes in all).
        name: the lexicon's name; the file's name if None.

    Returns:
        The lexicon and a report on the reading.

    Raises:
        LexiconError: the file is missing, of no known format, cut or malformed; the message names
            the line or row.
    """
    text, _, member = str(location).partition("::")
    path = Path(text).expanduser()
    if path.exists() and not path.is_file():
        # Opening a pipe waits for its writer, and a device may never end.
        raise LexiconError(
            f"{path} cannot be read: it is no regular file, and a lexicon is read more than once; "
            "give the path of a vector file"
        )
    try:
        raw = _read(path, member, limit, progress or silent)
    except OSError as error:
        raise LexiconError(f"{path} cannot be read ({error.strerror or 'input error'})") from None
    if not raw.words:
        raise LexiconError(f"{path} is empty: it holds no word vectors")
    return _finished(raw, name or path.name)


def read_uploaded(data: bytes, label: str, name: str) -> tuple[Lexicon, ReadReport]:
    """Read uploaded vectors: text or word2vec binary, not packed.

    Args:
        data: the bytes of the file.
        label: the name of the file, for refusals.
        name: the lexicon's name.

    Returns:
        The lexicon and a report on the reading.

    Raises:
        LexiconError: as `read_lexicon`; or the file is packed, or larger than a page takes.
    """
    if len(data) > MAX_OWN_VECTOR_BYTES:
        raise LexiconError(
            f"{label} has {len(data):,} bytes, and a page takes up to {MAX_OWN_VECTOR_BYTES:,}: "
            "add it by `python -m dpcore lexicon add`"
        )
    # The name of an uploaded file is no path on this machine: nothing is opened.
    with ByteSource(Path(Path(label).name or "vectors"), "", silent, data) as source:
        if source.packed:
            raise LexiconError(f"{source.label} is packed: unpack it first, so that its size shows")
        return _finished(_parsed(source, None), name)


def _finished(raw: RawVectors, name: str) -> tuple[Lexicon, ReadReport]:
    """Build the lexicon of raw rows, without those that it cannot hold."""
    kept, dropped = choose_rows(raw.words, raw.vectors)
    words, vectors = raw.words, raw.vectors
    if len(kept) < len(words):
        words = [words[i] for i in kept]
        vectors = keep_rows(vectors, kept) if vectors.flags.owndata else vectors[kept]
    dropped = dataclasses.replace(dropped, undecodable=raw.undecodable, malformed=raw.malformed)
    if len(words) < 2:
        raise LexiconError(
            f"{name} has too few words: a lexicon has 2 to {MAX_VOCABULARY:,} words, got "
            f"{len(words)} ({dropped})"
        )
    lexicon = Lexicon(name, tuple(words), vectors)
    return lexicon, ReadReport(
        raw.format, len(raw.words) + raw.undecodable + raw.malformed, dropped
    )


def _read(path: Path, member: str, limit: int | None, progress: Progress) -> RawVectors:
    if not member and is_array_file(path):
        return read_arrays(path, limit)
    with ByteSource(path, member, progress) as source:
        return _parsed(source, limit)


def _no_vectors(start: bytes) -> str:
    """Return why a file that begins like this is no file of vectors; "" if nothing is known."""
    if start.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS in the place of the vectors: run `git lfs pull` first"
    if start[:1] == b"\x80" and start[1:2] in _PICKLE_PROTOCOLS:
        return (
            "is a pickle, as gensim's `save` writes it, and is not opened: it could run programs; "
            "in gensim, `model.wv.save_word2vec_format(name)` writes vectors that can be read"
        )
    first, second = (start[place:1000:2].count(0) for place in (0, 1))
    # Of Latin letters every other byte is zero; in numbers of a binary file both may be.
    one_sided = max(first, second) > 400 and min(first, second) < 50
    if one_sided or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is UTF-16 text; UTF-8 is needed: save it as UTF-8"
    return ""


def _parsed(source: ByteSource, limit: int | None) -> RawVectors:
    start = source.peek()
    if not start:
        raise LexiconError(f"{source.label} is empty: it holds no word vectors")
    reason = _no_vectors(start)
    if reason:
        raise LexiconError(f"{source.label} {reason}")
    if start.startswith(_FASTTEXT_MODEL):
        raise LexiconError(
            f"{source.label} is a fastText model (.bin): use its word vectors (.vec)"
        )
    if looks_binary(start):
        return read_binary(source, limit)
    return read_text(source, limit)
