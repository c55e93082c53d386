"""Adding lexicons to the cache folder: from a file, or from the table of public sources."""

from __future__ import annotations

import re
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import cache_folder, cache_status
from dpcore.lexicon.catalogue import DEFAULT_NAME, HYPERBOLIC_NAME, added_folder
from dpcore.lexicon.download import download
from dpcore.lexicon.lexicon import ENGLISH, check_language
from dpcore.lexicon.readers import read_lexicon
from dpcore.lexicon.sources import SOURCES, Source, source_named
from dpcore.lexicon.stored import write_stored

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dpcore.lexicon.progress import Progress
    from dpcore.lexicon.readers import ReadReport

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Added:
    """A lexicon that was added.

    Attributes:
        name: what `catalogue.load` takes from now on.
        folder: where it lies.
        words: number of words.
        dimension: number of coordinates.
        fingerprint: of the lexicon.
        report: how its file was read, and how many rows were dropped.
    """

    name: str
    folder: Path
    words: int
    dimension: int
    fingerprint: str
    report: ReadReport


def add(
    location: str,
    *,
    name: str | None = None,
    limit: int | None = None,
    language: str = ENGLISH,
    replace: bool = False,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Added:
    """Read a vector file once and keep it in our own format, which loads by memory mapping.

    Args:
        location: the path, with ::MEMBER for a member of a zip archive.
        name: its name; made from the file's name if None.
        limit: keep only the first rows.
        language: of the words, such as "de".
        replace: replace a lexicon of this name.
        facts: what the manifest should say about its origin, JSON values.
        progress: called with (stage, done, total).

    Raises:
        LexiconError: the name is taken or not allowed, the language is no code, the file cannot be
            read, or the cache folder cannot be written.
    """
    check_language(language)
    chosen = name or _name_from(location)
    folder = _free(chosen, replace)
    lexicon, report = read_lexicon(location, limit=limit, progress=progress, name=chosen)
    origin = {"source": str(location), "limit": limit, "dropped": asdict(report.dropped)}
    lexicon = lexicon.with_language(language)
    write_stored(lexicon, folder, {**origin, "format": report.format, **(facts or {})})
    return Added(chosen, folder, len(lexicon), lexicon.dimension, lexicon.fingerprint, report)


def fetch(
    key: str,
    *,
    dimension: int | None = None,
    name: str | None = None,
    limit: int | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    sources: Mapping[str, Source] | None = None,
    pause: float = 1.0,
) -> Added:
    """Download one of the public sources, check it, and `add` it.

    The archive is deleted once it has been added; what a cut download has brought is kept.

    Args:
        key: one of `dpcore.lexicon.sources.SOURCES`.
        dimension: which vectors, where the archive holds several (glove-6b).
        name: the lexicon's name; the key (and the dimension, if not the usual one) if None.
        limit: keep only the first words, the most frequent ones.
        replace: replace a lexicon of this name.
        progress: called with (stage, done, total).
        sources: another table of sources.
        pause: seconds before the first repetition of a download that was cut.

    Raises:
        LexiconError: there is no such source, no network, no room, a wrong file was served, or
            as `add`.
    """
    source = source_named(key, SOURCES if sources is None else sources)
    wanted, member = source.member(dimension)
    usual = wanted == source.dimension
    chosen = name or (source.key if usual else f"{source.key}-{wanted}d")
    _free(chosen, replace)
    rows = source.words if limit is None else min(limit, source.words)
    _check_room(source.size + 4 * wanted * rows)
    target = cache_folder() / "downloads" / source.file
    archive = download(source.urls, target, source.size, source.sha256, progress, pause=pause)
    added = add(
        f"{archive}::{member}" if member else str(archive),
        name=chosen,
        limit=limit,
        replace=replace,
        facts={
            "source": source.page,
            "title": source.title,
            "licence": source.licence,
            "archive": source.file,
            "archive_sha256": source.sha256,
        },
        progress=progress,
    )
    archive.unlink(missing_ok=True)
    return added


def _name_from(location: str) -> str:
    stem = re.split(r"[/\\]|::", str(location))[-1]
    while True:
        shorter = re.sub(r"\.(gz|zip|txt|vec|bin|npy|npz)$", "", stem, flags=re.IGNORECASE)
        if shorter == stem:
            break
        stem = shorter
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "lexicon"


def _free(name: str, replace: bool) -> Path:
    """The folder for a new lexicon of this name."""
    if not _NAME.fullmatch(name) or name in {DEFAULT_NAME, HYPERBOLIC_NAME}:
        raise LexiconError(
            "a lexicon's name has 1 to 64 letters, digits, dots, dashes and underscores and is "
            f"not '{DEFAULT_NAME}' or '{HYPERBOLIC_NAME}', got {name[:80]!r}"
        )
    status = cache_status()
    if not status.writable:
        raise LexiconError(f"{status.folder} cannot keep a lexicon: {status.reason}")
    folder = added_folder() / name
    if folder.exists() and not replace:
        raise LexiconError(
            f"there is a lexicon called {name!r} already: choose another name, or ask to replace it"
        )
    return folder


def _check_room(needed: int) -> None:
    free = shutil.disk_usage(cache_folder()).free
    if free < needed:
        raise LexiconError(
            f"{cache_folder()} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed"
        )
