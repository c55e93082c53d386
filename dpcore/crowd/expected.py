"""Noise of counts to expect, before there is a private text.

A 0–1 query g (a word, a list) whose words are the share f of all is estimated from N words of text
by Σ h(y_i), h of `dpcore.crowd.undo`. Given the text, and for words as common as in the language,
the variance for each word of text is

    V(f) = E h(y)² − f = (1 − f)·E[h² | other words] + f·E[h² | words of the query] − f.

The two means are exact for the law and h: expected outputs times h². At another share f than that
of the language the words of the query keep their proportions, and so do all others. A normal
interval of level 95 % (`dpcore.crowd.estimates`) has the half width z·√(N·V) + N·b, with z = 1.96
and b the expected bound of the bias, so that relative to N·f the error is

    r = (z·√(V/N) + b)/f,    and N = V·(z/(r·f − b))².

For k-ary response, which keeps a word with probability p and says any other with probability q,

    V(f) = q·(1 − q)/(p − q)² + f·((1 − 2·q)/(p − q) − 1),

almost q/(p − q)² for rare words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import BoolArray, FloatArray
from dpcore.attack.output.operators import Operator, operator_of
from dpcore.crowd.queries import Queries
from dpcore.crowd.undo import EXACT, undo
from dpcore.learn.intervals import normal_quantile
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise of estimates for each word of text, by query.

    Attributes:
        rest: E h² given a word outside of the query, shape (m,).
        own: E h² given a word of the query, shape (m,).
        bias: expected bound on the bias, shape (m,).
        worst: largest |P h − g|, shape (m,).
    """

    rest: FloatArray
    own: FloatArray
    bias: FloatArray
    worst: FloatArray

    @property
    def unbiased(self) -> BoolArray:
        """True for queries without a bias to speak of, shape (m,)."""
        return np.asarray(self.worst <= EXACT)

    def variance(self, share: FloatArray) -> FloatArray:
        """Return V at shares f, shape (m,)."""
        # The mean of h, given a word of the query, is at least 1 − worst.
        mean = np.maximum(1.0 - self.worst, 0.0) ** 2
        return np.asarray(np.maximum((1.0 - share) * self.rest + share * (self.own - mean), 0.0))

    def error(self, share: FloatArray, words: float | FloatArray, level: float) -> FloatArray:
        """Return the relative half width r with N words of text, one N or m; shape (m,)."""
        half = normal_quantile(level) * np.sqrt(self.variance(share) / words)
        return np.asarray((half + self.bias) / share)

    def words(self, share: FloatArray, error: float, level: float) -> FloatArray:
        """Return the number N of words of text for a relative half width, shape (m,)."""
        gap = error * share - self.bias
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = self.variance(share) * (normal_quantile(level) / gap) ** 2
        return np.where(gap > 0, needed, math.inf)

    def least_share(self, words: float, error: float, level: float) -> FloatArray:
        """Return the share from which on r is met with N words of text, shape (m,); NaN if none."""
        k = words / normal_quantile(level) ** 2
        mean = np.maximum(1.0 - self.worst, 0.0) ** 2
        # (r·f − b)²·k = V(f), of which the larger root is the one with r·f > b.
        square = k * error**2
        linear = 2.0 * k * error * self.bias + self.own - self.rest - mean
        constant = k * self.bias**2 - self.rest
        inner = np.maximum(linear**2 - 4.0 * square * constant, 0.0)
        share = (linear + np.sqrt(inner)) / (2.0 * square)
        return np.where(share <= 1.0, np.maximum(share, 0.0), math.nan)


def noise_of(
    mechanism: Mechanism,
    epsilon: float,
    queries: Queries,
    frequency: FloatArray,
    total: float | FloatArray,
    progress: Progress = silent,
) -> Noise:
    """Compute the noise of estimates of 0–1 queries.

    Args:
        mechanism: with an exact law.
        epsilon: its ε.
        queries: 0–1 queries.
        frequency: shares of the words of the texts, shape (n,).
        total: number of words of text, one for all queries or one for each, which matters where P
            has no inverse.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the noise cannot be undone.
        EpsilonError: ε is not admissible.
    """
    estimators = undo(mechanism, epsilon, queries, total, progress=progress)
    own, every = _outputs(operator_of(mechanism, epsilon, progress), queries, frequency, progress)
    squares = estimators.values.astype(np.float64) ** 2
    over = np.minimum(estimators.worst, every @ estimators.over.astype(np.float64))
    return _noise(own, every, squares, queries, frequency, over, estimators.worst)


def _noise(
    own: FloatArray,
    every: FloatArray,
    squares: FloatArray,
    queries: Queries,
    frequency: FloatArray,
    bias: FloatArray,
    worst: FloatArray,
) -> Noise:
    shares = language_shares(queries, frequency)
    inside, all_of_them = np.einsum("ij,ij->j", own, squares), every @ squares
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (all_of_them - shares * inside) / (1.0 - shares)
    # A query of every word that occurs has no others.
    rest = np.where(shares < 1.0, np.maximum(rest, 0.0), inside)
    return Noise(rest, inside, bias, worst)


def _outputs(
    operator: Operator, queries: Queries, frequency: FloatArray, progress: Progress
) -> tuple[FloatArray, FloatArray]:
    """Return expected outputs of the words of each query, (n, m), and of all words, (n,)."""
    columns = np.zeros((operator.n, len(queries) + 1))
    for column, places in enumerate(queries.places):
        weights = frequency[places]
        if not weights.sum() > 0:
            weights = np.ones(places.size)
        columns[places, column] = weights / weights.sum()
    columns[:, -1] = frequency
    outputs = operator.transposed(columns, progress)
    return outputs[:, :-1], outputs[:, -1]


def language_shares(queries: Queries, frequency: FloatArray) -> FloatArray:
    """Return the share of the words of each query in the language, shape (m,)."""
    sums = [float(frequency[places].sum()) for places in queries.places]
    # A sum of shares may be above 1 by rounding.
    return np.asarray(np.minimum(sums, 1.0))


def rough_noise_of(
    mechanism: Mechanism,
    epsilon: float,
    queries: Queries,
    frequency: FloatArray,
    progress: Progress,
) -> Noise:
    """Return the noise of h ≈ g(y)/P(y | y), which takes no solution: good for rare words."""
    operator = operator_of(mechanism, epsilon, progress)
    own, every = _outputs(operator, queries, frequency, progress)
    stays = operator.stays()[:, None]
    targets = queries.matrix()
    h = np.divide(targets, stays, out=np.zeros_like(targets), where=stays > 0)
    nothing = np.zeros(len(queries))
    noise = _noise(own, every, h**2, queries, frequency, nothing, nothing)
    # A word that never comes out as itself is not counted in this way.
    lost = ((targets > 0) & (stays <= 0)).any(axis=0)
    return replace(noise, rest=np.where(lost, math.inf, noise.rest))
