"""Privacy profiles (hockey-stick divergence): the least true δ at each ε, for noise on vectors.

The profile of two vectors under noise determines the false alarms and misses of every test, and so
what any observer can achieve. Each value comes between two others: bounds that include the
numerical error, but for round noise (`spherical_delta`), where that is estimated by a coarser
quadrature, as `Profile.method` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, largest
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import ELEMENTARY
from dpcore.mechanisms.clipped.clipped import gaussian_log_delta_bounds
from dpcore.noise.samplers import shifted_out

# The privacy profile of noise ∝ exp(−η‖z‖₂) for two vectors at distance s, in any dimension.
#
# The loss is L = η(‖z − v‖ − ‖z‖), and by symmetry P′(L > ε) = P(L < −ε), so that
# δ(ε) = P(L > ε) − e^ε·P(L < −ε). With z = r·u, r ~ Gamma(d, 1/η), t = ⟨u, v⟩/s and c = ε/η < s,
#
#     L > ε   ⇔  t < ((s² − c²)/(2r) − c)/s,
#     L < −ε  ⇔  t > ((s² − c²)/(2r) + c)/s:
#
# the angle is integrated exactly, (1 + t)/2 having a Beta((d − 1)/2, (d − 1)/2) law, and one
# integral over the radius is left. The first right-hand side passes 1 at r = (s − c)/2, the second
# at r = (s + c)/2; there the integrand may have a root singularity, which r = corner + q² removes.


_PANELS = 48
_WIDTH = 12.0  # standard deviations of the radius, and
_TAIL = 45.0  # as many times its scale: beyond them is less than 1e-18


def spherical_delta(
    epsilons: FloatArray, eta: float, distance: float, dimension: int
) -> tuple[FloatArray, FloatArray]:
    """Bound δ(ε) from below and above, each of the shape of `epsilons`.

    The bounds are the quadrature with 24 points a panel, less and plus ten times its difference
    from 12 points a panel and a rounding allowance: an estimate of the error, not a proof.

    Args:
        epsilons: ε ≥ 0, shape (E,).
        eta: η > 0, in 1/distance.
        distance: s ≥ 0.
        dimension: d.
    """
    fine, coarse = (
        np.array([_delta(float(e), eta * distance, dimension, order) for e in epsilons])
        for order in (24, 12)
    )
    error = np.where(epsilons < eta * distance, 10.0 * np.abs(fine - coarse) + 1e-14, 0.0)
    return np.maximum(fine - error, 0.0), np.minimum(fine + error, 1.0)


def _delta(epsilon: float, s: float, dimension: int, order: int) -> float:
    """Compute δ in units in which η = 1."""
    from scipy.special import betainc, gammainc

    if epsilon >= s:
        return 0.0
    if dimension == 1:
        return -math.expm1(0.5 * (epsilon - s))
    shape = 0.5 * (dimension - 1)
    corner = 0.5 * (s - epsilon)
    r, weights = _radii(corner, dimension, order)
    # (1 + t)/2 below 1 − x, x = (s + ε)(1 − corner/r)/(2s); the Beta law is symmetric.
    x = np.clip((s + epsilon) * (r - corner) / r / (2.0 * s), 0.0, 1.0)
    first = float(gammainc(dimension, corner) + weights @ betainc(shape, shape, 1.0 - x))
    corner = 0.5 * (s + epsilon)
    r, weights = _radii(corner, dimension, order)
    x = np.clip((s - epsilon) * (r - corner) / r / (2.0 * s), 0.0, 1.0)
    second = float(weights @ betainc(shape, shape, x))
    return min(max(first - math.exp(epsilon) * second, 0.0), 1.0) if second > 0 else first


def _radii(corner: float, dimension: int, order: int) -> tuple[FloatArray, FloatArray]:
    """Return radii beyond the corner, and weights that include the Gamma(d, 1) density."""
    from scipy.special import gammaln

    high = max(dimension + _WIDTH * math.sqrt(dimension) + _TAIL, corner + _TAIL)
    low = max(corner, dimension - _WIDTH * math.sqrt(dimension))
    edges = np.linspace(math.sqrt(low - corner), math.sqrt(high - corner), _PANELS + 1)
    x, w = np.polynomial.legendre.leggauss(order)
    half = 0.5 * np.diff(edges)
    q = (half[:, None] * x + (edges[:-1] + half)[:, None]).ravel()
    r = corner + q * q
    density = np.exp((dimension - 1) * np.log(r) - r - gammaln(dimension))
    return r, (half[:, None] * w).ravel() * 2.0 * q * density


# The privacy loss of independent coordinates of (truncated) Laplace noise, from both sides.
#
# Noise of density ∝ e^{−α|x|} on [−A, A] (A = ∞: plain Laplace) at 0 and at v. Where both are
# possible the loss α(|x − v| − |x|) is αv left of 0, −αv right of v and α(v − 2x) between; where
# the second is impossible it is ∞, with probability m(v). The losses of coordinates add up; the law
# of the sum is a convolution, by FFT on a grid of step h.
#
# Upper bound: the mass of each cell of the grid goes to the two ends of the cell so that its mass
# under both laws stays the same ("connect the dots", Doroshenko et al. 2022). That replaces the
# curve of δ by chords above it, and composition keeps the order.
#
# Lower bound: the splitting adds to the loss S an independent sum Ξ of steps ξ of at most h with
# E e^{−ξ} = 1, so 0 ≤ E ξ ≤ ½E ξ²·e^h. Hence δ(ε) ≥ δ_split(ε + t) − P(Ξ > t), and Bernstein's
# inequality bounds P(Ξ > t) by the variance of Ξ, which is known.


SLACK = 1e-13
"""P(Ξ > t) that the lower bound subtracts."""
_GRID = 2**19  # cells, at least


@dataclass(frozen=True, eq=False)
class SplitLaw:
    """Law of the split loss of the first of two vectors, and bounds on its error.

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
        """Bound δ(ε) from below and above, each of the shape of the argument."""
        values = np.asarray(epsilons, dtype=np.float64)
        low = self._split(values + self.move) - self.error
        high = self._split(values) + self.error
        return np.maximum(low, self.infinite + 0.0), np.minimum(high, 1.0)

    def _split(self, epsilons: FloatArray) -> FloatArray:
        """Compute m + Σ_{ℓ > ε} p(ℓ)(1 − e^{ε − ℓ})."""
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
    """Compute Σ_{j ≥ i} masses_j·decay^{j − i} for each i, and 0 past the end, shape (N + 1,)."""
    from scipy.signal import lfilter

    sums = lfilter([1.0], [1.0, -decay], masses[::-1])[::-1]
    return np.append(sums, 0.0)


