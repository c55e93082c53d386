"""Samplers of noise: Gumbel, Laplace and others by direction and radius; Poisson, truncated.

With X = e^{−g/b}, g ~ Gumbel(0, b) is X ~ Exp(1), and g conditioned to [−C, C] is X conditioned
to [e^{−C/b}, e^{C/b}]. All formulas below go through z = X − e^{−C/b}, which keeps its relative
accuracy from b ≫ C (where the law tends to the uniform one on [−C, C]) to b ≪ C (where it tends
to the plain Gumbel law).
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError

_TINY = 2.0**-1000  # a zero exponential draw would make an infinite Gumbel draw
_LARGEST_EXPONENT = 705.0  # e^709.8 is the largest float64


def standard_gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw Gumbel(0, 1) numbers with CDF exp(−e^{−x}), float64.

    Minus the logarithm of an exponential draw: unlike −ln(−ln U) in single precision, whose largest
    value is 16.6, it covers the whole range of the law.
    """
    draws = rng.standard_exponential(shape)
    np.maximum(draws, _TINY, out=draws)
    np.log(draws, out=draws)
    return np.negative(draws, out=draws)


def check_truncated(scale: float, bound: float) -> None:
    """Refuse a scale or a bound for which the truncated law does not exist.

    Raises:
        ParameterError: unless 0 < scale < ∞ and 0 < bound ≤ ∞.
    """
    if not 0 < scale < math.inf:
        msg = f"the Gumbel scale must be a finite number > 0, got {scale}"
        raise ParameterError(msg)
    if not bound > 0:
        msg = f"the truncation bound must be > 0, got {bound}"
        raise ParameterError(msg)


def _range(scale: float, bound: float) -> float:
    """Return e^{C/b} − e^{−C/b}, ∞ where it overflows."""
    ratio = bound / scale
    return 2.0 * math.sinh(ratio) if ratio < _LARGEST_EXPONENT else math.inf


def truncated_from_uniform(uniform: FloatArray, scale: float, bound: float) -> FloatArray:
    """Draw Gumbel(0, b) conditioned to [−C, C] by inversion of the survival function.

    x = x_lo − log1p(V·expm1(−(x_hi − x_lo))), g = −b ln x with V = 1 − u, x_lo = e^{−C/b} and
    x_hi = e^{C/b} (∞ allowed); ln x is taken relative to ln x_lo, so that nothing is lost where
    b ≫ C and x_lo, x_hi are both next to 1. g is increasing in u.

    Args:
        uniform: u in [0, 1), any shape.
        scale: b.
        bound: C, ∞ allowed.

    Returns:
        Draws in [−C, C], same shape, float64.

    Raises:
        ParameterError: as `check_truncated`.
    """
    check_truncated(scale, bound)
    # X = x_lo + shifted, where `shifted` is Exp(1) conditioned to [0, x_hi − x_lo]: memoryless.
    mass = -math.expm1(-_range(scale, bound))
    with np.errstate(divide="ignore"):  # u = 0 without truncation is X = ∞, cut below
        shifted = -np.log1p((uniform - 1.0) * mass)
        ratio = bound / scale
        if ratio < _LARGEST_EXPONENT:
            # −b·ln(x_lo + shifted) = C − b·ln(1 + shifted·e^{C/b})
            noise = bound - scale * np.log1p(shifted * math.exp(ratio))
        else:
            noise = -scale * np.log(np.clip(shifted, _TINY, -math.log(_TINY)))
    return np.asarray(np.clip(noise, -bound, bound))


def truncated_gumbel(
    rng: np.random.Generator, shape: tuple[int, ...], scale: float, bound: float
) -> FloatArray:
    """Draw Gumbel(0, b) conditioned to [−C, C], float64.

    Args:
        rng: source of randomness.
        shape: shape of the result.
        scale: b, arbitrarily large: b ≫ C tends to Uniform[−C, C].
        bound: C, ∞ allowed.

    Raises:
        ParameterError: as `check_truncated`.
    """
    return truncated_from_uniform(rng.random(shape), scale, bound)


def log1mexp(z: FloatArray) -> FloatArray:
    """Return ln(1 − e^{−z}) for z ≥ 0, accurate near 0 (ln z) and far away (−e^{−z})."""
    with np.errstate(divide="ignore"):
        return np.where(z < math.log(2.0), np.log(-np.expm1(-z)), np.log1p(-np.exp(-z)))


