"""The extent of a vocabulary: bundled, kept in the cache folder, or computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.arrays import Float32Array
from dpcore.errors import LexiconError
from dpcore.lexicon.bundled import bundled_extent
from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.extent.bounds import bound_extent
from dpcore.lexicon.extent.exact import exact_extent
from dpcore.lexicon.extent.extent import Extent
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_EXACT_EXTENT_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping


# Without a matrix product a pair costs about ten times as much.
_SLOW_METRIC_SHARE = 5


def extent_of(
    vectors: Float32Array,
    metric: Metric,
    fingerprint: str,
    *,
    force_exact: bool = False,
    progress: Progress | None = None,
) -> Extent:
    """The extent of a lexicon: the bundled one, else the cached one, else computed and cached.

    Computed exactly up to `limits.MAX_EXACT_EXTENT_WORDS` words (a fifth of that for Manhattan
    and Chebyshev, which no matrix product screens), above that bounded.

    Args:
        vectors: of the lexicon, shape (n, d), rows distinct.
        metric: of the lexicon.
        fingerprint: of the lexicon; later calls for the same one find the extent in the cache.
        force_exact: compute exactly whatever the size; n²/2 pairs.
        progress: called with (stage, done, total).
    """
    known = _known(bundled_extent(fingerprint))
    if known is None:
        kept = recall(fingerprint, "extent")
        known = _known(kept.facts) if kept else None
    if known is not None and (known.exact or not force_exact):
        return known
    extent = compute_extent(vectors, metric, force_exact=force_exact, progress=progress)
    keep(fingerprint, "extent", Kept({}, extent.as_json()))
    return extent


def compute_extent(
    vectors: Float32Array,
    metric: Metric,
    *,
    force_exact: bool = False,
    progress: Progress | None = None,
) -> Extent:
    """As `extent_of`, without looking anything up and without keeping the result."""
    screened = metric in (Metric.EUCLIDEAN, Metric.ANGULAR)
    limit = MAX_EXACT_EXTENT_WORDS if screened else MAX_EXACT_EXTENT_WORDS // _SLOW_METRIC_SHARE
    if force_exact or len(vectors) <= limit:
        diameter, separation = exact_extent(vectors, metric, progress or silent)
        return Extent(diameter, separation, True, diameter, separation)
    return bound_extent(vectors, metric)


def _known(fields: Mapping[str, Any] | None) -> Extent | None:
    # A damaged file of the cache, or one that was edited, counts as absent.
    if fields is None:
        return None
    try:
        return Extent.from_json(fields)
    except LexiconError:
        return None
