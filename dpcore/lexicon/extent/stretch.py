"""What a public map does to distances of the vocabulary: exact, over all pairs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import BoolArray, Float32Array
from dpcore.lexicon.bundled import bundled_stretch
from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.extent.exact import exact_extent
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.lexicon.nearest_word import product_error
from dpcore.lexicon.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

_BLOCK = 2048
_PAIRS = 16_384


def largest_stretch(
    lexicon: Lexicon, mapped: Float32Array, label: str, progress: Progress = silent
) -> float:
    """max over pairs of words of ‖mapped_w − mapped_w′‖ / ‖φ_w − φ_w′‖.

    Args:
        lexicon: words and vectors φ, shape (n, d).
        mapped: the image of each row under a public map, shape (n, m).
        label: name of the map, under which the result is kept in the cache.
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
    """Smallest distance above 0 between two rows of `mapped`; arguments as `largest_stretch`."""
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
    """What is bundled or kept of this map under a name, else computed and kept."""
    digest = hashlib.sha256(np.ascontiguousarray(mapped, dtype="<f4").data).hexdigest()
    known = bundled_stretch(lexicon.fingerprint, label) or {}
    if known.get("mapped") != digest or name not in known:
        kept = recall(lexicon.fingerprint, f"stretch-{label}")
        known = dict(kept.facts) if kept and kept.facts.get("mapped") == digest else {}
    if name not in known:
        known |= {"mapped": digest, name: compute()}
        keep(lexicon.fingerprint, f"stretch-{label}", Kept({}, known))
    return float(known[name])


def compute_stretch(
    vectors: Float32Array, mapped: Float32Array, progress: Progress = silent
) -> float:
    """As `largest_stretch`, without the cache.

    A float32 product screens all pairs: with e and f bounds on the rounding of half the squared
    distances, a pair whose (image + f)/(distance − e) stays below the best ratio so far is out;
    the others are computed in float64.
    """
    spaces = [(rows, *_half_squares(rows)) for rows in (vectors, mapped)]
    (rows, half, error), (images, image_half, image_error) = spaces
    starts = range(0, len(rows), _BLOCK)
    total, done, best = len(starts) * (len(starts) + 1) // 2, 0, 0.0
    for i in starts:
        for j in range(i, len(rows), _BLOCK):
            below = _half_distances(rows, half, i, j)
            above = _half_distances(images, image_half, i, j)
            if i == j:
                above[np.tril_indices(len(above))] = -np.inf
            p, q = np.nonzero(_possible(above, image_error, below, error, best))
            above, below = above[p, q], below[p, q]
            order = np.argsort(-(above / np.maximum(below, error)))
            for k in range(0, len(p), _PAIRS):
                some = order[k : k + _PAIRS]  # the best so far may have risen
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
    """Where ratio² > best² is possible: above + f > best²·(below − e)."""
    # The comparison is rounded to float32 as well: it gives a millionth away.
    level = np.float32(best**2)
    return np.asarray(above + image_error > level * (below - error) * (1 - 1e-6))


def _half_squares(rows: Float32Array) -> tuple[Float32Array, np.float32]:
    """Half squared norms, and a bound on the error of a half squared distance in float32."""
    half = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / 2
    error = product_error(rows.shape[1]) * 8 * float(half.max())
    return half.astype(np.float32), np.float32(error)


def _half_distances(rows: Float32Array, half: Float32Array, i: int, j: int) -> Float32Array:
    """‖x − y‖²/2 for block i against block j, float32."""
    product = rows[i : i + _BLOCK] @ rows[j : j + _BLOCK].T
    np.subtract(half[j : j + _BLOCK], product, out=product)
    product += half[i : i + _BLOCK, None]
    return product
