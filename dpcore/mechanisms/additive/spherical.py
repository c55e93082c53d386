"""Noise on the unit sphere (Weggenmann, Kerschbaum 2021): the word of nearest direction.

The unit vector u of a word is replaced by y with one of two densities on the sphere,

    VMF (von Mises–Fisher):  p(y | u) ∝ e^(ε·⟨u, y⟩),
    Purkayastha:             p(y | u) ∝ e^(−ε·∠(u, y)),

and the output is the word z whose public unit row τ_z has the largest ⟨y, τ_z⟩: post-processing of
y. A rotation moves every u to every other, so the normaliser is the same for all words. The loss is
then at most ε·‖u − u′‖ ≤ ε·∠(u, u′) for the first, and ε·∠(u, u′) for the second by the triangle
inequality.

With θ = ∠(u, y) and v uniform among unit vectors orthogonal to u,

    y = cos θ·u + sin θ·v,    θ with the density ∝ e^(−ε·s(θ))·sin^(d−2) θ on [0, π],

s(θ) = 1 − cos θ or θ. On the great circle of one v the score of z is cos θ·a_z + sin θ·b_z, a =
⟨u, τ_z⟩, b = ⟨v, τ_z⟩. For θ < π/2 that is cos θ·(a_z + t·b_z), t = tan θ: lines in t, whose
highest is found as the nearest word along a ray is (`dpcore.mechanisms.additive.rays`). For θ > π/2
the same holds as seen from −u, with t = tan(π − θ). So one direction has exact breaks in θ, a law
is a mean over directions with θ integrated out, and θ falls with ε at any quantile.

Both densities are sampled exactly: VMF by the rejection of Wood 1994, Purkayastha by an envelope of
its logarithm, which is concave in θ: constant in the middle and tangents in the tails.

STAMP (Tian, Bhattacharjee, Hanson, Rubin, Lo, Tandon 2026) perturbs directions too, and decodes by
cosine; its budget of a token depends on the token's importance to the task and its sensitivity.
Read off the private text such a budget itself tells something about the text, so there is none
here: `budget` takes its shares from a public rule.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.extent import single_unit_rows
from dpcore.lexicon.metric import Metric, unit_rows
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.additive import GeodesicMechanism
from dpcore.mechanisms.additive.points import Points, derived_points
from dpcore.mechanisms.additive.rays import Steps, lower_envelope
from dpcore.mechanisms.bulk import BATCH
from dpcore.mechanisms.exponential.tem import euclidean_factor
from dpcore.mechanisms.mechanism import LossBounds
from dpcore.written import Filled

_FEWEST = 3  # dimensions: in the plane a direction has two orthogonal ones, and needs another law
_STRONGEST = 1e100  # a larger ε leaves no noise that float64 can add: its law is that of this one
_TERMS, _NODES = 128, 56  # of a series over θ, and of a quadrature for one θ and ε
_NEGLIGIBLE = 45.0  # ln of the fall of the density at the ends of a quadrature: e^−45 = 3e-20
_TAILS = 1.0  # and where the tangents of Purkayastha's envelope touch
_LEFT, _RIGHT = 16, 20  # halvings of an end; the outer bound is taken
_STEPS = 100  # Newton steps at most, for the ε of a break; about 8 are needed
_CLOSE = 1e-9  # relative size of the last step: the error is about its square
_FAR = 4.0  # factor of a step where the distribution function is 0 or 1
_CHUNK = 4_096  # quadratures at a time: 2 MB an array


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectionalMechanism(GeodesicMechanism):
    """Word whose direction is nearest to a noisy direction; lengths of `steps` are angles θ."""

    source = "Weggenmann, Kerschbaum 2021; the word of the nearest direction comes out"
    cited: ClassVar[tuple[str, ...]] = ("weggenmann2021directional",)
    meaning = EpsilonMeaning.METRIC
    proof: ClassVar[Filled]
    """Reason for the guarantee."""

    def __post_init__(self) -> None:
        """Refuse vectors without a direction, and spaces with too few of them."""
        super().__post_init__()
        if self.lexicon.dimension < _FEWEST:
            raise ParameterError(
                f"{self.short} needs vectors of at least {_FEWEST} dimensions, this lexicon has "
                f"{self.lexicon.dimension}: take another lexicon, or tem with metric=angular"
            )
        if not (some := self.lexicon.vectors.any(axis=1)).all():
            raise ParameterError(
                f"{self.short} needs a direction of every word, and "
                f"{self.lexicon.words[int(some.argmin())]!r} has the zero vector: leave it out of "
                "the lexicon, or take madlib"
            )

    # -- required of a member

    @staticmethod
    @abstractmethod
    def fall(angle: FloatArray) -> FloatArray:
        """Return s(θ), by which the density falls: e^(−ε·s(θ))."""

    @abstractmethod
    def mode(self, epsilon: FloatArray) -> FloatArray:
        """Return the θ of the largest density, elementwise; ε may be 0."""

    @abstractmethod
    def propose(
        self, rng: np.random.Generator, count: int, epsilon: float
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Draw θ from an envelope of the density; return also which of them are accepted."""

    # -- guarantee

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee ε·∠: one normaliser for all words."""
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason=self.proof,
            source=self.source,
            metric=str(Metric.ANGULAR),
            euclidean_factor=euclidean_factor(self.lexicon, Metric.ANGULAR),
            farthest=math.pi,
        )

    # -- the angle

    @property
    def _power(self) -> int:
        """d − 2, of sin θ in the density."""
        return self.lexicon.dimension - 2

    def _log_density(self, angle: FloatArray, epsilon: FloatArray, mode: FloatArray) -> FloatArray:
        """Return the logarithm of the density over that at its mode."""
        return self._logs(angle, epsilon, mode)[0]

    def _logs(
        self, angle: FloatArray, epsilon: FloatArray, mode: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return `_log_density`, and s(θ) less that of the mode."""
        height = np.maximum(np.sin(angle), np.finfo(np.float64).tiny)
        fallen = self.fall(angle) - self.fall(mode)
        return self._power * np.log(height / np.sin(mode)) - epsilon * fallen, fallen

    def ends(self, epsilon: FloatArray, fall: float) -> tuple[FloatArray, FloatArray]:
        """Return angles at or just beyond which ln of the density has fallen this far."""
        mode = self.mode(epsilon)
        low, inner = np.zeros_like(mode), mode
        for _ in range(_LEFT):
            middle = 0.5 * (low + inner)
            under = self._log_density(middle, epsilon, mode) < -fall
            low, inner = np.where(under, middle, low), np.where(under, inner, middle)
        # In ln θ, because π may be many orders of magnitude beyond the mode.
        inner, high = np.log(mode), np.full_like(mode, math.log(math.pi))
        for _ in range(_RIGHT):
            middle = 0.5 * (inner + high)
            under = self._log_density(np.exp(middle), epsilon, mode) < -fall
            high, inner = np.where(under, middle, high), np.where(under, inner, middle)
        return low, np.minimum(np.exp(high), math.pi)

    def below(self, lengths: FloatArray, epsilon: float) -> FloatArray:
        """Return P(θ ≤ ·), elementwise: the density as a Legendre series, integrated."""
        strength = np.array([min(epsilon, _STRONGEST)])
        low, high = self.ends(strength, _NEGLIGIBLE)
        nodes, weights, table = _gauss_legendre(_TERMS)
        angle = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        density = np.exp(self._log_density(angle, strength, self.mode(strength)))
        coefficients = (table @ (weights * density)) * (np.arange(_TERMS) + 0.5)
        series = np.polynomial.legendre.legint(coefficients, lbnd=-1)
        whole = np.polynomial.legendre.legval(1.0, series)
        place = (2.0 * np.minimum(lengths, math.pi) - low - high) / (high - low)
        reached = np.polynomial.legendre.legval(np.clip(place, -1.0, 1.0), series) / whole
        inside = np.where(place <= -1.0, 0.0, np.clip(reached, 0.0, 1.0))
        return np.where(place >= 1.0, 1.0, inside)

    def _below_each(self, angle: FloatArray, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(θ ≤ ·), each at an ε of its own, and its derivative by ε; shapes (m,)."""
        low, high = self.ends(epsilon, _NEGLIGIBLE)
        nodes, weights, _ = _gauss_legendre(_NODES)
        mode = self.mode(epsilon)
        sums = []
        for top in (high, np.clip(angle, low, high)):
            half = 0.5 * (top - low)
            at = (0.5 * (low + top))[:, None] + half[:, None] * nodes
            logs, fallen = self._logs(at, epsilon[:, None], mode[:, None])
            density = np.exp(logs)
            sums += [half * (density @ weights), half * ((density * fallen) @ weights)]
        whole, mean, part, moment = sums
        share = np.clip(part / whole, 0.0, 1.0)
        # The logarithm of the density has the derivative E s − s.
        return share, (share * mean - moment) / whole

    def inverse_epsilon(self, lengths: FloatArray, share: FloatArray) -> FloatArray:
        """Return 1/ε for the ε at which P(θ ≤ ·) is this share, shape (k, P); ∞ for none."""
        quantiles = np.broadcast_to(share[:, None], lengths.shape)
        # The probability rises with ε, from that of a uniform direction.
        rows = np.isfinite(lengths) & (self.below(lengths, 0.0) < quantiles)
        inverse = np.full(lengths.shape, np.inf)
        angles, shares = lengths[rows], quantiles[rows]
        parts = [
            1.0 / self._epsilons(angles[i : i + _CHUNK], shares[i : i + _CHUNK])
            for i in range(0, angles.size, _CHUNK)
        ]
        inverse[rows] = np.concatenate([np.empty(0), *parts])
        return inverse

    def _epsilons(self, angle: FloatArray, share: FloatArray) -> FloatArray:
        """Solve P(θ ≤ ·) = share for ε by Newton's method between bounds, shape (m,)."""
        from scipy.special import ndtri

        low, high = np.zeros(angle.size), np.full(angle.size, _STRONGEST)
        # At first the ε whose mode this angle is, about.
        slope = self._power / np.tan(np.clip(angle, 1e-90, 0.49 * math.pi))
        epsilons, aim = slope.copy(), ndtri(share)
        open_ = np.arange(angle.size)
        for _ in range(_STEPS):
            at = epsilons[open_]
            reached, rate = self._below_each(angle[open_], at)
            under = reached < share[open_]
            low[open_] = np.where(under, at, low[open_])
            high[open_] = np.where(under, high[open_], at)
            # In units of a normal quantile the curve is nearly straight.
            usable = (reached > 0) & (reached < 1) & (rate > 0)
            quantile = ndtri(np.where(usable, reached, 0.5))
            density = np.exp(-0.5 * np.square(quantile)) / math.sqrt(2.0 * math.pi)
            step = np.zeros(at.size)
            np.divide((aim[open_] - quantile) * density, rate, out=step, where=usable)
            after = np.where(usable, at + step, np.where(under, at * _FAR, at / _FAR))
            after = np.where((after <= low[open_]) & ~under, 0.5 * (low[open_] + at), after)
            after = np.where((after >= high[open_]) & under, 0.5 * (high[open_] + at), after)
            epsilons[open_] = after
            open_ = open_[np.abs(after - at) > _CLOSE * at]
            if not open_.size:
                break
        return epsilons

    def angles(self, rng: np.random.Generator, count: int, epsilon: float) -> FloatArray:
        """Draw θ exactly, by rejection, shape (count,)."""
        accepted_angles, rejected = np.empty(count), np.arange(count)
        while rejected.size:
            angle, accepted = self.propose(rng, rejected.size, min(epsilon, _STRONGEST))
            accepted_angles[rejected[accepted]] = angle[accepted]
            rejected = rejected[~accepted]
        return accepted_angles

    # -- directions

    @cached_property
    def _points(self) -> Points:
        """Unit rows τ, float32, shared by all mechanisms of the lexicon."""
        vectors = self.lexicon.vectors
        return derived_points(self.lexicon, "unit", lambda: single_unit_rows(vectors))

    def _origins(self, words: IntArray) -> FloatArray:
        """Return u of words, in float64: parallel vectors have the same one."""
        return unit_rows(self.lexicon.vectors[words].astype(np.float64))

    def noisy_directions(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """Draw y of words, shape (k, d)."""
        origins = self._origins(words)
        across = _orthogonal(self.directions(rng, words.size), origins)
        angle = self.angles(rng, words.size, epsilon)[:, None]
        return np.asarray(np.cos(angle) * origins + np.sin(angle) * across)

    def reference_noise(self, rng: np.random.Generator, epsilon: float, count: int) -> FloatArray:
        """Draw v of the first word in coordinates across its u, with Gamma(d − 1) for θ.

        The lengths have that law if θ has the stated one.
        """
        from scipy.special import gammaincinv

        value, first = self.check_epsilon(epsilon), np.zeros(count, dtype=np.int64)
        origins = self._origins(first[:1])
        across = _orthogonal(self.directions(rng, count), origins)
        # A reflection that moves u to the first axis.
        axis = origins[0].copy()
        axis[0] += math.copysign(1.0, axis[0])
        mirrored = across - np.outer(across @ axis, 2.0 * axis / (axis @ axis))
        share = self.below(self.angles(rng, count, value), value)
        return np.asarray(mirrored[:, 1:] * gammaincinv(self._power + 1, share)[:, None])

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
        outputs = np.empty(entries.size, dtype=np.int64)
        for i in range(0, entries.size, BATCH):
            noisy = self.noisy_directions(rng, entries[i : i + BATCH], value)
            outputs[i : i + BATCH] = self._nearest(noisy)
        return outputs

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Draw at each ε on its own: faster than to solve for breaks."""
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        for e, epsilon in enumerate(epsilons.tolist()):
            outputs[:, e] = self.sample(rng, entries, epsilon)
            progress(self.short, e + 1, epsilons.size)
        return outputs

    def _nearest(self, noisy: FloatArray) -> IntArray:
        """Return the word with the largest ⟨y, τ⟩ of each y: of equal ones the lowest index."""
        targets = self._points.vectors
        scores = noisy.astype(np.float32) @ targets.T
        least = scores.max(axis=1) - rays.tolerance(noisy, self._points.norm)
        row, word = np.nonzero(scores >= least.astype(np.float32)[:, None])
        # In float32 these cannot be told apart.
        close = np.empty(row.size)
        for i in range(0, row.size, _CHUNK):
            part = slice(i, i + _CHUNK)
            np.vecdot(targets[word[part]], noisy[row[part]], out=close[part])
        best = np.lexsort((word, -close, row))
        return word[best[np.searchsorted(row, np.arange(len(noisy)))]]

    def steps(self, word: int, unit: FloatArray) -> Steps:
        """Return the output as a step function of θ along the great circle of each direction."""
        targets, norm = self._points.vectors, self._points.norm
        origin = self._origins(np.array([word]))
        across = _orthogonal(unit, origin)
        along = np.concatenate(
            [targets[i : i + _CHUNK] @ origin[0] for i in range(0, len(targets), _CHUNK)]
        )
        halves = []
        for side in (along, -along):
            # ‖u − τ‖² and a constant that keeps its root real, as a and ⟨v, τ⟩ give it.
            squared = 3.0 - 2.0 * side
            order = np.argsort(squared, kind="stable")
            ranking = Ranking(order, np.sqrt(squared[order]))
            halves.append(lower_envelope(rays.from_word(across, targets, ranking, norm=norm)))
        near, far = halves
        # Padding is t = ∞, θ = π/2, where both halves have the word of the largest ⟨v, τ⟩.
        middle = np.full((len(unit), 1), 0.5 * math.pi)
        beyond = (math.pi - np.arctan(far.thresholds))[:, ::-1]
        limits = np.concatenate((np.arctan(near.thresholds), middle, beyond), axis=1)
        return _merged(limits, np.concatenate((near.targets, far.targets[:, ::-1]), axis=1))


def _orthogonal(unit: FloatArray, origins: FloatArray) -> FloatArray:
    """Return rows projected across origins (one a row, or one for all), of length 1."""
    along = np.einsum("ij,ij->i", unit, np.broadcast_to(origins, unit.shape))
    return unit_rows(unit - along[:, None] * origins)


def _merged(limits: FloatArray, targets: IntArray) -> Steps:
    """Return steps without the thresholds at which the target stays the same."""
    changed = targets[:, 1:] != targets[:, :-1]
    width = int(changed.sum(axis=1).max(initial=0))
    order = np.argsort(~changed, axis=1, kind="stable")[:, :width]
    is_change = np.take_along_axis(changed, order, axis=1)
    thresholds = np.where(is_change, np.take_along_axis(limits, order, axis=1), np.inf)
    after = np.where(is_change, np.take_along_axis(targets[:, 1:], order, axis=1), targets[:, -1:])
    return Steps(thresholds, np.concatenate((targets[:, :1], after), axis=1))


@lru_cache(maxsize=2)
def _gauss_legendre(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes and weights on [−1, 1], and the Legendre polynomials there, a row each."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    table = np.asarray(np.polynomial.legendre.legvander(nodes, count - 1).T, dtype=np.float64)
    for array in (nodes, weights, table):
        array.setflags(write=False)
    return nodes, weights, table


@dataclass(frozen=True, eq=False, kw_only=True)
class VonMisesFisher(DirectionalMechanism):
    """Directions with the density ∝ e^(ε·⟨u, y⟩)."""

    key = "vmf.v1"
    short = "vmf"
    title = "Von Mises–Fisher noise"
    summary = (
        "Turns the word's direction by von Mises–Fisher noise; takes the word of nearest direction"
    )
    proof = Filled(
        "The density grows by e^(ε·cos) of the angle, and its normaliser is the same for all "
        "words, because a rotation moves each to each. Its logarithm changes by at most ε times "
        "the chord between the two directions, which is no longer than the angle. The nearest "
        "direction sees the noisy one alone."
    )

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return the bounds of the chord, which is at most 2."""
        promised = super().loss_bounds(guarantee).promised
        return LossBounds(min(promised, 2.0 * guarantee.epsilon))

    @staticmethod
    def fall(angle: FloatArray) -> FloatArray:
        """Return 1 − cos θ, without cancellation."""
        return np.asarray(2.0 * np.square(np.sin(0.5 * angle)))

    def mode(self, epsilon: FloatArray) -> FloatArray:
        """Return the θ with ε·sin² θ = (d − 2)·cos θ."""
        power, double = float(self._power), 2.0 * epsilon
        both = power + np.hypot(power, double)
        return np.asarray(np.arctan2(np.sqrt(2.0 * power / both), double / both))

    def propose(
        self, rng: np.random.Generator, count: int, epsilon: float
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Draw W = cos θ as Wood 1994 does, by way of 1 − W: it keeps its digits for large ε."""
        free = self.lexicon.dimension - 1.0
        b = free / (2.0 * epsilon + math.hypot(2.0 * epsilon, free))
        z = rng.beta(0.5 * free, 0.5 * free, size=count)
        # W = (1 − (1 + b)·Z)/(1 − (1 − b)·Z), so that tan²(θ/2) = (1 − W)/(1 + W) = b·Z/(1 − Z).
        angle = 2.0 * np.arctan2(np.sqrt(b * z), np.sqrt(1.0 - z))
        lost, centre = self.fall(angle), 2.0 * b / (1.0 + b)  # 1 − W, 1 − x₀
        ratio = (centre + (1.0 - centre) * lost) / (4.0 * b / (1.0 + b) ** 2)
        accepted = epsilon * (centre - lost) + free * np.log(ratio)
        return angle, accepted >= -rng.standard_exponential(count)


@dataclass(frozen=True, eq=False, kw_only=True)
class Purkayastha(DirectionalMechanism):
    """Directions with the density ∝ e^(−ε·∠(u, y))."""

    key = "purkayastha.v1"
    short = "purkayastha"
    title = "Purkayastha noise"
    summary = (
        "Turns the word's direction by an angle, the larger the less likely; takes the word of "
        "nearest direction"
    )
    proof = Filled(
        "The density falls by e^(−ε·angle), and its normaliser is the same for all words, because "
        "a rotation moves each to each. By the triangle inequality its logarithm changes by at "
        "most ε times the angle between the two directions. The nearest direction sees the noisy "
        "one alone."
    )

    @staticmethod
    def fall(angle: FloatArray) -> FloatArray:
        """Return θ."""
        return angle

    def mode(self, epsilon: FloatArray) -> FloatArray:
        """Return the θ with tan θ = (d − 2)/ε."""
        return np.asarray(np.arctan2(float(self._power), epsilon))

    def propose(
        self, rng: np.random.Generator, count: int, epsilon: float
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Draw from a constant between two tangents of the concave ln of the density."""
        strength = np.array([epsilon])
        mode = self.mode(strength)
        touch = np.concatenate(self.ends(strength, _TAILS))
        height = self._log_density(touch, strength, mode)
        slope = self._power / np.tan(touch) - epsilon  # > 0, < 0
        left, right = touch - height / slope  # where the tangents have the height of the mode
        masses = np.array([1.0 / slope[0], right - left, -1.0 / slope[1]])
        piece = np.searchsorted(np.cumsum(masses) / masses.sum(), rng.random(count), side="right")
        away, place = rng.standard_exponential(count), rng.random(count)
        flat = piece == 1
        tail = np.where(piece == 0, left - away / slope[0], right - away / slope[1])
        angle = np.where(flat, left + place * (right - left), tail)
        possible = (angle > 0) & (angle < math.pi)
        inside = np.where(possible, angle, mode)
        excess = self._log_density(inside, strength, mode) + np.where(flat, 0.0, away)
        return angle, possible & (excess >= -rng.standard_exponential(count))
