"""Noise in hyperbolic space (Feyisetan, Diethe, Drake 2019): the nearest word to a moved point.

The point of a word is moved by noise with the density

    p(x | w) ∝ e^(−ε·d_H(x, w))

with respect to the volume of H^d, and the output is the word nearest to it in d_H. An isometry
moves every point to every other, so the normaliser is the same for all words, and the triangle
inequality bounds the loss by ε·d_H(w, w′). The volume of a ball grows as e^((d − 1)·r), so such a
density exists only for ε > d − 1.

The radius has the density ∝ sinh^(d−1)(r)·e^(−ε·r), so that T = e^(−2r) is a Beta variable of a =
(ε − d + 1)/2 and d: substitute r = −½·ln T. It is drawn exactly, with a uniform direction. (The
paper draws by Metropolis–Hastings, which has the density only in the limit. With respect to the
flat volume of Poincaré's ball the normaliser would differ from word to word, and the guarantee
fails: `audit --claim hyperbolic-flat`.)

On the geodesic that leaves w in the direction u let C_y = cosh d_H(w, y), and z_y the point y as
seen from w (`dpcore.lexicon.hyperbolic.seen_from`). The point at radius r is at the distance d from
y,

    cosh d = cosh r·C_y − sinh r·⟨u, z_y⟩ = ½·e^(−r)·(2·C_y + x·P_y),
    x = e^(2r) − 1 ≥ 0,  P_y = C_y − ⟨u, z_y⟩ > 0,

lines in x: the nearest word is their lower envelope, as for noise in a vector space. The line of w
has the slope 1, so only a word with P_y < 1 is ever nearer. One draw has exact breaks in ε, and a
law is a mean over directions with the radius integrated out. Since T = 1/(1 + x), x is the quotient
of Gamma variables of d and of a.

Hyperbolic space has room: a word far down in a hierarchy sees all others within a small part of the
sphere around it, and a noisy point in any other direction stays nearest to the word at any radius.
So with trained vectors words stay at every admissible ε; `scale` moves words closer
together, where space is nearly flat and the hierarchy is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.catalogue import HYPERBOLIC_NAME, name_of
from dpcore.lexicon.hyperbolic import check_longest, distances, polar, seen_from
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import NeighbourIndex
from dpcore.mechanisms.additive.additive import GeodesicMechanism
from dpcore.mechanisms.additive.rays import Lines, Steps, lower_envelope, pad
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.settings import EpsilonRange, parameter
from dpcore.written import Filled

HYPERBOLIC_DISTANCE = "hyperbolic"
_BLOCK_ENTRIES = 2_000_000  # float64 entries of one product: 16 MB
_LOOKED_AT, _FEW, _NEARLY, _MOST_STAY = 24, 100, 0.01, 0.9  # for `left` and `caution`
_HALVINGS = 64  # halvings of an interval of ln a, for the ε of a break
_SLACK = 1e-12  # relative: what rounding may put below a chord
_LOG_LOWEST, _LOG_HIGHEST = -60.0, 60.0  # ln a, a = (ε − d + 1)/2


@dataclass(frozen=True, eq=False, kw_only=True)
class Hyperbolic(GeodesicMechanism):
    """Nearest word to exp_w(r·u), with the density e^(−ε·d_H) of hyperbolic space."""

    key = "hyperbolic.v1"
    short = "hyperbolic"
    title = "Hyperbolic noise"
    summary = (
        "Moves the word in hyperbolic space, where what is general lies in the middle; takes the "
        "nearest word"
    )
    source = "Feyisetan, Diethe, Drake 2019, with an exact sampler"
    cited: ClassVar[tuple[str, ...]] = ("feyisetan2019hyperbolic", "nickel2017poincare")
    meaning = EpsilonMeaning.METRIC

    scale: float = parameter(
        1.0,
        help="all vectors are multiplied by it: less puts words nearer to each other, so that the "
        "same ε changes more of them, and leaves less of a hierarchy",
        low=1e-3,
        high=10.0,
    )

    def __post_init__(self) -> None:
        """Refuse vectors that are too long for hyperbolic sines."""
        super().__post_init__()
        # Not of `_points`: it takes long to compute, and a list of mechanisms makes them all.
        vectors = self.lexicon.vectors
        largest = max(float(vectors.max(initial=0.0)), -float(vectors.min(initial=0.0)))
        check_longest(self.scale * largest)

    @property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        """Lengths and directions of all words."""
        return _polar(self.lexicon, self.scale)

    # -- ε and the guarantee

    @property
    def admissible(self) -> EpsilonRange:
        """Range of ε above d − 1, where the density has a finite mass."""
        reason = "the dimension less one, from which on the noise has a density"
        if self.lexicon.dimension > 1 and not self._made_for_it:
            reason += f"; the lexicon {HYPERBOLIC_NAME!r} has few dimensions"
        return EpsilonRange(low=self.lexicon.dimension - 1.0, low_reason=reason)

    @cached_property
    def _made_for_it(self) -> bool:
        return name_of(self.lexicon) == HYPERBOLIC_NAME

    @property
    def caution(self) -> str:
        """Warning that the mechanism changes few words, and the lexicon that it suits."""
        low = Filled("ε must be above {low:g}", low=self.admissible.low)
        if not self._made_for_it:
            return Filled(
                "{low}, and vectors are read as points of hyperbolic space, which these were not "
                "made for: the lexicon {name} holds WordNet's hierarchy in few dimensions",
                low=low,
                name=HYPERBOLIC_NAME,
            )
        text = Filled(
            "{low}; as ε falls towards that, a word still stays with {share:.0%} on average",
            low=low,
            share=self.left,
        )
        if self.left < _MOST_STAY:
            return text
        return Filled("{text}: less of a scale changes more", text=text)

    @cached_property
    def left(self) -> float:
        """Mean probability that a word stays, from `staying` of a few words."""
        return self.staying(_LOOKED_AT, _FEW)

    def staying(self, words: int, rays: int) -> float:
        """Return the mean probability that a word stays, for ε next to its lower end.

        Args:
            words: number of words, evenly spaced in the order of the vocabulary.
            rays: directions of the noise along which it is integrated.
        """
        some = np.unique(np.linspace(0, len(self.lexicon) - 1, words).astype(np.int64))
        low = self.admissible.low
        epsilon, effort = low + _NEARLY * max(low, 1.0), Effort(directions=rays)
        laws = [self.law(word, epsilon, effort=effort) for word in some.tolist()]
        return float(np.mean([law.stay() for law in laws]))

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee ε·d_H: one normaliser for all words, and the triangle inequality."""
        value = self.check_epsilon(epsilon)
        longest = self.scale * self.lexicon.largest_norm
        # The exponential map stretches by sinh r/r across a ray, and not at all along it.
        curved = self.lexicon.dimension > 1 and longest > 0
        stretch = self.scale * (math.sinh(longest) / longest if curved else 1.0)
        return MetricPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=Filled(
                "The density falls by e^(−ε·d_H) with respect to the volume of hyperbolic space, "
                "of which all points look alike: its normaliser is the same for all words, and by "
                "the triangle inequality its logarithm changes by at most ε times the distance "
                "moved. The nearest word sees the noisy point alone."
            ),
            source=self.source,
            metric=HYPERBOLIC_DISTANCE,
            euclidean_factor=stretch,
            farthest=2.0 * longest,
        )

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray:
        """Return d_H between words, shape (k, k)."""
        self.check_epsilon(epsilon)
        points = self.scale * self.lexicon.vectors[words].astype(np.float64)
        return distances(points, points)

    # -- the noise

    def _shape(self, epsilon: float) -> float:
        """Return a of T = e^(−2r) ~ Beta(a, d)."""
        return 0.5 * (epsilon - self.lexicon.dimension + 1.0)

    def _lengths(self, rng: np.random.Generator, count: int, epsilon: float) -> FloatArray:
        """Draw 1/x of fresh noise, shape (count,); 0 where x overflows."""
        above = rng.standard_gamma(self._shape(epsilon), size=count)
        return np.asarray(above / rng.standard_gamma(self.lexicon.dimension, size=count))

    def below(self, lengths: FloatArray, epsilon: float) -> FloatArray:
        """Return P(e^(2r) − 1 ≤ x), elementwise; x may be ∞."""
        return _below(lengths, self._shape(epsilon), self.lexicon.dimension)

    def reference_noise(self, rng: np.random.Generator, epsilon: float, count: int) -> FloatArray:
        """Draw directions of the noise, with lengths that are Gamma(d) if P(r > ·) is as stated."""
        from scipy.special import betainc, gammainccinv

        value, d = self.check_epsilon(epsilon), self.lexicon.dimension
        unit, inverse = self.directions(rng, count), self._lengths(rng, count, value)
        farther = betainc(self._shape(value), d, inverse / (1.0 + inverse))  # P(T ≤ ·) = P(r > ·)
        return np.asarray(unit * gammainccinv(d, farther)[:, None])

    # -- outputs

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw one output per entry of `words` (k,), each with fresh noise.

        An exact index is accepted but not used: it searches in another distance.
        """
        self.check_index(index)
        entries, value = self.check_words(words), self.check_epsilon(epsilon)
        if not entries.size:
            return entries
        unit = self.directions(rng, entries.size)
        inverse = self._lengths(rng, entries.size, value)
        outputs = np.empty(entries.size, dtype=np.int64)
        for word, members in zip(*by_word(entries), strict=True):
            near = self._candidates(word, unit[members])
            # 2·C + x·P over 1 + x, so that any x is representable.
            least = inverse[members][near.ray]
            scores = (2.0 * near.rise * least + near.slope) / (1.0 + least)
            best = np.lexsort((near.word, scores, near.ray))
            firsts = np.searchsorted(near.ray, np.arange(members.size))
            outputs[members] = near.word[best[firsts]]
        return outputs

    def _candidates(self, word: int, unit: FloatArray) -> _Candidates:
        """Return the words that are nearest somewhere along each direction, and some more."""
        rise, seen = seen_from(*self._points, word)
        order = np.argsort(rise, kind="stable")
        rise, seen = rise[order], seen[order]
        step = max(1, _BLOCK_ENTRIES // len(order))
        rays, places = [], []
        for start in range(0, len(unit), step):
            # P ≤ 1; for the word itself both sides are 0.
            ray, place = np.nonzero(unit[start : start + step] @ seen.T >= rise)
            rays.append(ray + start)
            places.append(place)
        row, place = np.concatenate(rays), np.concatenate(places)
        # P = e^(−d) + sinh d·(1 − cos φ), φ the angle between u and z: no cancellation.
        sinh = np.sqrt(rise * (rise + 2.0))
        towards = seen / np.where(sinh > 0, sinh, 1.0)[:, None]
        apart = unit[row] - towards[place]
        cut = 0.5 * np.einsum("ij,ij->i", apart, apart)
        slope = 1.0 / (1.0 + rise + sinh)[place] + sinh[place] * cut
        return _Candidates(row, order[place], rise[place], slope)

    def steps(self, word: int, unit: FloatArray) -> Steps:
        """Return the nearest word as a step function of x along each direction."""
        near = _on_the_hull(self._candidates(word, unit))
        count = np.bincount(near.ray, minlength=len(unit))
        ids, lines, slopes = pad(len(unit), near.ray, near.word, 2.0 * near.rise, -0.5 * near.slope)
        slopes = np.where(np.arange(slopes.shape[1]) < count[:, None], slopes, -np.inf)
        return lower_envelope(Lines(ids, lines, slopes))  # type: ignore[arg-type]

    def inverse_epsilon(self, lengths: FloatArray, share: FloatArray) -> FloatArray:
        """Return 1/ε for the ε at which P(e^(2r) − 1 ≤ x) is this share.

        Shape (k, P); ∞ for padding. Halves an interval of ln a; the probability rises with a.
        """
        low = np.full(lengths.shape, _LOG_LOWEST)
        high = np.full(lengths.shape, _LOG_HIGHEST)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            enough = _below(lengths, np.exp(middle), self.lexicon.dimension) >= share[:, None]
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        epsilons = 2.0 * np.exp(high) + self.lexicon.dimension - 1.0
        return np.asarray(np.where(np.isfinite(lengths), 1.0 / epsilons, np.inf))


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Lines 2·C + x·P of some words along rays, by ray and then by distance.

    Attributes:
        ray: of each line, shape (m,), ascending.
        word: index of the word, shape (m,).
        rise: C − 1 = cosh d − 1, shape (m,).
        slope: P, shape (m,).
    """

    ray: IntArray
    word: IntArray
    rise: FloatArray
    slope: FloatArray


