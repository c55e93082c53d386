"""Diameter Δ and separation Δ₀ of a vocabulary (exact or rigorous bounds), and stretch of maps."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import BoolArray, Float32Array, FloatArray, IntArray
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import CacheEntry, bundled_extent, bundled_stretch, keep, recall
from dpcore.lexicon.metric import Metric, distances, paired_distances, unit_rows
from dpcore.lexicon.nearest_word import SAFE_LENGTHS, product_error
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_EXACT_EXTENT_WORDS

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon


@dataclass(frozen=True)
class Extent:
    """Diameter and separation of the words of a lexicon, in its metric.

    Attributes:
        diameter: Δ, the largest distance between two words; an upper bound if not exact.
        separation: Δ₀, the smallest distance above 0; a lower bound if not exact.
        exact: True if both are the true values, up to `metric.distance_error`.
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
        """Return the fields, for a JSON file."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Extent:
        """Read the fields that `as_json` returned.

        Raises:
            LexiconError: a field is missing or wrong.
        """
        try:
            bounds = ("diameter", "separation", "diameter_low", "separation_high")
            numbers = {name: float(fields[name]) for name in bounds}
            return cls(exact=bool(fields["exact"]), **numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise LexiconError(f"not an extent: {error}") from None


# Largest and smallest non-zero distance between words, over all pairs.


_BLOCK = 2048
_PAIRS = 16_384
# Two rows with an angle below this count as parallel, at distance 0: float64 cannot tell.
PARALLEL_ANGLE = 1e-12


def exact_extent(vectors: Float32Array, metric: Metric, progress: Progress) -> tuple[float, float]:
    """Compute diameter and separation over all pairs.

    For the Euclidean metric (and the angular one, on rows scaled to length 1) a float32 matrix
    product gives half the squared distance of all pairs of two blocks with a proved error bound;
    only pairs that the bound cannot exclude are computed in float64. For the other metrics every
    pair is.

    Args:
        vectors: shape (n, d), rows distinct.
        metric: the metric.
        progress: called with (stage, pairs of blocks done, all of them).

    Returns:
        (Δ, Δ₀).

    Raises:
        LexiconError: no two words have a distance above 0 (parallel rows under the angular
            metric).
    """
    search = _Search(vectors, metric)
    starts = range(0, len(vectors), _BLOCK)
    total = len(starts) * (len(starts) + 1) // 2
    done = 0
    for i in starts:
        for j in range(i, len(vectors), _BLOCK):
            search.visit(i, j)
            done += 1
            progress("distances", done, total)
    if not search.largest > 0:
        raise LexiconError("all words are parallel: the angular metric has no separation")
    return search.largest, search.smallest


class _Search:
    """Extreme distances of the pairs visited so far."""

    def __init__(self, vectors: Float32Array, metric: Metric) -> None:
        self.vectors = vectors
        self.metric = metric
        self.largest = 0.0
        self.smallest = np.inf
        self.floor = PARALLEL_ANGLE if metric is Metric.ANGULAR else 0.0
        self.screened = metric in (Metric.EUCLIDEAN, Metric.ANGULAR)
        if not self.screened:
            return
        self.rows = vectors if metric is Metric.EUCLIDEAN else single_unit_rows(vectors)
        self.half = np.empty(len(vectors))
        for start in range(0, len(vectors), _BLOCK):
            part = self.rows[start : start + _BLOCK].astype(np.float64)
            self.half[start : start + _BLOCK] = np.einsum("ij,ij->i", part, part) / 2
        longest = float(np.sqrt(2 * self.half.max()))
        self.screened = SAFE_LENGTHS[0] < longest < SAFE_LENGTHS[1]

    def visit(self, i: int, j: int) -> None:
        """Process all pairs of block i with block j >= i."""
        if not self.screened:
            block = distances(
                self.vectors[j : j + _BLOCK], self.vectors[i : i + _BLOCK], self.metric
            )
            self._take(block)
            return
        left, right = self.rows[i : i + _BLOCK], self.rows[j : j + _BLOCK]
        a, b = self.half[i : i + _BLOCK], self.half[j : j + _BLOCK]
        score = left @ right.T
        np.subtract(b.astype(np.float32), score, out=score)
        score += a.astype(np.float32)[:, None]
        # |error| <= γ(‖x‖‖y‖ + ‖x‖²/2 + ‖y‖²/2), where the scores are half squared distances.
        reach = float(np.sqrt(2 * a.max()) + np.sqrt(2 * b.max()))
        error = product_error(self.rows.shape[1]) * reach**2
        if i == j:
            # The diagonal and the lower triangle add nothing: put them between the extremes.
            above = np.triu_indices(len(left), 1)
            if len(above[0]) == 0:
                return
            middle = score[above].mean(dtype=np.float64)
            score[np.tril_indices(len(left))] = middle
        top, bottom = float(score.max()), float(score.min())
        high, low = self._score(self.largest), self._score(self.smallest)
        if top < high - error and bottom > low + error:
            return
        # This block's extremes bound the result as well. Parallel rows are no candidates for the
        # smallest angle, so only scores that are certainly not theirs may bound it.
        if self.metric is Metric.ANGULAR:
            bottom = float(score.min(initial=np.inf, where=score > 2 * error))
        high = max(high, top - error)
        low = min(low, max(bottom, 0.0) + error)
        which = np.nonzero((score >= high - error) | (score <= low + error))
        for start in range(0, len(which[0]), _PAIRS):
            p = which[0][start : start + _PAIRS] + i
            q = which[1][start : start + _PAIRS] + j
            self._take(paired_distances(self.vectors[p], self.vectors[q], self.metric)[p < q])

    def _score(self, distance: float) -> float:
        """Return half the squared Euclidean distance (of unit rows) that belongs to a distance."""
        if self.metric is Metric.ANGULAR and np.isfinite(distance):
            return float(2 * np.sin(distance / 2) ** 2)
        return distance**2 / 2

    def _take(self, gaps: FloatArray) -> None:
        self.largest = max(self.largest, float(gaps.max(initial=0.0)))
        positive = gaps[gaps > self.floor]
        self.smallest = min(self.smallest, float(positive.min(initial=np.inf)))


def single_unit_rows(vectors: Float32Array) -> Float32Array:
    """Scale rows to length 1 and round them to float32, a block at a time."""
    result = np.empty_like(vectors)
    for start in range(0, len(vectors), _BLOCK):
        part = vectors[start : start + _BLOCK].astype(np.float64)
        result[start : start + _BLOCK] = unit_rows(part)
    return result


# Rigorous bounds on Δ and Δ₀ for vocabularies too large for all pairs.


_BLOCK_BOUNDS = 8192
_AXES = 8
_SAMPLE = 4096
# Two distinct float32 numbers differ by at least this, and so do two distinct rows.
_SMALLEST_STEP = 2.0**-149
# Far above the rounding of a float64 sum of up to 4,096 terms.
_ROUNDING = 1e-11


def bound_extent(vectors: Float32Array, metric: Metric) -> Extent:
    """Bound in O(n d) time and a search in eight dimensions: 50 s for 400,000 x 300, busy machine.

    Diameter: for any point c, D(x, y) <= D(x, c) + D(c, y), so the sum of the two largest
    distances from c bounds Δ from above; c is the mean. The distances from the word farthest from
    c bound it from below.

    Separation: an orthogonal projection shortens no difference, so the smallest nearest-neighbour
    distance among the projected words (the eight principal axes, a k-d tree) bounds the Euclidean
    Δ₀ from below; the true distances of the pairs that are closest in the projection bound it from
    above. Manhattan distance is at least the Euclidean one, Chebyshev at least 1/√d of it, and
    the angle at least the chord of the unit vectors. Where words coincide in the projection
    the bound falls back to the smallest step of float32 (angular: the smallest angle that counts
    as one): true, and too small to calibrate with, so ask for the exact value.

    Args:
        vectors: shape (n, d), rows distinct.
        metric: the metric.

    Returns:
        An `Extent` with exact=False.
    """
    high, low, far = _diameter(vectors, metric)
    projected, rounding = _project(vectors, unit=metric is Metric.ANGULAR)
    shortest, close, other = _closest(projected)
    shortest = shortest * (1.0 - _ROUNDING) - rounding
    if metric is Metric.CHEBYSHEV:
        shortest /= float(np.sqrt(vectors.shape[1]))
    least = PARALLEL_ANGLE if metric is Metric.ANGULAR else _SMALLEST_STEP
    gaps = paired_distances(vectors[close], vectors[other], metric)
    gaps = np.concatenate((gaps, distances(vectors, vectors[[far]], metric)[0]))
    separation_high = float(gaps[gaps > least].min())
    return Extent(
        diameter=high,
        separation=min(max(shortest, least), separation_high),
        exact=False,
        diameter_low=max(low, separation_high),
        separation_high=separation_high,
    )


def _diameter(vectors: Float32Array, metric: Metric) -> tuple[float, float, int]:
    """Return an upper bound, a lower bound, and the word farthest from the centre."""
    centre = vectors.mean(axis=0, dtype=np.float64)
    if metric is Metric.ANGULAR and not centre.any():
        centre = vectors[0].astype(np.float64)
    from_centre = distances(vectors, centre[None], metric)[0]
    far = int(from_centre.argmax())
    two = np.partition(from_centre, -2)[-2:]
    high = float(two.sum()) * (1.0 + _ROUNDING)
    if metric is Metric.ANGULAR:
        high = min(high, float(np.pi))
    # A few sweeps from each farthest word to its own farthest one.
    low, here = 0.0, far
    for _ in range(4):
        row = distances(vectors, vectors[here][None], metric)[0]
        here = int(row.argmax())
        low = max(low, float(row[here]))
    return max(high, low), low, far


def _closest(points: FloatArray) -> tuple[float, IntArray, IntArray]:
    """Return the smallest distance between two points, and pairs that are close.

    The nearest neighbours of a sample give a distance that occurs; limited to that distance for the
    other points, a k-d tree answers in seconds.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    sample = np.arange(0, len(points), max(1, len(points) // _SAMPLE))
    gaps, partners = _second(tree, points, sample, np.inf)
    within = float(gaps.min())
    rest = np.setdiff1d(np.arange(len(points)), sample)
    if within > 0 and len(rest):
        more, others = _second(tree, points, rest, within * (1.0 + _ROUNDING))
        met = np.isfinite(more)
        sample = np.concatenate((sample, rest[met]))
        gaps = np.concatenate((gaps, more[met]))
        partners = np.concatenate((partners, others[met]))
    return float(gaps.min()), sample, partners


def _second(
    tree: Any, points: FloatArray, which: IntArray, within: float
) -> tuple[FloatArray, IntArray]:
    """Return the nearest other point of each; its distance is infinity if beyond `within`."""
    gaps, pairs = tree.query(points[which], k=2, distance_upper_bound=within, workers=-1)
    # The point itself is one of the two; if another coincides with it, either may be first.
    other = np.where(pairs[:, 1] == which, pairs[:, 0], pairs[:, 1])
    return gaps[:, 1], other.astype(np.int64)


def _project(vectors: Float32Array, *, unit: bool) -> tuple[FloatArray, float]:
    """Return coordinates on orthonormal axes, and a bound on the rounding of a distance there."""
    d = vectors.shape[1]
    step = max(1, len(vectors) // _SAMPLE)
    sample = _rows(vectors[::step], unit)
    sample -= sample.mean(axis=0)
    axes = np.linalg.svd(sample, full_matrices=False)[2][: min(_AXES, d)].T
    axes = np.linalg.qr(axes)[0]
    result = np.empty((len(vectors), axes.shape[1]))
    longest = 0.0
    for start in range(0, len(vectors), _BLOCK_BOUNDS):
        rows = _rows(vectors[start : start + _BLOCK_BOUNDS], unit)
        longest = max(longest, float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max())))
        result[start : start + _BLOCK_BOUNDS] = rows @ axes
    return result, _ROUNDING * longest


def _rows(vectors: Float32Array, unit: bool) -> FloatArray:
    rows = vectors.astype(np.float64)
    return unit_rows(rows) if unit else rows


# Extent of a vocabulary: bundled, cached, or computed.


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
    """Return the extent of a lexicon: bundled, else cached, else computed and cached.

    Computed exactly up to `limits.MAX_EXACT_EXTENT_WORDS` words (a fifth of that for Manhattan
    and Chebyshev, which no matrix product screens), above that bounded.

    Args:
        vectors: of the lexicon, shape (n, d), rows distinct.
        metric: of the lexicon.
        fingerprint: of the lexicon; later calls for the same one find the extent in the cache.
        force_exact: compute exactly at any size; n²/2 pairs.
        progress: called with (stage, done, total).
    """
    known = _known(bundled_extent(fingerprint))
    if known is None:
        kept = recall(fingerprint, "extent")
        known = _known(kept.facts) if kept else None
    if known is not None and (known.exact or not force_exact):
        return known
    extent = compute_extent(vectors, metric, force_exact=force_exact, progress=progress)
    keep(fingerprint, "extent", CacheEntry({}, extent.as_json()))
    return extent


def compute_extent(
    vectors: Float32Array,
    metric: Metric,
    *,
    force_exact: bool = False,
    progress: Progress | None = None,
) -> Extent:
    """Compute as `extent_of`, without look-up or caching."""
    screened = metric in (Metric.EUCLIDEAN, Metric.ANGULAR)
    limit = MAX_EXACT_EXTENT_WORDS if screened else MAX_EXACT_EXTENT_WORDS // _SLOW_METRIC_SHARE
    if force_exact or len(vectors) <= limit:
        diameter, separation = exact_extent(vectors, metric, progress or silent)
        return Extent(diameter, separation, True, diameter, separation)
    return bound_extent(vectors, metric)


def _known(fields: Mapping[str, Any] | None) -> Extent | None:
    # A damaged or edited file of the cache counts as absent.
    if fields is None:
        return None
    try:
        return Extent.from_json(fields)
    except LexiconError:
        return None


# Stretch of a public map on the distances of the vocabulary: exact, over all pairs.


_BLOCK_STRETCH = 2048
_PAIRS_STRETCH = 16_384


def largest_stretch(
    lexicon: Lexicon, mapped: Float32Array, label: str, progress: Progress = silent
) -> float:
    """Return the max over pairs of words of ‖mapped_w − mapped_w′‖ / ‖φ_w − φ_w′‖.

    Args:
        lexicon: words and vectors φ, shape (n, d).
        mapped: the image of each row under a public map, shape (n, m).
        label: name of the map, under which the result is cached.
        progress: called with (stage, blocks done, all blocks).

    Returns:
        The exact value (to float64 rounding); looked up if it is known for this map.
    """
    return _fact(
        lexicon,
        mapped,
        label,
        "stretch",
        lambda: compute_stretch(lexicon.vectors, mapped, progress),
    )


def image_separation(
    lexicon: Lexicon, mapped: Float32Array, label: str, progress: Progress = silent
) -> float:
    """Return the smallest distance above 0 between rows of `mapped`; see `largest_stretch`."""
    return _fact(
        lexicon,
        mapped,
        label,
        "separation",
        lambda: exact_extent(mapped, Metric.EUCLIDEAN, progress)[1],
    )


def _fact(
    lexicon: Lexicon, mapped: Float32Array, label: str, name: str, compute: Callable[[], float]
) -> float:
    """Look up a bundled or cached number of this map by its name, else compute and cache it."""
    digest = hashlib.sha256(np.ascontiguousarray(mapped, dtype="<f4").data).hexdigest()
    known = bundled_stretch(lexicon.fingerprint, label) or {}
    if known.get("mapped") != digest or name not in known:
        kept = recall(lexicon.fingerprint, f"stretch-{label}")
        known = dict(kept.facts) if kept and kept.facts.get("mapped") == digest else {}
    if name not in known:
        known |= {"mapped": digest, name: compute()}
        keep(lexicon.fingerprint, f"stretch-{label}", CacheEntry({}, known))
    return float(known[name])


def compute_stretch(
    vectors: Float32Array, mapped: Float32Array, progress: Progress = silent
) -> float:
    """Compute as `largest_stretch`, without the cache.

    A float32 product screens all pairs: with e and f bounds on the rounding of half the squared
    distances, a pair whose (image + f)/(distance − e) stays below the best ratio so far is out;
    the others are computed in float64.
    """
    spaces = [(rows, *_half_squares(rows)) for rows in (vectors, mapped)]
    (rows, half, error), (images, image_half, image_error) = spaces
    starts = range(0, len(rows), _BLOCK_STRETCH)
    total, done, best = len(starts) * (len(starts) + 1) // 2, 0, 0.0
    for i in starts:
        for j in range(i, len(rows), _BLOCK_STRETCH):
            below = _half_distances(rows, half, i, j)
            above = _half_distances(images, image_half, i, j)
            if i == j:
                above[np.tril_indices(len(above))] = -np.inf
            p, q = np.nonzero(_possible(above, image_error, below, error, best))
            above, below = above[p, q], below[p, q]
            order = np.argsort(-(above / np.maximum(below, error)))
            for k in range(0, len(p), _PAIRS_STRETCH):
                some = order[k : k + _PAIRS_STRETCH]  # the best so far may have risen
                some = some[_possible(above[some], image_error, below[some], error, best)]
                if some.size:
                    left, right = p[some] + i, q[some] + j
                    ratio = paired_distances(images[left], images[right])
                    ratio /= paired_distances(rows[left], rows[right])
                    best = max(best, float(ratio.max()))
            done += 1
            progress("stretch", done, total)
    return best


def _possible(
    above: Float32Array,
    image_error: np.float32,
    below: Float32Array,
    error: np.float32,
    best: float,
) -> BoolArray:
    """Mark the pairs for which ratio² > best² is possible: above + f > best²·(below − e)."""
    # The comparison is rounded to float32 as well: a margin of a millionth covers it.
    level = np.float32(best**2)
    return np.asarray(above + image_error > level * (below - error) * (1 - 1e-6))


def _half_squares(rows: Float32Array) -> tuple[Float32Array, np.float32]:
    """Return half squared norms, and an error bound of a half squared distance in float32."""
    half = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / 2
    error = product_error(rows.shape[1]) * 8 * float(half.max())
    return half.astype(np.float32), np.float32(error)


def _half_distances(rows: Float32Array, half: Float32Array, i: int, j: int) -> Float32Array:
    """Return ‖x − y‖²/2 for block i against block j, float32."""
    product = rows[i : i + _BLOCK_STRETCH] @ rows[j : j + _BLOCK_STRETCH].T
    np.subtract(half[j : j + _BLOCK_STRETCH], product, out=product)
    product += half[i : i + _BLOCK_STRETCH, None]
    return product
