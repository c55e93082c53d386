"""Points that noisy vectors are compared with, and bounds on the rounding of the comparison.

Points derived from a lexicon (clipped, projected) are shared by all mechanisms: a copy is as large
as the vectors, and one for each setting that a user tries would multiply the memory.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from dpcore.arrays import Float32Array
from dpcore.guarantee import Rounding
from dpcore.lexicon.extent import exact_extent
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import UNIT, Metric, gamma
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.lexicon.progress import silent
from dpcore.limits import SEPARATED_AT_ONCE_WORDS
from dpcore.mechanisms.additive.rays import largest_norm
from dpcore.noise.samplers import Radial
from dpcore.written import Filled

_COPIES = 4  # copies of the size of the vectors
_KEPT = 64  # points of any size


@dataclass(frozen=True, eq=False)
class Points:
    """Points, one for each word, with quantities that are computed from them once.

    Attributes:
        vectors: shape (n, p), float32, read-only.
    """

    vectors: Float32Array

    @cached_property
    def norm(self) -> float:
        """Largest Euclidean norm of a point."""
        return largest_norm(self.vectors)

    @cached_property
    def separation(self) -> float | None:
        """Smallest distance above 0 of two points; None if there are too many to compute it."""
        if len(self.vectors) > SEPARATED_AT_ONCE_WORDS:
            return None
        return exact_extent(self.vectors, Metric.EUCLIDEAN, silent)[1]

    @cached_property
    def search(self) -> NearestSearch:
        """Search for the nearest point to a query; it caches the lengths of the points."""
        return NearestSearch(self.vectors)


class _PointCache:
    """Points of one lexicon; the least recently used go first."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._points: OrderedDict[Hashable, Points] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], Float32Array], originals: Float32Array
    ) -> Points:
        with self._busy:
            if key not in self._points:
                self._points[key] = Points(make())
            self._points.move_to_end(key)
            while self._too_many(originals):
                self._points.popitem(last=False)
            return self._points[key]

    def _too_many(self, originals: Float32Array) -> bool:
        # The lexicon's own vectors are not a copy, and the points requested last always stay.
        sizes = [p.vectors.nbytes for p in self._points.values() if p.vectors is not originals]
        return len(self._points) > _KEPT or (
            len(self._points) > 1 and sum(sizes) > _COPIES * originals.nbytes
        )


_held: WeakKeyDictionary[Lexicon, _PointCache] = WeakKeyDictionary()
_opening = threading.Lock()


def derived_points(lexicon: Lexicon, key: Hashable, make: Callable[[], Float32Array]) -> Points:
    """Return points that depend on a lexicon and a key alone, computed at the first call.

    Args:
        lexicon: its words have one point each.
        key: distinguishes these points from other points of the lexicon.
        make: computes them, shape (n, p); may return the lexicon's own vectors.

    Returns:
        The same object for all mechanisms, until others have been used more recently.
    """
    # Weak keys: the copies are freed with their lexicon.
    with _opening:
        copies = _held.setdefault(lexicon, _PointCache())
    return copies.get(key, make, lexicon.vectors)


def least_distance(lexicon: Lexicon, points: Points) -> float | None:
    """Return Δ₀ of points of a lexicon, or a lower bound; None if it would take too long."""
    if points.vectors is lexicon.vectors:
        return lexicon.with_metric(Metric.EUCLIDEAN).extent.separation
    return points.separation


def own(lexicon: Lexicon) -> Points:
    """Return the lexicon's own vectors as points."""
    return derived_points(lexicon, None, lambda: lexicon.vectors)


