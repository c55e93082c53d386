"""Points that mechanisms compare with, derived from a lexicon: the last few, held for all of them.

A clipped or projected copy is as large as the vectors themselves. Were it held by each mechanism,
whoever tries twenty clipping norms would take twenty times that memory from everybody.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpcore.arrays import Float32Array
from dpcore.lexicon.extent.exact import exact_extent
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.lexicon.progress import silent
from dpcore.limits import SEPARATED_AT_ONCE_WORDS
from dpcore.mechanisms.additive.rays import largest_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpcore.lexicon.lexicon import Lexicon


_COPIES = 4  # of the size of the vectors
_KEPT = 64  # of whatever size


@dataclass(frozen=True, eq=False)
class Points:
    """Points, one for each word, with what is computed of them once.

    Attributes:
        vectors: shape (n, p), float32, read-only.
    """

    vectors: Float32Array

    @cached_property
    def norm(self) -> float:
        """Largest Euclidean norm of a point."""
        return largest_norm(self.vectors)

    @cached_property
    def separation(self) -> float | None:
        """Smallest distance above 0 of two points; None if there are too many for a wait."""
        if len(self.vectors) > SEPARATED_AT_ONCE_WORDS:
            return None
        return exact_extent(self.vectors, Metric.EUCLIDEAN, silent)[1]

    @cached_property
    def search(self) -> NearestSearch:
        """The nearest point to a query; it keeps the lengths of the points."""
        return NearestSearch(self.vectors)


class _Held:
    """The points of one lexicon; what was used longest ago goes first."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._points: OrderedDict[Hashable, Points] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], Float32Array], originals: Float32Array
    ) -> Points:
        with self._busy:
            if key not in self._points:
                self._points[key] = Points(make())
            self._points.move_to_end(key)
            while self._too_many(originals):
                self._points.popitem(last=False)
            return self._points[key]

    def _too_many(self, originals: Float32Array) -> bool:
        # The lexicon's own vectors are no copy, and the points asked for last always stay.
        sizes = [p.vectors.nbytes for p in self._points.values() if p.vectors is not originals]
        return len(self._points) > _KEPT or (
            len(self._points) > 1 and sum(sizes) > _COPIES * originals.nbytes
        )


_held: WeakKeyDictionary[Lexicon, _Held] = WeakKeyDictionary()
_opening = threading.Lock()


def derived(lexicon: Lexicon, key: Hashable, make: Callable[[], Float32Array]) -> Points:
    """Points that depend on a lexicon and a key alone, computed at the first call.

    Args:
        lexicon: whose words they stand for.
        key: what distinguishes them from other points of the lexicon.
        make: computes them, shape (n, p); may return the lexicon's own vectors.

    Returns:
        The same object for all mechanisms, until others have been used more recently.
    """
    # Weak keys: who lets go of a lexicon lets go of its copies.
    with _opening:
        copies = _held.setdefault(lexicon, _Held())
    return copies.get(key, make, lexicon.vectors)


def least_distance(lexicon: Lexicon, points: Points) -> float | None:
    """Δ₀ of points of a lexicon, or a lower bound; None if it would have to be waited for."""
    if points.vectors is lexicon.vectors:
        return lexicon.with_metric(Metric.EUCLIDEAN).extent.separation
    return points.separation


def own(lexicon: Lexicon) -> Points:
    """The lexicon's own vectors."""
    return derived(lexicon, None, lambda: lexicon.vectors)
