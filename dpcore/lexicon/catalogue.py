"""Which lexicons there are, and loading one by its name or its path.

A lexicon that was added is mapped into memory: 400,000 x 300 loads and is checked in 2 s and
occupies its 480 MB once, shared by all processes that use it. Searching it exactly through FAISS
takes a second copy (`ExactIndex`, 1.2 GB in all); `Lexicon.nearest` does not.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.arguments import a_whole, described
from dpcore.errors import LexiconError
from dpcore.lexicon.bundled import bundled_extent, bundled_folder, hyperbolic_folder
from dpcore.lexicon.cache import cache_folder, keep_nothing_of
from dpcore.lexicon.lexicon import ENGLISH, Lexicon, check_language
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.stored import Manifest, read_manifest, read_stored

if TYPE_CHECKING:
    from dpcore.lexicon.progress import Progress
    from dpcore.lexicon.readers import ReadReport

DEFAULT_NAME = "default"
NO_NAME = "PATH-OF-THE-LEXICON"
"""Stands in a printed command for a lexicon that has no name here."""
HYPERBOLIC_NAME = "hyperbolic"
"""Of the bundled words of WordNet's hierarchy, as points of hyperbolic space."""


@dataclass(frozen=True)
class CatalogueEntry:
    """A lexicon that `load` finds by its name.

    Attributes:
        name: what `load` takes.
        folder: where it lies.
        manifest: what it holds and where it is from.
        bundled: whether it comes with the laboratory.
    """

    name: str
    folder: Path
    manifest: Manifest
    bundled: bool


def added_folder() -> Path:
    """The folder that holds the lexicons that were added or fetched."""
    return cache_folder() / "lexicons"


def available() -> list[CatalogueEntry]:
    """The bundled lexicons, if they are there, then the added ones by name; no damaged ones."""
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
    """The folders of the lexicons that come with the laboratory, by their names."""
    return {DEFAULT_NAME: bundled_folder(), HYPERBOLIC_NAME: hyperbolic_folder()}


def name_of(lexicon: Lexicon) -> str | None:
    """The name by which `load` gives this lexicon (in whatever metric); None if it has none."""
    fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
    for entry in available():
        if entry.manifest.facts.get("fingerprint") == fingerprint:
            return entry.name
        # The manifest of the default one is of its training and holds no fingerprint.
        if entry.name == DEFAULT_NAME and bundled_extent(fingerprint) is not None:
            return entry.name
    return None


def lexicon_option(lexicon: Lexicon) -> list[str]:
    """The words of a command line that choose this lexicon: none for the bundled one.

    A lexicon that was read from a path and has no name here stands as a reminder to put the path.
    """
    name = name_of(lexicon)
    if name is not None:
        return [] if name == DEFAULT_NAME else ["--lexicon", name]
    language = [] if lexicon.language == ENGLISH else ["--language", lexicon.language]
    return ["--lexicon", NO_NAME, *language]


def only_here(lexicon: Lexicon) -> Lexicon:
    """A lexicon of which this process keeps nothing on disk, in whatever metric.

    One that the catalogue has stays as it is: what is known of it is there already.
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
        language: of the words, such as "de"; what the lexicon says of itself if None, and that is
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
    """As `load`, with how the file was read; None for a lexicon in our own format."""
    if limit is not None:
        limit = a_whole(limit, "a lexicon has at least 2 words: its limit", 2, error=LexiconError)
    if not isinstance(name_or_path, str | Path | None):
        raise LexiconError(
            "a lexicon is loaded by its name or its path, as in dp.lexicon('default'), got "
            f"{described(name_or_path)}"
        )
    text = DEFAULT_NAME if name_or_path is None else str(name_or_path)
    if language is not None:
        check_language(language)
    lexicon, report = _read(text, limit, progress)
    return (lexicon if language is None else lexicon.with_language(language)), report


def _read(
    text: str, limit: int | None, progress: Progress | None
) -> tuple[Lexicon, ReadReport | None]:
    """The lexicon of a name or a path, in the language that it says."""
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
    from dpcore.lexicon.readers import read_lexicon

    return read_lexicon(text, limit=limit, progress=progress)
