"""A linear classifier of averaged word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.classifiers import averaged

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.learn.bags import Bags


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Softmax of a linear function of the mean word vector; read-only.

    Attributes:
        weights: θ, shape (m, d).
        bias: b, shape (m,).
        vectors: public word vectors φ, shape (n, d).
    """

    weights: FloatArray
    bias: FloatArray
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Check the shapes, and make the arrays read-only."""
        m = self.bias.size
        if not (m >= 2 and self.weights.shape == (m, self.vectors.shape[1])):
            raise ParameterError(
                f"{m} classes and vectors of {self.vectors.shape[1]} coordinates do not fit "
                f"weights of shape {self.weights.shape}"
            )
        self.weights.setflags(write=False)
        self.bias.setflags(write=False)

    @property
    def classes(self) -> int:
        """Number of classes m."""
        return self.bias.size

    @property
    def constant(self) -> bool:
        """Whether no text matters: all classes have the same weights, as in the zero classifier."""
        return not bool(np.ptp(self.weights, axis=0).any())

    def scores(self, bags: Bags) -> FloatArray:
        """Score of each class, shape (k, m); the biases for a document without known words."""
        # The mean of no word is taken as 0, so that the biases alone remain.
        return averaged(bags.counts(), self.vectors) @ self.weights.T + self.bias

    def probabilities(self, bags: Bags) -> FloatArray:
        """Softmax of the scores, shape (k, m)."""
        from scipy.special import softmax

        return np.asarray(softmax(self.scores(bags), axis=1))

    def predict(self, bags: Bags) -> IntArray:
        """The most probable class of each document, shape (k,)."""
        return np.asarray(self.scores(bags).argmax(axis=1), dtype=np.int64)

    def accuracy(self, bags: Bags, labels: ArrayLike) -> float:
        """Share of the documents whose most probable class is their label."""
        return float((self.predict(bags) == np.asarray(labels)).mean())
