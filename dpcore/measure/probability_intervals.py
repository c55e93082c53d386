"""Estimate of a probability from weighted observations, with an interval valid for rare events.

The mean of observations x_i in [0, 1] with weights w_i is p = Σ w_i·x_i/Σ w_i. Where few of them
see the event its standard error is worthless: if none of them sees it, p and the error are both
next to 0, whatever the true value. The interval, of level 95 %:

* Let V be the variance of p (that of a ratio, to first order) and n = p(1 − p)/V: the number of
  equivalent plain observations. The ends are those of Clopper and Pearson 1934 for n·p of n, as in
  Korn and Graubard 1998 for weighted surveys: quantiles of Beta laws.
* An unseen event counts as one observation more (as in the gamma interval of Fay and Feuer 1997):
  before the end towards 1/2 is computed, the sums grow by one hit of weight k, and with equal
  weights the end is that of Clopper and Pearson. k is the largest contribution w_i·x_i/Σ w_i seen,
  if the event has been seen often enough to know it: if (Σ w_i·x_i)²/Σ (w_i·x_i)² is at least
  `ENOUGH`. Else it is the largest possible one.

For p > 1/2 the same is done for the complement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray

LEVEL = 0.95
ENOUGH = 10.0
"""Number of equal observations equivalent to those that saw the event."""
_MANY = 1e8


@dataclass(frozen=True, eq=False)
class Tally:
    """Statistics of weighted observations of an event and its complement; shape (..., E) each.

    Attributes:
        value: the estimated probability p.
        variance: V, of the estimate.
        squares: Σ (w_i·x_i/Σ w_i)², of the event and of its complement, shape (2, ..., E).
        peaks: largest contributions w_i·x_i/Σ w_i seen, shape (2, ..., E).
        possible: the largest possible contribution of one more observation.
    """

    value: FloatArray
    variance: FloatArray
    squares: FloatArray
    peaks: FloatArray
    possible: FloatArray

    @classmethod
    def of(cls, hits: FloatArray, weights: FloatArray) -> Tally:
        """Return the statistics of blocks of observations.

        Args:
            hits: w·x summed over each block of observations, shape (B, E). Blocks are independent.
            weights: w summed over each block, shape (B,); no w exceeds 1.
        """
        total = weights.sum()
        parts = hits / total
        share = (weights / total)[:, None]
        # The last bit of a sum may be above 1.
        value = np.minimum(parts.sum(axis=0), 1.0)
        both = np.stack((parts, np.maximum(share - parts, 0.0)))
        return cls(
            value=value,
            # To first order a ratio Σa/Σb varies like Σ(a − p·b)/Σb.
            variance=_spread(parts - value * share),
            squares=np.square(both).sum(axis=1),
            peaks=both.max(axis=1),
            possible=np.full(value.shape, 1.0 / total),
        )

    @classmethod
    def counted(cls, stayed: FloatArray, runs: int) -> Tally:
        """Return the statistics of independent runs of equal weight."""
        value = np.asarray(stayed) / runs
        both = np.stack((value, 1.0 - value))
        return cls(
            value=value,
            variance=value * (1.0 - value) / runs,
            squares=both / runs,
            peaks=np.where(both > 0, 1.0 / runs, 0.0),
            possible=np.full(value.shape, 1.0 / runs),
        )

    @classmethod
    def pooled(cls, tallies: Sequence[Tally]) -> Tally:
        """Return the mean of independent estimates of the same probabilities."""
        count = len(tallies)
        return cls(
            value=np.mean([t.value for t in tallies], axis=0),
            variance=np.sum([t.variance for t in tallies], axis=0) / count**2,
            squares=np.sum([t.squares for t in tallies], axis=0) / count**2,
            peaks=np.max([t.peaks for t in tallies], axis=0) / count,
            possible=np.max([t.possible for t in tallies], axis=0) / count,
        )

    @classmethod
    def stacked(cls, tallies: Sequence[Tally]) -> Tally:
        """Return the tallies of k events as one of shape (k, E)."""
        return cls(
            value=np.stack([t.value for t in tallies]),
            variance=np.stack([t.variance for t in tallies]),
            squares=np.stack([t.squares for t in tallies], axis=1),
            peaks=np.stack([t.peaks for t in tallies], axis=1),
            possible=np.stack([t.possible for t in tallies]),
        )

    @property
    def error(self) -> FloatArray:
        """Standard errors, meaningless where the event, or its complement, was not seen."""
        return np.sqrt(self.variance)

    @property
    def known(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """True where event and complement have been seen often enough, shape (2, ..., E)."""
        both = np.stack((self.value, 1.0 - self.value))
        return np.asarray((both > 0) & (np.square(both) >= ENOUGH * self.squares))

    def mean(self, weights: FloatArray) -> Tally:
        """Return the weighted mean of k independent probabilities, (k, E) each, as one (E,)."""
        share = (weights / weights.sum())[:, None]
        more = share * np.where(self.known, self.peaks, self.possible)
        return Tally(
            value=(share * self.value).sum(axis=0),
            variance=(np.square(share) * self.variance).sum(axis=0),
            squares=(np.square(share) * self.squares).sum(axis=1),
            peaks=more.max(axis=1),
            possible=(share * self.possible).max(axis=0),
        )

    def interval(self, unseen: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of level 95 %, shape (..., E).

        Args:
            unseen: the addition of one more observation beside the largest contribution seen.
        """
        more = np.where(self.known, self.peaks + unseen, self.possible)
        low, high = _ends(self.value, self.variance, more[0])
        above, below = _ends(1.0 - self.value, self.variance, more[1])
        rare = self.value <= 0.5
        return np.where(rare, low, 1.0 - below), np.where(rare, high, 1.0 - above)