# Bound on the effect of floating point on the law of noise that is decoded to the nearest word.
#
# **Assumptions.** On NumPy's samplers (uniform, normal, Laplace, gamma, chi-square) with ideal
# random bits: a number is drawn independently, from a law whose distribution function differs from
# the exact one by at most `_GRAIN` (for gamma and chi-square of p degrees by p + 8 times that:
# their rejection test has a rounding error that grows with p), and is returned with a relative
# error of at most 2⁻⁵⁰. A uniform has 53 bits, a normal 52 in each of 256 layers, so the grains are
# at most 2⁻⁵²; the rest allows for rounded tables and tests. Arithmetic obeys IEEE 754 in float64
# with unit roundoff u = 2⁻⁵³; γ_k = ku/(1 − ku) (Higham, Accuracy and Stability of Numerical
# Algorithms, 2nd ed., Lemma 3.1).
#
# **Bound.** Let S_y(q) = ½‖τ_y‖² − ⟨τ_y, q⟩: the nearest target to q has the least, and S_y′ − S_y
# is ‖τ_y − τ_y′‖ times the distance of q from the plane halfway. Let X be the targets' largest
# norm, c the largest distance of an origin from its own target, R a length that the noise exceeds
# with probability `_MISSED` at most, Δ₀ the least distance of two targets.
#
# 1. *Margin.* Where ‖z‖ ≤ R, the computed point is at most e = γ_k·R + 3uX from the exact one and
#    the compared values are off by γ_{p+4} of a square, so that the computed word has an S above
#    the least by at most m (`margin`).
# 2. *Cells.* The cell K of a target is convex and contains the ball of radius Δ₀/2 around it.
#    Points with S_y ≤ S_y′ + m for all y′ lie in (1 + λ)K, those in (1 − λ)K have S_y ≤ S_y′ − m,
#    with λ = 2m/Δ₀², both scaled from τ_y. Scaling changes volume by (1 ± λ)^p, and the logarithm
#    of the density by at most λ·L·(R + c), L the slope of that logarithm per unit of distance. So
#    each probability changes by a factor within e^±(5/4·λ·(p + L(R + c))) for λ ≤ 1/16: `relative`.
# 3. *Grains.* Change one draw, all others fixed: the noisy point runs along a line or an arc on
#    which two targets are equally near at two places at most. So is "a word of the set A wins by m,
#    or loses by less than m": the lower envelopes of A and of the others have at most 2n pieces
#    (Davenport and Schinzel 1965), each with two such places. An event that a number decides by B
#    places changes by at most B·grain when its law does, so all draws together give 4n·`_GRAIN`·(2p
#    + 8), and twice `_MISSED`: `total_variation`.
#
# So for every word w and set A of words, with Q the sampled law and P the stated one, Q(A|w) ≤
# e^r·P(A|w) + τ and P(A|w) ≤ e^r·(Q(A|w) + τ). A guarantee P(A|w) ≤ e^ℓ·P(A|w′) + δ becomes Q(A|w)
# ≤ e^{ℓ+2r}·Q(A|w′) + e^r·δ + (1 + e^{ℓ+2r})·τ.
#
# **A second word** (Vickrey). The output depends on the two nearest words, whose cells contain no
# ball, so only a total variation is bounded. The nearest two are within m with probability 1 − e^−r
# at most, by step 2. For the second and the third, keep each word with probability ½: with
# probability 1/8 the second and the third stay and the nearest goes, and then these two are the
# nearest that remain; so they are within m with a probability of at most eight times that of step 2
# for some subset (Clarkson and Shor 1989), where the nearest is at most R + c + 2X away. By the
# same sampling the first two words change at no more than 8n places of a line or arc, the first
# three at 13.5n; with two places in each for each comparison, 96n places replace 4n.


_GRAIN = 2.0**-50
_LOG_MISSED = 28.0  # −ln of a probability that a length exceeds its reach
_MISSED = 2.0 * math.exp(-_LOG_MISSED)  # a radius and a coordinate at most
_LARGEST_SCALING = 1.0 / 16.0
_FAR = 4.0  # as in `NearestSearch`: |q| over the length of the longest target
_LINES, _PAIRED_LINES = 4, 96  # places a word: for one winner, for a choice between two


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Properties of the noise z that the bound on its rounding needs.

    Attributes:
        reach: R, a Euclidean length that ‖z‖ exceeds with probability 2e^−28 at most.
        slope: L, largest change of the logarithm of the density per unit of distance, where ‖z‖ ≤ R
            (and slightly beyond).
        operations: k, such that the computed z is within γ_k·R of the exact function of the draws.
        curvature: bound on the growth of the slope per unit of distance.
    """

    reach: float
    slope: float
    operations: float
    curvature: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Noise, and the targets that the noisy point is compared with.

    Attributes:
        words: n, the number of targets.
        dimension: p.
        separation: Δ₀ > 0, the least distance of two different targets, or a lower bound.
        norm: X, the largest norm of targets and origins, or an upper bound.
        offset: c, the largest distance of an origin from its own target.
        noise: the noise.
        always_near: True if squared distances are compared at any noise length (a search that
            reports distances); False if another form serves points far from all targets.
    """

    words: int
    dimension: int
    separation: float
    norm: float
    offset: float
    noise: Noise
    always_near: bool = False

    @property
    def displacement(self) -> float:
        """e: bound on the distance of the computed noisy point from the exact function."""
        return gamma(self.noise.operations + 2.0) * self.noise.reach + 3.0 * UNIT * self.norm

    @property
    def margin(self) -> float:
        """m: bound on the excess of the computed word's S over the least S."""
        apart = self.noise.reach + self.offset + self.displacement
        # Rounding is relative to the compared values: squares of up to ‖q − τ‖², or beyond 4X√p the
        # halves and products of the other form.
        near, far = apart, 0.0
        if not self.always_near:  # ‖q‖ ≤ 4X√p where squared distances are compared
            near = min(apart, self.norm * (1.0 + _FAR * math.sqrt(self.dimension)))
            far = self.norm * (3.0 * self.norm + 2.0 * apart)
        compared = gamma(self.dimension + 4.0) * max(near**2, far)
        return 1.01 * (compared + 2.0 * self.norm * self.displacement)

    def near_tie(self, margin: float, beyond: float = 0.0) -> float:
        """Bound P(the two least S are within `margin`, ‖z‖ ≤ R); ∞ if no bound is known.

        Args:
            margin: m.
            beyond: how much farther than R + c the nearest target may be.
        """
        scaling = 2.0 * margin / self.separation**2
        if not scaling <= _LARGEST_SCALING:
            return math.inf
        reach = self.noise.reach + self.offset + beyond
        slope = self.noise.slope + self.noise.curvature * scaling * reach
        return 1.25 * scaling * (self.dimension + slope * reach)

    def grains(self, places: int) -> float:
        """Bound the effect of all draws' grains, and the probability of exceeding the reach."""
        return places * self.words * _GRAIN * (2.0 * self.dimension + 8.0) + 2.0 * _MISSED

    def rounding(self) -> Rounding | None:
        """Bound the rounding of the nearest word; None if the targets are too close for a bound."""
        relative = self.near_tie(self.margin)
        total = self.grains(_LINES)
        if not (relative < math.inf and total <= 1.0):
            return None
        return Rounding(relative=relative, total_variation=total, reason=_REASON)

    def rounding_of_two(self, share: float) -> Rounding | None:
        """Bound the rounding of a choice of two words that takes the second with weight `share`.

        The first is taken with probability (1−t)s₂/(ts₁ + (1−t)s₂), whose derivative by either
        distance is at most t/((1−t)s₂), and s₂ ≥ Δ₀/2.
        """
        apart = self.noise.reach + self.offset + 2.0 * self.norm
        length = self.displacement + gamma(self.dimension + 4.0) * apart
        odds = share / (1.0 - share) if share < 1.0 else 0.0  # at 1 the choice is fixed
        # Two distances, each off by `length`, and s₂ ≥ Δ₀/2: 2·2·odds·length/Δ₀; and the coin.
        flipped = 4.0 * odds * length / self.separation + 16.0 * _GRAIN
        ties = self.near_tie(self.margin) + 8.0 * self.near_tie(self.margin, 2.0 * self.norm)
        total = ties + flipped + self.grains(_PAIRED_LINES)
        return Rounding(total_variation=total, reason=_REASON) if total <= 1.0 else None


