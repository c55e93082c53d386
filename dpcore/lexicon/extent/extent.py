"""Diameter Δ and separation Δ₀ of a vocabulary: exact, or rigorous bounds that say so."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.limits import MAX_EXACT_EXTENT_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

# Without a matrix product a pair costs about ten times as much.
_SLOW_METRIC_SHARE = 5


@dataclass(frozen=True)
class Extent:
    """How far apart and how close together the words of a lexicon are, in its metric.

    Attributes:
        diameter: Δ, the largest distance between two words; an upper bound if not exact.
        separation: Δ₀, the smallest distance above 0; a lower bound if not exact.
        exact: whether both are the true values, up to `metric.distance_error`.
        diameter_low: a lower bound on Δ: a distance that occurs. Equal to `diameter` if exact.
        separation_high: an upper bound on Δ₀: a distance that occurs.

    A mechanism that is calibrated with an upper bound on Δ and a lower bound on Δ₀ keeps its
    guarantee.
    """

    diameter: float
    separation: float
    exact: bool
    diameter_low: float
    separation_high: float

    def __post_init__(self) -> None:
        """Check the order of the bounds.

        Raises:
            LexiconError: they contradict each other.
        """
        ordered = 0 < self.separation <= self.separation_high <= self.diameter_low <= self.diameter
        if not (ordered and math.isfinite(self.diameter)):
            raise LexiconError(f"an extent's bounds contradict each other: {asdict(self)}")
        tight = (self.diameter_low, self.separation_high) == (self.diameter, self.separation)
        if self.exact and not tight:
            raise LexiconError(f"an exact extent cannot have loose bounds: {asdict(self)}")

    def as_json(self) -> dict[str, Any]:
        """The fields, for a JSON file."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Extent:
        """Read what `as_json` gave.

        Raises:
            LexiconError: a field is missing or wrong.
        """
        try:
            return cls(
                diameter=float(fields["diameter"]),
                separation=float(fields["separation"]),
                exact=bool(fields["exact"]),
                diameter_low=float(fields["diameter_low"]),
                separation_high=float(fields["separation_high"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LexiconError(f"not an extent: {error}") from None


def extent_of(
    lexicon: Lexicon, *, force_exact: bool = False, progress: Progress | None = None
) -> Extent:
    """The extent of a lexicon: the bundled one, else the cached one, else computed and cached.

    Computed exactly up to `limits.MAX_EXACT_EXTENT_WORDS` words (a fifth of that for Manhattan
    and Chebyshev, which no matrix product screens), above that bounded.

    Args:
        lexicon: the lexicon.
        force_exact: compute exactly whatever the size; n²/2 pairs.
        progress: called with (stage, done, total).

    Returns:
        The extent; later calls for the same fingerprint find it in the cache.
    """
    from dpcore.lexicon.bundled import bundled_extent

    known = _known(bundled_extent(lexicon.fingerprint))
    if known is None:
        kept = recall(lexicon.fingerprint, "extent")
        known = _known(kept.facts) if kept else None
    if known is not None and (known.exact or not force_exact):
        return known
    found = compute_extent(lexicon, force_exact=force_exact, progress=progress)
    keep(lexicon.fingerprint, "extent", Kept({}, found.as_json()))
    return found


def compute_extent(
    lexicon: Lexicon, *, force_exact: bool = False, progress: Progress | None = None
) -> Extent:
    """As `extent_of`, without looking anything up and without keeping the result."""
    from dpcore.lexicon.extent.bounds import bound_extent
    from dpcore.lexicon.extent.exact import exact_extent

    screened = lexicon.metric in (Metric.EUCLIDEAN, Metric.ANGULAR)
    limit = MAX_EXACT_EXTENT_WORDS if screened else MAX_EXACT_EXTENT_WORDS // _SLOW_METRIC_SHARE
    if force_exact or len(lexicon) <= limit:
        diameter, separation = exact_extent(lexicon.vectors, lexicon.metric, progress or silent)
        return Extent(diameter, separation, True, diameter, separation)
    return bound_extent(lexicon.vectors, lexicon.metric)


def _known(fields: Mapping[str, Any] | None) -> Extent | None:
    if fields is None:
        return None
    try:
        return Extent.from_json(fields)
    except LexiconError:
        return None
