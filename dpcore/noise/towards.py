"""Directions drawn towards an aim, and how much denser they lie there than plain ones.

Where few directions of the noise lead to an event, directions are drawn towards it and counted
with the ratio of the two densities (importance sampling). For each family of directions a tilt
whose ratio is a closed form:

* the sphere, ‖u‖₂ = 1: every point is seen from a·m instead of the centre, ‖m‖₂ = 1, 0 ≤ a < 1.
  v = (u + a·m)/ℓ, ℓ = ‖u + a·m‖₂. A piece dS of the sphere fills the solid angle ⟨u, v⟩·dS/ℓ^{d−1}
  around v, so that the ratio is ℓ^{d−1}/⟨u, v⟩, where with c = ⟨m, v⟩

      ⟨u, v⟩ = √(1 − a² + a²c²),    ℓ = a·c + ⟨u, v⟩.

  The aim of many words moves the same directions, each by a vector of its own: what the
  directions have in common (their product with a vocabulary) can be kept.
* the directions of i.i.d. Laplace coordinates, ‖u‖₁ = 1: coordinates with density ∝
  exp(−|z_i| + θ_i·z_i), |θ_i| < 1. Integrated over the length, the ratio is
  Π(1 − θ_i²)·(1 − ⟨θ, u⟩)^{−d}.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray

_LARGEST = 0.9  # of a, and of |θ_i|: at 1 the ratio has no bound


def shifts(strengths: FloatArray, dimension: int) -> FloatArray:
    """The a of each strength: where the mean of √d·u along the aim is about the strength."""
    return np.asarray(np.minimum(strengths / math.sqrt(dimension), _LARGEST))


def sphere_ratio(a: FloatArray, cosine: FloatArray, dimension: int) -> FloatArray:
    """Density of directions seen from a·m relative to plain ones, shape (len(a), len(cosine)).

    Args:
        a: shifts, in [0, 1).
        cosine: ⟨m, v⟩ of each direction.
        dimension: d.
    """
    along = a[:, None] * cosine
    inner = np.sqrt(1.0 - np.square(a)[:, None] + np.square(along))
    return np.asarray(np.exp((dimension - 1) * np.log(along + inner)) / inner)


def exponents(strengths: FloatArray, aim: FloatArray) -> FloatArray:
    """The θ of each strength, shape (K, d), for an aim of Euclidean length 1.

    A coordinate has variance 2, and its mean under θ is 2θ to first order: θ = strength·m/√2
    moves the sum along the aim by `strength` standard deviations.
    """
    theta = strengths[:, None] * aim / math.sqrt(2.0)
    # Shrunk as a whole where a coordinate would come too near to 1: the direction stays.
    largest = np.abs(theta).max(axis=1, keepdims=True)
    return np.asarray(theta * np.minimum(1.0, _LARGEST / np.maximum(largest, _LARGEST)))


def exponential_directions(rng: np.random.Generator, theta: FloatArray) -> FloatArray:
    """One direction for each row of θ, shape (count, d), ‖u‖₁ = 1."""
    # Density ∝ e^{−|z|+θz}: rate 1 − θ to the right and 1 + θ to the left, so that the right side
    # has probability (1/(1−θ))/(1/(1−θ) + 1/(1+θ)) = (1 + θ)/2.
    size = rng.standard_exponential(theta.shape)
    sign = np.where(rng.random(theta.shape) < (1.0 + theta) / 2.0, 1.0, -1.0)
    vectors = sign * size / (1.0 - sign * theta)
    return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))


def exponential_ratio(theta: FloatArray, unit: FloatArray) -> FloatArray:
    """Density of directions under each θ relative to plain ones, shape (K, len(unit))."""
    constant = np.log1p(-np.square(theta)).sum(axis=1)
    return np.asarray(np.exp(constant[:, None] - unit.shape[1] * np.log1p(-theta @ unit.T)))
