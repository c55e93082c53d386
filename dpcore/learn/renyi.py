"""Robustness of a randomised classifier as almost-sure Rényi privacy, on finite examples.

Pinot et al. 2019 ("A unified view on differential privacy and robustness to adversarial
examples"): M is D_λ-(α, ε, γ)-robust under a law of inputs x if the probability of those x that
have an x′ within α with D_λ(M(x′), M(x)) > ε is at most γ; for γ = 0 that is called equivalent to
(λ, ε, α)-Rényi metric privacy "almost surely". Privacy proper bounds *every* pair within α, in both
orders. On a finite set of inputs all of this is a maximum over pairs and can be computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError


def renyi_divergence(first: ArrayLike, second: ArrayLike, order: float) -> FloatArray:
    """Compute D_λ(P, Q) = ln(Σ_y Q(y)·(P(y)/Q(y))^λ)/(λ − 1), in nats.

    λ = 1 is the Kullback–Leibler divergence and λ = ∞ the largest ln(P/Q), its limits.

    Args:
        first: P, shape (…, m).
        second: Q, of a shape that broadcasts.
        order: λ > 0.

    Returns:
        Shape (…); ∞ where P has an output that Q lacks and λ ≥ 1.

    Raises:
        ParameterError: the order is not above 0.
    """
    if not order > 0:
        raise ParameterError(f"the order of a Rényi divergence must be > 0, got {order}")
    p, q = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    # In logarithms: a ratio to the power of a large λ overflows every float.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_p, log_q = np.log(p), np.log(q)
        loss = np.where(p > 0, log_p - log_q, -math.inf)
        if order == math.inf:
            return np.asarray(loss.max(axis=-1))
        if order == 1:
            return np.asarray(np.where(p > 0, p * loss, 0.0).sum(axis=-1))
        # P·(P/Q)^(λ−1) where P > 0; for λ < 1 an output that only P has adds nothing.
        terms = np.where(p > 0, log_p + (order - 1.0) * loss, -math.inf)
    return np.asarray(np.logaddexp.reduce(terms, axis=-1) / (order - 1.0))


@dataclass(frozen=True, eq=False)
class FiniteClassifier:
    """A randomised classifier of finitely many inputs; read-only.

    Attributes:
        laws: M(x), shape (inputs, classes); rows sum to 1.
        distances: between inputs, shape (inputs, inputs), symmetric, 0 on the diagonal.
        prior: the law of inputs, shape (inputs,).

    Raises:
        ParameterError: a condition above does not hold.
    """

    laws: FloatArray
    distances: FloatArray
    prior: FloatArray

    def __post_init__(self) -> None:
        """Check, and make the arrays read-only."""
        laws, gaps, prior = (
            np.array(a, dtype=float) for a in (self.laws, self.distances, self.prior)
        )
        n = prior.size
        if not (prior.ndim == 1 and laws.ndim == 2 and len(laws) == n and gaps.shape == (n, n)):
            raise ParameterError(
                "a finite classifier has one law, one row of distances and one prior probability "
                f"an input, got shapes {laws.shape}, {gaps.shape} and {prior.shape}"
            )
        for rows in (laws, prior[None]):
            if not ((rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) < 1e-9).all()):
                raise ParameterError("a law is a row of probabilities that sum to 1")
        if not ((gaps >= 0).all() and (gaps == gaps.T).all() and not gaps.diagonal().any()):
            raise ParameterError("distances must be >= 0, symmetric, and 0 on the diagonal")
        for name, array in (("laws", laws), ("distances", gaps), ("prior", prior)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def divergences(self, order: float) -> FloatArray:
        """Return D_λ(M(x′), M(x)), x′ in rows and x in columns, shape (inputs, inputs)."""
        return renyi_divergence(self.laws[:, None], self.laws[None], order)

    def failing(self, order: float, reach: float, epsilon: float) -> float:
        """Return γ, the probability of inputs x that an attack in reach moves by more than ε."""
        near = self.distances <= reach
        beyond = near & (self.divergences(order) > epsilon)
        return float(self.prior[beyond.any(axis=0)].sum())  # columns are x, rows are x′

    def robust_epsilon(self, order: float, reach: float) -> float:
        """Return the smallest ε with γ = 0: over x of positive probability and every x′ near it."""
        near = (self.distances <= reach) & (self.prior > 0)
        return float(np.max(self.divergences(order), initial=0.0, where=near))

    def private_epsilon(self, order: float, reach: float) -> float:
        """Return the smallest ε of Rényi privacy: over every pair within reach, in both orders."""
        near = self.distances <= reach
        return float(np.max(self.divergences(order), initial=0.0, where=near))


def example(prior: ArrayLike = (0.5, 0.5, 0.0, 0.0)) -> FiniteClassifier:
    """Return four inputs in a row, one step apart, with two classes, robust on the prior only.

    With the default prior only the first two occur. The third counts as x′ of the second, in that
    order alone, and the fourth never: privacy also needs the pair (2, 3) in the other order, and
    (3, 4). With a prior that gives every input positive probability the two agree.
    """
    places = np.arange(4.0)
    first = np.array([0.60, 0.50, 0.95, 0.05])
    return FiniteClassifier(
        np.stack((first, 1.0 - first), axis=1),
        np.abs(places[:, None] - places),
        np.asarray(prior, dtype=np.float64),
    )
