"""Prediction under noise with a certificate: Monte Carlo scores, their bounds, the attack size.

The prediction is the class of the largest *expected* score, which no one can compute; n draws of
the noise bound every class's expectation at once, and a prediction is made only where the bounds
tell two classes apart (else it abstains). All statements about one input are true together except
with probability `error` over the draws; the certificate itself is not a matter of chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_NOISE_DRAWS
from dpcore.mechanisms.clipped.clipped import gaussian_log_delta_bounds
from dpcore.outwards import safe_end

# Largest attack that cannot change a prediction, from bounds on two expected scores.
#
# Scores lie in [0, 1]; low bounds E_k(x) of the predicted class from below, high bounds every other
# E_i(x) from above. Lengths are in units of the noise: an attack of size L moves the input of the
# noise by at most r = Δ_{p,q}·L/scale.
#
# **PixelDP** (Lecuyer et al. 2019, Proposition 1): class k stays ahead at every attack for which
# the noise is (e, δ)-private with low > e^{2e}·high + (1 + e^e)·δ; e is free, and the best is
# taken. Lecture slides have (1 + e)·δ, which proves nothing (`dpcore.papers.lecuyer2019.claims`):
# computed for comparison only.
#
# **Tight**: with F the distribution function of one coordinate of the noise at scale 1, k stays
# ahead for r < (F⁻¹(low) − F⁻¹(high))/2. For Gaussian noise this is the radius of Cohen et al.
# 2019, Theorem 1. In general: a function with values in [0, 1] and mean p under the noise has mean
# at least F(F⁻¹(p) − t) after a shift by t along one axis (Neyman and Pearson: for log-concave
# noise the likelihood ratio is monotone, so a half-line is the worst case). Shifts along the axes
# one after the other add up to ‖·‖₁, the norm for Laplace noise; Gaussian noise is the same along
# every axis, so one shift of ‖·‖₂ is enough. A half-space attains it, so no larger size follows
# from the two numbers.


_POINTS = 16  # of a grid over e
_ROUNDS = 8  # each narrows the grid eightfold: the best e to 4e-8 of its range
_HALVINGS = 44
_FAR = 10.0  # a first guess of r
_INSIDE = 1.0 - 1e-12  # the condition is strict: a size is returned just below the limit


class Condition(StrEnum):
    """Condition under which a prediction counts as robust."""

    PIXELDP = "pixeldp"
    SLIDES = "slides"
    """Refuted; see `dpcore.papers.lecuyer2019.claims`."""

    def factor(self, epsilon: FloatArray) -> FloatArray:
        """Return the factor of δ in the condition, at each e."""
        return 1.0 + (np.exp(epsilon) if self is Condition.PIXELDP else epsilon)


def certified_size(
    layer: NoiseLayer, low: ArrayLike, high: ArrayLike, condition: Condition = Condition.PIXELDP
) -> FloatArray:
    """Return the largest L that a condition on (e, δ) certifies, elementwise.

    The best e is found on a grid that is refined. Every e gives a valid size, so a missed maximum
    makes the result smaller, never wrong.

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
    """Return the largest L that the two bounds imply; arguments as for `certified_size`."""
    return _in_units(layer, low, high, lambda a, b: _half_spaces(layer.accounting, a, b))


