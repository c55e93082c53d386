"""The privacy loss of independent coordinates of (truncated) Laplace noise, from both sides.

Noise of density ∝ e^{−α|x|} on [−A, A] (A = ∞: plain Laplace) at 0 and at v. Where both are
possible the loss α(|x − v| − |x|) is αv left of 0, −αv right of v and α(v − 2x) between; where the
second is impossible it is ∞, with probability m(v). The losses of coordinates add up; the law of
the sum is a convolution, by FFT on a grid of step h.

Upper bound: the mass of each cell of the grid goes to the two ends of the cell so that its mass
under both laws stays the same ("connect the dots", Doroshenko et al. 2022). That replaces the
curve of δ by chords above it, and composition keeps the order.

Lower bound: the splitting adds to the loss S an independent sum Ξ of steps ξ of at most h with
E e^{−ξ} = 1, so 0 ≤ E ξ ≤ ½E ξ²·e^h. Hence δ(ε) ≥ δ_split(ε + t) − P(Ξ > t), and Bernstein's
inequality bounds P(Ξ > t) by the variance of Ξ, which is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.noise.truncated_laplace import shifted_out

SLACK = 1e-13
"""P(Ξ > t) that the lower bound gives away."""
_GRID = 2**19  # cells, at least


@dataclass(frozen=True, eq=False)
class SplitLaw:
    """The law of the split loss of the first of two vectors, and how far it may be off.

    Attributes:
        losses: ascending grid of finite losses, shape (N,).
        masses: their probabilities, shape (N,).
        infinite: probability that the loss is ∞, exactly.
        move: t, by which the loss may have been moved up.
        error: bound on the error of a sum of masses: rounding of the FFT, and `SLACK`.
    """

    losses: FloatArray
    masses: FloatArray
    infinite: float
    move: float
    error: float

    def delta(self, epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound on δ(ε), each of the shape of the argument."""
        values = np.asarray(epsilons, dtype=np.float64)
        low = self._split(values + self.move) - self.error
        high = self._split(values) + self.error
        return np.maximum(low, self.infinite + 0.0), np.minimum(high, 1.0)

    def _split(self, epsilons: FloatArray) -> FloatArray:
        """m + Σ_{ℓ > ε} p(ℓ)(1 − e^{ε − ℓ})."""
        # Σ p e^{−ℓ} as e^{−ℓ₀} Σ p e^{ℓ₀ − ℓ}, ℓ₀ the first loss above ε: nothing overflows.
        first = np.searchsorted(self.losses, epsilons, side="right")
        step = self.losses[1] - self.losses[0] if self.losses.size > 1 else 1.0
        tails = np.append(np.cumsum(self.masses[::-1])[::-1], 0.0)
        decay = math.exp(-step)
        scaled = _discounted(self.masses, decay)
        start = self.losses[np.minimum(first, self.losses.size - 1)]
        with np.errstate(over="ignore"):
            taken = np.where(
                first < self.losses.size,
                np.exp(np.minimum(epsilons - start, 0.0)) * scaled[first],
                0.0,
            )
        return np.asarray(self.infinite + np.maximum(tails[first] - taken, 0.0))


def _discounted(masses: FloatArray, decay: float) -> FloatArray:
    """Σ_{j ≥ i} masses_j·decay^{j − i} for each i, and 0 past the end, shape (N + 1,)."""
    from scipy.signal import lfilter

    sums = lfilter([1.0], [1.0, -decay], masses[::-1])[::-1]
    return np.append(sums, 0.0)


