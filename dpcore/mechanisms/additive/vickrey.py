"""Vickrey: the second-nearest word gets a chance (Xu, Aggarwal, Feyisetan, Teissier 2021).

The noisy vector ẑ comes from one of the radial mechanisms; y₁, y₂ are the words nearest to it, at
distances s₁ ≤ s₂. The output is y₁ with probability (1−t)s₂/(t·s₁ + (1−t)s₂), else y₂. The choice
sees ẑ and never the private word, so the guarantee is that of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import Guarantee, Rounding
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import ExactIndex, NeighbourIndex
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.additive.envelope import Lines, Steps, crossings, farthest
from dpcore.mechanisms.additive.multivariate import Mahalanobis
from dpcore.mechanisms.bulk.documents import BATCH
from dpcore.mechanisms.settings import parameter
from dpcore.noise.radial import radii


@lru_cache(maxsize=1)
def _exact_index(lexicon: Lexicon) -> ExactIndex:
    """The index of the lexicon in use: building it costs more than searching for a few words."""
    return ExactIndex(lexicon.vectors)


@dataclass(frozen=True, eq=False, kw_only=True)
class Vickrey(Mahalanobis):
    """Second-price choice between the two words nearest to the noisy vector.

    t = 0 is the mechanism of the noise, t = 1 always takes the second; 0/0 takes the first.
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
        """λ, or 0 for multivariate Laplace noise: everything about the noise follows from it."""
        return self.lam if self.noise == "mahalanobis" else 0.0

    def guarantee(self, epsilon: float) -> Guarantee:
        """The guarantee of the noise (post-processing), in the metric of that."""
        if self.noise == "mahalanobis":
            return super().guarantee(epsilon)
        return super(Mahalanobis, self).guarantee(epsilon)

    def rounding(self, epsilon: float) -> Rounding | None:
        """As for the noise; the choice depends on two words, so all of it is total variation."""
        decoding = self.decoding(epsilon)
        if decoding is None:
            return None
        decoding = replace(decoding, always_near=True)
        return decoding.rounding_of_two(self.t) if self.t > 0 else decoding.rounding()

    def odds_bar(self, coin: FloatArray) -> FloatArray:
        """κ² such that y₁ is chosen if and only if s₁² ≤ κ²·s₂², for a uniform coin in [0, 1)."""
        # U < (1−t)s₂/(t·s₁ + (1−t)s₂) ⟺ s₁·U·t < s₂·(1−U)(1−t); squares need no roots.
        with np.errstate(divide="ignore"):
            return np.square(np.divide((1.0 - coin) * (1.0 - self.t), coin * self.t))

    def coins(self, rng: np.random.Generator, count: int) -> FloatArray:
        """A uniform number for each output, shape (count,)."""
        return rng.random(count)

    def choose(
        self, coins: FloatArray, noisy: FloatArray, index: NeighbourIndex | None
    ) -> IntArray:
        """One of the two nearest words, by the coin of each noisy vector."""
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
        """The two least of ‖τ_y‖²/2 − ⟨o_w, τ_y⟩ − s(ε)·r·⟨u, τ_y⟩, and the coin of `paths`."""
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
        """Output along each ray with one coin a ray: exact, a quadratic within each (y₁, y₂)."""
        bar = self.odds_bar(np.asarray(rng.random(unit.shape[0])))
        return choose_along(two_nearest(candidates), unit, bar)


def first_wins(s1: FloatArray, s2: FloatArray, bar: FloatArray) -> NDArray[np.bool_]:
    """Whether s₁² ≤ κ²·s₂² (squares given); 0/0 goes to the first word."""
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
    """Walk along t from event to event: the second overtakes the first, or another the second."""
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
    """The chosen word along each ray: s₁² − κ²s₂² is a quadratic in t between two events."""
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
    # Between two edges the sign does not change: the choice at any point inside is that of all.
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
