"""Noise scale and choice of the truncated Gumbel mechanism (Xu et al. 2021, Alg. 1, 2).

K candidates, K a truncated Poisson variable with rate ln n, are the words nearest to w (w itself
first); to each distance a Gumbel(0, b) variable conditioned to [−Δ, Δ] is added, and the word with
the smallest sum is the output. With Δ the diameter and Δ₀ the separation of the vocabulary,

    α = (ε − 2(1 + ln n)/Δ₀)/3,   b = 2Δ / min{W₀(2αΔ), ln(αΔ₀)}.

b > 0 needs αΔ₀ > 1, that is ε > (5 + 2 ln n)/Δ₀; the published condition, ε > 2(1 + ln n)/Δ₀, only
makes α > 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import wrightomega

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import EpsilonError
from dpcore.noise.samplers import truncated_from_uniform

_BLOCK_ENTRIES = 30_000  # noise of one block stays in the processor's cache


def lowest_epsilon(n: int, separation: float) -> float:
    """Return (5 + 2 ln n)/Δ₀: the scale exists for larger ε only."""
    return (5.0 + 2.0 * math.log(n)) / separation


def published_condition(n: int, separation: float) -> float:
    """Return 2(1 + ln n)/Δ₀: the bound on ε that the paper states."""
    return 2.0 * (1.0 + math.log(n)) / separation


def low_reason(n: int, separation: float) -> str:
    """Explain why ε must be larger than `lowest_epsilon`, with the paper's own number."""
    return (
        "(5 + 2 ln n)/Δ₀; the paper's own condition, > "
        f"{published_condition(n, separation):.6g}, leaves a gap in which its formula gives a "
        "negative scale"
    )


def scale(epsilon: float, n: int, separation: float, diameter: float) -> float:
    """Return b of Algorithm 2, in the units of the distances.

    Args:
        epsilon: ε > (5 + 2 ln n)/Δ₀.
        n: words of the vocabulary.
        separation: Δ₀, the smallest non-zero distance (or a lower bound).
        diameter: Δ, the largest distance (or an upper bound).

    Raises:
        EpsilonError: ε is not above the bound, or not finite.
    """
    low = lowest_epsilon(n, separation)
    if not low < epsilon < math.inf:
        msg = (
            f"epsilon of truncated-gumbel must be a finite number > {low:.6g} "
            f"({low_reason(n, separation)}), got {epsilon:g}"
        )
        raise EpsilonError(msg)
    # αΔ₀ = (ε·Δ₀ − 2 − 2 ln n)/3 = 1 + (ε − low)·Δ₀/3, for low·Δ₀ = 5 + 2 ln n. As 1 + excess
    # nothing cancels just above the bound, and nothing overflows far above it.
    with np.errstate(over="ignore"):
        excess = float(np.float64(epsilon - low) * separation / 3.0)
    if excess < 1e300:
        log_product = math.log1p(excess)
    else:
        log_product = math.log(epsilon) + math.log(separation) - math.log(3.0)
    # W₀(x) solves w + ln w = ln x, which is Wright's ω at ln x: no huge x is ever formed.
    lambert = float(wrightomega(log_product + math.log(2.0 * diameter / separation)))
    return 2.0 * diameter / min(lambert, log_product)


def smallest_sums(
    near: tuple[IntArray, FloatArray],
    rows: IntArray,
    counts: IntArray,
    uniform: FloatArray,
    scales: Sequence[float],
    bound: float,
) -> IntArray:
    """Return the candidate with the smallest noisy distance of each draw, at each noise scale.

    Args:
        near: nearest words and their distances of each distinct input, shape (m, width) each.
        rows: the distinct input of each draw, shape (k,).
        counts: its number of candidates, 1..width, shape (k,).
        uniform: the uniform number that gives the noise of each candidate, one draw after the
        other,
            shape (Σ counts,).
        scales: E values of b.
        bound: truncation bound.

    Returns:
        Word indices, shape (k, E).
    """
    order, distance = near
    outputs = np.empty((rows.size, len(scales)), dtype=np.int64)
    begin = np.cumsum(counts) - counts
    # A padded place has distance ∞ and never wins, whatever its noise.
    for members, width in _rectangles(counts):
        missing = np.arange(width) >= counts[members, None]
        behind = uniform[np.where(missing, 0, begin[members, None] + np.arange(width))]
        apart = np.where(missing, math.inf, distance[rows[members], :width])
        nearest = np.empty((members.size, len(scales)), dtype=np.int64)
        for column, b in enumerate(scales):
            noisy = truncated_from_uniform(behind, b, bound)
            noisy += apart
            noisy.argmin(axis=1, out=nearest[:, column])
        outputs[members] = order[rows[members, None], nearest]
    return outputs


def _rectangles(counts: IntArray) -> Iterator[tuple[IntArray, int]]:
    """Yield draws that share an array of noise, and its width: one padded array for few draws.

    Many draws are grouped by number of candidates, in blocks: padding would double the work.
    """
    most = int(counts.max(initial=0))
    if counts.size * most <= _BLOCK_ENTRIES:
        yield np.arange(counts.size), most
        return
    by_count = np.argsort(counts, kind="stable")
    ends = np.searchsorted(counts[by_count], np.arange(1, most + 2))
    for k in range(1, most + 1):
        members = by_count[ends[k - 1] : ends[k]]
        step = max(1, _BLOCK_ENTRIES // k)
        for start in range(0, members.size, step):
            yield members[start : start + step], k
