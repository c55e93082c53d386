"""Weighted co-occurrence counts, one sparse matrix an offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

_CHUNK = 4_000_000


def cooccurrences(
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    size: int,
    window: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> sp.csr_array:
    """Count how often words stand near each other, near ones counting more.

    A pair at offset k (1 ≤ k ≤ window) in the same segment adds (window + 1 − k)/window to both
    cells (left, right) and (right, left), so window 5 has the weights (6 − k)/5. Words outside
    the vocabulary keep their place: they count as distance, and nothing is counted for them.

    Args:
        ids: Shape (T,): word of each token in [0, size), or −1 for a word outside the vocabulary.
        segments: Shape (T,): no pair is counted across different segments.
        size: Vocabulary size n.
        window: Largest offset, at least 1.
        report: Called with (steps done, steps in all).

    Returns:
        Symmetric CSR array (n, n), float64. The sums are formed in integers (multiples of
        1/window), so they do not depend on the order of summation.

    Raises:
        ParameterError: The window is below 1 or the arrays differ in length.
    """
    import scipy.sparse as sp

    if not window >= 1:
        raise ParameterError(f"window must be at least 1, got {window}")
    if ids.shape != segments.shape:
        raise ParameterError(f"ids and segments differ in shape: {ids.shape} and {segments.shape}")
    right_of = sp.csr_array((size, size), dtype=np.int32)
    starts = range(0, max(len(ids), 1), _CHUNK)
    for step, begin in enumerate(starts):
        # A chunk reaches `window` tokens into the next one, so that no pair is lost between two.
        left = ids[begin : begin + _CHUNK]
        reach = ids[begin : begin + _CHUNK + window]
        lines = segments[begin : begin + _CHUNK + window]
        for offset in range(1, window + 1):
            first, second = left[: max(len(reach) - offset, 0)], reach[offset:]
            second = second[: len(first)]
            same = lines[: len(first)] == lines[offset : offset + len(first)]
            keep = same & (first >= 0) & (second >= 0)
            weight = np.full(int(keep.sum()), window + 1 - offset, np.int32)
            pairs = sp.coo_array((weight, (first[keep], second[keep])), shape=(size, size))
            right_of = right_of + pairs.tocsr()
            report(step * window + offset, len(starts) * window)
    both = (right_of + right_of.T).tocsr().astype(np.float64)
    both.data /= window
    both.sort_indices()
    return cast("sp.csr_array", both)  # the stub takes the sum for a vector
