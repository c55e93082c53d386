"""Noise of the form z = s·r·u: a scale s, a radius r and a direction u, independent of each other.

Every scale family of the laboratory has this form, and the form is what makes ε-paths and
Rao–Blackwell laws possible: the direction is drawn, the radius is integrated out, the scale is
a parameter.

| family    | density of z at s = 1 | direction            | radius          |
|-----------|-----------------------|----------------------|-----------------|
| L2LAPLACE | ∝ exp(−‖z‖₂)          | uniform, ‖u‖₂ = 1    | Gamma(d, 1)     |
| LAPLACE   | ∝ exp(−‖z‖₁)          | i.i.d. sides, ‖u‖₁=1 | Gamma(d, 1)     |
| GAUSSIAN  | ∝ exp(−‖z‖₂²/2)       | uniform, ‖u‖₂ = 1    | chi with d d.f. |
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from dpcore.arrays import FloatArray


class Radial(StrEnum):
    """A radial family in d dimensions, at scale 1."""

    L2LAPLACE = "l2-laplace"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


def directions(rng: np.random.Generator, family: Radial, count: int, dimension: int) -> FloatArray:
    """Independent directions, shape (count, dimension), float64.

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
    """Independent radii at scale 1, shape (count,), float64."""
    if family is Radial.GAUSSIAN:
        return np.asarray(np.sqrt(rng.chisquare(dimension, size=count)))
    return rng.standard_gamma(dimension, size=count)


def radius_cdf(family: Radial, radius: FloatArray, dimension: int) -> FloatArray:
    """P(r ≤ radius) at scale 1, elementwise; radius may be +inf."""
    from scipy.special import gammainc

    if family is Radial.GAUSSIAN:
        return np.asarray(gammainc(dimension / 2, np.square(radius) / 2))
    return np.asarray(gammainc(dimension, radius))


def draws(
    rng: np.random.Generator, family: Radial, count: int, dimension: int, scale: float
) -> FloatArray:
    """Independent noise vectors s·r·u, shape (count, dimension), float64."""
    unit = directions(rng, family, count, dimension)
    return unit * (scale * radii(rng, family, count, dimension))[:, None]
