"""Multivariate Laplace noise (Madlib): round, stretched, projected, and with a Vickrey choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Rounding, Status
from dpcore.lexicon.extent import image_separation, largest_stretch
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import gamma
from dpcore.lexicon.neighbours import ExactIndex, NeighbourIndex
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.additive.points import Noise, Points, derived_points, radial_noise
from dpcore.mechanisms.additive.rays import Lines, Steps, crossings, farthest
from dpcore.mechanisms.bulk import BATCH
from dpcore.mechanisms.mechanism import VectorNoise
from dpcore.mechanisms.settings import parameter
from dpcore.noise.samplers import Radial, radii
from dpcore.written import Filled


@dataclass(frozen=True, eq=False, kw_only=True)
class MultivariateLaplace(RadialMechanism):
    """Madlib (CMP): z with density ∝ exp(−ε‖z‖₂), pure ε·‖φ_w − φ_w′‖₂."""

    key = "madlib.v1"
    short = "madlib"
    title = "Multivariate Laplace (Madlib)"
    summary = "Moves the word's vector in a random direction; takes the nearest word"
    source = "Fernandes et al. 2019; Feyisetan et al. 2020, Theorem 2"
    cited: ClassVar[tuple[str, ...]] = ("fernandes2019obfuscation", "feyisetan2020madlib")
    meaning = EpsilonMeaning.METRIC
    family = Radial.L2LAPLACE

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: metric privacy, by the triangle inequality on the log-density."""
        value = self.check_epsilon(epsilon)
        return MetricPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=Filled(
                "The log-density of the noise changes by at most ε times the distance moved."
            ),
            source=self.source,
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Mahalanobis(MultivariateLaplace):
    """Elliptical noise ∝ exp(−ε‖z‖_RM), ‖z‖_RM² = zᵀS⁻¹z, S = λΣ + (1−λ)I.

    Σ is the covariance of the vocabulary scaled to trace d. Pure ε·d_RM; in Euclidean terms
    ε/√λ_min(S). λ = 0 is the multivariate Laplace mechanism.
    """

    key = "mahalanobis.v1"
    short = "mahalanobis"
    title = "Regularised Mahalanobis"
    summary = "As Madlib, with noise stretched along the vocabulary's own spread"
    source = "Xu, Aggarwal, Feyisetan, Teissier 2020, Theorem 1"
    cited: ClassVar[tuple[str, ...]] = ("xu2020mahalanobis",)

    lam: float = parameter(
        0.2, low=0.0, high=1.0, help="λ: share of the vocabulary's covariance in the noise's shape"
    )

    @property
    def share(self) -> float:
        """λ in effect; at 0 this is the multivariate Laplace mechanism."""
        return self.lam

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (ascending) and eigenvectors of S."""
        vectors = self.lexicon.vectors
        mean = vectors.mean(axis=0, dtype=np.float64)
        total = np.zeros((vectors.shape[1], vectors.shape[1]))
        for i in range(0, vectors.shape[0], 4096):
            part = vectors[i : i + 4096] - mean
            total += part.T @ part
        # Trace d, as for the identity, so that λ mixes two shapes of the same size.
        total *= vectors.shape[1] / np.trace(total)
        shape = self.share * total + (1.0 - self.share) * np.eye(vectors.shape[1])
        values, axes = np.linalg.eigh(shape)
        if not values[0] > 1e-12:
            msg = (
                f"the noise shape of mahalanobis is singular (smallest eigenvalue {values[0]:.3g}, "
                "needs > 1e-12): choose a smaller lam"
            )
            raise ParameterError(msg)
        return values, axes

    @property
    def smallest_eigenvalue(self) -> float:
        """λ_min(S): the Euclidean guarantee is ε/√λ_min(S)."""
        return float(self._spectrum[0][0])

    @property
    def _stretches(self) -> tuple[float, float]:
        """√λ of S, the smallest rounded down and the largest rounded up.

        A computed eigenvalue is off by a modest multiple of u‖S‖ (LAPACK Users' Guide, 3rd ed.,
        section 4.7). The multiple is taken as 10d, which is assumed and not proved.
        """
        values = self._spectrum[0]
        error = gamma(10.0 * values.size) * float(values[-1])
        return math.sqrt(float(values[0]) - error), math.sqrt(float(values[-1]) + error)

    def noise_bounds(self, epsilon: float) -> Noise:
        """Return the bounds of round noise, stretched by the roots of the eigenvalues of S."""
        if self.share == 0:
            return super().noise_bounds(epsilon)
        least, most = self._stretches
        return radial_noise(self.family, self.dimension, self.scale(epsilon), most, least)

    def vector_noise(self, epsilon: float) -> VectorNoise:
        """Return the noise at ε, in the shape of S."""
        return replace(super().vector_noise(epsilon), covariance=self.share or None)

    def shaped(self, vectors: FloatArray) -> FloatArray:
        """Return S^{1/2}·x; a direction is S^{1/2}·u, u on the unit sphere, not renormalised."""
        if self.share == 0:
            return vectors
        values, axes = self._spectrum
        return np.asarray(((vectors @ axes) * np.sqrt(values)) @ axes.T)

    @property
    def direction_key(self) -> tuple[object, ...]:
        """Key with λ: only mechanisms with the same λ share directions of the ellipsoid."""
        return (*super().direction_key, self.share) if self.share else super().direction_key

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: metric privacy in the regularised Mahalanobis metric, proved."""
        value = self.check_epsilon(epsilon)
        # ‖z‖_RM ≤ ‖z‖₂/√λ_min(S), with the eigenvalue rounded down.
        factor = 1.0 if self.lam == 0 else 1.0 / self._stretches[0]
        return MetricPrivacy(
            epsilon=value,
            metric="regularised Mahalanobis",
            euclidean_factor=float(factor),
            status=Status.PROVED,
            reason=Filled(
                "As for multivariate Laplace, in the metric of the public covariance; in Euclidean "
                "distance its parameter is {parameter:.4g}.",
                parameter=value * factor,
            ),
            source=self.source,
            rounding=self.rounding(value),
        )


