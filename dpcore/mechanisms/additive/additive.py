"""Mechanisms that add noise to a word's vector and publish the nearest word.

A `RadialMechanism` adds z = s(ε)·r·u to an origin and returns the nearest target. Members differ in
the family of (r, u), in the scale s(ε), and in the space: origins and targets may be clipped or
projected vectors in place of the lexicon's own.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import Rounding
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking, rank
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.points import (
    Decoding,
    Noise,
    Points,
    decoding_of,
    least_distance,
    own,
    radial_noise,
)
from dpcore.mechanisms.additive.rays import Bundle, Lines, Steps, lower_envelope
from dpcore.mechanisms.bulk import BATCH, by_paths
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.law import Effort, Law
from dpcore.mechanisms.mechanism import Mechanism, VectorNoise
from dpcore.mechanisms.path import EpsilonPaths, in_epsilon
from dpcore.mechanisms.settings import EpsilonRange
from dpcore.noise.samplers import Radial, directions, radii, radius_cdf
from dpcore.noise.streams import generator

# Base class: noise on a word's vector, then a choice among the words near the noisy vector.


_POOLED = 4_096  # noisy vectors that share a search: 10 MB at 300 dimensions


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyMechanism(Mechanism):
    """Nearest target to an origin plus noise, unless a member chooses otherwise."""

    accepts_approximate_search = True

    # -- required of a member

    @abstractmethod
    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """Return origins of words plus fresh noise, (k, p) (see `Mechanism.noisy_vectors`)."""

    @abstractmethod
    def noise_bounds(self, epsilon: float) -> Noise:
        """Return the properties of the noise at ε that the bound on its rounding needs."""

    # -- optional for a member

    @property
    def points(self) -> Points:
        """Targets, with quantities that are computed from them once."""
        return own(self.lexicon)

    @property
    def targets(self) -> Float32Array:
        """Public points that the noisy vector is compared with, shape (n, p)."""
        return self.points.vectors

    @property
    def origins(self) -> Float32Array:
        """Points that the noise is added to, shape (n, p)."""
        return self.lexicon.vectors

    @property
    def offset(self) -> float:
        """Bound on the distance of an origin from its own target."""
        return 0.0

    @property
    def separation(self) -> float | None:
        """Least distance above 0 of two targets, or a lower bound; None if unknown."""
        return least_distance(self.lexicon, self.points)

    def coins(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw the random numbers of `choose`, one per output; this base class needs none."""
        return np.empty(0)

    def choose(
        self, coins: FloatArray, noisy: FloatArray, index: NeighbourIndex | None
    ) -> IntArray:
        """Return the output for each noisy vector: the nearest target."""
        return self.points.search(noisy) if index is None else index.search(noisy, 1)[0][:, 0]

    # -- derived

    @property
    def dimension(self) -> int:
        """Dimension p of the noise."""
        return int(self.targets.shape[1])

    def decoding(self, epsilon: float) -> Decoding | None:
        """Return the noise at ε and the targets, for bounds; None if `separation` is unknown."""
        return decoding_of(self.points, self.separation, self.offset, self.noise_bounds(epsilon))

    def rounding(self, epsilon: float) -> Rounding | None:
        """Return a bound on the effect of floating point on the law at ε.

        See `mechanisms.additive.points`. None where no bound is known: for points other than the
        lexicon's own in a large vocabulary the least distance is not computed, and two points may
        be too close.
        """
        decoding = self.decoding(epsilon)
        return None if decoding is None else decoding.rounding()

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw one output per entry of `words`, each with fresh noise (see `Mechanism.sample`).

        An approximate index is allowed: it sees only the noisy vector (post-processing).
        """
        words, epsilon = self.check_words(words), self.check_epsilon(epsilon)
        if index is not None and self.targets is not self.lexicon.vectors:
            msg = f"{self.short} with these settings searches its own points: use no index"
            raise ParameterError(msg)
        outputs = np.empty(words.size, dtype=np.int64)
        for i in range(0, words.size, BATCH):
            part = words[i : i + BATCH]
            noisy = self.noisy_vectors(rng, part, epsilon)
            outputs[i : i + BATCH] = self.choose(self.coins(rng, part.size), noisy, index)
        return outputs

    def bulk(self, epsilon: float) -> NoisyBulk:
        """Return a sampler that searches for the noisy vectors of many documents at once."""
        return NoisyBulk(self, epsilon)


class NoisyBulk:
    """Sampler with each document's own noise stream and one search for many documents."""

    shared_laws = None

    def __init__(self, mechanism: NoisyMechanism, epsilon: float) -> None:
        """Store the mechanism and ε."""
        self._mechanism, self._epsilon = mechanism, mechanism.check_epsilon(epsilon)

    def __call__(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> IntArray:
        """See `dpcore.mechanisms.bulk.Bulk`."""
        words = self._mechanism.check_words(words) if words.size else words
        outputs = np.empty(words.size, dtype=np.int64)
        waiting: list[tuple[FloatArray, FloatArray]] = []
        first = done = 0
        for noisy, coins in self._drawn(rngs, words, offsets):
            waiting.append((noisy, coins))
            done += len(noisy)
            if done - first >= _POOLED:
                outputs[first:done] = self._choose(waiting)
                waiting, first = [], done
        if waiting:
            outputs[first:done] = self._choose(waiting)
        return outputs

    def _drawn(
        self, rngs: Sequence[np.random.Generator], words: IntArray, offsets: IntArray
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield noisy vectors and coins in the order of `sample`, at most `BATCH` at a time."""
        for i, rng in enumerate(rngs):
            stop = int(offsets[i + 1])
            for start in range(int(offsets[i]), stop, BATCH):
                part = words[start : min(start + BATCH, stop)]
                noisy = self._mechanism.noisy_vectors(rng, part, self._epsilon)
                yield noisy, self._mechanism.coins(rng, part.size)

    def _choose(self, waiting: list[tuple[FloatArray, FloatArray]]) -> IntArray:
        noisy = np.concatenate([vectors for vectors, _ in waiting])
        coins = np.concatenate([numbers for _, numbers in waiting])
        return self._mechanism.choose(coins, noisy, None)


@dataclass(frozen=True, eq=False, kw_only=True)
class RadialMechanism(NoisyMechanism):
    """Nearest target to origin + s(ε)·r·u.

    ε→0 gives the law of argmax_y ⟨u, τ_y⟩ (independent of the word, but not uniform); ε→∞ gives
    the target nearest to the origin.
    """

    family: ClassVar[Radial]
    keep: ClassVar[int] = 1
    """Number of nearest targets the output depends on; if above 1, override `choose` and `steps`.
    """

    # -- optional for a member

    @property
    def sensitivity(self) -> float:
        """Largest distance of two origins in the norm of the noise, per unit of distance.

        Or between any two words, where ε bounds the loss of any two words.
        """
        return 1.0

    def scale(self, epsilon: float) -> float:
        """Return s(ε) > 0, decreasing: the sensitivity over ε."""
        return self.sensitivity / epsilon

    def epsilon_of(self, scale: FloatArray) -> FloatArray:
        """Return the ε with this scale, elementwise (the inverse of `scale`)."""
        return self.sensitivity / scale

    def shaped(self, vectors: FloatArray) -> FloatArray:
        """Return rows mapped by the symmetric map that shapes the noise; the identity here."""
        return vectors

    def directions(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw noise directions, shape (count, p)."""
        return self.shaped(directions(rng, self.family, count, self.targets.shape[1]))

    @property
    def direction_key(self) -> tuple[object, ...]:
        """Key that is equal for two mechanisms whose directions and targets can be shared."""
        sphere = self.family is not Radial.LAPLACE
        return (sphere, self.lexicon.fingerprint, self._target_key)

    @property
    def _target_key(self) -> object:
        """Key that distinguishes the targets from the lexicon's own vectors."""
        return (
            None if self.targets is self.lexicon.vectors else (self.key, *self.settings().items())
        )

    def steps(self, rng: np.random.Generator, candidates: Lines, unit: FloatArray) -> Steps:
        """Return the output as a step function of the noise length t, one row a ray."""
        return lower_envelope(candidates)

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """Return origins of words plus fresh noise, (k, p) (see `Mechanism.noisy_vectors`)."""
        words, scale = self.check_words(words), self.scale(self.check_epsilon(epsilon))
        unit = self.directions(rng, words.size)
        length = scale * radii(rng, self.family, words.size, self.dimension)
        return self.origins[words] + unit * length[:, None]

    def noise_bounds(self, epsilon: float) -> Noise:
        """Return the properties of the noise at ε that the bound on its rounding needs."""
        return radial_noise(self.family, self.dimension, self.scale(epsilon))

    # -- the protocol

    @property
    def admissible(self) -> EpsilonRange:
        """Range of ε whose noise has a finite squared length in float64."""
        # A radius is about p/ε or less than 1e4/ε, and what is squared must stay below 1e308.
        return EpsilonRange(low=1e-140, low_reason="below it the noise overflows a float64")

    @property
    def norm(self) -> float:
        """Largest norm of a target."""
        return self.points.norm

    @property
    def in_lexicon_space(self) -> bool:
        """True if origins and targets are the lexicon's own vectors."""
        return self.targets is self.lexicon.vectors and self.origins is self.lexicon.vectors

    def rankings(
        self, words: IntArray, known: Sequence[Ranking] | None = None
    ) -> Sequence[Ranking]:
        """Return the targets by distance from the origin of each entry of `words`."""
        if known is not None and self.in_lexicon_space:
            return known
        distinct, back = np.unique(words, return_inverse=True)
        ranked = rank(self.targets, self.origins[distinct])
        return [ranked[i] for i in back]

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry of `words`; return its output at every ε, with exact breaks."""
        words = self.check_words(words)
        if not words.size:
            return EpsilonPaths.none()
        unit, radius = self._noise(rng, words.size)
        known = self.rankings(words, rankings)
        if words.size > 1 and np.all(words == words[0]):
            candidates = rays.from_word(
                unit, self.targets, known[0], keep=self.keep, norm=self.norm
            )
        else:
            candidates = rays.from_words(unit, self.targets, known, keep=self.keep, norm=self.norm)
        steps = self.steps(rng, candidates, unit)
        # The noise has length t = s·r: a threshold in t gives one in s, and so one in ε.
        scales = steps.thresholds / radius[:, None]
        return in_epsilon(words, scales, steps.targets, self.epsilon_of)

    def _noise(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
        """Draw the directions u and radii r of `paths`, shapes (count, p) and (count,)."""
        unit = self.directions(rng, count)
        return unit, radii(rng, self.family, count, self.dimension)

    def path_lengths(
        self, rng: np.random.Generator, count: int, epsilons: FloatArray
    ) -> FloatArray | None:
        """Return s(ε)·r·‖u‖ of each draw of `paths`; None for clipped or projected vectors."""
        if not self.in_lexicon_space:
            return None
        unit, radius = self._noise(rng, count)
        scales = np.array([self.scale(float(epsilon)) for epsilon in epsilons])
        return np.asarray((radius * np.linalg.norm(unit, axis=1))[:, None] * scales)

    def bundle(self, rng: np.random.Generator, count: int) -> rays.Bundle:
        """Return directions that the laws of many words can share: they depend on no word."""
        return rays.Bundle(self.directions(rng, count), self.targets)

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
        bundle: rays.Bundle | None = None,
    ) -> Law:
        """Estimate the law (Rao–Blackwell): directions are drawn, the radius is integrated out.

        P(y|w) = E_u Σ_k [F(t_{k+1}/s) − F(t_k/s)] 1{y_k = y}, F the law of the radius: a smooth
        function of ε from one set of directions. A `bundle` of directions can be shared by the laws
        of many words; otherwise `rng`, or `estimating`, draws `effort.directions` of them.
        """
        values, effort = self.check_epsilons(epsilon), effort or Effort()
        rng = rng or self.estimating()
        words = self.check_words([word])
        known = self.rankings(words, None if ranking is None else [ranking])[0]
        if bundle is None:
            unit = self.directions(rng, effort.directions)
            candidates = rays.from_word(unit, self.targets, known, keep=self.keep, norm=self.norm)
        else:
            unit, candidates = bundle.unit, bundle.from_word(known, keep=self.keep)
        steps = self.steps(rng, candidates, unit)
        scales = np.array([self.scale(float(value)) for value in values])

        def below(scale: float) -> FloatArray:
            return radius_cdf(self.family, steps.thresholds / scale, self.dimension)

        outputs, probabilities, error = rays.integrate(steps, below, scales, len(self.targets))
        count = len(unit)
        method = f"Rao–Blackwell over {count} directions"
        word = int(words[0])
        return Law(self.lexicon, word, values, outputs, probabilities, False, error, method, count)

    # -- hooks

    @property
    def rays(self) -> RadialMechanism:
        """This mechanism: the directions of its noise serve every ε."""
        return self

    def vector_noise(self, epsilon: float) -> VectorNoise:
        """Return the noise at ε, unclipped and round."""
        scale = self.scale(epsilon)
        return VectorNoise(origins=self.origins, family=self.family, scale=scale, rate=1.0 / scale)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Find argmin_y ‖τ_y‖²/2 − ⟨o_w, τ_y⟩ − s(ε)·r·⟨u, τ_y⟩; all ε share both products."""
        if self.keep > 1:  # the output is not the nearest target
            return by_paths(self, rng, entries, epsilons, progress)
        targets, origins = self.targets, self.origins
        half = 0.5 * np.einsum("ij,ij->i", targets, targets)
        scales = np.array([self.scale(float(value)) for value in epsilons])
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        # Of each score, the part that is fixed and the part that the noise moves.
        lines = np.empty((2, len(targets)), dtype=np.float32)
        scores = np.empty((epsilons.size, len(targets)), dtype=np.float32)
        order = np.argsort(entries, kind="stable")  # equal words together share a product
        for start in range(0, entries.size, BATCH):
            places = order[start : start + BATCH]
            part = entries[places]
            unit = self.directions(rng, part.size).astype(np.float32)
            sizes = radii(rng, self.family, part.size, self.dimension)[:, None] * scales
            reach = unit @ targets.T
            distinct, back = np.unique(part, return_inverse=True)
            still = half - origins[distinct] @ targets.T
            # A common factor keeps the numbers in the range of float32 at the smallest ε.
            factors = np.stack((1.0 / np.maximum(sizes, 1.0), -np.minimum(sizes, 1.0)), axis=2)
            factors32, last = factors.astype(np.float32), -1
            for i, row in enumerate(back.tolist()):
                if row != last:
                    lines[0], last = still[row], row
                lines[1] = reach[i]
                np.matmul(factors32[i], lines, out=scores)
                outputs[places[i]] = scores.argmin(axis=1)
            progress(self.short, min(start + BATCH, entries.size), entries.size)
        return outputs


# Laws of many words from one set of noise directions.


_KEPT = 3  # sets of directions: those of a page with all mechanisms at their defaults
_PUBLIC_SEED = 0  # seeds estimates of a law, which protect nothing


@dataclass
class SharedDirections:
    """Noise directions that estimate the laws of all words, for mechanisms that can share them.

    They depend on no input, so one instance can serve all sessions.
    """

    effort: Effort = field(default_factory=Effort)
    _bundles: OrderedDict[tuple[object, ...], Bundle] = field(
        default_factory=OrderedDict, repr=False
    )
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def bundle(self, mechanism: RadialMechanism) -> Bundle:
        """Return the directions of this mechanism; the last few are cached (they are large)."""
        key = mechanism.direction_key
        with self._busy:
            if key not in self._bundles:
                rng = generator(_PUBLIC_SEED, "directions")
                self._bundles[key] = mechanism.bundle(rng, self.effort.directions)
            self._bundles.move_to_end(key)
            while len(self._bundles) > _KEPT:
                self._bundles.popitem(last=False)
            return self._bundles[key]

    def law(
        self,
        mechanism: Mechanism,
        word: int,
        epsilons: FloatArray | Sequence[float],
        ranking: Ranking,
    ) -> Law:
        """Return the law of one word: exact where possible, else from the shared directions."""
        rng = generator(_PUBLIC_SEED, "law", mechanism.key)
        if (radial := mechanism.rays) is not None:
            bundle = self.bundle(radial)
            return radial.law(word, epsilons, rng=rng, ranking=ranking, bundle=bundle)
        return mechanism.law(word, epsilons, rng=rng, ranking=ranking, effort=self.effort)


# Noise of a random length along a random geodesic, in a space that is not flat.


@dataclass(frozen=True, eq=False, kw_only=True)
class GeodesicMechanism(Mechanism):
    """Nearest word to a point at a random length along a uniform direction from a word's point.

    The output is a step function of the length along each direction, and the length falls as ε
    rises, at any quantile.
    """

    # -- required of a member

    @abstractmethod
    def steps(self, word: int, unit: FloatArray) -> Steps:
        """Return the nearest word as a step function of the length along each direction."""

    @abstractmethod
    def below(self, lengths: FloatArray, epsilon: float) -> FloatArray:
        """Return P(length ≤ ·), elementwise; ∞ gives 1."""

    @abstractmethod
    def inverse_epsilon(self, lengths: FloatArray, share: FloatArray) -> FloatArray:
        """Return 1/ε for the ε at which P(length ≤ ·) is this share, shape (k, P).

        ∞ where no ε does that, and for padding.

        Args:
            lengths: ascending, padded with +inf, shape (k, P).
            share: shape (k,).
        """

    # -- derived

    def directions(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw uniform directions, shape (count, d)."""
        return directions(rng, Radial.L2LAPLACE, count, self.lexicon.dimension)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw one exact step function of ε per entry: a direction, and a quantile of the length.

        At a quantile the length falls as ε rises, so it passes each threshold at one ε.
        """
        entries = self.check_words(words)
        if not entries.size:
            return replace(EpsilonPaths.none(), low=self.admissible.low)
        unit, share = self.directions(rng, entries.size), rng.random(entries.size)
        places, parts = [], []
        for word, members in zip(*by_word(entries), strict=True):
            steps = self.steps(word, unit[members])
            inverse = self.inverse_epsilon(steps.thresholds, share[members])
            parts.append(in_epsilon(entries[members], inverse, steps.targets, lambda s: 1.0 / s))
            places.append(members)
        joined, back = EpsilonPaths.join(parts), np.argsort(np.concatenate(places))
        return replace(
            joined,
            words=entries,
            breaks=joined.breaks[back],
            outputs=joined.outputs[back],
            low=self.admissible.low,
        )

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
        unit: FloatArray | None = None,
    ) -> Law:
        """Estimate the law (Rao–Blackwell): directions are drawn, the length is integrated out.

        Args:
            word: the word, or its index.
            epsilon: one value or several.
            rng: source of the directions; None takes `estimating`.
            ranking: not used.
            effort: number of directions.
            unit: directions to use instead of drawing, shape (N, d).
        """
        values, index = self.check_epsilons(epsilon), int(self.check_words([word])[0])
        if unit is None:
            unit = self.directions(rng or self.estimating(), (effort or Effort()).directions)
        steps, count = self.steps(index, unit), len(unit)

        def below(value: float) -> FloatArray:
            return self.below(steps.thresholds, value)

        outputs, probabilities, error = rays.integrate(steps, below, values, len(self.lexicon))
        method = f"Rao–Blackwell over {count} directions"
        return Law(self.lexicon, index, values, outputs, probabilities, False, error, method, count)