def product_loss(alpha: float, cut: float, shift: FloatArray) -> SplitLaw:
    """The loss between noise at 0 and at a vector v, all coordinates independent.

    Args:
        alpha: α > 0, in 1/(unit of v).
        cut: A > 0, ∞ for plain Laplace noise.
        shift: v, shape (d,); the signs do not matter.
    """
    scaled = alpha * np.abs(np.asarray(shift, dtype=np.float64))
    scaled, counts = np.unique(scaled[scaled > 0], return_counts=True)
    edge = alpha * cut
    outside = np.minimum(_outside(scaled, edge), 1.0)
    tops = np.maximum(np.minimum(scaled, 2.0 * edge - scaled), 0.0)
    with np.errstate(divide="ignore"):
        infinite = float(-np.expm1((counts * np.log1p(-outside)).sum()))
    reach = float((counts * tops).sum())
    if infinite >= 1.0:  # the two supports have no point in common
        return SplitLaw(np.zeros(1), np.zeros(1), 1.0, 0.0, 0.0)
    size = max(_GRID, 2 ** math.ceil(math.log2(16 * counts.sum())))
    step = _step(tops, counts, reach, size)
    parts, variance = [], 0.0
    for v, top, m, count in zip(scaled, tops, outside, counts, strict=True):
        masses, spread = _coordinate(float(v), edge, float(top), step)
        parts.append(masses * ((1.0 - m) / masses.sum()))
        variance += float(count) * spread
    masses = _convolved(parts, counts, size)
    places = masses.size // 2
    losses = step * np.arange(-places, places + 1, dtype=np.float64)
    log = math.log(1.0 / SLACK)
    # Bernstein: P(Ξ − E Ξ > t) ≤ exp(−t²/(2V + 2ht/3)), solved for t at SLACK; and then E Ξ.
    move = log * step / 3.0 + math.sqrt((log * step / 3.0) ** 2 + 2.0 * log * variance)
    move += 0.5 * variance * math.exp(step)
    # |error of a transform entry| ≤ about 3 log₂N·2⁻⁵³ for each factor; Cauchy–Schwarz over N.
    rounding = 3.0 * math.log2(size) * 2.0**-53 * (2.0 + float(counts.sum())) * math.sqrt(size)
    return SplitLaw(losses, masses, infinite, move, rounding + SLACK)


def _convolved(parts: list[FloatArray], counts: NDArray[np.int64], size: int) -> FloatArray:
    """The convolution of all parts, the i-th taken counts_i times; no entry below 0."""
    from scipy.signal import fftconvolve

    heap = []
    for part, count in zip(parts, counts.tolist(), strict=True):
        length = (part.size - 1) * count + 1
        grid = size if len(parts) == 1 else 2 ** math.ceil(math.log2(length))
        power = part if count == 1 else np.fft.irfft(np.fft.rfft(part, grid) ** count, grid)
        heap.append(power[:length])
    while len(heap) > 1:  # short ones first: the work is that of a few long transforms
        heap.sort(key=len)
        paired = [fftconvolve(a, b) for a, b in zip(heap[::2], heap[1::2], strict=False)]
        heap = paired + heap[2 * len(paired) :]
    return np.asarray(np.maximum(heap[0], 0.0), dtype=np.float64)


def _outside(scaled: FloatArray, edge: float) -> FloatArray:
    """m(v), 0 for plain Laplace noise."""
    if math.isinf(edge):
        return np.zeros_like(scaled)
    return shifted_out(scaled, 1.0, edge)


def _step(tops: FloatArray, counts: NDArray[np.int64], reach: float, size: int) -> float:
    """h such that all sums fit the grid; a divisor of the only shift if there is only one."""
    # Splitting widens each coordinate by up to two cells on either side.
    spare = size // 2 - 1 - 2 * int(counts.sum())
    if tops.size == 1:
        return float(tops[0]) / (spare // int(counts[0]))
    return reach / spare


def _coordinate(v: float, edge: float, top: float, step: float) -> tuple[FloatArray, float]:
    """Split masses at step·(−m..m) of one coordinate (in units of 1/α), and E ξ²."""
    half = math.ceil(top / step - 1e-9) + 1
    masses = np.zeros(2 * half + 1)
    if top == 0.0:
        return masses, 0.0
    scale = 0.5 / -math.expm1(-edge)
    left = step * np.arange(-half, half)
    low, high = np.clip(left, -top, top), np.clip(left + step, -top, top)
    # The points with a loss between `low` and `high` are those between these two.
    a, b = 0.5 * (v - high), 0.5 * (v - low)
    width = -np.expm1(a - b)
    first = scale * np.exp(-a) * width
    second = scale * np.exp(b - v + left) * width  # times e^left
    upper = np.clip((first - second) / -math.expm1(-step), 0.0, first)
    masses[1:] += upper
    masses[:-1] += first - upper
    variance = 0.25 * step**2 * float(first.sum())
    atom = scale * -math.expm1(v - edge) if v < edge else 0.0
    for loss, mass in ((top, atom), (-top, atom * math.exp(-v))):
        cell = math.floor(loss / step)
        part = mass * -math.expm1(cell * step - loss) / -math.expm1(-step)
        masses[cell + half + 1] += part
        masses[cell + half] += mass - part
        variance += (
            part * ((cell + 1) * step - loss) ** 2 + (mass - part) * (loss - cell * step) ** 2
        )
    return masses, variance
