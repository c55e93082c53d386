"""Hyperbolic space H^d of curvature −1, its points written as tangent vectors at one centre.

A vector v is the point at distance ‖v‖ from the centre in the direction v/‖v‖ (the exponential
map), so any rows of a lexicon are points. In the ball of Poincaré the same point is
tanh(‖v‖/2)·v/‖v‖, on the hyperboloid (cosh ‖v‖, sinh ‖v‖·v/‖v‖). Near the rim of the ball
float32 coordinates run out of digits; a length and a direction do not.

With r, s the lengths of two vectors, a, b their directions and h = ‖a − b‖/2 = sin(θ/2),

    sinh²(d/2) = sinh²((r − s)/2) + sinh r·sinh s·h²,

without cancellation (from the hyperbolic law of cosines).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import Float32Array, FloatArray
from dpcore.errors import ParameterError

LONGEST = 300.0
"""Largest length of a vector: beyond it products of hyperbolic sines overflow a float64."""


def polar(vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return lengths, shape (k,), and directions, shape (k, d), float64; zero for a zero row.

    Raises:
        ParameterError: a vector is too long.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    check_longest(float(largest.max(initial=0.0)))
    scaled = rows / np.where(largest > 0, largest, 1.0)  # squares of small numbers underflow
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return (norms * largest)[:, 0], scaled / np.where(norms > 0, norms, 1.0)


def check_longest(largest: float) -> None:
    """Refuse vectors whose largest coordinate is beyond `LONGEST`.

    Raises:
        ParameterError: it is.
    """
    if not largest <= LONGEST:
        raise ParameterError(
            f"vectors for hyperbolic space are at most {LONGEST:g} long, got {largest:.4g}: "
            "divide all of them by one number"
        )


def distances(vectors: Float32Array | FloatArray, origins: ArrayLike) -> FloatArray:
    """Compute hyperbolic distances from every origin to every vector, shape (k, n), float64.

    Args:
        vectors: tangent vectors of the words, shape (n, d).
        origins: of other points, shape (k, d).

    Raises:
        ParameterError: a vector is longer than `LONGEST`.
    """
    lengths, directions = polar(vectors)
    starts = polar(origins)
    halves = [
        _half(lengths, directions, float(start), towards)[0]
        for start, towards in zip(*starts, strict=True)
    ]
    return 2.0 * np.arcsinh(np.sqrt(np.array(halves).reshape(len(starts[0]), lengths.size)))


def seen_from(
    lengths: FloatArray, directions: FloatArray, origin: int
) -> tuple[FloatArray, FloatArray]:
    """Return all points as seen from one of them, with its axes carried from the centre.

    The isometry that moves the origin to the centre along the line through both, for which the
    hyperboloid has the coordinates (cosh d, z): d is the distance of a point from the origin, and
    z points to it with the length sinh d.

    Args:
        lengths: of the tangent vectors, shape (n,).
        directions: shape (n, d), from `polar`.
        origin: index of the point.

    Returns:
        cosh d − 1, shape (n,), so that near points keep their digits, and z, shape (n, d).
    """
    start, axis = float(lengths[origin]), directions[origin]
    half, chord, across = _half(lengths, directions, start, axis)
    reach = np.sinh(lengths)
    # sinh r·(b − cos θ·a) across the axis, and along it sinh r·cos θ·cosh s − cosh r·sinh s; with
    # cos θ = 1 − 2h² neither subtracts nearly equal numbers.
    across += 2.0 * chord[:, None] * axis
    along = np.sinh(lengths - start) - 2.0 * reach * np.cosh(start) * chord
    z = reach[:, None] * across + along[:, None] * axis
    if start == 0.0:  # it is the centre, and has no axis
        z = reach[:, None] * directions
    return 2.0 * half, z


def _half(
    lengths: FloatArray, directions: FloatArray, start: float, axis: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sinh²(d/2) and h² from one point to all, shape (n,), and b − a, shape (n, d)."""
    apart = directions - axis
    chord = 0.25 * np.einsum("ij,ij->i", apart, apart)
    # Where one of the two is the centre its sinh is 0, so its direction does not matter.
    half = np.square(np.sinh(0.5 * (lengths - start))) + np.sinh(lengths) * np.sinh(start) * chord
    return half, chord, apart