def log_survival_and_density(
    noise: FloatArray, scale: float, bound: float
) -> tuple[FloatArray, FloatArray]:
    """Return ln S(g) and ln f(g) of Gumbel(0, b) conditioned to [−C, C].

    S(g) = P(noise > g): 0 below −C in logarithm, −∞ from C on. The density is −∞ outside.

    Args:
        noise: g, any shape.
        scale: b.
        bound: C, ∞ allowed.

    Raises:
        ParameterError: as `check_truncated`.
    """
    check_truncated(scale, bound)
    with np.errstate(divide="ignore"):
        log_mass = float(log1mexp(np.asarray(_range(scale, bound))))
    exponent = np.minimum(-noise / scale, _LARGEST_EXPONENT)
    # z = e^{−g/b} − e^{−C/b}; beyond C it would be negative.
    shifted = np.exp(exponent) * -np.expm1(np.minimum((noise - bound) / scale, 0.0))
    below = noise < -bound
    survival = np.where(below, 0.0, np.minimum(log1mexp(shifted) - log_mass, 0.0))
    density = exponent - shifted - math.log(scale) - log_mass
    return survival, np.where(below | (noise > bound), -math.inf, density)


# Laplace noise cut off at ±A, coordinate by coordinate.
#
# Density α·e^{−α|x|} / (2(1 − e^{−αA})) on [−A, A].


def uniforms(rng: np.random.Generator, count: int, dimension: int) -> FloatArray:
    """Draw the uniforms of `count` noise vectors on (−1, 1), shape (count, dimension)."""
    return rng.uniform(-1.0, 1.0, size=(count, dimension))


def quantile(u: FloatArray, alpha: float, mass: float) -> FloatArray:
    """Return noise of rate α from u ∈ (−1, 1): x = −sgn(u)·ln(1 − |u|·mass)/α, elementwise.

    Args:
        u: signed uniforms.
        alpha: rate of the Laplace density, in 1/(unit of x).
        mass: 1 − e^{−αA}, the Laplace mass inside ±A, in (0, 1].
    """
    return np.asarray(-np.sign(u) * np.log1p(-np.abs(u) * mass) / alpha)


def shifted_out(shift: FloatArray, alpha: float, cut: float) -> FloatArray:
    """Return m(v) = P(a coordinate's noise lies outside its support moved by v), v ≥ 0.

    m(v) = expm1(αv)/(2·expm1(αA)) for v ≤ A, else ½ + (1 − e^{−α(v−A)})/(2(1 − e^{−αA})), at most
    1. Written with e^{−αA} factored out, so that αA = 1000 does not overflow.
    """
    # At v ≥ 2A the supports are apart and m = 1: `beyond` stops at A.
    v = np.abs(np.asarray(shift, dtype=np.float64))
    below = 1.0 - np.exp(-alpha * cut)
    near = np.minimum(v, cut)
    inside = np.exp(alpha * (near - cut)) * -np.expm1(-alpha * near) / (2.0 * below)
    beyond = np.minimum(np.maximum(v - cut, 0.0), cut)
    return np.asarray(np.where(v <= cut, inside, 0.5 - np.expm1(-alpha * beyond) / (2.0 * below)))


# Noise of the form z = s·r·u: a scale s, a radius r and a direction u, independent of each other.
#
# Every scale family here has this form, which makes ε-paths and Rao–Blackwell laws possible: the
# direction is drawn, the radius is integrated out, the scale is a parameter.
#
# | family    | density of z at s = 1 | direction            | radius          |
# |-----------|-----------------------|----------------------|-----------------|
# | L2LAPLACE | ∝ exp(−‖z‖₂)          | uniform, ‖u‖₂ = 1    | Gamma(d, 1)     |
# | LAPLACE   | ∝ exp(−‖z‖₁)          | i.i.d. sides, ‖u‖₁=1 | Gamma(d, 1)     |
# | GAUSSIAN  | ∝ exp(−‖z‖₂²/2)       | uniform, ‖u‖₂ = 1    | chi with d d.f. |


class Radial(StrEnum):
    """Radial family in d dimensions, at scale 1."""

    L2LAPLACE = "l2-laplace"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


