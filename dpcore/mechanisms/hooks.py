"""What the hooks of a mechanism return: data that other rooms compute with.

Rooms above ask a mechanism for one of these and go by what they get. None of them asks which
mechanism it is, so a new one is known everywhere by what it answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress
from dpcore.noise.radial import Radial


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorNoise:
    """The law of noise that is added to a vector at one ε.

    Attributes:
        origins: what it is added to, one row a word, shape (n, p).
        family: the law of its length and direction at scale 1.
        scale: s, in the unit of the vectors.
        rate: 1/s, as the mechanism computes it.
        cut: A; coordinates of Laplace noise are cut off at ±A. ∞: they are not.
        covariance: λ, the share of the vocabulary's covariance in the shape of the noise; None for
            noise that has no shape of its own.
        norm: C, to which origins are clipped; None if they are not.
        sensitivity: the largest distance of two origins that the scale allows for, in the norm of
            the noise; ∞ if they are not clipped.
        power: of the norm in which origins are clipped, 1 or 2.
    """

    origins: NDArray[np.float32]
    family: Radial
    scale: float
    rate: float
    cut: float = math.inf
    covariance: float | None = None
    norm: float | None = None
    sensitivity: float = math.inf
    power: int = 2

    @property
    def independent(self) -> bool:
        """Whether the coordinates are independent Laplace variables, cut off or not."""
        return self.family is Radial.LAPLACE

    @property
    def dimension(self) -> int:
        """p."""
        return int(self.origins.shape[1])


@dataclass(frozen=True)
class LossBounds:
    """What is known of the privacy losses between any two words, for their composition.

    Attributes:
        promised: the largest loss that the promise allows any two words, finite and > 0.
        span: the largest difference of two losses of one pair of words; ∞ where nothing is known
            beyond `promised`.
        chance: p, where a loss that is ε = `largest` with probability p, −ε with p·e^(−ε) and 0
            otherwise tells no less than those of any two words: its δ is at least theirs
            everywhere. None takes 1/(1 + e^(−ε)) of randomised response, which tells no less than
            any mechanism with this ε (Kairouz, Oh, Viswanath 2015).

    Raises:
        ParameterError: a number is out of range.
    """

    promised: float
    span: float = math.inf
    chance: float | None = None

    def __post_init__(self) -> None:
        chance = 1.0 if self.chance is None else self.chance
        if not (0 < self.promised < math.inf and self.span > 0 and 0 < chance <= 1):
            raise ParameterError(
                "bounds on losses need a finite promised loss > 0, a span > 0 and a chance in "
                f"(0, 1], got {self.promised}, {self.span} and {self.chance}"
            )

    @property
    def largest(self) -> float:
        """The largest loss: those of a pair lie on both sides of 0, so their span is no less."""
        return min(self.promised, self.span)

    @property
    def width(self) -> float:
        """The largest difference of two losses of one pair, known or not."""
        return min(self.span, 2.0 * self.promised)


@dataclass(frozen=True)
class WorstLoss:
    """The pair of words and the output with the largest loss per distance, of all.

    Attributes:
        epsilon: that loss per distance: the smallest ε that is true.
        error: bound on the absolute error of `epsilon`.
        word: w.
        other: w′.
        output: y, which tells w from w′.
        distance: d(w, w′) in the metric of the claim.
        log_word: ln P(y | w).
        log_other: ln P(y | w′).
    """

    epsilon: float
    error: float
    word: int
    other: int
    output: int
    distance: float
    log_word: float
    log_other: float


@dataclass(frozen=True)
class LossSearch:
    """A way to the largest loss of all pairs of words in n² steps in place of n³.

    Attributes:
        method: how the law is computed, in words.
        find: from ε and a progress to that loss.
    """

    method: str
    find: Callable[[float, Progress], WorstLoss]


@dataclass(frozen=True)
class ExponentialForm:
    """P(y | w) = exp(−min(s(ε)·D(w, y), c))/Z_w.

    Attributes:
        metric: of D.
        cap: c.
        strength: s(ε).
    """

    metric: Metric
    cap: float
    strength: Callable[[float], float]


@dataclass(frozen=True)
class NearestForm:
    """P(y | w) = Σ_k P(K = k)·exp(−s(ε)·D(w, y))/Z_k(w) over the K nearest words, y among them.

    K is a truncated Poisson variable (`dpcore.noise.poisson`), D is Euclidean.

    Attributes:
        strength: s(ε).
    """

    strength: Callable[[float], float]


@dataclass(frozen=True)
class NoisyNearestForm:
    """The K nearest words as in `NearestForm`, but the least D + truncated Gumbel noise wins.

    Attributes:
        noise_scale: b(ε).
    """

    noise_scale: Callable[[float], float]


@dataclass(frozen=True)
class ColumnForm:
    """Any law whose columns take no preparation but distances.

    Attributes:
        column: from an output y, its distances from all words (None without a metric) and ε to
            ln P(y | w) of every word w, shape (n,).
        error: bound on the relative error of these, where they are not below 1 in size.
        metric: of the distances; None for a law that goes by none.
    """

    column: Callable[[int, FloatArray | None, float], FloatArray]
    error: float
    metric: Metric | None = None


Form = ExponentialForm | NearestForm | NoisyNearestForm | ColumnForm
"""What a law is made of, for one who computes a column P(y | ·) of it."""
