"""Computing beforehand what a lexicon needs, so that nothing waits for it later."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import cache_status, write_text
from dpcore.lexicon.damage import FIELDS
from dpcore.lexicon.extent.kept import extent_of
from dpcore.lexicon.metric import Metric

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.extent.extent import Extent
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

PARTS = ("extent", "neighbours", "hnsw")


@dataclass(frozen=True)
class BuildReport:
    """What was built.

    Attributes:
        fingerprint: of the lexicon.
        parts: what is there now, of "extent", "neighbours" and "hnsw".
        extent: the exact extent, if it was asked for.
        kept: whether the cache folder could keep it.
    """

    fingerprint: str
    parts: tuple[str, ...]
    extent: Extent | None
    kept: bool


def build(
    lexicon: Lexicon,
    parts: tuple[str, ...] = ("extent", "neighbours"),
    progress: Progress | None = None,
) -> BuildReport:
    """Compute the exact extent, the neighbour table or the approximate index, and keep them.

    The first two look at all pairs. On two busy cores 25,000 x 300 took 6 s and 48 s; 400,000 is
    256 times as much work, so leave it to a night. Manhattan and Chebyshev extents take 150 s for
    25,000.

    Raises:
        LexiconError: a part is not one of `PARTS`, or needs the Euclidean metric.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise LexiconError(f"cannot build {unknown[0]!r}: the parts are {', '.join(PARTS)}")
    extent = None
    if "extent" in parts:
        extent = extent_of(
            lexicon.vectors,
            lexicon.metric,
            lexicon.fingerprint,
            force_exact=True,
            progress=progress,
        )
    if lexicon.metric is not Metric.EUCLIDEAN:
        parts = tuple(part for part in parts if part == "extent")
    if "neighbours" in parts:
        lexicon.neighbours(progress=progress)
    if "hnsw" in parts:
        from dpcore.lexicon.approximate import ApproximateIndex

        ApproximateIndex(lexicon, progress)
    return BuildReport(lexicon.fingerprint, parts, extent, cache_status().writable)


def write_extent(path: Path, lexicon: Lexicon, extent: Extent) -> None:
    """Set this lexicon's entry in a JSON file of extents by fingerprint (a bundled extent.json).

    Raises:
        LexiconError: the file is not such a table, or cannot be written.
    """
    table: dict[str, object] = {}
    try:
        if path.exists():
            table = dict(json.loads(path.read_text(encoding="utf-8")))
        table[lexicon.fingerprint] = {
            "lexicon": lexicon.name,
            "metric": lexicon.metric.value,
            **extent.as_json(),
        }
        write_text(path, json.dumps(table, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise LexiconError(f"cannot write {path} ({error.strerror})") from None
    except FIELDS:
        raise LexiconError(f"{path} is not a table of extents") from None
