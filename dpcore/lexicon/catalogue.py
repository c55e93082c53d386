"""The catalogue of lexicons: stored folders, loading by name or path, and shipping to workers.

A lexicon that was added is mapped into memory: 400,000 x 300 loads and is checked in 2 s and
occupies its 480 MB once, shared by all processes that use it. Searching it exactly through FAISS
takes a second copy (`ExactIndex`, 1.2 GB in all); `Lexicon.nearest` does not.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arguments import a_whole, describe
from dpcore.errors import LexiconError, StudyError
from dpcore.lexicon.cache import (
    ARRAYS,
    FIELDS,
    brief,
    bundled_extent,
    bundled_folder,
    cache_folder,
    hyperbolic_folder,
    keep_nothing_of,
    refuse_of_the_system,
    sha256_of_file,
    write_text,
)
from dpcore.lexicon.lexicon import ENGLISH, Lexicon, check_language, freeze
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress
from dpcore.lexicon.readers import ReadReport, read_lexicon
from dpcore.limits import MAX_DIMENSION, MAX_VOCABULARY

# The stored format of a lexicon: a folder with vectors.npy, words.txt and manifest.json.
#
# The manifest holds the SHA-256 of both files, so damage is found before anything is used. The
# vectors are float16 (the bundled lexicon) or float32 (added ones, which are mapped into memory,
# not read).


VECTORS = "vectors.npy"
WORDS = "words.txt"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """Manifest of a lexicon folder.

    Attributes:
        name: the lexicon's name.
        words: number of words.
        dimension: number of coordinates.
        sha256: SHA-256 by file name, of vectors.npy and words.txt.
        language: the code of its language; English where the manifest gives none.
        facts: all fields of the manifest (source, licence, fingerprint, ...).
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
        LexiconError: a file is missing, damaged, or does not match the manifest.
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
        lexicon: the lexicon.
        folder: the folder; replaced if it exists.
        facts: further fields of the manifest, JSON values.

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
    """Rename a folder into place; of two racing writers one wins, and neither fails."""
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


DEFAULT_NAME = "default"
NO_NAME = "PATH-OF-THE-LEXICON"
"""Placeholder in a printed command for a lexicon that has no name here."""
HYPERBOLIC_NAME = "hyperbolic"
"""Name of the bundled words of WordNet's hierarchy, as points of hyperbolic space."""


@dataclass(frozen=True)
class CatalogueEntry:
    """A lexicon that `load` finds by its name.

    Attributes:
        name: the argument of `load`.
        folder: of its files.
        manifest: of the folder.
        bundled: True if it comes with the laboratory.
    """

    name: str
    folder: Path
    manifest: Manifest
    bundled: bool


def added_folder() -> Path:
    """Return the folder of the lexicons that were added or fetched."""
    return cache_folder() / "lexicons"


def available() -> list[CatalogueEntry]:
    """List the bundled lexicons, if present, then the added ones by name; no damaged ones."""
    entries: list[CatalogueEntry] = []
    for name, folder in _bundled().items():
        with contextlib.suppress(LexiconError):
            entries.append(CatalogueEntry(name, folder, read_manifest(folder), True))
    try:
        folders = sorted(path for path in added_folder().iterdir() if path.is_dir())
    except OSError:
        folders = []
    for folder in folders:
        if folder.name.startswith("."):
            continue
        try:
            entries.append(CatalogueEntry(folder.name, folder, read_manifest(folder), False))
        except LexiconError:
            continue
    return entries


def _bundled() -> dict[str, Path]:
    """Return the folders of the bundled lexicons by their names."""
    return {DEFAULT_NAME: bundled_folder(), HYPERBOLIC_NAME: hyperbolic_folder()}


def name_of(lexicon: Lexicon) -> str | None:
    """Return the name by which `load` finds this lexicon (in any metric); None without a name."""
    fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
    return next((entry.name for entry in available() if _is(entry, fingerprint)), None)


def is_bundled(fingerprint: str) -> bool:
    """Return True if a bundled lexicon, the default one in any metric, has this fingerprint."""
    return any(entry.bundled and _is(entry, fingerprint) for entry in available())


def _is(entry: CatalogueEntry, fingerprint: str) -> bool:
    # The manifest of the default one describes its training and holds no fingerprint.
    return entry.manifest.facts.get("fingerprint") == fingerprint or (
        entry.name == DEFAULT_NAME and bundled_extent(fingerprint) is not None
    )


def lexicon_option(lexicon: Lexicon) -> list[str]:
    """Return the command-line words that choose this lexicon: none for the bundled one.

    A lexicon that was read from a path and has no name here gets a placeholder for the path.
    """
    name = name_of(lexicon)
    if name is not None:
        return [] if name == DEFAULT_NAME else ["--lexicon", name]
    language = [] if lexicon.language == ENGLISH else ["--language", lexicon.language]
    return ["--lexicon", NO_NAME, *language]


