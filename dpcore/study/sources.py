"""What the cells of a plan read: paths and fingerprints, never the matrices themselves.

A worker opens a path once, checks it, and keeps what it opened while it lives
(`dpcore.lexicon.shipping`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import StudyError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.shipping import Place, open_lexicon, ship
from dpcore.study.plan import BASELINE, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.plan import Cell, Plan

_KEPT = 4  # mechanisms and checked files that a worker keeps open


@dataclass(frozen=True)
class Sources:
    """The lexicons by name and the files by key of a plan."""

    lexicons: tuple[tuple[str, Place], ...] = ()
    files: tuple[tuple[str, Place], ...] = ()

    def lexicon(self, name: str) -> Lexicon:
        """A lexicon, mapped into memory and checked.

        Raises:
            LexiconError: it is not there, or is another one.
        """
        return open_lexicon(dict(self.lexicons)[name])

    def file(self, key: str) -> Path:
        """The path of a file whose bytes were checked.

        Raises:
            StudyError: it is not there, or was changed.
        """
        return _file(dict(self.files)[key])

    def mechanism(self, cell: Cell) -> Mechanism:
        """The mechanism of a cell, kept with what it computed about its lexicon.

        Raises:
            StudyError: the cell is of the baseline.
        """
        if cell.mechanism == BASELINE:
            raise StudyError("the baseline has no mechanism")
        place = dict(self.lexicons)[cell.lexicon]
        return _mechanism(cell.mechanism, place, canonical(cell.settings))

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Sources:
        """The sources that `to_json` gave."""
        kinds = ("lexicons", "files")
        return cls(*(tuple((name, Place(**place)) for name, place in fields[k]) for k in kinds))


def gather(
    plan: Plan,
    folder: Path,
    *,
    lexicons: Mapping[str, Lexicon] | None = None,
    files: Mapping[str, Path] | None = None,
) -> Sources:
    """Find what a plan reads, and write the lexicons where all workers can map them.

    Args:
        plan: its names of lexicons that are not given here are those of `catalogue.load`.
        folder: of the run; lexicons are written to a folder in it, once for each fingerprint.
        lexicons: by the names that the plan uses.
        files: by the keys that the plan uses.

    Raises:
        StudyError: a file is missing, or the folder cannot be written.
        LexiconError: a lexicon cannot be loaded.
    """
    from dpcore.lexicon.catalogue import load

    given, paths = dict(lexicons or {}), dict(files or {})
    wanted = [key for key in plan.data if key]
    missing = [key for key in wanted if key not in paths or not paths[key].is_file()]
    if missing:
        raise StudyError(f"no file for the data {', '.join(missing)} of plan {plan.name!r}")
    named = [name for name in plan.lexicons if name]
    loaded = {name: given[name] if name in given else load(name) for name in named}
    files_read = {key: paths[key].resolve() for key in wanted}
    return Sources(
        tuple((name, ship(lexicon, folder)) for name, lexicon in loaded.items()),
        tuple((key, Place(str(path), sha256_of_file(path))) for key, path in files_read.items()),
    )


# Keyed by name, fingerprint and settings as text: cells come through pipes and are never the same
# objects, while what a mechanism computes of its lexicon takes seconds.
@lru_cache(maxsize=_KEPT)
def _mechanism(name: str, place: Place, settings: str) -> Mechanism:
    from dpcore.mechanisms.registry import create

    return create(name, open_lexicon(place), dict(json.loads(settings)))


@lru_cache(maxsize=_KEPT)
def _file(place: Place) -> Path:
    path = Path(place.path)
    try:
        same = sha256_of_file(path) == place.fingerprint
    except OSError as error:
        raise StudyError(
            f"a worker cannot read {path} ({error.strerror}); all workers need the same paths"
        ) from None
    if not same:
        raise StudyError(f"{path} was changed since the run began; begin again in another folder")
    return path