# Random projection (Feyisetan and Kasiviswanathan 2021): noise in fewer dimensions.
#
# A public Gaussian matrix maps the vectors to R^m, where multivariate Laplace noise is added; a
# smaller dimension needs less noise. The loss is ε per unit of *projected* distance, so the loss
# per unit of true distance depends on how much the matrix stretches the vocabulary.


def projection_matrix(dimension: int, onto: int, seed: int) -> FloatArray:
    """Return the public matrix, shape (d, m), entries N(0, 1/m), float64, from its seed."""
    rng = np.random.default_rng([seed, dimension, onto])
    return np.asarray(rng.standard_normal((dimension, onto)) / math.sqrt(onto))


def stretch_quantile(vocabulary: int, onto: int, delta: float) -> float:
    """Return 1 + β: no pair of n words is stretched by more, with probability ≥ 1 − δ.

    The probability is over the matrix. ‖Φx‖²/‖x‖² is χ²_m/m for one pair; the union is over the
    n(n−1)/2 pairs.
    """
    from scipy.stats import chi2

    pairs = vocabulary * (vocabulary - 1) / 2
    return math.sqrt(float(chi2.isf(delta / pairs, onto)) / onto)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomProjection(MultivariateLaplace):
    """Multivariate Laplace noise on randomly projected vectors.

    `form` "exact": noise at ε/L, L the exact largest stretch of the vocabulary under this matrix:
    pure ε·d₂ on the vocabulary, no δ. `form` "paper": noise at ε; (1+β)·ε·d₂ holds for matrices
    that stretch no pair by more than 1 + β, a 1 − δ share of all.
    """

    key = "random-projection.v1"
    short = "random-projection"
    title = "Random projection"
    summary = "Madlib in a space of fewer dimensions, where noise is smaller"
    source = "Feyisetan and Kasiviswanathan 2021"
    cited: ClassVar[tuple[str, ...]] = ("feyisetan2021projection",)

    dimensions: int = parameter(
        50, low=1, high=4096, help="m: dimension that the vectors are projected to"
    )
    matrix_seed: int = parameter(
        0, low=0, high=2**53 - 1, help="seed of the public projection matrix"
    )
    form: str = parameter(
        "exact",
        choices=("exact", "paper"),
        help="exact: scaled by this matrix's largest stretch; paper: (1+β)ε with probability 1−δ",
    )
    delta: float = parameter(
        1e-6, low=1e-300, high=0.5, help="δ of the paper's form: share of matrices that fail"
    )

    @property
    def points(self) -> Points:
        """Projected vocabulary, with quantities that are computed from it once."""
        return derived_points(
            self.lexicon, ("projected", self.dimensions, self.matrix_seed), self._project
        )

    def _project(self) -> Float32Array:
        matrix = projection_matrix(self.lexicon.dimension, self.dimensions, self.matrix_seed)
        # Rounded to a public grid, far finer than any distance and far coarser than the rounding
        # of the product, so that every machine has the same points and the same stretch.
        grid = 2.0 ** (math.floor(math.log2(self.lexicon.largest_norm)) - 16)
        projected = (np.rint(self.lexicon.vectors @ matrix / grid) * grid).astype(np.float32)
        projected.setflags(write=False)
        return projected

    @property
    def origins(self) -> Float32Array:
        """Projected vocabulary, shape (n, m)."""
        return self.targets

    @cached_property
    def stretch(self) -> float:
        """L = max ‖Φ(φ_w − φ_w′)‖/‖φ_w − φ_w′‖ over all pairs of the vocabulary, rounded up."""
        # Operations: two sums of squares and the differences in them, two roots, a quotient.
        terms = self.lexicon.dimension + self.dimensions + 8.0
        return largest_stretch(self.lexicon, self.targets, self._label) * (1.0 + gamma(terms))

    @cached_property
    def separation(self) -> float | None:
        """Least distance above 0 of two projected words, over all pairs."""
        return image_separation(self.lexicon, self.targets, self._label)

    @property
    def _label(self) -> str:
        return f"projection-{self.dimensions}-{self.matrix_seed}"

    @property
    def sensitivity(self) -> float:
        """L, or 1 in the paper's form."""
        return self.stretch if self.form == "exact" else 1.0

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: metric privacy (exact form), (1+β)ε under a condition (paper's)."""
        value = self.check_epsilon(epsilon)
        if self.form == "exact":
            return MetricPrivacy(
                epsilon=value,
                status=Status.PROVED,
                reason=Filled(
                    "The noise is scaled by the largest stretch of this public matrix over all "
                    "pairs of words, {stretch:.4g}.",
                    stretch=self.stretch,
                ),
                source=Filled("{source}; stretch computed", source=self.source),
                rounding=self.rounding(value),
            )
        bound = stretch_quantile(len(self.lexicon), self.dimensions, self.delta)
        return MetricPrivacy(
            epsilon=value * bound,
            status=Status.CONDITIONAL,
            reason=Filled(
                "Holds if the matrix stretches no pair by more than 1 + β = {bound:.4g}, which "
                "fails for a share of at most {share:.3g} of all matrices.",
                bound=bound,
                share=self.delta,
            ),
            source=Filled("{source}, with β from the exact law of one stretch", source=self.source),
            rounding=self.rounding(value),
        )


# Vickrey: the second-nearest word gets a chance (Xu, Aggarwal, Feyisetan, Teissier 2021).
#
# The noisy vector ẑ comes from one of the radial mechanisms; y₁, y₂ are the words nearest to it, at
# distances s₁ ≤ s₂. The output is y₁ with probability (1−t)s₂/(t·s₁ + (1−t)s₂), else y₂. The choice
# sees ẑ and never the private word, so the guarantee is that of the noise.


@lru_cache(maxsize=1)
def _exact_index(lexicon: Lexicon) -> ExactIndex:
    """Return the index of the lexicon, cached: building costs more than a few searches."""
    return ExactIndex(lexicon.vectors)


@dataclass(frozen=True, eq=False, kw_only=True)
class Vickrey(Mahalanobis):
    """Second-price choice between the two words nearest to the noisy vector.

    t = 0 is the mechanism of the noise alone, t = 1 always takes the second word; 0/0 takes the
    first.
    """

    key = "vickrey.v1"
    short = "vickrey"
    title = "Vickrey"
    summary = "As Madlib, but the second-nearest word may win"
    source = "Xu, Aggarwal, Feyisetan, Teissier 2021, post-processing"
    cited: ClassVar[tuple[str, ...]] = ("xu2021vickrey",)
    keep = 2

    t: float = parameter(
        0.75, low=0.0, high=1.0, help="t: weight of the second-nearest word (0: never chosen)"
    )
    noise: str = parameter(
        "laplace",
        choices=("laplace", "mahalanobis"),
        help="the noise: multivariate Laplace, or regularised Mahalanobis with lam",
    )

    @property
    def share(self) -> float:
        """λ, or 0 for multivariate Laplace noise; it determines the noise."""
        return self.lam if self.noise == "mahalanobis" else 0.0

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee of the noise, in its metric: the choice is post-processing."""
        if self.noise == "mahalanobis":
            return super().guarantee(epsilon)
        return super(Mahalanobis, self).guarantee(epsilon)

    def rounding(self, epsilon: float) -> Rounding | None:
        """Bound the rounding as for the noise; the choice of two words makes it total variation."""
        decoding = self.decoding(epsilon)
        if decoding is None:
            return None
        decoding = replace(decoding, always_near=True)
        return decoding.rounding_of_two(self.t) if self.t > 0 else decoding.rounding()

    def odds_bar(self, coin: FloatArray) -> FloatArray:
        """Return κ² with "y₁ is chosen ⟺ s₁² ≤ κ²·s₂²", for a uniform coin in [0, 1)."""
        # U < (1−t)s₂/(t·s₁ + (1−t)s₂) ⟺ s₁·U·t < s₂·(1−U)(1−t); squares need no roots.
        with np.errstate(divide="ignore"):
            return np.square(np.divide((1.0 - coin) * (1.0 - self.t), coin * self.t))

    def coins(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw a uniform number for each output, shape (count,)."""
        return rng.random(count)

    def choose(
        self, coins: FloatArray, noisy: FloatArray, index: NeighbourIndex | None
    ) -> IntArray:
        """Return one of the two nearest words, by the coin of each noisy vector."""
        pair, near = (index or _exact_index(self.lexicon)).search(noisy, 2)
        bar = self.odds_bar(coins)
        wins = first_wins(np.square(near[:, 0]), np.square(near[:, 1]), bar)
        return np.where(wins, pair[:, 0], pair[:, 1])

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Sample at all ε by the two least ‖τ_y‖²/2 − ⟨o_w, τ_y⟩ − s(ε)·r·⟨u, τ_y⟩.

        The coin is that of `paths`.
        """
        targets, origins = self.targets, self.origins
        half = 0.5 * np.einsum("ij,ij->i", targets, targets)
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        for start in range(0, entries.size, BATCH):
            part = entries[start : start + BATCH]
            unit = self.directions(rng, part.size)
            radius = radii(rng, self.family, part.size, self.dimension)
            bar = self.odds_bar(self.coins(rng, part.size))
            reach, rows = unit.astype(np.float32) @ targets.T, np.arange(part.size)
            still = half - origins[part] @ targets.T
            for e, epsilon in enumerate(epsilons.tolist()):
                sizes = self.scale(epsilon) * radius
                # A common factor keeps the numbers in the range of float32 at the smallest ε.
                factors = np.stack((1.0 / np.maximum(sizes, 1.0), np.minimum(sizes, 1.0)))
                stays, moves = factors.astype(np.float32)[:, :, None]
                scores = stays * still - moves * reach
                noisy = origins[part] + sizes[:, None] * unit
                first = scores.argmin(axis=1)
                scores[rows, first] = np.inf
                second = scores.argmin(axis=1)
                s1, s2 = (np.square(noisy - targets[y]).sum(axis=1) for y in (first, second))
                outputs[start + rows, e] = np.where(first_wins(s1, s2, bar), first, second)
            progress(self.short, start + part.size, entries.size)
        return outputs

    def steps(self, rng: np.random.Generator, candidates: Lines, unit: FloatArray) -> Steps:
        """Return the output along each ray, one coin a ray: exact, one quadratic per (y₁, y₂)."""
        bar = self.odds_bar(np.asarray(rng.random(unit.shape[0])))
        return choose_along(two_nearest(candidates), unit, bar)


def first_wins(s1: FloatArray, s2: FloatArray, bar: FloatArray) -> NDArray[np.bool_]:
    """Return True where s₁² ≤ κ²·s₂² (squares given); 0/0 goes to the first word."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((s1 <= bar * s2) | np.isinf(bar) | (s1 == 0))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The two nearest targets as step functions of t, shape (rays, P) each.

    The pair of column j holds from starts[:, j] to starts[:, j+1]; padding starts at +inf.
    `squared` and `reach` have a last axis of two: the first and the second; reach is relative to
    the origin, so that s² = ‖u‖²t² − 2t·reach + squared.
    """

    starts: FloatArray
    targets: IntArray
    squared: FloatArray
    reach: FloatArray


def two_nearest(candidates: Lines) -> Pairs:
    """Find the two nearest targets along each ray, walking along t from event to event.

    In an event the second overtakes the first, or another target overtakes the second.
    """
    everyone = np.arange(candidates.reach.shape[0])
    real = np.isfinite(candidates.reach)
    first = farthest(candidates, candidates.squared <= candidates.squared[:, :1])
    others = real.copy()
    others[everyone, first] = False
    distance = np.where(others, candidates.squared, np.inf)
    second = farthest(candidates, distance <= distance.min(axis=1, keepdims=True))
    now = np.zeros(everyone.size)
    starts, firsts, seconds = [now], [first], [second]
    while True:
        # Two events: the second overtakes the first (they swap), or a third overtakes the second.
        t = crossings(candidates, second)
        t[everyone, first] = np.inf
        third = t.min(axis=1)
        overtaken = farthest(candidates, t <= third[:, None])
        swap = crossings(candidates, first)[everyone, second]
        soonest = np.minimum(swap, third)
        alive = np.isfinite(soonest)
        if not alive.any():
            break
        swaps, replaces = alive & (swap <= third), alive & (swap > third)
        first, second = (
            np.where(swaps, second, first),
            np.where(swaps, first, np.where(replaces, overtaken, second)),
        )
        now = np.where(alive, np.maximum(now, soonest), np.inf)
        starts.append(now)
        firsts.append(first)
        seconds.append(second)
    pair = np.stack((np.stack(firsts, axis=1), np.stack(seconds, axis=1)), axis=2)
    row = everyone[:, None, None]
    # The origin is the ray's own word, its nearest target: the first candidate.
    reach = candidates.reach[row, pair] - candidates.reach[:, :1, None]
    squared = candidates.squared[row, pair]
    return Pairs(np.stack(starts, axis=1), candidates.targets[row, pair], squared, reach)


def choose_along(pairs: Pairs, unit: FloatArray, bar: FloatArray) -> Steps:
    """Return the chosen word along each ray: s₁² − κ²s₂² is a quadratic in t between two events."""
    # s_i² = ‖u‖²t² − 2a_i·t + D_i², so s₁² − κ²s₂² = q₂t² + 2h·t + c; κ² is ∞ where t = 0.
    length = np.einsum("ij,ij->i", unit, unit)[:, None]
    k = np.minimum(bar, 1e30)[:, None]
    (d1, d2), (a1, a2) = np.moveaxis(pairs.squared, 2, 0), np.moveaxis(pairs.reach, 2, 0)
    quadratic, half, constant = (1 - k) * length, -(a1 - k * a2), d1 - k * d2
    with np.errstate(invalid="ignore", divide="ignore"):
        # Both roots without cancellation: q/q₂ and c/q with q = −(h + sgn(h)·√(h² − q₂c)).
        root = np.sqrt(half**2 - quadratic * constant)
        q = -(half + np.copysign(root, half))
        roots = np.sort(np.nan_to_num(np.stack((q / quadratic, constant / q)), nan=np.inf), axis=0)
    low = pairs.starts
    high = np.concatenate((low[:, 1:], np.full_like(low[:, :1], np.inf)), axis=1)
    cut1, cut2 = np.clip(roots[0], low, high), np.clip(roots[1], low, high)
    # The sign is constant between two edges, so the choice at one inner point holds for all.
    edges = np.stack((low, cut1, cut2, high), axis=2)
    left, right = edges[:, :, :3], edges[:, :, 1:]
    left = np.where(np.isfinite(left), left, 0.0)
    inside = np.where(np.isfinite(right), 0.5 * (left + right), 2.0 * left + 1.0)
    shift = length[:, :, None] * inside**2
    s1 = shift - 2 * inside * a1[:, :, None] + d1[:, :, None]
    s2 = shift - 2 * inside * a2[:, :, None] + d2[:, :, None]
    wins = first_wins(s1, s2, bar[:, None, None])
    chosen = np.where(wins, pairs.targets[:, :, :1], pairs.targets[:, :, 1:])
    rays = low.shape[0]
    return Steps(edges[:, :, 1:].reshape(rays, -1)[:, :-1], chosen.reshape(rays, -1))