_REASON = Filled(
    "Rounding of the noise, of the noisy point and of the comparison, and the grains of NumPy's "
    "samplers, bounded for every word and set of outputs; assumed is that those samplers have "
    "their law to 2^-50 and that the search is exact. A guarantee of loss l holds for what is "
    "sampled with loss l + 2·relative, but for a probability of "
    "(1 + e^(l + 2·relative))·total_variation."
)


def radial_noise(
    family: Radial, dimension: int, scale: float, largest: float = 1.0, smallest: float = 1.0
) -> Noise:
    """Bound z = s·r·M·u, M symmetric with eigenvalues between `smallest` and `largest`.

    The radius: Laurent and Massart 2000, Lemma 1, gives r ≤ p + √(2px) + x for Gamma(p), and r² ≤ p
    + 2√(px) + 2x for chi-square, but for e^−x. For i.i.d. Laplace coordinates ‖z‖₂² ≤ ‖z‖₁·‖z‖_∞,
    and ‖z‖_∞ ≤ s·(x + ln p) but for e^−x.
    """
    x, p = _LOG_MISSED, float(dimension)
    # A product with M is two products with its eigenvectors, each off by γ_p·√p in the norm.
    products = 0.0 if largest == smallest == 1.0 else 3.0 * math.sqrt(p)
    operations = (p + 40.0) * (1.0 + products)
    gamma_radius = p + math.sqrt(2.0 * p * x) + x
    if family is Radial.GAUSSIAN:
        reach = scale * math.sqrt(p + 2.0 * math.sqrt(p * x) + 2.0 * x)
        curvature = scale**-2.0
        return Noise(
            reach=reach, slope=reach * curvature, operations=operations, curvature=curvature
        )
    if family is Radial.LAPLACE:
        reach = scale * math.sqrt(gamma_radius * (x + math.log(p)))
        return Noise(reach=reach, slope=math.sqrt(p) / scale, operations=operations)
    reach = scale * gamma_radius * largest
    return Noise(reach=reach, slope=1.0 / (scale * smallest), operations=operations)


def truncated_noise(alpha: float, cut: float, dimension: int) -> Noise:
    """Bound i.i.d. Laplace coordinates of rate α, cut off at ±A.

    Each is shorter than without the cut, in law. Rounding of the logarithm's argument moves the
    distribution function by 2u at most, and counts with the grains.
    """
    whole = radial_noise(Radial.LAPLACE, dimension, 1.0 / alpha)
    reach = min(whole.reach, cut * math.sqrt(dimension))
    return Noise(reach=reach, slope=whole.slope, operations=whole.operations)


def decoding_of(
    points: Points, separation: float | None, offset: float, noise: Noise
) -> Decoding | None:
    """Return a `Decoding` with each number rounded to the safe side; None without a separation.

    Args:
        points: the targets.
        separation: their least distance.
        offset: see `Decoding`.
        noise: see `Decoding`.
    """
    if separation is None:
        return None
    n, dimension = points.vectors.shape
    rounded = gamma(2.0 * dimension + 8.0)
    return Decoding(
        words=n,
        dimension=dimension,
        separation=separation * (1.0 - rounded),
        norm=points.norm * (1.0 + rounded),
        offset=offset,
        noise=noise,
    )
