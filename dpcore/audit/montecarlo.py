"""Lower bounds on ε and δ from draws alone (Clopper–Pearson), and the limit of such bounds.

An event S is chosen on one half of the draws and counted on the other, k₁ of N under w and k₂ of N
under w′. With Clopper–Pearson bounds at half the error probability each,

    ε ≥ ln[(lo(k₁) − δ)/hi(k₂)]

but with that error probability. At best, k₁ = N and k₂ = 0: that is the resolution, about
ln(N/ln(2/α)). A larger ε is out of reach, and its absence means nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.limits import MAX_AUDIT_DRAWS

DEFAULT_ERROR = 1e-6
"""Default probability with which a bound may be wrong."""


def clopper_pearson(count: int, draws: int, error: float) -> tuple[float, float]:
    """Bound a probability from `count` of `draws`; each side is wrong with at most `error`.

    Exactly 0 below for a count of 0, exactly 1 above for a count of all.

    Raises:
        ParameterError: unless 0 ≤ count ≤ draws, 1 ≤ draws and 0 < error < 1.
    """
    from scipy.stats import beta

    if not (0 <= count <= draws and draws >= 1):
        raise ParameterError(f"a count lies between 0 and the draws, got {count} of {draws}")
    if not 0 < error < 1:
        raise ParameterError(f"an error probability must be between 0 and 1, got {error}")
    low = 0.0 if count == 0 else float(beta.ppf(error, count, draws - count + 1))
    high = 1.0 if count == draws else float(beta.isf(error, count + 1, draws - count))
    return low, high


def loss_bound(
    count: int, draws: int, other_count: int, other_draws: int, *, delta: float, error: float
) -> float:
    """Compute ln[(lo − δ)/hi], a lower bound on ln[(P(S|w) − δ)/P(S|w′)]; −∞ where lo ≤ δ.

    Args:
        count: of the event among `draws` draws under w; `other_count` of `other_draws` under w′.
        draws: see `count`.
        other_count: see `count`.
        other_draws: see `count`.
        delta: δ, in [0, 1).
        error: probability with which the bound may be wrong: half of it on each of the two
            probabilities (union bound).

    Raises:
        ParameterError: as `clopper_pearson`.
    """
    low = clopper_pearson(count, draws, 0.5 * error)[0] - delta
    high = clopper_pearson(other_count, other_draws, 0.5 * error)[1]
    return math.log(low / high) if low > 0 else -math.inf


def resolution(draws: int, error: float = DEFAULT_ERROR, delta: float = 0.0) -> float:
    """Return the largest ε that `draws` evaluating draws under each word can ever show.

    ln[(lo(N) − δ)/hi(0)]; −∞ where even that is not positive.
    """
    return loss_bound(draws, draws, 0, draws, delta=delta, error=error)


@dataclass(frozen=True)
class LowerBound:
    """Lower bound on ε from draws.

    Attributes:
        epsilon: the bound; −∞ if the draws show nothing.
        delta: the δ that was allowed for.
        error: probability that the bound is wrong.
        event: the outputs of the event, ascending.
        reversed: True if the event is the likelier one under the second word.
        count: draws of the event under the word where it is likelier.
        other_count: under the other word.
        draws: evaluating draws under each word.
        resolution: the largest ε that as many draws can show.
    """

    epsilon: float
    delta: float
    error: float
    event: tuple[int, ...]
    reversed: bool
    count: int
    other_count: int
    draws: int
    resolution: float

    def refutes(self, epsilon: float) -> bool:
        """Return True if a claim of (ε, δ) contradicts the draws, but for the error probability."""
        return self.epsilon > epsilon


def epsilon_lower_bound(
    first: IntArray, second: IntArray, *, delta: float = 0.0, error: float = DEFAULT_ERROR
) -> LowerBound:
    """Bound the loss between two words from below, from independent outputs of each.

    The first half of each sample chooses the event, and the word under which it is likelier:
    outputs in the order of their likelihood ratio are added up to the largest bound of that half.
    The second half alone gives the bound.

    Args:
        first: outputs under w, shape (2N,), indices ≥ 0.
        second: outputs under w′, same shape.
        delta: δ of the claim, in [0, 1).
        error: probability with which the bound may be wrong.

    Raises:
        ParameterError: samples of different or odd size, too large, or δ outside [0, 1).
    """
    a, b = (np.asarray(x, dtype=np.int64) for x in (first, second))
    if not (a.ndim == 1 and a.shape == b.shape and a.size >= 2 and a.size % 2 == 0):
        raise ParameterError(
            f"two samples of the same even size are needed, got {a.shape} and {b.shape}"
        )
    if a.size > 2 * MAX_AUDIT_DRAWS:
        raise ParameterError(f"at most {2 * MAX_AUDIT_DRAWS:,} draws of a word, got {a.size:,}")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be in [0, 1), got {delta}")
    half = a.size // 2
    size = int(max(a.max(), b.max())) + 1
    chosen, rest = (
        [np.bincount(x[part], minlength=size) for x in (a, b)]
        for part in (slice(None, half), slice(half, None))
    )
    # Chosen on one half and counted on the other: on the same draws the best of many events would
    # look better than it is, and no Clopper–Pearson bound would hold.
    forth, gain = _choose(chosen[0], chosen[1], half, delta, error)
    back, other_gain = _choose(chosen[1], chosen[0], half, delta, error)
    turned = other_gain > gain
    event = np.sort(back if turned else forth)
    counts = rest[::-1] if turned else rest
    likely, unlikely = int(counts[0][event].sum()), int(counts[1][event].sum())
    return LowerBound(
        epsilon=loss_bound(likely, half, unlikely, half, delta=delta, error=error),
        delta=delta,
        error=error,
        event=tuple(event.tolist()),
        reversed=turned,
        count=likely,
        other_count=unlikely,
        draws=half,
        resolution=resolution(half, error, delta),
    )


def _choose(
    likely: IntArray, unlikely: IntArray, draws: int, delta: float, error: float
) -> tuple[IntArray, float]:
    """Return the best event of outputs sorted by their ratio, and its bound on these draws."""
    from scipy.stats import beta

    seen = np.flatnonzero(likely)
    # One count more under the other word: an output that it never gave by chance proves nothing.
    order = seen[np.lexsort((seen, -likely[seen] / (unlikely[seen] + 1.0)))]
    k, m = np.cumsum(likely[order]), np.cumsum(unlikely[order])
    low = beta.ppf(0.5 * error, k, draws - k + 1) - delta
    with np.errstate(invalid="ignore"):
        # For all of the draws the upper bound is 1; isf has no value there.
        high = np.where(m < draws, beta.isf(0.5 * error, m + 1, np.maximum(draws - m, 1)), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -math.inf)
    last = int(gain.argmax())
    return order[: last + 1], float(gain[last])
