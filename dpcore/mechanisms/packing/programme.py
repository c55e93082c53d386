"""The packing programme max {1ᵀA : K·A ≤ 1, A ≥ 0} and its dual min {1ᵀb : K·b ≥ π, b ≥ 0}.

Whoever keeps ε·d gives a stranger with the prior π at most a share of Σ_v π_v·A_v words to guess
right, for A the best packing (`docs/optimal.md`, Theorem 1), and that is at most 1ᵀb for every b of
the dual. A good b is the minimum over b ≥ 0 of the quadratic form ½·bᵀKb − πᵀb: there K·b ≥ π,
with equality wherever b > 0 (Karush, Kuhn, Tucker), so that it is a point of the dual, and the
optimal one whenever A = K_SS⁻¹·1 on S = {b > 0} is a packing: both then have the value 1ᵀb. K is
positive definite under the Euclidean metric, so the minimum is found by conjugate gradients on a
set S that loses the words with b < 0 and regains those with K·b < π. Nothing is believed of any
of this: what counts is what one product with K says about b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import silent
from dpcore.mechanisms.packing.kernel import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.progress import Progress

_ROUNDS = 40  # of changes of S: five were enough wherever it was tried
_STEPS = 120  # of conjugate gradients in a round
_CLOSE = 1e-6  # norm of a residual, relative to that of π: about what float32 gives
_REFINED = 1e-3  # by how much the correction from a residual in float64 lowers it further


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights b ≥ 0 with K·b ≈ π where b > 0, for several η.

    Attributes:
        etas: η, shape (E,).
        weights: b, shape (E, n), not negative.
        products: K·b in float64, shape (E, n).
        errors: bound on the relative error of `products`, shape (E,).
    """

    etas: FloatArray
    weights: FloatArray
    products: FloatArray
    errors: FloatArray

    def upper(self, prior: FloatArray) -> FloatArray:
        """A rigorous upper bound on the value of the programme at every ε = η, shape (E,).

        b is scaled so that K·b ≥ π holds beyond doubt.
        """
        short = (prior / self.products).max(axis=1) / (1.0 - self.errors)
        # The sum of n terms is off by less than n·u, and a few roundings.
        return np.asarray(self.weights.sum(axis=1) * short * (1.0 + 1e-11))


def solve(
    kernel: Kernel,
    etas: FloatArray,
    prior: FloatArray,
    diameter: float,
    progress: Progress = silent,
    start: FloatArray | None = None,
) -> Solution:
    """Solve the quadratic programme at several η; those that need it longest decide the time.

    Args:
        kernel: K.
        etas: η > 0, shape (E,).
        prior: π, shape (n,), ones for the uniform prior, times n; or one for each η, shape (E, n).
        diameter: largest distance of two words.
        progress: called with (stage, done, all).
        start: b to begin with, shape (E, n).
    """
    weights = np.zeros((etas.size, kernel.n)) if start is None else np.array(start, dtype=float)
    support = weights > 0 if start is not None else np.ones(weights.shape, dtype=bool)
    wanted = np.broadcast_to(prior, weights.shape)
    limits = np.array([_CLOSE * float(np.linalg.norm(row)) for row in wanted])
    open_ = np.arange(etas.size)
    for _ in range(_ROUNDS):
        weights[open_], products = _descend(
            kernel,
            etas[open_],
            wanted[open_],
            weights[open_],
            support[open_],
            limits[open_],
            progress,
        )
        negative = support[open_] & (weights[open_] < 0)
        # A word without weight comes back only if its row is short by more than the residual is.
        short = ~support[open_] & (products < wanted[open_] - 1e-5 * np.abs(wanted[open_]))
        support[open_] = (support[open_] & ~negative) | short
        weights[open_] = np.maximum(weights[open_], 0.0)
        open_ = open_[(negative | short).any(axis=1)]
        if not open_.size:
            break
    residual = np.where(support, wanted - kernel.exact(etas, weights, progress), 0.0)
    limits = _REFINED * np.linalg.norm(residual, axis=1)
    correction, _ = _descend(
        kernel, etas, residual, np.zeros_like(weights), support, limits, progress
    )
    weights = np.maximum(weights + correction, 0.0)
    products = kernel.exact(etas, weights, progress)
    return Solution(etas, weights, products, kernel.error(etas, diameter))


def _descend(
    kernel: Kernel,
    etas: FloatArray,
    wanted: FloatArray,
    start: FloatArray,
    support: NDArray[np.bool_],
    limits: FloatArray,
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """Conjugate gradients on the words of `support`, for every η side by side.

    Args:
        kernel: K.
        etas: shape (E,).
        wanted: the right-hand side, shape (E, n).
        start: shape (E, n).
        support: shape (E, n); elsewhere the solution is 0.
        limits: norm of the residual at which an η is done, shape (E,).
        progress: called with (stage, done, all).

    Returns:
        The solution and K times it, shape (E, n) each.
    """
    solution = np.where(support, start, 0.0)
    products = kernel.near(etas, solution, progress) if start.any() else np.zeros_like(start)
    residual = np.where(support, wanted - products, 0.0)
    direction = residual.copy()
    squares = np.einsum("ij,ij->i", residual, residual)
    for _ in range(_STEPS):
        active = np.flatnonzero(squares > limits**2)
        if not active.size:
            break
        moved = kernel.near(etas[active], direction[active], progress)
        curvature = np.einsum("ij,ij->i", direction[active], np.where(support[active], moved, 0.0))
        # K need not be positive definite under every metric: such an η stays as it is.
        length = np.where(curvature > 0, squares[active] / np.where(curvature > 0, curvature, 1), 0)
        solution[active] += length[:, None] * direction[active]
        products[active] += length[:, None] * moved
        residual[active] -= length[:, None] * np.where(support[active], moved, 0.0)
        new = np.einsum("ij,ij->i", residual[active], residual[active])
        direction[active] *= (new / squares[active])[:, None]
        direction[active] += residual[active]
        squares[active] = np.where(curvature > 0, new, 0.0)
    return solution, products
