"""Positive pointwise mutual information and its truncated singular value decomposition.

Source: Levy, Goldberg & Dagan, "Improving distributional similarity with lessons learned from
word embeddings", TACL 3 (2015), section 3 (shifted PPMI, context distribution smoothing,
eigenvalue weighting).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray


def positive_pmi(counts: sp.csr_array, exponent: float, shift: float) -> sp.csr_array:
    """Return max(0, log(P(w, c) / (P(w) P_α(c))) − shift), cell by cell.

    P_α(c) is proportional to the context's count to the power `exponent` (α).

    Args:
        counts: Co-occurrence counts, shape (n, n), not negative.
        exponent: α; 1 is plain PMI.
        shift: Subtracted before the cut at zero, in nats.

    Returns:
        CSR array (n, n), float32, without stored zeros.
    """
    matrix = counts.astype(np.float64).tocsr()
    words = np.asarray(matrix.sum(axis=1)).ravel()
    contexts = np.asarray(matrix.sum(axis=0)).ravel() ** exponent
    contexts /= max(contexts.sum(), np.finfo(float).tiny)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    # P(w, c) / P(w) = counts / words: the total cancels.
    value = np.log(matrix.data / (words[rows] * contexts[matrix.indices])) - shift
    matrix.data = np.maximum(value, 0.0)
    matrix.eliminate_zeros()
    return matrix.astype(np.float32)


def factorise(
    matrix: sp.csr_array, dimensions: int, power: float, seed: int
) -> NDArray[np.float32]:
    """Return U Σ^power of the truncated singular value decomposition.

    Args:
        matrix: Shape (n, m).
        dimensions: Number of largest singular values kept, below min(n, m).
        power: Exponent of the singular values; 1 is plain truncated SVD, 0 drops them.
        seed: Seeds the start vector of the Lanczos iteration.

    Returns:
        Shape (n, dimensions), largest singular value first. The sign of a column is fixed by
        making its entry of largest magnitude positive.
    """
    from scipy.sparse.linalg import svds

    start = np.random.default_rng(seed).standard_normal(min(matrix.shape)).astype(matrix.dtype)
    left, values, _ = svds(matrix, k=dimensions, v0=start, return_singular_vectors="u")
    order = np.argsort(-values)
    left, values = left[:, order], values[order]
    largest = left[np.argmax(np.abs(left), axis=0), np.arange(dimensions)]
    weighted: NDArray[np.float32] = (left * np.sign(largest) * values**power).astype(np.float32)
    return weighted
