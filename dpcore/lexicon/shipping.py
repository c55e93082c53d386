"""How a lexicon reaches a worker: by path and fingerprint, never as a matrix in a message.

A worker opens a path once, checks the fingerprint, and keeps what it opened while it lives; the
vectors are mapped into memory, so that all workers of a machine share one copy. The workers of a
cluster need the same paths, on a file system that they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.errors import LexiconError, StudyError
from dpcore.lexicon.stored import read_manifest, read_stored, write_stored

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

_LEXICONS = "lexicons"
_KEPT = 4  # lexicons that a worker keeps open


@dataclass(frozen=True)
class Place:
    """A path, and the SHA-256 of what must be there (of a lexicon: its fingerprint)."""

    path: str
    fingerprint: str


def ship(lexicon: Lexicon, folder: Path) -> Place:
    """Write a lexicon as float32 rows that a worker maps, if it is not there yet.

    Raises:
        StudyError: the folder cannot be written.
    """
    place = shipped(folder, lexicon.fingerprint)
    try:
        read_manifest(Path(place.path))
    except LexiconError:
        try:
            write_stored(lexicon, Path(place.path), {"metric": lexicon.metric.value})
        except LexiconError as error:
            raise StudyError(str(error)) from None
    return place


def shipped(folder: Path, fingerprint: str) -> Place:
    """Where `ship` writes a lexicon."""
    return Place(str(folder.resolve() / _LEXICONS / fingerprint), fingerprint)


@lru_cache(maxsize=_KEPT)
def open_lexicon(place: Place) -> Lexicon:
    """A lexicon that `ship` wrote, mapped and checked; once in each process.

    Raises:
        LexiconError: it is not there, or is another one.
    """
    folder = Path(place.path)
    lexicon = read_stored(folder).with_metric(str(read_manifest(folder).facts["metric"]))
    if lexicon.fingerprint != place.fingerprint:
        raise LexiconError(f"the lexicon in {folder} is another one than the run began with")
    return lexicon