class MeanTally:
    """Weighted mean over words of probabilities along the same rays, block by block.

    Args:
        blocks: independent blocks of rays, common to the words.
        width: number of ε.
    """

    def __init__(self, blocks: int, width: int) -> None:
        """Start without words."""
        self._both = np.zeros((2, blocks, width))
        self._off = np.zeros((blocks, width))
        self._value, self._possible = np.zeros(width), np.zeros(width)
        self._unseen = np.zeros((2, width))

    def add(self, share: float, hits: FloatArray, weights: FloatArray, tally: Tally) -> None:
        """Add one word with its share of the mean, and its arguments and result of `Tally.of`."""
        total = weights.sum()
        each = (share / total) * weights[:, None]
        parts = (share / total) * hits
        self._both += np.stack((parts, np.maximum(each - parts, 0.0)))
        self._off += parts - tally.value * each
        self._value += share * tally.value
        self._possible += share * tally.possible
        self._unseen += np.where(tally.known, 0.0, share * tally.possible)

    def tally(self) -> tuple[Tally, FloatArray]:
        """Return the tally of the mean, and the addition of a ray with unseen words, (2, E)."""
        mean = Tally(
            value=self._value,
            variance=_spread(self._off),
            squares=np.square(self._both).sum(axis=1),
            peaks=self._both.max(axis=1),
            possible=self._possible,
        )
        return mean, self._unseen


def _spread(off: FloatArray) -> FloatArray:
    """Return the variance of a sum of independent blocks from deviations, (B, E) to (E,)."""
    count = len(off)
    return np.asarray(np.square(off).sum(axis=0) * (count / max(count - 1, 1)))


def _ends(p: FloatArray, variance: FloatArray, more: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval of probabilities of at most 1/2, elementwise."""
    tail = (1.0 - LEVEL) / 2.0
    # Clopper and Pearson: the lower end is a quantile of Beta(hits, misses + 1), the upper one of
    # Beta(hits + 1, misses); the additional hit is the observation by which the sums grow.
    low = _quantile(tail, p, variance, 1.0)
    grown = 1.0 + more
    wider = (variance + np.square(more * (1.0 - p)) / grown) / np.square(grown)
    high = _quantile(1.0 - tail, (p + more) / grown, wider, 0.0)
    return np.minimum(low, p), np.maximum(high, p)


def _quantile(level: float, p: FloatArray, variance: FloatArray, misses: float) -> FloatArray:
    """Return a quantile of Beta(n·p, n·(1 − p) + misses), n = p(1 − p)/variance.

    p if n is infinite.
    """
    from scipy.special import betaincinv, gammaincinv

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        n = p * (1.0 - p) / variance
        a, b = n * p, n * (1.0 - p) + misses
        # With so many observations the event is a Poisson one, and the law a Gamma law.
        quantiles = np.where(n > _MANY, gammaincinv(a, level) * (p / a), betaincinv(a, b, level))
    return np.where(np.isfinite(quantiles), quantiles, p)