def directions(rng: np.random.Generator, family: Radial, count: int, dimension: int) -> FloatArray:
    """Draw independent directions, shape (count, dimension), float64.

    The L2 families take u from the unit *sphere* (a normalised Gaussian vector), never from the
    ball; the L1 family takes the direction of a vector of i.i.d. Laplace coordinates.
    """
    if family is Radial.LAPLACE:
        # Length and direction of i.i.d. Laplace coordinates are independent, since their density
        # depends on ‖z‖₁ alone; ‖z‖₁ is a sum of d exponential numbers, hence Gamma(d).
        vectors = rng.laplace(size=(count, dimension))
        norms = np.abs(vectors).sum(axis=1, keepdims=True)
    else:
        vectors = rng.standard_normal((count, dimension))
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return np.asarray(vectors / norms)


def radii(rng: np.random.Generator, family: Radial, count: int, dimension: int) -> FloatArray:
    """Draw independent radii at scale 1, shape (count,), float64."""
    if family is Radial.GAUSSIAN:
        return np.asarray(np.sqrt(rng.chisquare(dimension, size=count)))
    return rng.standard_gamma(dimension, size=count)


def radius_cdf(family: Radial, radius: FloatArray, dimension: int) -> FloatArray:
    """Return P(r ≤ radius) at scale 1, elementwise; radius may be +inf."""
    from scipy.special import gammainc

    if family is Radial.GAUSSIAN:
        return np.asarray(gammainc(dimension / 2, np.square(radius) / 2))
    return np.asarray(gammainc(dimension, radius))


def draws(
    rng: np.random.Generator, family: Radial, count: int, dimension: int, scale: float
) -> FloatArray:
    """Draw independent noise vectors s·r·u, shape (count, dimension), float64."""
    unit = directions(rng, family, count, dimension)
    return unit * (scale * radii(rng, family, count, dimension))[:, None]


# Directions drawn towards an aim, and their density relative to plain ones.
#
# Where few directions of the noise lead to an event, directions are drawn towards it and weighted
# with the ratio of the two densities (importance sampling). Each family of directions has a tilt
# with a ratio in closed form:
#
# * the sphere, ‖u‖₂ = 1: every point is seen from a·m instead of the centre, ‖m‖₂ = 1, 0 ≤ a < 1. v
#   = (u + a·m)/ℓ, ℓ = ‖u + a·m‖₂. A piece dS of the sphere fills the solid angle ⟨u, v⟩·dS/ℓ^{d−1}
#   around v, so that the ratio is ℓ^{d−1}/⟨u, v⟩, where with c = ⟨m, v⟩
#
#       ⟨u, v⟩ = √(1 − a² + a²c²),    ℓ = a·c + ⟨u, v⟩.
#
#   For many words the same directions are moved, each by a different vector: the shared part of the
#   directions (their product with a vocabulary) can be cached.
# * the directions of i.i.d. Laplace coordinates, ‖u‖₁ = 1: coordinates with density ∝ exp(−|z_i| +
#   θ_i·z_i), |θ_i| < 1. Integrated over the length, the ratio is Π(1 − θ_i²)·(1 − ⟨θ, u⟩)^{−d}.

_LARGEST = 0.9  # largest a and |θ_i|: at 1 the ratio is unbounded


def shifts(strengths: FloatArray, dimension: int) -> FloatArray:
    """Return a for each strength: the mean of √d·u along the aim is about the strength."""
    return np.asarray(np.minimum(strengths / math.sqrt(dimension), _LARGEST))


def sphere_ratio(a: FloatArray, cosine: FloatArray, dimension: int) -> FloatArray:
    """Return the density of directions seen from a·m relative to plain ones.

    Shape (len(a), len(cosine)).

    Args:
        a: shifts, in [0, 1).
        cosine: ⟨m, v⟩ of each direction.
        dimension: d.
    """
    along = a[:, None] * cosine
    inner = np.sqrt(1.0 - np.square(a)[:, None] + np.square(along))
    return np.asarray(np.exp((dimension - 1) * np.log(along + inner)) / inner)


def exponents(strengths: FloatArray, aim: FloatArray) -> FloatArray:
    """Return θ for each strength, shape (K, d), for an aim of Euclidean length 1.

    A coordinate has variance 2, and its mean under θ is 2θ to first order: θ = strength·m/√2
    moves the sum along the aim by `strength` standard deviations.
    """
    theta = strengths[:, None] * aim / math.sqrt(2.0)
    # Shrunk as a whole where a coordinate comes too near to 1: the direction is unchanged.
    largest = np.abs(theta).max(axis=1, keepdims=True)
    return np.asarray(theta * np.minimum(1.0, _LARGEST / np.maximum(largest, _LARGEST)))


