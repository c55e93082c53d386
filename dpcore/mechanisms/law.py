"""Law of a mechanism's output: for one word, the probability of each output at each ε."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.display import bars, card
from dpcore.errors import ParameterError
from dpcore.guarantee import Rounding
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import ELEMENTARY, Metric, gamma
from dpcore.written import Filled

_BARS = 10  # words of a picture
_PICTURES = 4  # values of ε shown in a notebook


@dataclass(frozen=True)
class Effort:
    """Effort of an estimate: it changes the error, never a guarantee.

    Attributes:
        directions: noise directions of a Rao–Blackwell estimate, or draws of a plain one.
    """

    directions: int = 400

    def __post_init__(self) -> None:
        """Refuse an effort that is too small for an estimate."""
        if not self.directions >= 2:
            msg = f"an estimate needs at least 2 directions, got {self.directions}"
            raise ParameterError(msg)


def around(logs: FloatArray, relative: float) -> tuple[FloatArray, FloatArray]:
    """Return bounds on logarithms that are off by r·max(1, |ln P|)."""
    error = relative * np.maximum(np.where(np.isneginf(logs), 1.0, -logs), 1.0)
    return logs - error, logs + error


@dataclass(frozen=True, eq=False)
class Law:
    """P(output | word) at several ε.

    Attributes:
        lexicon: the vocabulary of the words and indices.
        word: index of the input word.
        epsilons: the privacy parameters, shape (E,).
        outputs: indices of the m words with a stated probability, shape (m,), ascending.
        probabilities: shape (E, m), float64; rows sum to 1 up to `error`.
        exact: True if the probabilities are computed (closed form or quadrature), not estimated.
        error: if exact, a bound on the absolute error of an entry; otherwise the largest
            standard error of an entry.
        method: closed form, quadrature, Rao–Blackwell over N directions, N draws.
        draws: N, the directions or draws behind an estimate; 0 if exact.
    """

    lexicon: Lexicon
    word: int
    epsilons: FloatArray
    outputs: IntArray
    probabilities: FloatArray
    exact: bool
    error: float
    method: str
    draws: int = 0

    def probability(self, output: int | str, place: int = 0) -> float:
        """Return P(output | word); 0 for an output without a stated probability.

        Args:
            output: the output word, or its index.
            place: of the ε among `epsilons`.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
        """
        if isinstance(output, str):
            output = self.lexicon.index(output)
        column = int(np.searchsorted(self.outputs, output))
        stated = column < self.outputs.size and self.outputs[column] == output
        return float(self.probabilities[place, column]) if stated else 0.0

    def entry_error(self, probability: float) -> float:
        """Bound the error, or the standard error, of an entry of this size.

        An estimate is the mean of N values between 0 and 1, whose variance is at most p(1 − p): far
        sharper for a small p than the largest standard error. The bound is never below 1/N: an
        event that N directions never show, or always show, may differ by one in N.
        """
        if self.exact:
            return self.error
        spread = min(self.error, math.sqrt(probability * (1 - probability) / self.draws))
        return max(spread, 1.0 / self.draws)

    def stay(self) -> FloatArray:
        """Return Nw: the probability that the word stays, shape (E,)."""
        return np.array([self.probability(self.word, e) for e in range(self.epsilons.size)])

    def top(self, count: int, place: int = 0) -> list[tuple[str, float]]:
        """Return the most likely words and their probabilities at one ε, likeliest first."""
        row = self.probabilities[place]
        count = min(count, row.size)
        best = np.argpartition(-row, count - 1)[:count] if count < row.size else np.arange(count)
        # Of equally likely words, the first of the vocabulary.
        best = best[np.lexsort((self.outputs[best], -row[best]))]
        names = self.lexicon.words
        return [(names[self.outputs[j]], float(row[j])) for j in best if row[j] > 0]

    def dense(self, vocabulary: int) -> FloatArray:
        """Return the same law over the whole vocabulary, shape (E, n)."""
        full = np.zeros((self.epsilons.size, vocabulary))
        full[:, self.outputs] = self.probabilities
        return full

    def log_bounds(self, vocabulary: int) -> tuple[FloatArray, FloatArray]:
        """Return bounds on ln P of an exact law at the first ε, over all words, shapes (n,)."""
        share = self.dense(vocabulary)[0] + self.error * np.array([[-1.0], [1.0]])
        with np.errstate(divide="ignore"):
            low, high = np.log(np.clip(share, 0.0, 1.0))
        return low, high

    def __repr__(self) -> str:
        """Return one line: the word, the first ε and the likeliest outputs there."""
        likeliest = ", ".join(f"{name} {share:.3g}" for name, share in self.top(3))
        more = f" and {self.epsilons.size - 1} more" if self.epsilons.size > 1 else ""
        return (
            f"Law({self.lexicon.words[self.word]!r} at ε = {self.epsilons[0]:g}{more}: "
            f"{likeliest}; {self.method})"
        )

    def _repr_html_(self) -> str:
        """Return bars of the likeliest words, at each of the first few ε, as HTML."""
        kind = "exact" if self.exact else f"estimated, standard error up to {self.error:.2g}"
        pictures = [
            bars(self.top(_BARS, place), caption=f"ε = {epsilon:g}")
            for place, epsilon in enumerate(self.epsilons[:_PICTURES].tolist())
        ]
        left = self.epsilons.size - len(pictures)
        notes = [f"{self.method} ({kind})"] + ([f"{left:,} more ε are not shown"] if left else [])
        return card(f"What comes out for “{self.lexicon.words[self.word]}”", *notes, body=pictures)


# Bounds on the difference of the sampled law and the stated one, where it has a closed form.
#
# Draws are exactly proportional to weights (`dpcore.noise.discrete`), so all that is off are the
# weights, by the rounding of distances, exponents and exponentials. If each weight is within a
# factor e^±τ of the true one, their sum is too, and a probability is within e^±2τ.
#
# With u = 2^−53, d coordinates and γ_k = ku/(1 − ku) (Higham 2002, Lemma 3.1): a Euclidean distance
# takes d differences, d squares, d − 1 additions and a root, hence a relative error of at most
# γ_{d/2+3}; Manhattan takes γ_d, Chebyshev γ_1. An angle is off by at most γ_{2d+48} radians: the
# lengths that divide the rows by γ_{d/2+4} each, which shows as twice their difference where the
# angle is 0; chord and sum by γ_{d/2+3} each; the rest are single roundings and the arctangent.
# Rows are float32, so that nothing under- or overflows.


_SINGLE = 9  # a few single roundings on the way from a distance to its exponent, and back from ln


def tem_rounding(metric: Metric, dimension: int, exponent: float, cap: float) -> Rounding:
    """Bound the rounding for weights exp(−min(η·D, c)).

    Rounding D and η·D moves the minimum of the two by at most γ·c, since an exponent beyond c does
    not count. c is taken as computed: the theorem holds for every threshold.

    Args:
        metric: of D.
        dimension: d.
        exponent: η.
        cap: c.
    """
    if metric is Metric.ANGULAR:
        moved = min(cap, exponent * gamma(2 * dimension + 48)) + gamma(_SINGLE) * cap
    else:
        terms = {Metric.EUCLIDEAN: 0.5 * dimension, Metric.MANHATTAN: dimension}
        moved = gamma(terms.get(metric, 0) + _SINGLE) * cap
    return weights_rounding(moved + gamma(_SINGLE))


def repaired_rounding(dimension: int, n: int, heads: int, reach: float) -> Rounding:
    """Bound the rounding for weights e^{−s·D}·Σ_{k ≥ i} π_k/Z_k.

    The exponent is off by at most γ·s·Δ. Z_k is a sum of e^{−x_j} with x_0 = 0: changing the x_j by
    a factor 1 ± γ changes ln Z_k by at most γ·Σ p_j x_j, p_j = e^{−x_j}/Z_k, and that mean is at
    most ln k (it is the entropy of p less ln Z_k). Then sums of up to n terms are rounded. The π_k
    and the order of words are taken as computed: the theorem holds for all.

    Args:
        dimension: d.
        n: words.
        heads: number of nearest words with their own law.
        reach: s·Δ, Δ the largest distance.
    """
    relative = gamma(0.5 * dimension + _SINGLE)
    sums = gamma(n + heads + _SINGLE) + ELEMENTARY
    return weights_rounding(relative * (reach + math.log(n) + 1.0) + sums)


def weights_rounding(moved: float = 0.0) -> Rounding:
    """Bound the rounding for weights with exponents off by `moved`, then rounded themselves."""
    # A factor e^±τ for a weight and for the sum: 2τ for a probability, 4τ for the ratio of two.
    tau = moved + ELEMENTARY
    return Rounding(
        relative=2.0 * tau,
        reason=Filled(
            "Words are drawn exactly in proportion to computed weights (in whole numbers, with as "
            "many random bits as it takes), and float64 computes each weight, and so their sum, "
            "to within a factor of 1 ± {error:.2g}: the loss between two words may be larger by "
            "{loss:.2g}, and ε by that over their distance.",
            error=tau,
            loss=4.0 * tau,
        ),
    )
