"""Probabilities as things out of a hundred, for people who read counts better than decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_TOLERANCE = 1e-6


def of_hundred(probabilities: ArrayLike, things: int = 100) -> IntArray:
    """Whole numbers that add up to `things`, each within one of its share.

    Largest remainders (Hamilton's rule): every share is rounded down, and what is left goes to the
    largest fractions, of equal ones to the first.

    Args:
        probabilities: shape (k,), not negative, their sum 1.
        things: how many are divided.

    Returns:
        Shape (k,), int64.

    Raises:
        ParameterError: the probabilities are none, or there is nothing to divide.
    """
    given: FloatArray = np.asarray(probabilities, dtype=np.float64)
    if not (given.ndim == 1 and given.size and (given >= 0).all()):
        raise ParameterError("counts need a list of probabilities of at least 0")
    if not abs(given.sum() - 1.0) <= _TOLERANCE:
        raise ParameterError(f"probabilities must sum to 1, got {given.sum():.6g}")
    if not things >= 1:
        raise ParameterError(f"at least 1 thing must be divided, got {things}")
    shares = given / given.sum() * things
    counts: IntArray = np.floor(shares).astype(np.int64)
    left = things - int(counts.sum())
    counts[np.argsort(counts - shares, kind="stable")[:left]] += 1
    return counts
