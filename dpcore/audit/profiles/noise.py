"""Privacy profile of a mechanism's noise, for the worst difference or for two words.

The profile is that of the noisy vector. The output word is computed from the vector alone, so its
own δ is at most that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, largest
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
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.clipped.clipped import analytic_epsilon
from dpcore.mechanisms.mechanism import Mechanism, VectorNoise
from dpcore.noise.samplers import Radial, shifted_out
from dpcore.noise.streams import generator
from dpcore.outwards import safe_end

_EXAMINED = 64  # pairs whose δ is computed, of those with the largest difference


def noise_of(mechanism: Mechanism, epsilon: float) -> VectorNoise:
    """Return the noise that a mechanism adds to a vector at ε.

    Raises:
        ParameterError: it adds none.
    """
    noise = mechanism.vector_noise(mechanism.check_epsilon(epsilon))
    if noise is None:
        raise ParameterError(
            f"the noise of {mechanism.short} has no privacy profile here; there is one for "
            "noise that is added to a vector"
        )
    return noise


def _clipped_noise(mechanism: Mechanism, epsilon: float) -> tuple[VectorNoise, float]:
    """Return the noise, and the norm C that vectors are clipped to."""
    if mechanism.clip_power is None:
        raise ParameterError(
            f"{mechanism.short} does not clip, so its profile depends on the two words: name them"
        )
    noise = noise_of(mechanism, epsilon)
    assert noise.norm is not None  # noqa: S101 - it clips
    return noise, noise.norm


def pair_profile(mechanism: Mechanism, epsilon: float, word: int, other: int) -> Profile:
    """Compute the profile of two words' noisy vectors.

    Raises:
        ParameterError: the noise has no profile here, or the two vectors are equal.
    """
    noise = noise_of(mechanism, epsilon)
    words = (int(mechanism.check_words([w])[0]) for w in (word, other))
    first, second = (noise.origins[w].astype(np.float64) for w in words)
    shift = first - second
    if noise.covariance is not None:
        shift = shift @ whitening_matrix(mechanism.lexicon, noise.covariance)
    length = float(np.linalg.norm(shift))
    if not length > 0:
        raise ParameterError("the two words have the same vector: nothing tells them apart")
    if noise.independent:
        return product(noise.rate, noise.cut, shift)
    return _round_profile(noise, length)


def whitening_matrix(lexicon: Lexicon, share: float) -> FloatArray:
    """Compute S^{-1/2}, S = λΣ + (1 − λ)I, from the definition of S, shape (d, d).

    Args:
        lexicon: whose covariance, scaled to trace d, is Σ.
        share: λ.
    """
    vectors = lexicon.vectors.astype(np.float64)
    d = vectors.shape[1]
    covariance = np.atleast_2d(np.cov(vectors, rowvar=False))
    shape = share * covariance * (d / np.trace(covariance))
    values, axes = np.linalg.eigh(shape + (1.0 - share) * np.eye(d))
    return np.asarray((axes / np.sqrt(values)) @ axes.T)


def _round_profile(noise: VectorNoise, length: float) -> Profile:
    """Return the profile of noise that looks the same in every direction."""
    if noise.family is Radial.GAUSSIAN:
        return gaussian(noise.scale, length)
    return l2_laplace(noise.rate, length, noise.dimension)


def worst_profile(mechanism: Mechanism, epsilon: float, epsilons: FloatArray) -> Curve:
    """Compute δ(ε′) of the worst difference of two clipped vectors, at each ε′ of `epsilons`.

    Exact for round noise (Gaussian, L2-Laplace), which sees only the length 2C; for i.i.d.
    coordinates see `profile.worst_product`.

    Args:
        mechanism: with noise on clipped vectors.
        epsilon: ε of the mechanism.
        epsilons: ε′, shape (E,).

    Raises:
        ParameterError: vectors are not clipped, so no difference is the worst; or no profile.
    """
    noise, norm = _clipped_noise(mechanism, epsilon)
    if noise.independent:
        grid = np.asarray(epsilons)
        laplace, power = (noise.rate, noise.cut), noise.power
        return worst_product(*laplace, 2.0 * norm, noise.dimension, grid, power=power)
    return _round_profile(noise, 2.0 * norm)(epsilons)


@dataclass(frozen=True)
class WorstPair:
    """The two words of a lexicon that noise protects least, as far as the search went.

    Attributes:
        word: index of one.
        other: index of the other.
        words: number of words searched; all pairs of them were compared.
        complete: True if these are all words of the lexicon.
    """

    word: int
    other: int
    words: int
    complete: bool


def worst_pair(
    mechanism: Mechanism, epsilon: float, *, words: int | None = None, seed: int = 0
) -> WorstPair:
    """Find the pair of words with the largest δ at the claimed ε.

    Round noise sees only the distance, so the farthest pair is the worst. For i.i.d. coordinates
    the pairs are ordered by their L1 distance, and the δ of the first few dozen decides (exactly so
    for noise that is cut off, whose δ at ε is 1 − Π(1 − m(v_i))).

    Args:
        mechanism: with noise that has a profile.
        epsilon: the claimed ε.
        words: how many words to draw, keyed by the seed; None: all, up to
            `limits.MAX_AUDIT_WORDS`, or that many.
        seed: of the draw.
    """
    from scipy.spatial.distance import pdist

    noise = noise_of(mechanism, epsilon)
    n = len(noise.origins)
    count = min(n, MAX_AUDIT_WORDS) if words is None else words
    if not 2 <= count <= min(n, MAX_AUDIT_WORDS):
        raise ParameterError(
            f"a sample has 2 to {min(n, MAX_AUDIT_WORDS):,} words of this lexicon, got {count}"
        )
    rng = generator(seed, "audit", "worst pair")
    chosen = np.arange(n) if count == n else np.sort(rng.choice(n, count, replace=False))
    rows = noise.origins[chosen].astype(np.float64)
    apart = pdist(rows, "cityblock" if noise.independent else "euclidean")
    # Without a cut the loss grows with the distance, so the farthest pair is the worst. With one
    # the share outside the support decides, which sees each coordinate by itself.
    if math.isinf(noise.cut):
        most, far = 1, np.array([largest(apart, "a distance")[0]])
    else:
        most = min(_EXAMINED, apart.size)
        far = np.argpartition(-apart, most - 1)[:most]
    # `pdist` lists pairs i < j row by row: row i begins at pair (i, i + 1).
    begins = np.cumsum(np.append(0, np.arange(count - 1, 1, -1)))
    left = np.searchsorted(begins, far, side="right") - 1
    right = far - begins[left] + left + 1
    place = 0
    if most > 1:
        moved = shifted_out(rows[left] - rows[right], noise.rate, noise.cut)
        outside = np.minimum(moved, 1.0)
        with np.errstate(divide="ignore"):
            place = largest(-np.log1p(-outside).sum(axis=1), "a δ")[0]
    i, j = int(left[place]), int(right[place])
    return WorstPair(int(chosen[i]), int(chosen[j]), count, count == n)


def smallest_epsilon(mechanism: Mechanism, epsilon: float, log_delta: float) -> float:
    """Return the smallest ε′ at which the noise has this δ for the worst difference; ∞ if none.

    For δ = 0 (`log_delta` = −∞) it is the largest loss, exactly. For noise cut off, differences
    are searched as in `worst_profile`.

    Args:
        mechanism: with noise on clipped vectors.
        epsilon: ε of the mechanism.
        log_delta: ln δ.

    Raises:
        ParameterError: as `worst_profile`.
    """
    noise, norm = _clipped_noise(mechanism, epsilon)
    dimension = noise.dimension
    if noise.family is Radial.GAUSSIAN:
        if log_delta == -math.inf:
            return math.inf
        return float(analytic_epsilon(np.array([noise.scale]), log_delta, noise.sensitivity)[0])
    if not noise.independent:
        return 2.0 * norm / noise.scale
    if math.isinf(noise.cut):
        # The L1 norm of the worst difference: of length 2C in the norm that vectors are clipped in.
        spread = 1.0 if noise.power == 1 else math.sqrt(dimension)
        return noise.rate * spread * 2.0 * norm
    shares = [1.0] if dimension == 1 else [1.0 / dimension, dimension**-0.5, 1.0]
    shifts = [spread_shift(2.0 * norm, dimension, share) for share in shares]
    profiles = [product(noise.rate, noise.cut, shift) for shift in shifts]
    # Calibrated noise has this very δ: rounding must not turn it into ∞.
    allowed = math.exp(log_delta) * (1 + 1e-9)

    def kept(value: FloatArray | float) -> bool:
        return all(profile.delta(float(value))[0] <= allowed for profile in profiles)

    # The largest loss that is finite, α‖v‖₁ ≤ α·√d·2C: beyond it δ is the share outside the other
    # support, and falls no further.
    high = noise.rate * math.sqrt(dimension) * 2.0 * norm
    if not kept(high):
        return math.inf
    return float(safe_end(kept, high, 0.0, rounds=24))
