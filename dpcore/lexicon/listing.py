"""Facts about one lexicon and about all of them, as plain JSON values."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import cache_status, kinds_kept, recall
from dpcore.lexicon.catalogue import available
from dpcore.lexicon.extent import extent_of
from dpcore.lexicon.fetch import SOURCES
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.lexicon.train.vectors import word_similarity


def list_lexicons() -> dict[str, Any]:
    """List the lexicons that can be loaded by name, those that can be fetched, and the cache."""
    here = [
        {
            "name": entry.name,
            "title": entry.manifest.facts.get("title") or entry.manifest.name,
            "words": entry.manifest.words,
            "dimension": entry.manifest.dimension,
            "language": entry.manifest.language,
            "bundled": entry.bundled,
            "folder": str(entry.folder),
        }
        for entry in available()
    ]
    public = [
        {
            "key": source.key,
            "title": source.title,
            "words": source.words,
            "dimensions": sorted(source.members),
            "download_bytes": source.size,
            "licence": source.licence,
            "page": source.page,
        }
        for source in SOURCES.values()
    ]
    return {"lexicons": here, "fetchable": public, "cache": cache_facts()}


def cache_facts() -> dict[str, Any]:
    """Return the cache folder and its state."""
    status = cache_status()
    return {"folder": str(status.folder), "writable": status.writable, "reason": status.reason}


def describe(lexicon: Lexicon, progress: Progress | None = None) -> dict[str, Any]:
    """Return size, fingerprint, norms, extent, and the cache files of a lexicon.

    The extent is looked up or computed (see `Lexicon.extent`); the distances to the nearest
    neighbour are included if the neighbour table has been built.
    """
    extent = extent_of(lexicon.vectors, lexicon.metric, lexicon.fingerprint, progress=progress)
    kept = {}
    for kind in kinds_kept(lexicon.fingerprint):
        kept[kind] = "ok" if recall(lexicon.fingerprint, kind) else "damaged: rebuilt when used"
    facts: dict[str, Any] = {
        "name": lexicon.name,
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "language": lexicon.language,
        "metric": lexicon.metric.value,
        "fingerprint": lexicon.fingerprint,
        "vector_bytes": lexicon.vectors.nbytes,
        "largest_norm": lexicon.largest_norm,
        "extent": extent.as_json(),
        "kept": kept,
        "cache": cache_facts(),
    }
    if kept.get("neighbours") == "ok" and len(lexicon) > 1:
        nearest = lexicon.neighbours(2).distances[:, 1]
        quartiles = np.quantile(nearest, (0.25, 0.5, 0.75))
        facts["nearest_neighbour_quartiles"] = [float(q) for q in quartiles]
    return facts


def similarity(lexicon: Lexicon, pairs: Path) -> list[dict[str, Any]]:
    """Return word-similarity scores: see `dpcore.lexicon.train.vectors.word_similarity`.

    Raises:
        LexiconError: the file cannot be read or lacks a column.
    """
    try:
        scores = word_similarity(lexicon.words, lexicon.vectors, pairs)
    except OSError as error:
        raise LexiconError(f"{pairs} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise LexiconError(f"{pairs} is no table of word pairs: {error}") from None
    return [dataclasses.asdict(score) for score in scores]
