"""A lexicon in our own format: a folder with vectors.npy, words.txt and manifest.json.

The manifest holds the SHA-256 of both files, so damage is seen before anything is used. The
vectors are float16 (the bundled lexicon) or float32 (added ones, which are mapped into memory,
not read).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.lexicon.damage import ARRAYS, FIELDS, brief, refuse_of_the_system
from dpcore.lexicon.lexicon import ENGLISH, Lexicon
from dpcore.lexicon.rows import freeze
from dpcore.limits import MAX_DIMENSION, MAX_VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Mapping

VECTORS = "vectors.npy"
WORDS = "words.txt"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """What a folder says about its lexicon.

    Attributes:
        name: the lexicon's name.
        words: number of words.
        dimension: number of coordinates.
        sha256: SHA-256 by file name, of vectors.npy and words.txt.
        language: the code of its language; English where it says none.
        facts: everything else it says (source, licence, fingerprint, ...).
    """

    name: str
    words: int
    dimension: int
    sha256: Mapping[str, str]
    language: str = ENGLISH
    facts: Mapping[str, Any] = field(default_factory=dict)


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest.

    Raises:
        LexiconError: it is missing or not a manifest.
    """
    try:
        fields = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return _manifest(fields)
    except OSError as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"{folder} holds no lexicon: {MANIFEST} cannot be read ({error.strerror})"
        ) from None
    except FIELDS as error:
        raise LexiconError(f"{folder / MANIFEST} is damaged: {brief(error)}") from None


def _manifest(fields: Mapping[str, Any]) -> Manifest:
    words, dimension = int(fields["words"]), int(fields["dimensions"])
    if not (0 <= words <= MAX_VOCABULARY and 0 <= dimension <= MAX_DIMENSION):
        raise ValueError(f"at most {MAX_VOCABULARY:,} words of {MAX_DIMENSION:,} coordinates")
    return Manifest(
        name=str(fields["name"]),
        words=words,
        dimension=dimension,
        sha256={name: str(fields["sha256"][name]) for name in (VECTORS, WORDS)},
        language=str(fields.get("language", ENGLISH)),
        facts=fields,
    )


def read_stored(folder: Path, *, limit: int | None = None) -> Lexicon:
    """Read a lexicon folder, checking both files against the manifest.

    Args:
        folder: the folder.
        limit: keep only the first words.

    Raises:
        LexiconError: a file is missing, damaged, or not what the manifest says.
    """
    manifest = read_manifest(folder)
    for name, expected in manifest.sha256.items():
        try:
            digest = sha256_of_file(folder / name)
        except OSError as error:
            refuse_of_the_system(error)
            raise LexiconError(f"{folder / name} cannot be read ({error.strerror})") from None
        if digest != expected:
            raise LexiconError(
                f"{folder / name} is damaged (its SHA-256 is not the manifest's): add, fetch or "
                "train this lexicon again"
            )
    try:
        vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        text = (folder / WORDS).read_bytes().decode("utf-8")
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise LexiconError(f"{folder} cannot be read: {brief(error)}") from None
    words = text.removesuffix("\n").split("\n")
    if vectors.shape != (manifest.words, manifest.dimension) or len(words) != manifest.words:
        raise LexiconError(
            f"{folder} holds {len(words)} words and vectors of shape {vectors.shape}, but its "
            f"manifest says ({manifest.words}, {manifest.dimension})"
        )
    if vectors.dtype.kind != "f":
        raise LexiconError(f"{folder / VECTORS} holds {vectors.dtype}, not floating-point numbers")
    kept = vectors if limit is None else vectors[:limit]
    return Lexicon(
        manifest.name, tuple(words[: len(kept)]), freeze(kept), language=manifest.language
    )


def write_stored(lexicon: Lexicon, folder: Path, facts: Mapping[str, Any]) -> Manifest:
    """Write a lexicon folder whole: it appears under its name only when it is complete.

    Args:
        lexicon: what to write.
        folder: the folder; replaced if it exists.
        facts: what else the manifest should say, JSON values.

    Raises:
        LexiconError: the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
        try:
            np.save(temporary / VECTORS, lexicon.vectors, allow_pickle=False)
            write_text(temporary / WORDS, "\n".join(lexicon.words) + "\n")
            fields = {
                **facts,
                "name": lexicon.name,
                "words": len(lexicon),
                "dimensions": lexicon.dimension,
                "language": lexicon.language,
                "fingerprint": lexicon.fingerprint,
                "sha256": {name: sha256_of_file(temporary / name) for name in (VECTORS, WORDS)},
            }
            write_text(temporary / MANIFEST, json.dumps(fields, indent=2, ensure_ascii=False))
            temporary.chmod(0o755)
            _put(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or "is the disk full?"
        raise LexiconError(f"cannot write the lexicon to {folder} ({reason})") from None
    return _manifest(fields)


def _put(temporary: Path, folder: Path) -> None:
    """Rename a folder into place; of two racing writers one wins, and both are content."""
    for _ in range(100):
        try:
            os.rename(temporary, folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        # A folder cannot be replaced in one step: move the old one aside first.
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-old-"))
        with contextlib.suppress(OSError):  # another process was faster
            os.rename(folder, aside / "old")
        shutil.rmtree(aside, ignore_errors=True)
    raise OSError(errno.EBUSY, "another process keeps replacing it")
