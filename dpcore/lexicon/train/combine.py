"""From raw vectors to the bundled ones: unit rows, joining, PCA, one scale for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import LexiconError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BLOCK = 512


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale every row to Euclidean length 1.

    Raises:
        LexiconError: A row is zero or not finite.
    """
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    bad = np.flatnonzero(~((norms > 0) & np.isfinite(norms)))
    if len(bad):
        raise LexiconError(
            f"{len(bad)} rows have no direction (zero or not finite), first {bad[0]}"
        )
    result: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return result


def centred_unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Subtract the mean row, then scale every row to length 1."""
    return unit_rows(vectors - vectors.mean(axis=0, dtype=np.float64))


def principal_components(vectors: NDArray[np.floating], dimensions: int) -> NDArray[np.float32]:
    """Project on the leading eigenvectors of the covariance matrix (PCA).

    Args:
        vectors: Shape (n, d).
        dimensions: At most min(n, d).

    Returns:
        Shape (n, dimensions), largest variance first. The sign of an axis is fixed by making
        its coefficient of largest magnitude positive.

    Raises:
        ParameterError: `dimensions` is out of range.
    """
    if not 1 <= dimensions <= min(vectors.shape):
        raise ParameterError(
            f"dimensions must be between 1 and {min(vectors.shape)}, got {dimensions}"
        )
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :dimensions]
    largest = axes[np.argmax(np.abs(axes), axis=0), np.arange(dimensions)]
    result: NDArray[np.float32] = (centred @ (axes * np.sign(largest))).astype(np.float32)
    return result


def side_by_side(
    blocks: Sequence[NDArray[np.floating]], weights: Sequence[float], dimensions: int
) -> NDArray[np.float32]:
    """Join blocks of unit rows, reduce to `dimensions` by PCA, and give every row length 1.

    Args:
        blocks: Arrays of n rows each.
        weights: One factor a block.
        dimensions: Columns of the result.
    """
    joined = np.hstack(
        [weight * unit_rows(block) for block, weight in zip(blocks, weights, strict=True)]
    )
    return unit_rows(principal_components(joined, dimensions))


def nearest_distances(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return each row's Euclidean distance to its exact nearest other row, shape (n,)."""
    rows = np.ascontiguousarray(vectors, np.float32)
    squares = np.einsum("ij,ij->i", rows, rows)
    nearest = np.empty(len(rows))
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK]
        # |x − y|² = |x|² + |y|² − 2⟨x, y⟩; |x|² is the same for all y. The Gram form loses digits,
        # so it only finds the neighbour, whose distance is then taken from the difference.
        score = block @ rows.T
        score *= -2.0
        score += squares
        score[np.arange(len(block)), np.arange(begin, begin + len(block))] = np.inf
        neighbour = rows[np.argmin(score, axis=1)]
        difference = block.astype(np.float64) - neighbour
        nearest[begin : begin + len(block)] = np.linalg.norm(difference, axis=1)
    return nearest