def _on_the_hull(near: _Candidates) -> _Candidates:
    """Drop candidates that surely lie above the lower envelope, for every x.

    In the plane of (C, −P) the lines of the envelope are vertices of the upper hull. A point below
    the chord of its two neighbours is not a vertex, even if the neighbours are dropped too.
    """
    ray, word, rise, slope = near.ray, near.word, near.rise, near.slope
    while ray.size > 2:
        # Cross-multiplied: C ascends along a ray, so no sign flips.
        left, right = slope[:-2] - slope[1:-1], slope[:-2] - slope[2:]
        below = left * (rise[2:] - rise[:-2]) < right * (rise[1:-1] - rise[:-2]) * (1.0 - _SLACK)
        dropped = below & (ray[2:] == ray[:-2])
        if not dropped.any():
            break
        kept = np.ones(ray.size, dtype=np.bool_)
        kept[1:-1] = ~dropped
        ray, word, rise, slope = ray[kept], word[kept], rise[kept], slope[kept]
    return _Candidates(ray, word, rise, slope)


def _below(lengths: FloatArray, shape: FloatArray | float, dimension: int) -> FloatArray:
    """Return P(X ≤ x) for a and d: 1 − T = X/(1 + X) ~ Beta(d, a)."""
    from scipy.special import betainc

    share = np.zeros(np.shape(lengths))
    np.divide(1.0, 1.0 + 1.0 / np.maximum(lengths, 1e-300), out=share, where=lengths > 0)
    return np.asarray(betainc(dimension, shape, share))


@lru_cache(maxsize=8)
def _polar(lexicon: Lexicon, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return the lengths and directions of all words at a scale."""
    points = polar(scale * lexicon.vectors.astype(np.float64))
    for array in points:
        array.setflags(write=False)
    return points