def product_loss(alpha: float, cut: float, shift: FloatArray) -> SplitLaw:
    """Compute the loss between noise at 0 and at a vector v, all coordinates independent.

    Args:
        alpha: α > 0, in 1/(unit of v).
        cut: A > 0, ∞ for plain Laplace noise.
        shift: v, shape (d,); the signs do not matter.
    """
    scaled = alpha * np.abs(np.asarray(shift, dtype=np.float64))
    scaled, counts = np.unique(scaled[scaled > 0], return_counts=True)
    edge = alpha * cut
    # m(v) of each coordinate; plain Laplace noise reaches every point.
    plain = math.isinf(edge)
    outside = np.zeros_like(scaled) if plain else np.minimum(shifted_out(scaled, 1.0, edge), 1.0)
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
    """Convolve all parts, the i-th taken counts_i times; no entry below 0."""
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


def _step(tops: FloatArray, counts: NDArray[np.int64], reach: float, size: int) -> float:
    """Return h such that all sums fit the grid; it divides the only shift if there is only one."""
    # Splitting widens each coordinate by up to two cells on either side.
    spare = size // 2 - 1 - 2 * int(counts.sum())
    if tops.size == 1:
        return float(tops[0]) / (spare // int(counts[0]))
    return reach / spare


def _coordinate(v: float, edge: float, top: float, step: float) -> tuple[FloatArray, float]:
    """Return split masses at step·(−m..m) of one coordinate (in units of 1/α), and E ξ²."""
    half = math.ceil(top / step - 1e-9) + 1
    masses = np.zeros(2 * half + 1)
    if top == 0.0:
        return masses, 0.0
    scale = 0.5 / -math.expm1(-edge)
    left = step * np.arange(-half, half)
    low, high = np.clip(left, -top, top), np.clip(left + step, -top, top)
    # The points with a loss between `low` and `high` lie between these two.
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


_SHARES = 9


@dataclass(frozen=True, eq=False)
class Curve:
    """Lower and upper bound of a function, on a grid.

    Attributes:
        x: arguments, shape (E,): ε of a profile, the share of false alarms of a trade-off.
        low: lower bound, shape (E,).
        high: upper bound, shape (E,).
    """

    x: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def value(self) -> FloatArray:
        """Middle of the bounds."""
        return 0.5 * (self.low + self.high)

    @property
    def error(self) -> float:
        """Half the largest distance of the bounds."""
        return float(0.5 * (self.high - self.low).max())


@dataclass(frozen=True, eq=False)
class Profile:
    """δ as a function of ε for one pair of vectors; the same in both orders.

    Attributes:
        title: the noise and the pair, in words.
        bounds: ε ↦ lower and upper bound on δ(ε), arrays to arrays.
        method: of computation.
    """

    title: str
    bounds: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    method: str

    def __call__(self, epsilons: FloatArray | list[float]) -> Curve:
        """Bound δ at each ε ≥ 0.

        Raises:
            ParameterError: an ε is negative or not finite.
        """
        values = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        if not (values.ndim == 1 and np.all((values >= 0) & (values < math.inf))):
            raise ParameterError("a profile is taken at finite epsilon >= 0")
        low, high = self.bounds(values)
        return Curve(values, low, high)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bound δ at one ε."""
        curve = self([epsilon])
        return float(curve.low[0]), float(curve.high[0])


def _positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise ParameterError(f"{name} must be a finite number > 0, got {value}")


def gaussian(sigma: float, distance: float) -> Profile:
    """Return the profile of noise N(0, σ²I) at this L2 distance (Balle and Wang 2018, Thm 8)."""
    _positive(sigma=sigma, distance=distance)

    def bounds(epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = gaussian_log_delta_bounds(epsilons, sigma, distance)
        return np.exp(low) * (1 - ELEMENTARY), np.minimum(np.exp(high) * (1 + ELEMENTARY), 1.0)

    return Profile(f"Gaussian noise, σ = {sigma:.4g}, distance {distance:.4g}", bounds, "formula")


def l2_laplace(eta: float, distance: float, dimension: int) -> Profile:
    """Return the profile of noise ∝ exp(−η‖z‖₂) in d dimensions at this L2 distance."""
    _positive(eta=eta, distance=distance)
    return Profile(
        f"L2-Laplace noise, rate {eta:.4g}, distance {distance:.4g}, d = {dimension}",
        lambda epsilons: spherical_delta(epsilons, eta, distance, dimension),
        "one quadrature; its error is estimated by a coarser one",
    )


def product(alpha: float, cut: float, shift: FloatArray) -> Profile:
    """Return the profile of i.i.d. Laplace noise of rate α, cut off at ±A, at a difference v.

    Args:
        alpha: α > 0.
        cut: A > 0; ∞: no cut.
        shift: v, shape (d,), not zero.
    """
    _positive(alpha=alpha)
    vector = np.asarray(shift, dtype=np.float64)
    if not (cut > 0 and vector.ndim == 1 and np.isfinite(vector).all() and vector.any()):
        raise ParameterError("a product profile needs a cut > 0 and a finite non-zero shift (d,)")
    law = product_loss(alpha, cut, vector)
    kind = "Laplace noise" if math.isinf(cut) else f"Laplace noise cut off at {cut:.4g}"
    return Profile(
        f"{kind}, rate {alpha:.4g}, L1 difference {np.abs(vector).sum():.4g}, d = {vector.size}",
        law.delta,
        "FFT of the losses of the coordinates, rounded to both sides",
    )


def spread_shift(norm: float, dimension: int, share: float, power: int = 2) -> FloatArray:
    """Return a vector of this Lp norm whose first coordinate has `share` of the p-th power.

    The others are equal: share = 1/d is the equal spread, 1 a single coordinate.
    """
    if dimension == 1:
        return np.array([norm])
    shift = np.full(dimension, norm * ((1.0 - share) / (dimension - 1)) ** (1.0 / power))
    shift[0] = norm * share ** (1.0 / power)
    return shift


def searched_shares(dimension: int) -> list[float]:
    """Return shares of the first coordinate in the differences of `worst_product`, ascending."""
    if dimension == 1:
        return [1.0]
    shares: list[float] = np.geomspace(1.0 / dimension, 1.0, _SHARES).tolist()
    return shares


def worst_product(
    alpha: float,
    cut: float,
    norm: float,
    dimension: int,
    epsilons: FloatArray,
    *,
    power: int = 2,
) -> Curve:
    """Bound the largest δ at each ε over differences of this Lp norm, as far as the search goes.

    The search covers differences with one coordinate larger than the others, which are equal, from
    the equal spread to a single coordinate. For p = 2, at the ε at which α‖v‖₁ ≤ ε for all of them
    and A ≥ norm, the worst of all differences is one of these (see `mechanisms.clipped.trlaplace`);
    at a smaller ε the curve is the δ of differences that exist: `low` bounds the worst from below.

    Args:
        alpha: α > 0.
        cut: A > 0; ∞: no cut.
        norm: Lp norm of the differences.
        dimension: d.
        epsilons: ε ≥ 0, shape (E,).
        power: p.
    """
    curves = [
        product(alpha, cut, spread_shift(norm, dimension, share, power))(epsilons)
        for share in searched_shares(dimension)
    ]
    low, high = (np.max([getattr(c, side) for c in curves], axis=0) for side in ("low", "high"))
    return Curve(curves[0].x, low, high)


def trade_off(profile: Profile, alarms: FloatArray, epsilons: FloatArray | None = None) -> Curve:
    """Bound the smallest share of misses of any test that gives false alarms with share a.

    f(a) = sup_ε max(0, 1 − δ(ε) − e^ε·a, e^{−ε}(1 − δ(ε) − a)) over ε ≥ 0 (Dong, Roth, Su 2022,
    Proposition 6), for a pair whose profile is the same in both orders. The supremum over a grid
    is a lower bound; as δ falls with ε, each interval of the grid bounds it from above.

    Args:
        profile: of the pair.
        alarms: shares a in [0, 1], shape (A,).
        epsilons: ascending grid from 0; its last ε should leave δ at its limit.
    """
    shares = np.asarray(alarms, dtype=np.float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ParameterError("false alarms are shares between 0 and 1")
    grid = np.linspace(0.0, 12.0, 4801) if epsilons is None else np.asarray(epsilons)
    curve = profile(grid)
    low = _supremum(shares, grid, grid, 1.0 - curve.high)
    # δ beyond the grid is at least its limit; e^700 is near the largest float64.
    last = float(profile.bounds(np.array([700.0]))[0][0])
    # Between two points of the grid δ is at least its value at the right one, ε at least the left.
    kept = np.append(1.0 - curve.low[1:], 1.0 - last)
    high = _supremum(shares, grid, grid, kept)
    return Curve(shares, low, np.minimum(high, 1.0 - shares))


def _supremum(shares: FloatArray, up: FloatArray, down: FloatArray, kept: FloatArray) -> FloatArray:
    """Return the maximum over the grid of the two lines, and 0, for each share, shape (A,)."""
    best = np.zeros(shares.size)
    for i, a in enumerate(shares):
        # e^ε·a is 0 for a = 0 also where e^ε overflows.
        with np.errstate(over="ignore"):
            first = kept - np.exp(up) * a if a > 0 else kept
        lines = np.maximum(first, np.exp(-down) * (kept - a))
        best[i] = max(0.0, largest(lines, "a share of misses")[1])
    return best
