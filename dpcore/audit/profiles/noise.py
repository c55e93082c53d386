"""The privacy profile of a mechanism's noise: for the worst difference, or for two words.

The profile is that of the noisy vector. The word that comes out is computed from it alone, so its
own δ is at most that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import largest
from dpcore.audit.profiles.profile import (
    Curve,
    Profile,
    gaussian,
    l2_laplace,
    product,
    spread_shift,
    worst_product,
)
from dpcore.errors import ParameterError
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.additive.multivariate import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.vickrey import Vickrey
from dpcore.mechanisms.clipped.adept import AdeptManhattan
from dpcore.mechanisms.clipped.clipped import ClippedGaussian, ClippedL2Laplace, ClippedLaplace
from dpcore.mechanisms.clipped.gaussian import analytic_epsilon
from dpcore.mechanisms.clipped.trlaplace import TruncatedLaplaceMechanism
from dpcore.noise.streams import generator
from dpcore.noise.truncated_laplace import shifted_out

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism

FloatArray = NDArray[np.float64]

_EXAMINED = 64  # pairs whose δ is computed, of those with the largest difference


def _rate_and_cut(mechanism: Mechanism, epsilon: float) -> tuple[float, float] | None:
    """α and A of i.i.d. Laplace noise (A = ∞ if it is not cut off), or None for another noise."""
    if isinstance(mechanism, TruncatedLaplaceMechanism):
        noise = mechanism.truncation(epsilon)
        return noise.alpha, noise.cut
    if isinstance(mechanism, ClippedLaplace) and not isinstance(mechanism, ClippedL2Laplace):
        return 1.0 / mechanism.scale(epsilon), math.inf
    return None


def _points(mechanism: Mechanism) -> NDArray[np.float32]:
    """What the noise is added to, shape (n, d)."""
    origins = getattr(mechanism, "origins", None)
    return mechanism.lexicon.vectors if origins is None else np.asarray(origins)


def pair_profile(mechanism: Mechanism, epsilon: float, word: int, other: int) -> Profile:
    """The profile of two words' noisy vectors.

    Raises:
        ParameterError: the noise has no profile here, or the two vectors are equal.
    """
    value = mechanism.check_epsilon(epsilon)
    points = _points(mechanism)
    first, second = (points[int(mechanism.check_words([w])[0])] for w in (word, other))
    shift = first.astype(np.float64) - second.astype(np.float64)
    if elliptical(mechanism):
        shift = shift @ whitening(mechanism)  # type: ignore[arg-type]
    length = float(np.linalg.norm(shift))
    if not length > 0:
        raise ParameterError("the two words have the same vector: nothing tells them apart")
    laplace = _rate_and_cut(mechanism, value)
    if laplace is not None:
        return product(*laplace, shift)
    return _round_profile(mechanism, value, length, shift.size)


def elliptical(mechanism: Mechanism) -> bool:
    """Whether the noise is round only after whitening."""
    if isinstance(mechanism, Vickrey):
        return mechanism.noise == "mahalanobis"
    return isinstance(mechanism, Mahalanobis)


def whitening(mechanism: Mahalanobis) -> FloatArray:
    """S^{-1/2}, from the definition of S, shape (d, d)."""
    vectors = mechanism.lexicon.vectors.astype(np.float64)
    d = vectors.shape[1]
    covariance = np.atleast_2d(np.cov(vectors, rowvar=False))
    shape = mechanism.lam * covariance * (d / np.trace(covariance))
    values, axes = np.linalg.eigh(shape + (1.0 - mechanism.lam) * np.eye(d))
    return np.asarray((axes / np.sqrt(values)) @ axes.T)


def _round_profile(mechanism: Mechanism, epsilon: float, length: float, dimension: int) -> Profile:
    """The profile of noise that looks the same in every direction."""
    if isinstance(mechanism, ClippedGaussian):
        return gaussian(mechanism.scale(epsilon), length)
    if isinstance(mechanism, ClippedL2Laplace):
        return l2_laplace(1.0 / mechanism.scale(epsilon), length, dimension)
    if isinstance(mechanism, MultivariateLaplace):
        return l2_laplace(1.0 / mechanism.scale(epsilon), length, dimension)
    raise ParameterError(
        f"the noise of {mechanism.short} has no privacy profile here; there is one for "
        "noise that is added to a vector"
    )


def worst_profile(mechanism: Mechanism, epsilon: float, epsilons: FloatArray) -> Curve:
    """δ(ε′) of the worst difference of two clipped vectors, at each ε′ of `epsilons`.

    Exact for round noise (Gaussian, L2-Laplace), which sees only the length 2C; for i.i.d.
    coordinates see `profile.worst_product`.

    Raises:
        ParameterError: vectors are not clipped, so no difference is the worst; or no profile.
    """
    value = mechanism.check_epsilon(epsilon)
    bound = getattr(mechanism, "bound", None)
    if bound is None:
        raise ParameterError(
            f"{mechanism.short} does not clip, so its profile depends on the two words: name them"
        )
    dimension = int(_points(mechanism).shape[1])
    laplace = _rate_and_cut(mechanism, value)
    if laplace is not None:
        power = 1 if isinstance(mechanism, AdeptManhattan) else 2
        grid = np.asarray(epsilons)
        return worst_product(*laplace, 2.0 * bound, dimension, grid, power=power)
    return _round_profile(mechanism, value, 2.0 * bound, dimension)(epsilons)


@dataclass(frozen=True)
class WorstPair:
    """The two words of a lexicon that noise protects least, as far as they were searched.

    Attributes:
        word: index of one.
        other: index of the other.
        words: among how many words; all pairs of them were compared.
        complete: whether these are all words of the lexicon.
    """

    word: int
    other: int
    words: int
    complete: bool


def worst_pair(
    mechanism: Mechanism, epsilon: float, *, words: int | None = None, seed: int = 0
) -> WorstPair:
    """Find the pair of words with the largest δ at the claimed ε.

    Round noise sees only the distance, so the farthest pair is it. For i.i.d. coordinates the
    pairs are ordered by their L1 distance, and the δ of the first few dozen decides (exactly so
    for noise that is cut off, whose δ at ε is 1 − Π(1 − m(v_i))).

    Args:
        mechanism: with noise that has a profile.
        epsilon: the claimed ε.
        words: how many words to draw, keyed by the seed; None: all, up to
            `limits.MAX_AUDIT_WORDS`, or that many.
        seed: of the draw.
    """
    from scipy.spatial.distance import pdist

    value = mechanism.check_epsilon(epsilon)
    points = _points(mechanism)
    n = len(points)
    count = min(n, MAX_AUDIT_WORDS) if words is None else words
    if not 2 <= count <= min(n, MAX_AUDIT_WORDS):
        raise ParameterError(
            f"a sample has 2 to {min(n, MAX_AUDIT_WORDS):,} words of this lexicon, got {count}"
        )
    rng = generator(seed, "audit", "worst pair")
    chosen = np.arange(n) if count == n else np.sort(rng.choice(n, count, replace=False))
    rows = points[chosen].astype(np.float64)
    laplace = _rate_and_cut(mechanism, value)
    apart = pdist(rows, "euclidean" if laplace is None else "cityblock")
    if laplace is None or math.isinf(laplace[1]):
        most, far = 1, np.array([largest(apart, "a distance")[0]])
    else:
        most = min(_EXAMINED, apart.size)
        far = np.argpartition(-apart, most - 1)[:most]
    # Pairs i < j stand row by row: row i begins at pair (i, i + 1).
    begins = np.cumsum(np.append(0, np.arange(count - 1, 1, -1)))
    left = np.searchsorted(begins, far, side="right") - 1
    right = far - begins[left] + left + 1
    at = 0
    if most > 1 and laplace is not None:
        outside = np.minimum(shifted_out(rows[left] - rows[right], *laplace), 1.0)
        with np.errstate(divide="ignore"):
            at = largest(-np.log1p(-outside).sum(axis=1), "a δ")[0]
    i, j = int(left[at]), int(right[at])
    return WorstPair(int(chosen[i]), int(chosen[j]), count, count == n)


def smallest_epsilon(mechanism: Mechanism, epsilon: float, log_delta: float) -> float:
    """The smallest ε′ at which the noise keeps this δ for the worst difference; ∞ if none does.

    For δ = 0 (`log_delta` = −∞) it is the largest loss, exactly. For noise cut off, differences
    are searched as in `worst_profile`.

    Raises:
        ParameterError: as `worst_profile`.
    """
    value = mechanism.check_epsilon(epsilon)
    if isinstance(mechanism, ClippedGaussian):
        if log_delta == -math.inf:
            return math.inf
        sigma = np.array([mechanism.scale(value)])
        return float(analytic_epsilon(sigma, log_delta, mechanism.sensitivity)[0])
    bound = float(getattr(mechanism, "bound", math.nan))
    if not bound > 0:
        raise ParameterError(f"{mechanism.short} does not clip: its loss grows with the distance")
    dimension = int(_points(mechanism).shape[1])
    laplace = _rate_and_cut(mechanism, value)
    if laplace is None:
        return 2.0 * bound / float(mechanism.scale(value))  # type: ignore[attr-defined]
    alpha, cut = laplace
    if math.isinf(cut):
        spread = 1.0 if isinstance(mechanism, AdeptManhattan) else math.sqrt(dimension)
        return alpha * spread * 2.0 * bound
    shares = [1.0] if dimension == 1 else [1.0 / dimension, dimension**-0.5, 1.0]
    profiles = [product(alpha, cut, spread_shift(2.0 * bound, dimension, s)) for s in shares]
    allowed = math.exp(log_delta) * (1 + 1e-9)

    def kept(at: float) -> bool:
        return all(profile.delta(at)[0] <= allowed for profile in profiles)

    low, high = 0.0, alpha * math.sqrt(dimension) * 2.0 * bound
    if not kept(high):
        return math.inf
    for _ in range(24):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
