"""The largest attack that cannot change a prediction, from bounds on two expected scores.

Scores lie in [0, 1]; low bounds E_k(x) of the predicted class from below, high bounds every other
E_i(x) from above. Lengths are in units of the noise: an attack of size L moves the input of the
noise by at most r = Δ_{p,q}·L/scale.

**PixelDP** (Lecuyer et al. 2019, Proposition 1): class k stays ahead at every attack for which
the noise is (e, δ)-private with low > e^{2e}·high + (1 + e^e)·δ; e is free, and the best is taken.
Lecture slides have (1 + e)·δ, which proves nothing (`dpcore.papers.lecuyer2019.claims`): computed
for comparison only.

**Tight**: with F the distribution function of one coordinate of the noise at scale 1, k stays
ahead for r < (F⁻¹(low) − F⁻¹(high))/2. For Gaussian noise this is the radius of Cohen et al. 2019,
Theorem 1. In general: a function with values in [0, 1] and mean p under the noise has mean at
least F(F⁻¹(p) − t) after a shift by t along one axis (Neyman and Pearson: for log-concave noise
the likelihood ratio is monotone, so that a half-line is the worst case). Shifts along the axes one
after the other add up to ‖·‖₁, for which Laplace noise is measured; Gaussian noise looks the same
along every axis, so that one shift of ‖·‖₂ is enough. A half-space attains it, so no larger size
follows from the two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcore.bisection import safe_end
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.mechanisms.clipped.gaussian import gaussian_log_delta_bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.arrays import FloatArray


_POINTS = 16  # of a grid over e
_ROUNDS = 8  # each narrows it eightfold: the best e to 4e-8 of its range
_HALVINGS = 44
_FAR = 10.0  # a first guess of r
_INSIDE = 1.0 - 1e-12  # the condition is strict: a size is given just below the limit


class Condition(StrEnum):
    """When a prediction counts as robust."""

    PIXELDP = "pixeldp"
    SLIDES = "slides"
    """Refuted; see `dpcore.papers.lecuyer2019.claims`."""

    def factor(self, epsilon: FloatArray) -> FloatArray:
        """What multiplies δ in the condition, at each e."""
        return 1.0 + (np.exp(epsilon) if self is Condition.PIXELDP else epsilon)


def certified_size(
    layer: NoiseLayer, low: ArrayLike, high: ArrayLike, condition: Condition = Condition.PIXELDP
) -> FloatArray:
    """Largest L that a condition on (e, δ) certifies, elementwise.

    The best e is found on a grid that is refined. Every e gives a size that is true, so that a
    missed maximum would make the answer smaller, never wrong.

    Args:
        layer: the noise.
        low: lower bounds on the expected score of the predicted class, in [0, 1].
        high: upper bounds on the largest expected score of another class, in [0, 1].
        condition: PixelDP's, or the slides' for comparison.

    Returns:
        Of the shape of `low`: 0 where low ≤ high (nothing is certified), ∞ where no attack helps.

    Raises:
        ParameterError: a bound is outside [0, 1].
    """
    return _in_units(layer, low, high, lambda a, b: _private(layer.accounting, condition, a, b))


def tight_size(layer: NoiseLayer, low: ArrayLike, high: ArrayLike) -> FloatArray:
    """Largest L that follows from the two bounds at all; arguments as for `certified_size`."""
    return _in_units(layer, low, high, lambda a, b: _half_spaces(layer.accounting, a, b))


def _in_units(
    layer: NoiseLayer,
    low: ArrayLike,
    high: ArrayLike,
    radius: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """A radius r as a size L, each distinct pair of bounds once."""
    a, b = np.broadcast_arrays(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    if not bool(((a >= 0) & (a <= 1) & (b >= 0) & (b <= 1)).all()):
        raise ParameterError("bounds on expected scores must lie between 0 and 1")
    pairs, where = np.unique(np.stack((a.ravel(), b.ravel()), axis=1), axis=0, return_inverse=True)
    radii = np.zeros(len(pairs))
    ahead = pairs[:, 0] > pairs[:, 1]
    if ahead.any():
        radii[ahead] = radius(pairs[ahead, 0], pairs[ahead, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(radii > 0, radii * layer.scale / layer.sensitivity, 0.0)
    return np.asarray(sizes[where.ravel()].reshape(a.shape) * _INSIDE)


def _half_spaces(accounting: Accounting, low: FloatArray, high: FloatArray) -> FloatArray:
    """(F⁻¹(low) − F⁻¹(high))/2, for low > high."""
    from scipy.special import ndtri

    if accounting is Accounting.LAPLACE:
        with np.errstate(divide="ignore"):
            first, second = (
                np.where(p < 0.5, np.log(2.0 * p), -np.log(2.0 * (1.0 - p))) for p in (low, high)
            )
        return np.asarray(0.5 * (first - second))
    return np.asarray(0.5 * (ndtri(low) - ndtri(high)))


def _private(
    accounting: Accounting, condition: Condition, low: FloatArray, high: FloatArray
) -> FloatArray:
    """The largest r over e, for low > high."""
    with np.errstate(divide="ignore"):
        most = 0.5 * np.log(low / high)  # e at which no δ is left
    if accounting is Accounting.LAPLACE:
        return np.asarray(most)
    radii = np.full(low.shape, np.inf)  # high = 0: larger and larger e certify any size
    if accounting is Accounting.CLASSICAL:
        most = np.minimum(most, 1.0)
    some = np.isfinite(most)
    low, high, most = low[some, None], high[some, None], most[some, None]

    def radius(epsilon: FloatArray) -> FloatArray:
        spare = low - np.exp(2.0 * epsilon) * high
        with np.errstate(divide="ignore", invalid="ignore"):
            log_delta = np.log(np.maximum(spare, 0.0) / condition.factor(epsilon))
        if accounting is Accounting.CLASSICAL:
            return np.asarray(epsilon / np.sqrt(2.0 * (np.log(1.25) - log_delta)))
        return _exact(epsilon, log_delta, _half_spaces(accounting, low, high))

    start, stop = np.zeros_like(most), most
    best = np.zeros(len(most))
    for _ in range(_ROUNDS):
        grid = start + (stop - start) * np.arange(1, _POINTS + 1) / (_POINTS + 1)
        if accounting is Accounting.CLASSICAL:
            grid = np.concatenate((grid, stop), axis=1)  # e = 1 is allowed
        values = radius(grid)
        top = values.argmax(axis=1)[:, None]
        best = np.maximum(best, values.max(axis=1))
        step = (stop - start) / (_POINTS + 1)
        middle = np.take_along_axis(grid, top, axis=1)
        start = np.maximum(middle - step, 0.0)
        stop = np.minimum(middle + step, most)
    radii[some] = best
    return radii


def _exact(epsilon: FloatArray, log_delta: FloatArray, guess: FloatArray) -> FloatArray:
    """The largest r at which Gaussian noise is (e, δ)-private, by bisection from below."""
    below = np.zeros_like(epsilon)
    above = np.broadcast_to(np.minimum(guess, _FAR), epsilon.shape).copy()

    def private(radius: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(gaussian_log_delta_bounds(epsilon, 1.0 / radius, 1.0)[1] <= log_delta)

    while (more := private(above)).any():
        below, above = np.where(more, above, below), np.where(more, 2.0 * above, above)
    return safe_end(private, below, above, rounds=_HALVINGS)