def _in_units(
    layer: NoiseLayer,
    low: ArrayLike,
    high: ArrayLike,
    radius: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Convert radii r to sizes L, computing each distinct pair of bounds once."""
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
    """Return (F⁻¹(low) − F⁻¹(high))/2, for low > high."""
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
    """Return the largest r over e, for low > high."""
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
    """Find the largest r at which Gaussian noise is (e, δ)-private, by bisection from below."""
    below = np.zeros_like(epsilon)
    above = np.broadcast_to(np.minimum(guess, _FAR), epsilon.shape).copy()

    def private(radius: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(gaussian_log_delta_bounds(epsilon, 1.0 / radius, 1.0)[1] <= log_delta)

    while (more := private(above)).any():
        below, above = np.where(more, above, below), np.where(more, 2.0 * above, above)
    return safe_end(private, below, above, rounds=_HALVINGS)


Scorer = Callable[["FloatArray"], "FloatArray"]
"""Outputs of a noise layer, shape (k, m), to probabilities of K classes, shape (k, K)."""

ABSTAINED = -1
_BLOCK = 2_000_000  # noisy coordinates in memory at a time: 16 MB


class Bound(StrEnum):
    """Bound on an expected score."""

    HOEFFDING = "hoeffding"
    """On the mean probability of each class; valid for any scores in [0, 1]."""
    CLOPPER_PEARSON = "clopper-pearson"
    """On the frequency with which each class is the most probable one, which is then the score."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of k inputs and K classes from n draws of the noise; read-only.

    Attributes:
        means: mean probability of each class, shape (k, K).
        votes: number of draws in which it was the most probable, shape (k, K).
        draws: n.
    """

    means: FloatArray
    votes: IntArray
    draws: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.means.setflags(write=False)
        self.votes.setflags(write=False)

    def part(self, rows: ArrayLike) -> Scores:
        """Return the scores of some of the inputs, in the order of `rows`."""
        places = np.asarray(rows, dtype=np.int64)
        return Scores(self.means[places], self.votes[places], self.draws)


@dataclass(frozen=True, eq=False)
class ScoreBounds:
    """Simultaneous bounds on all expected scores of each input; shapes (k, K)."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class CertifiedPredictions:
    """Predictions of k inputs, each with the size of attack that cannot change it.

    Attributes:
        classes: predicted class, or `ABSTAINED`, shape (k,).
        low: lower bound on its expected score, shape (k,).
        high: upper bound on the largest expected score of another class, shape (k,).
        sizes: L by PixelDP's condition, shape (k,); 0 where it abstained.
        tight: the largest L that follows from `low` and `high`, shape (k,).
        slides: L by the slides' condition, which is not proved, shape (k,).
    """

    classes: IntArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray
    tight: FloatArray
    slides: FloatArray


def draw_scores(
    scorer: Scorer,
    layer: NoiseLayer,
    inputs: ArrayLike,
    draws: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Scores:
    """Draw scores of each input under independent noise.

    Args:
        scorer: the classifier after the noise.
        layer: the noise.
        inputs: shape (k, d).
        draws: n, 1 to `limits.MAX_NOISE_DRAWS`.
        rng: of the noise.
        progress: called with ("noise", inputs done, k).

    Raises:
        ParameterError: an argument is outside its range, there is no input, or the scorer does not
            return probabilities of two classes or more.
    """
    if not 1 <= draws <= MAX_NOISE_DRAWS:
        raise ParameterError(f"draws of the noise: 1 to {MAX_NOISE_DRAWS:,}, got {draws}")
    clean = layer.clean(inputs)
    if not len(clean):
        raise ParameterError("there is no input to predict")
    # All draws of some inputs at a time; where one input has too many, some of its draws.
    step = max(1, _BLOCK // (draws * clean.shape[1]))
    means, votes = [], []
    for start in range(0, len(clean), step):
        part = clean[start : start + step]
        rest = draws
        total: FloatArray | float = 0.0
        counts: IntArray | int = 0
        while rest:
            count = min(rest, max(1, _BLOCK // part.size))
            shares = _probabilities(scorer, layer.noisy(np.repeat(part, count, axis=0), rng))
            shares = shares.reshape(len(part), count, -1)
            total = total + shares.sum(axis=1)
            chosen = shares.argmax(axis=2)[..., None] == np.arange(shares.shape[2])
            counts = counts + chosen.sum(axis=1)
            rest -= count
        means.append(np.asarray(total) / draws)
        votes.append(np.asarray(counts, dtype=np.int64))
        progress("noise", min(start + step, len(clean)), len(clean))
    return Scores(np.concatenate(means), np.concatenate(votes), draws)


def _probabilities(scorer: Scorer, outputs: FloatArray) -> FloatArray:
    scores = np.asarray(scorer(outputs), dtype=np.float64)
    if not (scores.ndim == 2 and len(scores) == len(outputs) and scores.shape[1] >= 2):
        raise ParameterError(
            "a classifier gives the probabilities of at least two classes for each input, got "
            f"shape {scores.shape} for {len(outputs)} inputs"
        )
    if not bool((np.abs(scores.sum(axis=1) - 1.0) < 1e-6).all() and (scores >= 0).all()):
        raise ParameterError("the scores of a classifier must be probabilities that sum to 1")
    return scores


def hoeffding_width(draws: int, error: float, statements: int) -> float:
    """Return t with |mean − expectation| < t for values in [0, 1] (Hoeffding 1963, Theorem 1).

    Args:
        draws: n.
        error: all statements hold together except with this probability.
        statements: number of one-sided bounds, 2K for both sides of K classes; with 2 in place of
            2K, as in lecture slides, only the bounds of one class hold with that probability.
    """
    return math.sqrt(math.log(statements / error) / (2.0 * draws))


def score_values(scores: Scores, bound: Bound) -> FloatArray:
    """Return the scores that a bound is about, shape (k, K): means, or shares of draws won."""
    return scores.means if Bound(bound) is Bound.HOEFFDING else scores.votes / scores.draws


def score_bounds(scores: Scores, error: float, bound: Bound) -> ScoreBounds:
    """Bound every class's expected score, simultaneously for each input.

    Both sides of all K classes share `error` equally. As the scores sum to 1, a class has at most
    what the lower bounds of the others leave.

    Args:
        scores: of the draws.
        error: in (0, 1), for each input.
        bound: Hoeffding or Clopper–Pearson.

    Raises:
        ParameterError: the error is not between 0 and 1.
    """
    if not 0 < error < 1:
        raise ParameterError(f"an error probability must be between 0 and 1, got {error}")
    statements = 2 * scores.means.shape[1]
    if Bound(bound) is Bound.HOEFFDING:
        width = hoeffding_width(scores.draws, error, statements)
        low = np.maximum(scores.means - width, 0.0)
        high = np.minimum(scores.means + width, 1.0)
    else:
        # An interval depends only on the number of votes: each is computed once.
        counts, where = np.unique(scores.votes, return_inverse=True)
        ends = [clopper_pearson(int(c), scores.draws, error / statements) for c in counts]
        both = np.array(ends)[where.reshape(scores.votes.shape)]
        low, high = both[..., 0], both[..., 1]
    # `max` with `low`: rounding must not put the upper end below the lower one.
    left = 1.0 - (low.sum(axis=1, keepdims=True) - low)
    return ScoreBounds(low, np.minimum(high, np.maximum(left, low)))


def certify(layer: NoiseLayer, bounds: ScoreBounds) -> CertifiedPredictions:
    """Predict with certificates.

    Args:
        layer: the noise under which the scores were drawn.
        bounds: on the expected scores.

    Returns:
        The class whose lower bound is above all other upper bounds, or `ABSTAINED`.
    """
    rows = np.arange(len(bounds.low))
    classes = bounds.low.argmax(axis=1)
    low = bounds.low[rows, classes]
    # If two classes had lower bounds above all other upper bounds, each would be above the other.
    others = bounds.high.copy()
    others[rows, classes] = -np.inf
    high = others.max(axis=1)
    return CertifiedPredictions(
        classes=np.where(low > high, classes, ABSTAINED),
        low=low,
        high=high,
        sizes=certified_size(layer, low, high),
        tight=tight_size(layer, low, high),
        slides=certified_size(layer, low, high, Condition.SLIDES),
    )


def certified_accuracy(
    certified: CertifiedPredictions,
    labels: ArrayLike,
    sizes: ArrayLike,
    limits: FloatArray | None = None,
) -> FloatArray:
    """Return the share of inputs predicted right under every attack of each size, shape (r,).

    An abstention counts as wrong. At size 0 it is the accuracy of the certified predictions.

    Args:
        certified: the predictions.
        labels: the true classes, shape (k,).
        sizes: L ≥ 0, shape (r,).
        limits: certified sizes to use in place of `certified.sizes`, such as `certified.tight`.

    Raises:
        ParameterError: there is not one label per input, or a size is not a number ≥ 0.
    """
    truth, asked = np.asarray(labels), np.asarray(sizes, dtype=np.float64)
    if not (truth.shape == certified.classes.shape and truth.size):
        raise ParameterError(
            f"each of {certified.classes.size} predictions needs a label, got {truth.size}"
        )
    if not bool((asked >= 0).all()):
        raise ParameterError("the size of an attack must be a number >= 0")
    reach = certified.sizes if limits is None else limits
    # A wrong prediction or an abstention withstands no attack, not even that of size 0.
    reach = np.where(certified.classes == truth, reach, -1.0)
    return np.asarray((reach >= asked[:, None]).mean(axis=1))