def exponential_directions(rng: np.random.Generator, theta: FloatArray) -> FloatArray:
    """Draw one direction for each row of θ, shape (count, d), ‖u‖₁ = 1."""
    # Density ∝ e^{−|z|+θz}: rate 1 − θ to the right and 1 + θ to the left, so that the right side
    # has probability (1/(1−θ))/(1/(1−θ) + 1/(1+θ)) = (1 + θ)/2.
    size = rng.standard_exponential(theta.shape)
    sign = np.where(rng.random(theta.shape) < (1.0 + theta) / 2.0, 1.0, -1.0)
    vectors = sign * size / (1.0 - sign * theta)
    return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))


def exponential_ratio(theta: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the density of directions under θ relative to plain ones, (K, len(unit))."""
    constant = np.log1p(-np.square(theta)).sum(axis=1)
    return np.asarray(np.exp(constant[:, None] - unit.shape[1] * np.log1p(-theta @ unit.T)))


# The truncated Poisson law of the number of candidates.
#
# Y ~ Poisson(ln n); K = Y if 1 ≤ Y < n, and n otherwise (Xu et al. 2021, Definition 1 with a = 1,
# b = n): all mass outside 1..n−1 is moved to the whole vocabulary, so P(K = n) > 1/n.

_NEGLIGIBLE = 1e-18
# P(Y ≥ n) ≤ (1/n)·(e·ln n/n)^n is lost in the rounding of P(Y = 0) = 1/n for a larger vocabulary,
# and so are that many counts after n in the sum of P(Y ≥ n) for a smaller one.
_BEYOND = 40


def _check_words(n: int) -> None:
    """Refuse a size below that of a vocabulary of two words."""
    if not n >= 2:
        msg = f"the vocabulary must hold at least 2 words, got {n}"
        raise ParameterError(msg)


def _poisson(n: int, largest: int) -> FloatArray:
    """Return P(Y = k) for k = 1..largest, Y ~ Poisson(ln n); P(Y = 0) is 1/n."""
    return np.cumprod(math.log(n) / np.arange(1, largest + 1, dtype=np.float64)) / n


def whole_vocabulary_weight(n: int) -> float:
    """Return P(K = n) = P(Y = 0) + P(Y ≥ n), summed and not taken as a difference from 1.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check_words(n)
    if n > _BEYOND:
        return 1.0 / n
    # Backwards: the small terms first.
    return 1.0 / n + float(_poisson(n, n + _BEYOND)[: n - 2 : -1].sum())


def poisson_weights(n: int) -> FloatArray:
    """Return P(K = k) for k = 1..n, shape (n,), entry k − 1 for k; far ones underflow to 0.

    Raises:
        ParameterError: for fewer than two words.
    """
    last = whole_vocabulary_weight(n)
    return np.append(_poisson(n, n - 1), last)


def candidate_weights(n: int) -> FloatArray:
    """Return the head of `poisson_weights`: P(K = k) for k = 1..m, shape (m,), m < n.

    The omitted mass, P(m < K < n), is below 1e-18.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check_words(n)
    rate = math.log(n)
    # Far beyond the omitted mass: twelve deviations, and 60 more where ln n is small.
    enough = int(rate + 12.0 * math.sqrt(rate) + 60.0)
    weights = _poisson(n, min(n - 1, enough))
    left = np.cumsum(weights[::-1])[::-1]
    return weights[: max(1, int((left >= _NEGLIGIBLE).sum()))]


def truncated_poisson(rng: np.random.Generator, count: int, n: int) -> IntArray:
    """Draw K, shape (count,), int64, in 1..n; exact, no tail is cut.

    Args:
        rng: source of randomness.
        count: number of draws.
        n: size of the vocabulary, at least 2.

    Raises:
        ParameterError: for fewer than two words.
    """
    _check_words(n)
    drawn = rng.poisson(math.log(n), size=count)
    return np.where((drawn >= 1) & (drawn < n), drawn, n).astype(np.int64)


def poisson_quantile(uniform: FloatArray, n: int) -> IntArray:
    """Invert the law of K: the k with P(K < k) ≤ u < P(K ≤ k), u in [0, 1); same shape, int64.

    Raises:
        ParameterError: for fewer than two words.
    """
    steps = np.cumsum(candidate_weights(n))
    position = np.searchsorted(steps, uniform, side="right")
    return np.where(position < steps.size, position + 1, n).astype(np.int64)
