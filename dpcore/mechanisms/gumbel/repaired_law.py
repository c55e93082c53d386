"""The closed form of the repaired truncated Gumbel mechanism, and its proved bound.

Among K candidates the word with the largest −d_j + b·G_j comes out, G_j standard Gumbel noise, not
cut off: given K that is a softmax, so with s = 1/b and Z_k = Σ_{j ≤ k} e^{−s·d_j}

    P(u_i | w) = e^{−s·d_i}·T_i,    T_i = Σ_{k ≥ i} π_k/Z_k.

Proof of the bound. K = n alone gives P(y | w′) ≥ e^{−s·D(w′, y)}·π_n/Z_n(w′). Since Z_k ≥ 1,
P(y | w) ≤ e^{−s·D(w, y)}·[(1 − π_n) + π_n/Z_n(w)]. With |D(w, y) − D(w′, y)| ≤ d, with
Z_n(w′) ≤ e^{s·d}·Z_n(w) and Z_n ≤ n the loss of any output is at most

    B(d) = s·d + ln(e^{s·d} + A),    A = n·(1 − π_n)/π_n,

and B(d)/d falls with d: for f(d) = ln(e^{s·d} + A), f′(d)·d ≤ s·d ≤ f(d). So ε = B(Δ₀)/Δ₀ holds for
every vocabulary of n words with smallest distance Δ₀.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcore.noise.poisson import candidate_weights, whole_vocabulary_weight

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def proved_epsilon(strengths: FloatArray, n: int, separation: float) -> FloatArray:
    """B(Δ₀)/Δ₀ for each s = 1/b ≥ 0, increasing in s.

    Args:
        strengths: s, any shape.
        n: words of the vocabulary.
        separation: Δ₀, or a lower bound.
    """
    own = np.asarray(strengths, dtype=np.float64) * separation
    return np.asarray((own + np.logaddexp(own, _log_surplus(n))) / separation)


def proved_strength(epsilon: float, n: int, separation: float) -> float:
    """The largest s with B(Δ₀)/Δ₀ ≤ ε, in closed form; 0 if there is none.

    x = e^{s·Δ₀} solves x² + A·x = e^{ε·Δ₀}.
    """
    target, surplus = epsilon * separation, _log_surplus(n)
    # ln x = ln(2e^t/(A + √(A² + 4e^t))), in logarithms throughout.
    root = 0.5 * np.logaddexp(2.0 * surplus, math.log(4.0) + target)
    exponent = math.log(2.0) + target - float(np.logaddexp(surplus, root))
    if not exponent > 0:
        return 0.0
    strength = exponent / separation
    # Rounding must not promise more than the formula.
    while float(proved_epsilon(np.array(strength), n, separation)) > epsilon:
        strength = float(np.nextafter(strength, 0.0))
    return strength


def lowest_proved_epsilon(n: int, separation: float) -> float:
    """ln(1 + A)/Δ₀, the bound at infinite noise: K tells something about w even then."""
    return float(proved_epsilon(np.zeros(()), n, separation))


def _log_surplus(n: int) -> float:
    """ln A."""
    last = whole_vocabulary_weight(n)
    return math.log(n) + math.log1p(-last) - math.log(last)


def law_of(near: FloatArray, distances: FloatArray, strengths: FloatArray) -> FloatArray:
    """Probabilities of the words in the order of `distances`, shape (E, n).

    The first entries are the nearest words, in order; the others may stand in any order.

    Args:
        near: distances of the nearest words, ascending, shape (m,): of the first m entries.
        distances: of all words, shape (n,).
        strengths: s = 1/b, shape (E,).
    """
    laws = np.exp(-np.multiply.outer(strengths, distances))
    tails, whole = _factors(laws, near.size)
    laws[:, : near.size] *= tails
    laws[:, near.size :] *= whole
    return laws


def log_law_of(near: FloatArray, distances: FloatArray, strength: float) -> FloatArray:
    """As `law_of`, the logarithms for one s, shape (n,): also where a probability underflows."""
    exponents = -strength * distances
    # Every Z_k is between 1 and n, so what underflows there is nothing to the sum.
    tails, whole = _factors(np.exp(exponents)[None], near.size)
    exponents[: near.size] += np.log(tails[0])
    exponents[near.size :] += np.log(whole[0])
    return exponents


def _factors(terms: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """T_i of the first words, shape (E, size), and that of all others, shape (E, 1).

    From the terms e^{−s·d_j} of all words, shape (E, n).
    """
    n = terms.shape[1]
    weights = candidate_weights(n)[:size]
    partial = np.cumsum(terms[:, :size], axis=1)
    whole = whole_vocabulary_weight(n) / terms.sum(axis=1)[:, None]
    # Σ_{k ≥ i} from the last count backwards: the small terms first.
    few = (weights / partial)[:, ::-1]
    return np.cumsum(few, axis=1)[:, ::-1] + whole, whole


def heads(n: int) -> int:
    """How many nearest words can be told apart by the counts K < n (the rest is below 1e-18)."""
    return int(candidate_weights(n).size)


def nearest_first(row: FloatArray, heads: int) -> IntArray:
    """All words, the first `heads` of them by distance, ties to the lowest index.

    Args:
        row: distances of all words, shape (n,).
        heads: how many words have a law of their own.
    """
    limit = np.partition(row, heads - 1)[heads - 1]
    inside = np.flatnonzero(row <= limit)
    inside = inside[np.argsort(row[inside], kind="stable")[:heads]]
    rest = np.ones(row.size, dtype=bool)
    rest[inside] = False
    return np.concatenate((inside, np.flatnonzero(rest)))