def only_here(lexicon: Lexicon) -> Lexicon:
    """Keep nothing of a lexicon on disk in this process, in any metric, and return it.

    A lexicon of the catalogue is exempt: its data are on disk already.
    """
    if name_of(lexicon) is None:
        for metric in Metric:
            if metric is not Metric.ANGULAR or lexicon.vectors.any(axis=1).all():
                keep_nothing_of(lexicon.with_metric(metric).fingerprint)
    return lexicon


def load(
    name_or_path: str | Path | None = None,
    *,
    limit: int | None = None,
    language: str | None = None,
    progress: Progress | None = None,
) -> Lexicon:
    """Load a lexicon.

    Args:
        name_or_path: None or "default" for the bundled one; "hyperbolic" for the bundled points of
            hyperbolic space; the name of an added one; or the path of a vector file (see
            `dpcore.lexicon.readers`; a member of a zip archive is ARCHIVE.zip::MEMBER) or of a
            folder that `add` wrote.
        limit: keep only the first `limit` rows of the file.
        language: of the words, such as "de"; if None, the lexicon's stored language, which is
            English for a vector file.
        progress: called with (stage, done, total).

    Returns:
        The lexicon. Rows that a lexicon cannot hold are dropped (`load_reporting` counts them).

    Raises:
        LexiconError: it is unknown, unreadable or damaged, or the language is no code.
    """
    return load_reporting(name_or_path, limit=limit, language=language, progress=progress)[0]


def load_reporting(
    name_or_path: str | Path | None = None,
    *,
    limit: int | None = None,
    language: str | None = None,
    progress: Progress | None = None,
) -> tuple[Lexicon, ReadReport | None]:
    """Load as `load`, and report the reading of the file; None for the stored format."""
    if limit is not None:
        limit = a_whole(limit, "a lexicon has at least 2 words: its limit", 2, error=LexiconError)
    if not isinstance(name_or_path, str | Path | None):
        raise LexiconError(
            "a lexicon is loaded by its name or its path, as in dp.lexicon('default'), got "
            f"{describe(name_or_path)}"
        )
    text = DEFAULT_NAME if name_or_path is None else str(name_or_path)
    if language is not None:
        check_language(language)
    lexicon, report = _read(text, limit, progress)
    return (lexicon if language is None else lexicon.with_language(language)), report


def _read(
    text: str, limit: int | None, progress: Progress | None
) -> tuple[Lexicon, ReadReport | None]:
    """Read the lexicon of a name or a path, in its stored language."""
    if text in _bundled():
        return read_stored(_bundled()[text], limit=limit), None
    if "/" not in text and "\\" not in text and (added_folder() / text).is_dir():
        return read_stored(added_folder() / text, limit=limit), None
    path = Path(text.split("::")[0]).expanduser()
    if not path.exists():
        names = ", ".join(entry.name for entry in available()) or "none"
        raise LexiconError(
            f"unknown lexicon {text!r}: neither the name of one (there are: {names}) nor a path"
        )
    if path.is_dir():
        return read_stored(path, limit=limit), None

    return read_lexicon(text, limit=limit, progress=progress)


# Shipping of a lexicon to a worker: by path and fingerprint, never as a matrix in a message.
#
# A worker opens a path once, checks the fingerprint, and keeps the lexicon open while it lives; the
# vectors are mapped into memory, so that all workers of a machine share one copy. The workers of a
# cluster need the same paths, on a file system that they share.


_LEXICONS = "lexicons"
_KEPT = 4  # lexicons that a worker keeps open


@dataclass(frozen=True)
class Place:
    """A path, and the SHA-256 of its content (of a lexicon: its fingerprint)."""

    path: str
    fingerprint: str


def ship(lexicon: Lexicon, folder: Path) -> Place:
    """Write a lexicon as float32 rows that a worker maps, if it is not there yet.

    Raises:
        StudyError: the folder cannot be written.
    """
    place = shipping_place(folder, lexicon.fingerprint)
    try:
        read_manifest(Path(place.path))
    except LexiconError:
        try:
            write_stored(lexicon, Path(place.path), {"metric": lexicon.metric.value})
        except LexiconError as error:
            raise StudyError(str(error)) from None
    return place


def shipping_place(folder: Path, fingerprint: str) -> Place:
    """Return the place where `ship` writes a lexicon."""
    return Place(str(folder.resolve() / _LEXICONS / fingerprint), fingerprint)


@lru_cache(maxsize=_KEPT)
def open_lexicon(place: Place) -> Lexicon:
    """Open a lexicon that `ship` wrote, mapped and checked; once in each process.

    Raises:
        LexiconError: it is not there, or is another one.
    """
    folder = Path(place.path)
    lexicon = read_stored(folder).with_metric(str(read_manifest(folder).facts["metric"]))
    if lexicon.fingerprint != place.fingerprint:
        raise LexiconError(f"the lexicon in {folder} is another one than the run began with")
    return lexicon
